//! The program inside guests with several NUMA nodes (`tests/numa-vm`): discovery, placement, refusals. Their speeds mean nothing.
//!
//! Ignored by default, since a guest takes some seconds and a kernel image; `./test` runs them where they can be had.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::document;
use serde_json::Value;
use tempfile::TempDir;

/// Options of every measurement here: small, since emulated processors are slow; emulated kernels of one instruction set, since
/// string instructions run byte by byte there.
const SMALL: &str = "--quick --force --no-save -q --allow-partial --max-time 40";
/// On base pages.
const BASE: &str = "--quick --force --no-save -q --allow-partial --max-time 40 --page base";

/// What a guest left in its /out.
struct Left {
    dir: TempDir,
    out: String,
}

impl Left {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A document that a command in the guest wrote.
    #[track_caller]
    fn json(&self, name: &str) -> Value {
        assert!(self.path(name).exists(), "{name} was not written; the guest said:\n{}", self.out);
        document(&self.path(name))
    }

    #[track_caller]
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}; the guest said:\n{}", self.out))
    }

    /// The exit code that the script noted for a step.
    #[track_caller]
    fn code(&self, step: &str) -> i32 {
        let noted = self.out.lines().find_map(|line| line.strip_prefix(&format!("{step} exit ")));
        noted.and_then(|code| code.trim().parse().ok()).unwrap_or_else(|| panic!("no exit of {step}:\n{}", self.out))
    }
}

/// Boots a topology once and runs the script in it.
fn guest(topology: &str, script: &str) -> Left {
    let vm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/numa-vm");
    let dir = tempfile::tempdir().unwrap();
    // Each step is a command with the file its output goes to; its exit code is told.
    let prelude = "run() { name=$1; shift; \"$@\" > $name.txt 2>&1; echo $name exit $?; }\n";
    let output = Command::new(vm)
        .args(["--topology", topology, "--timeout", "240", "--share", env!("CARGO_BIN_EXE_tiermark"), "--out"])
        .arg(dir.path())
        .args(["--", "sh", "-c", &format!("{prelude}{script}")])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{topology}: {}\n{out}", output.status);
    Left { dir, out }
}

fn observations(run: &Value) -> Vec<&Value> {
    run["experiments"].as_array().unwrap().iter().flat_map(|e| e["observations"].as_array().unwrap()).collect()
}

/// Pages by node of an observation.
fn pages(observation: &Value) -> BTreeMap<u64, u64> {
    let by_node = observation["placement"]["by_node"].as_object().unwrap_or_else(|| panic!("no proof: {observation}"));
    by_node.iter().map(|(node, pages)| (node.parse().unwrap(), pages.as_u64().unwrap())).collect()
}

fn label<'a>(observation: &'a Value, key: &str) -> &'a str {
    observation["labels"][key].as_str().unwrap_or_default()
}

/// Every cell lies on its node, proven by the kernel, and every pair has one.
#[track_caller]
fn assert_matrix(run: &Value, op: &str, rows: &[&str], columns: &[u64]) {
    for row in rows {
        for column in columns {
            let cell = observations(run).into_iter().find(|o| {
                label(o, "from") == *row
                    && label(o, "op") == op
                    && o["labels"]["node"].as_u64() == Some(*column)
                    && o["labels"].get("policy").is_none()
            });
            let cell = cell.unwrap_or_else(|| panic!("no cell {op} {row} to node {column}"));
            let proof = &cell["placement"];
            assert!(proof["how"].as_str().is_some_and(|how| how.starts_with("move_pages")), "{row} {column}: {proof}");
            assert_eq!(proof["on_target"].as_f64(), Some(1.0), "{row} to node {column}: {proof}");
            assert!(pages(cell).keys().eq([column]), "{row} to node {column}: {proof}");
            assert!(cell["value"].as_f64().is_none_or(|value| value > 0.0));
        }
    }
    let cells = observations(run).into_iter().filter(|o| label(o, "op") == op && o["labels"].get("policy").is_none());
    assert_eq!(cells.count(), rows.len() * columns.len(), "cells of {op}");
    // Of several threads at once on a busy host, every window may be disturbed.
    let numbers = observations(run).iter().filter(|o| label(o, "op") == "latency" && o["value"].is_number()).count();
    assert!(op != "latency" || numbers > 0, "not one number");
}

/// What discovery should say of a node: cpus, MiB of memory, distances.
type Expected<'a> = (&'a str, u64, &'a [u64]);

