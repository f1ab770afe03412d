//! Values of pairs as shades.

use super::shades::Shades;
use crate::map::{Binned, PairMap};
use crate::style::Style;
use crate::text::{right, width};

/// Rows at most; each is two columns wide, so that a map is about square.
const BINS: usize = 24;

/// Items in a bin, so that a map has no more rows than are shown.
pub(crate) fn bin_size(map: &PairMap) -> usize {
    map.items.len().div_ceil(BINS)
}

/// The rows of a map, and what their shades mean.
pub(crate) fn shaded(map: &PairMap, binned: &Binned, style: &Style) -> (String, String) {
    let (low, high) = binned.range();
    let shades = Shades::between(low, high, style);
    let label = |row: usize| map.items[row * binned.size].to_string();
    let gutter = (0..binned.bins).map(|row| width(&label(row))).max().unwrap_or(0);
    let mut out = String::new();
    for row in 0..binned.bins {
        let shade = |column: usize| {
            let known = binned.medians.get(&(row.min(column), row.max(column)));
            known.map_or("  ".to_owned(), |value| shades.glyph(*value).repeat(2))
        };
        let line: String = (0..binned.bins).map(shade).collect();
        out.push_str(format!("  {} {line}", right(&label(row), gutter)).trim_end());
        out.push('\n');
    }
    let key = shades.key(|value| format!("{value:.0}"));
    (out, format!("{}: {key}; blank: not measured", map.unit))
}
