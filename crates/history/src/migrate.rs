//! Documents of earlier versions as documents of this one.

use serde_json::{Map, Value, json};
use tiermark_model::{RUN_SCHEMA, Visits};

/// The first version: medians of shots, reasons as sentences, one repetition of the first step as drift.
pub(crate) const RUN_1: &str = "tiermark/run/1";

/// Converts a document of version 1 to this version. A part that version 1 cannot contain is not changed, and refused
/// when it is read.
pub(crate) fn from_1(mut run: Value) -> Value {
    set(&mut run, "schema", RUN_SCHEMA.into());
    for experiment in items(&mut run, "experiments") {
        for step in experiment.get_mut("plan").into_iter().flat_map(|plan| items(plan, "steps")) {
            if let Some(stop) = step.get_mut("stop").and_then(Value::as_object_mut) {
                stop_rule(stop);
            }
        }
        let drift = experiment.get("drift").and_then(Value::as_f64);
        let first = experiment.pointer("/observations/0/step").and_then(Value::as_str).unwrap_or_default().to_owned();
        let drift = match drift {
            Some(change) => json!([{ "step": first, "at_seconds": null, "change": change, "p_value": null }]),
            None => json!([]),
        };
        set(experiment, "drift", drift);
        items(experiment, "observations").for_each(observation);
        for finding in items(experiment, "findings") {
            reasons(finding);
        }
    }
    run
}

/// Sets a member of an object; of anything else none.
fn set(of: &mut Value, key: &str, value: Value) {
    if let Some(object) = of.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// The elements of an array of an object; none where it is no array.
fn items<'a>(of: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    of.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn observation(seen: &mut Value) {
    let sample =
        |sample: &Value| Some((u32::try_from(sample["allocation"].as_u64()?).ok()?, sample["value"].as_f64()?));
    let samples: Vec<(u32, f64)> =
        seen.get("samples").and_then(Value::as_array).into_iter().flatten().filter_map(sample).collect();
    if let Ok(visits) = serde_json::to_value(Visits::of_samples(samples.into_iter())) {
        set(seen, "visits", visits);
    }
    reasons(seen);
}

/// Fewest and most visits are the shots of the fewest and the most allocations.
fn stop_rule(stop: &mut Map<String, Value>) {
    let number = |key: &str| stop.get(key).and_then(Value::as_u64).unwrap_or(1);
    let (shots, least, most) = (number("shots"), number("min_allocations"), number("max_allocations"));
    stop.insert("allocations".into(), least.into());
    stop.insert("min_visits".into(), least.saturating_mul(shots).min(u64::from(u32::MAX)).into());
    stop.insert("max_visits".into(), most.saturating_mul(shots).min(u64::from(u32::MAX)).into());
}

/// Reasons keep their words; refusals, which version 1 has as `refused: WHAT: WHY (CURE)`, are taken apart.
fn reasons(of: &mut Value) {
    for reason in of.get_mut("verdict").into_iter().flat_map(|verdict| items(verdict, "reasons")) {
        let refused = reason["text"].as_str().and_then(|text| refusal(text.strip_prefix("refused: ")?));
        if let Some(reason) = reason.as_object_mut() {
            reason.insert("reason".into(), if refused.is_some() { "refused" } else { "told" }.into());
            refused.map(|refusal| reason.insert("refusal".into(), refusal));
        }
    }
}

fn refusal(text: &str) -> Option<Value> {
    let (what, why) = text.split_once(": ")?;
    let cured = why.strip_suffix(')').and_then(|why| why.rsplit_once(" ("));
    let (why, cure) = cured.unwrap_or((why, ""));
    Some(json!({ "what": what, "why": why, "cure": cure }))
}

#[cfg(test)]
mod tests {
    use tiermark_model::Reason;

    use super::*;

    #[test]
    fn refusals_of_the_first_version_are_taken_apart() {
        let migrated = |text: &str| {
            let mut finding = json!({ "verdict": { "reasons": [{ "code": "system", "text": text }] } });
            reasons(&mut finding);
            serde_json::from_value::<Reason>(finding["verdict"]["reasons"][0].take()).unwrap()
        };
        let text = "refused: 1 TiB of memory: node 0 has 7 GiB free (ask for less)";
        let reason = migrated(text);
        let refusal = reason.refused().unwrap();
        assert_eq!(
            (refusal.what.as_str(), refusal.why.as_str(), refusal.cure.as_str()),
            ("1 TiB of memory", "node 0 has 7 GiB free", "ask for less")
        );
        assert_eq!(reason.to_string(), text);
        assert_eq!(migrated("refused: x: y").to_string(), "refused: x: y");
        assert!(matches!(migrated("interval of 9 %"), Reason::Told { .. }));
    }
}
