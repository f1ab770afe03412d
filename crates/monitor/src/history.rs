//! The newest values of what the screen shows over time.

use std::collections::{BTreeMap, VecDeque};

use tiermark_model::{WatchSample, WatchStalls};

/// Values that are kept: as many as the widest sparkline has columns.
const MOST: usize = 240;

/// A value of a sample.
type Of = fn(&WatchSample) -> Option<f64>;

/// What has a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    Memory,
    Io,
    Cpu,
    SwapIn,
    SwapOut,
    Migrated,
    Faults,
    Busy,
    Steal,
}

/// The series with the values that they take from a sample.
const SERIES: [(Series, Of); 9] = [
    (Series::Memory, |s| s.psi.memory.as_ref().and_then(stalled)),
    (Series::Io, |s| s.psi.io.as_ref().and_then(stalled)),
    (Series::Cpu, |s| s.psi.cpu.as_ref().and_then(stalled)),
    (Series::SwapIn, |s| s.vm.swap_in_bytes),
    (Series::SwapOut, |s| s.vm.swap_out_bytes),
    (Series::Migrated, |s| s.vm.migrated),
    (Series::Faults, |s| s.vm.major_faults),
    (Series::Busy, |s| Some(s.cpu?.busy? * 100.0)),
    (Series::Steal, |s| Some(s.cpu?.steal? * 100.0)),
];

fn stalled(stalls: &WatchStalls) -> Option<f64> {
    stalls.some.now
}

/// The newest values of each series, and the newest rates of each row of traffic.
#[derive(Debug, Clone, Default)]
pub(crate) struct History(VecDeque<[Option<f64>; SERIES.len()]>, VecDeque<BTreeMap<String, f64>>);

impl History {
    pub(crate) fn add(&mut self, sample: &WatchSample) {
        if self.0.len() == MOST {
            self.0.pop_front();
            self.1.pop_front();
        }
        self.0.push_back(SERIES.map(|(_, of)| of(sample)));
        self.1.push_back(sample.traffic.as_ref().map(crate::traffic::rates).unwrap_or_default());
    }

    /// The newest rates of a row of traffic, at most so many, oldest first.
    pub(crate) fn of_traffic(&self, row: &str, most: usize) -> Vec<Option<f64>> {
        self.1.iter().skip(self.1.len().saturating_sub(most)).map(|rates| rates.get(row).copied()).collect()
    }

    /// The newest values of a series, at most so many, oldest first.
    pub(crate) fn of(&self, series: Series, most: usize) -> Vec<Option<f64>> {
        let at = SERIES.iter().position(|(known, _)| *known == series).unwrap_or_default();
        self.0.iter().skip(self.0.len().saturating_sub(most)).map(|values| values[at]).collect()
    }
}
