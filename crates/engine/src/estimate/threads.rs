//! Threads that take nothing from each other: the edge of each by itself.

use tiermark_model::{Metric, Visit, Visits};
use tiermark_stats::{APART_SECONDS, Edge, NEAR, VISITS};

use super::{Reading, VALUE, values};
use crate::states::Sharing;

impl Reading<'_> {
    /// The sum of the threads' own edges, over the windows in which none had a gap; `None` where threads share memory, or where the windows
    /// do not show that the threads reach it together.
    ///
    /// While n threads run, each may have a neighbour on the other hardware thread of its core: if one has none for a share p of the time,
    /// all have none for p^n. What a thread does in a cache does not depend on the others but for the clock, and all run in every window,
    /// unless they take from each other: then the sum of their best moments is more than they ever reach together. So windows must come
    /// within [`NEAR`] of the sum: one where the caches are declared to be their own (a guest may not be told that its cpus are on one
    /// core), and as many visits as any edge must be reached in where they share one.
    pub(super) fn by_thread(&self, visits: &Visits, chosen: &[&Visit]) -> Option<Edge> {
        let wanted = match self.sharing {
            Sharing::Nothing => 1,
            Sharing::Cache => VISITS,
            Sharing::Memory => return None,
        };
        if self.metric != Metric::Bandwidth || visits.threads < 2 {
            return None;
        }
        let first = 1 + usize::from(visits.parts);
        let columns = first..first + usize::from(visits.threads);
        let each = columns.map(|column| self.of_column(column, chosen)).collect::<Option<Vec<Edge>>>()?;
        let sum = |of: fn(&Edge) -> f64| each.iter().map(of).sum::<f64>();
        // What is said of the sum is what is said of the thread that was disturbed most.
        let least = |of: fn(&Edge) -> usize| each.iter().map(of).min().unwrap_or_default();
        let edge = Edge {
            value: sum(|edge| edge.value),
            low: sum(|edge| edge.low),
            high: sum(|edge| edge.high),
            share: each.iter().map(|edge| edge.share).fold(f64::MAX, f64::min),
            windows: least(|edge| edge.windows),
            visits: least(|edge| edge.visits),
            reached: least(|edge| edge.reached),
        };
        (reached_together(chosen, edge.value * (1.0 - NEAR)) >= wanted).then_some(edge)
    }
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
