//! `watch --alert`: alarms on standard error, in samples and in the exit code, live and from a recording.

use crate::common::User;
use serde_json::Value;

/// A condition that holds on every machine, and one that holds on none.
const ALWAYS: &str = "memory.total_bytes > 1 MiB for 0.2s";
const NEVER: &str = "memory.total_bytes < 1 MiB";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn alarms_are_reported_recorded_and_returned() {
    let user = User::new();
    let watch =
        ["watch", "--interval=0.1", "--samples=6", "--record=r.jsonl", "--json", "--alert", ALWAYS, "--alert", NEVER];
    let ran = user.run(&watch).expect(3);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with("tiermark: alarm at ") && ran.err.contains(ALWAYS), "{}", ran.err);
    let samples = lines(&ran.out);
    let alarms: Vec<bool> = samples.iter().map(|sample| sample["alerts"][0]["alarm"].as_bool().unwrap()).collect();
    assert!(!alarms[0] && alarms[5], "{alarms:?}");
    assert!(
        samples.iter().all(|sample| sample["alerts"][1]["alarm"] == false && sample["alerts"][1]["alert"] == NEVER)
    );
    // The recording has them, and gives the same lines and the same exit code.
    assert_eq!(user.run(&["watch", "--replay=r.jsonl", "--json"]).expect(3).out, ran.out);
    // Judged by other alerts, it has their alarms only.
    let replay = |alert: &str| user.run(&["watch", "--replay=r.jsonl", "--json", "--alert", alert]);
    assert_eq!(replay(NEVER).expect(0).err, "");
    assert_eq!(lines(&replay("memory.total_bytes > 1 MiB").expect(3).out)[0]["alerts"][0]["change"], "raised");
    let csv = user.run(&["watch", "--replay=r.jsonl", "--csv"]).expect(3).out;
    assert!(csv.lines().next().unwrap().contains(&format!("alerts.{ALWAYS}.alarm")), "{csv}");
}

#[test]
fn a_command_that_fails_keeps_its_code() {
    let user = User::new();
    let watch = |command: &str, alert: &str| user.run(&["watch", "--alert", alert, "--", command]);
    watch("true", "memory.total_bytes > 1 MiB").expect(3);
    watch("false", "memory.total_bytes > 1 MiB").expect(1);
    watch("true", NEVER).expect(0);
}

#[test]
fn mistakes_in_an_alert_are_refused_with_their_place() {
    let user = User::new();
    let said = |alert: &str| user.run(&["watch", "--alert", alert]).expect(2).err;
    assert!(said("cpu.steel > 5 %").contains("character 1: unknown figure 'cpu.steel'; did you mean 'cpu.steal'?"));
    assert!(said("no.such.figure > 5 %").contains("`tiermark list figures`"));
    assert!(said("cpu.steal > 5 % for long").contains("character 21: 'long' is not a time"));
    assert!(said("cpu.steal").contains("no comparison"));
}

#[test]
fn names_are_listed_and_are_those_of_check() {
    let user = User::new();
    let list = user.run(&["list", "figures", "--json"]).expect(0).json();
    let items = list["items"].as_array().unwrap();
    let of = |name: &str| items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!((&of("latency.dram")["unit"], &of("cpu.steal")["unit"]), (&"ns".into(), &"share".into()));
    assert!(items.iter().all(|item| ["group", "unit", "about"].iter().all(|key| item[*key].is_string())));
    let text = user.run(&["list", "figures"]).expect(0).out;
    assert!(text.contains("latency.dram") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // A rate of the traffic is one too, although no machine here counts it.
    assert!(text.contains("traffic.busiest_channel"), "{text}");
    assert!(["latency.dram", "read.dram.one"].iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn a_figure_that_no_sample_has_is_told() {
    let user = User::new();
    let said = user.run(&["watch", "--alert", "latency.dram > 1.5 x capability for 30s"]).expect(2).err;
    assert!(said.contains("needs --active"), "{said}");
    let watch = ["watch", "--interval=0.1", "--samples=3", "--quiet", "--alert", "nodes.4095.free_bytes < 1 GiB"];
    // No alarm is no answer of an alert that was never judged.
    let said = user.run(&watch).expect(5).err;
    assert!(said.contains("no sample had a value of 'nodes.4095.free_bytes'"), "{said}");
}
