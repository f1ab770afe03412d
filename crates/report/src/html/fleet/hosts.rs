//! The hosts of a kind: those that are not alike with the reason, and the figures of each.

use std::cmp::Ordering;

use tiermark_model::{Fleet, FleetHost, HostCause, HostFigure, HostState, KindFigure, family_words};
use tiermark_page::{ABSENT, bound_sign, escaped as text, number};

use super::{Kind, head, is_listed, shortened, table};
use crate::judgements::{family_difference, signed};

/// Characters of a cause in a table.
const CAUSE: usize = 160;
/// Characters of a cause that stands alone.
const LONGEST: usize = 400;
/// Lines and characters of what a failed host said.
const QUOTED: (usize, usize) = (5, 400);
/// What the signs in tables of figures say.
const SIGNS: &str = "▼ worse than the peers, ▲ better, ◆ different: beyond what chance explains.";

/// The class of the head of a column of differences.
const DIFFERENCE: &str = "number difference";

/// How a difference that is odd is marked: its class and its sign.
fn mark(is_worse: Option<bool>) -> (&'static str, &'static str) {
    match is_worse {
        Some(true) => ("bad", "▼"),
        Some(false) => ("good", "▲"),
        None => ("warn", "◆"),
    }
}

/// The mark before the name of a host, for readers who see no colours.
pub(super) fn state_mark(host: &FleetHost) -> &'static str {
    match host.state {
        HostState::Odd | HostState::Failed => "<span class=\"mark bad\">✘</span>\u{a0}",
        HostState::Missing | HostState::NotJudged => "<span class=\"mark\">–</span>\u{a0}",
        HostState::Alike => "",
    }
}

