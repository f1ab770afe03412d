//! Judges a latency of visits by continuous runs of the same chase (`selftest --continuous`).

use crate::units::Bytes;
use crate::verdict::{Grade, Verdict};

/// Where a figure of visits lies beside the continuous runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Below the lower of them by more than the tolerance.
    Below,
    /// As one of them, or between the two.
    Within,
    /// Above the higher of them by more than the tolerance.
    Above,
}

/// One size, measured both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct ContinuousCheck {
    /// Footprint of the chase.
    pub size: Bytes,
    /// Whether its numbers are cycles of the core's clock; else they are ns.
    pub is_in_cycles: bool,
    /// What the continuous runs before and after the visits took: in each state of a cache that holds lines which were
    /// just read, and loses them later. Empty of one that was disturbed all the time.
    pub references: [Vec<f64>; 2],
    /// What the visits found; `None` if they found no number, or none in cycles.
    pub figure: Option<f64>,
    /// Verdict of that number.
    pub verdict: Verdict,
    /// How far the number may be from the continuous runs, as a share.
    pub tolerance: f64,
}

impl ContinuousCheck {
    /// Where the figure of the visits lies; `None` without a figure, or without a continuous run.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        let ratio = self.ratio()?;
        Some(if ratio < 1.0 - self.tolerance {
            Position::Below
        } else if ratio > 1.0 + self.tolerance {
            Position::Above
        } else {
            Position::Within
        })
    }

    /// The figure over the nearest of the continuous runs; 1 between both in one state. What lies between two states of
    /// a cache is neither.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let figure = self.figure?;
        let states = self.references.iter().map(Vec::len).max()?;
        let in_state = |state: usize| {
            let references = self.references.iter().filter_map(|run| run.get(state).copied());
            let (low, high) = (references.clone().reduce(f64::min)?, references.reduce(f64::max)?);
            Some(figure / figure.clamp(low, high))
        };
        (0..states).filter_map(in_state).min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))
    }

    /// Whether its figure can be compared, and is said to be a number: of a core's own caches only a trusted one is the
    /// same at all times.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        let is_number =
            if self.is_in_cycles { self.verdict.grade == Grade::Trusted } else { self.verdict.grade.is_number() };
        is_number && self.position().is_some()
    }

    /// Whether it is judged and does not agree with the continuous runs.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.is_judged() && self.position() != Some(Position::Within)
    }

    /// Whether a trusted figure does not agree. A shared one is what others left at its time, so that another time may
    /// differ.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.differs() && self.verdict.grade == Grade::Trusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_in_cycles, continuous_check};

    #[test]
    fn the_range_reaches_from_the_lower_run_to_the_higher_and_the_tolerance_beyond() {
        let of = |value| continuous_check(Some(value), Grade::Trusted).position();
        let expected =
            [(94.9, Position::Below), (95.1, Position::Within), (125.9, Position::Within), (126.1, Position::Above)];
        assert_eq!(expected.map(|(value, _)| of(value)), expected.map(|(_, position)| Some(position)));
        assert_eq!(continuous_check(None, Grade::Trusted).position(), None);
        let mut one = continuous_check(Some(114.0), Grade::Trusted);
        one.references[1].clear();
        assert_eq!((one.ratio(), one.position()), (Some(1.14), Some(Position::Above)));
        one.references = [vec![100.0, 200.0], vec![101.0, 220.0]];
        assert_eq!(one.position(), Some(Position::Above), "between two states");
        one.figure = Some(210.0);
        assert_eq!(one.position(), Some(Position::Within), "in the second state of both");
        one.references[1].clear();
        one.references[0].clear();
        assert_eq!(one.position(), None);
        let close = |value| check_in_cycles(value, Grade::Trusted).position();
        assert_eq!(
            [close(3.979), close(3.981), close(4.03), close(4.031)].map(Option::unwrap),
            [Position::Below, Position::Within, Position::Within, Position::Above]
        );
    }

    #[test]
    fn a_trusted_figure_fails_and_a_shared_one_only_differs() {
        let of = |row: ContinuousCheck| (row.is_judged(), row.differs(), row.fails());
        assert_eq!(of(continuous_check(Some(200.0), Grade::Trusted)), (true, true, true));
        assert_eq!(of(continuous_check(Some(50.0), Grade::Shared)), (true, true, false));
        assert_eq!(of(continuous_check(Some(110.0), Grade::Shared)), (true, false, false));
        assert_eq!(of(continuous_check(Some(200.0), Grade::Bound)), (false, false, false));
        assert_eq!(of(continuous_check(None, Grade::Trusted)), (false, false, false));
        assert_eq!(of(check_in_cycles(5.0, Grade::Trusted)), (true, true, true));
        assert_eq!(of(check_in_cycles(5.0, Grade::Shared)), (false, false, false));
    }
}
