//! The program on the machine the tests run on: structure, never speed.

use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::{Ran, User, document, findings};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Whatever else runs, these tests measure: numbers are not looked at.
const QUICK: [&str; 4] = ["survey", "--quick", "--force", "--allow-partial"];

#[test]
fn a_quick_survey_measures_the_ladder() {
    let user = User::new();
    // More time than a quiet machine needs: others may be compiling.
    let ran = user.run(&[&QUICK[..], &["--max-time=40"]].concat()).measured();
    assert!(!ran.out.is_empty());
    let saved = user.saved("json");
    assert_eq!((saved.len(), user.saved("journal").len()), (1, 0));
    let run = document(&saved[0]);
    // What was written can be read, whatever was seen.
    user.run(&["show", "--reanalyse"]).expect(0);
    assert_eq!((run["stopped"].is_null(), run["simulated"].is_null()), (true, true));
    assert!(run["bench"]["clock"]["hz"].as_f64().unwrap() > 0.0);
    let found = findings(&run);
    for metric in ["latency", "bandwidth"] {
        let tiers: Vec<&str> =
            found.iter().filter(|f| f["metric"] == metric).filter_map(|f| f["labels"]["tier"].as_str()).collect();
        assert!(tiers.contains(&"L1") && tiers.contains(&"DRAM"), "{metric} of {tiers:?}");
    }
    for finding in &found {
        assert!(finding["value"].as_f64().is_none_or(|v| v > 0.0), "{finding}");
        let grade = finding["verdict"]["grade"].as_str().unwrap();
        assert!(["trusted", "shared", "bound", "suspect", "invalid"].contains(&grade), "{finding}");
        let reasons = finding["verdict"]["reasons"].as_array().unwrap().len();
        assert_eq!(grade == "trusted", reasons == 0, "{finding}");
    }
}

#[test]
fn tables_hold_exactly_what_was_asked_for() {
    let user = User::new();
    let arguments = ["latency", "--quick", "--force", "--sizes=16K,64K", "--layout=stride:64,random", "--json"];
    let run = user.run(&arguments).measured().json();
    let steps = run["experiments"][0]["plan"]["steps"].as_array().unwrap().len();
    assert_eq!(steps, 4);
    let arguments = ["bandwidth", "--quick", "--force", "--sizes=16K,64K", "--op=read,copy", "--threads=one", "--json"];
    let run = user.run(&arguments).measured().json();
    let values: Vec<f64> = findings(&run).iter().filter_map(|f| f["value"].as_f64()).collect();
    assert!(values.len() >= 4 && values.iter().all(|v| *v > 0.0), "{values:?}");
}

#[test]
fn cores_talk_to_each_other() {
    let user = User::new();
    if user.run(&["machine", "--json"]).expect(0).json()["allowed_cpus"] == "0" {
        user.run(&["c2c", "--force"]).expect(4);
        return;
    }
    user.run(&["c2c", "--quick", "--force", "--allow-partial", "--sample=1", "--json=c2c.json"]).measured();
    let run = document(&user.path("c2c.json"));
    for found in findings(&run).iter().filter(|f| f["metric"] == "c2c.pair") {
        // From one core's own pipeline to across a rack, whatever else runs here.
        assert!(found["value"].as_f64().is_none_or(|v| (2.0..100_000.0).contains(&v)), "{found}");
    }
    let observations = run["experiments"][0]["observations"].as_array().unwrap();
    for observation in observations {
        assert!(observation["placement"]["pages"].as_u64().unwrap() > 0, "{observation}");
    }
}

#[test]
fn loads_are_counted_beside_the_chase() {
    let user = User::new();
    let arguments = ["loaded-latency", "--quick", "--force", "--allow-partial", "--max-time=40", "--json=loaded.json"];
    if user.run(&["machine", "--json"]).expect(0).json()["allowed_cpus"] == "0" {
        user.run(&arguments).expect(4);
        return;
    }
    user.run(&arguments).measured();
    let run = document(&user.path("loaded.json"));
    let observations = run["experiments"][0]["observations"].as_array().unwrap();
    let points: Vec<_> = observations.iter().filter(|o| o["labels"]["purpose"] == "load").collect();
    assert!(points.len() >= 6, "{} points", points.len());
    for point in points.iter().filter(|o| o["value"].is_number()) {
        let (latency, load) = (point["value"].as_f64().unwrap(), &point["parts"][0]);
        assert_eq!(load["name"], "load", "{point}");
        // From a cache's latency to a swap's, and no more than any memory has: whatever else runs here.
        assert!((5.0..100_000.0).contains(&latency), "{latency} ns");
        assert!(load["value"].as_f64().is_some_and(|rate| (1e3..1e14).contains(&rate)), "{load}");
    }
}

