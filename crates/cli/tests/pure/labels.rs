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
    let ran = user.run(&[&loud[..], &[&at(2)]].concat()).expect(0);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(ran.err.contains("waiting until 20"), "{}", ran.err);
    let quiet = user.run(&[&SHORT[..], &[&at(1), "--json"]].concat()).expect(0);
    assert!(quiet.err.is_empty() && !quiet.out.contains("start_missed"), "{}", quiet.err);
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

/// A user with runs of two simulated hosts.
fn fleet() -> User {
    User::after("fleet", |user| {
        for host in ["node07", "node08"] {
            let labels = format!("--label=host={host},rack=3");
            let file = format!("--json={host}.json");
            let words = ["survey", "--quick", "--simulate=synth:cores=2", "-q", "--seed=7", &labels, &file];
            user.run(&words).expect(0);
        }
    })
}

#[test]
fn hosts_have_names_in_every_view() {
    let user = fleet();
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let show = words(user.run(&["show", "node07.json"]).expect(0).out);
    assert!(show.starts_with("tiermark survey · node07 ·") && show.contains("Labels: rack=3"), "{show}");
    for list in [&["list", "runs"][..], &["history", "--all", "--simulate=synth:cores=2"]] {
        let out = user.run(list).expect(0).out;
        assert!(out.lines().next().unwrap().contains("host"), "{out}");
        assert!(["node07", "node08"].iter().all(|host| out.contains(host)), "{out}");
    }
    let compared = ["compare", "node07.json", "node08.json"];
    let found = user.run(&[&compared[..], &["--json", "--html=changes.html"]].concat()).expect(0).json();
    assert_eq!((&found["first"]["host"], &found["others"][0]["run"]["host"]), (&"node07".into(), &"node08".into()));
    assert!(user.run(&compared).expect(0).out.contains(", node08, "));
    let page = |name: &str| std::fs::read_to_string(user.path(name)).unwrap();
    assert!(page("changes.html").contains("node08.json compared with node07.json"));
    user.run(&["report", "node07.json", "node08.json", "--html=both.html"]).expect(0);
    assert!(page("both.html").contains("tiermark survey of node08") && page("both.html").contains("<dt>rack</dt>"));
    let csv = user.run(&["show", "node08.json", "--format=csv"]).expect(0).out;
    assert!(csv.lines().next().unwrap().contains(",host,") && csv.lines().skip(1).all(|row| row.contains(",node08,")));
    let metrics = user.run(&["show", "node08.json", "--format=openmetrics"]).expect(0).out;
    assert!(metrics.contains("tiermark_run_info{host=\"node08\",label_rack=\"3\","), "{metrics}");
}

#[test]
fn a_redacted_host_has_one_pseudonym_in_all_calls() {
    let user = fleet();
    let host = |name: &str| {
        let run = user.run(&["show", name, "--redact", "--json"]).expect(0);
        assert!(!run.out.contains(name.trim_end_matches(".json")) && !run.out.contains("rack=3"), "{}", run.out);
        let labels = &run.json()["labels"];
        (labels["host"].as_str().unwrap().to_owned(), labels["rack"].clone())
    };
    let (one, other) = (host("node07.json"), host("node08.json"));
    assert!(one.0.starts_with("host-") && one.0 != other.0 && one.1 == other.1, "{one:?} {other:?}");
    let compared = user.run(&["compare", "node07.json", "node08.json", "--redact", "--json"]).expect(0).json();
    assert_eq!(compared["others"][0]["run"]["host"], other.0.as_str());
    // Another user has another key; where none can be kept, the pseudonyms are of the call.
    std::fs::remove_file(user.path("pseudonyms.key")).unwrap();
    assert_ne!(host("node07.json"), one);
    std::fs::write(user.path("pseudonyms.key"), "mine").unwrap();
    let said = user.run(&["show", "node07.json", "--redact"]).expect(0).err;
    assert!(said.contains("pseudonyms.key: not 32 hex digits"), "{said}");
}
