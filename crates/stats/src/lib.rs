//! Statistics of a measurement: medians and their intervals, spread, trend, changes, tiers, and the tests
//! that refuse a number (quantised clock, wrong distribution).
//!
//! Every function is pure: no I/O, no clock, no dependency; randomness comes from a seed. All take finite values: an
//! empty input or one with a NaN or an infinity gives `None`, never a number computed from the rest.
//! Each statistic names its source in its doc comment.
#![forbid(unsafe_code)]

mod change;
mod counts;
mod edge;
mod isotonic;
mod joint;
mod knee;
mod ks;
mod modes;
mod moments;
mod order;
mod pile;
mod plateau;
mod quantum;
mod rank_interval;
mod rng;
mod special;
mod spread;
mod student;
mod transition;
mod trend;
mod two_samples;
mod visit_spread;

pub use change::{
    ChangePoint, LevelChange, LevelRule, OtherLevel, change_point, least_step_p, level_changes, other_level, step,
};
pub use counts::{poisson_interval, share_interval, sign_test};
pub use edge::{EDGE_QUANTILE, Edge, FEWEST_VISITS, FEWEST_WINDOWS, NEAR, SHARP, Side, VISITS, VisitWindows, edge};
pub use isotonic::isotonic;
pub use joint::joint_changes;
pub use knee::{Curve, Knee, XScale, knee};
pub use ks::{Ks, ks_uniform};
pub use modes::{group_limits, group_of};
pub use moments::{APART_SECONDS, moments};
pub use order::{OUTLYING, mad, max, median, median_interval, min, modified_z, quantile, quantiles, upper_median};
pub use pile::{PILE_NEAR, PILE_NEAR_OF_CORE, Pile, VisitValue, pile};
pub use plateau::{Boundary, Plateau, Tiers, plateaus, tiers};
pub use quantum::{Quantum, quantum};
pub use rank_interval::{BEYOND, QuantileRanks, normal_beyond, quantile_ranks};
pub use rng::{Rng, split_mix};
pub use spread::{Spread, robust_sigma, spread};
pub use student::{student_quantile, student_two_sided};
pub use transition::{Bend, Sample, Transition, bend, transition};
pub use trend::{MannKendall, mann_kendall, theil_sen};
pub use two_samples::{Between, benjamini_hochberg, fisher_exact, holm, holm_levels, mann_whitney, ratio, ratio_p};
pub use visit_spread::{VisitSpread, VisitsDiffer};

/// Whether `values` is non-empty and every one is finite: the entry condition of this crate.
fn usable(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.is_finite())
}
