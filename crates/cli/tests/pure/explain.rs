//! `explain`, as a user types it: a healthy machine yields no alarm, whatever its shape.

use std::fs;

use crate::common::User;
use serde_json::Value;

const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";
/// A machine whose latencies a whole survey trusts.
const SURVEYED: &str = "synth:sockets=2,cores=8,smt=1,l3=8M,mem=16G";
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
        // A survey of several nodes has a matrix; the other probes need two shapes only.
        let others =
            if [SHAPES[1], SHAPES[4]].contains(&shape) { &["matrix", "scale", "loaded-latency"][..] } else { &[] };
        for command in ["survey"].iter().chain(others) {
            let found = explained(&[command, "--quick", "--simulate", shape]);
            assert_eq!(names(&found, "problem"), [] as [&str; 0], "{command} {shape}: {}", found["found"]);
        }
    }
}

#[test]
fn one_node_is_not_told_to_measure_remote_memory() {
    let found = explained(&["survey", "--quick", "--simulate", SHAPES[1]]);
    let unjudged = found["unjudged"].as_array().unwrap();
    for rule in ["limit-link", "mixed-helps", "remote-slower"] {
        let own = unjudged.iter().find(|one| one["rule"] == rule).unwrap();
        assert!(own["command"].is_null() && own["why"]["code"] == "needs_two_nodes", "{own}");
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
    // Places have the nodes of cpus and memory.
    assert!(text.lines().count() <= 46 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("no problem found") && text.contains("lines in flight"), "{text}");
    let more = user.run(&["explain", "last", "-v"]).expect(0).out;
    assert!(more.contains("Not judged") && more.contains("source:") && more.contains("steps: bandwidth/"), "{more}");
    assert!(user.run(&["explain", "--ascii", "-v"]).expect(0).out.is_ascii());
    let rules = user.run(&["explain", "--rules"]).expect(0).out;
    assert!(rules.lines().all(|line| line.chars().count() <= 80), "{rules}");
    assert!(rules.contains("\n  limit-link\n") && rules.contains("link.share >= 0.79"), "{rules}");
    assert!(user.run(&["explain", "--rules", "--ascii"]).expect(0).out.is_ascii());
    let rules = user.run(&["explain", "--rules", "--json"]).expect(0).json();
    assert_eq!(rules["schema"], "tiermark/explain-rules/1");
    let found = user.run(&["explain", "--json"]).expect(0).json();
    assert_eq!(found["schema"], "tiermark/explanation/1");
}

/// Rules whose numbers simulated machines do not have: they have no counters.
fn simulated_rules() -> Vec<Value> {
    let rules = User::new().run(&["explain", "--rules", "--json"]).expect(0).json();
    let all = rules["rules"].as_array().unwrap().iter();
    all.filter(|rule| rule["needs_counters"] == false && rule["command"].is_string()).cloned().collect()
}

/// The command that an unjudged rule names exists, and its run lets the rule be judged.
#[test]
fn the_command_that_a_rule_names_lets_it_be_judged() {
    let user = User::new();
    // A run of nothing that rules are about: all name their commands.
    user.run(&["os", "--quick", "--simulate", SERVER, "--only=getppid", "-q"]).expect(0);
    let found = user.run(&["explain", "--json"]).expect(0).json();
    let unjudged = found["unjudged"].as_array().unwrap();
    let mut commands: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for rule in simulated_rules() {
        let name = rule["name"].as_str().unwrap();
        // Another alternative may have been judged.
        let Some(one) = unjudged.iter().find(|one| one["rule"] == name) else { continue };
        let command = one["command"].as_str().unwrap_or_else(|| panic!("{one}"));
        let named = commands.entry(command.to_owned()).or_default();
        if !named.iter().any(|known| known == name) {
            named.push(name.to_owned());
        }
    }
    assert!(commands.len() >= 6, "{commands:?}");
    for (command, rules) in commands {
        let stated = command.replace("--peak RATE", "--peak=75GB/s").replace("--link-rate RATE", "--link-rate=30GB/s");
        let words: Vec<&str> = stated.split(' ').skip(1).collect();
        let user = User::new();
        let ceilings = ["--simulate", SURVEYED, "--sim-memory=60", "--sim-link=25", "-q"];
        user.run(&[&words[..], &ceilings].concat()).expect(0);
        let found = user.run(&["explain", "--json"]).expect(0).json();
        for rule in rules {
            let why = found["unjudged"].as_array().unwrap().iter().find(|one| one["rule"] == *rule);
            assert!(why.is_none(), "{command} lets {rule} not be judged: {}", why.unwrap());
        }
    }
}

/// Every bandwidth has a limiter that is named, or is listed as one of unknown limiter; no cell has two lessons on
/// memory of two nodes, and no command is named that would measure the same again.
#[test]
fn a_counted_matrix_leaves_no_bandwidth_without_a_limiter() {
    let user = User::new();
    let counted = ["matrix", "--simulate=synth:sockets=2,cores=4,mem=8G", "--sim-counters=2", "--mixed=50", "-q"];
    user.run(&[&counted[..], &["--op=read,write.cached,write.nt"]].concat()).expect(0);
    let found = user.run(&["explain", "--json"]).expect(0).json();
    assert_eq!(names(&found, "problem"), [] as [&str; 0], "{found}");
    let all = found["found"].as_array().unwrap();
    let limits = all.iter().filter(|one| one["rule"].as_str().unwrap().starts_with("limit-"));
    let places: u64 = limits.map(|one| 1 + one["others"].as_u64().unwrap()).sum();
    assert_eq!(places, 18, "{found}");
    let mixed: Vec<&Value> = all.iter().filter(|one| one["rule"].as_str().unwrap().starts_with("mixed-")).collect();
    assert_eq!(mixed.len(), 1, "{mixed:?}");
    for one in found["unjudged"].as_array().unwrap() {
        if ["link-down", "link-slow"].contains(&one["rule"].as_str().unwrap()) {
            assert!(one["command"].is_null() && one["why"]["code"] == "boxes_few", "{one}");
        }
    }
    let text = user.run(&["explain", "-v"]).expect(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 byte read from memory") && text.contains("(compared: local memory)"), "{text}");
}

/// Few rules judged are no health: the screen says how many, and what would let more be judged.
#[test]
fn a_run_that_lets_few_rules_be_judged_does_not_sound_healthy() {
    let user = User::new();
    user.run(&["os", "--quick", "--simulate", SERVER, "--only=getppid", "-q"]).expect(0);
    let text = user.run(&["explain"]).expect(0).out;
    let found = user.run(&["explain", "--json"]).expect(0).json();
    let count = |key: &str| found[key].as_array().unwrap().len();
    let (judged, all) = (count("found") + count("clear"), count("found") + count("clear") + count("unjudged"));
    assert!(2 * judged < all, "{found}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("no problem found by the {judged} of {all} rules")), "{text}");
    assert!(text.contains("to judge more: `tiermark "), "{text}");
}

#[test]
fn a_document_with_nothing_to_explain_is_refused() {
    let user = User::new();
    user.run(&["os", "--quick", "--simulate", SERVER, "--only=getppid", "-q", "--json=run.json"]).expect(0);
    // Its machine alone still shows how it is split into nodes.
    user.run(&["explain", "run.json"]).expect(0);
    let mut run: Value = serde_json::from_str(&fs::read_to_string(user.path("run.json")).unwrap()).unwrap();
    for key in ["cpus", "nodes"] {
        run["machine"][key] = Value::Array(Vec::new());
    }
    run["experiments"] = Value::Array(Vec::new());
    for key in ["thp", "numa_balancing", "governor", "memory_bytes"] {
        run["machine"]["system"][key] = Value::Null;
    }
    fs::write(user.path("empty.json"), run.to_string()).unwrap();
    let refused = user.run(&["explain", "empty.json"]).expect(4);
    assert!(refused.err.contains("no rule could be judged"), "{}", refused.err);
    assert!(User::new().run(&["explain"]).expect(2).err.contains("last"));
    assert!(user.run(&["explain", "no-such-run"]).expect(2).err.contains("no-such-run"));
}

#[test]
fn a_rule_is_shown_by_its_name_and_other_words_are_refused() {
    let user = User::new();
    let one = user.run(&["explain", "--rules", "limit-link", "--json"]).expect(0).json();
    let all = user.run(&["explain", "--rules", "--json"]).expect(0).json();
    let of = |found: &Value| -> Vec<String> {
        found["rules"].as_array().unwrap().iter().map(|rule| rule["name"].as_str().unwrap().to_owned()).collect()
    };
    let alternatives = of(&all).iter().filter(|name| *name == "limit-link").count();
    assert!(alternatives >= 1 && of(&one) == vec!["limit-link"; alternatives], "{one}");
    let text = user.run(&["explain", "--rules", "limit-link"]).expect(0).out;
    assert!(text.contains("limit-link") && !text.contains("missing-channels"), "{text}");
    let unknown = user.run(&["explain", "--rules", "limit-lnik"]).expect(2).err;
    assert!(unknown.contains("did you mean 'limit-link'?") && unknown.contains("explain --rules"), "{unknown}");
    assert!(user.run(&["explain", "--rules", "run.json"]).expect(2).err.contains("tiermark explain RUN"));
    // A run has no effect on the rules.
    let beside = user.run(&["explain", "run.json", "--rules"]).expect(2).err;
    assert!(beside.contains("--rules") && beside.contains("[RUN]"), "{beside}");
}
