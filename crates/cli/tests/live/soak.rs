//! A soak of this machine's memory: what it leaves when it is stopped or killed, and what is seen of it meanwhile.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::terminal::{Terminal, ended};
use crate::common::{User, document};
use crate::measured::stopped;

/// A soak of 20 s of little memory, also beside other work.
const SOAK: [&str; 4] = ["soak", "--force", "--max-mem=256M", "--time=20s"];

/// What the one saved run has of its soak.
#[track_caller]
fn saved(user: &User) -> Value {
    let saved = user.saved("json");
    let [only] = saved.as_slice() else { panic!("{saved:?}") };
    assert!(user.saved("journal").is_empty());
    let run = document(only);
    assert_eq!(run["complete"], false);
    run["experiments"][0]["observations"][0]["soak"].clone()
}

/// That memory was compared, and was right.
#[track_caller]
fn assert_sound(soak: &Value) {
    assert_eq!((&soak["wrong_words"], &soak["proven"]), (&Value::from(0), &Value::from(true)), "{soak}");
    for node in soak["memory"].as_array().unwrap() {
        assert!(node["covered"].as_u64() > Some(0) && node["checked"].as_u64() > Some(0), "{soak}");
    }
}

#[test]
fn a_soak_that_is_stopped_has_a_report_of_what_it_compared() {
    let user = User::new();
    let (ran, took) = stopped(&user, &SOAK, Signal::INT, Duration::from_secs(5));
    let ran = ran.expect(130);
    assert!(took < Duration::from_secs(10), "{took:?}");
    for said in ["No wrong word: ", "Incomplete: it was stopped."] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    let soak = saved(&user);
    assert_eq!(soak["ended"]["code"], "stopped_by_user", "{soak}");
    assert_sound(&soak);
}

#[test]
fn a_soak_that_is_killed_is_recovered_with_what_it_compared() {
    let user = User::new();
    let (ran, _) = stopped(&user, &SOAK, Signal::KILL, Duration::from_secs(10));
    assert_eq!(ran.code, None, "killed");
    assert_eq!((user.saved("json").len(), user.saved("journal").len()), (0, 1));
    let shown = user.run(&["show", "last"]).expect(0);
    assert!(shown.out.contains("INCOMPLETE") && shown.out.contains("No wrong word: "), "{}", shown.out);
    assert_sound(&saved(&user));
}

/// The priority of each thread of a process.
fn nice(process: &str) -> Vec<i64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let of = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The 19th field; the second is a name in parentheses.
        stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
    };
    threads.filter_map(of).collect()
}

#[test]
fn a_terminal_shows_errors_rate_and_time_left() {
    let user = User::new();
    let words = ["soak", "--force", "--max-mem=256M", "--time=8s", "--nice=5"];
    let mut terminal = Terminal::start(&user, &words);
    terminal.until(" s left  0 wrong words, ");
    terminal.until(" GB/s, ");
    let process = terminal.child.id().to_string();
    let own = nice("self")[0];
    let threads = nice(&process);
    assert!(threads.len() > 1 && threads.iter().all(|nice| *nice == (own + 5).min(19)), "{own}: {threads:?}");
    let first_to_go = fs::read_to_string(format!("/proc/{process}/oom_score_adj")).unwrap();
    assert_eq!(first_to_go.trim(), "1000");
    terminal.until("No wrong word: ");
    assert_eq!(ended(&mut terminal.child), Some(0));
}
