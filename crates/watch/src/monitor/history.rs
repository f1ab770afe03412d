//! The newest values of what the screen shows over time.

use std::collections::{BTreeMap, VecDeque};

use tiermark_model::{WatchSample, WatchStalls};

use crate::monitor::active::ActiveHistory;

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
pub(crate) struct History {
    values: VecDeque<[Option<f64>; SERIES.len()]>,
    traffic: VecDeque<BTreeMap<String, f64>>,
    pub(crate) active: ActiveHistory,
}

impl History {
    pub(crate) fn add(&mut self, sample: &WatchSample) {
        if self.values.len() == MOST {
            self.values.pop_front();
            self.traffic.pop_front();
        }
        self.values.push_back(SERIES.map(|(_, field)| field(sample)));
        self.traffic.push_back(sample.traffic.as_ref().map(crate::monitor::traffic_rows::rates).unwrap_or_default());
        self.active.add(sample, MOST);
    }

    /// The newest rates of a row of traffic, at most so many, oldest first.
    pub(crate) fn of_traffic(&self, row: &str, most: usize) -> Vec<Option<f64>> {
        let skipped = self.traffic.len().saturating_sub(most);
        self.traffic.iter().skip(skipped).map(|rates| rates.get(row).copied()).collect()
    }

    /// The newest values of a series, at most so many, oldest first.
    pub(crate) fn of(&self, series: Series, most: usize) -> Vec<Option<f64>> {
        let at = SERIES.iter().position(|(known, _)| *known == series).unwrap_or_default();
        self.values.iter().skip(self.values.len().saturating_sub(most)).map(|values| values[at]).collect()
    }
}
