//! `watch --curve`: a command on the loaded-latency curves of a machine.

use crate::common::User;
use serde_json::Value;

/// A text without its line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_command_is_placed_on_the_curves_of_a_run() {
    let user = User::new();
    let machine = "--simulate=synth:sockets=1,cores=8,smt=1,mem=8G";
    user.run(&["loaded-latency", machine, "--sim-memory=100", "--quick", "--mix=read"]).expect(0);
    let watch = ["watch", machine, "--sim-traffic=1,1,21,141", "--interval=0.1", "--curve=last"];
    let files = ["--curve-json=placed.json", "--curve-html=placed.html"];
    let ran = user.run(&[&watch[..], &files, &["--", "sh", "-c", "sleep 0.5; echo out"]].concat()).expect(0);
    assert_eq!(ran.out, "out\n");
    for part in ["on the loaded-latency curves of run", "below the knee", "past the knee", "Busiest at"] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    assert!(!ran.err.contains("another machine"), "{}", ran.err);
    let placed: Value = serde_json::from_str(&std::fs::read_to_string(user.path("placed.json")).unwrap()).unwrap();
    assert_eq!((&placed["schema"], &placed["counters"]), (&"tiermark/placed/1".into(), &"simulated".into()));
    assert_eq!(placed["on"]["axis"], "useful", "the run was without counters");
    // The first second of the script is before the command, and is subtracted.
    assert_eq!(placed["idle_bytes_per_second"], 1e9);
    assert!(words(&ran.err).contains("so much idle traffic is subtracted"), "{}", ran.err);
    let points = placed["points"].as_array().unwrap();
    assert!(points.len() >= 3, "{placed}");
    let parts = |rate: f64| points.iter().filter(move |point| point["bytes_per_second"] == rate);
    assert!(parts(20e9).all(|point| point["part"] == "below" && point["ns"].as_f64() > Some(0.0)));
    assert!(parts(140e9).count() >= 1 && parts(140e9).all(|point| point["part"] == "past" && point["beyond"] == true));
    assert!(std::fs::read_to_string(user.path("placed.html")).unwrap().contains("\"scatter\":true"));
    // Of another machine, with a warning; without counters, or a curve, not at all.
    let other = ["watch", "--simulate=synth:cores=2", "--sim-traffic=20", "--curve=last", "--", "true"];
    assert!(user.run(&other).expect(0).err.contains("another machine"));
    for run in ["--curve=last", "--curve=none-such"] {
        let said = user.run(&["watch", machine, run, "--", "true"]).expect(4).err;
        assert!(said.contains("tiermark list counters"), "{run}: {said}");
    }
    user.run(&["latency", machine, "--sizes=16K", "--quick"]).expect(0);
    let said = user.run(&[&watch[..], &["--", "true"]].concat()).expect(4).err;
    assert!(said.contains("has no curve") && said.contains("tiermark loaded-latency"), "{said}");
    user.run(&["watch", "--curve=last"]).expect(2);
    user.run(&["watch", machine, "--sim-traffic=20", "--curve=none-such", "--", "true"]).expect(2);
}

#[test]
fn a_program_between_two_mixes_is_placed_between_their_curves() {
    let user = User::new();
    let machine = "--simulate=synth:sockets=1,cores=8,smt=1,mem=8G";
    user.run(&["loaded-latency", machine, "--sim-memory=100", "--quick", "--mix=read,1:1"]).expect(0);
    let watch = ["watch", machine, "--sim-traffic=0,0,30:80", "--interval=0.1", "--curve=last", "--curve-json=p.json"];
    let ran = user.run(&[&watch[..], &["--", "sleep", "0.5"]].concat()).expect(0);
    assert!(words(&ran.err).contains("between those of two curves (1:1 and read)"), "{}", ran.err);
    let placed: Value = serde_json::from_str(&std::fs::read_to_string(user.path("p.json")).unwrap()).unwrap();
    let points = placed["points"].as_array().unwrap();
    let between = points.iter().find(|point| point["bytes_per_second"] == 30e9).unwrap();
    let weight = between["other"]["weight"].as_f64().unwrap();
    assert!(weight > 0.0 && weight <= 0.5, "{between}");
}

/// Whether the curves rest on counts that agreed with a known stream is said, and that those of the watch were not
/// compared.
#[test]
fn the_check_of_the_counters_is_said() {
    let user = User::new();
    let machine = "--simulate=synth:sockets=1,cores=8,smt=1,mem=8G";
    let watch = ["watch", machine, "--sim-traffic=1,1,21", "--interval=0.1", "--curve=last", "--", "sleep", "0.3"];
    let curves = ["loaded-latency", machine, "--sim-memory=100", "--quick", "--mix=read"];
    user.run(&curves).expect(0);
    let said = words(&user.run(&watch).expect(0).err);
    assert!(said.contains("of a watch are not compared with a known stream") && !said.contains("(simulated) agreed"));
    user.run(&[&curves[..], &["--sim-counters=2"]].concat()).expect(0);
    let said = words(&user.run(&watch).expect(0).err);
    assert!(said.contains("(simulated) agreed with a known stream"), "{said}");
}
