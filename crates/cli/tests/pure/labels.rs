//! Labels of documents, and the names of hosts.

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
