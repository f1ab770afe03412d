//! What a run found, arranged: the ladder of its tiers, cells of matrices, pairs of cpus, curves of latency over
//! bandwidth. Views, exports and explanations all ask here which number is which.

mod distances;
mod ladder;
mod levels;
mod load;
mod matrix;
mod pairs;
mod placement;
mod ramps;

pub use distances::{
    DistanceCost, DistantLatency, FarLatency, FarNodes, cost_of_distance, cpu_node, latency_by_distance,
};
pub use ladder::{LADDER_OPS, LADDER_SPANS, Rung, ladder};
pub use levels::{LevelPoint, carried, levels};
pub use load::{LOAD_PART, LoadPoint};
pub use matrix::{MatrixCell, Work};
pub use pairs::{Pair, pairs};
pub use placement::{PlacementRow, placements};
pub use ramps::{ON_LEVEL, RampPoint, ThreadRamp, thread_ramps};

use crate::observation::Finding;
use crate::run::Run;

/// What follows from several steps of a run beyond the findings of its experiments, each with the number of its
/// experiment, from 0: ratios of far to local latency, rates of whole lines.
pub fn derived(run: &Run) -> Vec<(usize, Finding)> {
    let mut all = distances::far_latencies(run);
    all.extend(ramps::line_rates(run));
    all
}
