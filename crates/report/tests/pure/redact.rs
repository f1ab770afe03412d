//! What a redacted run has left.

use crate::common::*;
use tiermark_model::*;
use tiermark_report::redact::{Pseudonyms, redact};

const NAMES: [u64; 2] = [1, 2];

#[test]
fn redacted_documents_name_nobody() {
    let mut run = troubled_run();
    run.bench.kernels = vec![];
    run.warnings.push(messages::system::doctor_problem("governor", "that of build-7", "", ""));
    run.warnings.push(messages::run::busy(1.2, 2, "nginx 0.9, children of mysqld 0.3", None));
    run.machine.unseen.push(messages::machine::file_denied("/home/ada/x", "build-7 denies it"));
    let labels = &mut run.experiments[0].findings[0].labels;
    *labels = labels.clone().with_tier_name("DRAM of build-7");
    let redacted = redact(&run, Pseudonyms::new(NAMES));
    let text = serde_json::to_string(&redacted).unwrap();
    for name in ["build-7", "ada", "example.org", "user-1000", "nginx", "mysqld"] {
        assert!(!text.contains(name), "{name}");
    }
    assert!(text.contains("--json=(redacted)"));
    assert_eq!(redacted.experiments[0].findings.len(), run.experiments[0].findings.len());
    assert_eq!(redacted.machine.caches, run.machine.caches);
}

/// The name of a host is taken out where it is a word, however short.
#[test]
fn short_names_of_hosts_are_taken_out_as_words() {
    let mut run = troubled_run();
    run.machine.system.hostname = Some("l1".into());
    run.warnings = vec![messages::system::doctor_problem("governor", "that of l1, not l10 nor xl1", "", "")];
    let labels = &mut run.experiments[0].findings[0].labels;
    *labels = labels.clone().with_tier_name("l1").with_named("note", Label::Text("seen on l1.".to_owned()));
    let redacted = redact(&run, Pseudonyms::new(NAMES));
    let host = redacted.host().unwrap();
    assert!(host.starts_with("host-"), "{host}");
    assert!(
        redacted.warnings[0].text.contains(&format!("that of {host}, not l10 nor xl1")),
        "{}",
        redacted.warnings[0].text
    );
    let labels = &redacted.experiments[0].findings[0].labels;
    assert_eq!(labels.tier_name(), Some("l1"));
    let note = Label::Text(format!("seen on {host}."));
    assert!(labels.iter().any(|label| label == ("note", &note)), "{labels}");
}

/// A label may be a word of its own in the command, or stand behind the option.
#[test]
fn values_of_labels_are_pseudonyms_wherever_they_stand() {
    let mut run = troubled_run();
    run.labels =
        RunLabels::from([("host", "node07"), ("rack", "cellar")].map(|(key, of)| (key.to_owned(), of.to_owned())));
    run.command = ["tiermark", "survey", "--label=host=node07,rack=cellar", "--label", "rack=cellar", "-q"]
        .map(str::to_owned)
        .to_vec();
    run.warnings = vec![messages::system::doctor_problem("governor", "that of node07", "", "")];
    let redacted = redact(&run, Pseudonyms::new(NAMES));
    let text = serde_json::to_string(&redacted).unwrap();
    assert!(!text.contains("node07") && !text.contains("cellar"), "{:?}", redacted.command);
    let [host, rack] = ["host", "rack"].map(|key| redacted.labels[key].clone());
    assert_eq!(
        redacted.command[2..5],
        [format!("--label=host={host},rack={rack}"), "--label".into(), format!("rack={rack}")]
    );
    assert_eq!((redacted.host(), redacted.warnings[0].text.contains(&host)), (Some(host.as_str()), true));
}
