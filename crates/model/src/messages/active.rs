//! Messages about the measurements of `watch --active`.

use super::rows::messages;
use crate::units::Bytes;

messages! {
    /// Memory that does not suffice for a cell of it.
    Refusal active_memory_scarce(most: Bytes, caches: Bytes):
        "memory in watch --active",
        "a tenth of the available memory would be {most} for each of two cells, which is not twice the {caches} of caches",
        "free memory, or watch without memory latency and bandwidth";

    /// A measurement that failed while it ran.
    Refusal active_failed(cell: &str, why: &str):
        { format!("{cell} in watch --active") }, { why }, "the other measurements go on";
}