#[test]
fn the_line_of_this_machine_is_found() {
    let user = User::new();
    // Beside other work one number may be off in spite of all checks: a method that is wrong is wrong again.
    let mut wrong = Vec::new();
    for _ in 0..3 {
        // Enough for the first steps, whatever else runs: the line is among them.
        let ran =
            user.run(&["geometry", "--quick", "--force", "--allow-partial", "--max-time=30", "--json"]).measured();
        let found = findings(&ran.json());
        assert!(found.iter().any(|f| f["metric"] == "geometry.size"), "{found:?}");
        let trusted = |f: &&Value| f["metric"] == "geometry.line" && f["verdict"]["grade"] == "trusted";
        match found.iter().find(trusted).and_then(|f| f["value"].as_f64()) {
            Some(bytes) if [32.0, 64.0, 128.0, 256.0].contains(&bytes) => return,
            Some(bytes) => wrong.push(bytes),
            None => {}
        }
    }
    assert!(wrong.len() < 2, "{wrong:?}");
}

#[test]
fn the_machine_is_read_captured_and_read_back() {
    let user = User::new();
    let live = user.run(&["machine", "--json"]).expect(0).json();
    assert!(!live["cpus"].as_array().unwrap().is_empty());
    assert!(user.run(&["machine"]).expect(0).out.contains("cpus"));
    user.run(&["machine", "--capture", "me.tar.gz"]).expect(0);
    let captured = user.run(&["machine", "--root", "me.tar.gz", "--json"]).expect(0).json();
    for part in ["cpus", "caches", "dimms", "page_bytes", "cpu_model"] {
        assert_eq!(live[part], captured[part], "{part}");
    }
}

#[test]
fn the_self_test_passes_here() {
    // What is right or wrong is so each time; opening the gate takes long while other tests hold the cpus.
    for _ in 0..5 {
        let ran = User::new().run(&["selftest"]);
        let failed: Vec<&str> = ran.out.lines().filter(|line| line.starts_with('✘')).collect();
        if failed.is_empty() {
            ran.expect(0);
            return;
        }
        assert!(failed.iter().all(|line| line.contains(" gate ")), "{}", ran.out);
    }
    panic!("the gate never opened in time");
}

#[test]
fn visits_stand_beside_a_continuous_chase() {
    let user = User::new();
    // Structure only: so short a run may find no figure, or a wrong one.
    let ran = user.run(&["selftest", "--continuous", "--seconds=0.05", "--max-mem=100K", "--width=120"]);
    assert!(matches!(ran.code, Some(0 | 1 | 5)), "{:?}\n{}\n{}", ran.code, ran.out, ran.err);
    for part in ["before", "visits", "after", "16 KiB", "cycles", "ratio", "both ways on"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains("MiB"), "{}", ran.out);
    assert!(user.saved("json").is_empty() && user.saved("journal").is_empty());
    user.run(&["selftest", "--seconds=1"]).expect(2);
}

#[test]
fn a_dry_run_measures_nothing() {
    let user = User::new();
    let plans = user.run(&["survey", "--dry-run", "--json=-"]).expect(0).json();
    assert!(plans.as_array().is_some_and(|plans| !plans.is_empty()), "{plans}");
    assert!(user.saved("json").is_empty() && user.saved("journal").is_empty());
}

/// Starts a survey, waits until it measures and then some, and sends a signal.
fn stopped_by(user: &User, signal: Signal, after: Duration) -> (Ran, Duration) {
    stopped(user, &QUICK, signal, after)
}

/// Starts a run, waits until it measures and then some, and sends a signal; how long it took to end.
pub(crate) fn stopped(user: &User, arguments: &[&str], signal: Signal, after: Duration) -> (Ran, Duration) {
    let child = user.start(arguments);
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    let began = Instant::now();
    while user.saved("journal").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "no journal appears");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(after);
    let sent = Instant::now();
    kill_process(pid, signal).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    (ran, sent.elapsed())
}

