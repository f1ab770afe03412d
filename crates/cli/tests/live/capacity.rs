//! `tiermark capacity` as users call it: on real servers, in real control groups and with a real tier where that can be
//! had, and everything as it was afterwards, after SIGKILL too.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::redis::Redis;
use crate::common::system::{self, patient, restores_nothing, same, state, tenants, timed};
use crate::common::{Ran, User, fullest};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A search of seconds: three small tenants.
const SMALL: [&str; 27] = [
    "capacity",
    "--scenario",
    "mini",
    "--tiers",
    "zram",
    "--records",
    "2000",
    "--rps",
    "1000",
    "--warmup",
    "0",
    "--measure",
    "0.5s",
    "--iterations",
    "1",
    "--most-tenants",
    "3",
    "--dram-budget",
    "24M",
    "--tier-size",
    "64M",
    "--memory-floor",
    "64M",
    "--seed",
    "1",
    "--force",
    "--quiet",
];

/// Whether tenants can be limited and a zram device made here, with nobody else who does; else says why the test is
/// skipped.
fn real() -> Option<File> {
    system::real(&[(Path::new("/sys/class/zram-control/hot_add").exists(), "a kernel with zram")])
}

fn probes(case: &Value) -> Vec<Value> {
    case["probes"].as_array().unwrap().clone()
}

#[test]
fn dram_holds_some_tenants_and_compressed_memory_more() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    let arguments =
        ["capacity", "--scenario", "mini", "--measure=1s", "--iterations=1", "--most-tenants=8", "--seed=1", "--json"];
    let ran = patient(&user, &arguments).measured();
    same(&before, "");
    let document = ran.json();
    let [dram, zram] = &document["cases"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((dram["tier"].as_str(), zram["tier"].as_str()), (Some("dram"), Some("zram")));
    // Five by arithmetic: one more or less is a matter of what a server takes besides.
    let held = fullest(dram)["tenants"].as_u64().unwrap();
    assert!((4..=6).contains(&held), "{dram}");
    assert!(dram["ended_by"]["why"]["code"] == "processes_killed", "{}", dram["ended_by"]);
    let next = probes(dram).into_iter().find(|probe| probe["tenants"] == held + 1).unwrap();
    assert_eq!(next["decided_by"]["code"], "guard_ended_trial", "{next}");
    // All that may be tried, where the machine answers in time; in any case more than fit into DRAM.
    assert!((held + 1..=8).contains(&fullest(zram)["tenants"].as_u64().unwrap()), "{zram}");
    let evidence = &fullest(zram)["evidence"];
    let number = |name: &str| evidence[name].as_f64().unwrap_or_else(|| panic!("{name} in {evidence}"));
    assert!(number("faults_per_request") > 0.1 && number("swapped_in") > 0.0, "{evidence}");
    assert!(number("resident_share") < 0.95 && number("compression") > 1.2, "{evidence}");
    assert!(number("cpu_seconds_per_million") > 0.0 && number("requests") > 3000.0, "{evidence}");
    assert_eq!(evidence["oom_kills"], 0);
    // What is compressed lies in the DRAM that there is: tenants have what its pool leaves.
    let [budget, used, pool, limit] = ["dram_budget", "dram_used", "pool", "tenants_limit"].map(number);
    assert_eq!(budget, f64::from(512 << 20));
    assert!(used < budget * 1.02 && pool > budget * 0.2, "{evidence}");
    assert!((limit + pool - budget).abs() < budget * 0.02, "{evidence}");
    // Nothing of it is left to take back.
    restores_nothing(&user);
}

#[test]
fn a_run_out_of_time_leaves_no_tier_out_silently() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    // Finding out what a tenant takes is two seconds of that.
    let ran = patient(&user, &[&SMALL[..], &["--max-time=3"]].concat()).expect(5);
    same(&before, "");
    assert_eq!(lines(&user, "answer"), 0, "{}{}", ran.out, ran.err);
    let again = patient(&user, &["capacity", "--resume", "--quiet"]);
    assert!([Some(0), Some(5)].contains(&again.code), "{}{}", again.out, again.err);
}

