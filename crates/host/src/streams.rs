//! How the streams of a kernel lie in a region, and which part of it is whose.

use tiermark_kernels::SPAN_QUANTUM;
use tiermark_model::Layout;
use tiermark_system::StreamPlan;

use crate::region::{Region, SKEW, SKEW_PAGE, SKEW_ROOM};

/// Target length of a stream block, ns: in a core's own caches as long as a chase's, so that most blocks lie between two
/// interruptions; elsewhere longer, since the border of two blocks costs up to 140 ns there, and blocks of streams in
/// memory scatter more than interruptions last.
pub(crate) const STREAM_BLOCK_NS: f64 = 12_000.0;
pub(crate) const OWN_BLOCK_NS: f64 = 4_000.0;

/// Lays the streams of a kernel out in a region: equal spans, each from a page of its own on, whose starts differ
/// modulo 4 KiB.
pub(crate) fn stream_plan(region: &Region, streams: usize) -> StreamPlan {
    let skew_room = streams.saturating_sub(1) * SKEW_ROOM;
    let room = region.bytes.min(region.used.saturating_sub(skew_room)) / streams.max(1);
    let span = room / SPAN_QUANTUM * SPAN_QUANTUM;
    let mut offsets = [0; 3];
    for i in 1..streams.min(3) {
        offsets[i] = (offsets[i - 1] + span).next_multiple_of(SKEW_PAGE) + i * SKEW;
    }
    StreamPlan { offsets, span, zeros: region.layout == Layout::Zeros }
}

/// A worker's place among those that share its region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) index: usize,
    pub(crate) of: usize,
}
