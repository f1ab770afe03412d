//! The form of requests.

use crate::values::ValueShape;

/// How a tenant's requests become bytes, and their answers are judged.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) prefix: Vec<u8>,
    /// Least digits of a key.
    pub(crate) digits: usize,
    pub(crate) value: ValueShape,
    pub(crate) verify: bool,
    /// Whether the first refusal ends it.
    pub(crate) stops_on_error: bool,
    /// ns.
    pub(crate) late_after: u64,
}

impl Form {
    /// That of values of four bytes, late after a millisecond.
    #[cfg(test)]
    pub(crate) fn small() -> Self {
        Self {
            prefix: Vec::new(),
            digits: 0,
            value: ValueShape { bytes: 4, compressible: 0.0 },
            verify: false,
            stops_on_error: false,
            late_after: 1_000_000,
        }
    }
}
