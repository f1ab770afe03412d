//! Exit codes of runs that lack something which was planned.

use serde_json::Value;

use crate::common::{Ran, User, document};

const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";

/// Runs a command of a simulated guest, in so little time that it cannot measure all. With its document.
fn short(command: &str, more: &[&str]) -> (Ran, Value) {
    let user = User::new();
    let words: Vec<&str> = command.split(' ').collect();
    let ran = user.run(&[&words[..], &["--simulate", GUEST, "--no-save", "--json=run.json"], more].concat());
    let run = document(&user.path("run.json"));
    (ran, run)
}

/// Steps without a number.
fn without_number(run: &Value) -> usize {
    let seen = run["experiments"].as_array().unwrap().iter().flat_map(|e| e["observations"].as_array().unwrap());
    seen.filter(|seen| seen["value"].is_null()).count()
}

#[test]
fn planned_numbers_that_are_missing_end_every_command_with_5() {
    for command in [
        "survey --quick --max-time=0.2",
        "survey --max-time=1",
        "latency --max-time=0.05",
        "latency --sizes=16K,1M,64M --max-time=0.05",
        "bandwidth --max-time=1",
        "matrix --max-time=0.05",
        "loaded-latency --max-time=3",
        "scale --max-time=0.05",
        "c2c --max-time=0.01",
        "scan --max-time=0.5",
        "residency --max-time=0.02",
        "geometry --quick --max-time=2",
        "tlb --max-time=2",
        "mlp --max-time=0.5",
        "granularity --max-time=0.05",
        "loaded-latency --neighbour --max-time=0.2",
        "os --max-time=2",
    ] {
        let (ran, run) = short(command, &[]);
        assert_eq!(ran.code, Some(5), "{command}: {}\n{}", ran.out, ran.err);
        assert_eq!((run["complete"].as_bool(), run["stopped"].is_null()), (Some(false), true), "{command}");
        let is_said = ran.err.contains("missing: exit code 5") && ran.out.contains("INCOMPLETE");
        assert!(is_said, "{command}: {}\n{}", ran.out, ran.err);
        let refused = run["experiments"][0]["plan"]["refused"].as_array().unwrap().len();
        assert!(without_number(&run) + refused > 0, "{command}");
    }
    for command in ["survey --quick --max-time=0.2", "os --max-time=2"] {
        assert_eq!(short(command, &["--allow-partial"]).0.code, Some(0), "{command}");
    }
}

#[test]
fn a_survey_without_its_figures_says_so_in_its_result() {
    let (ran, _) = short("survey --quick --max-time=0.2", &[]);
    let result = ran.out.split("RESULT").nth(1).unwrap_or_default();
    let said = ["figures not measured", "figure not measured", "no figure was measured"];
    assert!(said.iter().any(|said| result.lines().next().unwrap_or_default().contains(said)), "{}", ran.out);
}

#[test]
fn points_that_only_make_a_curve_denser_are_not_missed() {
    let (ran, run) = short("latency --max-time=0.9", &[]);
    assert_eq!((ran.code, run["complete"].as_bool()), (Some(0), Some(true)), "{}", ran.err);
    assert!(without_number(&run) > 0 && run["experiments"][0]["plan"]["added"].as_u64() > Some(0));
}
