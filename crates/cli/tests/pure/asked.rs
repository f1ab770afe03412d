//! What an option with several values, and a command without any, mean.

use crate::common::User;

/// Two nodes of two cores.
const SERVER: &str = "synth:sockets=2,cores=2,smt=1,mem=8G";

/// What a command would measure.
fn planned(arguments: &[&str]) -> serde_json::Value {
    let common = ["--dry-run", "--json", "--simulate", SERVER];
    User::new().run(&[arguments, &common[..]].concat()).expect(0).json()
}

#[test]
fn several_pages_or_sizes_are_measured_each() {
    let scopes = |arguments: &[&str]| {
        let plans = planned(arguments);
        let page = |plan: &serde_json::Value| plan["request"]["scope"]["page"].to_string();
        plans.as_array().expect("plans").iter().map(page).collect::<Vec<_>>()
    };
    for command in ["bandwidth", "survey", "c2c"] {
        assert_eq!(scopes(&[command, "--quick", "--pages", "base,thp"]), ["\"base\"", "\"thp\""], "{command}");
    }
    // Those that compare page sizes do so within one experiment.
    let tlb = planned(&["tlb", "--quick", "--pages", "base,thp"]);
    assert_eq!(tlb[0]["request"]["params"]["pages"], serde_json::json!(["base", "thp"]), "{tlb}");
    let matrix = planned(&["matrix", "--quick", "--sizes", "64M,128M"]);
    let sizes: Vec<_> = (0..2).map(|at| matrix[at]["request"]["params"]["size"].as_u64()).collect();
    assert_eq!(sizes, [Some(64 << 20), Some(128 << 20)]);
}

#[test]
fn nodes_and_mixes_are_asked_for_alike() {
    let cpus = |arguments: &[&str]| planned(arguments)[0]["request"]["scope"]["cpus"].to_string();
    assert_eq!(cpus(&["latency", "--quick", "--cpu-node", "1"]), "\"2-3\"");
    assert_eq!(cpus(&["latency", "--quick", "--cpu-node", "0-1", "--cpus", "1-2"]), "\"1-2\"");
    User::new().run(&["latency", "--cpu-node=0", "--cpus=3", "--simulate", SERVER]).expect(4);
    let bandwidth = planned(&["bandwidth", "--quick", "--mix", "2:1,1:1", "--threads", "one", "--sizes", "64M"]);
    let steps = bandwidth[0]["plan"]["steps"].as_array().expect("steps");
    let ops: Vec<&str> = steps.iter().filter_map(|step| step["labels"]["op"].as_str()).collect();
    assert_eq!(ops, ["2:1", "1:1"]);
    let role = &steps[0]["setup"]["threads"][0]["role"];
    assert!(role.to_string().contains("copy") && role.to_string().contains("read"), "{role}");
}

#[test]
fn what_is_asked_for_alone_is_explained() {
    let user = User::new();
    let alone = user.run(&[]).expect(0).out;
    assert!(alone.contains("`tiermark survey`"), "{alone}");
    let list = user.run(&["list"]).expect(0).out;
    assert!(list.contains("kernels"), "{list}");
    let scenarios = user.run(&["capacity", "--dry-run"]).expect(0).out;
    assert!(scenarios.contains("mini") && scenarios.contains("--scenario"), "{scenarios}");
    let plans = |tree: &str| user.run(&["plan", "list", "--simulate", tree]).expect(0).out;
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let needs = "needs 2 nodes: this machine has 1";
    assert_eq!(words(plans("synth:cores=2,mem=8G,sockets=1")).matches(needs).count(), 1);
    assert!(!words(plans(SERVER)).contains("needs"));
}
