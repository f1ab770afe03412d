//! What the chains of dependent operations work on.

/// Factor of a chain of multiplications. It is odd, so that products never become zero, and has bits set in all bytes
/// (2^64 over the golden ratio), because some cores multiply zeros and short numbers faster.
pub(crate) const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a chain begins with, adds or multiplies by, and divides.
pub(crate) struct Operands<T> {
    pub(crate) first: T,
    pub(crate) operand: T,
    pub(crate) dividend: T,
}

pub(crate) const INT32: Operands<i32> = Operands { first: 40_009, operand: 3, dividend: i32::MAX };
pub(crate) const INT64: Operands<i64> = Operands { first: 2_500_000_001, operand: 3, dividend: i64::MAX };
// An operand of 1 keeps products as they are, and sums far from infinity.
pub(crate) const FLOAT: Operands<f32> = Operands { first: 1.3, operand: 1.0, dividend: 2.7 };
pub(crate) const DOUBLE: Operands<f64> = Operands { first: 1.3, operand: 1.0, dividend: 2.7 };
