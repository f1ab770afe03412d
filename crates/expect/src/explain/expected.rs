//! Rules that find what an expectation of the machine fails for, and the figures that the fault limits.

use tiermark_model::messages::explain as says;
use tiermark_model::{
    CheckOutcome, CheckUnit, CheckedValue, Comparator, Confidence, Explained, ExplainedNumber, ExplainedUnit, Known,
    Run,
};

use crate::Entry;
use crate::explain::findings::{Input, Judged, explained, found, holding};
use crate::explain::rules::Rule;
use crate::judge::judge_one;

/// Whether an expectation fails.
pub(crate) fn does_fail(entry: &Entry, run: &Run) -> bool {
    judge_one(entry, run).outcome == CheckOutcome::Failed
}

/// A rule that finds what an expectation fails for.
pub(crate) fn fails(rule: &Rule, entry: &Entry, run: &Run, input: &Input<'_>) -> Judged {
    let unjudged = |why| Judged::Unjudged(why, rule.command.clone());
    let result = judge_one(entry, run);
    match result.outcome {
        CheckOutcome::Passed => Judged::Clear,
        CheckOutcome::Unjudged => unjudged(result.reasons.into_iter().next().unwrap_or_else(says::nothing_to_judge)),
        CheckOutcome::Failed => {
            let sides = result.worst.as_ref().map(|worst| sides(&result.that, worst)).unwrap_or_default();
            let place = result.worst.and_then(|worst| worst.place);
            let reported = explained(rule, Confidence::Reported);
            let limited = rule.figures.as_ref().map(|figures| (figures, holding(figures, input)));
            let found = match limited.as_ref().and_then(|(figures, all)| Some((figures, all.split_first()?))) {
                Some((figures, ((_, first), others))) => {
                    let figure = found(rule, figures, first, others);
                    let module = place.map_or_else(String::new, |place| format!(" ({place})"));
                    let place = figure.place.map(|place| format!("{place}{module}"));
                    let numbers = sides.into_iter().chain(figure.numbers).collect();
                    Explained { place, numbers, also: figure.also, others: figure.others, ..reported }
                }
                None => Explained { place, numbers: sides, others: result.failed.saturating_sub(1), ..reported },
            };
            Judged::Found(Box::new(found))
        }
    }
}

/// Both sides of an expectation as numbers.
fn sides(that: &str, worst: &CheckedValue) -> Vec<ExplainedNumber> {
    let unit = match worst.unit {
        CheckUnit::Ns => ExplainedUnit::Ns,
        CheckUnit::BytesPerSecond => ExplainedUnit::BytesPerSecond,
        CheckUnit::TransfersPerSecond => ExplainedUnit::TransfersPerSecond,
        CheckUnit::Number if that.contains('%') => ExplainedUnit::Share,
        // No rule names an amount, a clock or a text.
        CheckUnit::Number | CheckUnit::Bytes | CheckUnit::Hz | CheckUnit::Text => ExplainedUnit::Number,
    };
    let sign = worst.comparator.sign();
    let (left, right) = that.split_once(sign).unwrap_or((that, ""));
    let number = |name: &str, what: String, value: f64, known: Known| {
        let what = match known {
            Known::Exactly => what,
            Known::AtLeast => format!("{what}, or more"),
            Known::AtMost => format!("{what}, or less"),
        };
        ExplainedNumber { name: name.to_owned(), what, value, unit, steps: Vec::new() }
    };
    let (left, right) = (left.trim(), right.trim());
    let limit = match worst.comparator {
        Comparator::AtLeast | Comparator::Above => "at least expected",
        Comparator::AtMost | Comparator::Below => "at most expected",
        Comparator::Same => "expected",
        Comparator::Other => "not expected",
    };
    // A plain number says itself what it is.
    let is_named = right.contains(char::is_alphabetic);
    let limit = if is_named { format!("{limit} ({right})") } else { limit.to_owned() };
    let both = [
        number(left, format!("({left})"), worst.value, worst.value_is),
        number("limit", limit, worst.limit, worst.limit_is),
    ];
    both.into_iter().filter(|number| number.value.is_finite()).collect()
}
