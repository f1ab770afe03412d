//! Recorded windows as experiments.

use std::collections::BTreeMap;
use std::fs;

use tiermark_model::{Experiment, KIB, MIB, Metric, Step, Visit, Visits, Window};

use crate::noise::made::{estimated, step};

/// Every recording of a directory, by name.
pub(crate) fn all(directory: &str) -> Vec<(String, Experiment)> {
    let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    names.sort_unstable();
    assert!(!names.is_empty(), "no recording in {directory}");
    let one = |path: &std::path::PathBuf| {
        let (steps, visits) = read(&fs::read_to_string(path).unwrap());
        (path.file_stem().unwrap().to_string_lossy().into_owned(), estimated(steps, visits))
    };
    names.iter().map(one).collect()
}

/// A line is a window: seconds, cell, flag (1: a gap), number within its visit, value, ping before, ping after.
fn read(text: &str) -> (Vec<Step>, Vec<Visits>) {
    let mut cells: BTreeMap<&str, Visits> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [at, cell, flag, _, value, before, after] = words.as_slice() else { continue };
        if *cell == "ping" {
            continue;
        }
        let number = |word: &str| word.parse::<f64>().unwrap();
        // Time 0 marks visits without a time.
        let at = number(at) + 0.1;
        let visits = cells.entry(cell).or_insert_with(|| Visits::new(0, threads(cell) as usize));
        if visits.list.last().is_none_or(|visit| (visit.at - at).abs() > 1e-9) {
            let pings = |word: &str| Some(number(word)).filter(|ping| *ping > 0.0).into_iter().collect();
            visits.list.push(Visit { at, before: pings(before), after: pings(after), ..Visit::default() });
        }
        let scale = if metric(cell) == Metric::Latency { 1.0 } else { 1e9 };
        let window = Window { clean: *flag == "0", values: vec![Some(number(value) * scale)], ..Window::default() };
        visits.list.last_mut().unwrap().windows.push(window);
    }
    cells.into_iter().map(|(cell, visits)| (of(cell), visits)).unzip()
}

fn threads(cell: &str) -> u32 {
    if cell.ends_with(".2T") { 2 } else { 1 }
}

fn metric(cell: &str) -> Metric {
    if cell.starts_with("lat") { Metric::Latency } else { Metric::Bandwidth }
}

fn of(cell: &str) -> Step {
    let sizes = [("L1", 16 * KIB), ("L2", 512 * KIB), ("L3", 4 * MIB), ("DRAM", 512 * MIB)];
    let (tier, bytes) = sizes.into_iter().find(|(tier, _)| cell.contains(tier)).unwrap();
    step(cell.to_owned(), tier, bytes, threads(cell), metric(cell))
}
