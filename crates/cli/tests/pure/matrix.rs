//! `tiermark matrix` on simulated machines.

use crate::common::{User, stable};
use tiermark_model::testing;

/// Two sockets of four cores.
const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";
/// The same with a node of CXL memory.
const EXPANDED: &str = "synth:sockets=2,cores=4,smt=1,mem=16G,cxl=32G";
/// Two sockets of four nodes with four caches each.
const MANY: &str = "synth:sockets=2,nodes=4,cores=8,smt=1,llc=2,l3=8M,mem=8G";

#[cfg(target_arch = "x86_64")]
#[test]
fn reports_are_exact() {
    let report = |tree: &str, more: &[&str]| {
        stable(&User::new().run(&[&["matrix", "--simulate", tree, "--no-save"], more].concat()).expect(0).out)
    };
    insta::assert_snapshot!("matrix_server", report(SERVER, &["--op", "latency,read,write,2:1"]));
    let weighted = ["--quick", "--policy", "bind,weighted", "--cpu-node", "0", "--op", "latency,read", "--ascii"];
    insta::assert_snapshot!("matrix_expanded_weighted_ascii", report(EXPANDED, &weighted));
    let plan = User::new().run(&["matrix", "--simulate", MANY, "--dry-run"]).expect(0).out;
    insta::assert_snapshot!("matrix_many_plan", plan);
}

#[test]
fn many_nodes_fit_eighty_columns() {
    // Cells that the time leaves out are as wide as others.
    let many = ["matrix", "--quick", "--simulate", MANY, "--no-save", "--max-time=8", "--allow-partial"];
    for from in ["node", "llc"] {
        let ran = User::new().run(&[&many[..], &["--from", from]].concat()).expect(0);
        let (body, _) = ran.out.rsplit_once("\nclock ").unwrap();
        assert!(body.lines().all(|line| line.chars().count() <= 80), "{body}");
        for node in 0..8 {
            assert!(body.contains(&format!("node {node}")), "{body}");
        }
    }
}

#[test]
fn every_table_fits_eighty_columns() {
    let wide = [
        "--quick",
        "--op",
        "latency,write.cached,read.random8,2:1.nt",
        "--mixed",
        "25,75",
        "--weighted-interleave",
        "sweep",
    ];
    let ran = User::new().run(&[&["matrix", "--simulate", EXPANDED, "--no-save"], &wide[..]].concat()).expect(0);
    let (body, _) = ran.out.rsplit_once("\nclock ").unwrap();
    let long: Vec<&str> = body.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}\n{body}");
    // And the mixed one in one piece.
    assert_eq!(body.matches("of local\n").count(), 1, "{body}");
}

#[test]
fn a_policy_named_by_its_option_joins_the_matrix() {
    let user = User::new();
    let plan = |more: &[&str]| {
        let plan = user
            .run(&[&["matrix", "--simulate", SERVER, "--dry-run", "--json", "--op", "read"], more].concat())
            .expect(0)
            .json();
        let steps = plan[0]["plan"]["steps"].as_array().unwrap().clone();
        let mut policies: Vec<String> =
            steps.iter().map(|s| s["labels"]["policy"].as_str().unwrap_or("bind").to_owned()).collect();
        policies.sort();
        policies.dedup();
        policies
    };
    assert_eq!(plan(&["--weighted-interleave", "0:3,1:1"]), ["bind", "kernel weights", "weighted"]);
    assert_eq!(plan(&["--policy", "mixed", "--mixed", "25,50"]), ["mixed"]);
    assert_eq!(plan(&["--policy", "interleave"]), ["interleave", "local"]);
    assert_eq!(plan(&["--interleave", "0,1", "--mixed=50"]), ["bind", "interleave", "local", "mixed"]);
}

