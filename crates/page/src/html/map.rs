//! Values of pairs as data for the script of a page.

use serde::Serialize;

use crate::map::{Binned, PairMap};

/// Bins at most: about as many as a screen has room for.
const BINS: usize = 512;
/// Fewer show no pattern.
const FEWEST: usize = 24;

/// Bins as fine as a screen shows, but where only a sample of the pairs was measured so coarse that a quarter of the
/// cells have a value.
pub(super) fn covered(map: &PairMap) -> Binned {
    let mut size = map.items.len().div_ceil(BINS);
    loop {
        let binned = map.binned(size);
        let cells = binned.bins * (binned.bins + 1) / 2;
        if binned.medians.len() * 4 >= cells || binned.bins / 2 < FEWEST {
            return binned;
        }
        size *= 2;
    }
}

#[derive(Serialize)]
struct Map<'a> {
    unit: &'a str,
    of: String,
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

/// The data of a map, in one line.
pub(super) fn json(map: &PairMap, binned: &Binned) -> String {
    let name = |bin: &[u32]| match bin {
        [first, .., last] => format!("{first}…{last}"),
        bin => bin.first().map_or_else(String::new, u32::to_string),
    };
    let names: Vec<String> = map.items.chunks(binned.size).map(name).collect();
    let value = |row: usize, column: usize| binned.medians.get(&(column, row)).map_or(0.0, |v| short(*v));
    let rows = (0..names.len()).map(|row| (0..=row).map(|column| value(row, column)).collect()).collect();
    let of = if binned.size == 1 { map.of.clone() } else { format!("medians of {}", map.of) };
    let (low, high) = binned.range();
    let map = Map { unit: &map.unit, of, low: short(low), high: short(high), names, rows };
    serde_json::to_string(&map).unwrap_or_default()
}
