//! `tiermark tune` and `tiermark doctor` on this machine: real changes of harmless knobs.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::thread;

use crate::common::system::{patient, restores_nothing, timed};
use crate::common::{Ran, User};

/// Knobs whose change nobody feels: how often statistics are updated, and how eagerly memory is compacted when nothing
/// needs it.
const HARMLESS: [(&str, &str, &str); 2] = [
    ("vm.stat_interval", "/proc/sys/vm/stat_interval", "10"),
    ("vm.compaction_proactiveness", "/proc/sys/vm/compaction_proactiveness", "0"),
];
const APPLY: [&str; 6] =
    ["tune", "--profile", "latency", "--only", "vm.stat_interval,vm.compaction_proactiveness", "--apply"];

#[test]
fn this_machine_has_both_views() {
    let user = User::new();
    for profile in ["swap-tier", "latency", "default"] {
        let ran = user.run(&["tune", "--diff", "--profile", profile]).expect(0);
        assert!(ran.out.starts_with(&format!("tiermark tune · profile {profile}")), "{}", ran.out);
        assert!(!user.path("state").exists(), "looking writes nothing");
    }
    let ran = user.run(&["doctor", "--json"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.err);
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    let problems = checks.iter().filter(|check| check["health"] == "problem").count();
    assert_eq!(ran.code == Some(3), problems > 0);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the knobs can be written here; else says why the test is skipped. One such test at a time on the whole
/// machine: others may run these tests beside.
fn real() -> Option<File> {
    // Written back as it is: changes nothing.
    let writable = |path: &str| fs::read(path).is_ok_and(|bytes| fs::write(path, bytes).is_ok());
    if !is_root() || !HARMLESS.iter().all(|(_, path, _)| writable(path)) {
        crate::common::skipped(format_args!("changing knobs for real needs root, and a /proc/sys that can be written"));
        return None;
    }
    let lock = File::create(std::env::temp_dir().join("tiermark-test-knobs.lock")).unwrap();
    lock.lock().unwrap();
    Some(lock)
}

fn value(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

/// Every knob that this program could change, as it is.
fn all_values(user: &User) -> String {
    let json = user.run(&["tune", "--json"]).expect(0).json();
    let knobs = json["knobs"].as_array().unwrap().iter().filter(|knob| knob["reach"] == "live");
    knobs.map(|knob| format!("{} {} {}\n", knob["name"], knob["on"], knob["value"])).collect()
}

#[test]
fn real_knobs_are_changed_and_taken_back() {
    let Some(_lock) = real() else { return };
    let user = User::new();
    let before = all_values(&user);
    let old: Vec<String> = HARMLESS.iter().map(|(_, path, _)| value(path)).collect();
    if HARMLESS.iter().zip(&old).any(|((_, _, advised), now)| advised == now) {
        crate::common::skipped(format_args!("this machine already has the values that would be written"));
        return;
    }
    let ran = patient(&user, &APPLY).expect(0);
    for ((_, path, advised), old) in HARMLESS.iter().zip(&old) {
        assert_eq!(value(path), *advised);
        assert!(ran.out.contains(&format!("{path} {old} → {advised}")), "{}", ran.out);
    }
    let held = user.run(&["tune", "--json"]).expect(0).json()["held"][0].take();
    assert_eq!(held["changes"].as_array().unwrap().len(), 2, "{held}");
    // Again: there is nothing to change, and nothing is noted twice.
    let again = patient(&user, &[&APPLY[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(again["changes"], serde_json::json!([]), "{again}");
    // What somebody else writes stays.
    fs::write(HARMLESS[0].1, "7\n").unwrap();
    let ran = patient(&user, &["tune", "--restore"]).expect(5);
    assert!(
        ran.out.contains("not changed") && value(HARMLESS[0].1) == "7" && value(HARMLESS[1].1) == old[1],
        "{}",
        ran.out
    );
    patient(&user, &["tune", "--restore", "--force"]).expect(0);
    restores_nothing(&user);
    assert_eq!(all_values(&user), before);
}

#[test]
fn killed_at_any_moment_everything_comes_back() {
    let Some(_lock) = real() else { return };
    let user = User::new();
    let before = all_values(&user);
    let (ran, whole) = timed(&user, &APPLY);
    ran.expect(0);
    patient(&user, &["tune", "--restore"]).expect(0);
    let noted = || {
        let names = fs::read_dir(user.path("state")).into_iter().flatten().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|e| e == "changes")).count()
    };
    let (mut held, mut changed) = (0, 0);
    for round in 0..20u32 {
        let mut child = user.start(&APPLY);
        if round == 0 {
            // Done, and its changes in place.
            child.wait().unwrap();
        } else if round % 2 == 0 {
            // From soon after the start to after the end, evenly.
            thread::sleep(whole * round / 14);
        } else {
            // Between the journal and the writes, or among them.
            while noted() == 0 && child.try_wait().unwrap().is_none() {}
        }
        child.kill().unwrap();
        child.wait().unwrap();
        held += noted();
        changed += u32::from(all_values(&user) != before);
        patient(&user, &["tune", "--restore"]).expect(0);
        assert_eq!(all_values(&user), before, "round {round}");
        assert_eq!(noted(), 0);
    }
    assert!(held > 0 && changed > 0, "the test saw nothing to take back");
    eprintln!("killed 20 times within {whole:?}; {held} times changes were noted, {changed} times made");
}

#[test]
fn two_at_once_are_refused() {
    let Some(_lock) = real() else { return };
    let user = User::new();
    let before = all_values(&user);
    let children: Vec<_> = (0..4).map(|_| user.start(&APPLY)).collect();
    let codes: Vec<Ran> = children.into_iter().map(|child| Ran::from(child.wait_with_output().unwrap())).collect();
    for ran in &codes {
        let refused = ran.code == Some(4) && ran.err.contains("is changing this system right now");
        assert!(ran.code == Some(0) || refused, "{:?}: {}{}", ran.code, ran.out, ran.err);
    }
    patient(&user, &["tune", "--restore"]).expect(0);
    assert_eq!(all_values(&user), before);
}

#[test]
fn users_without_root_look_and_are_refused_changes() {
    let user = User::new();
    let program = if is_root() {
        // Nobody may not look into the directory of builds.
        let program = Path::new("/tmp").join(format!("tiermark-test-{}", std::process::id()));
        fs::copy(env!("CARGO_BIN_EXE_tiermark"), &program).unwrap();
        program
    } else {
        env!("CARGO_BIN_EXE_tiermark").into()
    };
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(arguments).env_clear().env("HOME", "/nonexistent").current_dir("/");
        if is_root() {
            // 65534 is nobody everywhere.
            command.uid(65534).gid(65534);
        }
        Ran::from(command.output().unwrap())
    };
    let looked = run(&["tune", "--diff", "--profile=latency"]);
    let checked = run(&["doctor"]);
    let refused = run(&APPLY);
    let restored = run(&["tune", "--restore", "--json"]);
    if is_root() {
        fs::remove_file(&program).unwrap();
    }
    assert!(looked.expect(0).out.starts_with("tiermark tune"));
    assert!(matches!(checked.code, Some(0 | 3)) && checked.out.starts_with("tiermark doctor"), "{}", checked.err);
    assert_eq!(restored.expect(0).json()["changes"], serde_json::json!([]));
    // Where the knobs are as advised already there is nothing to refuse.
    assert!(matches!(refused.code, Some(0 | 4)), "{:?}: {}{}", refused.code, refused.out, refused.err);
    drop(user);
}