#[test]
fn servers_that_evict_keys_are_measured_with_the_keys_that_they_have() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    let cache = user.run(&["capacity", "--scenario=cache", "--dry-run"]).out;
    let small = cache.replace("records = 75000", "records = 6000").replace("\"48 MiB\"", "\"4 MiB\"");
    fs::write(user.path("small.toml"), small).unwrap();
    let own = ["capacity", "--scenario=small.toml", "--tiers=dram", "--tenants=2", "--measure=1s", "--json"];
    let document = patient(&user, &own).measured().json();
    same(&before, "");
    let case = &document["cases"][0];
    let hits = probes(case)[0]["evidence"]["hit_share"].as_f64().unwrap();
    assert!((0.05..0.95).contains(&hits), "{case}");
    // Without eviction such a server refuses to be filled.
    assert!(probes(case)[0]["decided_by"]["code"] != "during_fill", "{case}");
}

/// Whether the kernel can be told to kill others first: root in a container often may not.
fn may_be_spared() -> bool {
    const CAP_SYS_RESOURCE: u32 = 24;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> CAP_SYS_RESOURCE & 1 == 1
}

/// Files of runs that go on, or were killed.
fn begun(user: &User) -> Vec<PathBuf> {
    let entries = fs::read_dir(user.path("capacity")).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect()
}

fn lines(user: &User, of: &str) -> usize {
    let texts = begun(user).into_iter().map(|path| fs::read_to_string(path).unwrap());
    texts.map(|text| text.lines().filter(|line| line.starts_with(&format!("{{\"{of}\""))).count()).sum()
}

/// `tests/soak` kills hundreds of runs.
const ROUNDS: u32 = 10;

#[test]
fn killed_at_any_moment_everything_comes_back() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    let (ran, whole) = timed(&user, &SMALL);
    ran.expect(0);
    let (mut changed, mut random) = (0, crate::common::random());
    for round in 0..ROUNDS {
        let mut child = user.command(&SMALL).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A random moment of each tenth of the run.
        let share = (f64::from(round) + random.unit()) / f64::from(ROUNDS);
        eprintln!("round {round}: killed after {share:.3} of the run");
        thread::sleep(whole.mul_f64(share));
        child.kill().unwrap();
        child.wait().unwrap();
        changed += u32::from(state() != before);
        // Half of the rounds by the command, half by the next run.
        if round % 2 == 0 {
            let ran = patient(&user, &["tune", "--restore"]).expect(0);
            same(&before, &format!("round {round}: {}", ran.out));
        }
    }
    patient(&user, &["tune", "--restore"]).expect(0);
    same(&before, "");
    assert!(changed * 2 >= ROUNDS, "the test saw hardly anything to take back: {changed} times");
    eprintln!("killed {ROUNDS} times within {whole:?}; {changed} times something was left");
}

