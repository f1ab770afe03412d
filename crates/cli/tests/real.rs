//! The program on the machine the tests run on: structure, never speed.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Ran, User, document, findings};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// Whatever else runs, these tests measure: numbers are not looked at.
const QUICK: [&str; 4] = ["survey", "--quick", "--force", "--allow-partial"];

#[test]
fn a_quick_survey_measures_the_ladder() {
    let user = User::new();
    // More time than a quiet machine needs: others may be compiling.
    let ran = user.run(&[&QUICK[..], &["--max-time=90"]].concat()).expect(0);
    assert!(ran.out.contains("The ladder") && ran.err.contains("Saved as"), "{}\n{}", ran.out, ran.err);
    let saved = user.saved("json");
    assert_eq!((saved.len(), user.saved("journal").len()), (1, 0));
    let run = document(&saved[0]);
    assert_eq!((run["complete"].as_bool(), run["simulated"].is_null()), (Some(true), true));
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
        assert!(["trusted", "suspect", "invalid"].contains(&grade), "{finding}");
        let reasons = finding["verdict"]["reasons"].as_array().unwrap().len();
        assert_eq!(grade == "trusted", reasons == 0, "{finding}");
    }
}

#[test]
fn tables_hold_exactly_what_was_asked_for() {
    let user = User::new();
    let arguments = ["latency", "--quick", "--force", "--sizes=16K,64K", "--layout=stride:64,random", "--json"];
    let run = user.run(&arguments).expect(0).json();
    let steps = run["experiments"][0]["plan"]["steps"].as_array().unwrap().len();
    assert_eq!(steps, 4);
    let arguments = ["bandwidth", "--quick", "--force", "--sizes=16K,64K", "--op=read,copy", "--threads=one", "--json"];
    let run = user.run(&arguments).expect(0).json();
    let values: Vec<f64> = findings(&run).iter().filter_map(|f| f["value"].as_f64()).collect();
    assert!(values.len() >= 4 && values.iter().all(|v| *v > 0.0), "{values:?}");
}

#[test]
fn cores_talk_to_each_other() {
    let user = User::new();
    if user.run(&["machine", "--json"]).expect(0).json()["allowed_cpus"] == "0" {
        let refused = user.run(&["c2c", "--force"]).expect(4);
        assert!(refused.err.contains("two cpus"), "{}", refused.err);
        return;
    }
    let ran = user.run(&["c2c", "--quick", "--force", "--allow-partial", "--sample=1", "--json=c2c.json"]).expect(0);
    assert!(ran.out.contains("Core to core") && ran.out.contains("All on one line"), "{}", ran.out);
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
    let arguments = ["loaded", "--quick", "--force", "--allow-partial", "--max-time=25", "--json=loaded.json"];
    if user.run(&["machine", "--json"]).expect(0).json()["allowed_cpus"] == "0" {
        assert!(user.run(&arguments).expect(4).err.contains("one core"));
        return;
    }
    user.run(&arguments).expect(0);
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
    // Enough for the first steps, whatever else runs: the line is among them.
    let ran = user.run(&["geometry", "--quick", "--force", "--allow-partial", "--max-time=30", "--json"]).expect(0);
    let found = findings(&ran.json());
    let line = found.iter().find(|f| f["metric"] == "geometry.line").and_then(|f| f["value"].as_f64());
    assert!(line.is_none_or(|bytes| [32.0, 64.0, 128.0, 256.0].contains(&bytes)), "{line:?}");
    assert!(found.iter().any(|f| f["metric"] == "geometry.size"), "{found:?}");
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
        assert!(ran.out.contains("checks passed"), "{}", ran.out);
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
fn a_dry_run_measures_nothing() {
    let user = User::new();
    let ran = user.run(&["survey", "--dry-run"]).expect(0);
    assert!(ran.out.contains("Plan of latency") && ran.out.contains("Plan of bandwidth"), "{}", ran.out);
    assert!(user.saved("json").is_empty() && user.saved("journal").is_empty());
}

/// Starts a survey, waits until it measures and then some, and sends a signal.
fn stopped_by(user: &User, signal: Signal, after: Duration) -> (Ran, Duration) {
    stopped(user, &QUICK, signal, after)
}

fn stopped(user: &User, arguments: &[&str], signal: Signal, after: Duration) -> (Ran, Duration) {
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
                [] => assert!(ran.err.contains("before anything was measured"), "{}", ran.err),
                [saved] => {
                    assert_eq!(document(saved)["complete"], false);
                    assert!(ran.out.contains("INCOMPLETE"), "{}", ran.out);
                }
                several => panic!("{several:?}"),
            }
        }
    }
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
        assert!(shown.err.contains("was killed") && shown.out.contains("INCOMPLETE"), "{}\n{}", shown.out, shown.err);
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

