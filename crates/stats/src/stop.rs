//! When enough has been measured.

use crate::{bootstrap_median, median};

/// Stop when the median is known to a target precision: relative half-width of its confidence interval, as in Kalibera
/// & Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013. Minimum counts guard against an interval that is
/// narrow by luck of the first few samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// Wanted relative half-width (0.01 = ± 1 %).
    pub target: f64,
    /// Coverage of the interval, e.g. 0.95.
    pub level: f64,
    /// Samples over all groups below which the rule cannot hold.
    pub min_samples: usize,
    /// Non-empty groups (allocations) below which the rule cannot hold.
    pub min_groups: usize,
    /// Bootstrap resamples per evaluation.
    pub resamples: usize,
    /// Seed of the resampling.
    pub seed: u64,
}

/// The rule's answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopState {
    /// Relative half-width reached; `None` when no interval can be computed yet.
    pub relative_half_width: Option<f64>,
    /// Whether the target and both minima are reached.
    pub met: bool,
}

impl StopRule {
    /// Evaluates the rule on samples grouped by allocation.
    #[must_use]
    pub fn evaluate(&self, groups: &[Vec<f64>]) -> StopState {
        let relative_half_width = bootstrap_median(groups, self.level, self.resamples, self.seed)
            .and_then(|interval| interval.relative_half_width(median(&groups.concat())?));
        let samples: usize = groups.iter().map(Vec::len).sum();
        let filled = groups.iter().filter(|g| !g.is_empty()).count();
        let met = samples >= self.min_samples
            && filled >= self.min_groups
            && relative_half_width.is_some_and(|width| width <= self.target);
        StopState { relative_half_width, met }
    }
}
