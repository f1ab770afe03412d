//! Surveys of machines with several nodes: each place has a ladder and curves of its own.

use std::fs;

use crate::common::User;

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
    // Each socket has the figures of its own caches and its own memory.
    let of_socket = |socket: usize| page.split(&format!(">Socket {socket}: ")).nth(1).unwrap().split("Socket").next();
    for socket in [0, 1] {
        let drawn = of_socket(socket).unwrap();
        let figures =
            drawn.split("class=\"figure\"").skip(1).take(4).filter(|figure| figure.contains("(one core / all)"));
        assert_eq!(figures.count(), 4, "socket {socket}: {drawn}");
    }
    // A chart that is saved by itself says what it is of.
    for ends in ["cpus of node 0, memory of node 1", "cpus of node 1, memory of node 1"] {
        assert!(text.contains(&format!("Latency by size, ns, {ends}")), "{ends}: {text}");
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
    // In the picture, the sum of both sockets' caches is of neither.
    let page = fs::read_to_string(user.path("page.html")).unwrap();
    let socket = page.split(">Socket 0: ").nth(1).unwrap().split(">Socket 1: ").next().unwrap();
    assert!(socket.contains("(one core)") && !socket.contains("(one core / all)"), "{socket}");
    let together = page.split("L3 of all sockets, each used by its own cores").nth(1).unwrap();
    assert!(together.split("</text>").nth(1).unwrap().contains("read "), "{together}");
}
