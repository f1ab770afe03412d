//! `compare` and `baseline`, as a user types them.

use crate::common::User;
use serde_json::{Value, json};

const GUEST: &str = "synth:cores=2,smt=1,l3=8M,mem=4G";

/// A user with runs of a simulated guest whose memory gives so many GB/s: `fast.json` 40, `slow.json` 20.
fn measured() -> User {
    User::after("measured", |user| {
        for (file, memory) in [("fast.json", "40"), ("again.json", "40"), ("slow.json", "20")] {
            let out = format!("--json={file}");
            let seed = if file == "again.json" { "--seed=2" } else { "--seed=1" };
            let command =
                ["bandwidth", "--op=read", "--sizes=32K,64M", "--threads=1,2", "--simulate", GUEST, &out, seed];
            user.run(&[&command[..], &["--sim-memory", memory]].concat()).expect(0);
        }
    })
}

/// The verdicts of the figures of the first run that is compared, with their sizes.
fn verdicts(found: &Value) -> Vec<(u64, String)> {
    let figures = found["others"][0]["figures"].as_array().unwrap();
    let of =
        |figure: &Value| (figure["labels"]["size"].as_u64().unwrap_or(0), figure["verdict"].as_str().unwrap().into());
    figures.iter().map(of).collect()
}

#[test]
fn slower_memory_is_found_and_ends_a_gate() {
    let user = measured();
    let found = user.run(&["compare", "fast.json", "slow.json", "--json"]).expect(0).json();
    assert_eq!(found["schema"], "tiermark/compare/1");
    let seen = verdicts(&found);
    assert!(seen.iter().any(|(size, verdict)| *size == 64 << 20 && verdict == "worse"), "{seen:?}");
    assert!(
        seen.iter().all(|(size, verdict)| *size != 32 << 10 || verdict != "worse"),
        "caches are as they were: {seen:?}"
    );
    user.run(&["compare", "fast.json", "slow.json", "--fail-over", "5%"]).expect(3);
    user.run(&["compare", "fast.json", "slow.json", "--fail-over", "90%"]).expect(0);
    // What became better ends no gate, whichever run comes first; each run is compared with the first.
    user.run(&["compare", "slow.json", "fast.json", "--fail-over", "5%"]).expect(0);
    user.run(&["compare", "fast.json", "again.json", "--fail-over", "5%"]).expect(0);
    user.run(&["compare", "fast.json", "again.json", "slow.json", "--fail-over", "5%"]).expect(3);
}

/// As `check` and `fleet` do: one host of a rack that wrote half of its document must not cost the others.
#[test]
fn of_several_documents_those_that_are_cut_are_named_and_the_others_are_shown() {
    let user = measured();
    let whole = std::fs::read(user.path("again.json")).unwrap();
    std::fs::write(user.path("empty.json"), b"").unwrap();
    std::fs::write(user.path("cut.json"), &whole[..whole.len() / 2]).unwrap();
    let compared = user.run(&["compare", "fast.json", "empty.json", "again.json", "cut.json", "--json"]).expect(5);
    assert!(
        compared.err.contains("left out: run document 'empty.json'")
            && compared.err.contains("left out: run document 'cut.json'")
    );
    let found = compared.json();
    assert_eq!(found["others"].as_array().unwrap().len(), 1);
    user.run(&["compare", "fast.json", "cut.json", "slow.json", "--fail-over", "5%"]).expect(3);
    let report = user.run(&["report", "empty.json", "fast.json", "slow.json", "--html", "page.html"]).expect(5);
    assert!(report.err.contains("left out: run document 'empty.json'"), "{}", report.err);
    let page = || std::fs::read_to_string(user.path("page.html")).unwrap();
    assert!(page().starts_with("<!doctype html") && page().contains("left out: run document &#39;empty.json&#39;"));
    // The path of a file may name its owner; the page of one document has a list, too.
    user.run(&["report", "empty.json", "fast.json", "cut.json", "--html", "page.html", "--redact"]).expect(5);
    assert!(page().contains("left out: 2 documents could not be read") && !page().contains("empty.json"));
    user.run(&["compare", "fast.json", "empty.json", "again.json", "--html", "page.html"]).expect(5);
    assert!(page().contains("left out: run document &#39;empty.json&#39;"));
    // Others are compared with the first; of two documents both are needed.
    let refused = user.run(&["compare", "cut.json", "fast.json", "slow.json"]).expect(2).err;
    assert!(refused.contains("the first run"), "{refused}");
    user.run(&["compare", "fast.json", "cut.json", "empty.json"]).expect(2);
    user.run(&["compare", "fast.json", "cut.json"]).expect(2);
    user.run(&["report", "fast.json", "cut.json", "--html", "page.html"]).expect(2);
    user.run(&["report", "cut.json", "empty.json", "cut.json", "--html", "page.html"]).expect(2);
}