impl Kind<'_> {
    /// The hosts that are not like their peers, with the reason; empty if there is none.
    pub(super) fn not_alike(&self) -> String {
        let listed: Vec<(usize, &FleetHost)> = self.listed().collect();
        if listed.is_empty() {
            return String::new();
        }
        let families = self.odd_families();
        let mut heads = head("host", "", "") + &head("why", "why", "");
        heads.extend(families.iter().map(|family| head(&family_words(family), DIFFERENCE, "")));
        let row = |(at, host): (usize, &FleetHost)| {
            let cells: String = families.iter().map(|family| self.family_cell(host, family)).collect();
            let (id, name) = (self.id(at), shortened(&host.host, 40));
            format!("<tr><th scope=\"row\"><a href=\"#{id}\">{name}</a></th><td>{}</td>{cells}</tr>\n", why(host))
        };
        let rows: String = listed.into_iter().map(row).collect();
        let key = if families.is_empty() {
            String::new()
        } else {
            format!("<p class=\"dim\">Numbers: differences from the median of the peers. {SIGNS}</p>\n")
        };
        format!("<h3>Hosts that are not alike</h3>\n{}{key}", table("Hosts that are not alike", "sorts", &heads, &rows))
    }

    /// The hosts that are not alike, with their places in the kind.
    fn listed(&self) -> impl Iterator<Item = (usize, &FleetHost)> {
        self.hosts.iter().copied().enumerate().filter(|(_, host)| is_listed(host))
    }

    fn figure(&self, of: &HostFigure) -> Option<&KindFigure> {
        self.kind.figures.get(of.figure as usize)
    }

    /// The figures of a host that are odd by themselves, of a family.
    fn odd_figures<'f>(&'f self, host: &'f FleetHost, family: &'f str) -> impl Iterator<Item = &'f HostFigure> {
        let is_of = move |of: &&HostFigure| self.figure(of).is_some_and(|figure| figure.family == family);
        host.figures.iter().filter(|of| of.is_odd).filter(is_of)
    }

    /// How much a host is odd in a family, without sign; `None` if it is not.
    fn oddness(&self, host: &FleetHost, family: &str) -> Option<f64> {
        let of_mean = host.families.iter().filter(|of| of.is_odd && of.family == family).map(|of| of.deviation);
        of_mean.chain(self.odd_figures(host, family).map(|of| of.deviation)).map(f64::abs).reduce(f64::max)
    }

    /// The families that any host is odd in, that with the largest difference first.
    fn odd_families(&self) -> Vec<&str> {
        let mut families: Vec<&str> = self.kind.figures.iter().map(|figure| figure.family.as_str()).collect();
        families.sort_unstable();
        families.dedup();
        let most = |family: &str| self.hosts.iter().filter_map(|host| self.oddness(host, family)).reduce(f64::max);
        let mut odd: Vec<(&str, f64)> =
            families.into_iter().filter_map(|family| Some((family, most(family)?))).collect();
        odd.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        odd.into_iter().map(|(family, _)| family).collect()
    }

    /// Whether the host is odd in the family of a figure, or in the figure.
    pub(super) fn is_odd_in(&self, host: &FleetHost, of: &HostFigure, family: &str) -> bool {
        of.is_odd || host.families.iter().any(|own| own.is_odd && own.family == family)
    }

    /// Whether a difference of a figure is worse, by what is known of its family.
    fn is_worse(host: &FleetHost, family: &str, deviation: f64) -> Option<bool> {
        let family = host.families.iter().find(|own| own.family == family)?;
        family.is_worse.map(|worse| worse == ((family.deviation > 0.0) == (deviation > 0.0)))
    }

    fn family_cell(&self, host: &FleetHost, family: &str) -> String {
        let mean = host.families.iter().find(|of| of.family == family);
        let by_size = |a: &&HostFigure, b: &&HostFigure| a.deviation.abs().total_cmp(&b.deviation.abs());
        let (of, class, title) = match (mean, self.odd_figures(host, family).max_by(by_size)) {
            (Some(mean), _) if mean.is_odd => (Some(mean.deviation), Some(mark(mean.is_worse)), String::new()),
            (_, Some(figure)) => {
                let name = self.names.get(figure.figure as usize).map_or("", String::as_str);
                let title = format!(" title=\"{}\"", text(name));
                (Some(figure.deviation), Some(mark(Self::is_worse(host, family, figure.deviation))), title)
            }
            (mean, None) => (mean.map(|mean| mean.deviation), None, String::new()),
        };
        let Some(of) = of.filter(|of| of.is_finite()) else {
            return format!("<td class=\"number dim\">{ABSENT}</td>");
        };
        let (class, sign) = class.unwrap_or(("dim", ""));
        let of = text(&family_difference(self.kind, host, family, of));
        let shown = if sign.is_empty() { of } else { format!("{sign} {of}") };
        format!("<td class=\"number {class}\"{title}>{shown}</td>")
    }

    /// The figures of each host: folded for those that are not alike, and of all in one table.
    pub(super) fn each_host(&self) -> String {
        let own: String = self.listed().map(|(at, host)| self.folded(at, host)).collect();
        let title = if own.is_empty() { "" } else { "<h3>Each of these hosts</h3>\n" };
        let all = if self.names.is_empty() { String::new() } else { self.all() };
        format!("{title}{own}{all}")
    }

    fn folded(&self, at: usize, host: &FleetHost) -> String {
        let cause = |cause: &HostCause| {
            let what = match meaning(cause).as_str() {
                "" => cause.in_words(),
                meaning => format!("{}: {meaning}", cause.in_words()),
            };
            let what = shortened(&format!("{}.", capital(&what)), LONGEST);
            format!("<li>{what} Next: {}</li>\n", text(&cause.advice))
        };
        let causes: String = host.causes.iter().map(cause).collect();
        let reasons: String =
            host.reasons.iter().map(|note| format!("<li>{}</li>\n", shortened(&note.text, LONGEST))).collect();
        let why = if causes.is_empty() && reasons.is_empty() {
            String::new()
        } else {
            format!("<ul>\n{causes}{reasons}</ul>\n")
        };
        let labels = host.labels.iter().map(|(key, value)| format!("{key}={value}"));
        let origin: Vec<String> = host.started.iter().cloned().chain(host.file.iter().cloned()).chain(labels).collect();
        let row = |of: &HostFigure| {
            let (Some(figure), Some(name)) = (self.figure(of), self.names.get(of.figure as usize)) else {
                return String::new();
            };
            let (class, sign) = self.figure_mark(host, of, figure);
            format!(
                "<tr><th scope=row>{}<td>{}{}<td{class}>{sign}{}<td>{}\n",
                text(name),
                bound(of, figure),
                self.value(of.value, figure),
                difference(of.deviation),
                self.value(figure.median, figure)
            )
        };
        let rows: String = host.figures.iter().map(row).collect();
        let heads =
            [("figure", ""), ("value", "number"), ("difference", DIFFERENCE), ("median of the peers", "number")];
        let heads: String = heads.map(|(name, class)| head(name, class, "")).concat();
        let figures = match rows.as_str() {
            "" => "<p>It has no figure that enough of its peers have.</p>\n".to_owned(),
            rows => table(&format!("Figures of {}", host.host), "sorts own", &heads, rows),
        };
        format!(
            "<details class=\"host\" id=\"{}\"><summary>{}{}</summary>\n{why}\
             <p class=\"dim\">{}</p>\n{figures}</details>\n",
            self.id(at),
            state_mark(host),
            shortened(&host.host, 80),
            text(&origin.join(", "))
        )
    }

    /// The attribute and the sign of a figure that is odd; nothing for others.
    fn figure_mark(&self, host: &FleetHost, of: &HostFigure, figure: &KindFigure) -> (String, String) {
        if !of.is_odd {
            return Default::default();
        }
        let (class, sign) = mark(Self::is_worse(host, &figure.family, of.deviation));
        (format!(" class={class}"), format!("{sign} "))
    }

    /// All figures of all hosts. Thousands of cells: end tags, which HTML does not need, are left out.
    fn all(&self) -> String {
        let name = |(name, figure): (&String, &KindFigure)| {
            let median = self.value(figure.median, figure);
            head(name, "number", &format!("median {median}"))
        };
        let heads: String = self.names.iter().zip(&self.kind.figures).map(name).collect();
        let row = |host: &&FleetHost| {
            let cell = |at: usize| match host.figures.iter().find(|of| of.figure as usize == at) {
                Some(of) => self.all_cell(host, of),
                None => "<td>".to_owned(),
            };
            let cells: String = (0..self.names.len()).map(cell).collect();
            format!("<tr><th scope=row>{}{}{cells}\n", state_mark(host), shortened(&host.host, 40))
        };
        let rows: String = self.hosts.iter().map(row).collect();
        let heads = head("host", "", "") + &heads;
        let whose = match self.hosts.len() {
            1 => "this host".to_owned(),
            hosts => format!("all {hosts} hosts"),
        };
        format!(
            "<details class=\"unprinted\"><summary><h3>All figures of {whose}</h3></summary>\n\
             <p class=\"dim\">Below each value: its difference from the median. {SIGNS}</p>\n{}</details>\n",
            table("All figures", "sorts all", &heads, &rows)
        )
    }

    fn all_cell(&self, host: &FleetHost, of: &HostFigure) -> String {
        let Some(figure) = self.figure(of) else { return "<td>".to_owned() };
        let value = self.shown(of.value, number(of.value, figure.unit));
        let (class, sign) = self.figure_mark(host, of, figure);
        format!("<td{class}>{sign}{}{value}<i>{}</i>", bound(of, figure), difference(of.deviation))
    }
}

