//! The layouts in which documents are printed.
//!
//! To add one: a function of `exports`, `report` or `page` that makes its text, and a row in the table of its document.

use std::fmt;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tiermark_expect::check_by_rules_of_thumb;
use tiermark_exports::TenantRows;
use tiermark_model::{Check, Checks, Comparison, Fleet, Run};
use tiermark_page::{Detail, Page, Style, markdown, terminal};
use tiermark_report::html::Sheet;

use crate::args::View;
use crate::output::{detail, style, tell};
use crate::saved::Kept;

/// A layout of documents of one type.
pub(crate) struct Layout<T: 'static> {
    /// The value of `--format`, or the option that writes it to a file.
    pub(crate) name: &'static str,
    /// What it is for, in the help of `--format`.
    about: &'static str,
    /// Makes its text.
    pub(crate) text: fn(&T, Detail, &Style) -> String,
    /// What a warning calls it.
    called: &'static str,
    /// Doubts about the numbers that it does not show.
    pub(crate) doubts: fn(&T) -> Option<String>,
}

impl<T> Layout<T> {
    const fn new((name, about): Name, text: fn(&T, Detail, &Style) -> String) -> Self {
        Self { name, about, text, called: name, doubts: |_| None }
    }

    const fn with_doubts(self, called: &'static str, doubts: fn(&T) -> Option<String>) -> Self {
        Self { called, doubts, ..self }
    }

    /// Its text as standard output shows it.
    pub(crate) fn show(&self, found: &T, view: &View) -> String {
        (self.text)(found, detail(view), &style(view))
    }

    /// Whether it is the one for people.
    pub(crate) fn is_text(&self) -> bool {
        self.name == FOR_PEOPLE.0
    }

    /// Reports on standard error which doubts it does not show.
    pub(crate) fn tell_doubts(&self, found: &T) {
        if let Some(doubts) = (self.doubts)(found) {
            tell(format_args!("tiermark: warning: the {} layout: {doubts}", self.called));
        }
    }
}

impl<T> fmt::Debug for Layout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A document that is printed in several layouts.
pub(crate) trait LaidOut: Sized + 'static {
    /// Its layouts; the first is that for people.
    const LAYOUTS: &'static [Layout<Self>];

    /// What the layouts for people show.
    fn page(&self, detail: Detail) -> Page;

    /// The layout of this name.
    fn layout(name: &str) -> Option<&'static Layout<Self>> {
        Self::LAYOUTS.iter().find(|layout| layout.name == name)
    }
}

/// Reads the value of `--format`.
pub(crate) fn layouts<T: LaidOut>() -> impl TypedValueParser<Value = &'static Layout<T>> {
    let values = T::LAYOUTS.iter().map(|layout| PossibleValue::new(layout.name).help(layout.about));
    PossibleValuesParser::new(values).map(|name| T::layout(&name).unwrap_or(&T::LAYOUTS[0]))
}

/// The name of a layout, and what it is for.
type Name = (&'static str, &'static str);

/// The layout of names of hosts.
pub(crate) const HOSTS: &str = "hosts";
const FOR_PEOPLE: Name = ("text", "For people");
const MARKDOWN: Name = ("markdown", "Markdown with GitHub tables, for wikis, issues and pull requests");
const CSV: Name = ("csv", "A table with a row for each observation, for pandas, polars, DuckDB or R");
const JSON_ROWS: Name = ("json-rows", "The same as lines of JSON");
const OPENMETRICS: Name = ("openmetrics", "Findings as OpenMetrics, for node_exporter's textfile collector");

fn text<T: LaidOut>(found: &T, detail: Detail, style: &Style) -> String {
    terminal(&found.page(detail), style)
}

fn in_markdown<T: LaidOut>(found: &T, detail: Detail, style: &Style) -> String {
    markdown(&found.page(detail), style)
}

impl LaidOut for Run {
    const LAYOUTS: &'static [Layout<Self>] = &[
        Layout::new(FOR_PEOPLE, text),
        Layout::new(MARKDOWN, in_markdown),
        Layout::new(
            (
                "mlc",
                "mlc-compatible: matrices, peaks, loaded latency and transfers as parsers of such logs expect them",
            ),
            |run, _, _| tiermark_exports::mlc(run),
        )
        .with_doubts("mlc-compatible", tiermark_exports::mlc_doubts),
        Layout::new(
            ("stream", "STREAM-like: its table, filled with rates of copy, scale, add and triad"),
            |run, _, _| tiermark_exports::stream(run),
        )
        .with_doubts("STREAM-like", tiermark_exports::stream_doubts),
        Layout::new(
            ("pairs", "CSV of pairs of cpus (`c2c`), half a round trip in ns, as core-to-core-latency prints it"),
            |run, _, _| tiermark_exports::pairs_csv(run),
        )
        .with_doubts("core-to-core-latency", tiermark_exports::pairs_doubts),
        Layout::new(CSV, |run, _, _| tiermark_exports::csv(run)),
        Layout::new(JSON_ROWS, |run, _, _| tiermark_exports::json_rows(run)),
        Layout::new(OPENMETRICS, |run, _, _| tiermark_exports::openmetrics(run)),
    ];

    fn page(&self, detail: Detail) -> Page {
        tiermark_report::run(self, &check_by_rules_of_thumb(self), detail)
    }
}