#[test]
fn a_gate_that_cannot_judge_is_not_passed() {
    let user = measured();
    let run = |file: &str, sizes: &str, machine: &str| {
        let (json, sizes) = (format!("--json={file}"), format!("--sizes={sizes}"));
        let command = ["bandwidth", "--op=read", &sizes, "--threads=1,2", "--simulate", machine, &json];
        user.run(&[&command[..], &["--sim-memory", "40"]].concat()).expect(0);
    };
    run("less.json", "32K", GUEST);
    let told = user.run(&["compare", "fast.json", "less.json", "--fail-over", "5%"]).expect(5).err;
    assert!(told.contains("gate not judged") && told.contains("64 MiB"), "{told}");
    // What only the other run has is no loss.
    user.run(&["compare", "less.json", "fast.json", "--fail-over", "5%"]).expect(0);
    run("other.json", "32K,64M", "synth:cores=2,smt=1,l3=8M,mem=8G");
    let told = user.run(&["compare", "fast.json", "other.json", "--fail-over", "5%"]).expect(5).err;
    assert!(told.contains("different machines"), "{told}");
    let told = user.run(&["compare", "fast.json", "slow.json", "--fail-over", "5%"]).expect(3).err;
    assert!(told.contains("gate failed") && told.contains("64 MiB"), "{told}");
    assert!(user.run(&["compare", "fast.json", "fast.json"]).expect(0).err.contains("the same run"));
}

/// Whole surveys of one machine, each with pages and noise of its own.
#[test]
fn surveys_of_an_unchanged_machine_raise_no_alarm() {
    let user = User::new();
    let files = ["a.json", "b.json", "c.json"];
    for (file, seed) in files.iter().zip(100..) {
        let (json, seed) = (format!("--json={file}"), format!("--seed={seed}"));
        let server = "synth:sockets=2,cores=8,smt=2,mem=64G";
        user.run(&["survey", "--quick", "--simulate", server, &json, &seed, "--no-save"]).measured();
    }
    for (at, first) in files.iter().enumerate() {
        for other in &files[at + 1..] {
            let found = user.run(&["compare", first, other, "--json"]).expect(0).json();
            let figures = found["others"][0]["figures"].as_array().unwrap();
            let of = |figure: &Value| (figure["verdict"].clone(), figure["metric"].clone(), figure["labels"].clone());
            let moved = figures.iter().find(|figure| ["better", "worse"].iter().any(|word| figure["verdict"] == *word));
            assert!(moved.is_none(), "{first} {other}: {:?}", moved.map(of));
            // Caches that are found some percent apart are measured with the same footprint.
            let l3 = figures
                .iter()
                .filter(|figure| figure["labels"]["tier"] == "L3" && figure["unit"] == "bytes_per_second");
            for figure in l3 {
                assert_eq!(figure["first"]["size"], figure["other"]["size"], "{first} {other}: {:?}", of(figure));
            }
        }
    }
    // A gate does not pass what it cannot compare: an L2 that was measured with another footprint.
    let mut run: Value = serde_json::from_slice(&std::fs::read(user.path("a.json")).unwrap()).unwrap();
    for experiment in run["experiments"].as_array_mut().unwrap() {
        for of in ["findings", "observations"] {
            for one in experiment[of].as_array_mut().unwrap() {
                if one["labels"]["tier"] == "L2" && one["labels"]["size"].is_u64() {
                    one["labels"]["size"] = (one["labels"]["size"].as_u64().unwrap() + 4096).into();
                }
            }
        }
    }
    std::fs::write(user.path("moved.json"), run.to_string()).unwrap();
    let told = user.run(&["compare", "a.json", "moved.json", "--fail-over", "5%"]).expect(5).err;
    assert!(told.contains("working set of a thread 128 KiB against 132 KiB") && told.contains("L2"), "{told}");
}

