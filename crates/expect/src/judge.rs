//! Judges a run.

use std::collections::BTreeSet;

use tiermark_model::messages::check as says;
use tiermark_model::{
    Check, CheckOutcome, CheckResult, CheckUnit, CheckVerdict, CheckedTexts, CheckedValue, Comparator, ComparedRun,
    FigureName, Machine, MemoryFigure, Note, Run,
};

use crate::expression::{Operand, Side, Sign};
use crate::file::{Entry, Expectations};
use crate::location::Place;
use crate::names::Name;
use crate::range::Range;
use crate::run_values::RunValues;
use crate::term::{At, Value};

/// Pairs of places of two figures that are looked at, and those that belong together: 64 nodes have 258,048 pairs of a
/// cell with a row, and 4,032 belong together.
const MOST_PAIRS: usize = 1 << 22;
const MOST_JOINED: usize = 1 << 16;
/// Reasons of one expectation that are kept: a report shows few, and a document may have one for each place.
const MOST_REASONS: usize = 16;

/// Judges a run by expectations. `name` is the user's name of the run; `strict`: no run passes in which one could not be
/// judged.
#[must_use]
pub fn check(name: &str, run: &Run, expected: &Expectations, strict: bool) -> Check {
    let values = RunValues::of(run);
    let soaked = if run.observations().any(|seen| seen.soak.is_some()) { of_soaks() } else { Vec::new() };
    let entries = soaked.iter().chain(&expected.entries);
    let results: Vec<CheckResult> = entries.map(|entry| result(entry, &values, &run.machine)).collect();
    let settings = run.problems.iter().flatten().filter(|row| row.is_setting);
    let check = Check {
        verdict: CheckVerdict::NotJudged,
        run: ComparedRun::of(name, run),
        labels: run.labels.clone(),
        expectations: expected.name.clone(),
        sha256: expected.sha256.clone(),
        strict,
        unlimited: unlimited(&expected.entries, &values, &run.machine),
        results,
        contradictions: run.machine.contradictions.clone(),
        settings: settings.cloned().collect(),
    };
    check.concluded()
}

/// What is expected of a run that soaked memory; a test reads it.
fn of_soaks() -> Vec<Entry> {
    Expectations::read(crate::BUILT_IN, include_str!("soak.toml")).map(|file| file.entries).unwrap_or_default()
}

/// Judges a run by one expectation.
pub(crate) fn judge_one(entry: &Entry, run: &Run) -> CheckResult {
    result(entry, &RunValues::of(run), &run.machine)
}

/// Latencies and read rates of L3 and memory that no expectation for such a machine limits where they are worse: one
/// that compares two figures with each other holds on a machine that is slow in both. What is limited and could not be
/// judged stands among the expectations.
fn unlimited(entries: &[Entry], values: &RunValues<'_>, machine: &Machine) -> Vec<String> {
    let of_machine = entries.iter().filter(|entry| entry.needs.iter().all(|need| need.lacks(machine).is_none()));
    let limited: BTreeSet<FigureName> = of_machine.flat_map(|entry| limited(entry, values)).collect();
    values.of_memory().into_iter().filter(|name| !limited.contains(name)).map(|name| name.to_string()).collect()
}

/// The figures of which an expectation bounds the worse side.
fn limited(entry: &Entry, values: &RunValues<'_>) -> Vec<FigureName> {
    let that = &entry.that.0;
    let measured =
        |side: &Side<Name>| -> Vec<Name> { side.names().filter(|name| name.is_measured()).cloned().collect() };
    let (left, right) = (measured(&that.left), measured(&that.right));
    let (name, is_at_most) = match (&left[..], &right[..], that.comparator) {
        ([name], [], Comparator::AtMost | Comparator::Below)
        | ([], [name], Comparator::AtLeast | Comparator::Above) => (name, true),
        ([name], [], Comparator::AtLeast | Comparator::Above)
        | ([], [name], Comparator::AtMost | Comparator::Below) => (name, false),
        _ => return Vec::new(),
    };
    // A share of the record is better the larger it is, of a time as well.
    let is_worse_above =
        |figure: &FigureName| matches!(name, Name::Figure(_)) && figure.unit().less_is_better() == Some(true);
    values.figures_of(name).into_iter().filter(|figure| is_worse_above(figure) == is_at_most).collect()
}

