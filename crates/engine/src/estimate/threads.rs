//! Threads that do not compete: the edge of each by itself.

use std::ops::Range;

use tiermark_model::{Metric, Visit, Visits};
use tiermark_stats::{APART_SECONDS, NEAR, Pile, VISITS};

use super::{Reading, VALUE, values};
use crate::sharing::Sharing;

/// Variance of the summed rate, over the sum of the threads' variances, below which the threads compete: half way
/// between independent ones (1) and those that share a fixed whole (0).
const LESS: f64 = 0.5;

/// The number of a step, from its windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) edge: Pile,
    /// Whether the threads were seen not to compete: to reach together the sum of what each reaches.
    pub(super) is_independent: bool,
    /// The sum of the threads' edges, if it is more than they were seen to reach together.
    pub(super) alone: Option<f64>,
}

impl Reading<'_> {
    /// The edge of the summed rate, or the sum of the threads' own edges. Only windows count in which no thread has a
    /// gap.
    ///
    /// Each thread may have a neighbour on the other hardware thread of its core. If each is free of them in a fraction
    /// p of the windows, independently of the others, all n are free in only p^n: the edge of the summed rate is not
    /// sharp, or is that of moments in which some are disturbed. A thread's rate in a cache depends on the others only
    /// through the clock, and all run in every window, unless the threads compete (a hypervisor may not declare that
    /// two cpus share a core, and a shared cache has a limit). So the sum of the edges counts where windows show that
    /// the threads reach it together; where it is more than they were seen to reach, the number is a bound.
    pub(super) fn found(&self, visits: &Visits, chosen: &[&Visit]) -> Option<Found> {
        let edge = self.of_column(VALUE, chosen)?;
        let joint = Found { edge, is_independent: false, alone: None };
        let wanted = match self.sharing {
            Sharing::Nothing => 1,
            Sharing::Cache => VISITS,
            Sharing::Memory => return Some(joint),
        };
        let columns = threads(visits);
        let Some(sum) = self.sum(columns.clone(), chosen) else { return Some(joint) };
        if compete(columns, chosen) {
            return Some(joint);
        }
        let is_proven = |edge: &Pile| edge.has_enough() && edge.piled && edge.is_reproduced();
        let is_independent = is_proven(&sum) && reached_together(chosen, sum.value * (1.0 - NEAR)) >= wanted;
        // Noise of the windows puts the sum a little above what all reach together: it counts only where it says
        // something else.
        let is_more = sum.value > edge.value * (1.0 + NEAR);
        if is_proven(&edge) && !is_more {
            return Some(Found { is_independent, ..joint });
        }
        if is_independent {
            return Some(Found { edge: sum, is_independent, alone: None });
        }
        Some(Found { alone: is_more.then_some(sum.value), ..joint })
    }

    /// The sum of the threads' own edges; each count is the lowest among the threads. `None` where there are no rates
    /// of threads.
    fn sum(&self, columns: Range<usize>, chosen: &[&Visit]) -> Option<Pile> {
        if self.metric != Metric::Bandwidth || columns.len() < 2 {
            return None;
        }
        let each = columns.map(|column| self.of_column(column, chosen)).collect::<Option<Vec<Pile>>>()?;
        let sum = |of: fn(&Pile) -> f64| each.iter().map(of).sum::<f64>();
        let least = |of: fn(&Pile) -> usize| each.iter().map(of).min().unwrap_or_default();
        let worst = each.iter().max_by(|a, b| a.ln_chance.total_cmp(&b.ln_chance))?;
        Some(Pile {
            value: sum(|edge| edge.value),
            low: sum(|edge| edge.low),
            high: sum(|edge| edge.high),
            share: each.iter().map(|edge| edge.share).fold(f64::MAX, f64::min),
            windows: least(|edge| edge.windows),
            visits: least(|edge| edge.visits),
            reached: least(|edge| edge.reached),
            piled: each.iter().all(|edge| edge.piled),
            sustained: sum(|edge| edge.sustained),
            ..*worst
        })
    }
}

/// The columns of the threads' rates.
fn threads(visits: &Visits) -> Range<usize> {
    let first = 1 + usize::from(visits.parts);
    first..first + usize::from(visits.threads)
}

/// Whether threads compete: what one gains another loses, so that the summed rate varies much less than they do. The
/// variance of a sum of independent rates is the sum of their variances.
fn compete(columns: Range<usize>, chosen: &[&Visit]) -> bool {
    // All columns have the same windows, so that sums of squares compare as variances do.
    let spread = |column: usize| {
        let values: Vec<f64> = chosen.iter().flat_map(|visit| values(visit, column)).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    spread(VALUE) < LESS * columns.map(spread).sum::<f64>()
}

/// Visits with a window of this rate, each at least [`APART_SECONDS`] after the one before it.
fn reached_together(chosen: &[&Visit], rate: f64) -> usize {
    let (mut last, mut reached) = (f64::NEG_INFINITY, 0);
    for visit in chosen.iter().filter(|visit| values(visit, VALUE).any(|value| value >= rate)) {
        if visit.at - last >= APART_SECONDS {
            (last, reached) = (visit.at, reached + 1);
        }
    }
    reached
}
