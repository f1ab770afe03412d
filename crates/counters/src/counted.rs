//! What a box counted between two snapshots.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::CounterMark;

use crate::family::Of;

/// The most transfers of a channel in a second: more than any DDR and LPDDR memory has.
const MOST_TRANSFERS: f64 = 2e10;

/// What a box counted.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) bytes: BTreeMap<Of, f64>,
    /// What has counted anything since its counters began.
    pub(crate) ever: BTreeSet<Of>,
    /// Bytes a second that its source rounds to 0.
    pub(crate) least: f64,
    pub(crate) share: Option<f64>,
    pub(crate) bad: Option<CounterMark>,
    /// Whether a sum is whole without it.
    pub(crate) is_empty: bool,
}

/// Whether a box can have memory. The clock of a box without modules stands still or is impossible, and its counts can
/// be anything: such a box is no part of a sum. Sources without clocks do not list such boxes, so all their boxes
/// belong to sums.
pub(crate) fn is_there(transfers: Option<f64>, seconds: f64) -> bool {
    transfers.is_none_or(|transfers| transfers > 0.0 && transfers <= MOST_TRANSFERS * seconds)
}