/// Stops a run by SIGSTOP at a moment when `ready` holds and it has tenants. It fails after a minute, or when the run
/// ends before.
fn stop_with_tenants(run: &mut Child, ready: impl Fn() -> bool) {
    let pid = Pid::from_child(run);
    let started = Instant::now();
    loop {
        assert!(
            started.elapsed() < Duration::from_secs(60) && run.try_wait().unwrap().is_none(),
            "the run ended, or had no tenants"
        );
        if ready() && !tenants().is_empty() {
            kill_process(pid, Signal::STOP).unwrap();
            // Tenants that the run had killed before it was stopped are gone after that time.
            thread::sleep(Duration::from_millis(300));
            if !tenants().is_empty() {
                return;
            }
            kill_process(pid, Signal::CONT).unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    let mut child = user.command(&SMALL).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    stop_with_tenants(&mut child, || lines(&user, "probe") >= 2);
    // The kernel takes tenants first, and who measures them last.
    let last = fs::read_to_string(format!("/proc/{}/oom_score_adj", child.id())).unwrap();
    assert_eq!(last.trim(), if may_be_spared() { "-1000" } else { "0" });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!tenants().is_empty(), "the tenants of a killed run live on, with an oom_score_adj of 1000");
    let (made, footprints) = (lines(&user, "probe"), lines(&user, "footprint"));
    let ran = patient(&user, &["capacity", "--resume", "--json"]).measured();
    let said = ran.err.lines().find(|line| line.contains("taken back, left by a killed run: "));
    assert!(said.is_some_and(|line| line.matches("device zram").count() == 1), "{}", ran.err);
    let document = ran.json();
    same(&before, "the run that goes on takes back what the killed one left");
    assert_eq!((begun(&user).len(), lines(&user, "footprint")), (1, footprints));
    let probes = probes(&document["cases"][0]);
    assert!(made >= 2 && probes.len() > made, "{made} {}", probes.len());
    let numbers: Vec<u64> = probes.iter().map(|probe| probe["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=probes.len() as u64).collect::<Vec<_>>());
    // It is whole now.
    user.run(&["capacity", "--resume"]).expect(4);
}

#[test]
fn a_run_that_is_stopped_takes_everything_back_and_says_how_to_go_on() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    let arguments: Vec<&str> = SMALL.iter().copied().filter(|word| *word != "--quiet").collect();
    let child = user.start(&arguments);
    let started = Instant::now();
    while lines(&user, "probe") == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "no probe was saved");
        thread::sleep(Duration::from_millis(5));
    }
    let pid = Pid::from_child(&child);
    // Who is impatient does not keep it from taking back what it changed.
    for _ in 0..3 {
        kill_process(pid, Signal::INT).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    let ran = Ran::from(child.wait_with_output().unwrap()).expect(130);
    same(&before, "");
    assert!(ran.err.contains("--resume="), "{}", ran.err);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing_behind() {
    let Some(_lock) = real() else { return };
    let (user, before) = (User::new(), state());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("--first-port={}", taken.local_addr().unwrap().port());
    fs::write(user.path("mine"), "somebody's").unwrap();
    let file = format!("--tiers=swap:{}", user.path("mine").display());
    for (more, code, said) in [
        ("--server=/nonexistent/redis", 4, "/nonexistent/redis"),
        ("--server=true", 4, "server"),
        ("--tiers=zram:zippy", 4, "zippy"),
        (&file, 4, &file["--tiers=swap:".len()..]),
        ("--tiers=node:77", 4, "node:77"),
        ("--memory-floor=1T", 4, "memory-floor"),
        (&port, 4, &port["--first-port=".len()..]),
    ] {
        // Later options stand in place of earlier ones, but for lists.
        let name = more.split('=').next().unwrap();
        let mut arguments: Vec<&str> = Vec::new();
        let mut skip = false;
        for word in SMALL {
            if !skip && word != name {
                arguments.push(word);
            }
            skip = word == name;
        }
        arguments.push(more);
        let ran = patient(&user, &arguments).expect(code);
        let told = format!("{}{}", ran.out, ran.err);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{more}: {told}");
        same(&before, more);
    }
    assert_eq!(fs::read_to_string(user.path("mine")).unwrap(), "somebody's");
}

#[test]
fn virtual_machines_that_cannot_be_are_refused() {
    let user = User::new();
    for more in ["--backend=qemu --vm-memory=1M", "--vm-memory=1G"] {
        let arguments: Vec<&str> = ["capacity", "--scenario=mini"].into_iter().chain(more.split(' ')).collect();
        let told = user.run(&arguments).expect(2).err;
        assert!(told.starts_with("tiermark: error: tenant.vm-memory: "), "{told}");
    }
    let shown = user.run(&["capacity", "--scenario=mini", "--backend=qemu", "--dry-run"]).out;
    assert!(shown.contains("309.16 MiB"), "{shown}");
    let Some(_lock) = real() else { return };
    let before = state();
    // A text is no program for a guest, whatever this program was built for.
    let agent = user.path("agent");
    fs::write(&agent, "text").unwrap();
    let agent = format!("--guest-agent={}", agent.display());
    let arguments =
        ["capacity", "--scenario=mini", "--backend=qemu", "--memory-floor=64M", "--guest-kernel=/nonexistent", &agent];
    let told = patient(&user, &arguments).expect(4).err;
    // Without the emulator that is said first.
    let emulator = Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
    let said = if emulator { "not an x86-64 program" } else { "apt-get install qemu-system-x86" };
    assert!(told.contains(said) || cfg!(not(target_arch = "x86_64")), "{told}");
    same(&before, "");
}

#[test]
fn files_with_mistakes_are_told_line_by_line() {
    let user = User::new();
    fs::write(user.path("bad.toml"), "name = \"x\"\ntiers = [\"zrm\"]\n").unwrap();
    let told = user.run(&["capacity", "--scenario", "bad.toml"]).expect(2).err;
    assert!(told.contains("line 2: tiers: ") && told.contains("'zram'"), "{told}");
    let told = user.run(&["capacity", "--scenario", "minni"]).expect(2).err;
    assert!(told.contains("'mini'"), "{told}");
    fs::write(user.path("prices.toml"), "currency = 5\n").unwrap();
    let told = user.run(&["capacity", "--scenario", "mini", "--prices", "prices.toml"]).expect(2).err;
    assert!(told.contains("prices.toml: line 1"), "{told}");
    let told = user.run(&["capacity", "--scenario", "mini", "--level", "p99 < 1us", "--measure", "0.1s"]).expect(2).err;
    assert!(told.starts_with("tiermark: error: level.limits: "), "{told}");
    user.run(&["capacity"]).expect(2);
    user.run(&["capacity", "--scenario", "mini", "--simulate", "synth:cores=2"]).expect(2);
    assert!(!user.path("state").exists() && begun(&user).is_empty());
}

#[test]
fn a_dry_run_is_a_scenario_to_begin_with() {
    let user = User::new();
    // Where it cannot be run, that is told as well.
    // What keeps the cpus busy at this moment is another a moment later: --force asks for none of it.
    let shown = user.run(&["capacity", "--scenario=mini", "--tiers=dram,zram:lz4", "--dry-run", "--force"]).out;
    for said in [
        "dram-budget = \"512 MiB\"",
        "# Searches, 2, about ",
        "at most 10 min (--max-time)",
        "#   dram, 100 % GET, uniform: memory holds about 5 tenants, ",
        "#   zram:lz4, 100 % GET, uniform: ",
        "#   a zram device of 2 GiB",
        "--maxmemory-policy noeviction",
        "#   client: 1 thread, on any cpu; it waits up to 60 s for an answer",
        "#   the run keeps 256 MiB of the machine's memory free",
        "# On this machine, in its present state:",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    fs::write(user.path("mine.toml"), &shown).unwrap();
    assert_eq!(user.run(&["capacity", "--scenario=mine.toml", "--dry-run", "--force"]).out, shown);
    assert!(!user.path("state").exists() && !user.path("capacity").exists(), "it was looked at only");
    let listed = user.run(&["capacity", "--list"]).expect(0).out;
    assert!(listed.contains("brief") && listed.contains("mini"), "{listed}");
}

#[test]
fn without_root_groups_are_refused_with_a_cure() {
    if !rustix::process::geteuid().is_root() {
        crate::common::skipped(format_args!("becoming another user needs root"));
        return;
    }
    let user = User::new();
    fs::set_permissions(user.home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    const NOBODY: u32 = 65_534;
    let output = user.command(&["capacity", "--scenario=mini"]).uid(NOBODY).gid(NOBODY).output().unwrap();
    let refused = Ran::from(output).expect(4).err;
    assert!(refused.contains("--backend external"), "{refused}");
}

#[test]
fn servers_that_run_already_need_no_root() {
    let user = User::new();
    let (Some(one), Some(two)) = (Redis::start(&[]), Redis::start(&[])) else { return };
    let targets = format!("--target={},{}", one.target, two.target);
    let common = ["capacity", "--scenario=mini", "--backend=external", "--tiers=dram", "--records=2000", "--rps=1000"];
    let times = ["--warmup=0", "--measure=0.5s", "--iterations=1", "--quiet", "--json"];
    let ran = patient(&user, &[&common[..], &[&targets], &times].concat()).measured();
    let case = &ran.json()["cases"][0];
    assert_eq!(fullest(case)["tenants"], 2, "{case}");
    // Nobody answers: an error after the time that was asked for, and no wait for ever.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let targets = format!("--target={}", silent.local_addr().unwrap());
    let refused = patient(&user, &[&common[..], &[&targets, "--timeout=0.5s"], &times].concat());
    assert_ne!(refused.code, Some(0), "{}", refused.out);
    assert!(format!("{}{}", refused.out, refused.err).contains(&targets["--target=".len()..]), "{}", refused.err);
}
