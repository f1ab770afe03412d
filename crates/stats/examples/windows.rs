//! Compares estimates on recorded windows: `cargo run --release -p tiermark-stats --example windows -- FILE…`.
//!
//! A line of a file is a window: seconds, cell, flag (1: a thread had a gap), number within its visit, value, ping
//! before, ping after; times where the cell's name begins with `lat`, rates elsewhere, with a `.2T` at the end for two
//! threads. Prints, for each cell, how far the files differ from each other in each estimate (half the spread) and the
//! share of windows at the edge in each file; then how many cells are accepted at some shares, and how many of those
//! are off from the best of all files.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what it is for")]

use std::collections::BTreeMap;
use std::env;
use std::fs;

use tiermark_stats::{Side, VisitWindows, edge, group_limits, group_of, median};

/// The windows of a visit, and the pings around it.
type Visit = (VisitWindows, [f64; 2]);
/// An estimate: its name, and what it makes of visits.
type Estimate = (&'static str, fn(&[VisitWindows], Side) -> Option<f64>);

/// Shares of windows at the edge from which a cell is accepted.
const SHARES: [f64; 5] = [0.03, 0.04, 0.05, 0.06, 0.08];

const ESTIMATES: [Estimate; 3] = [
    ("median", |visits, _| median(&values(visits))),
    ("best", |visits, side| {
        let pick = if side == Side::High { f64::max } else { f64::min };
        values(visits).into_iter().reduce(pick)
    }),
    ("edge", |visits, side| Some(edge(visits, side)?.value)),
];

fn main() {
    let files: Vec<String> = env::args().skip(1).collect();
    let runs: Vec<BTreeMap<String, Vec<Visit>>> = files.iter().map(|file| read(file)).collect();
    let Some(first) = runs.first() else {
        eprintln!("name files of windows");
        return;
    };
    let mut spreads = vec![Vec::new(); ESTIMATES.len()];
    // Share of windows at the edge, and how far the edge is from the best of all files.
    let mut seen: Vec<(f64, f64)> = Vec::new();
    println!("{:<14} {:>8} {:>8} {:>8}  share at the edge, % a file", "half spread, %", "median", "best", "edge");
    for cell in first.keys().filter(|cell| runs.iter().all(|run| run.contains_key(*cell))) {
        let side = if cell.starts_with("lat") { Side::Low } else { Side::High };
        let chosen: Vec<Vec<VisitWindows>> = runs.iter().map(|run| best_state(cell, &run[cell], side)).collect();
        let mut row = format!("{cell:<14}");
        for ((_, estimate), spreads) in ESTIMATES.iter().zip(&mut spreads) {
            let found: Vec<f64> = chosen.iter().filter_map(|visits| estimate(visits, side)).collect();
            let (least, most) =
                (found.iter().copied().fold(f64::MAX, f64::min), found.iter().copied().fold(0.0, f64::max));
            let half = 50.0 * (most / least - 1.0);
            row.push_str(&format!(" {half:>8.2}"));
            spreads.push(half);
        }
        let edges: Vec<_> = chosen.iter().filter_map(|visits| edge(visits, side)).collect();
        let best = edges.iter().map(|e| e.value).reduce(if side == Side::High { f64::max } else { f64::min });
        seen.extend(edges.iter().filter_map(|e| Some((e.share, (e.value / best?).ln().abs()))));
        let shares: Vec<String> = edges.iter().map(|e| format!("{:.1}", 100.0 * e.share)).collect();
        println!("{row}  {}", shares.join(" "));
    }
    for ((name, _), spreads) in ESTIMATES.iter().zip(&spreads) {
        let worst = spreads.iter().copied().fold(0.0, f64::max);
        println!("{name}: middle cell {:.2} %, worst {worst:.1} %", median(spreads).unwrap_or_default());
    }
    for share in SHARES {
        let accepted: Vec<f64> = seen.iter().filter(|(at, _)| *at >= share).map(|(_, off)| *off).collect();
        let off = |by: f64| accepted.iter().filter(|off| **off > by).count();
        println!(
            "accepted at {:.0} %: {} of {}, off by > 3 %: {}, > 5 %: {}",
            share * 100.0,
            accepted.len(),
            seen.len(),
            off(0.03),
            off(0.05)
        );
    }
}

fn values(visits: &[VisitWindows]) -> Vec<f64> {
    visits.iter().flat_map(|visit| visit.values.iter().copied()).collect()
}

/// The visits of the state, told by pings, whose edge is best.
fn best_state(cell: &str, visits: &[Visit], side: Side) -> Vec<VisitWindows> {
    let all = || visits.iter().map(|(windows, _)| windows.clone()).collect::<Vec<_>>();
    if !cell.ends_with(".2T") {
        return all();
    }
    let pings: Vec<f64> = visits.iter().flat_map(|(_, pings)| *pings).filter(|ping| *ping > 0.0).collect();
    let limits = group_limits(&pings);
    let states = (0..=limits.len()).map(|state| {
        let here = visits.iter().filter(|(_, pings)| pings.iter().all(|ping| group_of(*ping, &limits) == state));
        here.map(|(windows, _)| windows.clone()).collect::<Vec<_>>()
    });
    let value = |visits: &[VisitWindows]| edge(visits, side).filter(|e| e.has_enough()).map_or(0.0, |e| e.value);
    states.max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or_else(all)
}

fn read(file: &str) -> BTreeMap<String, Vec<Visit>> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut cells: BTreeMap<String, Vec<Visit>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [at, cell, flag, _, value, before, after] = words.as_slice() else { continue };
        let number = |word: &str| word.parse::<f64>().unwrap_or_else(|_| panic!("{file}: '{line}'"));
        let (at, pings) = (number(at), [number(before), number(after)]);
        if *cell == "ping" {
            continue;
        }
        let visits = cells.entry((*cell).to_owned()).or_default();
        if visits.last().is_none_or(|(windows, _)| windows.at != at) {
            visits.push((VisitWindows { at, values: Vec::new() }, pings));
        }
        if let Some((windows, _)) = visits.last_mut().filter(|_| *flag == "0") {
            windows.values.push(number(value));
        }
    }
    cells
}
