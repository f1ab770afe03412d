//! Released documents stay readable, the schema does not drift unseen, and garbage gets an error.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic, in its helpers too")]

mod common;

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tiermark_history::Store;
use tiermark_model::messages::documents::codes;
use tiermark_model::{Refusal, Run, Unit};

fn here(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn parse(bytes: &[u8]) -> Result<Run, Refusal> {
    tiermark_history::parse(bytes, "a document")
}

#[test]
fn the_second_version_stays_readable() {
    let path = here("tests/fixtures/run-2.json");
    // Once released a fixture is never rewritten, not even by TIERMARK_BLESS: that would be the very drift it guards against.
    if std::env::var_os("TIERMARK_BLESS").is_some() && !path.exists() {
        fs::write(&path, serde_json::to_string_pretty(&common::example_run()).unwrap() + "\n").unwrap();
    }
    let run = parse(&fs::read(path).unwrap()).unwrap();
    assert_eq!(run.schema, "tiermark/run/2");
    assert!(run.observations().all(|o| !o.visits.is_empty() && o.now.is_some() && o.edge.is_some()));
    assert!(run.experiments.iter().all(|e| !e.states.is_empty() && !e.drift.is_empty()));
}

#[test]
fn the_first_version_is_migrated_with_every_figure() {
    let bytes = fs::read(here("tests/fixtures/run-1.json")).unwrap();
    let old: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let run = parse(&bytes).unwrap();
    assert_eq!(run.schema, "tiermark/run/2");
    let (was, is) = (&old["experiments"][0], &run.experiments[0]);
    for (was, is) in was["observations"].as_array().unwrap().iter().zip(&is.observations) {
        assert_eq!((was["value"].as_f64(), was["tail"].is_null()), (is.value, is.tail.is_none()));
        assert_eq!(was["samples"].as_array().unwrap().len(), is.visits.len());
        assert_eq!(was["verdict"]["reasons"][0]["text"].as_str().unwrap(), is.verdict.reasons[0].to_string());
        assert_eq!(was["rivals"][0]["value"].as_f64(), is.rivals[0].value);
    }
    for (was, is) in was["findings"].as_array().unwrap().iter().zip(&is.findings) {
        assert_eq!((was["value"].as_f64(), was["metric"].as_str()), (is.value, Some(is.metric.name())));
    }
    assert_eq!(was["drift"].as_f64(), Some(is.drift[0].change));
    let stop = is.plan.steps[0].stop;
    assert_eq!((stop.allocations, stop.min_visits, stop.max_visits), (3, 15, 45));
    assert!(run.complete);
    assert!(run.findings().count() >= 2);
    assert!(run.findings().any(|f| f.metric.name() == "latency" && f.unit == Unit::Ns && f.value.is_some()));
    assert!(run.observations().all(|o| !o.visits.is_empty()));
    assert!(!run.machine.cpus.is_empty());
}

#[test]
fn documents_read_back_what_was_written() {
    let run = common::example_run();
    assert_eq!(parse(&serde_json::to_vec(&run).unwrap()).unwrap(), run);
}

#[test]
fn unknown_fields_are_ignored() {
    let mut document = serde_json::to_value(common::example_run()).unwrap();
    document["colour"] = "blue".into();
    document["machine"]["moons"] = 2.into();
    document["experiments"][0]["observations"][0]["mood"] = serde_json::json!({ "good": true });
    assert_eq!(parse(document.to_string().as_bytes()).unwrap(), common::example_run());
}

/// Found by fuzzing.
#[test]
fn parts_of_the_first_version_that_are_no_objects_are_refused() {
    for text in [
        r#"{"schema": "tiermark/run/1", "experiments": [7]}"#,
        r#"{"schema": "tiermark/run/1", "experiments": [{"observations": [7], "findings": ["x"]}]}"#,
    ] {
        assert_eq!(parse(text.as_bytes()).unwrap_err().code, codes::document_malformed, "{text}");
    }
}

#[test]
fn other_schemas_are_refused_by_name() {
    for (schema, code) in [
        (r#"{"schema":"tiermark/run/3","id":7}"#, codes::document_newer),
        (r#"{"schema":"fio/3"}"#, codes::document_of_others),
        (r#"{"schema":1}"#, codes::document_without_schema),
        (r#"{}"#, codes::document_without_schema),
        (r#"["tiermark/run/1"]"#, codes::document_without_schema),
    ] {
        let refusal = parse(schema.as_bytes()).unwrap_err();
        assert_eq!(refusal.code, code, "{schema}");
        assert_eq!(refusal.data["known"], serde_json::json!(["tiermark/run/2", "tiermark/run/1"]));
    }
}

/// What has no types takes a hundred times its length in memory.
#[test]
fn data_that_would_take_too_much_memory_is_refused_before_it_does() {
    let mut run = serde_json::to_value(common::example_run()).unwrap();
    run["experiments"][0]["request"]["params"] = serde_json::json!(vec![serde_json::json!({"a": 0}); 1000]);
    assert!(parse(run.to_string().as_bytes()).is_ok());
    run["experiments"][0]["request"]["params"] = serde_json::json!(vec![serde_json::json!({"a": 0}); 100_000]);
    assert_eq!(parse(run.to_string().as_bytes()).unwrap_err().code, codes::document_too_heavy);
    let first = format!(r#"{{"schema": "tiermark/run/1", "x": "{}"}}"#, "x".repeat(16 << 20));
    assert_eq!(parse(first.as_bytes()).unwrap_err().code, codes::document_too_heavy);
}

#[test]
fn errors_carry_path_and_position() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    let text = serde_json::to_string_pretty(&common::example_run()).unwrap();
    fs::write(&path, text.replacen("\"seed\": 42", "\"seed\": \"many\"", 1)).unwrap();
    let line = text.lines().position(|l| l.contains("\"seed\": 42")).unwrap() + 1;
    let refusal = Store::at(dir.path()).load(path.to_str().unwrap()).unwrap_err();
    assert_eq!((&refusal.code, &refusal.data["line"]), (&codes::document_malformed, &line.into()));
    assert_eq!(refusal.text("from"), Some(format!("run document '{}'", path.display()).as_str()));
    assert!(refusal.text("problem").unwrap().contains("\"many\""), "{refusal}");
}

#[test]
fn endless_files_are_refused() {
    let refusal = Store::at("/nonexistent").load("/dev/zero").unwrap_err();
    assert_eq!((&refusal.code, &refusal.data["most"]), (&codes::document_too_large, &(256 << 20).into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn mutated_documents_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6)) {
        let mut bytes = serde_json::to_vec(&common::example_run()).unwrap();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, byte),
                _ => {
                    let end = (at + usize::from(byte)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        // A changed digit may still be a document; anything else must be an error that says where.
        if let Err(error) = parse(&bytes) {
            prop_assert!(!error.to_string().chars().any(char::is_control), "{error}");
        }
    }

    #[test]
    fn numbers_of_any_kind_never_panic(digits in "-?[0-9]{1,30}(\\.[0-9]{1,9})?(e[+-]?[0-9]{1,5})?", at in 0usize..200) {
        let text = serde_json::to_string(&common::example_run()).unwrap();
        let numbers: Vec<usize> = text.match_indices(':').map(|(i, _)| i + 1)
            .filter(|&i| text.as_bytes()[i].is_ascii_digit()).collect();
        let start = numbers[at % numbers.len()];
        let end = start + text[start..].find([',', '}', ']']).unwrap();
        let _ = parse(format!("{}{digits}{}", &text[..start], &text[end..]).as_bytes());
    }
}
