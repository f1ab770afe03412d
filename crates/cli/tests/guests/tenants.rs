//! A guest for each tenant: booted, loaded and taken away by `tiermark capacity`. What they measure means nothing where
//! they are emulated.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::checks::program;
use crate::common::system::{patient, real, same, state};
use crate::common::{User, fullest};

/// One or two tenants of few records, at a rate and a level that an emulated guest meets beside any other work.
const TENANTS: [&str; 19] = [
    "capacity",
    // Other guests may run beside.
    "--force",
    "--scenario=mini",
    "--backend=qemu",
    "--tiers=dram",
    "--records=2000",
    // The agent of a debug build is twice as large as that of a release.
    "--vm-memory=256M",
    "--rps=100",
    "--warmup=0",
    "--settle=0",
    "--measure=5s",
    "--iterations=1",
    "--level=p99 < 30s",
    "--most-tenants=2",
    "--trial-time=600",
    "--dram-budget=700M",
    "--memory-floor=64M",
    "--seed=1",
    "--quiet",
];

/// The program for the guests: a smaller one than that which runs.
fn agent() -> String {
    format!("--guest-agent={}", program().display())
}

/// Virtual machines of this program that run.
fn machines() -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let lines = processes.filter_map(|process| fs::read(process.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains("name=tiermark.agent")).count()
}

/// What a tenant was found to take, from the run's own file, bytes.
fn footprint(user: &User) -> u64 {
    let mut runs = fs::read_dir(user.path("capacity")).unwrap().flatten().map(|entry| entry.path());
    let run = runs.find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let lines = fs::read_to_string(run).unwrap();
    let mut told = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    told.find_map(|line| line["footprint"]["bytes"].as_u64()).unwrap()
}

#[test]
#[ignore = "boots a guest: ./test"]
fn a_guest_for_each_tenant() {
    let Some(_lock) = real(&[]) else { return };
    let (user, before) = (User::new(), state());
    let agent = agent();
    let arguments: Vec<&str> = TENANTS.into_iter().chain([&agent[..], "--json"]).collect();
    let document = patient(&user, &arguments).expect(0).json();
    same(&before, "");
    assert_eq!(machines(), 0);
    let case = &document["cases"][0];
    assert_eq!(fullest(case)["tenants"], 2, "{case}");
    let probe = case["probes"].as_array().unwrap().iter().find(|probe| probe["tenants"] == 2).unwrap();
    let number = |name: &str| probe["evidence"][name].as_f64().unwrap_or_else(|| panic!("{name} in {probe}"));
    // Two tenants, a hundred a second each, for five seconds: all that were due were asked.
    assert!((990.0..=1010.0).contains(&number("requests")), "{probe}");
    assert!(number("client_cpu") > 0.0 && number("cpu_seconds_per_million") > 0.0, "{probe}");
    assert_eq!(probe["evidence"]["oom_kills"], 0);
    // The memory of guests is counted where their groups are: more than their records take.
    let footprint = footprint(&user);
    assert!(footprint > 64 << 20, "{footprint}");
    // Guests that are emulated are told, with what it means.
    let told = document["warnings"].to_string();
    assert!(told.contains("guests are emulated") || Path::new("/dev/kvm").exists(), "{told}");
    killed(&user);
}

/// Guests do not outlive a run that was killed and is taken back.
fn killed(user: &User) {
    let before = state();
    let mut command = user.command(&TENANTS);
    let mut child = command.arg(agent()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while machines() == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "no guest was started");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    patient(user, &["tune", "--restore"]).expect(0);
    same(&before, "");
    assert_eq!(machines(), 0);
}
