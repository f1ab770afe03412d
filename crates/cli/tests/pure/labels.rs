//! Labels of documents, and the names of hosts.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::User;

/// A short run on a small simulated machine.
const SHORT: [&str; 6] = ["latency", "--quick", "--sizes=32K", "--simulate=synth:cores=2", "-q", "--no-save"];

#[test]
fn labels_are_kept_in_the_document() {
    let user = User::new();
    let labels = ["--label=host=node07,rack=3", "--label", "asset=A 17", "--json"];
    let run = user.run(&[&SHORT[..], &labels].concat()).expect(0).json();
    assert_eq!(run["labels"], serde_json::json!({"host": "node07", "rack": "3", "asset": "A 17"}));
    assert_eq!(user.run(&[&SHORT[..], &["--json"]].concat()).expect(0).json().get("labels"), None);
}

#[test]
fn labels_that_no_document_can_have_are_refused() {
    let user = User::new();
    for (label, why) in [
        ("rack", "write KEY=VALUE"),
        ("my rack=3", "letters (A to Z)"),
        ("rack=", "the value of 'rack'"),
        ("rack=1,rack=2", "it is given twice"),
    ] {
        for command in
            [&SHORT[..], &["run", "quick", "--simulate=synth:cores=2"], &["capacity", "--scenario=mini", "--dry-run"]]
        {
            let err = user.run(&[command, &["--label", label]].concat()).expect(2).err;
            let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(err.contains(why), "{label}: {err}");
        }
    }
    let load = user.run(&["load", "--target=127.0.0.1:1", "--label=rack=1", "--label=rack=2"]).expect(2).err;
    assert!(load.contains("it is given twice"), "{load}");
}

/// The option that starts a run so many seconds from now.
fn at(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    format!("--at=@{}", now.strict_add_signed(seconds))
}

#[test]
fn a_run_starts_at_its_time() {
    let user = User::new();
    let loud: Vec<&str> = SHORT.into_iter().filter(|word| *word != "-q").collect();
    let begun = Instant::now();
    let ran = user.run(&[&loud[..], &[&at(4), "--json"]].concat()).expect(0);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(ran.err.contains("waiting until 20") && !ran.out.contains("start_missed"), "{}", ran.err);
}

#[test]
fn a_time_that_has_passed_starts_at_once_and_one_too_far_ahead_is_refused() {
    let user = User::new();
    let ran = user.run(&[&SHORT[..], &["--at=2026-01-01T00:00:00+01:00", "--json"]].concat()).expect(0);
    let warnings = ran.json()["warnings"].clone();
    assert!(warnings.as_array().unwrap().iter().any(|warning| warning["code"] == "start_missed"), "{warnings}");
    for (time, why) in [
        (at(25 * 3600), "25 hours ahead"),
        ("--at=2026-01-01T00:00:00".to_owned(), "a time with its zone"),
        ("--at=@soon".to_owned(), "a time with its zone"),
    ] {
        let err = user.run(&[&SHORT[..], &[&time]].concat()).expect(2).err;
        assert!(err.contains(why), "{time}: {err}");
    }
    let load = user.run(&["load", "--target=127.0.0.1:1", "--fill-only", &at(60)]).expect(2).err;
    assert!(load.contains("leave one out"), "{load}");
    // What can be found out before is said at once.
    user.run(&[&SHORT[..], &[&at(60), "--cpus=99"]].concat()).expect(4);
}

/// A user with runs of three simulated hosts, of which the last has slower memory.
fn fleet() -> User {
    User::after("fleet", |user| {
        std::fs::create_dir(user.path("archive")).unwrap();
        for (file, host, memory) in [(FLEET[0], "node07", "20"), (FLEET[1], "node08", "20"), (FLEET[2], "node09", "12")]
        {
            let labels = format!("--label=host={host},rack=3");
            let (file, memory) = (format!("--json={file}"), format!("--sim-memory={memory}"));
            let words = ["survey", "--quick", "--simulate=synth:cores=2", "-q", "--seed=7", &memory, &labels, &file];
            user.run(&words).expect(0);
        }
    })
}

/// Files of the fleet's runs.
const FLEET: [&str; 3] = ["archive/node07.json", "archive/node08.json", "archive/node09.json"];