/// An expectation at one place.
#[derive(Default)]
struct Judged {
    /// Whether it holds; `None` if that is not known.
    holds: Option<bool>,
    value: Option<CheckedValue>,
    texts: Option<CheckedTexts>,
    reasons: Vec<Note>,
}

fn result(entry: &Entry, values: &RunValues<'_>, machine: &Machine) -> CheckResult {
    let that = &entry.that.0;
    let lacks: Vec<Note> = entry.needs.iter().filter_map(|need| need.lacks(machine)).collect();
    let required = entry.required && lacks.is_empty();
    let judged = match joined(&side(&that.left, values), &side(&that.right, values), |a, b| Ok((a, b))) {
        _ if !lacks.is_empty() => vec![Judged::not(lacks)],
        Ok(pairs) => pairs.into_iter().map(|pair| judge(pair, that.comparator, that.unit)).collect(),
        Err(note) => vec![Judged::not(vec![note])],
    };
    let count = |holds: Option<bool>| judged.iter().filter(|one| one.holds == holds).count() as u64;
    let (passed, failed, unjudged) = (count(Some(true)), count(Some(false)), count(None));
    let outcome = match (failed, unjudged) {
        (1.., _) => CheckOutcome::Failed,
        (0, 1..) => CheckOutcome::Unjudged,
        (0, 0) => CheckOutcome::Passed,
    };
    let memory: BTreeSet<MemoryFigure> = that.names().flat_map(|name| values.memory(name)).collect();
    let mut reasons: Vec<Note> = Vec::new();
    for reason in judged.iter().filter(|one| one.holds.is_none()).flat_map(|one| &one.reasons) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
        if reasons.len() >= MOST_REASONS {
            break;
        }
    }
    let decides = match outcome {
        CheckOutcome::Failed => Some(false),
        CheckOutcome::Unjudged => None,
        CheckOutcome::Passed => Some(true),
    };
    let margin = |value: &CheckedValue| value.margin.unwrap_or(if decides == Some(false) { -value.value } else { 0.0 });
    let deciding = || judged.iter().filter(|one| one.holds == decides);
    let worst = deciding().filter_map(|one| one.value.clone());
    CheckResult {
        that: that.text.clone(),
        outcome,
        worst: worst.min_by(|a, b| margin(a).total_cmp(&margin(b))),
        passed,
        failed,
        unjudged,
        measured: that.names().any(Name::is_measured),
        memory: memory.into_iter().collect(),
        required,
        texts: deciding().find_map(|one| one.texts.clone()),
        reasons,
        why: entry.why.clone(),
        source: entry.source.clone(),
    }
}

impl Judged {
    /// A place that is not judged, and why.
    fn not(reasons: Vec<Note>) -> Self {
        Self { reasons, ..Self::default() }
    }
}

/// The product of a side at every place.
fn side(side: &Side<Name>, values: &RunValues<'_>) -> Result<Vec<At>, Note> {
    let operand_values = |operand: &Operand<Name>| match operand {
        Operand::Number(value, _) => vec![At::whole(Ok(Range::exactly(*value)))],
        Operand::Name(name) => values.get(name),
    };
    side.rest.iter().try_fold(operand_values(&side.first), |product, (sign, operand)| {
        let combined = |a: Value, b: Value| match (a, b, sign) {
            (Value::Number(a), Value::Number(b), Sign::Times) => Ok(Value::Number(a.times(b))),
            (Value::Number(a), Value::Number(b), Sign::Over) => {
                a.over(b).map(Value::Number).ok_or_else(says::quotient_undefined)
            }
            // The language has no product of texts.
            (Value::Text(_), ..) | (_, Value::Text(_), _) => Err(says::text_not_calculated()),
        };
        let pairs = joined(&Ok(product), &Ok(operand_values(operand)), combined)?;
        Ok(pairs.into_iter().map(|pair| At { remarks: pair.remarks, ..At::of(pair.place, pair.term) }).collect())
    })
}

