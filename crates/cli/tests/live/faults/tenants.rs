//! Runs of `capacity` in which a call fails: nothing of them is left once they are restored.

use std::collections::HashSet;
use std::path::Path;

use crate::common::User;
use crate::common::system::{self, patient, same, state};
use crate::faults::ERRORS;
use crate::faults::trace::{Call, calls, can_trace, failing};
use crate::faults::tuning;

/// One tenant on a tier of compressed memory, judged by a second of load.
const SMALL: &str = "capacity --force --scenario mini --tiers zram --records 2000 --rps 300 --level rate>50% --warmup \
                     0 --measure 0.3s --iterations 1 --most-tenants 1 --dram-budget 24M --tier-size 64M --memory-floor 64M --seed 1 --quiet";
/// What a run is made of that others would have to live with: each of them fails at least once.
const CHANGES: [(&str, &str); 7] = [
    ("mkdir", "cgroup"),
    ("write", "memory"),
    ("read", "hot_add"),
    ("write", "disksize"),
    ("write", ".changes"),
    ("fdatasync", ".changes"),
    ("rmdir", "cgroup"),
];
/// Where it leaves what others would have to live with, and the notes with which that is taken back. Documents and
/// other files of the user are tested with other commands.
const PLACES: [&str; 4] = ["/sys/", "tiermark.lock", ".changes", "/state>"];
/// Calls of its children, one each.
const OF_CHILDREN: [&str; 2] = ["swapon", "swapoff"];
/// Of so many kinds of calls, one: all take minutes.
const ONE_OF: usize = 2;
/// Of what a call says, as much tells it from others.
const TOLD: usize = 100;

/// Hierarchies of control groups of version 1, in each of which a tenant has the same group.
const HIERARCHIES: [&str; 3] = ["memory", "cpuacct", "unified"];

/// The call without what differs from run to run: words with numbers are times, names made at random, and counts.
fn kind(call: &Call) -> String {
    let words = call.arguments.split(|c: char| !c.is_ascii_alphanumeric());
    let is_same = |word: &&str| !word.contains(|c: char| c.is_ascii_digit()) && !HIERARCHIES.contains(word);
    let same = words.filter(|word| !word.is_empty()).filter(is_same);
    let told: String = same.flat_map(|word| [word, " "]).collect::<String>().chars().take(TOLD).collect();
    format!("{} {told}", call.name)
}

#[test]
fn whatever_call_of_a_run_with_tenants_fails_nothing_is_left() {
    let zram = Path::new("/sys/class/zram-control/hot_add").exists();
    let Some(_lock) = system::real(&[(zram, "a kernel with zram")]) else { return };
    if !can_trace() {
        return;
    }
    // Tests of knobs change some, and find the system in use.
    let _knobs = tuning::alone();
    let arguments: Vec<&str> = SMALL.split_whitespace().collect();
    let (user, before) = (User::new(), state());
    // Directories that are there already are not made: the runs to come are like the one that is traced.
    patient(&user, &arguments).expect(0);
    let (ran, all) = calls(&user, &arguments);
    ran.expect(0);
    same(&before, "unharmed");
    let mut kinds = HashSet::new();
    let told = all.into_iter().filter(|call| PLACES.iter().any(|place| call.arguments.contains(place)));
    let mut firsts: Vec<Call> = told.filter(|call| kinds.insert(kind(call))).collect();
    for (name, about) in CHANGES {
        assert!(firsts.iter().any(|call| call.name == name && call.arguments.contains(about)), "no {name} of {about}");
    }
    let of_child = |name: &str| Call { name: name.into(), number: 1, arguments: "of a child".into(), succeeded: true };
    firsts = firsts.into_iter().step_by(ONE_OF).collect();
    firsts.extend(OF_CHILDREN.map(of_child));
    let mut hindered = 0;
    for (number, call) in firsts.iter().enumerate() {
        let error = ERRORS[number % ERRORS.len()];
        let what = format!("{error} from {} {}: {}", call.name, call.number, kind(call));
        let ran = failing(&user, call, error, &arguments);
        assert!(!ran.err.contains("internal error"), "{what}: {}", ran.err);
        assert!(matches!(ran.code, Some(0..=6)), "{what}: {:?} {}", ran.code, ran.err);
        hindered += usize::from(ran.code != Some(0));
        let restored = patient(&user, &["tune", "--restore"]);
        same(&before, &format!("{what}: {}{}{}", ran.err, restored.out, restored.err));
        assert_eq!(restored.code, Some(0), "{what}: {}{}", restored.out, restored.err);
    }
    eprintln!("{} calls failed, {hindered} of them ended or hindered the run", firsts.len());
    assert!(hindered * 3 > firsts.len(), "{hindered} of {} runs took note of the failure", firsts.len());
}
