//! The pane of what the machine gives now.

use std::collections::VecDeque;

use ratatui::text::Line;
use tiermark_model::{Share, WatchActive, WatchBest, WatchSample, format_gbs, format_ns};
use tiermark_page::{Ink, Style, Table, wrap};

use crate::monitor::backend::{self, alarm, line, spark};
use crate::monitor::lines::known;
use crate::monitor::text::{brief, watch_time};

/// Lines of the pane: heading, a line a figure, the cpus, the cost, and the border.
pub(crate) const LINES: u16 = ROWS.len() as u16 + 5;
/// A figure whose newest visit is worse than the capability by this factor is marked with `!`: what a program notices,
/// and more than visits scatter by.
const NOTABLE: f64 = 1.5;
/// The same of the median of five visits to a cell whose visits repeat.
const NOTABLE_RECENT: f64 = 1.2;

/// Before the figures that no saved run has, and behind them what would measure most of them.
const NO_RECORD: (&str, &str) = ("no record of", "run `tiermark latency` and `tiermark bandwidth` while idle");
/// Before the figures whose capability is not known yet, and behind them when it will be.
const NO_CAPABILITY: (&str, &str) = ("no capability yet of", "each needs 60 undisturbed windows in 5 visits");

/// A line: its name, its figure, the memory that its measurement uses, how that is written, and whether less is better.
struct ActiveRow {
    name: &'static str,
    best: fn(&WatchActive) -> Option<WatchBest>,
    bytes: fn(&WatchActive) -> Option<u64>,
    text: fn(f64) -> String,
    less_is_better: bool,
}

impl ActiveRow {
    /// How many times worse a value is than the best; below 1 if it is better.
    fn worse(&self, value: f64, best: f64) -> Option<f64> {
        let factor = if self.less_is_better { value / best } else { best / value };
        Some(factor).filter(|factor| factor.is_finite())
    }

    /// Whether the machine gives notably less than it has shown.
    fn is_notable(&self, seen: &WatchBest) -> bool {
        let than = |value: Option<f64>, factor: f64| {
            let worse = value.zip(best_known(seen)).and_then(|(value, best)| self.worse(value, best));
            worse.is_some_and(|worse| worse >= factor)
        };
        than(seen.now, NOTABLE) || than(seen.recent, NOTABLE_RECENT)
    }
}

/// The capability; before it is known, the best visit.
fn best_known(seen: &WatchBest) -> Option<f64> {
    seen.capability.or(seen.so_far)
}

const fn row(
    name: &'static str,
    best: fn(&WatchActive) -> Option<WatchBest>,
    bytes: fn(&WatchActive) -> Option<u64>,
    text: fn(f64) -> String,
    less_is_better: bool,
) -> ActiveRow {
    ActiveRow { name, best, bytes, text, less_is_better }
}

const ROWS: [ActiveRow; 10] = [
    row("clock GHz", |a| a.clock, |_| None, |hz| format!("{:.2}", hz / 1e9), false),
    row("L1 ns", |a| a.l1.latency, |a| a.l1.latency_bytes, format_ns, true),
    row("L1 GB/s", |a| a.l1.bandwidth, |a| a.l1.bandwidth_bytes, format_gbs, false),
    row("L2 ns", |a| a.l2.latency, |a| a.l2.latency_bytes, format_ns, true),
    row("L3 ns", |a| a.l3.latency, |a| a.l3.latency_bytes, format_ns, true),
    row("L3 lasts", |a| a.l3.lasts, |a| a.l3.kept_bytes, watch_time, false),
    row("L3 kept %", |a| a.l3.kept, |a| a.l3.kept_bytes, |share| format!("{:.0}", share * 100.0), false),
    row("DRAM ns", |a| a.dram.latency, |a| a.dram.latency_bytes, format_ns, true),
    row("DRAM GB/s", |a| a.dram.bandwidth, |a| a.dram.bandwidth_bytes, format_gbs, false),
    row("ping ns", slowest_ping, |_| None, format_ns, true),
];

/// The slowest round trip between two cpus.
fn slowest_ping(active: &WatchActive) -> Option<WatchBest> {
    let slowest = active.pings.iter().max_by(|a, b| a.now.unwrap_or(0.0).total_cmp(&b.now.unwrap_or(0.0)))?;
    let (now, age_seconds, capability) = (slowest.now, slowest.age_seconds, slowest.capability);
    Some(WatchBest { now, age_seconds, capability, ..WatchBest::default() })
}

/// The newest values of each line.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveHistory(VecDeque<[Option<f64>; ROWS.len()]>);

