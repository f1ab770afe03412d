//! All pairs of many cpus, in bins.

use std::collections::BTreeMap;

use serde::Serialize;
use tiermark_model::Finding;

use crate::markup;
use crate::number::median;

/// Bins of a page's heat map at most: about as many as a screen has room for.
const BINS: usize = 512;
/// Fewer show no pattern.
const FEWEST: usize = 24;

/// The median of each pair of bins, the lower first.
pub(super) fn medians(
    cpus: &[u64],
    cells: &BTreeMap<(u64, u64), &Finding>,
    a_bin: usize,
) -> BTreeMap<(usize, usize), f64> {
    let bin: BTreeMap<u64, usize> = cpus.iter().enumerate().map(|(index, cpu)| (*cpu, index / a_bin)).collect();
    let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for ((first, second), f) in cells {
        if let Some(value) = f.value.filter(|v| v.is_finite() && *v > 0.0) {
            let (a, b) = (bin[first], bin[second]);
            values.entry((a.min(b), a.max(b))).or_default().push(value);
        }
    }
    values.into_iter().filter_map(|(at, v)| Some((at, median(&v)?))).collect()
}

/// Cpus in a bin of a page's heat map, and its medians: as fine as a screen shows, but where only a sample of the pairs
/// was measured so coarse that a quarter of the cells have a value.
pub(super) fn covered(cpus: &[u64], cells: &BTreeMap<(u64, u64), &Finding>) -> (usize, BTreeMap<(usize, usize), f64>) {
    let mut a_bin = cpus.len().div_ceil(BINS);
    loop {
        let medians = medians(cpus, cells, a_bin);
        let bins = cpus.len().div_ceil(a_bin);
        if medians.len() * 4 >= bins * (bins + 1) / 2 || bins / 2 < FEWEST {
            return (a_bin, medians);
        }
        a_bin *= 2;
    }
}

/// The map for the script of a page.
#[derive(Serialize)]
struct Map {
    unit: &'static str,
    of: &'static str,
    low: f64,
    high: f64,
    names: Vec<String>,
    /// The lower half with the diagonal; 0 where nothing was measured.
    rows: Vec<Vec<f64>>,
}

/// Three digits, as the eye can compare.
fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(0.0)
}

/// A heat map of a page.
pub(super) fn json(
    cpus: &[u64],
    medians: &BTreeMap<(usize, usize), f64>,
    a_bin: usize,
    (low, high): (f64, f64),
) -> String {
    let name = |bin: &[u64]| match bin {
        [first, .., last] => format!("{first}…{last}"),
        bin => bin.first().map_or_else(String::new, u64::to_string),
    };
    let names: Vec<String> = cpus.chunks(a_bin).map(name).collect();
    let row = |row: usize| (0..=row).map(|column| medians.get(&(column, row)).map_or(0.0, |v| short(*v))).collect();
    let rows = (0..names.len()).map(row).collect();
    let of = if a_bin == 1 { "cpus" } else { "medians of cpus" };
    let map = Map { unit: "ns", of, low: short(low), high: short(high), names, rows };
    markup::map(&serde_json::to_string(&map).unwrap_or_default())
}
