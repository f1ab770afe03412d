//! The long views of a saved run: why figures are not trusted, curves, tails, kernels.

use tiermark_model::{Finding, Grade, LabelSet, Observation, Quantity, Rival, Run, Verdict};
use tiermark_page::{Detail, Ink, Page, Table, Text, heading, paragraph, space, text};

use super::figures::{Figure, Steps};
use super::marks::{in_its_unit, with_unit};
use super::timeline::timeline;
use super::why::why;
use crate::curves;
use crate::findings::tails;
use crate::header::header;
use crate::parts::{RunSection, parts};

/// What `show` has of a run beside its report.
#[derive(Debug)]
pub struct RunView {
    /// The option of `show`, without its hyphens.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// What is said where there is nothing to show.
    nothing: &'static str,
    body: fn(&Run, Detail) -> Page,
}

impl RunView {
    /// The view without the run's header; empty where it has nothing to show.
    pub fn body(&self, run: &Run, detail: Detail) -> Page {
        (self.body)(run, detail)
    }
}

/// Every view: options, help, the line of the report that names them, and the tests that go through all follow from its
/// row.
pub static RUN_VIEWS: [RunView; 5] = [
    RunView {
        name: "why",
        about: "why figures are not trusted and what would help, and the states of the machine",
        nothing: "",
        body: |run, _| space() + why(run),
    },
    RunView {
        name: "curves",
        about: "the curves by size, large, with their points",
        nothing: "This run measured no curve by size.",
        body: curves_of,
    },
    RunView {
        name: "tails",
        about: "the tails of latency",
        nothing: "This run measured no tail of latency.",
        body: tails_of,
    },
    RunView {
        name: "over-time",
        about: "round trips between cpus and the speed of visits during the run",
        nothing: "This run kept no visits.",
        body: |run, _| timeline(run),
    },
    RunView {
        name: "kernels",
        about: "which kernels the figures are of, and how they compare with the default ones",
        nothing: "This run compared no kernels.",
        body: kernels_of,
    },
];

/// Renders one view of a run, under the run's own header.
pub fn run_view(run: &Run, view: &RunView, detail: Detail) -> Page {
    let head = if super::is_survey(run) { super::head(run) } else { header(run) };
    let body = view.body(run, detail);
    head + if body.is_empty() { space() + paragraph("", view.nothing, Ink::Plain) } else { body }
}

/// The options of all views, as `--why | --curves`.
pub fn run_view_options(between: &str) -> String {
    RUN_VIEWS.iter().map(|view| format!("--{}", view.name)).collect::<Vec<_>>().join(between)
}

fn curves_of(run: &Run, detail: Detail) -> Page {
    // Points of different places are on different curves.
    let parts = parts(run);
    let of_part = |(at, part): (usize, &RunSection<'_>)| {
        let observations: Vec<&Observation> = part.experiments.iter().flat_map(|e| &e.observations).collect();
        let curves = curves::large(&observations, &run.machine, detail);
        if curves.is_empty() { curves } else { part.head(at + 1, parts.len()) + curves }
    };
    parts.iter().enumerate().map(of_part).collect()
}

fn tails_of(run: &Run, detail: Detail) -> Page {
    // A quantile describes the run, disturbance included: it bounds nothing.
    let described = |f: &Finding| Finding {
        verdict: if f.verdict.grade == Grade::Bound { Verdict::trusted() } else { f.verdict.clone() },
        ..f.clone()
    };
    let findings: Vec<Finding> = run
        .findings()
        .filter(|f| f.quantity == Quantity::LatencyTail && f.labels.statistic().is_some())
        .map(described)
        .collect();
    let out = tails(&findings.iter().collect::<Vec<_>>(), detail);
    if out.is_empty() {
        return out;
    }
    let text = "Each number is a quantile over blocks. A block is the mean of some consecutive accesses, so a single \
                slow access takes longer than these numbers show. Disturbed blocks are included.";
    out + paragraph("  ", text, Ink::Dim)
}

/// The rates that name the kernel behind them.
fn kernels_of<'a>(run: &'a Run, detail: Detail) -> Page {
    let of_rates = |f: &&Finding| f.quantity == Quantity::Bandwidth && f.labels.kernel().is_some();
    let of_part = |part: RunSection<'a>| {
        let steps = Steps::of(&part.experiments);
        let rates = part.experiments.into_iter().flat_map(|e| &e.findings).filter(of_rates);
        rates.map(|f| Figure::new(&steps, f)).collect::<Vec<_>>()
    };
    let figures: Vec<Figure<'_>> = parts(run).into_iter().flat_map(of_part).collect();
    if figures.is_empty() {
        return Page::new();
    }
    let kernel = |figure: &Figure<'_>| figure.finding.labels.kernel().unwrap_or_default().to_owned();
    let default = |figure: &Figure<'_>| figure.seen?.rivals.first().map(|rival| rival.kernel.to_string());
    let is_default = |figure: &Figure<'_>| default(figure).is_some_and(|default| default == kernel(figure));
    let to_default = |figure: &Figure<'_>| {
        let ratio = figure.seen.filter(|_| !is_default(figure)).and_then(|o| ratio(o, &kernel(figure)));
        ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default()
    };
    let table = Table::of(&figures).texts("figure", name).numbers("value", with_unit).texts("kernel", kernel);
    let table = table.numbers("to default", to_default);
    let table = table.texts("default", |figure| match default(figure) {
        _ if is_default(figure) => "the same".to_owned(),
        default => default.unwrap_or_default(),
    });
    let table = table.table();
    let rivals: Page = figures.iter().map(all_rivals).collect();
    let key = "to default: the rate divided by that of the default kernel at the same moments. The figures use \
               another kernel than the default where it is more than 3 % faster.";
    let mut out = heading("Kernels behind the figures") + table + paragraph("  ", key, Ink::Dim);
    if detail.is_all() && !rivals.is_empty() {
        out += heading("All kernels: ratio to the default kernel's rate, and the rate derived from it") + rivals;
    }
    out
}

fn name(figure: &Figure<'_>) -> String {
    match figure.finding.labels.tier_of_node() {
        Some(_) => figure.name(),
        None => figure.finding.labels.words(LabelSet::NONE.kernel().purpose().cpus()),
    }
}

/// The rate of a kernel over that of the first; `None` where it is not known.
fn ratio(o: &Observation, kernel: &str) -> Option<f64> {
    let rival = o.rivals.iter().find(|rival| rival.kernel.to_string() == kernel)?;
    rival.ratio.filter(|ratio| ratio.is_finite())
}

fn all_rivals(figure: &Figure<'_>) -> Page {
    let Some(o) = figure.seen.filter(|o| o.rivals.len() > 1) else { return Page::new() };
    let ratio_text = |rival: &Rival| {
        let Some(ratio) = rival.ratio.filter(|ratio| ratio.is_finite()) else {
            return Text::from(format!("{} disturbed", rival.kernel));
        };
        let compared = format!("{} {ratio:.2}", rival.kernel);
        match rival.value {
            Some(value) => text![compared, " (", in_its_unit(figure, value).with_unit(), ")"],
            None => compared.into(),
        }
    };
    paragraph("  ", text![name(figure), ": ", Text::joined(o.rivals.iter().map(ratio_text), ", ")], Ink::Plain)
}
