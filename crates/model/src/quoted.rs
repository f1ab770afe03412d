//! The number of a finding as every view and every judge takes it.

use crate::observation::{Finding, Interval, Typical, ValueKind};
use crate::tier::Tier;
use crate::units::Unit;
use crate::verdict::Grade;

/// Share of a number by which the best has to be better to be told.
const BEST_DIFFERS: f64 = 0.05;

/// What stands before a number, or in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A rate that is reached at least.
    AtLeast,
    /// A time that is needed at most.
    AtMost,
    /// A bound of what has no better direction: a size, a count.
    Bound,
    /// In doubt: something about it could not be proven.
    Doubted,
    /// No number: a proof failed.
    Withheld,
    /// No number: not measured, or not found.
    Absent,
}

impl Mark {
    /// The mark of a bound in a unit.
    #[must_use]
    pub fn of_bound(unit: Unit) -> Self {
        match unit {
            Unit::Ns | Unit::Cycles => Self::AtMost,
            Unit::BytesPerSecond | Unit::BytesPerCycle => Self::AtLeast,
            Unit::Bytes | Unit::Hz | Unit::PerSecond | Unit::Ratio | Unit::Count => Self::Bound,
        }
    }
}

/// The number of a finding, with all that says how to read it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quoted {
    /// The number; `None` if a proof failed, or nothing was measured.
    pub value: Option<f64>,
    /// Which statistic it is; `None` of what was computed from several observations.
    pub kind: Option<ValueKind>,
    /// Its interval; `None` of a bound, of which one side only is certain.
    pub interval: Option<Interval>,
    /// What stands before it or in its place; `None` of a number that can be quoted as it is.
    pub mark: Option<Mark>,
    /// The tier that it is of.
    pub tier: Option<Tier>,
    /// The spread of visits around it.
    pub typical: Option<Typical>,
    /// The best that was sustained, where it is over 5 % better.
    pub best: Option<f64>,
}

impl Finding {
    /// Its number as views and judges take it.
    #[must_use]
    pub fn quoted(&self) -> Quoted {
        let value = self.value.filter(|_| self.verdict.grade != Grade::Invalid);
        let mark = match (self.verdict.grade, value) {
            (Grade::Invalid, _) if !self.verdict.is_refused() => Some(Mark::Withheld),
            (_, None) => Some(Mark::Absent),
            (Grade::Bound, _) => Some(Mark::of_bound(self.unit)),
            (Grade::Suspect, _) => Some(Mark::Doubted),
            (Grade::Trusted | Grade::Shared | Grade::Invalid, _) => None,
        };
        Quoted {
            value,
            kind: self.kind,
            interval: self.interval.filter(|_| self.verdict.grade != Grade::Bound),
            mark,
            tier: self.labels.tier(),
            typical: self.typical,
            best: value.and_then(|value| self.best_beyond(value)),
        }
    }

    fn best_beyond(&self, value: f64) -> Option<f64> {
        let best = self.best?;
        let ratio = if self.unit.less_is_better()? { value / best } else { best / value };
        (ratio.is_finite() && ratio > 1.0 + BEST_DIFFERS).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, Quantity, Reason, Refusal};

    fn found(unit: Unit) -> Finding {
        let interval = Some(Interval { low: 95.0, high: 105.0, level: 0.95 });
        let labels = Labels::new().with_tier(Tier::Cache(3));
        Finding { interval, ..Finding::new(Quantity::Latency, labels, Some(100.0), unit) }
    }

    #[test]
    fn a_number_of_each_grade_has_its_mark() {
        let mut shared = found(Unit::Ns);
        shared.kind = Some(ValueKind::Typical);
        shared.verdict.untrusted(ValueKind::Typical, Reason::NotSharp { share: 0.02 });
        let quoted = shared.quoted();
        assert_eq!((quoted.mark, quoted.interval.is_some(), quoted.tier), (None, true, Some(Tier::Cache(3))));

        let mut bound = found(Unit::BytesPerSecond);
        bound.verdict.bound(Reason::NotReproduced { reached: 1 });
        let quoted = bound.quoted();
        assert_eq!((quoted.value, quoted.mark, quoted.interval), (Some(100.0), Some(Mark::AtLeast), None));

        let mut doubted = found(Unit::Ns);
        doubted.verdict.suspect(Reason::MajorFaults { faults: 1 });
        assert_eq!(doubted.quoted().mark, Some(Mark::Doubted));

        let mut withheld = found(Unit::Ns);
        withheld.verdict.invalid(Reason::Quantised { step_ns: 1.0 });
        assert_eq!((withheld.quoted().value, withheld.quoted().mark), (None, Some(Mark::Withheld)));

        let mut refused = found(Unit::Ns);
        refused.verdict.invalid(Reason::Refused { refusal: Refusal::new("a step", "of a reason", "cure") });
        assert_eq!(refused.quoted().mark, Some(Mark::Absent));
    }

    #[test]
    fn the_best_is_told_where_it_differs() {
        let best = |unit, best| Finding { best: Some(best), ..found(unit) }.quoted().best;
        assert_eq!((best(Unit::Ns, 90.0), best(Unit::Ns, 96.0), best(Unit::Ns, 120.0)), (Some(90.0), None, None));
        assert_eq!((best(Unit::BytesPerSecond, 120.0), best(Unit::BytesPerSecond, 104.0)), (Some(120.0), None));
        assert_eq!(best(Unit::Count, 120.0), None);
    }
}
