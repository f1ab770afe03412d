//! `explain`, as a user types it: a healthy machine yields no alarm, whatever its shape.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::fs;

use common::User;
use serde_json::Value;

const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";
/// Machines of several shapes: a guest, one socket, two, four nodes a socket, memory without cpus.
const SHAPES: [&str; 5] = [
    "synth:cores=2,smt=1,l3=8M,mem=4G",
    "synth:cores=8,smt=1,l2=2M,l3=16M,mem=16G",
    SERVER,
    "synth:sockets=2,nodes=4,cores=8,smt=1,llc=2,l3=8M,mem=8G",
    "synth:sockets=2,cores=4,smt=1,mem=16G,cxl=32G",
];

fn names(found: &Value, kind: &str) -> Vec<String> {
    let all = found["found"].as_array().unwrap().iter().filter(|one| one["kind"] == kind);
    all.map(|one| one["rule"].as_str().unwrap().to_owned()).collect()
}

/// Explains the run that these arguments save.
fn explained(arguments: &[&str]) -> Value {
    let user = User::new();
    user.run(&[arguments, &["-q"]].concat()).expect(0);
    user.run(&["explain", "--json"]).expect(0).json()
}

#[test]
fn a_healthy_machine_yields_no_alarm() {
    for shape in SHAPES {
        for command in [&["survey", "--quick"][..], &["matrix", "--quick"], &["scale", "--quick"]] {
            let found = explained(&[command, &["--simulate", shape]].concat());
            assert_eq!(names(&found, "problem"), [] as [&str; 0], "{command:?} {shape}: {}", found["found"]);
        }
    }
}

#[test]
fn limits_that_the_user_states_name_what_limits() {
    let ceilings = ["--sim-memory=60", "--sim-link=25"];
    let found = explained(&[&["scale", "--simulate", SERVER][..], &ceilings].concat());
    let lessons = names(&found, "lesson");
    for rule in ["limit-link", "limit-channels"] {
        assert!(lessons.iter().any(|name| name == rule), "{lessons:?}");
    }
    let stated = ["--peak=75GB/s", "--link-rate=30GB/s", "--op=latency,read"];
    let found = explained(&[&["matrix", "--simulate", SERVER][..], &ceilings, &stated].concat());
    let lessons = names(&found, "lesson");
    for rule in ["limit-link", "limit-channels"] {
        assert!(lessons.iter().any(|name| name == rule), "{lessons:?}");
    }
    assert_eq!(names(&found, "problem"), [] as [&str; 0], "{found}");
}

/// The placement experiment without counters: what rates show.
#[test]
fn the_placement_experiment_is_explained_from_its_rates() {
    let server = "synth:sockets=2,cores=10,smt=2,mem=64G";
    let found = explained(&[
        "run",
        "placement-matrix",
        "--simulate",
        server,
        "--sim-noise=0.01",
        "--sim-memory=225",
        "--sim-link=52",
    ]);
    let lessons = names(&found, "lesson");
    for rule in ["random-reads-leave-channels-idle", "partial-lines", "mixed-helps", "remote-slower"] {
        assert!(lessons.iter().any(|name| name == rule), "{rule}: {lessons:?}");
    }
    let partial = found["found"].as_array().unwrap().iter().find(|one| one["rule"] == "partial-lines").unwrap();
    assert_eq!(partial["confidence"], "measured");
    let steps = partial["numbers"][0]["steps"].as_array().unwrap();
    assert!(steps[0].as_str().unwrap().contains("random8"), "{partial}");
}

#[test]
fn the_text_is_a_screen_and_says_more_if_asked() {
    let user = User::new();
    user.run(&["survey", "--quick", "--simulate", SERVER, "-q"]).expect(0);
    let text = user.run(&["explain"]).expect(0).out;
    assert!(text.lines().count() <= 40 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("no problem found") && text.contains("lines in flight"), "{text}");
    let more = user.run(&["explain", "last", "-v"]).expect(0).out;
    assert!(more.contains("Not judged") && more.contains("source:") && more.contains("steps: bandwidth/"), "{more}");
    assert!(user.run(&["explain", "--ascii", "-v"]).expect(0).out.is_ascii());
    assert!(user.run(&["explain", "--rules"]).expect(0).out.contains("name = \"limit-link\""));
    let found = user.run(&["explain", "--json"]).expect(0).json();
    assert_eq!(found["schema"], "tiermark/explanation/1");
}

#[test]
fn a_document_with_nothing_to_explain_is_refused() {
    let user = User::new();
    user.run(&["os", "--quick", "--simulate", SERVER, "--only=getppid", "-q", "--json=run.json"]).expect(0);
    // Its machine alone still shows how it is split into nodes.
    user.run(&["explain", "run.json"]).expect(0);
    let mut run: Value = serde_json::from_str(&fs::read_to_string(user.path("run.json")).unwrap()).unwrap();
    run["machine"]["cpus"] = Value::Array(Vec::new());
    run["experiments"] = Value::Array(Vec::new());
    for key in ["thp", "numa_balancing", "governor"] {
        run["machine"]["system"][key] = Value::Null;
    }
    fs::write(user.path("empty.json"), run.to_string()).unwrap();
    let refused = user.run(&["explain", "empty.json"]).expect(4);
    assert!(refused.err.contains("no rule could be judged"), "{}", refused.err);
    assert!(User::new().run(&["explain"]).expect(2).err.contains("last"));
    assert!(user.run(&["explain", "no-such-run"]).expect(2).err.contains("no-such-run"));
}