/// Numbers of busy guests are bounds, of which two say nothing about a change.
#[test]
fn a_gate_whose_numbers_are_all_unsure_is_not_passed() {
    let user = measured();
    for file in ["fast.json", "slow.json"] {
        let mut run: Value = serde_json::from_slice(&std::fs::read(user.path(file)).unwrap()).unwrap();
        for experiment in run["experiments"].as_array_mut().unwrap() {
            for finding in experiment["findings"].as_array_mut().unwrap() {
                finding["verdict"] =
                    json!({"grade": "bound", "reasons": [{"reason": "too_few", "windows": 1, "visits": 1}]});
            }
        }
        std::fs::write(user.path(file), run.to_string()).unwrap();
    }
    let told = user.run(&["compare", "fast.json", "slow.json", "--fail-over", "5%"]).expect(5).err;
    assert!(told.contains("gate not judged") && told.contains("unsure") && told.contains("64 MiB"), "{told}");
}

#[test]
fn a_gate_of_different_machines_does_not_fail() {
    let user = measured();
    let slow = std::fs::read_to_string(user.path("slow.json")).unwrap();
    let run: Value = serde_json::from_str(&slow).unwrap();
    let model = run["machine"]["cpu_model"]["name"].as_str().unwrap().to_owned();
    std::fs::write(user.path("other.json"), slow.replace(&model, "Another processor")).unwrap();
    let told = user.run(&["compare", "fast.json", "other.json", "--fail-over", "5%"]).expect(5).err;
    assert!(told.contains("different machines"), "{told}");
}

#[test]
fn a_strict_gate_has_a_strict_threshold() {
    let user = measured();
    let threshold = |more: &[&str]| {
        let command = [&["compare", "fast.json", "fast.json", "--json"], more].concat();
        user.run(&command).expect(0).json()["threshold"].as_f64().unwrap()
    };
    assert_eq!(threshold(&[]), 0.03);
    assert_eq!(threshold(&["--fail-over", "1%"]), 0.01);
    assert_eq!(threshold(&["--fail-over", "9"]), 0.03);
    assert_eq!(threshold(&["--fail-over", "2%", "--threshold", "1%"]), 0.01);
    // A change between the two would neither count nor fail.
    user.run(&["compare", "fast.json", "fast.json", "--fail-over", "1%", "--threshold", "2%"]).expect(2);
}

#[test]
fn a_baseline_is_compared_by_its_name() {
    let user = measured();
    user.run(&["baseline", "set", "good", "fast.json"]).expect(0);
    // The newest saved run is the slow one.
    user.run(&["compare", "--baseline", "good", "last", "--fail-over", "5%"]).expect(3);
    user.run(&["compare", "--baseline", "good", "--fail-over", "5%"]).expect(3);
    let list = user.run(&["baseline", "list", "--json"]).expect(0).json();
    assert_eq!((&list["schema"], &list["what"]), (&"tiermark/list/1".into(), &"baselines".into()));
    assert_eq!(list["items"][0]["name"], "good");
    assert!(user.run(&["baseline", "list"]).expect(0).out.contains("good"));
    user.run(&["baseline", "set", "good"]).expect(0);
    let found = user.run(&["compare", "--baseline", "good", "last", "--json"]).expect(0).json();
    assert_eq!(found["first"]["id"], found["others"][0]["run"]["id"], "the newest replaced it");
    user.run(&["baseline", "remove", "good"]).expect(0);
    user.run(&["compare", "--baseline", "good", "last"]).expect(2);
}

