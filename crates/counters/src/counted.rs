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

/// Whether a box may be a memory that is there. Boxes without modules, whose counts can be anything, have a clock that
/// stands still or makes no sense; they are no part of a sum. A source without clocks lists no such boxes, so that what
/// it says is missing in a sum.
pub(crate) fn is_there(transfers: Option<f64>, seconds: f64) -> bool {
    transfers.is_none_or(|transfers| transfers > 0.0 && transfers <= MOST_TRANSFERS * seconds)
}
