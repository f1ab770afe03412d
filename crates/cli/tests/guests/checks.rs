//! Guests, and what is to hold of what they leave.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::document;

/// Options of every measurement here: small, since emulated processors are slow; emulated kernels of one instruction
/// set, since string instructions run byte by byte there.
pub(crate) const SMALL: &str = "--quick --force --no-save -q --allow-partial --seconds 0.001 --max-time 12";
/// On base pages.
pub(crate) const BASE: &str = "--quick --force --no-save -q --allow-partial --seconds 0.001 --max-time 12 --pages base";

/// What a guest left in its /out.
pub(crate) struct Left {
    pub(crate) dir: TempDir,
    /// What its script printed.
    pub(crate) out: String,
}

impl Left {
    /// A file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A document that a command in the guest wrote.
    #[track_caller]
    pub(crate) fn json(&self, name: &str) -> Value {
        assert!(self.path(name).exists(), "{name} was not written; the guest said:\n{}", self.out);
        document(&self.path(name))
    }

    /// The text of a file in it.
    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}; the guest said:\n{}", self.out))
    }

    /// The exit code that the script noted for a step.
    #[track_caller]
    pub(crate) fn code(&self, step: &str) -> i32 {
        let noted = self.out.lines().find_map(|line| line.strip_prefix(&format!("{step} exit ")));
        noted.and_then(|code| code.trim().parse().ok()).unwrap_or_else(|| panic!("no exit of {step}:\n{}", self.out))
    }
}

/// The program without its symbols, which fill most of a file that guests have in memory.
pub(crate) fn program() -> &'static Path {
    static STRIPPED: OnceLock<PathBuf> = OnceLock::new();
    STRIPPED.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stripped");
        fs::create_dir_all(&directory).unwrap();
        let to = directory.join("tiermark");
        let done = Command::new("strip").arg("-o").arg(&to).arg(env!("CARGO_BIN_EXE_tiermark")).status().unwrap();
        assert!(done.success());
        to
    })
}

/// The exit code of `tests/numa-vm` when the guest gave no more sign of life.
const HUNG: i32 = 123;

/// Boots a topology and runs the script in it.
pub(crate) fn guest(topology: &str, script: &str) -> Left {
    guest_with(topology, &[], script)
}

/// The same with more options of `tests/numa-vm`.
pub(crate) fn guest_with(topology: &str, options: &[&str], script: &str) -> Left {
    let vm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/numa-vm");
    let dir = tempfile::tempdir().unwrap();
    // Runs a command with its output in a file, and prints its exit code and the uptime at its end: a guest that timed
    // out shows its slow step.
    let prelude = "run() { name=$1; shift; \"$@\" > $name.txt 2>&1; echo $name exit $?; echo at $(cut -d' ' -f1 /proc/uptime) s; }\n";
    let mut command = Command::new(vm);
    command.args(["--topology", topology, "--timeout", "600", "--share"]).arg(program()).arg("--out").arg(dir.path());
    command.args(options).args(["--", "sh", "-c", &format!("{prelude}{script}")]);
    let mut output = command.output().unwrap();
    // Rarely the emulator itself hangs. A program that hangs in a guest that lives is another code.
    if output.status.code() == Some(HUNG) {
        output = command.output().unwrap();
    }
    let out = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{topology}: {}\n{out}", output.status);
    Left { dir, out }
}

pub(crate) fn observations(run: &Value) -> Vec<&Value> {
    run["experiments"].as_array().unwrap().iter().flat_map(|e| e["observations"].as_array().unwrap()).collect()
}

/// Pages by node of an observation.
pub(crate) fn pages(observation: &Value) -> BTreeMap<u64, u64> {
    let by_node = observation["placement"]["by_node"].as_object().unwrap_or_else(|| panic!("no proof: {observation}"));
    by_node.iter().map(|(node, pages)| (node.parse().unwrap(), pages.as_u64().unwrap())).collect()
}

/// Whether shots of it counted, even if what they come to is known too badly to be shown.
pub(crate) fn shots(observation: &Value) -> bool {
    observation["visits"]["count"].as_u64() > Some(0)
}

pub(crate) fn label<'a>(observation: &'a Value, key: &str) -> &'a str {
    observation["labels"][key].as_str().unwrap_or_default()
}

/// Every cell lies on its node, proven by the kernel, and every pair has one.
#[track_caller]
pub(crate) fn assert_matrix(run: &Value, op: &str, rows: &[&str], columns: &[u64]) {
    for row in rows {
        for column in columns {
            let cell = observations(run).into_iter().find(|o| {
                label(o, "from") == *row
                    && label(o, "op") == op
                    && o["labels"]["node"].as_u64() == Some(*column)
                    && o["labels"].get("policy").is_none()
            });
            let cell = cell.unwrap_or_else(|| panic!("no cell {op} {row} to node {column}"));
            assert_proven(cell);
            let proof = &cell["placement"];
            assert_eq!(proof["on_target"].as_f64(), Some(1.0), "{row} to node {column}: {proof}");
            assert!(pages(cell).keys().eq([column]), "{row} to node {column}: {proof}");
            assert!(cell["value"].as_f64().is_none_or(|value| value > 0.0));
        }
    }
    let cells = observations(run).into_iter().filter(|o| label(o, "op") == op && o["labels"].get("policy").is_none());
    assert_eq!(cells.count(), rows.len() * columns.len(), "cells of {op}");
    // Of several threads at once on a busy host, every window may be disturbed; and what an emulator's chase comes to
    // may be known too badly to be shown. Shots that counted there are.
    let measured = observations(run).into_iter().filter(|o| label(o, "op") == "latency" && shots(o)).count();
    assert!(op != "latency" || measured > 0, "not one shot counted");
}

/// What discovery should say of a node: cpus, MiB of memory, distances.
pub(crate) type Expected<'a> = (&'a str, u64, &'a [u64]);

#[track_caller]
pub(crate) fn assert_nodes(machine: &Value, expected: &[Expected<'_>]) {
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

/// The kernel was asked where the pages are: nothing was taken on trust.
#[track_caller]
pub(crate) fn assert_proven(observation: &Value) {
    let how = &observation["placement"]["how"]["data"];
    assert_eq!(how["by"], "move_pages", "{}: {}", observation["step"], observation["placement"]);
}

/// A share of the pages of an observation lies on a node, as closely as a sample of so many tells (4.5 standard
/// deviations).
#[track_caller]
pub(crate) fn assert_share(observation: &Value, node: u64, wanted: f64) {
    assert_proven(observation);
    let pages = pages(observation);
    // The kernel did as it was told; no other way had to be found.
    let notes = &observation["placement"]["notes"];
    assert!(notes.as_array().is_some_and(Vec::is_empty), "{notes}");
    let all = pages.values().sum::<u64>() as f64;
    let there = pages.get(&node).copied().unwrap_or(0) as f64 / all;
    let tolerance = 4.5 * (wanted * (1.0 - wanted) / all).sqrt();
    assert!((there - wanted).abs() <= tolerance, "node {node}, {wanted}: {}", observation["placement"]);
}