#[track_caller]
fn assert_nodes(machine: &Value, expected: &[Expected<'_>]) {
    let nodes = machine["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), expected.len());
    for (id, (node, (cpus, mib, distances))) in nodes.iter().zip(expected).enumerate() {
        assert_eq!(node["id"].as_u64(), Some(id as u64));
        assert_eq!(node["cpus"].as_str(), Some(*cpus), "cpus of node {id}");
        let bytes = node["memory_bytes"].as_u64().unwrap();
        // The kernel keeps some of it from the start: its own image and tables, on node 0 more than elsewhere.
        assert!(bytes <= mib << 20 && bytes >= (mib << 20) / 10 * 8, "node {id}: {bytes} bytes of {mib} MiB");
        let seen: Vec<u64> =
            (0..distances.len()).map(|to| node["distances"][to.to_string()].as_u64().unwrap()).collect();
        assert_eq!(seen, *distances, "distances of node {id}");
    }
}

/// A share of the pages of an observation lies on a node, as closely as a sample of so many tells (4.5 standard deviations).
#[track_caller]
fn assert_share(observation: &Value, node: u64, wanted: f64) {
    let pages = pages(observation);
    // The kernel did as it was told; no other way had to be found.
    let notes = &observation["placement"]["notes"];
    assert!(notes.as_array().is_some_and(Vec::is_empty), "{notes}");
    let all = pages.values().sum::<u64>() as f64;
    let there = pages.get(&node).copied().unwrap_or(0) as f64 / all;
    let tolerance = 4.5 * (wanted * (1.0 - wanted) / all).sqrt();
    assert!((there - wanted).abs() <= tolerance, "node {node}, {wanted}: {}", observation["placement"]);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn two_nodes_and_every_policy() {
    let left = guest(
        "2node",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --size 4M --op latency,read/avx2,2:1,read.random/avx2 --json=matrix.json --hmat hmat.csv
             run policies tiermark matrix {BASE} --size 8M --op read/avx2 --policy bind,mixed --interleave all \\
                 --weighted-interleave 0:3,1:1 --json=policies.json
             run huge tiermark matrix {SMALL} --size 8M --op read/avx2 --page thp --policy interleave,weighted --interleave all \\
                 --weighted-interleave 0:1,1:3 --json=thp.json
             printf 'name = \"small\"\ntitle = \"small\"\n' > small.toml
             printf '[[experiment]]\nprobe = \"latency\"\nsizes = [\"64K\"]\nmem-node = \"far\"\n' >> small.toml
             printf '[[experiment]]\nprobe = \"matrix\"\nsize = \"1M\"\nop = [\"latency\"]\nquick = true\n' >> small.toml
             run plan tiermark run small.toml --force --no-save -q --json=plan.json
             cd /sys/fs/cgroup; mkdir one; echo 0 > one/cpuset.mems; echo 0-3 > one/cpuset.cpus; cd /out
             (echo 0 > /sys/fs/cgroup/one/cgroup.procs
              run fenced tiermark latency --quick --force --no-save --sizes 1M --mem-node 1
              run columns tiermark matrix {BASE} --size 1M --op latency --json=fenced.json
              run interleaved tiermark matrix {BASE} --size 1M --op read/avx2 --cpu-node 0 --policy interleave --interleave 0,1)
             echo 8 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
             run pool tiermark matrix --quick --force --no-save -q --size 4M --op latency,read/avx2 --page 2M --threads one --json=pool.json"
        ),
    );
    assert_nodes(
        &serde_json::from_str(&left.text("machine.txt")).unwrap(),
        &[("0-1", 1024, &[10, 21]), ("2-3", 1024, &[21, 10])],
    );
    let matrix = left.json("matrix.json");
    for op in ["latency", "read/avx2", "2:1", "read.random/avx2"] {
        assert_matrix(&matrix, op, &["node:0", "node:1"], &[0, 1]);
    }
    let hmat = left.text("hmat.csv");
    assert!(hmat.lines().count() == 5 && hmat.contains("measured,1,0,"), "{hmat}");
    assert_policies(&left.json("policies.json"));
    // A huge page is dealt out whole: of 4 one lies on node 0.
    let thp = left.json("thp.json");
    let dealt = |policy: &str| {
        observations(&thp).into_iter().find(|o| label(o, "policy") == policy && label(o, "from") == "node:0").unwrap()
    };
    assert_share(dealt("interleave"), 0, 0.5);
    assert_share(dealt("weighted"), 0, 0.25);
    let plan = left.json("plan.json");
    let far = observations(&plan).into_iter().find(|o| label(o, "layout") == "random").unwrap();
    assert!(pages(far).keys().eq(&[1]), "the far node of cpus on node 0: {}", far["placement"]);
    assert_eq!(observations(&plan).len(), 1 + 4);
    assert_fenced(&left);
    assert_pool(&left.json("pool.json"));
}

/// Interleaved, weighted and mixed memory lies where it was asked for.
fn assert_policies(run: &Value) {
    let of = |policy: &str| -> Vec<&Value> {
        observations(run).into_iter().filter(|o| label(o, "policy") == policy).collect()
    };
    of("interleave").into_iter().for_each(|observation| assert_share(observation, 0, 0.5));
    of("weighted").into_iter().for_each(|observation| assert_share(observation, 0, 0.75));
    for observation in of("mixed") {
        assert_eq!(observation["placement"]["on_target"].as_f64(), Some(1.0));
        assert_share(observation, 0, 0.5);
        let names: Vec<&str> =
            observation["parts"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["local", "remote"]);
    }
    // From node 0, node 1 and all; mixed only where there are rows.
    assert_eq!((of("interleave").len(), of("weighted").len(), of("mixed").len()), (3, 3, 2));
    // The guest's kernel is older than weighted interleaving, and says so with what helps.
    let refused = run["experiments"][0]["plan"]["refused"].to_string();
    let old = refused.contains("weighted interleave") && refused.contains("newer kernel");
    assert!(old || !of("kernel weights").is_empty(), "{refused}");
}

/// A node outside the cpuset is refused with what helps, and the matrix is that of the nodes inside.
fn assert_fenced(left: &Left) {
    assert_eq!(left.code("fenced"), 4);
    let said = left.text("fenced.txt");
    assert!(said.contains("cpuset.mems") && said.contains("--mem-node"), "{said}");
    assert_matrix(&left.json("fenced.json"), "latency", &["node:0", "node:1"], &[0]);
    assert_eq!(left.code("interleaved"), 4);
    assert!(left.text("interleaved.txt").contains("cpuset.mems"), "{}", left.text("interleaved.txt"));
}

/// Reserved huge pages of node 1 are used there; node 0 has none and refuses, and nothing dies of SIGBUS.
fn assert_pool(run: &Value) {
    for observation in observations(run) {
        match observation["labels"]["node"].as_u64() {
            Some(1) => {
                assert!(pages(observation).keys().eq(&[1]), "{}", observation["placement"]);
                assert_eq!(observation["placement"]["page_share"].as_f64(), Some(1.0), "{}", observation["placement"]);
            }
            _ => {
                let refusal = observation["refusal"].to_string();
                assert!(refusal.contains("node 0") && refusal.contains("nr_hugepages"), "{refusal}");
            }
        }
    }
    assert_eq!(observations(run).len(), 8);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn four_nodes_of_two_sockets() {
    let left = guest(
        "4node",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --size 2M --op latency --json=matrix.json
             run sockets tiermark matrix {BASE} --size 2M --op read/avx2 --from socket --to 0,3 --json=sockets.json
             run spread tiermark matrix {BASE} --size 4M --op read/avx2 --policy interleave --interleave 1,2-3 --cpu-node 0 --json=spread.json"
        ),
    );
    let machine: Value = serde_json::from_str(&left.text("machine.txt")).unwrap();
    let nodes: [Expected<'_>; 4] = [
        ("0-1", 512, &[10, 12, 32, 32]),
        ("2-3", 512, &[12, 10, 32, 32]),
        ("4-5", 512, &[32, 32, 10, 12]),
        ("6-7", 512, &[32, 32, 12, 10]),
    ];
    assert_nodes(&machine, &nodes);
    let sockets: Vec<u64> =
        machine["cpus"].as_array().unwrap().iter().map(|cpu| cpu["socket"].as_u64().unwrap()).collect();
    assert_eq!(sockets, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_matrix(&left.json("matrix.json"), "latency", &["node:0", "node:1", "node:2", "node:3"], &[0, 1, 2, 3]);
    assert_matrix(&left.json("sockets.json"), "read/avx2", &["socket:0", "socket:1"], &[0, 3]);
    let spread = left.json("spread.json");
    let only = observations(&spread)[0];
    (1..=3).for_each(|node| assert_share(only, node, 1.0 / 3.0));
}

#[test]
#[ignore = "boots a guest: ./test"]
fn shared_lines_have_their_home_where_it_was_asked() {
    // One cpu of each of three nodes: two in one socket, one in the other.
    let left = guest(
        "4node",
        &format!(
            "run c2c tiermark c2c {BASE} --cpus 0,2,4 --json=c2c.json
             run elsewhere tiermark c2c {BASE} --cpus 0,2 --mem-node 3 --json=elsewhere.json
             run alone tiermark c2c {BASE} --cpus 5"
        ),
    );
    let run = left.json("c2c.json");
    let node_of = |cpu: &Value| cpu.as_u64().map(|cpu| cpu / 2);
    let mut homes: Vec<(String, String)> = Vec::new();
    for seen in observations(&run).into_iter().filter(|o| o["placement"].is_object()) {
        let labels = &seen["labels"];
        let home = labels["node"].as_u64().or(node_of(&labels["from"])).unwrap_or(0);
        assert!(pages(seen).keys().eq([&home]), "{}: {}", seen["step"], seen["placement"]);
        assert_eq!(seen["placement"]["on_target"].as_f64(), Some(1.0), "{seen}");
        if label(seen, "purpose") == "home" {
            homes.push((label(seen, "relation").to_owned(), label(seen, "home").to_owned()));
        }
    }
    homes.sort();
    let wanted = [("remote", "second"), ("remote", "third"), ("socket", "second"), ("socket", "third")];
    assert_eq!(homes, wanted.map(|(relation, home)| (relation.to_owned(), home.to_owned())));
    let proven = |o: &&Value| o["placement"].is_object();
    assert!(observations(&left.json("elsewhere.json")).into_iter().filter(proven).all(|o| pages(o).keys().eq([&3])));
    assert_eq!(left.code("alone"), 4);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn eight_nodes_of_two_sockets() {
    let left = guest(
        "8node",
        &format!(
            "run machine tiermark machine --json\nrun matrix tiermark matrix {BASE} --size 1M --op latency --json=matrix.json"
        ),
    );
    let near = |id: u64, to: u64| match (id == to, id / 4 == to / 4) {
        (true, _) => 10,
        (false, true) => 12,
        (false, false) => 32,
    };
    let rows: Vec<(String, Vec<u64>)> =
        (0..8).map(|id| (format!("{}-{}", 2 * id, 2 * id + 1), (0..8).map(|to| near(id, to)).collect())).collect();
    let nodes: Vec<Expected<'_>> =
        rows.iter().map(|(cpus, distances)| (cpus.as_str(), 256, distances.as_slice())).collect();
    assert_nodes(&serde_json::from_str(&left.text("machine.txt")).unwrap(), &nodes);
    let names: Vec<String> = (0..8).map(|id| format!("node:{id}")).collect();
    let rows: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_matrix(&left.json("matrix.json"), "latency", &rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn memory_without_cpus() {
    let left = guest(
        "cxl",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --size 2M --op latency,read/avx2 --json=matrix.json --hmat hmat.csv
             run rows tiermark matrix {BASE} --size 2M --op latency --cpu-node 2
             run spread tiermark matrix {BASE} --size 4M --op read/avx2 --cpu-node 0 --policy weighted,mixed --weighted-interleave 0:3,2:1 --json=spread.json"
        ),
    );
    let machine: Value = serde_json::from_str(&left.text("machine.txt")).unwrap();
    // 2,048 MiB over three nodes in whole pieces of 128.
    assert_nodes(&machine, &[("0-1", 640, &[10, 20, 40]), ("2-3", 640, &[20, 10, 40]), ("", 640, &[40, 40, 10])]);
    let hmat = &machine["nodes"][2]["hmat"][0];
    let firmware = (hmat["read_latency_ns"].as_f64(), hmat["read_bandwidth"].as_f64(), hmat["initiators"].as_str());
    assert_eq!(firmware, (Some(250.0), Some(30_720e6), Some("0")), "{hmat}");
    let matrix = left.json("matrix.json");
    for op in ["latency", "read/avx2"] {
        assert_matrix(&matrix, op, &["node:0", "node:1"], &[0, 1, 2]);
    }
    let csv = left.text("hmat.csv");
    assert!(csv.contains("firmware,0,2,0,250,250,30720,30720,"), "{csv}");
    assert_eq!(left.code("rows"), 4);
    assert!(left.text("rows.txt").contains("no cpus"), "{}", left.text("rows.txt"));
    let spread = left.json("spread.json");
    let weighted = observations(&spread).into_iter().find(|o| label(o, "policy") == "weighted").unwrap();
    assert_share(weighted, 2, 0.25);
    let mixed: Vec<u64> = observations(&spread)
        .into_iter()
        .filter(|o| label(o, "policy") == "mixed")
        .map(|o| o["labels"]["node"].as_u64().unwrap())
        .collect();
    // The other socket's memory, and that without cpus.
    assert_eq!(mixed, [1, 2]);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn a_node_without_memory() {
    let left = guest(
        "nomem",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --size 2M --op latency,read/avx2 --json=matrix.json
             run absent tiermark matrix {BASE} --size 2M --op latency --to 1
             run policies tiermark matrix {BASE} --size 2M --op read/avx2 --policy interleave"
        ),
    );
    let machine: Value = serde_json::from_str(&left.text("machine.txt")).unwrap();
    assert_nodes(&machine, &[("0-1", 2048, &[10, 21]), ("2-3", 0, &[21, 10])]);
    let matrix = left.json("matrix.json");
    for op in ["latency", "read/avx2"] {
        assert_matrix(&matrix, op, &["node:0", "node:1"], &[0]);
    }
    for (step, why) in [("absent", "has no memory"), ("policies", "two nodes")] {
        assert_eq!(left.code(step), 4, "{step}");
        assert!(left.text(&format!("{step}.txt")).contains(why), "{}", left.text(&format!("{step}.txt")));
    }
}
