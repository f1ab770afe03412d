//! `watch --active`: on simulated machines with exact numbers, and once on this one.

use crate::common::User;
use serde_json::Value;

/// A guest of four cpus; a neighbour comes at second 60 and leaves at second 90, and memory takes twice as long
/// meanwhile.
const GUEST: [&str; 5] =
    ["watch", "--active", "--simulate=synth:cores=4", "--sim-noise=0.002", "--sim-visitor=60-90:2"];

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn number(sample: &Value, pointer: &str) -> f64 {
    sample.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} in {sample}"))
}

#[test]
fn a_neighbour_is_seen() {
    let user = User::new();
    let ran = user.run(&[&GUEST[..], &["--samples=120", "--json", "--record=r.jsonl"]].concat()).expect(0);
    let samples = lines(&ran.out);
    let dram = |second: usize| number(&samples[second], "/active/dram/latency/now");
    let capability = number(&samples[119], "/active/dram/latency/capability");
    for (second, factor) in [(59, 1.0), (65, 2.0), (85, 2.0), (100, 1.0)] {
        assert!((dram(second) / capability / factor - 1.0).abs() < 0.05, "{second}: {} of {capability}", dram(second));
    }
    // The first level is the core's own.
    let l1 = |second: usize| number(&samples[second], "/active/l1/latency/now");
    assert!((l1(75) / l1(50) - 1.0).abs() < 0.05);
    // While the neighbour is there, the shared cache loses half of the lines in 2 ms; else nothing is lost.
    assert!(number(&samples[58], "/active/l3/kept/now") > 0.95, "{}", samples[58]);
    // A private cache still has a quarter of the range.
    assert!(number(&samples[85], "/active/l3/kept/now") < 0.2, "{}", samples[85]);
    let lasts = number(&samples[88], "/active/l3/lasts/now");
    assert!((1.5e-3..2.7e-3).contains(&lasts), "{lasts}");
    // The budget is kept.
    let costs: f64 = samples.iter().filter_map(|sample| sample["active"]["cost_share"].as_f64()).sum();
    assert!(costs / 119.0 <= 0.0101, "{costs}");
    assert!(
        samples.iter().all(|sample| sample["active"]["dram"]["latency"]["record"].is_null()),
        "simulated machines have no record"
    );
    // The recording shows the same.
    assert_eq!(user.run(&["watch", "--replay=r.jsonl", "--json"]).expect(0).out, ran.out);
}

#[test]
fn a_small_budget_is_kept_by_fewer_visits() {
    let user = User::new();
    let run = |budget: &str| {
        let out = user.run(&[&GUEST[..3], &["--samples=100", "--json", "--budget", budget]].concat()).expect(0).out;
        let samples = lines(&out);
        let sum = |pointer: &str| samples.iter().filter_map(|sample| sample.pointer(pointer)?.as_f64()).sum::<f64>();
        (sum("/active/visits"), sum("/active/cost_share") / 99.0)
    };
    let (few, little) = run("0.2%");
    let (many, much) = run("2%");
    assert!(few > 50.0 && few < many / 2.0, "{few} {many}");
    assert!(little <= 0.00202 && much <= 0.0202, "{little} {much}");
    for wrong in ["0", "0.01%", "50", "much"] {
        user.run(&["watch", "--active", "--budget", wrong]).expect(2);
    }
    user.run(&["watch", "--budget=1"]).expect(2);
    user.run(&["watch", "--active", "--replay=r.jsonl"]).expect(2);
}

#[test]
fn lines_of_a_simulated_guest() {
    let user = User::new();
    let text = user.run(&[&GUEST[..], &["--samples=30", "--text"]].concat()).expect(0).out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let shown: Vec<&str> = text.lines().enumerate().filter(|(at, _)| at % 10 <= 1).map(|(_, line)| line).collect();
    insta::assert_snapshot!(shown.join("\n"));
    let csv = user.run(&[&GUEST[..], &["--samples=2", "--csv"]].concat()).expect(0).out;
    assert!(csv.lines().next().unwrap().contains("active.dram.latency.capability,active.dram.latency.now"), "{csv}");
}

#[test]
fn this_machine_gives_something() {
    let user = User::new();
    let out = user.run(&["watch", "--active", "--interval=0.2", "--samples=4", "--json", "--budget=20"]).expect(0).out;
    let mut samples = lines(&out);
    // On a busy machine a visit may find no undisturbed window: some cell of some sample has a number.
    let cells = ["l1/latency", "l1/bandwidth", "l2/latency", "l3/latency", "dram/latency", "dram/bandwidth"];
    let now = |sample: &Value, cell: &str| sample.pointer(&format!("/active/{cell}/now")).and_then(Value::as_f64);
    let given = |sample: &Value| cells.iter().any(|cell| now(sample, cell).is_some_and(|now| now > 0.0));
    assert!(samples.iter().any(given), "{out}");
    let last = samples.pop().unwrap();
    assert!(number(&last, "/active/visits") >= 0.0, "{last}");
    assert!(number(&last, "/active/memory_bytes") > 0.0);
    // Some guests hide their caches.
    let l2 = last.pointer("/active/l2/latency_bytes").and_then(Value::as_f64);
    assert!(l2.is_none_or(|l2| number(&last, "/active/l1/latency_bytes") < l2));
}

#[test]
fn what_is_not_known_yet_is_said_once_with_what_to_run() {
    let user = User::new();
    let ran = user.run(&["watch", "--active", "--interval=0.1", "--samples=2", "--text"]).expect(0);
    let said = |part: &str| ran.err.lines().filter(|line| line.contains(part)).count();
    assert_eq!((said("capabilities are not known yet"), said("run `tiermark latency --sizes ")), (1, 1), "{}", ran.err);
    // A simulated machine has no saved runs.
    let ran = user.run(&[&GUEST[..3], &["--samples=1", "--json"]].concat()).expect(0);
    assert!(!ran.err.contains("no saved run"), "{}", ran.err);
    let first = &lines(&ran.out)[0]["active"];
    for list in ["without_capability", "without_record"] {
        assert!(first[list].as_array().unwrap().contains(&"latency.dram".into()), "{first}");
    }
}

#[test]
fn an_interval_whose_samples_use_the_budget_is_said_once() {
    let user = User::new();
    // To read the system takes more than the 0.1 ms of such an interval.
    let watch = ["watch", "--active", "--interval=0.1", "--budget=0.1", "--samples=20", "--json"];
    let ran = user.run(&watch).expect(0);
    let said: Vec<&str> = ran.err.lines().filter(|line| line.contains("reading the system every 0.1 s")).collect();
    assert!(said.len() == 1 && said[0].contains("use --interval "), "{}", ran.err);
    let last = lines(&ran.out).pop().unwrap();
    assert!(number(&last, "/active/interval_needed_seconds") > 0.1, "{last}");
}
