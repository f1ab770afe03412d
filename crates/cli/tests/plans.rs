//! Plans run as a whole: what their commands would write, and options that hold for all experiments.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use common::User;

const SERVER: &str = "synth:sockets=2,cores=4,mem=16G";

/// A plan of some experiments, each a probe with `quick`.
fn plan(user: &User, name: &str, probes: &[&str]) {
    let experiments: String =
        probes.iter().map(|probe| format!("[[experiment]]\nprobe = \"{probe}\"\nquick = true\n")).collect();
    std::fs::write(user.path(name), format!("name = \"p\"\ntitle = \"t\"\n{experiments}")).unwrap();
}

#[test]
fn a_plan_writes_what_its_commands_would() {
    let user = User::new();
    plan(&user, "both.toml", &["matrix", "loaded"]);
    let arguments = ["run", "both.toml", "--simulate", SERVER, "--no-save"];
    let ran = user.run(&[&arguments[..], &["--csv", "curve.csv", "--hmat=pairs.csv"]].concat()).expect(0);
    assert!(ran.out.contains("Latency over bandwidth"), "{}", ran.out);
    let curve = std::fs::read_to_string(user.path("curve.csv")).unwrap();
    assert!(curve.starts_with("type,rd_percentage,pause,") && curve.lines().count() >= 12, "{curve}");
    let pairs = std::fs::read_to_string(user.path("pairs.csv")).unwrap();
    assert!(pairs.contains("measured,1,0,"), "{pairs}");
    let ran = user.run(&[&arguments[..], &["--csv=-"]].concat()).expect(0);
    assert_eq!(ran.out, curve, "on standard output in place of the report");
    let ran = user.run(&[&arguments[..], &["--csv=-", "--hmat=-"]].concat()).expect(2);
    assert!(ran.err.contains("--csv and --hmat want standard output"), "{}", ran.err);
}

#[test]
fn what_a_plan_cannot_write_is_refused_before_it_runs() {
    let user = User::new();
    plan(&user, "one.toml", &["latency"]);
    for (option, lacks) in [("--csv=x", "loaded"), ("--hmat=x", "matrix of nodes")] {
        let ran = user.run(&["run", "one.toml", "--simulate", SERVER, option]).expect(2);
        assert!(ran.err.contains(lacks) && !user.path("x").exists(), "{}", ran.err);
    }
}

#[test]
fn options_of_a_run_hold_for_every_experiment() {
    let user = User::new();
    let probes = [
        "latency",
        "bandwidth",
        "matrix",
        "scale",
        "loaded",
        "c2c",
        "geometry",
        "tlb",
        "mlp",
        "granularity",
        "background",
    ];
    plan(&user, "all.toml", &probes);
    let arguments = ["run", "all.toml", "--simulate", SERVER, "--dry-run", "--json", "--cpus=2-3", "--precision=7"];
    let plans = user.run(&[&arguments[..], &["--allow-partial"]].concat()).expect(0).json();
    let plans = plans.as_array().unwrap();
    assert_eq!(plans.len(), probes.len());
    for plan in plans {
        let request = &plan["request"];
        assert_eq!(request["scope"]["cpus"], "2-3", "{}", request["probe"]);
        assert_eq!(request["precision"].as_f64(), Some(0.07), "{}", request["probe"]);
    }
}