/// Numbers of two places that belong together.
struct MatchedPair<T> {
    place: Place,
    term: Result<T, Note>,
    remarks: Vec<Note>,
}

/// Every pair of numbers whose places belong together.
fn joined<T>(
    left: &Result<Vec<At>, Note>,
    right: &Result<Vec<At>, Note>,
    combine: impl Fn(Value, Value) -> Result<T, Note>,
) -> Result<Vec<MatchedPair<T>>, Note> {
    let (left, right) = (left.as_ref().map_err(Clone::clone)?, right.as_ref().map_err(Clone::clone)?);
    if left.len().saturating_mul(right.len()) > MOST_PAIRS {
        return Err(says::too_many_places(MOST_PAIRS));
    }
    let pair = |a: &At, b: &At| {
        let place = a.place.joined(&b.place)?;
        let term = match (&a.term, &b.term) {
            (Ok(a), Ok(b)) => combine(a.clone(), b.clone()),
            (Err(note), _) | (_, Err(note)) => Err(note.clone()),
        };
        Some(MatchedPair { place, term, remarks: a.remarks.iter().chain(&b.remarks).cloned().collect() })
    };
    let mut pairs: Vec<MatchedPair<T>> = Vec::new();
    let mut alone: Vec<MatchedPair<T>> = Vec::new();
    for a in left {
        let before = pairs.len();
        pairs.extend(right.iter().filter_map(|b| pair(a, b)).take(MOST_JOINED + 1 - before));
        if pairs.len() > MOST_JOINED {
            return Err(says::too_many_places(MOST_JOINED));
        }
        // What was measured and has no partner is no place that passed.
        if pairs.len() == before {
            alone.push(MatchedPair { place: a.place.clone(), term: Err(says::no_common_place()), remarks: Vec::new() });
        }
    }
    if pairs.is_empty() {
        return Err(says::no_common_place());
    }
    pairs.extend(alone);
    Ok(pairs)
}

fn judge(pair: MatchedPair<(Value, Value)>, comparator: Comparator, unit: CheckUnit) -> Judged {
    let (value, limit) = match pair.term {
        Ok((Value::Number(value), Value::Number(limit))) => (value, limit),
        Ok((Value::Text(value), Value::Text(limit))) => {
            let holds = Some(is_text(&value, &limit) == (comparator == Comparator::Same));
            return Judged { holds, texts: Some(CheckedTexts { value, comparator, limit }), ..Judged::default() };
        }
        // The language compares no text with a number.
        Ok(_) => return Judged::not(vec![says::text_not_calculated()]),
        Err(note) => return Judged::not(vec![note]),
    };
    let mut holds = decided(value.range, comparator, limit.range);
    let mut reasons = pair.remarks;
    if holds == Some(false) && decided(value.reach, comparator, limit.reach).is_none() {
        (holds, reasons) = (None, vec![says::shared_may_pass()]);
    } else if holds.is_none() {
        // Why something is a bound says more than that it is one.
        reasons.push(says::bound_does_not_decide());
        reasons.truncate(1);
    }
    let place = pair.place.text();
    Judged { holds, value: shown((value.range, comparator, limit.range), holds, unit, place), texts: None, reasons }
}

/// Whether a text is the one that is expected, or begins as it does: `6.*` stands for all versions that begin with
/// `6.`.
fn is_text(value: &str, expected: &str) -> bool {
    match expected.strip_suffix('*') {
        Some(beginning) => value.starts_with(beginning),
        None => value == expected,
    }
}

