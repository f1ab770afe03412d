//! What is known from other runs: saved windows, and no record of simulated machines.

use crate::common::{User, document};
use serde_json::Value;

/// A small guest: one socket, two cores.
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";
/// The file of the record, where there is one.
fn record(user: &User) -> Option<Value> {
    let path = user.path("record.json");
    path.exists().then(|| document(&path))
}

#[test]
fn simulated_runs_have_no_record() {
    let user = User::new();
    let simulated = ["latency", "--quick", "--simulate", GUEST, "--sizes=16K"];
    user.run(&simulated).expect(0);
    assert_eq!(record(&user), None);
    std::fs::write(user.path("record.json"), "{ damaged").unwrap();
    let ran = user.run(&simulated).expect(0);
    assert!(!ran.err.contains("record"), "{}", ran.err);
    assert_eq!(std::fs::read(user.path("record.json")).unwrap(), b"{ damaged", "it is not even read");
}

#[test]
fn a_run_made_again_from_its_windows_is_the_same() {
    for command in ["survey", "loaded-latency", "c2c"] {
        let user = User::new();
        user.run(&[command, "--quick", "--simulate", GUEST]).expect(0);
        let saved = user.run(&["show", "last", "--json"]).expect(0).json();
        let again = user.run(&["show", "last", "--json", "--reanalyse", "-v"]).expect(0);
        assert_eq!(again.json(), saved, "{command}");
        let report = |more: &[&str]| user.run(&[&["show", "last"], more].concat()).expect(0).out;
        assert_eq!(report(&["--reanalyse"]), report(&[]), "{command}");
    }
}

/// Two sizes, measured twice.
const TWICE: &str = r#"
name = "twice"
title = "twice"
about = "twice"
[[experiment]]
probe = "latency"
sizes = ["8M", "256M"]
[[experiment]]
probe = "latency"
sizes = ["8M", "256M"]
"#;

/// The grades of the findings of both experiments, with their reasons.
fn grades(run: &Value) -> Vec<(u64, String, Vec<String>)> {
    let experiments = run["experiments"].as_array().unwrap().iter();
    let found = experiments.flat_map(|of| of["findings"].as_array().unwrap());
    let sized = found.filter_map(|found| Some((found["labels"]["size"].as_u64()?, &found["verdict"])));
    let reasons = |verdict: &Value| {
        let all = verdict["reasons"].as_array().unwrap().iter();
        all.map(|reason| reason["reason"].as_str().unwrap().to_owned()).collect()
    };
    sized.map(|(size, v)| (size >> 20, v["grade"].as_str().unwrap().to_owned(), reasons(v))).collect()
}

#[test]
fn figures_that_mean_the_same_and_differ_are_not_trusted() {
    let user = User::new();
    std::fs::write(user.path("twice.toml"), TWICE).unwrap();
    let measure = |visitor: &[&str]| {
        let run = ["run", "twice.toml", "--simulate", GUEST, "--json=run.json", "--jsonl=lines"];
        user.run(&[&run[..], visitor].concat()).expect(0);
        document(&user.path("run.json"))
    };
    let trusted = |size| (size, "trusted".to_owned(), Vec::new());
    assert_eq!(grades(&measure(&[])), [trusted(8), trusted(256), trusted(8), trusted(256)]);
    let lines = || std::fs::read_to_string(user.path("lines")).unwrap();
    assert!(!lines().contains("revised"));
    // Memory is slower while the first experiment goes on.
    let run = measure(&["--sim-visitor=0-3.38:1.3"]);
    let shared = || (256, "shared".to_owned(), vec!["disagrees".to_owned()]);
    assert_eq!(grades(&run), [trusted(8), shared(), trusted(8), shared()]);
    let lines: Vec<Value> = lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let revised: Vec<&Value> = lines.iter().filter(|line| line["event"] == "revised").collect();
    assert_eq!(revised.len(), 2);
    assert_eq!(revised[1]["findings"], run["experiments"][1]["findings"]);
    assert_eq!(revised[1]["observations"].as_array().unwrap().len(), 1);
    assert_eq!(revised[1]["experiment"], 1);
    // Estimated again it is the same, and the report says why.
    let again = user.run(&["show", "last", "--json", "--reanalyse"]).expect(0).json();
    assert_eq!(again, user.run(&["show", "last", "--json"]).expect(0).json());
    let why = user.run(&["show", "last", "--why"]).expect(0).out;
    assert!(why.contains("Figures that mean the same differ"), "{why}");
}

#[test]
fn a_changed_estimate_is_made_right_and_named() {
    let user = User::new();
    user.run(&["latency", "--quick", "--simulate", GUEST, "--sizes=16K,64M"]).expect(0);
    let path = user.saved("json").pop().unwrap();
    let mut run = document(&path);
    let value = run["experiments"][0]["observations"][0]["value"].take();
    run["experiments"][0]["observations"][0]["value"] = 1000.0.into();
    std::fs::write(&path, run.to_string()).unwrap();
    let again = user.run(&["show", "last", "--json", "--reanalyse", "-v"]).expect(0);
    assert!(again.err.contains("1 of 2") && again.err.contains("1000 ns"), "{}", again.err);
    assert_eq!(again.json()["experiments"][0]["observations"][0]["value"], value);
}

#[test]
fn a_document_without_windows_is_shown_as_it_is() {
    let user = User::new();
    let document = include_bytes!("../../../history/tests/fixtures/run-4.json");
    std::fs::write(user.path("old.json"), document).unwrap();
    let again = user.run(&["show", "./old.json", "--reanalyse"]).expect(0);
    assert!(again.err.contains("it is shown as it was saved"), "{}", again.err);
    assert_eq!(again.out, user.run(&["show", "./old.json"]).expect(0).out);
}

#[test]
fn a_saved_document_is_shown_and_estimated_again() {
    let user = User::new();
    let document = include_bytes!("../../../history/tests/fixtures/run-4-measured.json");
    std::fs::write(user.path("run.json"), document).unwrap();
    let shown = user.run(&["show", "./run.json"]).expect(0).out;
    assert!(shown.contains("SIMULATED") && shown.contains("L1"), "{shown}");
    let again = user.run(&["show", "./run.json", "--reanalyse"]).expect(0);
    assert!(again.err.contains("numbers"), "{}", again.err);
}

#[test]
fn a_document_of_an_earlier_version_is_refused() {
    let user = User::new();
    std::fs::write(user.path("old.json"), r#"{"schema":"tiermark/run/3","id":"a"}"#).unwrap();
    let refused = user.run(&["show", "./old.json"]).expect(2);
    assert!(refused.err.contains("written by an earlier version") && refused.err.contains("measure again"));
}
