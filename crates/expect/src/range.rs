//! A number that may be known in part, as the range it lies in.

use tiermark_model::Known;

/// The least and the largest value that a number can have. Numbers are never negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// A number that is known.
    pub(crate) fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// A number that is this or larger.
    pub(crate) fn at_least(value: f64) -> Self {
        Self { low: value, high: f64::INFINITY }
    }

    /// A number that is this or smaller.
    pub(crate) fn at_most(value: f64) -> Self {
        Self { low: 0.0, high: value }
    }

    /// The range of a product.
    pub(crate) fn times(self, other: Self) -> Self {
        // 0 × ∞ is not a number: the lower end is then 0, the upper end unknown.
        let ends = |a: f64, b: f64, unknown: f64| if (a * b).is_nan() { unknown } else { a * b };
        Self { low: ends(self.low, other.low, 0.0), high: ends(self.high, other.high, f64::INFINITY) }
    }

    /// The range of a quotient; `None` if the divisor is 0.
    pub(crate) fn over(self, other: Self) -> Option<Self> {
        let ends = |a: f64, b: f64, unknown: f64| if (a / b).is_nan() { unknown } else { a / b };
        (other.high > 0.0)
            .then(|| Self { low: ends(self.low, other.high, 0.0), high: ends(self.high, other.low, f64::INFINITY) })
    }

    /// The upper or the lower end of a number that is known from both sides; else the end that is known.
    pub(crate) fn end(self, upper: bool) -> Option<(f64, Known)> {
        let has_both = self.low > 0.0 && self.low < self.high && self.high.is_finite();
        match (has_both, upper) {
            (true, true) => Some((self.high, Known::AtMost)),
            (true, false) => Some((self.low, Known::AtLeast)),
            (false, _) => self.known(),
        }
    }

    /// The end that is known, and which it is; `None` if nothing is known.
    pub(crate) fn known(self) -> Option<(f64, Known)> {
        match (self.low, self.high) {
            (low, high) if low == high => Some((low, Known::Exactly)),
            (low, f64::INFINITY) if low > 0.0 => Some((low, Known::AtLeast)),
            (_, f64::INFINITY) => None,
            (_, high) => Some((high, Known::AtMost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_range() -> impl Strategy<Value = Range> {
        (0.0..1e15f64, 0.0..1e15f64, any::<bool>())
            .prop_map(|(a, b, open)| Range { low: a.min(b), high: if open { f64::INFINITY } else { a.max(b) } })
    }

    /// Numbers inside of a range.
    fn inside(range: Range, share: f64) -> f64 {
        if range.high.is_infinite() { range.low + share * 1e15 } else { range.low + share * (range.high - range.low) }
    }

    #[test]
    fn the_known_end_is_named() {
        assert_eq!(Range::exactly(0.0).known(), Some((0.0, Known::Exactly)));
        assert_eq!(Range::at_least(3.0).known(), Some((3.0, Known::AtLeast)));
        assert_eq!(Range::at_most(3.0).known(), Some((3.0, Known::AtMost)));
        assert_eq!(Range::at_least(0.0).known(), None);
        let both = Range { low: 2.0, high: 3.0 };
        assert_eq!((both.end(true), both.end(false)), (Some((3.0, Known::AtMost)), Some((2.0, Known::AtLeast))));
        assert_eq!(Range::at_most(3.0).end(false), Some((3.0, Known::AtMost)));
        assert_eq!(Range::exactly(1.0).over(Range::exactly(0.0)), None);
    }

    proptest! {
        #[test]
        fn results_lie_in_the_range_of_the_result(a in any_range(), b in any_range(), s in 0.0..1.0f64, t in 0.0..1.0f64) {
            let (x, y) = (inside(a, s), inside(b, t));
            let within = |range: Range, value: f64| range.low <= value * (1.0 + 1e-9) && value <= range.high * (1.0 + 1e-9);
            prop_assert!(within(a.times(b), x * y));
            if let Some(quotient) = a.over(b).filter(|_| y > 0.0) {
                prop_assert!(within(quotient, x / y));
                prop_assert!(!quotient.low.is_nan() && !quotient.high.is_nan());
            }
        }
    }
}
