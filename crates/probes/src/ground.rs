//! Whether a number that was derived from others has ground: points enough, and an interval that leaves a statement.

use tiermark_model::messages::memory;
use tiermark_model::{Finding, Interval, Observation, Reason};

/// What a derived number says of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// How two of them compare.
    Quotient,
    /// How much of the second the first is.
    Share,
    /// Where they come to, or what is left of them: a straight line goes through any two.
    Level,
    /// Where their course bends: two on either side of the bend, and the bend.
    Bend,
}

impl Says {
    /// The fewest points that show it.
    pub(crate) fn least(self) -> usize {
        match self {
            Self::Quotient | Self::Share => 2,
            Self::Level => 3,
            Self::Bend => 5,
        }
    }
}

/// Whether an observation is a number that others may be derived from: seen at two moments or more, and known better
/// than to its own size.
pub(crate) fn is_usable(seen: &Observation) -> bool {
    // A document may keep the number without its visits.
    let was_seen_again = seen.visits.is_empty() || seen.visits.len() > 1;
    seen.value.is_some_and(|value| value > 0.0 && seen.interval.is_none_or(|interval| !is_wide(interval, value)))
        && was_seen_again
}

/// Whether an interval is wider than its number: then both ends are not the same statement.
fn is_wide(interval: Interval, value: f64) -> bool {
    interval.low < 0.0 || interval.high - interval.low > value.abs()
}

/// The finding with its number only if that has ground: of `asked` points enough are numbers, its interval is at most
/// as wide as itself, and a share is one of a whole at most. Otherwise without it, with the reason and the cure.
pub(crate) fn grounded(mut found: Finding, on: &[&Observation], asked: usize, says: Says) -> Finding {
    let Some(value) = found.value else { return found };
    let points = on.iter().filter(|seen| is_usable(seen)).count();
    let wide = found.interval.filter(|interval| is_wide(*interval, value));
    let reason = if points < says.least() {
        Reason::FewPoints { points: points as u64, of: asked.max(on.len()) as u64 }
    } else if let Some(Interval { low, high, .. }) = wide {
        Reason::TooWide { low, high, unit: found.unit }
    } else if !value.is_finite() || (says == Says::Share && value > 1.0) {
        Reason::Impossible { value: Some(value).filter(|value| value.is_finite()) }
    } else {
        return found;
    };
    // Remarks are of the number.
    found.notes = vec![memory::number_without_ground(says.least())];
    (found.value, found.interval) = (None, None);
    found.verdict.invalid(reason);
    found
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Grade, Labels, Metric, Quantity, ReasonCode, Unit, Visit, Visits};

    use super::*;

    fn seen(value: f64, half: f64) -> Observation {
        let interval = Some(Interval { low: value - half, high: value + half, level: 0.95 });
        Observation { value: Some(value), interval, ..Observation::new("point", Labels::new(), Metric::Latency) }
    }

    /// A number of this interval that rests on the points.
    fn of(points: &[Observation], (value, low, high): (f64, f64, f64), unit: Unit, says: Says) -> Finding {
        let interval = Some(Interval { low, high, level: 0.95 });
        let found = Finding { interval, ..Finding::new(Quantity::GranularityUseful, Labels::new(), Some(value), unit) };
        grounded(found, &points.iter().collect::<Vec<_>>(), 14, says)
    }

    #[test]
    fn a_number_of_too_few_points_is_none_and_says_what_helps() {
        let points = vec![seen(100.0, 1.0); 2];
        let found = of(&points, (1.0, 0.99, 1.01), Unit::Count, Says::Level);
        assert_eq!((found.value, found.interval, found.verdict.grade), (None, None, Grade::Invalid));
        assert_eq!(found.verdict.reasons, [Reason::FewPoints { points: 2, of: 14 }]);
        assert_eq!(found.notes, [memory::number_without_ground(3)]);
        // Points that are hardly numbers, or were seen once, are none.
        let once = Visits { list: vec![Visit::default()], ..Visits::default() };
        let bad = [seen(100.0, 60.0), Observation { visits: once, ..seen(100.0, 1.0) }, seen(0.0, 0.0)];
        let all: Vec<Observation> = points.iter().chain(&bad).cloned().collect();
        assert_eq!(of(&all, (1.0, 0.99, 1.01), Unit::Count, Says::Level).value, None);
        let three = vec![seen(100.0, 1.0); 3];
        let found = of(&three, (9.0, 8.0, 10.0), Unit::Count, Says::Level);
        assert_eq!((found.value, found.verdict.grade), (Some(9.0), Grade::Trusted));
    }

    #[test]
    fn what_may_be_anything_or_more_than_the_whole_is_no_number() {
        let points = vec![seen(100.0, 1.0); 5];
        let code = |found: &Finding| found.verdict.reasons.iter().map(Reason::code).collect::<Vec<_>>();
        // A share of 313 % within 310 %, and one of 104 % that is known well.
        let wide = of(&points, (3.13, 0.03, 6.23), Unit::Ratio, Says::Share);
        assert_eq!((wide.value, code(&wide)), (None, vec![ReasonCode::Imprecise]));
        assert_eq!(wide.verdict.reasons[0].to_string(), "the points allow anything from 3.0 % to 623 %");
        let above = of(&points, (1.04, 1.02, 1.06), Unit::Ratio, Says::Share);
        assert_eq!((above.value, code(&above)), (None, vec![ReasonCode::Implausible]));
        // What a neighbour costs may be more than the whole.
        assert!(of(&points, (1.04, 1.02, 1.06), Unit::Ratio, Says::Quotient).value.is_some());
        // Entries of a TLB anywhere between 104 and 4999.
        let entries = of(&points, (4096.0, 104.0, 4999.0), Unit::Count, Says::Bend);
        assert_eq!(entries.value, None);
        assert_eq!(entries.verdict.reasons[0].to_string(), "the points allow anything from 104 to 4999");
        assert_eq!(of(&points, (64.0, 60.0, 70.0), Unit::Count, Says::Bend).value, Some(64.0));
    }
}
