//! A value for each pair of many items, in bins as a backend has room for.

use std::collections::BTreeMap;

use tiermark_stats::median;

/// Values of pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairMap {
    /// What the items are: `cpus`.
    pub of: String,
    /// How the values were found.
    pub by: String,
    /// Their unit.
    pub unit: String,
    /// The numbers of the items, in order.
    pub items: Vec<u32>,
    /// The value of each pair that was measured, the lower number first: finite and above 0.
    pub values: Vec<((u32, u32), f64)>,
}

/// Medians of pairs of bins, the lower first.
pub(crate) struct Binned {
    /// Items in a bin.
    pub(crate) size: usize,
    /// How many bins there are.
    pub(crate) bins: usize,
    pub(crate) medians: BTreeMap<(usize, usize), f64>,
}

impl Binned {
    /// The least and the greatest median.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.medians.values().fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(*v), high.max(*v)))
    }
}

impl PairMap {
    /// Bins of so many items.
    pub(crate) fn binned(&self, size: usize) -> Binned {
        let bin: BTreeMap<u32, usize> = self.items.iter().enumerate().map(|(at, item)| (*item, at / size)).collect();
        let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        for ((first, second), value) in &self.values {
            let (a, b) = (bin[first], bin[second]);
            values.entry((a.min(b), a.max(b))).or_default().push(*value);
        }
        let medians = values.into_iter().filter_map(|(at, v)| Some((at, median(&v)?))).collect();
        Binned { size, bins: self.items.len().div_ceil(size), medians }
    }

    /// What stands above it.
    pub(crate) fn title(&self, size: usize) -> String {
        match size {
            1 => format!("All pairs by {}", self.by),
            _ => format!(
                "Pairs by {}: each cell is the median over {size} x {size} {}, in order of their numbers",
                self.by, self.of
            ),
        }
    }
}
