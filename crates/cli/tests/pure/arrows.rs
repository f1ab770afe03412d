//! The arrows between the crates, and the rules that hold in all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crates that may hold unsafe code.
const UNSAFE: [&str; 2] = ["tiermark-kernels", "tiermark-system"];
/// The crate that may fork, in so many places, and do nothing else that is unsafe.
const FORKS: (&str, usize) = ("tiermark-primitives", 3);

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

pub(crate) fn sources(directory: &Path) -> Vec<PathBuf> {
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
pub(crate) fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let tests = |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.contains("mod tests"));
    let end = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at).find(tests);
    text[..end.unwrap_or(text.len())].to_owned()
}

/// The rows of a table of docs/ARCHITECTURE.md, by the heading it stands under, without its head.
fn documented(heading: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ARCHITECTURE.md")).unwrap();
    let section = text.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let lines = section.lines().skip_while(|l| !l.starts_with('|')).take_while(|l| l.starts_with('|')).skip(2);
    lines.map(|l| l.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A crate's name in the documents: without the program's.
fn short(name: &str) -> String {
    if name == "tiermark" { "cli".to_owned() } else { name.trim_start_matches("tiermark-").to_owned() }
}

/// What each crate depends on within the workspace. Development dependencies are free.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let packages = packages();
    let names: BTreeSet<&str> = packages.iter().map(|p| p["name"].as_str().unwrap()).collect();
    let of = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let own = dependencies.filter(|d| d["kind"] != "dev").map(|d| d["name"].as_str().unwrap());
        own.filter(|name| names.contains(name)).map(short).collect()
    };
    packages.iter().map(|p| (short(p["name"].as_str().unwrap()), of(p))).collect()
}

#[test]
fn crates_depend_exactly_along_the_documented_arrows() {
    let found = arrows();
    let everyone: BTreeSet<String> = found.keys().filter(|name| *name != "cli").cloned().collect();
    let names = |list: &str| -> BTreeSet<String> { list.split(", ").map(str::to_owned).collect() };
    let allowed = |cell: &str| match cell {
        "all" => everyone.clone(),
        "–" => BTreeSet::new(),
        list => names(list),
    };
    let rows = documented("Crates");
    let table: BTreeMap<String, BTreeSet<String>> =
        rows.iter().map(|row| (row[0].trim_matches('`').to_owned(), allowed(&row[2]))).collect();
    assert_eq!(found, table, "cargo metadata on the left, docs/ARCHITECTURE.md on the right");
}

#[test]
fn every_dependency_is_documented_with_its_reason() {
    let packages = packages();
    let dependencies = packages.iter().flat_map(|p| p["dependencies"].as_array().unwrap());
    let foreign = dependencies.filter(|d| d["source"].is_string()).map(|d| d["name"].as_str().unwrap().to_owned());
    let found: BTreeSet<String> = foreign.collect();
    let rows = documented("Dependencies");
    let table: BTreeSet<String> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    assert_eq!(found, table, "manifests on the left, docs/ARCHITECTURE.md on the right");
    assert!(rows.iter().all(|row| row.len() == 4 && row.iter().all(|cell| !cell.is_empty())), "{rows:?}");
}

#[test]
fn unsafe_code_lives_in_two_crates_and_in_forks_only() {
    for (name, source) in crates() {
        let root = ["lib.rs", "main.rs"].map(|f| source.join(f)).into_iter().find(|f| f.exists()).unwrap();
        let text = fs::read_to_string(&root).unwrap();
        if name == FORKS.0 {
            let code: String = sources(&source).iter().map(|path| code(path)).collect();
            assert!(text.contains("#![deny(unsafe_code)]"), "{} must deny unsafe code", root.display());
            let forks = code.matches("unsafe { Child::fork(").count();
            assert_eq!((code.matches("unsafe {").count(), forks), (FORKS.1, FORKS.1), "only forks");
        } else if !UNSAFE.contains(&name.as_str()) {
            assert!(text.contains("#![forbid(unsafe_code)]"), "{} must forbid unsafe code", root.display());
        }
    }
}

/// `./test` chooses by the names of executables: those called `pure` need nothing.
#[test]
fn tests_that_start_servers_change_systems_or_boot_guests_are_not_called_pure() {
    const NEEDS: [&str; 3] = ["common::redis::", "common::system::", "tests/numa-vm"];
    for (name, source) in crates() {
        let tests = source.with_file_name("tests");
        let entries = fs::read_dir(&tests).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in entries.filter(|path| path.is_file() || path.join("main.rs").exists()) {
            let kind = path.file_stem().unwrap().to_string_lossy();
            assert!(
                kind == "pure" || kind == "guests" || kind.starts_with("live"),
                "{name}: {kind} is no kind of test"
            );
        }
        let pure = tests.join("pure");
        let files = if pure.is_dir() { sources(&pure) } else { Vec::new() };
        // This file only names what others need.
        for path in files.iter().filter(|path| !path.ends_with("arrows.rs")) {
            let text = fs::read_to_string(path).unwrap();
            let found = NEEDS.iter().find(|need| text.contains(*need));
            assert!(found.is_none(), "{name}: {} uses {found:?}", path.display());
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    let macros = ["println!", "print!(", "eprint!(", "dbg!("];
    for (name, source) in crates().into_iter().filter(|(name, _)| name != "tiermark") {
        for path in sources(&source) {
            for line in code(&path).lines().filter(|l| !l.trim_start().starts_with("//")) {
                let found = macros.iter().find(|m| line.contains(*m));
                assert!(found.is_none(), "{name} prints in {}: {line}", path.display());
            }
        }
    }
}

/// Names that say nothing of what they name: who looks for something has to open the file.
#[test]
fn names_that_tell_nothing_do_not_come_back() {
    const MODULES: &str = "again kept long limit shell harmless watched placed place room reach mess seen sight unseen \
                           unstopped misc utils";
    const FUNCTIONS: [&str; 2] = ["fn told(", "fn told<"];
    for (name, source) in crates() {
        for path in sources(&source) {
            let inside = path.strip_prefix(&source).unwrap().with_extension("");
            let part = inside.iter().find(|part| MODULES.split(' ').any(|module| **part == *module));
            assert!(part.is_none(), "{name}: {}", inside.display());
            let code = code(&path);
            let found = FUNCTIONS.iter().find(|function| code.contains(*function));
            assert!(found.is_none(), "{name}: {found:?} in {}", inside.display());
        }
    }
}
