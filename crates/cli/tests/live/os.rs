//! Processes that the program makes on the machine the tests run on: who is started for what, and that nobody is left.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Ran, User, document};
use rustix::process::{Pid, Signal, kill_process_group};

#[test]
fn a_process_that_is_started_only_to_end_does_nothing_else() {
    let user = User::new();
    let ran = user.run(&["__end-at-once"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    // Only alone: a user's mistake is still told of.
    user.run(&["__end-at-once", "--quick"]).expect(2);
}

#[test]
fn the_subprocess_says_what_it_is_to_whoever_types_it() {
    let user = User::new();
    let said = |run: &mut Command| {
        let ran = Ran::from(run.output().unwrap()).expect(2);
        assert!(ran.out.is_empty() && ran.err.lines().count() == 1, "{}{}", ran.out, ran.err);
        assert!(ran.err.starts_with("tiermark: __subprocess is internal"), "{}", ran.err);
    };
    said(user.command(&["__subprocess"]).stdin(Stdio::null()));
    // A socket whose other side asks nothing of it, as a remote shell may give it.
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    said(user.command(&["__subprocess"]).stdin(OwnedFd::from(theirs)));
    user.run(&["__subprocess", "--quick"]).expect(2);
}

#[test]
fn a_program_that_its_loader_started_measures_no_processes() {
    let program = env!("CARGO_BIN_EXE_tiermark");
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loads = |loader: &&str| Command::new(loader).args(["--verify", program]).status().is_ok_and(|s| s.success());
    // A static program has none.
    let Some(loader) = loaders.into_iter().find(loads) else { return };
    let user = User::new();
    let mut command = Command::new(loader);
    command.arg(program).args(["os", "--quick", "--force", "--no-save", "--only=fork+exit,fork+exec,getppid"]);
    command.args(["--allow-partial", "--json=os.json"]);
    let ran = command.env("TIERMARK_HOME", user.home.path()).current_dir(user.home.path()).output().unwrap();
    let ran = Ran::from(ran).expect(0);
    let run = document(&user.path("os.json"));
    for seen in run["experiments"][0]["observations"].as_array().unwrap() {
        let (why, cure) = (&seen["refusal"]["why"], seen["refusal"]["cure"].as_str().unwrap_or_default());
        let told =
            why.as_str().is_some_and(|why| why.contains("started by its loader")) && cure.contains("by its name");
        // What needs no process is measured.
        assert_eq!(told, seen["labels"]["op"] != "getppid", "{seen}\n{}", ran.err);
    }
}

/// The program at the head of a session of its own: whoever it makes stays in that, also in other groups and when its
/// maker has ended.
fn in_session(user: &User, arguments: &[&str]) -> Child {
    let mut command = Command::new("setsid");
    command.arg(env!("CARGO_BIN_EXE_tiermark")).args(arguments).env("TIERMARK_HOME", user.home.path());
    command.current_dir(user.home.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Whoever lives in the session of a process, with its group (proc_pid_stat(5)).
fn in_session_of(head: u32) -> Vec<(String, String)> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let member = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split_whitespace();
        let (state, group, session) = (fields.next()?, fields.nth(1)?, fields.next()?);
        let lives = !["Z", "X"].contains(&state) && session == head.to_string();
        lives.then(|| (entry.file_name().to_string_lossy().into_owned(), group.to_owned()))
    };
    all.filter_map(member).collect()
}

/// Children of a process, whichever of its threads made them.
fn children(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
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
fn whoever_a_run_made_is_killed_with_it() {
    // One that waits on a pipe whose other end it holds itself, one that waits for a word in memory, and one that has
    // children of its own.
    for primitive in ["process switch pipe", "shared memory ping-pong", "fork+exec"] {
        let user = User::new();
        let arguments = ["os", "--full", "--force", "--no-save", "--max-time=60", "--only", primitive];
        let mut run = in_session(&user, &arguments);
        let (head, mut made) = (run.id(), Vec::new());
        let own = head.to_string();
        until("no child is made", || {
            made = in_session_of(head).into_iter().filter(|(pid, _)| *pid != own).collect();
            // The subprocess, and one of its children; who only has a partner has no other group.
            if primitive == "fork+exec" { made.len() > 1 } else { !made.is_empty() }
        });
        assert_eq!(made.iter().any(|(_, group)| *group != own), primitive == "fork+exec", "{made:?}");
        run.kill().unwrap();
        run.wait().unwrap();
        until(&format!("{primitive}: one of {made:?} or of theirs lives on"), || in_session_of(head).is_empty());
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
        let subprocess = children(run.id()).into_iter().find(|pid| said(pid, "cmdline").contains("__subprocess"));
        let look = |pid: String| {
            let written = number(&said(&pid, "smaps_rollup"), "Anonymous:").filter(|kib| *kib >= resident)?;
            Some((written, number(&said(&pid, "status"), "Threads:")?, said(&pid, "environ").len()))
        };
        seen = subprocess.and_then(look);
        seen.is_some()
    });
    run.kill().unwrap();
    run.wait().unwrap();
    let (written, threads, environment) = seen.unwrap();
    // What its program has of its own: 1.2 MiB where it was built without optimisation, and more where the system gives
    // huge pages unasked, which reach past the ends of what is held (2 MiB was seen).
    const OWN: u64 = 8 << 10;
    assert!(written < resident + OWN && threads == 1 && environment == 0, "{seen:?}");
}

#[test]
fn a_signal_to_the_whole_group_leaves_no_process() {
    // As a terminal sends it: to the children as well.
    for after in [0, 300, 1500] {
        let user = User::new();
        let child = in_session(&user, &["os", "--force", "--allow-partial", "--only=processes,channels,faults"]);
        let (head, group) = (child.id(), Pid::from_raw(child.id() as i32).unwrap());
        until("no journal appears", || !user.saved("journal").is_empty());
        thread::sleep(Duration::from_millis(after));
        let sent = Instant::now();
        kill_process_group(group, Signal::INT).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap()).expect(130);
        assert!(sent.elapsed() < Duration::from_secs(10), "{:?}", sent.elapsed());
        // The subprocess has a group of its own, and the terminal does not reach it.
        until("a process is left", || in_session_of(head).is_empty());
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
        "trap '' CHLD; exec '{program}' os --quick --force --allow-partial --json=os.json \
            --only=fork+exit,fork+exec,posix_spawn,vfork+exit"
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &line]).env("TIERMARK_HOME", user.home.path()).current_dir(user.home.path());
    let ran = Ran::from(shell.output().unwrap());
    assert!([Some(0), Some(4)].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let run = document(&user.path("os.json"));
    let seen = run["experiments"][0]["observations"].as_array().unwrap();
    assert!(seen.len() >= 8, "{} points", seen.len());
    for seen in seen {
        assert!(seen["refusal"].is_null() && seen["disturbance"]["shots"].as_u64() > Some(0), "{seen}");
    }
}
