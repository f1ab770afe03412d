//! Chains of dependent operations on registers: how long a core takes from one result to the next.

#[cfg(target_arch = "aarch64")]
use crate::arm::operation as arch;
#[cfg(target_arch = "x86_64")]
use crate::x86::operation as arch;

/// Operations of one turn of every loop. A chain is a multiple of it.
pub const ROUND: u64 = 64;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calculation {
    /// Adds an operand to the result before.
    Add,
    /// Multiplies the result before by an operand.
    Mul,
    /// Divides a constant by the result before: quotients of half the width, which do not shrink to 0 or 1.
    Div,
}

/// On numbers of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Floating point, 32 bits.
    Float,
    /// Floating point, 64 bits.
    Double,
}

/// Runs a chain of `rounds` times [`ROUND`] operations of which each needs the result before. Returns the bits of the
/// last result.
#[inline(always)]
pub fn chain(calculation: Calculation, number: Number, rounds: u64) -> u64 {
    let rounds = rounds.max(1);
    match (number, calculation) {
        (Number::Int32, Calculation::Add) => arch::int32_add(rounds),
        (Number::Int32, Calculation::Mul) => arch::int32_mul(rounds),
        (Number::Int32, Calculation::Div) => arch::int32_div(rounds),
        (Number::Int64, Calculation::Add) => arch::int64_add(rounds),
        (Number::Int64, Calculation::Mul) => arch::int64_mul(rounds),
        (Number::Int64, Calculation::Div) => arch::int64_div(rounds),
        (Number::Float, Calculation::Add) => arch::float_add(rounds),
        (Number::Float, Calculation::Mul) => arch::float_mul(rounds),
        (Number::Float, Calculation::Div) => arch::float_div(rounds),
        (Number::Double, Calculation::Add) => arch::double_add(rounds),
        (Number::Double, Calculation::Mul) => arch::double_mul(rounds),
        (Number::Double, Calculation::Div) => arch::double_div(rounds),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{DOUBLE, FLOAT, INT32, INT64, Operands};

    /// The last of so many results, by the plain operations of the language.
    fn last<T: Copy>(times: u64, of: &Operands<T>, next: impl Fn(T, &Operands<T>) -> T) -> T {
        (0..times).fold(of.first, |result, _| next(result, of))
    }

    #[test]
    fn chains_come_to_what_their_operations_do() {
        for rounds in [1, 2, 5] {
            let times = rounds * ROUND;
            let ints = |calculation| {
                let int32 = last(times, &INT32, |x, of| match calculation {
                    Calculation::Add => x.wrapping_add(of.operand),
                    Calculation::Mul => x.wrapping_mul(of.operand),
                    Calculation::Div => of.dividend / x,
                });
                let int64 = last(times, &INT64, |x, of| match calculation {
                    Calculation::Add => x.wrapping_add(of.operand),
                    Calculation::Mul => x.wrapping_mul(of.operand),
                    Calculation::Div => of.dividend / x,
                });
                [u64::from(int32.cast_unsigned()), int64.cast_unsigned()]
            };
            let floats = |calculation| {
                let float = last(times, &FLOAT, |x, of| match calculation {
                    Calculation::Add => x + of.operand,
                    Calculation::Mul => x * of.operand,
                    Calculation::Div => of.dividend / x,
                });
                let double = last(times, &DOUBLE, |x, of| match calculation {
                    Calculation::Add => x + of.operand,
                    Calculation::Mul => x * of.operand,
                    Calculation::Div => of.dividend / x,
                });
                [u64::from(float.to_bits()), double.to_bits()]
            };
            for calculation in [Calculation::Add, Calculation::Mul, Calculation::Div] {
                let [int32, int64] = ints(calculation);
                let [float, double] = floats(calculation);
                for (number, want) in
                    [(Number::Int32, int32), (Number::Int64, int64), (Number::Float, float), (Number::Double, double)]
                {
                    assert_eq!(chain(calculation, number, rounds), want, "{number:?} {calculation:?} {rounds}");
                }
            }
        }
    }

    #[test]
    fn quotients_keep_half_the_width() {
        let small = last(1001, &INT32, |x, of| of.dividend / x);
        let large = last(1001, &INT64, |x, of| of.dividend / x);
        assert!(small > 1 << 14 && large > 1 << 30, "{small} {large}");
    }
}
