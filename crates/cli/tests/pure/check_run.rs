//! `check --run`: a survey and its judgement with one exit code, also beside other work.

use std::fs;

use crate::common::User;

const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";

/// Writes a file of one expectation.
fn expecting(user: &User, that: &str) {
    fs::write(user.path("one.toml"), format!("[[expect]]\nthat = '{that}'\n")).unwrap();
}

#[test]
fn one_command_measures_and_judges() {
    let user = User::new();
    // The simulated server has no table of modules: its memory is not judged.
    let found = user.run(&["check", "--run", "--simulate", SERVER, "--json", "--", "--quick", "-q"]).expect(5).json();
    assert_eq!((&found["run"]["title"], &found["expectations"]), (&"survey".into(), &"auto".into()));
    // The run is saved: the same judgement follows from it.
    let again = user.run(&["check", "--json"]).expect(5).json();
    assert_eq!(again["results"], found["results"]);
    assert_eq!(again["run"]["id"], found["run"]["id"]);
    // The report of the survey is not printed beside the judgement.
    let text = user.run(&["check", "--run", "--simulate", SERVER, "--", "--quick", "-q"]).expect(5).out;
    assert!(text.contains("0 failed") && !text.contains("one core, GB/s"), "{text}");
    // As any option of the survey, the machine may stand behind `--`.
    let behind = ["check", "--run", "--json", "--", "--quick", "-q", "--simulate", SERVER];
    let found: serde_json::Value = serde_json::from_str(&user.run(&behind).expect(5).out).unwrap();
    assert_eq!(found["run"]["simulated"], true, "{found}");
    expecting(&user, "latency.dram <= 1 ns");
    user.run(&["check", "--run", "--expect", "one.toml", "--simulate", SERVER, "--", "--quick", "-q"]).expect(3);
}

/// A survey that lacks figures ends with 5: the judgement of what it has is not lost.
#[test]
fn a_survey_that_lacks_figures_is_judged_by_those_that_it_has() {
    let user = User::new();
    let machine = ["--simulate", SERVER];
    let survey = ["--quick", "-q", "--max-mem", "20M"];
    user.run(&[&["survey"], &machine[..], &survey].concat()).expect(5);
    let check = [&["check", "--run", "--expect", "one.toml"], &machine[..], &["--"], &survey].concat();
    expecting(&user, "latency.l1 <= 50 ns");
    let passed = user.run(&check).expect(0);
    assert!(!passed.err.contains("missing"), "{}", passed.err);
    expecting(&user, "latency.l1 <= 0.1 ns");
    user.run(&check).expect(3);
    expecting(&user, "memory.total >= 1 TiB");
    user.run(&check).expect(3);
}

/// Time slices that others take are no part of a figure: what is judged beside other work is the machine. A test of the
/// record has the refusal on a machine that is really busy.
#[test]
fn on_a_busy_machine_figures_are_judged_as_on_any() {
    let user = User::new();
    let machine = ["--simulate", SERVER, "--sim-busy", "20000"];
    let check = [&["check", "--run", "--expect", "one.toml"], &machine[..], &["--", "--quick", "-q"]].concat();
    expecting(&user, "latency.l1 <= 1000 us");
    user.run(&check).expect(0);
    expecting(&user, "latency.l1 <= 1 ns");
    user.run(&check).expect(3);
}

#[test]
fn what_the_survey_refuses_is_the_exit_code() {
    let user = User::new();
    let refused = ["check", "--run", "--simulate", SERVER, "--", "--mem-node", "7"];
    assert!(user.run(&refused).expect(4).err.contains("node 7"));
    let wrong = user.run(&["check", "--run", "--simulate", SERVER, "--", "--no-such-option"]).expect(2).err;
    assert!(wrong.contains("behind --") && wrong.contains("--no-such-option"), "{wrong}");
    assert!(user.run(&["check", "last", "--run"]).expect(2).err.contains("--run"));
    // A saved run has a machine of its own.
    assert!(
        user.run(&["check", "last", "--simulate", SERVER]).expect(2).err.contains("measure that machine with --run")
    );
    assert!(user.run(&["check", "--", "--quick"]).expect(2).err.contains("--run"));
    // The judgement alone is printed, of a run that was measured.
    for other in ["--dry-run", "--json", "--json=-", "--jsonl", "--html=-", "--format=csv", "--help"] {
        let said = user.run(&["check", "--run", "--simulate", SERVER, "--", "--quick", "-q", other]).expect(2);
        assert!(said.out.is_empty() && said.err.contains("tiermark survey"), "{other}: {}{}", said.out, said.err);
    }
    // A mistake in the expectations is found before a minute is measured.
    expecting(&user, "latency.drm <= 1 ns");
    user.run(&["check", "--run", "--expect", "one.toml", "--simulate", SERVER]).expect(2);
}

#[test]
fn facts_alone_are_no_pass_where_figures_are_expected() {
    let user = User::new();
    let run = ["latency", "--quick", "--sizes=32K", "--simulate", SERVER, "-q"];
    user.run(&run).expect(0);
    let rules = "[[expect]]\nthat = 'memory.total >= 1 GiB'\n[[expect]]\nthat = 'read.dram.all >= 1 GB/s'\n";
    fs::write(user.path("two.toml"), rules).unwrap();
    let lacking = user.run(&["check", "--expect", "two.toml"]).expect(5);
    assert!(
        lacking.err.contains("no bandwidth of memory was judged: read.dram.all was not measured"),
        "{}",
        lacking.err
    );
    // Who expects facts only gets a judgement of facts.
    expecting(&user, "memory.total >= 1 GiB");
    user.run(&["check", "--expect", "one.toml"]).expect(0);
    expecting(&user, "kernel == \"0.0.1\"");
    let other = user.run(&["check", "--expect", "one.toml"]).expect(3).out;
    assert!(other.contains("it is \""), "{other}");
}
