//! A judged expectation in words, as checks and surveys have it.

use tiermark_model::{Bytes, CheckOutcome, CheckResult, CheckUnit, CheckedValue, Comparator, Known, Note};
use tiermark_page::{Text, nanoseconds, percent, rate, text};

/// Reasons of one expectation that are shown.
const REASONS: usize = 3;

/// An expectation with its worst value, and why it was not judged.
pub fn judged_expectation(result: &CheckResult) -> Text {
    text![&result.that, ": ", found_places(result)]
}

/// What was found: the worst value with its limit, the places, and why some are not judged.
pub(crate) fn found_places(result: &CheckResult) -> Text {
    let worst = result.worst.as_ref().map(|worst| against(worst, result));
    let text = result.texts.as_ref().map(|texts| format!("it is \"{}\"", texts.value).into());
    let parts = [worst, text, places(result).map(Text::from), reasons(result).map(Text::from)];
    Text::joined(parts.into_iter().flatten(), "; ")
}

/// `, is 2.41 at node 1`, of a failed expectation whose text says the limit.
pub(crate) fn found(result: &CheckResult) -> Text {
    if let Some(texts) = &result.texts {
        return format!(", is \"{}\"", texts.value).into();
    }
    let Some(worst) = &result.worst else { return Text::default() };
    let place = worst.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    text![", is ", shown(worst.value, worst.value_is, worst, result), off(worst, result), place]
}

/// A value or limit as the expectation is written: a share in per cent where it has them.
fn shown(value: f64, known: Known, of: &CheckedValue, result: &CheckResult) -> Text {
    match of.unit == CheckUnit::Number && result.that.contains('%') {
        true => text![sign(known), percent(value)],
        false => checked_number(value, known, of.unit),
    }
}

/// `2.41, limit 2.20 (10 % too high), node 1`.
fn against(of: &CheckedValue, result: &CheckResult) -> Text {
    let place = of.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
    let (value, limit) = (shown(of.value, of.value_is, of, result), shown(of.limit, of.limit_is, of, result));
    text![value, ", limit ", limit, off(of, result), place]
}

/// How far a value is from its limit: ` (10 % too high)`.
fn off(of: &CheckedValue, result: &CheckResult) -> String {
    // If a bound does not decide the expectation, its distance from the limit means nothing.
    let margin = of.margin.filter(|_| result.outcome != CheckOutcome::Unjudged && !of.comparator.is_of_identity());
    margin.map_or_else(String::new, |margin| match (of.comparator, margin < 0.0) {
        (_, false) => format!(" ({} to spare)", percent(margin)),
        (Comparator::AtMost | Comparator::Below, true) => format!(" ({} too high)", percent(-margin)),
        (_, true) => format!(" ({} too low)", percent(-margin)),
    })
}

/// How many places the result is of, where there are several.
fn places(result: &CheckResult) -> Option<String> {
    let CheckResult { passed, failed, unjudged, .. } = *result;
    let all = passed.saturating_add(failed).saturating_add(unjudged);
    if all < 2 {
        return None;
    }
    Some(match result.outcome {
        CheckOutcome::Passed => format!("worst of {all} places"),
        CheckOutcome::Failed => format!("{failed} of {all} places failed"),
        CheckOutcome::Unjudged => format!("{unjudged} of {all} places not judged"),
    })
}

fn reasons(result: &CheckResult) -> Option<String> {
    let reasons: Vec<String> = result.reasons.iter().take(REASONS).map(Note::to_string).collect();
    (!reasons.is_empty() && result.outcome == CheckOutcome::Unjudged).then(|| reasons.join("; "))
}

fn sign(known: Known) -> &'static str {
    match known {
        Known::Exactly => "",
        Known::AtLeast => "≥",
        Known::AtMost => "≤",
    }
}

/// A number with its unit, and a sign where it is a bound: `≥30.1 GB/s`.
pub fn checked_number(value: f64, known: Known, unit: CheckUnit) -> Text {
    let number: Text = match unit {
        CheckUnit::Ns => format!("{} ns", nanoseconds(value)).into(),
        CheckUnit::BytesPerSecond => rate(value).with_unit().into(),
        CheckUnit::TransfersPerSecond => format!("{:.0} MT/s", value / 1e6).into(),
        CheckUnit::Bytes => Bytes(value as u64).to_string().into(),
        CheckUnit::Hz => format!("{:.2} GHz", value / 1e9).into(),
        CheckUnit::Number if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}").into(),
        CheckUnit::Number | CheckUnit::Text => format!("{value:.2}").into(),
    };
    text![sign(known), number]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_unit_and_the_sign_of_a_bound() {
        let text = |value, known, unit| checked_number(value, known, unit).plain();
        assert_eq!(text(30.1e9, Known::AtLeast, CheckUnit::BytesPerSecond), "≥30.1 GB/s");
        assert_eq!(text(4.8e9, Known::Exactly, CheckUnit::TransfersPerSecond), "4800 MT/s");
        assert_eq!(text(0.0, Known::Exactly, CheckUnit::Number), "0");
        assert_eq!(text(2.414, Known::AtMost, CheckUnit::Number), "≤2.41");
    }
}
