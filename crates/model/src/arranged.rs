//! What a run found, arranged: the ladder of its tiers, cells of matrices, pairs of cpus, curves of latency over
//! bandwidth. Views, exports and explanations all ask here which number is which.

mod ladder;
mod load;
mod matrix;
mod pairs;

pub use ladder::{LADDER_OPS, LADDER_SPANS, Rung, ladder};
pub use load::{LOAD_PART, LoadPoint};
pub use matrix::{MatrixCell, Work};
pub use pairs::{Pair, pairs};