#[test]
fn hosts_have_names_in_every_view() {
    let user = fleet();
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let show = words(user.run(&["show", FLEET[0]]).expect(0).out);
    assert!(show.starts_with("tiermark survey · node07 ·") && show.contains("Labels: rack=3"), "{show}");
    for list in [&["list", "runs"][..], &["history", "--all", "--simulate=synth:cores=2"]] {
        let out = user.run(list).expect(0).out;
        assert!(out.lines().next().unwrap().contains("host"), "{out}");
        assert!(["node07", "node08"].iter().all(|host| out.contains(host)), "{out}");
    }
    let compared = ["compare", FLEET[0], FLEET[1]];
    let found = user.run(&[&compared[..], &["--json", "--html=changes.html"]].concat()).expect(0).json();
    assert_eq!((&found["first"]["host"], &found["others"][0]["run"]["host"]), (&"node07".into(), &"node08".into()));
    assert!(user.run(&compared).expect(0).out.contains(", node08, "));
    let page = |name: &str| std::fs::read_to_string(user.path(name)).unwrap();
    assert!(page("changes.html").contains("node08.json compared with archive/node07.json"));
    user.run(&["report", FLEET[0], FLEET[1], "--html=both.html"]).expect(0);
    assert!(page("both.html").contains("tiermark survey of node08") && page("both.html").contains("<dt>rack</dt>"));
    let csv = user.run(&["show", FLEET[1], "--format=csv"]).expect(0).out;
    assert!(csv.lines().next().unwrap().contains(",host,") && csv.lines().skip(1).all(|row| row.contains(",node08,")));
    let metrics = user.run(&["show", FLEET[1], "--format=openmetrics"]).expect(0).out;
    assert!(metrics.contains("tiermark_run_info{host=\"node08\",label_rack=\"3\","), "{metrics}");
}

#[test]
fn a_redacted_host_has_one_pseudonym_in_all_calls() {
    let user = fleet();
    let host = |name: &str| {
        let run = user.run(&["show", name, "--redact", "--json"]).expect(0);
        assert!(!run.out.contains(&name[8..14]) && !run.out.contains("rack=3"), "{}", run.out);
        let labels = &run.json()["labels"];
        (labels["host"].as_str().unwrap().to_owned(), labels["rack"].clone())
    };
    let (one, other) = (host(FLEET[0]), host(FLEET[1]));
    assert!(one.0.starts_with("host-") && one.0 != other.0 && one.1 == other.1, "{one:?} {other:?}");
    let compared = user.run(&["compare", FLEET[0], FLEET[1], "--redact", "--json"]).expect(0).json();
    assert_eq!(compared["others"][0]["run"]["host"], other.0.as_str());
    // Another user has another key; where none can be kept, the pseudonyms are of the call.
    std::fs::remove_file(user.path("pseudonyms.key")).unwrap();
    assert_ne!(host(FLEET[0]), one);
    std::fs::write(user.path("pseudonyms.key"), "mine").unwrap();
    let said = user.run(&["show", FLEET[0], "--redact"]).expect(0).err;
    assert!(said.contains("pseudonyms.key: not 32 hex digits"), "{said}");
}

