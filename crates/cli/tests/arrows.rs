//! The arrows between the crates, and the rules that hold in all of them.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What each crate may depend on within the workspace. Development dependencies are free.
const ARROWS: [(&str, &[&str]); 10] = [
    ("tiermark-model", &[]),
    ("tiermark-stats", &[]),
    ("tiermark-machine", &["tiermark-model"]),
    ("tiermark-kernels", &["tiermark-model"]),
    ("tiermark-engine", &["tiermark-model", "tiermark-stats"]),
    ("tiermark-host", &["tiermark-model", "tiermark-machine", "tiermark-kernels", "tiermark-engine"]),
    ("tiermark-probes", &["tiermark-model", "tiermark-stats", "tiermark-engine"]),
    ("tiermark-history", &["tiermark-model", "tiermark-stats"]),
    ("tiermark-report", &["tiermark-model", "tiermark-stats"]),
    (
        "tiermark",
        &[
            "tiermark-model",
            "tiermark-stats",
            "tiermark-machine",
            "tiermark-kernels",
            "tiermark-engine",
            "tiermark-host",
            "tiermark-probes",
            "tiermark-history",
            "tiermark-report",
        ],
    ),
];

/// Crates that may hold unsafe code; `host` only below `sys`.
const UNSAFE: [&str; 2] = ["tiermark-kernels", "tiermark-host"];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
    found
}

/// Every crate with the directory of its sources.
fn crates() -> Vec<(String, PathBuf)> {
    let place = |p: &Value| Path::new(p["manifest_path"].as_str().unwrap()).parent().unwrap().join("src");
    packages().iter().map(|p| (p["name"].as_str().unwrap().to_owned(), place(p))).collect()
}

/// The code of a file without its tests, which stand last.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned()
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let packages = packages();
    let names: BTreeSet<&str> = packages.iter().map(|p| p["name"].as_str().unwrap()).collect();
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known, "every crate has a row in the table, and every row a crate");
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let allowed = ARROWS.iter().find(|(n, _)| *n == name).unwrap().1;
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let for_tests = dependency["kind"] == "dev";
            assert!(for_tests || !names.contains(to) || allowed.contains(&to), "{name} must not depend on {to}");
        }
    }
}

#[test]
fn unsafe_code_lives_in_two_crates_only() {
    for (name, source) in crates() {
        let root = ["lib.rs", "main.rs"].map(|f| source.join(f)).into_iter().find(|f| f.exists()).unwrap();
        let text = fs::read_to_string(&root).unwrap();
        if !UNSAFE.contains(&name.as_str()) {
            assert!(text.contains("#![forbid(unsafe_code)]"), "{} must forbid unsafe code", root.display());
        }
        if name == "tiermark-host" {
            assert!(text.contains("#![deny(unsafe_code)]"), "{} must deny unsafe code outside sys", root.display());
            let outside = sources(&source).into_iter().filter(|p| !p.starts_with(source.join("sys")) && *p != root);
            for path in outside {
                assert!(!code(&path).contains("allow(unsafe_code)"), "{}", path.display());
            }
        }
    }
}

#[test]
fn only_the_command_line_and_the_views_print() {
    let macros = ["println!", "print!(", "eprint!(", "dbg!("];
    for (name, source) in crates().into_iter().filter(|(name, _)| name != "tiermark" && name != "tiermark-report") {
        for path in sources(&source) {
            for line in code(&path).lines().filter(|l| !l.trim_start().starts_with("//")) {
                let found = macros.iter().find(|m| line.contains(*m));
                assert!(found.is_none(), "{name} prints in {}: {line}", path.display());
            }
        }
    }
}
