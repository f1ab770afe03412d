//! One page for a browser: self-contained, readable without its script, made of the same views as the texts.

mod changes;
mod fleet;
mod index;
mod picture;
mod sheet;

pub use fleet::fleet_page;
pub use sheet::Sheet;
use tiermark_page::escaped as text;
use tiermark_page::{Detail, Style};

/// Draws the curves; see `vendor/NOTICE`.
const UPLOT: &str = include_str!("vendor/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("vendor/uPlot.min.css");
const NOTICE: &str = include_str!("vendor/NOTICE");
const PAGE_STYLE: &str = include_str!("page.css");
const PAGE_SCRIPT: &str = include_str!("page.js");
const SVG_SCRIPT: &str = include_str!("svg.js");
const CHARTS_SCRIPT: &str = include_str!("charts.js");

/// Documents whose titles the title of the page holds; of more it has the number.
const MOST_TITLES: usize = 3;

/// A page of some documents, side by side where there is room. It refers to nothing outside itself. `left_out`: a line
/// for each document that could not be read, with the reason.
pub fn html(sheets: &[Sheet<'_>], left_out: &[String], detail: Detail, style: &Style) -> String {
    let style = style.of_a_file();
    let bodies: Vec<sheet::Body> =
        sheets.iter().enumerate().map(|(at, sheet)| sheet.body(at, sheets.len() > 1, detail, &style)).collect();
    let titles: Vec<&str> = bodies.iter().map(|body| body.title.as_str()).collect();
    let articles: String = bodies.iter().map(|body| body.html.as_str()).collect();
    let is_list = bodies.len() > 1 || !left_out.is_empty();
    let contents = if is_list { index::index(sheets, left_out, &titles, detail, &style) } else { String::new() };
    let title = match titles.len() {
        ..=MOST_TITLES => titles.join(" | "),
        count => format!("tiermark: {count} documents"),
    };
    // Only charts need the library; heat maps are saved by the same pen.
    let has = |class: &str| articles.contains(&format!("<figure class=\"{class}\""));
    let library = if has("chart") {
        format!("<style>{UPLOT_STYLE}</style>\n<script>{UPLOT}</script>\n<script>{CHARTS_SCRIPT}</script>\n")
    } else {
        String::new()
    };
    let pen = if has("chart") || has("map") { format!("<script>{SVG_SCRIPT}</script>\n") } else { String::new() };
    let enlarge = match has("chart") {
        true => " Drag over a chart, or press + and - in it, to enlarge a part of it.",
        false => "",
    };
    let notice = if library.is_empty() {
        String::new()
    } else {
        format!(
            "<details class=\"notice\"><summary>Notice of the chart library</summary><pre>{}</pre></details>",
            text(NOTICE)
        )
    };
    Frame {
        title: &title,
        style: "",
        contents: &contents,
        layout: if bodies.len() > 1 { "sheets several" } else { "sheets" },
        articles: &articles,
        footer: &format!("<p>Made by tiermark.{enlarge}</p>{notice}"),
        scripts: &format!("{pen}{library}<script>{PAGE_SCRIPT}</script>\n"),
    }
    .page()
}

/// What differs between pages. All but the title is markup.
struct Frame<'a> {
    title: &'a str,
    /// Style sheets of this page alone.
    style: &'a str,
    contents: &'a str,
    /// Classes of the main element.
    layout: &'a str,
    articles: &'a str,
    footer: &'a str,
    scripts: &'a str,
}

impl Frame<'_> {
    fn page(&self) -> String {
        let Self { style, contents, layout, articles, footer, scripts, .. } = self;
        let title = text(self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n\
             <title>{title}</title>\n<style>{PAGE_STYLE}{style}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the results</a>\n{contents}\
             <main id=\"main\" class=\"{layout}\">\n{articles}</main>\n\
             <footer>{footer}</footer>\n{scripts}</body>\n</html>\n"
        )
    }
}