#[test]
fn mistakes_are_told_with_what_helps() {
    let user = User::new();
    for (arguments, code, said) in [
        (&["--from", "rack"][..], 2, "node, socket or llc"),
        (&["--op", "9:1"], 2, "2:1"),
        (&["--op", "raed"], 2, "'read'"),
        (&["--weighted-interleave", "0:1"], 2, "0:3,1:1"),
        (&["--interleave", "x"], 2, "--interleave"),
        (&["--mem-node", "7"], 4, "no such node"),
        (&["--cpu-node", "9"], 4, "no such node"),
        (&["--mem-node", "1", "--mem-node", "2"], 2, "cannot be used multiple times"),
        (&["--mixed", "0"], 2, "from 1 to 99"),
        (&["--interleave", "0,7", "--policy", "interleave", "--cpu-node", "0"], 4, "no such node"),
        (&["--weighted-interleave", "0:1,7:1", "--policy", "weighted", "--cpu-node", "0"], 4, "no such node"),
    ] {
        let ran = user.run(&[&["matrix", "--simulate", SERVER, "--quick"], arguments].concat()).expect(code);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_node_without_cpus_takes_its_row_and_not_the_matrix() {
    let arguments = ["matrix", "--simulate", EXPANDED, "--quick", "--op", "latency", "--no-save", "--json=-"];
    let ran = User::new().run(&[&arguments[..], &["--cpu-node", "0,2"]].concat()).expect(5);
    let run: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let experiment = &run["experiments"][0];
    assert_eq!(experiment["plan"]["refused"][0]["code"], "no_cpus_on_node", "{}", experiment["plan"]["refused"]);
    let seen = experiment["observations"].as_array().unwrap();
    assert!(!seen.is_empty() && seen.iter().all(|o| o["labels"]["from"] == "node:0"), "{seen:?}");
    User::new().run(&[&arguments[..], &["--cpu-node", "2"]].concat()).expect(4);
}

/// The rows of one node, and few visits: each machine is cheap.
const FEW: [&str; 2] = ["--cpu-node=0", "--max-time=16"];

/// Rates of the threads of node 0 in a run of the placement experiment, GB/s: by operation and policy, and by part.
fn placements(more: &[&str]) -> impl Fn(&str, &str) -> f64 + use<> {
    let server = "synth:sockets=2,cores=10,smt=2,mem=64G";
    let arguments = ["run", "placement-matrix", "--simulate", server, "--json=-", "--no-save", "--sim-noise=0.01"];
    let run = User::new().run(&[&arguments[..], more].concat()).expect(0).json();
    let found = crate::common::findings(&run);
    move |op: &str, place: &str| {
        let (policy, node, part) = match place {
            "local" => (None, Some(0), None),
            "remote" => (None, Some(1), None),
            "interleave" => (Some("interleave"), None, None),
            "mixed" => (Some("mixed"), Some(1), None),
            half => (Some("mixed"), Some(1), half.strip_prefix("mixed ")),
        };
        let metric = if part.is_some() { "bandwidth.part" } else { "bandwidth" };
        let is = |f: &&serde_json::Value| {
            let labels = &f["labels"];
            f["metric"] == metric
                && labels["from"] == "node:0"
                && labels["op"] == op
                && labels["policy"].as_str() == policy
                && labels["node"].as_u64() == node
                && labels["part"].as_str() == part
        };
        let value = found.iter().find(is).and_then(|f| f["value"].as_f64());
        value.unwrap_or_else(|| panic!("no {op} {place}")) / 1e9
    }
}

/// Ten cores with two threads each, memory that their reads just fill, and a quarter of that across the link: the
/// published server's proportions, and its shape.
#[test]
fn the_placement_experiment_has_the_published_shape_under_noise() {
    for seed in 1..=testing::seeds(4).min(20) {
        let rate = placements(&[&FEW[..], &["--sim-memory=225", "--sim-link=52", &format!("--seed={seed}")]].concat());
        let [local, remote, mixed, spread] =
            ["local", "remote", "mixed", "interleave"].map(|place| rate("read", place));
        assert!((remote / 52.0 - 1.0).abs() < 0.035, "seed {seed}: the link holds remote reads, {remote}");
        assert!(remote < spread && spread < mixed && mixed < local, "seed {seed}: {remote} {spread} {mixed} {local}");
        // The local half has all that it had; the remote half has what the link carries.
        assert!((rate("read", "mixed remote") / 52.0 - 1.0).abs() < 0.045, "seed {seed}");
        assert!((rate("read", "mixed local") / local - 0.5).abs() < 0.05, "seed {seed}");
        let [local, remote, mixed] = ["local", "remote", "mixed"].map(|place| rate("write.cached", place));
        // Stores read a line before they write it: local memory is full, and a second one helps.
        assert!(remote < local && (1.05..1.5).contains(&(mixed / local)), "seed {seed}: {remote} {local} {mixed}");
        assert!(rate("write.cached", "mixed local") > 0.5 * local, "seed {seed}");
        assert!(rate("write.cached", "mixed remote") < 1.02 * remote, "seed {seed}");
        let random = ["local", "remote", "mixed"].map(|place| rate("read.random8", place));
        assert!(random[1] < random[2] && random[2] < random[0], "seed {seed}: {random:?}");
        assert!(rate("write.random8", "remote") < rate("write.random8", "local"), "seed {seed}");
        for (op, of) in [("read.random8", "read"), ("write.random8", "write.cached")] {
            assert!(rate(op, "local") < rate(of, "local") / 8.0, "seed {seed}: {op}");
        }
    }
}

/// The shape is that of the ceilings: with memory to spare a second one helps no stores, and with little of it even
/// reads.
#[test]
fn other_ceilings_give_the_placement_experiment_another_shape() {
    let placements = |ceilings: &[&str]| placements(&[&FEW[..], ceilings].concat());
    let rich = placements(&["--sim-memory=600", "--sim-link=52"]);
    assert!(rich("write.cached", "mixed") < 0.95 * rich("write.cached", "local"));
    let poor = placements(&["--sim-memory=90", "--sim-link=52"]);
    assert!(poor("read", "mixed") > 1.05 * poor("read", "local"));
    let wide = placements(&["--sim-memory=225", "--sim-link=400"]);
    assert!(wide("read", "remote") > 1.5 * 52.0, "nothing but the distance holds these back");
}

/// The table of traffic has both amplifications and a legend; with `-v` it has the places of the busiest steps.
#[test]
fn counted_traffic_is_explained_and_shown_by_place() {
    let user = User::new();
    let counted = ["matrix", "--simulate=synth:sockets=2,cores=4,mem=8G", "--sim-counters=2", "--op=read,write.cached"];
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = user.run(&counted).expect(0).out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["read/useful, write/useful =", "over links =", "under Traffic of memory"] {
        assert!(words(&text).contains(part), "{part}: {text}");
    }
    // All columns stand side by side.
    assert_eq!(text.lines().filter(|line| line.starts_with("  of   ")).count(), 1, "{text}");
    assert!(!text.contains("Memory by place") && !words(&text).contains("not counted;"), "{text}");
    let more = user.run(&["show", "last", "-v"]).expect(0).out;
    assert!(more.lines().all(|line| line.chars().count() <= 80), "{more}");
    for part in ["Memory by place", "socket 1 ", "Links, in the step", "received"] {
        assert!(more.contains(part), "{part}: {more}");
    }
    user.run(&["report", "last", "--html=page.html"]).expect(0);
    let page = std::fs::read_to_string(user.path("page.html")).unwrap();
    assert!(page.contains("write /useful") || page.contains("write/useful"), "{}", page.len());
}
