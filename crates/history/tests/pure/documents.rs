//! Documents are read, the schema does not drift unseen, and garbage gets an error.

use std::fs;
use std::path::PathBuf;

use tiermark_history::Store;
use tiermark_model::messages::documents::codes;
use tiermark_model::{Refusal, Run, Tier, ValueKind};

fn here(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn parse(bytes: &[u8]) -> Result<Run, Refusal> {
    tiermark_history::parse(bytes, "a document")
}

/// A saved document.
fn fixture(name: &str) -> Run {
    parse(&fs::read(here("tests/fixtures").join(name)).unwrap()).unwrap()
}

/// As the shells of other systems write a text.
fn encodings(text: &str) -> Vec<Vec<u8>> {
    let (marked, lines) = (format!("\u{feff}{text}"), text.replace('\n', "\r\n"));
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    vec![
        lines.into_bytes(),
        marked.clone().into_bytes(),
        utf16(&marked, u16::to_le_bytes),
        utf16(&marked, u16::to_be_bytes),
        utf16(text, u16::to_le_bytes),
    ]
}

#[test]
fn documents_of_other_shells_are_read() {
    let text = fs::read_to_string(here("tests/fixtures/run-4-measured.json")).unwrap();
    let (dir, plain) = (tempfile::tempdir().unwrap(), parse(text.as_bytes()).unwrap());
    let path = dir.path().join("of-another-shell.json");
    let load = |path: &std::path::Path| Store::at(dir.path()).load(path.to_str().unwrap());
    for bytes in encodings(&text) {
        fs::write(&path, &bytes).unwrap();
        assert_eq!(load(&path).unwrap(), plain, "{:?}", &bytes[..8]);
    }
    for bytes in encodings("title = \"a µ\"\n") {
        fs::write(&path, bytes).unwrap();
        assert_eq!(tiermark_history::config::text_of(&path).unwrap().trim_end(), "title = \"a µ\"");
    }
    // The shared ones are of an older version, which is said of each, and not that they are no documents.
    let Ok(shared) = fs::read_dir(here("../../../shared/fixtures/field2/13-powershell-documents")) else { return };
    for document in shared.map(|entry| entry.unwrap().path()) {
        assert_eq!(load(&document).unwrap_err().code, codes::document_older, "{}", document.display());
    }
}

#[test]
fn a_saved_document_is_read() {
    let run = fixture("run-4-measured.json");
    assert_eq!(run.schema, "tiermark/run/4");
    let seen: Vec<_> = run.observations().filter(|o| o.value.is_some()).collect();
    assert!(!seen.is_empty() && seen.iter().all(|o| o.visits.clocks > 0 && o.visits.windows().count() > 0));
    let windows = seen.iter().flat_map(|o| o.visits.windows());
    let clocks: Vec<_> = windows.flat_map(|window| window.clocks.iter().flatten()).collect();
    assert!(!clocks.is_empty() && clocks.iter().all(|clock| (2.9e9..3.1e9).contains(&clock.hz)));
    assert!(seen.iter().any(|o| o.per_cycle.is_some()));
    let kinds: Vec<_> = run.findings().map(|found| (found.labels.tier(), found.kind)).collect();
    assert!(kinds.contains(&(Some(Tier::Cache(1)), Some(ValueKind::Capability))), "{kinds:?}");
    assert!(kinds.contains(&(Some(Tier::Dram), Some(ValueKind::Typical))), "{kinds:?}");
    assert_eq!(parse(&serde_json::to_vec(&run).unwrap()).unwrap(), run);
}

#[test]
fn the_example_on_disk_is_read() {
    assert_eq!(fixture("run-4.json").schema, "tiermark/run/4");
}

#[test]
fn an_earlier_version_is_refused_with_a_cure() {
    for version in 1..4 {
        let text = format!(r#"{{"schema": "tiermark/run/{version}", "experiments": [7]}}"#);
        let refusal = parse(text.as_bytes()).unwrap_err();
        assert_eq!(refusal.code, codes::document_older);
        let text = refusal.to_string();
        assert!(["written by an earlier version", "measure again"].iter().all(|part| text.contains(part)), "{text}");
    }
}

/// Nothing of a document with a value in every field is lost, and nothing has another name.
#[test]
fn what_is_read_is_what_is_written() {
    let text = fs::read(here("tests/fixtures/run-4-whole.json")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(serde_json::to_value(parse(&text).unwrap()).unwrap(), document);
}

#[test]
fn unknown_fields_are_ignored() {
    let mut document = serde_json::to_value(crate::common::example_run()).unwrap();
    document["colour"] = "blue".into();
    document["machine"]["moons"] = 2.into();
    document["experiments"][0]["observations"][0]["mood"] = serde_json::json!({ "good": true });
    assert_eq!(parse(document.to_string().as_bytes()).unwrap(), crate::common::example_run());
}

#[test]
fn other_schemas_are_refused_by_name() {
    for (schema, code) in [
        (r#"{"schema":"tiermark/run/5","id":7}"#, codes::document_newer),
        (r#"{"schema":"tiermark/run/10"}"#, codes::document_newer),
        (r#"{"schema":"tiermark/run/1"}"#, codes::document_older),
        (r#"{"schema":"fio/3"}"#, codes::document_of_others),
        (r#"{"schema":1}"#, codes::document_without_schema),
        (r#"{}"#, codes::document_without_schema),
        (r#"["tiermark/run/4"]"#, codes::document_without_schema),
    ] {
        let refusal = parse(schema.as_bytes()).unwrap_err();
        assert_eq!(refusal.code, code, "{schema}");
        assert_eq!(refusal.data["known"], "tiermark/run/4");
    }
}

/// What has no types takes a hundred times its length in memory.
#[test]
fn data_that_would_take_too_much_memory_is_refused_before_it_does() {
    let mut run = serde_json::to_value(crate::common::example_run()).unwrap();
    run["experiments"][0]["request"]["params"] = serde_json::json!(vec![serde_json::json!({"a": 0}); 1000]);
    assert!(parse(run.to_string().as_bytes()).is_ok());
    run["experiments"][0]["request"]["params"] = serde_json::json!(vec![serde_json::json!({"a": 0}); 100_000]);
    assert_eq!(parse(run.to_string().as_bytes()).unwrap_err().code, codes::document_too_heavy);
}

/// An observation of a few bytes takes twenty times as many in memory.
#[test]
fn results_have_the_observations_alone_that_findings_rest_on() {
    let mut run = serde_json::to_value(crate::common::example_run()).unwrap();
    let experiment = &mut run["experiments"][0];
    let step = experiment["observations"][0]["step"].clone();
    experiment["findings"][0]["evidence"] = serde_json::json!([step]);
    let seen = |step| serde_json::json!({ "step": step, "metric": "latency", "unit": "ns", "value": 1.0 });
    let observations = experiment["observations"].as_array_mut().unwrap();
    observations.truncate(1);
    observations.extend(["other".into(), step.clone(), step.clone()].map(seen));
    let read = tiermark_history::parse_results(run.to_string().as_bytes(), "a document").unwrap();
    let of_first = read.experiments[0].observations.iter().map(|seen| seen.step.as_str());
    assert_eq!(of_first.collect::<Vec<_>>(), [step.as_str().unwrap()]);
}

#[test]
fn errors_carry_path_and_position() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    let text = serde_json::to_string_pretty(&crate::common::example_run()).unwrap();
    fs::write(&path, text.replacen("\"seed\": 42", "\"seed\": \"many\"", 1)).unwrap();
    let line = text.lines().position(|l| l.contains("\"seed\": 42")).unwrap() + 1;
    let refusal = Store::at(dir.path()).load(path.to_str().unwrap()).unwrap_err();
    assert_eq!((&refusal.code, &refusal.data["line"]), (&codes::document_malformed, &line.into()));
    assert_eq!(refusal.text("from"), Some(format!("run document '{}'", path.display()).as_str()));
    assert!(refusal.text("problem").unwrap().contains("\"many\""), "{refusal}");
}

/// Terminals, logs of containers and `2>&1` put other text around a document.
#[test]
fn a_document_among_other_lines_is_read() {
    let run = crate::common::example_run();
    for text in [serde_json::to_string(&run).unwrap(), serde_json::to_string_pretty(&run).unwrap()] {
        for (before, after) in [
            ("\u{1b}[?25l", "\r\n\u{1b}[?25h"),
            ("tiermark: note: 2 of 3 numbers {are} noisy\n", ""),
            ("", "\ntiermark: note: saved\n{\"level\":\"info\"}\n"),
            ("2026-11-30T23:44:02Z ", "\n"),
            ("", "\0\0\0"),
        ] {
            let read = tiermark_history::parse(format!("{before}{text}{after}").as_bytes(), "a document");
            assert_eq!(read.as_ref().map(|read| &read.id), Ok(&run.id), "{before:?} {after:?}");
        }
        let cut = &text[..text.len() - 40];
        let code = |bytes: &[u8]| tiermark_history::parse(bytes, "a document").unwrap_err().code;
        assert_eq!(code(format!("a note\n{cut}").as_bytes()), codes::document_malformed);
        let older = text.replacen("tiermark/run/4", "tiermark/run/3", 1);
        assert_eq!(code(format!("a note\n{older}").as_bytes()), codes::document_older);
        assert_eq!(code(format!("{text}\n{text}").as_bytes()), codes::document_malformed, "which of two is meant?");
        assert_eq!(code(&[b"\x1f\x8b\x08".as_slice(), cut.as_bytes()].concat()), codes::document_compressed);
        assert_eq!((code(b""), code(&[0; 90])), (codes::document_empty, codes::document_empty));
    }
}

#[test]
fn endless_files_are_refused() {
    let refusal = Store::at("/nonexistent").load("/dev/zero").unwrap_err();
    assert_eq!((&refusal.code, &refusal.data["most"]), (&codes::document_too_large, &(256 << 20).into()));
}
