//! Counters beside measurements, through the program.

use crate::common::User;
use serde_json::Value;

const SERVER: &str = "synth:sockets=2,cores=4,mem=8G";

fn observations(run: &Value) -> impl Iterator<Item = &Value> {
    run["experiments"].as_array().unwrap().iter().flat_map(|one| one["observations"].as_array().unwrap())
}

#[test]
fn useful_bytes_stand_beside_those_on_the_channels() {
    let user = User::new();
    let command = ["bandwidth", "--simulate", SERVER, "--sim-counters", "2", "--sizes=1G", "--threads=4", "--no-save"];
    let op = ["--op=write/avx2", "--cpus=node:0", "--mem-node=1"];
    let out = user.run(&[&command[..], &op, &["--json"]].concat()).expect(0).json();
    assert_eq!(out["counters"]["source"], "simulated");
    assert_eq!(out["counters"]["check"]["faults"].as_array().unwrap().len(), 0, "{}", out["counters"]);
    let links = &out["counters"]["check"]["links"];
    for way in ["sent", "received"] {
        assert!((links[way]["ratio"].as_f64().unwrap() - 1.0).abs() < 0.01 && links[way]["fault"].is_null(), "{links}");
    }
    let seen = observations(&out).find(|seen| seen["traffic"].is_object()).unwrap();
    let counted = &seen["traffic"]["counted"];
    let sum = |of: &str| counted["boxes"].as_array().unwrap().iter().map(|own| own[of].as_f64().unwrap()).sum::<f64>();
    let (useful, read, write) = (seen["traffic"]["useful"].as_f64().unwrap(), sum("read"), sum("write"));
    assert!((read / useful - 1.0).abs() < 1e-6 && (write / useful - 2.0).abs() < 1e-6, "{counted}");
    let text = user.run(&[&command[..], &op].concat()).expect(0).out;
    let at = text.find("Traffic of memory, counted by simulated").unwrap_or_else(|| panic!("{text}"));
    for word in ["idle machine: 0.30", "saw 1.00 of its bytes", "known stream between sockets", "/useful", " 2.00 "] {
        assert!(text[at..].contains(word), "{word} in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn curves_of_loaded_latency_have_both_axes() {
    let user = User::new();
    let command = ["loaded-latency", "--simulate", SERVER, "--sim-counters", "1", "--mix=1:1", "--no-save"];
    let text = user.run(&command).measured().out;
    assert!(text.contains("useful") && text.contains("on channels"), "{text}");
}

#[test]
fn what_is_required_and_cannot_be_counted_measures_nothing() {
    let user = User::new();
    let command = ["bandwidth", "--simulate", SERVER, "--sizes=1M", "--no-save"];
    for required in [&["--counters=require"][..], &["--counters-from=perf"]] {
        let refused = user.run(&[&command[..], required].concat()).expect(4);
        assert!(refused.err.contains("perf"), "{}", refused.err);
        // Each source that was tried says why it did not open.
        let is_ladder = required[0] == "--counters=require";
        assert_eq!(refused.err.contains("perf, resctrl, core: "), is_ladder, "{}", refused.err);
    }
    for allowed in ["--counters=off", "--counters=auto"] {
        let out = user.run(&[&command[..], &[allowed, "--json"]].concat()).expect(0).json();
        assert!(out.get("counters").is_none(), "{allowed}");
    }
}