#[test]
fn several_runs_are_judged_in_one_table() {
    let user = fleet();
    let judged = |limit: &str, runs: &[&str], more: &[&str], code: i32| {
        let expectations = format!("[[expect]]\nthat = \"latency.dram.local <= {limit}\"\n");
        std::fs::write(user.path("limit.toml"), expectations).unwrap();
        user.run(&[&["check", "--expect=limit.toml"], runs, more].concat()).expect(code)
    };
    let with_gap = ["archive/node07.json", "gone.json", "archive/node08.json"];
    let text = judged("1 ns", &with_gap, &[], 3).out;
    assert!(text.contains("FAILED: 2 of 3 runs failed, 0 passed, 1 unreadable"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let row = |host: &str| text.lines().position(|line| line.trim_start().starts_with(host)).unwrap();
    assert!(row("node07") < row("gone.json") && row("node08") < row("gone.json"), "{text}");
    assert!(words.contains("latency.dram.local <= 1 ns: ") && words.contains("is neither a file nor"), "{text}");
    let found = judged("1 ns", &with_gap, &["--json"], 3).json();
    assert_eq!((&found["schema"], &found["runs"][1]["verdict"]), (&"tiermark/checks/1".into(), &"unreadable".into()));
    assert_eq!(found["runs"][2]["check"]["run"]["host"], "node08");
    // What failed is worse than what could not be read, and that worse than what passed.
    judged("1000 ns", &with_gap, &[], 4);
    judged("1000 ns", &FLEET, &[], 0);
    let whole = judged("1 ns", &FLEET[..2], &["-v"], 3).out;
    assert_eq!(whole.lines().filter(|line| line.starts_with("FAILED: ")).count(), 3, "{whole}");
    judged("1 ns", &FLEET, &["--list"], 2);
    // One run is judged as ever.
    assert_eq!(judged("1 ns", &FLEET[..1], &["--json"], 3).json()["schema"], "tiermark/check/1");
}

#[test]
fn many_runs_are_compared_by_damage() {
    let user = fleet();
    let text = user.run(&[&["compare"], &FLEET[..]].concat()).expect(0).out;
    let (summary, details) = text.split_once("\nfirst").unwrap();
    let row = |host: &str| summary.lines().position(|line| line.trim_start().starts_with(host)).unwrap();
    assert!(row("node09") < row("node08") && summary.contains(" worse"), "{text}");
    assert!(summary.contains("no change shown") && details.contains("node09"), "{text}");
    // Two runs have no order.
    assert!(user.run(&["compare", FLEET[0], FLEET[2]]).expect(0).out.starts_with("first"));
}

#[test]
fn a_page_of_many_runs_begins_with_an_index() {
    let user = fleet();
    let page = |words: &[&str]| {
        user.run(&[words, &FLEET[..], &["--html=page.html"]].concat()).expect(0);
        std::fs::read_to_string(user.path("page.html")).unwrap()
    };
    let report = page(&["report"]);
    let index = report.split_once("<nav").unwrap().1.split_once("</nav>").unwrap().0;
    assert!(index.contains("<a href=\"#sheet-2\">node09</a>") && index.contains(".dram."), "{index}");
    let slow = index.split("<tr>").find(|row| row.contains("node09")).unwrap();
    assert!(slow.contains("(-"), "{slow}");
    let compared = page(&["compare"]);
    let index = compared.split_once("<nav").unwrap().1.split_once("</nav>").unwrap().0;
    assert!(index.find("#sheet-1\">node09").unwrap() < index.find("#sheet-0\">node08").unwrap(), "{index}");
}

#[test]
fn a_host_has_a_history_in_an_archive() {
    let user = fleet();
    let archive = ["history", "--from=archive", "--simulate=synth:cores=2"];
    std::fs::create_dir(user.path("archive/old")).unwrap();
    std::fs::copy(user.path(FLEET[2]), user.path("archive/old/again.json")).unwrap();
    std::fs::write(user.path("archive/node10.failed.json"), "{}").unwrap();
    let all = user.run(&archive).expect(0).out;
    assert!(
        ["node07", "node08", "node09"].iter().all(|host| all.contains(host)) && !all.contains("Unreadable"),
        "{all}"
    );
    let found = user.run(&[&archive[..], &["--host=node09", "--json"]].concat()).expect(0).json();
    assert_eq!((found["runs"].as_array().unwrap().len(), &found["elsewhere"]), (2, &2.into()));
    let latency = user.run(&[&archive[..], &["--host=node09", "latency.dram"]].concat()).expect(0).out;
    assert!(latency.contains("DRAM"), "{latency}");
    let none = user.run(&[&archive[..], &["--host=node99"]].concat()).expect(0).out;
    let none = none.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        none.contains("No run of host node99 is in archive.") && none.contains("those of node07, node08, node09"),
        "{none}"
    );
    assert!(!user.path("index-6.jsonl").exists(), "an archive is left as it is");
    user.run(&["history", "--from=nowhere"]).expect(2);
    user.run(&["history", "--from=archive", "latency.dram"]).expect(2);
    // The saved runs have hosts too.
    let saved = user.run(&["history", "--host=node08", "--simulate=synth:cores=2", "--json"]).expect(0).json();
    assert_eq!((&saved["host"], saved["runs"].as_array().unwrap().len()), (&"node08".into(), 1));
}