fn bound(of: &HostFigure, figure: &KindFigure) -> &'static str {
    if of.is_bound { bound_sign(figure.unit).unwrap_or("*") } else { "" }
}

/// The first cause, and what to do next; or why the host is not judged.
fn why(host: &FleetHost) -> String {
    let mark = state_mark(host);
    let Some((first, more)) = host.causes.split_first() else {
        let reasons: Vec<&str> = host.reasons.iter().map(|note| note.text.as_str()).collect();
        return format!("{mark}{}", shortened(&format!("not judged: {}", reasons.join("; ")), CAUSE));
    };
    let meaning = match meaning(first).as_str() {
        "" => String::new(),
        meaning => format!("{}. ", text(&capital(meaning))),
    };
    let also: Vec<String> = more.iter().map(HostCause::in_words).collect();
    let also = if also.is_empty() { String::new() } else { format!("Also: {}. ", shortened(&also.join("; "), CAUSE)) };
    format!("{mark}{}<small>{meaning}{also}Next: {}</small>", shortened(&first.in_words(), CAUSE), text(&first.advice))
}

/// A relative difference; a document may hold any number.
fn difference(of: f64) -> String {
    if of.is_finite() { signed(of) } else { ABSENT.to_owned() }
}

/// A text as the beginning of a sentence.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a cause means beyond its words, and what may be behind it.
fn meaning(cause: &HostCause) -> String {
    let finding = cause.fact.map(|_| cause.finding.as_str());
    finding.into_iter().chain(cause.hint.as_deref()).collect::<Vec<_>>().join(": ")
}

/// The hosts that could not be measured, with what they said.
pub(super) fn failed(fleet: &Fleet) -> String {
    let failures: Vec<_> = fleet.hosts.iter().filter_map(|host| Some((host, host.failure.as_ref()?))).collect();
    if failures.is_empty() {
        return String::new();
    }
    let heads = ["host", "how", "error output", "exit code", "when"].map(|name| head(name, "", "")).concat();
    let rows: String = failures
        .into_iter()
        .map(|(host, failure)| {
            format!(
                "<tr><th scope=\"row\">{}{}</th><td>{}</td><td><pre>{}</pre></td><td>{}</td><td>{}</td></tr>\n",
                state_mark(host),
                shortened(&host.host, 40),
                failure.how.words(),
                text(&first_lines(&failure.message)),
                failure.exit.map_or_else(|| ABSENT.to_owned(), |exit| exit.to_string()),
                text(failure.at.as_deref().unwrap_or(ABSENT))
            )
        })
        .collect();
    format!("<h3>Failed</h3>\n{}", table("Failed hosts", "sorts failed", &heads, &rows))
}

/// The first lines of what a host said.
fn first_lines(message: &str) -> String {
    let message = message.trim();
    let lines: Vec<&str> = message.lines().take(QUOTED.0).collect();
    let first: String = lines.join("\n").chars().take(QUOTED.1).collect();
    match first.len().cmp(&message.len()) {
        Ordering::Less => first + " …",
        _ => first,
    }
}
