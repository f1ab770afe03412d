//! Documents, where the store is and where the user wants them.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use crate::common::{Ran, User};
use crate::faults::ERRORS;
use crate::faults::trace::{Call, calls, can_trace, failing, killed};

const OLD: &str = "what was there before\n";

/// A command that writes a document to a place that the user names.
struct Written {
    words: Vec<String>,
    /// Whether it is saved where runs are, too.
    saved: bool,
    /// Whether a file is such a document, to its end.
    is_whole: fn(&User, &Path) -> bool,
}

impl Written {
    /// A command of a simulated machine, with the option that names the place.
    fn simulated(user: &User, words: &str, option: &str, saved: bool, is_whole: fn(&User, &Path) -> bool) -> Self {
        let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../machine/tests/trees/vm.tar.gz");
        let words = format!("{words} --quick --max-time 1 --simulate {tree} {option}={}", place(user));
        Self { words: words.split(' ').map(str::to_owned).collect(), saved, is_whole }
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

fn place(user: &User) -> String {
    user.path("wanted").display().to_string()
}

/// All commands. The load is the shortest possible, on a stub server. With `--force` it does not look for other
/// programs: their number changes between runs, and the test counts system calls.
fn all(user: &User) -> [Written; 4] {
    let socket = user.path("server");
    serve(UnixListener::bind(&socket).unwrap());
    let load = format!("load -t {} -n 3 --keys 3 --warmup 0 --force --json={}", socket.display(), place(user));
    let capture = format!("machine --capture {}", place(user));
    let of = |words: &str, is_whole| {
        let words = words.split(' ').map(str::to_owned).collect();
        Written { words, saved: false, is_whole }
    };
    [
        Written::simulated(user, "latency --sizes 32K", "--json", true, is_json),
        Written::simulated(user, "loaded-latency --no-save", "--csv", false, is_csv),
        of(&load, is_json),
        of(&capture, is_capture),
    ]
}

/// Answers GETs as a server does that holds nothing, until the test's process ends.
fn serve(listener: UnixListener) {
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut buffer = [0; 4096];
            // One command is under way at a time, and as short as that.
            while let Ok(n @ 1..) = client.read(&mut buffer) {
                let answer: &[u8] = if buffer[..n].ends_with(b"PING\r\n") { b"+PONG\r\n" } else { b"$-1\r\n" };
                if client.write_all(answer).is_err() {
                    break;
                }
            }
        }
    });
}

fn is_json(_: &User, file: &Path) -> bool {
    serde_json::from_slice::<serde_json::Value>(&fs::read(file).unwrap()).is_ok()
}

/// Whether its last row has as many columns as its head.
fn is_csv(_: &User, file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap();
    let columns = |line: &str| line.matches(',').count();
    let mut lines = text.lines();
    let head = lines.next().map_or(0, columns);
    text.ends_with('\n') && head > 0 && lines.next_back().is_some_and(|row| columns(row) == head)
}

fn is_capture(user: &User, file: &Path) -> bool {
    user.run(&["machine", "--root", file.to_str().unwrap()]).code == Some(0)
}

/// Files of a home that are named like temporary ones, at any depth.
fn temporary(user: &User) -> Vec<String> {
    let mut found = Vec::new();
    for directory in [user.home.path().to_owned(), user.path("runs"), user.path("load")] {
        let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.file_name());
        found.extend(names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with("-tmp")));
    }
    found
}

/// A document is the old one, or a whole new one; whether it is the new one.
#[track_caller]
fn is_new(user: &User, written: &Written, what: &str) -> bool {
    let file = user.path("wanted");
    let is_old = fs::read(&file).unwrap() == OLD.as_bytes();
    assert!(is_old || (written.is_whole)(user, &file), "{what}: a torn document: {}", file.display());
    let loads = fs::read_dir(user.path("load")).into_iter().flatten().flatten().map(|entry| entry.path());
    let loads = loads.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    for saved in user.saved("json").into_iter().chain(loads) {
        assert!(is_json(user, &saved), "{what}: torn: {}", saved.display());
    }
    !is_old
}

/// Whether the user has what was asked for, in all places.
#[track_caller]
fn is_there(user: &User, written: &Written, what: &str) -> bool {
    is_new(user, written, what) && user.saved("json").len() == usize::from(written.saved)
}

/// The calls of such a run that touch a file of this user.
fn leaving(user: &User, words: &[&str]) -> (Ran, Vec<Call>) {
    let home = user.home.path().display().to_string();
    let (ran, calls) = calls(user, words);
    (ran, calls.into_iter().filter(|call| call.arguments.contains(&home)).collect())
}

fn begin(user: &User) {
    for saved in ["runs", "load"] {
        let _ = fs::remove_dir_all(user.path(saved));
    }
    temporary(user).iter().for_each(|name| drop(fs::remove_file(user.path(name))));
    fs::write(user.path("wanted"), OLD).unwrap();
}

#[test]
fn whatever_call_fails_documents_are_whole() {
    if !can_trace() {
        return;
    }
    let user = User::new();
    for written in all(&user) {
        let words = written.words();
        begin(&user);
        let (ran, calls) = leaving(&user, &words);
        ran.measured();
        assert!(is_there(&user, &written, "unharmed") && !calls.is_empty(), "{words:?}: {calls:#?}");
        for (error, call) in ERRORS.iter().flat_map(|error| calls.iter().map(move |call| (error, call))) {
            begin(&user);
            let what = format!("{words:?}, {error} from {call:?}");
            let ran = failing(&user, call, error, &words);
            let there = is_there(&user, &written, &what);
            assert!(matches!(ran.code, Some(0..=6)), "{what}: {:?} {}", ran.code, ran.err);
            // Where nobody says so, the user has what was asked for.
            let told = ran.code != Some(0) && ran.code != Some(5) || ran.err.contains("warning");
            assert!(told || there, "{what}: not told: {}", ran.err);
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
    let mut shown = 0;
    for written in all(&user) {
        let words = written.words();
        begin(&user);
        let (ran, calls) = leaving(&user, &words);
        ran.measured();
        for call in &calls {
            begin(&user);
            let what = format!("{words:?}, killed before {call:?}");
            assert_eq!(killed(&user, call, &words).code, None, "{call:?} was not reached");
            is_new(&user, &written, &what);
            if !written.saved {
                continue;
            }
            // What it had measured is shown as soon as its journal has it.
            let left = !user.saved("journal").is_empty() || !user.saved("json").is_empty();
            let ran = user.run(&["show", "last"]);
            assert!(ran.code == Some(0) || !left || ran.err.contains("journal"), "{what}: {:?} {}", ran.code, ran.err);
            shown += u32::from(ran.code == Some(0));
        }
    }
    assert!(shown > 0);
}
