//! `check`, as a user types it, and the counters that every run reads.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::fs;
use std::path::Path;

use common::User;
use serde_json::Value;
use tiermark_machine::synth::Synth;

const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";

/// A user with a saved survey of a simulated server.
fn surveyed() -> User {
    let user = User::new();
    user.run(&["survey", "--quick", "--simulate", SERVER, "-q"]).expect(0);
    user
}

/// Judges the last run by one expectation: the exit code and the result.
fn judged(user: &User, that: &str, code: i32) -> Value {
    fs::write(user.path("one.toml"), format!("[[expect]]\nthat = \"{that}\"\nwhy = \"a reason\"\n")).unwrap();
    let found = user.run(&["check", "last", "--expect", "one.toml", "--json"]).expect(code).json();
    assert_eq!(found["schema"], "tiermark/check/1");
    found["results"][0].clone()
}

#[test]
fn a_run_is_judged_by_rules_of_thumb() {
    let user = surveyed();
    let found = user.run(&["check", "last", "--expect", "auto", "--json"]).expect(0).json();
    let outcome = |that: &str| {
        let results = found["results"].as_array().unwrap();
        let one = results.iter().find(|result| result["that"].as_str().unwrap().starts_with(that)).unwrap();
        one["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome("latency.dram.remote / latency.dram.local"), "passed");
    assert_eq!(outcome("pages.huge"), "passed");
    assert_eq!([outcome("read.dram.all"), outcome("edac.corrected")], ["unjudged", "unjudged"]);
    let text = user.run(&["check"]).expect(0).out;
    assert!(text.contains("expectations not judged; 0 failed, "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Who accepts a server wants all of them judged.
    user.run(&["check", "--strict"]).expect(5);
    let told = user.run(&["check", "server.toml"]).expect(2).err;
    assert!(told.contains("--expect server.toml"), "{told}");
    assert!(user.run(&["check", "--ascii"]).expect(0).out.is_ascii());
    // What the program prints as its rules is a file that it takes.
    fs::write(user.path("rules.toml"), user.run(&["check", "--rules"]).expect(0).out).unwrap();
    let own = user.run(&["check", "--expect", "rules.toml", "--json"]).expect(0).json();
    assert_eq!(own["results"], found["results"]);
}

#[test]
fn exit_codes_say_passed_failed_or_nothing_judged() {
    let user = surveyed();
    assert_eq!(judged(&user, "latency.dram.local <= 120 ns", 0)["outcome"], "passed");
    let failed = judged(&user, "latency.dram.remote <= 120 ns", 3);
    assert_eq!((&failed["outcome"], &failed["why"]), (&"failed".into(), &"a reason".into()));
    assert_eq!(failed["worst"]["place"], "cpus of node 0, memory of node 1");
    assert_eq!(judged(&user, "read.dram.all >= 150 GB/s", 0)["worst"]["place"], "nodes 0-1");
    let unknown = judged(&user, "triad.dram.all >= 1 GB/s", 4);
    assert_eq!(unknown["reasons"][0]["code"], "figure_not_measured");
    let said = user.run(&["check", "--expect", "one.toml"]).expect(4);
    assert!(said.out.contains("bandwidth --op triad") && said.err.contains("no expectation"), "{}", said.out);
}

#[test]
fn mistakes_have_line_character_and_suggestion() {
    let user = surveyed();
    fs::write(user.path("bad.toml"), "[[expect]]\nthat = \"read.drm.all >= 1 GB/s\"\n\n[[expect]]\nwy = 1\n").unwrap();
    let said = user.run(&["check", "--expect", "bad.toml"]).expect(2).err;
    for part in [
        "line 2: expect 1.that: character 1: unknown name 'read.drm.all'",
        "did you mean 'read.dram.all'?",
        "expect 2.wy",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = user.run(&["check", "--expect", "nowhere.toml"]).expect(2).err;
    assert!(said.contains("--expect 'nowhere.toml'") && said.contains("auto"), "{said}");
    user.run(&["check", "no-such-run"]).expect(2);
    assert!(User::new().run(&["check"]).expect(2).err.contains("last"));
    let list = user.run(&["check", "--list"]).expect(0).out;
    for name in ["latency.l1", "read.dram.remote.one", "edac.corrected.boot"] {
        assert!(list.contains(name), "{list}");
    }
}

/// A simulated machine in a directory, with a memory controller and a counter of throttling.
fn tree(directory: &Path, corrected: &str, throttled: &str) {
    let mut files = Synth::default().files();
    files.insert("sys/devices/system/edac/mc/mc0/ce_count".to_owned(), format!("{corrected}\n"));
    files.insert("sys/devices/system/edac/mc/mc0/ue_count".to_owned(), "0\n".to_owned());
    files.insert(
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count".to_owned(),
        format!("{throttled}\n"),
    );
    for (path, text) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn counters_are_in_the_document_where_the_system_has_them() {
    let user = User::new();
    let directory = user.path("machine");
    tree(&directory, "7", "2");
    let simulated = directory.display().to_string();
    let arguments = ["latency", "--quick", "--sizes=32K", "--simulate", &simulated, "--json", "-q"];
    let run = user.run(&arguments).expect(0).json();
    assert_eq!(run["health"]["memory"][0]["corrected"], serde_json::json!({ "before": 7, "after": 7, "grew": 0 }));
    assert_eq!(run["health"]["throttling"][0]["cores"]["before"], 2);
    assert_eq!(run["health"]["throttling"][0]["whole"], Value::Null);
    assert!(run["warnings"].as_array().unwrap().iter().all(|warning| warning["code"] != "corrected_errors_grew"));
    assert_eq!(judged(&user, "edac.corrected <= 0", 0)["outcome"], "passed");
    let since_boot = judged(&user, "edac.corrected.boot <= 0", 3);
    assert_eq!(since_boot["worst"]["place"], "mc0");
    // `doctor` reads the same counters.
    let checks = user.run(&["doctor", "--root", &simulated, "--json"]);
    let checks = checks.json()["checks"].as_array().unwrap().clone();
    let health = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap()["health"].clone();
    assert_eq!((health("memory errors"), health("thermal throttling")), ("note".into(), "note".into()));
    // A machine without such counters has none in its documents.
    let none = user.run(&["latency", "--quick", "--sizes=32K", "--simulate", SERVER, "--json", "-q"]).expect(0).json();
    assert_eq!(none["health"], Value::Null);
}
