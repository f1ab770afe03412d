//! `tiermark rerun`: a saved run's requests, made again.

use crate::common::{User, document};
use serde_json::{Value, json};

const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";
const SERVER: &str = "synth:sockets=2,cores=4,smt=1,l3=8M,mem=4G";

/// A run on a simulated machine, saved in a file.
fn saved(user: &User, command: &[&str], machine: &str) -> Value {
    user.run(&[command, &["--simulate", machine, "--no-save", "--json=before.json"]].concat()).expect(0);
    document(&user.path("before.json"))
}

/// What was asked, and what came of it.
fn experiments(run: &Value) -> Vec<(&Value, &Value)> {
    run["experiments"].as_array().unwrap().iter().map(|e| (&e["request"], &e["findings"])).collect()
}

#[test]
fn the_same_requests_with_the_same_seed_give_the_same_numbers() {
    let user = User::new();
    let before = saved(&user, &["latency", "--quick", "--sizes=32K,64M", "--cpus=1", "--seed=7"], GUEST);
    let again = user.run(&["rerun", "before.json", "--simulate", GUEST, "--json"]).expect(0).json();
    assert_eq!(experiments(&again), experiments(&before));
    assert_eq!((&again["seed"], &again["title"]), (&json!(7), &before["title"]));
    // It was saved itself, and can be named as any run.
    let other = user.run(&["rerun", "last", "--seed=8", "--simulate", GUEST, "--json", "--no-save"]).expect(0).json();
    assert_eq!(other["experiments"][0]["request"]["seed"], 8);
    assert_eq!(other["experiments"][0]["request"]["params"], before["experiments"][0]["request"]["params"]);
}

#[test]
fn a_plan_is_measured_again_as_one() {
    let user = User::new();
    let plan = "name = 'two'\ntitle = 'two latencies'\n[[experiment]]\nprobe = 'latency'\nsizes = ['32K']\nquick = true\n\
                [[experiment]]\nprobe = 'latency'\nsizes = ['64M']\nquick = true\n";
    std::fs::write(user.path("plan.toml"), plan).unwrap();
    let before = saved(&user, &["run", "plan.toml"], GUEST);
    let again = user.run(&["rerun", "before.json", "--simulate", GUEST, "--json", "--no-save"]).expect(0).json();
    assert_eq!(again["plan"], before["plan"]);
    assert_eq!(experiments(&again), experiments(&before));
}

#[test]
fn what_this_machine_lacks_is_refused_with_the_command_to_change() {
    let user = User::new();
    saved(&user, &["latency", "--quick", "--sizes=64M", "--cpus=5"], SERVER);
    let ran = user.run(&["rerun", "before.json", "--simulate", GUEST, "--no-save"]).expect(4);
    assert!(ran.err.contains("latency --quick --sizes=64M --cpus=5"), "{}", ran.err);
    saved(&user, &["latency", "--quick", "--sizes=64M", "--mem-node=1"], SERVER);
    let ran = user.run(&["rerun", "before.json", "--simulate", GUEST, "--no-save"]).expect(4);
    assert!(ran.err.contains("--mem-node=1"), "{}", ran.err);
}

#[test]
fn a_part_that_is_refused_leaves_the_rest() {
    let user = User::new();
    let mut before = saved(&user, &["latency", "--quick", "--sizes=32K"], GUEST);
    let mut unknown = before["experiments"][0].clone();
    unknown["request"]["probe"] = json!("seek");
    before["experiments"].as_array_mut().unwrap().push(unknown);
    std::fs::write(user.path("other.json"), before.to_string()).unwrap();
    let rerun = ["rerun", "other.json", "--simulate", GUEST, "--no-save", "--json"];
    let run = user.run(&rerun).expect(5).json();
    assert_eq!(run["experiments"][1]["plan"]["refused"][0]["code"], "probe_unknown");
    assert_eq!(experiments(&run)[0], experiments(&before)[0]);
    user.run(&[&rerun[..], &["--allow-partial"]].concat()).expect(0);
    let plan = user.run(&["rerun", "other.json", "--simulate", GUEST, "--dry-run"]).expect(5);
    assert!(plan.out.contains("32 KiB"), "{}", plan.out);
}

#[test]
fn a_part_that_the_saved_machine_lacked_is_not_guessed() {
    let user = User::new();
    let plan = "name = 'far'\ntitle = 'near and far'\n[[experiment]]\nprobe = 'latency'\nsizes = ['32K']\nquick = true\n\
                [[experiment]]\nprobe = 'latency'\nmem-node = 'far'\nsizes = ['32K']\nquick = true\n";
    std::fs::write(user.path("plan.toml"), plan).unwrap();
    user.run(&["run", "plan.toml", "--simulate", GUEST, "--json=before.json"]).expect(5);
    let run = user.run(&["rerun", "before.json", "--simulate", SERVER, "--no-save", "--json"]).expect(5).json();
    assert_eq!(run["experiments"][1]["plan"]["refused"][0]["code"], "request_not_saved");
}

#[test]
fn what_is_no_run_is_refused() {
    let user = User::new();
    user.run(&["rerun", "nothing.json"]).expect(2);
    std::fs::write(user.path("other.json"), r#"{"schema": "other/1"}"#).unwrap();
    user.run(&["rerun", "other.json"]).expect(2);
}
