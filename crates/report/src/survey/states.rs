//! The states that a machine was in while it was surveyed: how often, for how long, and what the figures come to in
//! each.

use std::collections::HashMap;

use tiermark_model::{Grade, LADDER_OPS, LADDER_SPANS, LabelSet, Observation, Run, Span, State, StateKind, Unit};
use tiermark_page::{Page, Table, Text, beside, heading, nanoseconds, rate_unit, space, text};

use super::figures::{Figure, Survey, TierRow};
use super::marks::plain;
use super::words;
use crate::order::first;

/// Columns of the labels at the left of the sections.
pub(crate) const GUTTER: usize = 8;
/// A state's figure is shown where it differs from the ladder's by more than this: less is what two edges differ by.
const DIFFERS: f64 = 0.05;
/// Two states of the cpus that both take this share of the time are worth a word in the result.
const OFTEN: f64 = 0.05;

/// The states of all experiments, each once; shares are weighted by the visits that could see them.
pub(crate) fn states(run: &Run) -> Vec<State> {
    let mut all: Vec<State> = Vec::new();
    for state in run.experiments.iter().flat_map(|e| &e.states) {
        match all.iter_mut().find(|known| known.state == state.state) {
            Some(known) => merge(known, state),
            None => all.push(*state),
        }
    }
    // What one part of a run saw of the cpus holds for that part: they were not in one placement throughout if another
    // part saw two cpus on one core.
    if all.iter().any(|state| words::is_of_cpus(&state.state) && state.state != StateKind::Unmoved) {
        all.retain(|state| state.state != StateKind::Unmoved);
    }
    let rank = |state: &State| (!words::is_of_cpus(&state.state), state.share);
    all.sort_by(|a, b| rank(a).0.cmp(&rank(b).0).then(b.share.total_cmp(&a.share)));
    all
}

fn merge(known: &mut State, other: &State) {
    let (mine, theirs) = (known.visits as f64, other.visits as f64);
    if mine + theirs > 0.0 {
        known.share = (known.share * mine + other.share * theirs) / (mine + theirs);
    }
    // Lengths of stays are those of the experiment that could see more of them.
    if other.visits > known.visits {
        (known.lasts, known.ping_ns) = (other.lasts.or(known.lasts), other.ping_ns.or(known.ping_ns));
    }
    known.visits += other.visits;
}

/// Whether the cpus move: two states of where they are take a share of the time that counts, or one does and leaves
/// one.
pub(crate) fn cpus_move(run: &Run) -> bool {
    let states = states(run);
    let often: Vec<&State> = states.iter().filter(|s| words::is_of_cpus(&s.state) && s.share >= OFTEN).collect();
    match often[..] {
        [one] => one.state == StateKind::OneCore && one.share <= 1.0 - OFTEN,
        _ => often.len() > 1,
    }
}

/// The section of the report; empty where no state was seen.
pub(crate) fn section(survey: &Survey<'_>) -> Page {
    let states = states(survey.run);
    if states.is_empty() {
        return Page::new();
    }
    let table = Table::of(&states).texts("probably (may overlap)", |s| words::state(&s.state, &survey.run.machine));
    let table = table.numbers("of the time", |state| words::share(state.share)).texts("lasts", words::stays);
    let figures = states.iter().map(|state| meanwhile(survey, &state.state));
    let table = table.table().indent(GUTTER).remarked("then ", figures);
    space() + labelled("States", table.into())
}

/// Puts a label beside a page that is indented by the gutter.
pub(crate) fn labelled(label: &str, page: Page) -> Page {
    beside(label, GUTTER, page)
}

/// The figures of a state that differ from the ladder: `all cores: DRAM write 37.0, copy 47.7 GB/s`.
fn meanwhile(survey: &Survey<'_>, kind: &StateKind) -> Text {
    let mut parts: Vec<Text> = Vec::new();
    let latency = |row: &TierRow<'_>| Some(format!("{} {}", row.name, nanoseconds(then(row.latency.as_ref()?, kind)?)));
    let latencies: Vec<String> = survey.rows.iter().filter_map(latency).collect();
    parts.extend((!latencies.is_empty()).then(|| format!("latency: {} ns", latencies.join(", ")).into()));
    for (at, span) in LADDER_SPANS.iter().enumerate() {
        let rate = |op: &str, figure: &Option<Figure<'_>>| {
            Some(text![op, " ", plain(then(figure.as_ref()?, kind)?, Unit::BytesPerSecond)])
        };
        let rates = |row: &TierRow<'_>| {
            let rates =
                Text::joined(LADDER_OPS.iter().zip(&row.rates[at]).filter_map(|(op, figure)| rate(op, figure)), ", ");
            (!rates.is_empty()).then(|| text![&row.name, " ", rates])
        };
        let rows = Text::joined(survey.rows.iter().filter_map(rates), "; ");
        let span = if *span == Span::One { "one core" } else { "all cores" };
        parts.extend((!rows.is_empty()).then(|| text![span, ": ", rows, " ", rate_unit()]));
    }
    Text::joined(parts, "; ")
}

/// A figure's value in a state, where it differs from the figure.
fn then(figure: &Figure<'_>, kind: &StateKind) -> Option<f64> {
    let value = figure.finding.value.filter(|_| figure.grade() != Grade::Invalid)?;
    let seen = figure.seen?.in_states.iter().find(|s| s.state == *kind)?;
    let rates = matches!(figure.finding.unit, Unit::BytesPerSecond | Unit::Ns);
    (rates && (seen.value / value - 1.0).abs() > DIFFERS).then_some(seen.value)
}

/// States with all that is known of them, for the long view.
pub(crate) fn table(run: &Run) -> Page {
    let states = states(run);
    if states.is_empty() {
        return Page::new();
    }
    let table = Table::of(&states).texts("probably (may overlap)", |s| words::state(&s.state, &run.machine));
    let table = table.numbers("of the|time", |state| words::share(state.share));
    let table = table.numbers("visits", |state| state.visits.to_string()).texts("lasts", words::stays);
    let table = table.numbers("ping|ns", |state| state.ping_ns.map(nanoseconds).unwrap_or_default()).table();
    heading("States of the machine during the run") + table
}

/// The steps of a run with their names in words: that of the first figure that rests on a step, else its labels.
pub(crate) struct StepNames<'a> {
    figures: HashMap<&'a str, Figure<'a>>,
    seen: HashMap<&'a str, &'a Observation>,
}

impl<'a> StepNames<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let figures = super::figures::of_run(run).into_iter();
        let resting = figures.flat_map(|f| f.finding.evidence.iter().map(move |step| (step.as_str(), f)));
        Self { figures: first(resting), seen: first(run.observations().map(|o| (o.step.as_str(), o))) }
    }

    /// Whether the run has the step's observation.
    pub(crate) fn has(&self, step: &str) -> bool {
        self.seen.contains_key(step)
    }

    /// The name; the id itself of a step that has no other.
    pub(crate) fn name(&self, step: &str) -> String {
        let labels = || Some(self.seen.get(step)?.labels.words(LabelSet::NONE.cpus()));
        let name = self.figures.get(step).map(Figure::name).or_else(labels);
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| step.to_owned())
    }
}
