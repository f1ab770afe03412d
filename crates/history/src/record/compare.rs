//! Whether a number falls short of the record.

use tiermark_model::{Observation, PerCycle, Reason, Unit};

use super::Best;

/// Share by which a number may fall short of the record: two sharp edges of the same cell agree within 2 % in 95 of 100
/// pairs.
const SHORT: f64 = 0.03;

/// Part of what a number lacks that the clock has to explain, to be named as its cause.
const EXPLAINED: f64 = 0.5;

/// Whether the unit is one of time, of which less is better.
fn is_time(unit: Unit) -> bool {
    matches!(unit, Unit::Ns)
}

/// Whether a value is better than another.
fn is_better(value: f64, than: f64, is_time: bool) -> bool {
    if is_time { value < than } else { value > than }
}

/// Whether a number per cycle can be compared.
pub(crate) fn is_sound(per_cycle: &PerCycle) -> bool {
    per_cycle.value.is_finite() && per_cycle.value > 0.0
}

/// Whether a figure takes the place of a known one of the same cell and unit. One per cycle replaces one that is not,
/// and never the reverse: without the clock, nothing tells a faster clock from a better figure.
pub(crate) fn replaces(best: &Best, known: &Best) -> bool {
    let is_time = is_time(best.unit);
    match (best.per_cycle, known.per_cycle) {
        (None, None) => is_better(best.value, known.value, is_time),
        (Some(best), Some(known)) if best.unit == known.unit => is_better(best.value, known.value, is_time),
        (best, _) => best.is_some(),
    }
}

/// The record in the unit of a number, at the clock of its run; `None` if only one of the two is per cycle.
pub(crate) fn record_for(best: &Best, seen: &Observation) -> Option<f64> {
    match (best.per_cycle, seen.per_cycle.filter(is_sound)) {
        (None, None) => Some(best.value),
        (Some(record), Some(now)) if record.unit == now.unit => Some(seen.value? * record.value / now.value),
        _ => None,
    }
}

fn falls_short(value: f64, record: f64, is_time: bool) -> bool {
    if is_time { value > record * (1.0 + SHORT) } else { value < record * (1.0 - SHORT) }
}

/// The core's clock with the record and now, where it explains most of what a number lacks: rates of memory follow it
/// nearly in proportion. A record per cycle is at the clock of the run already.
pub(crate) fn clocks(best: &Best, seen: &Observation, record: f64) -> Option<[f64; 2]> {
    let (then, now) =
        best.core_hz.zip(seen.core_hz).filter(|_| best.per_cycle.is_none() && seen.per_cycle.is_none())?;
    let lacking = (seen.value? / record).ln().abs();
    ((then / now).ln() > EXPLAINED * lacking).then_some([then, now])
}

/// Makes a number that falls short of a record a bound, however sharp its edge is. `clocks` are those that explain it.
pub(crate) fn hold(seen: &mut Observation, record: f64, date: &str, clocks: Option<[f64; 2]>) {
    let is_time = is_time(seen.unit);
    if seen.value.is_some_and(|value| falls_short(value, record, is_time)) {
        // The record's day is enough for a reader.
        let date = date.split('T').next().unwrap_or(date).to_owned();
        seen.verdict.bound(Reason::BelowRecord { record, is_time, date, clocks });
    }
}

/// Compares an estimate that was made again with the record that the saved one was compared with.
pub fn hold_again(saved: &Observation, again: &mut Observation) {
    for reason in &saved.verdict.reasons {
        if let Reason::BelowRecord { record, date, clocks, .. } = reason {
            hold(again, *record, date, *clocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Grade, Verdict};

    fn seen(unit: Unit, value: Option<f64>) -> Observation {
        let json = serde_json::json!({
            "step": "a", "labels": {}, "metric": "latency", "unit": unit, "allocations": 2, "value": value,
            "kind": "capability",
            "disturbance": tiermark_model::Disturbance::default(), "rivals": [], "started_seconds": 0.0, "seconds": 1.0,
            "verdict": Verdict::trusted(),
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn more_than_three_percent_is_a_bound() {
        for (unit, value, short) in [
            (Unit::BytesPerSecond, 97.1, false),
            (Unit::BytesPerSecond, 96.9, true),
            (Unit::BytesPerSecond, 150.0, false),
            (Unit::Ns, 102.9, false),
            (Unit::Ns, 103.1, true),
            (Unit::Ns, 50.0, false),
        ] {
            let mut seen = seen(unit, Some(value));
            hold(&mut seen, 100.0, "2026-11-22T10:00:00Z", None);
            let date = "2026-11-22".into();
            let reason = Reason::BelowRecord { record: 100.0, is_time: unit == Unit::Ns, date, clocks: None };
            let reasons = if short { vec![reason] } else { Vec::new() };
            assert_eq!(seen.verdict.reasons, reasons, "{unit:?} {value}");
            assert_eq!(seen.verdict.grade, if short { Grade::Bound } else { Grade::Trusted });
        }
    }

    #[test]
    fn a_bound_gets_one_reason_more_and_doubts_stay() {
        let mut bound = seen(Unit::Ns, Some(200.0));
        bound.verdict.bound(Reason::NotSharp { share: 0.02 });
        hold(&mut bound, 100.0, "2026-11-22", None);
        assert_eq!((bound.verdict.grade, bound.verdict.reasons.len()), (Grade::Bound, 2));
        let mut suspect = seen(Unit::Ns, Some(200.0));
        suspect.verdict.suspect(Reason::MajorFaults { faults: 1 });
        hold(&mut suspect, 100.0, "2026-11-22", None);
        assert_eq!(suspect.verdict.grade, Grade::Suspect);
        let mut none = seen(Unit::Ns, None);
        hold(&mut none, 100.0, "2026-11-22", None);
        assert_eq!(none.verdict, Verdict::trusted(), "nothing to compare");
    }

    #[test]
    fn an_estimate_made_again_is_held_against_the_same_record() {
        let mut saved = seen(Unit::Ns, Some(200.0));
        hold(&mut saved, 100.0, "2026-11-22", None);
        let mut again = seen(Unit::Ns, Some(201.0));
        hold_again(&saved, &mut again);
        assert_eq!(again.verdict, saved.verdict);
        let mut reached = seen(Unit::Ns, Some(101.0));
        hold_again(&saved, &mut reached);
        assert_eq!(reached.verdict, Verdict::trusted(), "another method may reach it");
        hold_again(&seen(Unit::Ns, Some(1.0)), &mut again);
        assert_eq!(again.verdict, saved.verdict, "a saved number without a record adds no reason");
    }
}