impl ActiveHistory {
    pub(crate) fn add(&mut self, sample: &WatchSample, most: usize) {
        let Some(active) = &sample.active else { return };
        if self.0.len() >= most {
            self.0.pop_front();
        }
        self.0.push_back(ROWS.map(|row| (row.best)(active)?.now));
    }

    fn of(&self, row: usize, most: usize) -> Vec<Option<f64>> {
        self.0.iter().skip(self.0.len().saturating_sub(most)).map(|values| values[row]).collect()
    }
}

/// What is not known yet, with what would make it known, in at most so many lines of the pane: whole notes only.
pub(crate) fn notes(sample: &WatchSample, active: &WatchActive, columns: usize, most: usize) -> Vec<String> {
    let lacking = |names: &[String], (what, why): (&str, &str)| {
        (!names.is_empty()).then(|| format!("{what} {}: {why}", names.join(", ")))
    };
    // A simulated machine has no record.
    let record = lacking(&active.without_record, NO_RECORD).filter(|_| sample.simulated.is_none());
    let mut shown: Vec<String> = Vec::new();
    for note in [record, lacking(&active.without_capability, NO_CAPABILITY)].into_iter().flatten() {
        let lines = wrap(&note, columns);
        if shown.len() + lines.len() <= most {
            shown.extend(lines.into_iter().map(|line| format!(" {line}")));
        }
    }
    shown
}

/// The lines of the pane, without [`notes`].
pub(crate) fn lines(
    sample: &WatchSample,
    active: &WatchActive,
    history: &ActiveHistory,
    style: &Style,
) -> Vec<Line<'static>> {
    type Seen<'a> = (usize, &'a ActiveRow, WatchBest);
    let seen = |(at, row): (usize, &'static ActiveRow)| (at, row, (row.best)(active).unwrap_or_default());
    let rows: Vec<Seen<'_>> = ROWS.iter().enumerate().map(seen).collect();
    let best = |(_, row, seen): &Seen<'_>| match seen.so_far.filter(|_| seen.capability.is_none()) {
        Some(best) => format!("~{}", (row.text)(best)),
        None => known(seen.capability, row.text),
    };
    let share = |(_, _, seen): &Seen<'_>| {
        let share = seen.now.zip(best_known(seen)).map(|(now, best)| now / best).filter(|share| share.is_finite());
        known(share, |share| format!("{:.0}%", share * 100.0))
    };
    let table = Table::of(&rows).at_least(9).texts("", |(_, row, _)| row.name);
    let table = table.at_least(5).numbers("size", |(_, row, _)| (row.bytes)(active).map_or_else(String::new, brief));
    let table = table.at_least(6).numbers("now", |(_, row, seen)| known(seen.now, row.text));
    let table = table.at_least(10).numbers("capability", best);
    let table = table.at_least(6).numbers("record", |(_, row, seen)| known(seen.record, row.text));
    let table = table.at_least(14).numbers("now/capability", share);
    let table = table.rest(style.width, |(at, ..), room| spark(&history.of(*at, room), f64::MIN_POSITIVE));
    let mut lines = backend::lines(table.inked(|(_, row, seen)| alarm(row.is_notable(seen))), style);
    lines.push(line(cpus(active), Ink::Plain, style));
    lines.push(line(cost(sample, active), Ink::Dim, style));
    lines
}

/// Where the cpus are.
fn cpus(active: &WatchActive) -> String {
    let taken = active.interrupted.map(|share| format!(", interrupted {:.1} of the time", Share(share)));
    let taken = taken.unwrap_or_default();
    if active.clusters.is_empty() {
        return format!(" measured on cpu {}{taken}", active.cpu);
    }
    let together = active.clusters.iter().map(ToString::to_string).collect::<Vec<_>>().join(" │ ");
    format!(" measured on cpu {}{taken}; cpus together: {together}; moved {} times", active.cpu, active.moves)
}

fn cost(sample: &WatchSample, active: &WatchActive) -> String {
    let percent = |share: Option<f64>| known(share, |share| format!("{:.2}", share * 100.0));
    let memory = format!(", {} of memory", tiermark_model::Bytes(active.memory_bytes));
    format!(
        " steal {} %; cost {} of {} % of a cpu{}",
        percent(sample.cpu.and_then(|cpu| cpu.steal)),
        percent(sample.own.cpu_share.or(active.cost_share)),
        (active.budget * 1e4).round() / 1e2,
        // What to do is worth more than what is taken.
        active.interval_needed_seconds.map_or(memory, |needed| format!(": use --interval {needed} or longer")),
    )
}