/// `show` has one option for all runs, so that these layouts have names of the layouts of [`Run`].
impl LaidOut for Kept {
    const LAYOUTS: &'static [Layout<Self>] = &[
        Layout::new(FOR_PEOPLE, text),
        Layout::new(MARKDOWN, in_markdown),
        Layout::new(CSV, |kept, _, _| rows(kept).csv()),
        Layout::new(JSON_ROWS, |kept, _, _| rows(kept).json_rows()),
        Layout::new(OPENMETRICS, |kept, _, _| rows(kept).openmetrics()),
    ];

    fn page(&self, detail: Detail) -> Page {
        match self {
            Self::Capacity(run) => tiermark_report::tenant_views::capacity(run, detail),
            Self::Load(run) => tiermark_report::tenant_views::load(run, detail),
        }
    }
}

fn rows(kept: &Kept) -> TenantRows<'_> {
    match kept {
        Kept::Capacity(run) => TenantRows::of_capacity(run),
        Kept::Load(run) => TenantRows::of_load(run),
    }
}

impl LaidOut for Comparison {
    const LAYOUTS: &'static [Layout<Self>] = &[
        Layout::new(FOR_PEOPLE, text),
        Layout::new(("markdown", "For pull requests"), |found, detail, style| {
            format!("### tiermark compare\n\n{}", in_markdown(found, detail, style))
        }),
    ];

    fn page(&self, detail: Detail) -> Page {
        tiermark_report::judgements::compare(self, detail)
    }
}

impl LaidOut for Check {
    const LAYOUTS: &'static [Layout<Self>] = &[
        Layout::new(FOR_PEOPLE, text),
        Layout::new(MARKDOWN, |check, detail, style| {
            markdown(&tiermark_report::judgements::check_in_tables(check, detail), style)
        }),
    ];

    fn page(&self, detail: Detail) -> Page {
        tiermark_report::judgements::check(self, detail)
    }
}

/// The option is that of one run, so that these layouts have names of the layouts of [`Check`].
impl LaidOut for Checks {
    const LAYOUTS: &'static [Layout<Self>] = &[Layout::new(FOR_PEOPLE, text), Layout::new(MARKDOWN, in_markdown)];

    fn page(&self, detail: Detail) -> Page {
        tiermark_report::judgements::checks(self, detail)
    }
}

impl LaidOut for Fleet {
    const LAYOUTS: &'static [Layout<Self>] = &[
        Layout::new(FOR_PEOPLE, text),
        Layout::new(("markdown", "For tickets and pull requests"), |fleet, detail, style| {
            format!("### tiermark fleet\n\n{}", in_markdown(fleet, detail, style))
        }),
        Layout::new(("csv", "A row for each figure of each host"), |fleet, _, _| tiermark_exports::fleet_csv(fleet)),
        Layout::new(("lines", "The same as lines of JSON"), |fleet, _, _| tiermark_exports::fleet_lines(fleet)),
        Layout::new(("openmetrics", "For Prometheus"), |fleet, _, _| tiermark_exports::fleet_openmetrics(fleet)),
        Layout::new(
            (
                HOSTS,
                "The names of odd hosts that are worse than their peers, one a line (no name with exit code 3: no odd \
                 host is worse)",
            ),
            |fleet, _, _| tiermark_exports::fleet_hosts(fleet),
        ),
    ];

    fn page(&self, detail: Detail) -> Page {
        tiermark_report::judgements::fleet(self, detail)
    }
}

/// Something to write from a finished run beside its document.
#[derive(Clone, Copy)]
pub(crate) struct Export<'a> {
    /// The layout to write, whose name is that of its option.
    pub(crate) layout: &'static Layout<Run>,
    /// A file, or `-` for standard output in place of the report.
    pub(crate) place: &'a str,
}

/// Curves of loaded latency, as the Mess benchmark writes them.
pub(crate) static MESS: Layout<Run> =
    Layout::new(("csv", "Curves of loaded latency as the Mess benchmark writes them"), |run, _, _| {
        tiermark_exports::mess(run)
    })
    .with_doubts("Mess", tiermark_exports::mess_doubts);

/// A page for a browser.
pub(crate) static HTML: Layout<Run> = Layout::new(("html", "A page for a browser"), |run, detail, style| {
    tiermark_report::html::html(&[Sheet::Run(run, &check_by_rules_of_thumb(run))], &[], detail, style)
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_option_names_the_layouts_of_two_documents() {
        assert!(Kept::LAYOUTS.iter().all(|layout| Run::layout(layout.name).is_some()));
        assert!(Check::LAYOUTS.iter().all(|layout| Checks::layout(layout.name).is_some()));
    }
}