#[test]
fn a_process_that_is_started_only_to_end_does_nothing_else() {
    let user = User::new();
    let ran = user.run(&["__end-at-once"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    // Only alone: a user's mistake is still told of.
    user.run(&["__end-at-once", "--quick"]).expect(2);
}

#[test]
fn the_holder_says_what_it_is_to_whoever_types_it() {
    let user = User::new();
    let said = |run: &mut Command| {
        let ran = Ran::from(run.output().unwrap()).expect(2);
        assert!(ran.out.is_empty() && ran.err.lines().count() == 1, "{}{}", ran.out, ran.err);
        assert!(ran.err.starts_with("tiermark: __hold is how tiermark starts itself"), "{}", ran.err);
    };
    said(user.command(&["__hold"]).stdin(Stdio::null()));
    // A socket whose other side asks nothing of it, as a remote shell may give it.
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    said(user.command(&["__hold"]).stdin(OwnedFd::from(theirs)));
    user.run(&["__hold", "--quick"]).expect(2);
}

#[test]
fn a_program_that_its_loader_started_holds_nothing() {
    let program = env!("CARGO_BIN_EXE_tiermark");
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loads = |loader: &&str| Command::new(loader).args(["--verify", program]).status().is_ok_and(|s| s.success());
    // A static program has none.
    let Some(loader) = loaders.into_iter().find(loads) else { return };
    let user = User::new();
    let mut command = Command::new(loader);
    command.arg(program).args(["os", "--quick", "--force", "--no-save", "--only=fork+exit,fork+exec,own switch pair"]);
    command.args(["--allow-partial", "--json=os.json"]);
    let ran = command.env("TIERMARK_HOME", user.home.path()).current_dir(user.home.path()).output().unwrap();
    let ran = Ran::from(ran).expect(0);
    let run = document(&user.path("os.json"));
    for seen in run["experiments"][0]["observations"].as_array().unwrap() {
        let (why, cure) = (&seen["refusal"]["why"], seen["refusal"]["cure"].as_str().unwrap_or_default());
        let told =
            why.as_str().is_some_and(|why| why.contains("started by its loader")) && cure.contains("by its name");
        // What needs no process is measured.
        assert_eq!(told, seen["labels"]["op"] != "own switch pair", "{seen}\n{}", ran.err);
    }
}

/// Children of a process, whichever of its threads made them.
fn children(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether a process is there and has not ended.
fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits for something, for as long as a busy machine may take.
#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn children_of_a_run_that_is_killed_are_killed_as_well() {
    // One that sleeps, one that waits on a pipe whose other end it holds itself, one that waits for a word in memory, and one that has
    // children of its own.
    for primitive in ["process_vm_readv", "process switch pipe", "shared memory ping-pong", "fork+exec"] {
        let user = User::new();
        let arguments = ["os", "--full", "--force", "--no-save", "--max-time=60", "--only", primitive];
        let mut run = user.start(&arguments);
        let mut made = Vec::new();
        until("no child is made", || {
            made = children(run.id());
            !made.is_empty()
        });
        run.kill().unwrap();
        run.wait().unwrap();
        until(&format!("{primitive}: one of {made:?} lives on"), || !made.iter().any(|pid| lives(pid)));
    }
}

#[test]
fn forks_are_made_by_a_process_of_one_thread_that_holds_little_but_what_was_asked_for() {
    let user = User::new();
    let arguments = ["os", "--full", "--force", "--no-save", "--max-time=60", "--max-mem=200M", "--only", "fork+exit"];
    let mut run = user.start(&arguments);
    let said = |pid: &str, name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let number = |text: &str, name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
    };
    // The most that is held here: twice as much has to fit into what may be taken.
    let resident = 64 << 10;
    let mut seen = None;
    until("no process holds the memory", || {
        let holder = children(run.id()).into_iter().find(|pid| said(pid, "cmdline").contains("__hold"));
        let look = |pid: String| {
            let written = number(&said(&pid, "smaps_rollup"), "Anonymous:").filter(|kib| *kib >= resident)?;
            Some((written, number(&said(&pid, "status"), "Threads:")?, said(&pid, "environ").len()))
        };
        seen = holder.and_then(look);
        seen.is_some()
    });
    run.kill().unwrap();
    run.wait().unwrap();
    let (written, threads, environment) = seen.unwrap();
    assert!(written < resident + 1024 && threads == 1 && environment == 0, "{seen:?}");
}

#[test]
fn a_signal_to_the_whole_group_leaves_no_process() {
    // As a terminal sends it: to the children as well.
    for after in [0, 300, 1500] {
        let user = User::new();
        let mut command = user.command(&["os", "--force", "--allow-partial", "--only=processes,channels,faults"]);
        let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let group = Pid::from_raw(child.id() as i32).unwrap();
        until("no journal appears", || !user.saved("journal").is_empty());
        thread::sleep(Duration::from_millis(after));
        let sent = Instant::now();
        kill_process_group(group, Signal::INT).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap()).expect(130);
        assert!(sent.elapsed() < Duration::from_secs(10), "{:?}", sent.elapsed());
        until("a process is left", || test_kill_process_group(group).is_err());
        for saved in user.saved("json") {
            let run = document(&saved);
            let seen =
                run["experiments"].as_array().unwrap().iter().flat_map(|e| e["observations"].as_array().unwrap());
            // What the signal did to a child is no news of the machine.
            for seen in seen.filter(|seen| seen["refusal"].is_object()) {
                let why = seen["refusal"]["why"].as_str().unwrap();
                assert!(why.contains("stopped") || why.contains("time"), "{seen}\n{}", ran.err);
            }
        }
    }
}

#[test]
fn children_are_waited_for_where_nobody_else_would() {
    // Whoever starts programs may have told the kernel to forget children that end, and they inherit it.
    let user = User::new();
    let program = env!("CARGO_BIN_EXE_tiermark");
    let line = format!(
        "trap '' CHLD; exec '{program}' os --quick --force --allow-partial --json=os.json --only=fork+exit,fork+exec,posix_spawn,clone3"
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &line]).env("TIERMARK_HOME", user.home.path()).current_dir(user.home.path());
    let ran = Ran::from(shell.output().unwrap());
    assert!([Some(0), Some(4)].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let run = document(&user.path("os.json"));
    let seen = run["experiments"][0]["observations"].as_array().unwrap();
    assert!(seen.len() >= 8, "{} points", seen.len());
    // A container may forbid clone3 alone; no child was ever missed.
    for seen in seen.iter().filter(|seen| seen["labels"]["op"] != "clone3") {
        assert!(seen["refusal"].is_null() && seen["disturbance"]["shots"].as_u64() > Some(0), "{seen}");
    }
}