/// `Some(true)` if a comparison holds for all values of two ranges, `Some(false)` if it holds for no pair of values;
/// `None` if it depends on the values.
fn decided(value: Range, comparator: Comparator, limit: Range) -> Option<bool> {
    let (always, never) = match comparator {
        Comparator::AtMost => (value.high <= limit.low, value.low > limit.high),
        Comparator::Below => (value.high < limit.low, value.low >= limit.high),
        Comparator::AtLeast => (value.low >= limit.high, value.high < limit.low),
        Comparator::Above => (value.low > limit.high, value.high <= limit.low),
        Comparator::Same => {
            (value.low >= limit.high && value.high <= limit.low, value.high < limit.low || value.low > limit.high)
        }
        Comparator::Other => return decided(value, Comparator::Same, limit).map(|same| !same),
    };
    match (always, never) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Both sides, each by the end that decides if it is known from both sides.
fn shown(
    (value, comparator, limit): (Range, Comparator, Range),
    holds: Option<bool>,
    unit: CheckUnit,
    place: Option<String>,
) -> Option<CheckedValue> {
    let wants_less = matches!(comparator, Comparator::AtMost | Comparator::Below);
    let upper = wants_less != (holds == Some(false));
    let ((value, value_is), (limit, limit_is)) = (value.end(upper)?, limit.end(!upper)?);
    let room = match comparator {
        Comparator::AtMost | Comparator::Below => limit - value,
        Comparator::AtLeast | Comparator::Above => value - limit,
        Comparator::Same => -(value - limit).abs(),
        Comparator::Other => (value - limit).abs(),
    };
    let margin = (limit > 0.0).then_some(room / limit).filter(|margin| margin.is_finite());
    Some(CheckedValue { place, value, value_is, comparator, limit, limit_is, unit, margin })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bound_decides_in_one_direction() {
        let least = Range::at_least(30.0);
        let limit = Range::exactly;
        assert_eq!(decided(least, Comparator::AtLeast, limit(25.0)), Some(true));
        assert_eq!(decided(least, Comparator::AtLeast, limit(40.0)), None);
        assert_eq!(decided(least, Comparator::AtMost, limit(25.0)), Some(false));
        let most = Range::at_most(80.0);
        assert_eq!(decided(most, Comparator::AtMost, limit(90.0)), Some(true));
        assert_eq!(decided(most, Comparator::AtMost, limit(70.0)), None);
        // A limit that is an upper bound itself.
        assert_eq!(decided(limit(90.0), Comparator::AtLeast, Range::at_most(80.0)), Some(true));
        assert_eq!(decided(limit(70.0), Comparator::AtLeast, Range::at_most(80.0)), None);
        assert_eq!(decided(limit(0.0), Comparator::AtMost, limit(0.0)), Some(true));
        assert_eq!(decided(limit(0.0), Comparator::Below, limit(0.0)), Some(false));
    }

    fn any_comparator() -> impl Strategy<Value = Comparator> {
        use Comparator::{Above, AtLeast, AtMost, Below, Other, Same};
        prop::sample::select(vec![Below, AtMost, Above, AtLeast, Same, Other])
    }

    fn holds(value: f64, comparator: Comparator, limit: f64) -> bool {
        match comparator {
            Comparator::Below => value < limit,
            Comparator::AtMost => value <= limit,
            Comparator::Above => value > limit,
            Comparator::AtLeast => value >= limit,
            Comparator::Same => value == limit,
            Comparator::Other => value != limit,
        }
    }

    proptest! {
        /// A decision holds for every number that the ranges allow, and exact numbers are always decided.
        #[test]
        fn a_decision_is_never_wrong(
            ends in prop::array::uniform4(0.0..10.0f64),
            shares in prop::array::uniform2(0.0..=1.0f64),
            comparator in any_comparator(),
        ) {
            let range = |a: f64, b: f64| Range { low: a.min(b), high: a.max(b) };
            let within = |range: Range, share: f64| range.low + share * (range.high - range.low);
            let (value, limit) = (range(ends[0], ends[1]), range(ends[2], ends[3]));
            if let Some(decision) = decided(value, comparator, limit) {
                prop_assert_eq!(holds(within(value, shares[0]), comparator, within(limit, shares[1])), decision);
            }
            let exact = decided(Range::exactly(ends[0]), comparator, Range::exactly(ends[2]));
            prop_assert_eq!(exact, Some(holds(ends[0], comparator, ends[2])));
        }
    }
}