#[test]
fn a_baseline_of_two_runs_is_compared_by_its_mean() {
    let user = measured();
    user.run(&["baseline", "set", "good", "fast.json"]).expect(0);
    user.run(&["baseline", "add", "good", "again.json"]).expect(0);
    assert!(user.run(&["baseline", "add", "good", "again.json"]).expect(2).err.contains("already"));
    assert!(user.run(&["baseline", "list"]).expect(0).out.contains("2 runs"));
    let found = user.run(&["compare", "--baseline", "good", "slow.json", "--json"]).expect(0).json();
    assert_eq!(found["more_first"].as_array().unwrap().len(), 1);
    assert_eq!(found["others"][0]["figures"][0]["first"]["runs"], 2);
    let out = user.run(&["compare", "--baseline", "good", "slow.json"]).expect(0).out;
    assert!(out.contains("means with 1 more") && out.contains("scatter by"), "{out}");
    user.run(&["compare", "--baseline", "good", "slow.json", "--fail-over", "5%"]).expect(3);
}

#[test]
fn reports_fit_the_terminal_and_markdown_has_its_tables() {
    let user = measured();
    for more in [&[][..], &["-v"], &["--machines"], &["--ascii", "--units=both"]] {
        let out = user.run(&[&["compare", "fast.json", "slow.json"], more].concat()).expect(0).out;
        assert!(out.lines().all(|line| line.chars().count() <= 80) && out.contains("worse"), "{out}");
    }
    let out = user.run(&["compare", "fast.json", "slow.json", "--format", "markdown"]).expect(0).out;
    assert!(out.starts_with("### tiermark compare\n") && out.contains("| worse |") && out.contains("| --- |"), "{out}");
}

/// A comparison that is to be shared names neither files nor hosts. (A host that could be a number in hexadecimal is
/// found in pseudonyms by chance.)
#[test]
fn a_redacted_comparison_names_nobody() {
    let user = measured();
    for (file, host) in [("fast.json", "north"), ("slow.json", "south")] {
        let mut run: Value = serde_json::from_slice(&std::fs::read(user.path(file)).unwrap()).unwrap();
        run["machine"]["system"]["hostname"] = host.into();
        run["machine"]["system"]["kernel"] = format!("6.1 of {host}").into();
        std::fs::write(user.path(file), run.to_string()).unwrap();
    }
    for more in [&[][..], &["--json"], &["--format=markdown"], &["--html=-"]] {
        let shown = user.run(&[&["compare", "fast.json", "slow.json"], more].concat()).expect(0).out;
        assert!(shown.contains("fast.json"), "{shown}");
        let shown = user.run(&[&["compare", "fast.json", "slow.json", "--redact"], more].concat()).expect(0).out;
        assert!(!["fast.json", "slow.json", "north", "south"].iter().any(|name| shown.contains(name)), "{shown}");
    }
}

#[test]
fn only_runs_of_probes_are_compared() {
    let user = User::new();
    let load = serde_json::json!({ "schema": "tiermark/load/1" });
    std::fs::write(user.path("load.json"), load.to_string()).unwrap();
    user.run(&["compare", "load.json", "load.json"]).expect(2);
    std::fs::write(user.path("empty.json"), "").unwrap();
    user.run(&["compare", "empty.json", "empty.json"]).expect(2);
}
