//! Surveys of machines with several nodes: each place has a ladder and curves of its own.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::fs;

use common::User;

const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";

/// The idle latency of a row of DRAM, ns.
fn latency(row: &str) -> f64 {
    let mut numbers = row.split_whitespace().filter_map(|word| word.trim_start_matches(['≤', '~']).parse::<f64>().ok());
    numbers.find(|ns| *ns >= 20.0).unwrap()
}

#[test]
fn each_pair_of_nodes_has_a_ladder_and_curves_of_its_own() {
    let user = User::new();
    let each = ["survey", "--quick", "--mem-node", "each", "--simulate", SERVER, "-q", "--html", "page.html"];
    let text = user.run(&each).expect(0).out;
    for (at, pair) in ["node 0", "node 1", "node 0", "node 1"].iter().enumerate() {
        assert!(text.contains(&format!("{} of 4: survey --cpus", at + 1)), "{pair}: {text}");
    }
    assert_eq!(text.matches("Latency by size").count(), 4, "{text}");
    let is_row = |line: &&str| line.starts_with("DRAM node") && line.contains("   ");
    let rows: Vec<f64> = text.lines().filter(is_row).map(latency).collect();
    let [local, remote, back, own] = rows[..] else { panic!("{rows:?}\n{text}") };
    assert!(local < 0.8 * remote && own < 0.8 * back, "{rows:?}");
    let large = user.run(&["show", "last", "--curves"]).expect(0).out;
    assert_eq!(large.matches("Latency by size").count(), 4, "{large}");
    // Remote figures stand at the link, and not in the box of the node.
    let page = fs::read_to_string(user.path("page.html")).unwrap();
    for arrow in ["node 0 → 1", "node 1 → 0"] {
        assert!(page.contains(arrow), "{arrow}");
    }
}

#[test]
fn the_sum_of_all_nodes_is_of_no_single_node() {
    let user = User::new();
    let text = user.run(&["survey", "--quick", "--simulate", SERVER, "-q", "--html", "page.html"]).expect(0).out;
    assert!(text.contains("tiermark matrix: the memory of each node"), "{text}");
    let page = fs::read_to_string(user.path("page.html")).unwrap();
    let together = page.split("Memory of all nodes").nth(1).unwrap();
    assert!(together.split("</text>").nth(1).unwrap().contains("read "), "{together}");
    let node = page.split("Node 0: memory").nth(1).unwrap().split("</text>").nth(1).unwrap();
    assert!(node.contains("(one core)"), "the rate of all cores is that of two nodes: {node}");
    let one = user.run(&["survey", "--quick", "--simulate", "synth:cores=2,mem=16G", "-q"]).expect(0).out;
    assert!(!one.contains("tiermark matrix"), "{one}");
}

/// The heading counts the cores of the machine; memory of another node is read by those of one.
#[test]
fn rates_of_fewer_cores_than_the_heading_counts_say_so() {
    let user = User::new();
    let report = user.run(&["survey", "--quick", "--simulate", SERVER, "-q", "--no-save", "--html=page.html"]).out;
    assert!(report.contains("all 8 cores, GB/s"), "{report}");
    assert!(report.contains("DRAM node 1: the rates of all cores are of 4 cores (cpus 0-3)\n"), "{report}");
    // The picture draws one socket's caches with it.
    let page = fs::read_to_string(user.path("page.html")).unwrap();
    assert!(page.contains("GB/s (one / 8 cores)"), "no rate in the picture says of how many cores it is");
}
