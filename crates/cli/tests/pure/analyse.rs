//! The examples of docs/ANALYSE.md, as a reader types them: those with jq and Python.

use std::process::Command;

use crate::common::User;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/ANALYSE.md");
const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=8G";
/// Where Debian's packages are, whatever else a user has installed.
const PYTHON: &str = "/usr/bin/python3";

/// The code below the line of the page that begins so: an item for each block.
fn examples(heading: &str) -> Vec<String> {
    let lines = PAGE.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let blocks = lines.map(|line| line.get(4..).unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let blocks: Vec<String> = blocks.split("\n\n").map(|block| block.trim().to_owned()).collect();
    let found: Vec<String> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    assert!(!found.is_empty(), "no example below '{heading}'");
    found
}

/// What a program prints, in the directory of a user who has the files of the page.
fn printed(user: &User, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(user.home.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Whether a command of the examples is here; else says why the test is skipped, which CI must not.
fn has(program: &str, arguments: &[&str], package: &str) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "CI must not skip this: install {package}");
    if !found {
        crate::common::skipped(format_args!("needs Debian's package {package} (./test installs it)"));
    }
    found
}

/// A user with a survey, its two tables, and the table of a run of another kind.
fn analyst() -> (User, Value) {
    let user = User::new();
    let run = |arguments: &[&str]| {
        user.run(&[arguments, &["--simulate", GUEST, "--sim-noise=0.002", "-q"]].concat()).expect(0)
    };
    let write = |name: &str, text: String| std::fs::write(user.path(name), text).unwrap();
    run(&["c2c", "--quick"]);
    write("other.csv", user.run(&["show", "last", "--format", "csv"]).expect(0).out);
    run(&["survey", "--quick"]);
    // The two lines before the examples.
    for (name, command) in
        [("run.csv", "tiermark show last --format csv"), ("run.ndjson", "tiermark show last --format json-rows")]
    {
        assert!(PAGE.contains(&format!("    {command} > {name}\n")), "{command}");
        write(name, user.run(&command.split(' ').skip(1).collect::<Vec<_>>()).expect(0).out);
    }
    let document = user.run(&["show", "last", "--json"]).expect(0).json();
    (user, document)
}

#[test]
fn lines_of_jq() {
    if !has("jq", &["--version"], "jq") {
        return;
    }
    let (user, document) = analyst();
    let lines = examples("jq:");
    let latencies = printed(&user, "sh", &["-c", &lines[0]]);
    let shown: Vec<(&str, f64)> = latencies
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(tier, value)| (tier, value.parse().unwrap()))
        .collect();
    let findings = crate::common::findings(&document);
    let trusted = findings.iter().filter(|f| f["metric"] == "latency" && f["verdict"]["grade"] == "trusted");
    let of = |tier: &str| trusted.clone().find(|f| f["labels"]["tier"] == tier).unwrap()["value"].as_f64().unwrap();
    assert!(shown.iter().any(|(tier, _)| *tier == "L1"), "{latencies}");
    // Memory has several: by layout and page size.
    for (tier, value) in shown.into_iter().filter(|(tier, _)| tier.starts_with('L')) {
        assert!((value / of(tier) - 1.0).abs() < 1e-9, "{tier}: {value}");
    }
    let reasons: Value = serde_json::from_str(&printed(&user, "sh", &["-c", &lines[1]])).unwrap();
    assert!(reasons.is_object(), "{reasons}");
}

#[test]
fn lines_of_pandas() {
    if !has(PYTHON, &["-c", "import pandas"], "python3-pandas") {
        return;
    }
    let (user, document) = analyst();
    let first = examples("pandas: a table of trusted rates").join("\n");
    let text = printed(&user, PYTHON, &["-c", &first]);
    for said in ["read", "write", "copy", "survey", "trusted"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let joined = printed(&user, PYTHON, &["-c", &examples("pandas: the runs of several files").join("\n")]);
    let id = document["id"].as_str().unwrap();
    for said in [id, "c2c", "survey", "latency"] {
        assert!(joined.contains(said), "{said} in {joined}");
    }
}

#[test]
fn blocks_are_kept_and_read_back() {
    if !has(PYTHON, &["-c", "import json"], "python3") {
        return;
    }
    let user = User::new();
    let run = |json: &str| {
        user.run(&["latency", "--sizes=16K", "--quick", "-q", "--simulate", GUEST, "--sim-noise=0.002", json]).expect(0)
    };
    let full = run("--json=full");
    std::fs::write(user.path("full.json"), &full.out).unwrap();
    // The saved run has them, too, and a file may have the name of the mode.
    assert_eq!(user.run(&["show", "last", "--json"]).expect(0).json(), full.json());
    run("--json=./full");
    assert!(!std::fs::read_to_string(user.path("full")).unwrap().contains("block_times"));

    let seen = &full.json()["experiments"][0]["observations"][0];
    let printed = printed(&user, PYTHON, &["-c", &examples("Python: the times of blocks").join("\n")]);
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len() as u64, seen["visits"]["count"].as_u64().unwrap(), "{printed}");
    for line in lines {
        let [step, visit, blocks, median] = line[..] else { panic!("{line:?}") };
        assert!(seen["step"] == step && visit.parse::<u32>().is_ok(), "{line:?}");
        assert!(blocks.parse::<u32>().unwrap() > 100 && (3_000.0..6_000.0).contains(&median.parse::<f64>().unwrap()));
    }
    let both = user.run(&["latency", "--json=full", "--jsonl", "--simulate", GUEST]).expect(2).err;
    assert!(both.contains("--json and --jsonl would all write to standard output"), "{both}");
}
