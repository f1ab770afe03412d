//! The long views of a saved run: why figures are not trusted, curves, tails, kernels.

use tiermark_model::{Finding, Grade, Labels, Observation, Quantity, Run, Verdict};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, heading, paragraph, space};

use super::figures::{Figure, Steps};
use super::ladder::with_unit;
use super::timeline::timeline;
use super::why::why;
use crate::curves;
use crate::findings::tails;
use crate::header::header;
use crate::ladder::{Shown, row_name};
use crate::parts::{RunSection, parts};

/// What `show` has of a run beside its report.
#[derive(Debug)]
pub struct RunView {
    /// The option of `show`, without its hyphens.
    pub name: &'static str,
    /// What its help says.
    pub about: &'static str,
    /// What is said where there is nothing to show.
    nothing: &'static str,
    body: fn(&Run, &Style) -> Page,
}

/// Every view: options, help, the line of the report that names them, and the tests that go through all follow from its
/// row.
pub static RUN_VIEWS: [RunView; 5] = [
    RunView {
        name: "why",
        about: "Show why figures are not trusted and what would help, and the states of the machine",
        nothing: "",
        body: |run, style| space() + why(run, style),
    },
    RunView {
        name: "curves",
        about: "Show the curves by size, large, with their points",
        nothing: "This run measured no curve by size.",
        body: curves_of,
    },
    RunView {
        name: "tails",
        about: "Show the tails of latency",
        nothing: "This run measured no tail of latency.",
        body: tails_of,
    },
    RunView {
        name: "over-time",
        about: "Show round trips between cpus and the speed of visits during the run",
        nothing: "This run kept no visits.",
        body: |run, _| timeline(run),
    },
    RunView {
        name: "kernels",
        about: "Show which kernels the figures are of, and how they compare with the default ones",
        nothing: "This run compared no kernels.",
        body: kernels_of,
    },
];

/// Renders one view of a run, under the run's own header.
pub fn run_view(run: &Run, view: &RunView, style: &Style) -> Page {
    let head = if super::is_survey(run) { super::head(run) } else { header(run) };
    let body = view_body(run, view, style);
    head + if body.is_empty() { space() + paragraph("", view.nothing, Ink::Plain) } else { body }
}

/// A view without the run's header; empty where it has nothing to show.
pub(crate) fn view_body(run: &Run, view: &RunView, style: &Style) -> Page {
    (view.body)(run, style)
}

/// The options of all views, as `--why | --curves`.
pub fn run_view_options(between: &str) -> String {
    RUN_VIEWS.iter().map(|view| format!("--{}", view.name)).collect::<Vec<_>>().join(between)
}

fn curves_of(run: &Run, style: &Style) -> Page {
    // Points of different places are on different curves.
    let parts = parts(run);
    let of_part = |(at, part): (usize, &RunSection<'_>)| {
        let observations: Vec<&Observation> = part.experiments.iter().flat_map(|e| &e.observations).collect();
        let curves = curves::large(&observations, &run.machine, style);
        if curves.is_empty() { curves } else { part.head(at + 1, parts.len()) + curves }
    };
    parts.iter().enumerate().map(of_part).collect()
}

fn tails_of(run: &Run, style: &Style) -> Page {
    // A quantile describes the run, disturbance included: it bounds nothing.
    let described = |f: &Finding| Finding {
        verdict: if f.verdict.grade == Grade::Bound { Verdict::trusted() } else { f.verdict.clone() },
        ..f.clone()
    };
    let findings: Vec<Finding> = run.findings().filter(|f| f.metric == Quantity::LatencyTail).map(described).collect();
    let out = tails(&mut Shown::new(findings.iter()), style);
    if out.is_empty() {
        return out;
    }
    let text = "Each number is a quantile over blocks. A block is the mean of some consecutive accesses, so a single \
                slow access takes longer than these numbers show. Disturbed blocks are included.";
    out + paragraph("  ", text, Ink::Dim)
}

/// The rates that name the kernel behind them.
fn kernels_of<'a>(run: &'a Run, style: &Style) -> Page {
    let mut table = Table::new().column("figure", Align::Left).column("value", Align::Right);
    table = table.column("kernel", Align::Left).column("to default", Align::Right).column("default", Align::Left);
    let mut rivals = Page::new();
    let of_rates = |f: &&Finding| f.metric == Quantity::Bandwidth && f.labels.get(Labels::KERNEL).is_some();
    let of_part = |part: RunSection<'a>| {
        let steps = Steps::of(&part.experiments);
        let rates = part.experiments.into_iter().flat_map(|e| &e.findings).filter(of_rates);
        rates.map(|f| Figure::new(&steps, f)).collect::<Vec<_>>()
    };
    for figure in parts(run).into_iter().flat_map(of_part) {
        let f = figure.finding;
        let kernel = f.labels.get(Labels::KERNEL).unwrap_or_default();
        let default = figure.seen.and_then(|o| o.rivals.first()).map(|rival| rival.kernel.to_string());
        let ratio = figure.seen.and_then(|o| ratio(o, kernel));
        let is_default = default.as_deref() == Some(kernel);
        table.row(vec![
            Cell::new(name(&figure)),
            Cell::new(with_unit(&figure, style)),
            Cell::new(kernel),
            Cell::new(ratio.filter(|_| !is_default).map(|r| format!("{r:.2}{}", style.times())).unwrap_or_default()),
            Cell::new(if is_default { "the same".to_owned() } else { default.unwrap_or_default() }),
        ]);
        rivals += all_rivals(&figure);
    }
    if table.is_empty() {
        return Page::new();
    }
    let key = "to default: the rate divided by that of the default kernel at the same moments. The figures use \
               another kernel than the default where it is more than 3 % faster.";
    let mut out = heading("Kernels behind the figures") + table + paragraph("  ", key, Ink::Dim);
    if style.verbose && !rivals.is_empty() {
        out += heading("All kernels, by their rate over the default's") + rivals;
    }
    out
}

fn name(figure: &Figure<'_>) -> String {
    match row_name(&figure.finding.labels) {
        Some(_) => figure.name(),
        None => crate::findings::words(&figure.finding.labels, &[Labels::KERNEL, Labels::PURPOSE, Labels::CPUS]),
    }
}

/// The rate of a kernel over that of the first; `None` where it is not known.
fn ratio(o: &Observation, kernel: &str) -> Option<f64> {
    let rival = o.rivals.iter().find(|rival| rival.kernel.to_string() == kernel)?;
    rival.ratio.filter(|ratio| ratio.is_finite())
}

fn all_rivals(figure: &Figure<'_>) -> Page {
    let Some(o) = figure.seen.filter(|o| o.rivals.len() > 1) else { return Page::new() };
    let said = |kernel: String| {
        let ratio = ratio(o, &kernel).map_or_else(|| "disturbed".to_owned(), |r| format!("{r:.2}"));
        format!("{kernel} {ratio}")
    };
    let all: Vec<String> = o.rivals.iter().map(|rival| said(rival.kernel.to_string())).collect();
    paragraph("  ", format!("{}: {}", name(figure), all.join(", ")), Ink::Plain)
}
