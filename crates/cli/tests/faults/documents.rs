//! Documents of runs, where the store is and where the user wants them.

use std::fs;

use crate::ERRORS;
use crate::common::{Ran, User};
use crate::trace::{Call, calls, can_trace, failing, killed};

const OLD: &str = "what was there before\n";

/// A simulated run whose document the user wants beside the saved one.
fn arguments(user: &User) -> Vec<String> {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../machine/tests/trees/vm.tar.gz");
    let file = user.path("wanted.json");
    let words = ["latency", "--simulate", tree, "--sizes", "32K", "--quick", "--max-time", "1"];
    let words = words.into_iter().map(str::to_owned);
    words.chain([format!("--json={}", file.display())]).collect()
}

/// Files of a home that are named like temporary ones, at any depth.
fn temporary(user: &User) -> Vec<String> {
    let mut found = Vec::new();
    for directory in [user.home.path().to_owned(), user.path("runs")] {
        let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.file_name());
        found.extend(names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with("-tmp")));
    }
    found
}

/// A document is the old one, or a whole new one; whether it is the new one.
#[track_caller]
fn is_whole(user: &User, what: &str) -> bool {
    let text = fs::read_to_string(user.path("wanted.json")).unwrap();
    let new = serde_json::from_str::<serde_json::Value>(&text).is_ok();
    assert!(new || text == OLD, "{what}: a torn document: {text}");
    for saved in user.saved("json") {
        let text = fs::read_to_string(&saved).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{what}: torn: {}", saved.display());
    }
    new
}

/// The calls of such a run that touch a file of this user.
fn leaving(user: &User, words: &[&str]) -> (Ran, Vec<Call>) {
    let home = user.home.path().display().to_string();
    let (ran, calls) = calls(user, words);
    (ran, calls.into_iter().filter(|call| call.arguments.contains(&home)).collect())
}

fn begin(user: &User) {
    let _ = fs::remove_dir_all(user.path("runs"));
    temporary(user).iter().for_each(|name| drop(fs::remove_file(user.path(name))));
    fs::write(user.path("wanted.json"), OLD).unwrap();
}

#[test]
fn whatever_call_fails_documents_are_whole() {
    if !can_trace() {
        return;
    }
    let user = User::new();
    let words = arguments(&user);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    begin(&user);
    let (ran, calls) = leaving(&user, &words);
    ran.measured();
    assert!(is_whole(&user, "unharmed") && user.saved("json").len() == 1, "{calls:#?}");
    for error in ERRORS {
        for call in &calls {
            begin(&user);
            let what = format!("{error} from {call:?}");
            let ran = failing(&user, call, error, &words);
            let new = is_whole(&user, &what);
            assert!(!ran.err.contains("internal error"), "{what}: {}", ran.err);
            assert!(matches!(ran.code, Some(0..=6)), "{what}: {:?} {}", ran.code, ran.err);
            // Where nobody says so, the user has what was asked for, in both places.
            let told = ran.code != Some(0) && ran.code != Some(5) || ran.err.contains("warning");
            assert!(told || new && user.saved("json").len() == 1, "{what}: not told: {}", ran.err);
            // What could not be removed is removed by a later run.
            assert!(call.name == "unlink" || temporary(&user).is_empty(), "{what}: {:?}", temporary(&user));
        }
    }
}

#[test]
fn killed_before_any_call_documents_are_whole() {
    if !can_trace() {
        return;
    }
    let user = User::new();
    let words = arguments(&user);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    begin(&user);
    let (ran, calls) = leaving(&user, &words);
    ran.measured();
    let mut shown = 0;
    for call in &calls {
        begin(&user);
        let what = format!("killed before {call:?}");
        assert_eq!(killed(&user, call, &words).code, None, "{call:?} was not reached");
        is_whole(&user, &what);
        // What it had measured is shown as soon as its journal has it.
        let left = !user.saved("journal").is_empty() || !user.saved("json").is_empty();
        let ran = user.run(&["show", "last"]);
        assert!(!ran.err.contains("internal error"), "{what}: {}", ran.err);
        assert!(ran.code == Some(0) || !left || ran.err.contains("journal"), "{what}: {:?} {}", ran.code, ran.err);
        shown += u32::from(ran.code == Some(0));
    }
    assert!(shown > 0);
}
