//! What reports show: plans part by part, the reader's units and signs, counts that fit the tables.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use common::{User, stable};

/// A small guest: one socket, two cores.
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";

/// A plan whose experiments differ in what is no column of any table.
const TWICE: &str = r#"
name = "twice"
title = "the same, twice"
about = """
Nothing is like the original.

Look for: two rows.
"""

[[experiment]]
probe = "latency"
note = "from the first cpu"
cpus = "0"
sizes = ["32K", "64M"]
quick = true

[[experiment]]
probe = "latency"
note = "from the second"
cpus = "1"
sizes = ["32K", "64M"]
quick = true

[[experiment]]
probe = "c2c"
quick = true

[[experiment]]
probe = "c2c"
quick = true
page = "base"
"#;

/// The report of a plan of one's own.
fn planned(plan: &str, more: &[&str]) -> (User, String) {
    let user = User::new();
    std::fs::write(user.path("plan.toml"), plan).unwrap();
    let out = user.run(&[&["run", "plan.toml", "--simulate", GUEST], more].concat()).expect(0).out;
    (user, stable(&out))
}

#[test]
fn experiments_of_one_probe_are_told_apart() {
    let (user, out) = planned(TWICE, &["--ascii"]);
    insta::assert_snapshot!("plan_twice", out);
    let at = |what: &str| out.find(what).unwrap_or_else(|| panic!("'{what}' is missing:\n{out}"));
    let places = [
        at("the same, twice"),
        at("Look for: two rows."),
        at("1 of 4: latency --cpus 0"),
        at("from the first cpu"),
        at("2 of 4: latency --cpus 1"),
        at("from the second"),
        at("3 of 4: c2c"),
        at("4 of 4: c2c --page base"),
        at("numbers trusted"),
    ];
    assert!(places.is_sorted(), "{out}");
    assert!(!out.contains("the original"), "the whole page is for --verbose");
    assert_eq!(out.matches("64 MiB").count(), 2, "{out}");
    // Each part's drift stands with it.
    assert_eq!(out.matches("Drift: first step measured again last, ").count(), 4, "{out}");
    let again = user.run(&["show", "last", "--ascii"]).expect(0).out;
    assert_eq!(stable(&again), out);
    let whole = user.run(&["show", "last", "-v"]).expect(0).out;
    assert!(whole.contains("Nothing is like the original."), "{whole}");
}

#[test]
fn latency_and_bandwidth_of_one_place_are_one_ladder() {
    let out = User::new().run(&["run", "quick", "--simulate", GUEST, "--no-save"]).expect(0).out;
    assert_eq!(out.matches("The ladder").count(), 1, "{out}");
    assert!(!out.contains("1 of "), "{out}");
}

#[test]
fn what_a_plan_cannot_measure_stands_with_its_experiment() {
    let out =
        User::new().run(&["run", "numa-latency", "--simulate", GUEST, "--no-save", "--allow-partial"]).expect(0).out;
    let (second, missing) = (out.find("2 of 2: latency").unwrap(), out.find("Not measured").unwrap());
    assert!(second < missing && missing < out.find("numbers trusted").unwrap(), "{out}");
}
