//! Changes of knobs of this machine, and taking them back.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};

use crate::common::system::patient;
use crate::common::{Ran, User};
use crate::faults::ERRORS;
use crate::faults::trace::{Call, calls, can_trace, failing, killed};

/// Knobs whose change nobody feels, as in the tests of `tune`.
const KNOBS: [&str; 2] = ["/proc/sys/vm/stat_interval", "/proc/sys/vm/compaction_proactiveness"];
const APPLY: [&str; 6] =
    ["tune", "--profile", "latency", "--only", "vm.stat_interval,vm.compaction_proactiveness", "--apply"];
const RESTORE: [&str; 2] = ["tune", "--restore"];

pub(crate) fn values() -> Vec<String> {
    KNOBS.map(|path| fs::read_to_string(path).unwrap()).to_vec()
}

/// One such test at a time on the whole machine, with its values; else says why the test is skipped.
pub(crate) fn real() -> Option<(File, Vec<String>)> {
    let writable = |path: &&str| fs::read(path).is_ok_and(|bytes| fs::write(path, bytes).is_ok());
    if !rustix::process::geteuid().is_root() || !KNOBS.iter().all(writable) {
        crate::common::skipped(format_args!("changing knobs for real needs root, and a /proc/sys that can be written"));
        return None;
    }
    if !can_trace() {
        return None;
    }
    Some((alone(), values()))
}

/// One test at a time that changes knobs, or compares them, as long as the file is open.
pub(crate) fn alone() -> File {
    let lock = File::create(std::env::temp_dir().join("tiermark-test-knobs.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

fn journals(user: &User) -> usize {
    let names = fs::read_dir(user.path("state")).into_iter().flatten().flatten();
    names.filter(|entry| entry.path().extension().is_some_and(|e| e == "changes")).count()
}

/// Takes everything back, and finds it as it was.
#[track_caller]
fn comes_back(user: &User, before: &[String], after: &str) {
    let ran = patient(user, &RESTORE);
    assert_eq!(values(), before, "{after}: {}{}", ran.out, ran.err);
    assert_eq!((ran.code, journals(user)), (Some(0), 0), "{after}: {}{}", ran.out, ran.err);
}

/// Nobody is shown a defect of the program, and success means that it is done.
#[track_caller]
fn is_told(ran: &Ran, done: bool, what: &str) {
    assert!(matches!(ran.code, Some(0..=6)), "{what}: {:?} {}", ran.code, ran.err);
    assert!(ran.code != Some(0) || done, "{what}: exit code 0, and it is not done: {}{}", ran.out, ran.err);
}

/// The calls of applying, and of restoring, from the first that leaves something on.
fn both(user: &User, before: &[String]) -> [Vec<Call>; 2] {
    // A directory that is there already is not made: the runs to come are like this one.
    patient(user, &APPLY).expect(0);
    comes_back(user, before, "unharmed");
    let (ran, applying) = calls(user, &APPLY);
    ran.expect(0);
    assert_ne!(values(), before, "this machine already has the values that would be written");
    let (ran, restoring) = calls(user, &RESTORE);
    ran.expect(0);
    assert_eq!(values(), before);
    for (calls, what) in [(&applying, "applying"), (&restoring, "restoring")] {
        assert!(
            KNOBS.iter().all(|knob| calls.iter().any(|call| call.name == "write" && call.file() == *knob)),
            "{what}"
        );
    }
    [applying, restoring]
}

#[test]
fn killed_before_any_call_everything_comes_back() {
    let Some((_lock, before)) = real() else { return };
    let user = User::new();
    let [applying, restoring] = both(&user, &before);
    for call in &applying {
        assert_eq!(killed(&user, call, &APPLY).code, None, "{call:?} was not reached");
        comes_back(&user, &before, &format!("applying, killed before {call:?}"));
    }
    for call in &restoring {
        patient(&user, &APPLY).expect(0);
        assert_eq!(killed(&user, call, &RESTORE).code, None, "{call:?} was not reached");
        comes_back(&user, &before, &format!("restoring, killed before {call:?}"));
    }
    eprintln!("killed at {} calls of applying and {} of restoring", applying.len(), restoring.len());
}

#[test]
fn whatever_call_fails_everything_comes_back() {
    let Some((_lock, before)) = real() else { return };
    let user = User::new();
    let [applying, restoring] = both(&user, &before);
    for error in ERRORS {
        for call in &applying {
            let what = format!("applying, {error} from {call:?}");
            let ran = failing(&user, call, error, &APPLY);
            is_told(&ran, values() != before, &what);
            assert!(values() == before || journals(&user) == 1, "{what}: changed and not noted");
            comes_back(&user, &before, &what);
        }
        for call in &restoring {
            let what = format!("restoring, {error} from {call:?}");
            patient(&user, &APPLY).expect(0);
            let ran = failing(&user, call, error, &RESTORE);
            is_told(&ran, values() == before, &what);
            comes_back(&user, &before, &what);
        }
    }
}

/// What of files and names would be there after a loss of power: of a file what was synced, of a name what its
/// directory was synced with.
#[derive(Default)]
struct Disk {
    written: HashMap<String, String>,
    synced: HashMap<String, String>,
    named: HashSet<String>,
    new_names: HashSet<String>,
}

impl Disk {
    fn see(&mut self, call: &Call) {
        let file = call.file().to_owned();
        match call.name.as_str() {
            "mkdir" => drop(self.new_names.insert(call.text())),
            "openat" if call.arguments.contains("O_CREAT") => drop(self.new_names.insert(call.text())),
            "write" => self.written.entry(file).or_default().push_str(&call.text()),
            "fdatasync" | "fsync" => {
                let inside = |name: &&String| name.rsplit_once('/').is_some_and(|(above, _)| above == file);
                self.named.extend(self.new_names.iter().filter(inside).cloned());
                let content = self.written.get(&file).cloned().unwrap_or_default();
                self.synced.insert(file, content);
            }
            _ => {}
        }
    }

    /// Whether a journal that survives says this, in a directory that does.
    fn holds(&self, text: &str) -> bool {
        let is_there = |name: &str| !self.new_names.contains(name) || self.named.contains(name);
        let survives = |name: &str| is_there(name) && name.rsplit_once('/').is_some_and(|(above, _)| is_there(above));
        self.synced.iter().any(|(name, content)| survives(name) && content.contains(text))
    }
}

#[test]
fn a_change_is_made_when_its_note_survives_a_loss_of_power() {
    let Some((_lock, before)) = real() else { return };
    let user = User::new();
    // The directory of journals is made by this run.
    let (ran, calls) = calls(&user, &APPLY);
    ran.expect(0);
    let (mut disk, mut changes) = (Disk::default(), 0);
    for call in &calls {
        if call.name == "write" && KNOBS.contains(&call.file()) {
            changes += 1;
            assert!(disk.holds(call.file().trim_start_matches('/')), "{call:?} before its note was on disk");
        }
        disk.see(call);
    }
    assert_eq!(changes, 2);
    comes_back(&user, &before, "unharmed");
}
