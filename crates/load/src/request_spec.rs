//! The specification of requests.

#[cfg(test)]
use crate::values::ValueShape;
use crate::values::Values;

/// How a tenant's requests become bytes, and their answers are judged.
#[derive(Debug, Clone)]
pub(crate) struct RequestSpec {
    pub(crate) prefix: Vec<u8>,
    /// Least digits of a key.
    pub(crate) digits: usize,
    pub(crate) value: Values,
    pub(crate) verify: bool,
    /// Whether the first refusal ends it.
    pub(crate) stops_on_error: bool,
    /// ns.
    pub(crate) late_after: u64,
}

impl RequestSpec {
    /// That of values of four bytes, late after a millisecond.
    #[cfg(test)]
    pub(crate) fn small() -> Self {
        Self::of(4)
    }

    /// The same of values of so many bytes.
    #[cfg(test)]
    pub(crate) fn of(bytes: usize) -> Self {
        Self {
            prefix: Vec::new(),
            digits: 0,
            value: Values::new(ValueShape::of(bytes, 0.0), 0, u64::MAX),
            verify: false,
            stops_on_error: false,
            late_after: 1_000_000,
        }
    }
}
