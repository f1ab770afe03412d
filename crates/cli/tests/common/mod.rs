//! Running the program as a user does, in a home of its own.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

pub(crate) mod redis;
pub(crate) mod system;
pub(crate) mod terminal;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Says why a test is skipped, past the harness, which hides the output of tests that pass.
pub(crate) fn skipped(why: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// A user with an empty home.
pub(crate) struct User {
    pub(crate) home: TempDir,
}

impl Drop for User {
    /// A test that fails must not leave what it changed of the system without the notes of it, which are in this home.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.command(&["tune", "--restore"]).output();
        }
    }
}

/// What a run of the program left.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl User {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    /// A user with a copy of the home directory that `did` fills. `did` runs once for all tests that pass this `name`.
    pub(crate) fn after(name: &'static str, did: impl FnOnce(&Self)) -> Self {
        static DONE: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let copy = |from: &Path, to: &Path| {
            assert!(Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap().success());
        };
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !done.contains(name) {
            let user = Self::new();
            did(&user);
            let _ = std::fs::remove_dir_all(&place);
            std::fs::create_dir_all(&place).unwrap();
            copy(user.home.path(), &place);
            done.insert(name);
        }
        drop(done);
        let user = Self::new();
        copy(&place, user.home.path());
        user
    }

    /// The program with a bare environment, so that nobody's settings reach the tests.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tiermark"));
        command.args(arguments).env_clear().env("TIERMARK_HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        // As root all would share one directory of journals, and take back what others are testing.
        command.env("TIERMARK_STATE", self.path("state"));
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Files of saved runs with an extension.
    pub(crate) fn saved(&self, extension: &str) -> Vec<PathBuf> {
        let listing = std::fs::read_dir(self.path("runs")).into_iter().flatten().flatten().map(|e| e.path());
        listing.filter(|p| p.extension().is_some_and(|e| e == extension)).collect()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let ran = Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        // A panic is caught and said; no test wants one.
        assert!(!ran.err.contains("internal error"), "{}", ran.err);
        ran
    }
}

impl Ran {
    /// Panics with everything printed unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Panics unless the run measured to its end: on a busy machine a figure may be withheld, which is an answer too.
    #[track_caller]
    pub(crate) fn measured(self) -> Self {
        assert!(matches!(self.code, Some(0 | 5)), "{:?}, stdout:\n{}\nstderr:\n{}", self.code, self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in:\n{}", self.out))
    }
}

/// Whether a Redis server answers there. That a connection is made proves nothing: from a port of this machine that is
/// free to itself one can be made too.
pub(crate) fn answers(address: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let mut answer = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(1))).is_ok()
        && stream.write_all(b"PING\r\n").and_then(|()| stream.read_exact(&mut answer)).is_ok()
        && answer == *b"+PONG"
}

/// A saved document.
pub(crate) fn document(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// All findings of a run document.
pub(crate) fn findings(run: &Value) -> Vec<Value> {
    let experiments = run["experiments"].as_array().expect("experiments");
    experiments.iter().flat_map(|e| e["findings"].as_array().unwrap().clone()).collect()
}

/// A report without what differs from run to run: time, id, and the last paragraph (clock, versions, place).
pub(crate) fn stable(report: &str) -> String {
    let body = report.rsplit_once("\nclock ").map_or(report, |(body, _)| body);
    let mut lines: Vec<String> = body.lines().map(|l| l.trim_end().to_owned()).collect();
    if let Some(head) = lines.first_mut() {
        let is_time = |word: &str| word.len() == "2026-01-01T00:00:00Z".len() && word.ends_with('Z');
        let time = head.split([' ', ',']).find(|word| is_time(word)).map(str::to_owned);
        if let Some(time) = time {
            *head = head.replace(&time, "TIME");
        }
    }
    // A survey says when it was, by its id, in a line of its own.
    lines.retain(|line| !line.strip_prefix("Run ").is_some_and(|rest| rest.trim_start().starts_with("20")));
    lines.join("\n")
}

/// Numbers by chance, each time others: the seed is printed, and `TIERMARK_SEED` gives them again.
pub(crate) fn random() -> tiermark_stats::Rng {
    use std::hash::{BuildHasher, RandomState};
    let given = std::env::var("TIERMARK_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    eprintln!("TIERMARK_SEED={seed}");
    tiermark_stats::Rng::new(seed)
}

/// The trial with the most tenants of those that passed. How many had room is counted by it; what the answer says of
/// them depends on how clear each trial was, and so on how busy the machine is.
pub(crate) fn fullest(case: &Value) -> &Value {
    let passed = case["probes"].as_array().unwrap().iter().filter(|probe| probe["outcome"] == "pass");
    passed.max_by_key(|probe| probe["tenants"].as_u64()).unwrap_or_else(|| panic!("nothing passed: {case}"))
}
