//! `check`, as a user types it, and the counters that every run reads.

use std::fs;
use std::path::Path;

use crate::common::{Ran, User};
use serde_json::Value;
use tiermark_machine::synth::Synth;

const SERVER: &str = "synth:sockets=2,cores=4,smt=2,mem=16G";

/// A user with a saved survey of a simulated server.
fn surveyed() -> User {
    User::after("surveyed", |user| drop(user.run(&["survey", "--quick", "--simulate", SERVER, "-q"]).expect(0)))
}

/// Judges the last run by one expectation: the exit code and the result.
fn judged(user: &User, that: &str, code: i32) -> Value {
    fs::write(user.path("one.toml"), format!("[[expect]]\nthat = \"{that}\"\nwhy = \"a reason\"\n")).unwrap();
    let found = user.run(&["check", "last", "--expect", "one.toml", "--json"]).expect(code).json();
    assert_eq!(found["schema"], "tiermark/check/1");
    found["results"][0].clone()
}

#[test]
fn a_run_is_judged_by_rules_of_thumb() {
    let user = surveyed();
    // The simulated server has no table of modules, as one whose user is not root: its memory is not judged.
    let found = user.run(&["check", "last", "--expect", "auto", "--json"]).expect(5).json();
    let outcome = |that: &str| {
        let results = found["results"].as_array().unwrap();
        let one = results.iter().find(|result| result["that"].as_str().unwrap().starts_with(that)).unwrap();
        one["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome("latency.dram.remote / latency.dram.local"), "passed");
    assert_eq!(outcome("pages.huge"), "passed");
    assert_eq!([outcome("read.dram.all"), outcome("edac.corrected")], ["unjudged", "unjudged"]);
    let Ran { out: text, err, .. } = user.run(&["check"]).expect(5);
    assert!(text.contains("expectations not judged; 0 failed, "), "{text}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains("required, but not judged: read.dram.all >= 0.7 x peak"), "{text}");
    assert!(err.contains("only root can read"), "{err}");
    let survey = user.run(&["show"]).expect(0).out;
    assert!(words(&survey).contains("not judged: `tiermark check` says what is missing"), "{survey}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Who accepts a server wants all of them judged.
    user.run(&["check", "--strict"]).expect(5);
    let told = user.run(&["check", "server.toml"]).expect(2).err;
    assert!(told.contains("--expect server.toml"), "{told}");
    assert!(user.run(&["check", "--ascii"]).expect(5).out.is_ascii());
    // What the program prints as its rules is a file that it takes.
    fs::write(user.path("rules.toml"), user.run(&["check", "--rules"]).expect(0).out).unwrap();
    let own = user.run(&["check", "--expect", "rules.toml", "--json"]).expect(5).json();
    assert_eq!(own["results"], found["results"]);
}

#[test]
fn exit_codes_say_passed_failed_or_nothing_judged() {
    let user = surveyed();
    assert_eq!(judged(&user, "latency.dram.local <= 120 ns", 0)["outcome"], "passed");
    let failed = judged(&user, "latency.dram.remote <= 120 ns", 3);
    assert_eq!((&failed["outcome"], &failed["why"]), (&"failed".into(), &"a reason".into()));
    assert_eq!(failed["worst"]["place"], "cpus of node 0, memory of node 1");
    assert_eq!(judged(&user, "read.dram.all >= 150 GB/s", 0)["worst"]["place"], "nodes 0-1");
    let unknown = judged(&user, "triad.dram.all >= 1 GB/s", 5);
    assert_eq!(unknown["reasons"][0]["code"], "figure_not_measured");
    let said = user.run(&["check", "--expect", "one.toml"]).expect(5);
    assert!(
        said.out.starts_with("NOT JUDGED: ")
            && said.out.contains("bandwidth --op triad")
            && said.err.contains("no expectation"),
        "{}",
        said.out
    );
}

/// Who signs it must see for which server, which run and which limits, and what the limits do not see.
#[test]
fn a_verdict_can_be_signed() {
    const SURVEY: [&str; 7] = ["survey", "--quick", "--simulate", SERVER, "--label", "serial=7H2K", "-q"];
    const LIMITS: &str = "[[expect]]\nthat = \"latency.dram <= 1000 ns\"\n\
                          [[expect]]\nthat = \"read.dram.all >= 1 GB/s\"\n\
                          [[expect]]\nthat = \"read.l3.one / read.dram.one >= 0.1\"\n";
    let user = User::after("labelled", |user| drop(user.run(&SURVEY).expect(0)));
    fs::write(user.path("limits.toml"), LIMITS).unwrap();
    let check = |options: &[&str]| user.run(&[&["check", "--expect", "limits.toml"], options].concat()).expect(0).out;
    let found: Value = serde_json::from_str(&check(&["--json"])).unwrap();
    assert_eq!((&found["verdict"], &found["labels"]["serial"]), (&"passed".into(), &"7H2K".into()));
    let sum = std::process::Command::new("sha256sum").arg(user.path("limits.toml")).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let sum = sum.split_whitespace().next().unwrap();
    assert_eq!(found["sha256"], *sum);
    let unlimited: Vec<&str> = found["unlimited"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["latency.l3", "read.l3.one", "read.dram.one", "latency.dram.remote"] {
        assert!(unlimited.contains(&name), "{name}: {unlimited:?}");
    }
    for name in ["latency.dram", "read.dram.all", "latency.l2"] {
        assert!(!unlimited.contains(&name), "{name}: {unlimited:?}");
    }
    let markdown = check(&["--format", "markdown"]);
    assert!(markdown.contains("PASSED: ") && markdown.contains("7H2K") && markdown.contains(sum), "{markdown}");
    assert!(markdown.contains("| expectation | found |") && markdown.contains("| ✔ latency.dram"), "{markdown}");
    assert!(check(&["--html", "sign.html"]).starts_with("PASSED: "));
    let page = fs::read_to_string(user.path("sign.html")).unwrap();
    for part in ["PASSED", "7H2K", sum, "limits.toml", "Signature", "read.dram.one"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for once in [sum, "7H2K"] {
        assert_eq!(page.matches(once).count(), 1, "{once}: {page}");
    }
    assert!(!page.contains("Drag over"), "there is no chart: {page}");
    let several = user.run(&["check", "last", "last", "--expect", "limits.toml", "--html", "-"]).expect(0).out;
    assert!(several.starts_with("<!doctype html>") && several.matches("Signature").count() == 2, "{several}");
}

#[test]
fn mistakes_have_line_character_and_suggestion() {
    let user = surveyed();
    fs::write(user.path("bad.toml"), "[[expect]]\nthat = \"read.drm.all >= 1 GB/s\"\n\n[[expect]]\nwy = 1\n").unwrap();
    let said = user.run(&["check", "--expect", "bad.toml"]).expect(2).err;
    for part in [
        "line 2: expect 1.that: character 1: unknown name 'read.drm.all'",
        "did you mean 'read.dram.all'?",
        "expect 2.wy",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = user.run(&["check", "--expect", "nowhere.toml"]).expect(2).err;
    assert!(said.contains("--expect 'nowhere.toml'") && said.contains("auto"), "{said}");
    // As of several runs.
    fs::write(user.path("other.json"), "{}").unwrap();
    for run in ["no-such-run", "nofile.json", "other.json"] {
        user.run(&["check", run]).expect(4);
    }
    assert!(User::new().run(&["check"]).expect(4).err.contains("last"));
    let list = user.run(&["check", "--list"]).expect(0).out;
    for name in ["latency.l1", "read.dram.remote.one", "edac.corrected.boot"] {
        assert!(list.contains(name), "{list}");
    }
}

/// A simulated machine in a directory, with some files of its own.
fn tree(directory: &Path, machine: &Synth, own: &[(&str, &str)]) -> String {
    let mut files = machine.files();
    files.extend(own.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    for (path, text) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory.display().to_string()
}

/// Memory errors and throttling that the system counted.
const COUNTED: [(&str, &str); 3] = [
    ("sys/devices/system/edac/mc/mc0/ce_count", "7"),
    ("sys/devices/system/edac/mc/mc0/ue_count", "0"),
    ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "2"),
];

/// A guest, whose memory is judged by no table of modules.
const GUEST: (&str, &str) =
    ("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu lm sse2 avx2 hypervisor\n");

/// A group that gets half a cpu.
const QUOTA: [(&str, &str); 5] = [
    GUEST,
    ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
    ("proc/self/cgroup", "0::/box"),
    ("sys/fs/cgroup/box/cpu.max", "50000 100000"),
    ("sys/fs/cgroup/box/cpu.stat", "nr_throttled 812"),
];

/// A default of many systems is no fault of a server: the survey warns, and `check` passes.
#[test]
fn a_setting_is_no_fault_of_a_server() {
    let user = User::new();
    let own = [GUEST, ("proc/sys/kernel/numa_balancing", "1")];
    let machine = tree(&user.path("balanced"), &Synth { sockets: 2, ..Synth::default() }, &own);
    user.run(&["doctor", "--root", &machine]).expect(3);
    user.run(&["check", "--run", "--simulate", &machine, "--", "--quick", "-q"]).expect(0);
    let report = user.run(&["show"]).expect(0).out;
    assert!(report.contains("`tiermark doctor` finds: NUMA balancing"), "{report}");
}

#[test]
fn a_problem_of_doctor_fails_the_run_and_its_survey() {
    let user = User::new();
    let check = ["check", "--run", "--json", "--", "--quick", "-q"];
    for (name, own, problem) in [
        ("healthy", vec![GUEST], None),
        (
            "quota",
            QUOTA.to_vec(),
            Some(
                "cpu quota (0.50 cpus by /sys/fs/cgroup/box/cpu.max; stopped 812 times so far; affects figures of \
                    several threads)",
            ),
        ),
        (
            "throttled",
            vec![
                GUEST,
                ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
                ("proc/self/cgroup", "0::/box"),
                ("sys/fs/cgroup/box/memory.high", "2147483648"),
                ("sys/fs/cgroup/box/memory.events", "low 0\nhigh 18233\nmax 0"),
            ],
            Some(
                "memory limit (2 GiB by /sys/fs/cgroup/box/memory.high, which throttles, throttled 18233 times so \
                    far; affects latencies and rates of DRAM)",
            ),
        ),
    ] {
        let machine = tree(&user.path(name), &Synth { sockets: 2, ..Synth::default() }, &own);
        let code = if problem.is_some() { 3 } else { 0 };
        user.run(&["doctor", "--root", &machine]).expect(code);
        let found = user.run(&[&["--simulate", &machine], &check[..]].concat()).expect(code).json();
        let results = found["results"].as_array().unwrap();
        let rule = results.iter().find(|result| result["that"] == "doctor.problems <= 0").unwrap();
        assert_eq!(rule["worst"]["place"].as_str(), problem, "{name}");
        // The report of the survey says the same, by its name.
        let report = user.run(&["show"]).expect(0).out;
        let result = report.split("RESULT").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = problem.map_or("as expected: ".to_owned(), |problem| {
            format!("1 problem that may change these figures: {problem}")
        });
        assert!(result.contains(&expected), "{name}: {report}");
    }
}

#[test]
fn counters_are_in_the_document_where_the_system_has_them() {
    let user = User::new();
    let simulated = tree(&user.path("machine"), &Synth::default(), &COUNTED);
    let arguments = ["latency", "--quick", "--sizes=32K", "--simulate", &simulated, "--json", "-q"];
    let run = user.run(&arguments).expect(0).json();
    assert_eq!(run["health"]["memory"][0]["corrected"], serde_json::json!({ "before": 7, "after": 7, "grew": 0 }));
    assert_eq!(run["health"]["throttling"][0]["cores"]["before"], 2);
    assert_eq!(run["health"]["throttling"][0]["whole"], Value::Null);
    assert!(run["warnings"].as_array().unwrap().iter().all(|warning| warning["code"] != "corrected_errors_grew"));
    assert_eq!(judged(&user, "edac.corrected <= 0", 0)["outcome"], "passed");
    let since_boot = judged(&user, "edac.corrected.boot <= 0", 3);
    assert_eq!(since_boot["worst"]["place"], "mc0");
    // `doctor` reads the same counters.
    let checks = user.run(&["doctor", "--root", &simulated, "--json"]);
    let checks = checks.json()["checks"].as_array().unwrap().clone();
    let health = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap()["health"].clone();
    assert_eq!((health("memory errors"), health("thermal throttling")), ("note".into(), "note".into()));
    // A machine without such counters has none in its documents.
    let none = user.run(&["latency", "--quick", "--sizes=32K", "--simulate", SERVER, "--json", "-q"]).expect(0).json();
    assert_eq!(none["health"], Value::Null);
}