#[test]
fn signals_stop_a_run_and_lose_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        for after in [0, 137, 700] {
            let user = User::new();
            let (ran, took) = stopped_by(&user, signal, Duration::from_millis(after));
            let ran = ran.expect(code);
            // A second is the promise on a machine of its own; here compilers may hold the cpus.
            assert!(took < Duration::from_secs(10), "{took:?}");
            assert!(user.saved("journal").is_empty(), "the journal is gone once the run has ended");
            match user.saved("json").as_slice() {
                // It ended before anything was measured.
                [] => assert!(!ran.err.is_empty()),
                [saved] => {
                    assert_eq!(document(saved)["complete"], false);
                    assert!(ran.out.contains("INCOMPLETE"), "{}", ran.out);
                }
                several => panic!("{several:?}"),
            }
        }
    }
}

/// Does something with every cpu that this process may use, until `ends` says so.
fn keep_busy(ends: &AtomicBool) {
    while !ends.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[test]
fn a_run_waits_for_the_work_of_others_and_says_for_whom() {
    let (user, ends) = (User::new(), AtomicBool::new(false));
    let cpus = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        (0..cpus).for_each(|_| drop(scope.spawn(|| keep_busy(&ends))));
        let arguments = ["latency", "--quick", "--sizes=32K"];
        let mut child = user.start(&[&arguments[..], &["--wait"]].concat());
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("waiting, for") {
            line.clear();
            assert!(err.read_line(&mut line).unwrap() > 0, "it ended before it waited");
        }
        assert!(line.contains("cpus busy by ") || line.contains("cpu busy by "), "{line}");
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(143));
        line.clear();
        err.read_line(&mut line).unwrap();
        assert!(line.contains("nothing was measured"), "{line}");
        // When the time is over it is refused, and the option that measures anyway is named.
        let refused = user.run(&[&arguments[..], &["--wait=1"]].concat()).expect(4);
        assert!(refused.err.contains("other work keeps") && refused.err.contains("--force"), "{}", refused.err);
        ends.store(true, Ordering::Relaxed);
    });
    assert!(user.saved("json").is_empty() && user.saved("journal").is_empty());
}

#[test]
fn a_signal_ends_the_wait_for_a_start() {
    let user = User::new();
    let later = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 600;
    let mut child = user.start(&["latency", "--quick", "--sizes=32K", "--force", &format!("--at=@{later}")]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting until") {
        line.clear();
        assert!(err.read_line(&mut line).unwrap() > 0, "it ended before it waited");
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    err.read_line(&mut line).unwrap();
    assert!(line.contains("nothing was measured"), "{line}");
    assert!(user.saved("json").is_empty() && user.saved("journal").is_empty());
}

#[test]
fn cores_that_talk_hear_a_signal() {
    for after in [0, 90, 400] {
        let user = User::new();
        let arguments = ["c2c", "--full", "--force", "--allow-partial", "--max-time=60"];
        let machine = user.run(&["machine", "--json"]).expect(0).json();
        if machine["allowed_cpus"] == "0" {
            return;
        }
        let (ran, took) = stopped(&user, &arguments, Signal::INT, Duration::from_millis(after));
        ran.expect(130);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn a_killed_run_is_recovered_from_its_journal() {
    for after in [20, 411, 1900] {
        let user = User::new();
        let (ran, _) = stopped_by(&user, Signal::KILL, Duration::from_millis(after));
        assert_eq!(ran.code, None, "killed");
        assert_eq!((user.saved("json").len(), user.saved("journal").len()), (0, 1));
        let shown = user.run(&["show", "last"]).expect(0);
        assert!(!shown.err.is_empty() && shown.out.contains("INCOMPLETE"), "{}\n{}", shown.out, shown.err);
        assert_eq!((user.saved("json").len(), user.saved("journal").len()), (1, 0));
        let run = document(&user.saved("json")[0]);
        let experiments = run["experiments"].as_array().unwrap().iter();
        let mut observed = experiments.flat_map(|e| e["observations"].as_array().unwrap());
        // Points of a curve are no findings; steps of the ladder are.
        if observed.any(|o| o["value"].is_number() && o["labels"]["purpose"] == "ladder") {
            assert!(!findings(&run).is_empty(), "findings are derived from the journal's observations");
        }
        // It is said once.
        assert_eq!(user.run(&["show", "last"]).expect(0).err, "");
    }
}
