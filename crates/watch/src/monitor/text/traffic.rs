//! The traffic of memory and links in a sample: columns of the text.

use super::{Column, percent, short};

/// The columns of traffic: of all memory, in bytes a second; the share of reads; the share of its peak that the busiest
/// channel carried.
pub(super) const COLUMNS: [Column; 3] = [
    ("mem/s", 6, |s| Some(short(s.traffic.as_ref()?.rate()?.0, 1000.0))),
    ("read%", 5, |s| s.traffic.as_ref()?.rate()?.1.map(percent)),
    ("chan%", 5, |s| s.traffic.as_ref()?.busiest().map(percent)),
];
