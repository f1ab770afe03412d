//! What the memory does, in one sentence that may be quoted.

use tiermark_model::{Interrupted, Run, Tier, count_of};
use tiermark_page::{Text, text};

use super::figures::{Figure, Survey, TierRow};
use super::marks::{self, TierSize, shown, with_unit};
use super::words;
use crate::order::distinct;

/// Interruptions below so many a second are those of any system: its own timers.
const OFTEN: f64 = 1000.0;

/// `L1 1.25 ns, L2 3.90 ns; L3 ~40 MiB of 480 MiB, 40.0 ns, 29.0 GB/s a core; memory 167 ns, 16.0 GB/s a core, 31.0
/// all; interrupted 8,600 times a second`; `None` where nothing has a number.
pub(super) fn sentence(survey: &Survey<'_>) -> Option<Text> {
    let last = words::last_cache(&survey.run.machine);
    let row = |row: &TierRow<'_>| match row.tier() {
        Some(Tier::Cache(_)) if row.name == last => cache(row, survey.run),
        Some(Tier::Cache(_)) => private(row),
        _ => memory(row, survey.cores()),
    };
    // Several places have the same rows: a sentence is of the first.
    let names = distinct(survey.rows.iter().map(|row| row.name.as_str()));
    let first = |name: &str| survey.rows.iter().find(|row| row.name == name);
    let rows: Vec<(bool, Text)> = names
        .into_iter()
        .filter_map(first)
        .filter_map(|of| Some((of.name != last && matches!(of.tier(), Some(Tier::Cache(_))), row(of)?)))
        .collect();
    let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(is_private, _)| *is_private);
    let own = Text::joined(own.into_iter().map(|(_, text)| text), ", ");
    let parts = std::iter::once(own).chain(others.into_iter().map(|(_, text)| text)).chain(interrupted(survey));
    let all = Text::joined(parts.filter(|part| !part.is_empty()), "; ");
    (!all.is_empty()).then_some(all)
}

/// Visits this far apart, most over least, are named by their range: one number would stand for none of them.
const WIDE: f64 = 2.0;

/// A figure in running text: `34.4 ns`, `15.6–96.7 ns` where its visits differ that much.
fn spoken(figure: &Figure<'_>) -> Text {
    let is_wide = figure.finding.typical.is_some_and(|of| of.p90 > WIDE * of.p10);
    let unit = || text![" ", Text::unit(figure.finding.unit)];
    let range = marks::spread(figure).filter(|_| is_wide).map(|range| range + unit());
    range.unwrap_or_else(|| with_unit(figure))
}

/// A figure that has a number.
fn known<'f, 'a>(figure: Option<&'f Figure<'a>>) -> Option<&'f Figure<'a>> {
    figure.filter(|figure| figure.finding.quoted().value.is_some())
}

/// A cache of one core: its latency.
fn private(row: &TierRow<'_>) -> Option<Text> {
    known(row.latency.as_ref()).map(|ns| text![&row.name, " ", spoken(ns)])
}

/// The last-level cache: what can be used of it, its latency, and what one core reads from it.
fn cache(row: &TierRow<'_>, run: &Run) -> Option<Text> {
    let part = marks::size(row, &run.machine).filter(|size| !matches!(size, TierSize::Declared(_))).map(Text::from);
    let latency = known(row.latency.as_ref()).map(spoken);
    let one = known(row.rates[0][0].as_ref()).map(|rate| spoken(rate) + " a core");
    let parts: Vec<Text> = [part, latency, one].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| text![&row.name, " ", Text::joined(parts, ", ")])
}

/// Memory: its latency, and what one core and all cores read from it.
fn memory(row: &TierRow<'_>, cores: Option<u64>) -> Option<Text> {
    let is_own =
        row.tier() == Some(Tier::Dram) && row.latency.is_none_or(|figure| figure.finding.labels.node().is_none());
    let name = if is_own { "memory" } else { row.name.as_str() };
    let latency = known(row.latency.as_ref()).map(spoken);
    let [one, all] = [0, 1].map(|span| known(row.rates[span][0].as_ref()));
    let one_text = one.map(|rate| spoken(rate) + " a core");
    // Only the cores of one node read the memory of another.
    let whose = |rate: &Figure<'_>| match rate.finding.labels.threads().filter(|threads| Some(*threads) != cores) {
        Some(threads) => format!(" by {}", count_of(threads, "core")),
        None if one.is_some() => " all".to_owned(),
        None => " all cores".to_owned(),
    };
    let all_text = all.map(|rate| if one.is_some() { shown(rate) } else { with_unit(rate) } + whose(rate));
    let parts: Vec<Text> = [latency, one_text, all_text].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| text![name, " ", Text::joined(parts, ", ")])
}

/// How often the cpus were taken away, where that is more than a system does by itself.
fn interrupted(survey: &Survey<'_>) -> Option<Text> {
    let all = Interrupted::of(survey.experiments.iter().flat_map(|e| &e.interruptions))?;
    (all.rate() >= OFTEN).then(|| format!("interrupted {} times a second", all.rate_text()).into())
}
