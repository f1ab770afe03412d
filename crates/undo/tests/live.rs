//! Every kind of change on the machine the tests run on, left behind as by a program that was killed, and taken back.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tiermark_machine::{Root, start_ticks};
use tiermark_model::ChangeOutcome;
use tiermark_undo::{Asked, Change, Journal, JournalHeader, RootWriter, StateDir, pending, restore_all};

/// Says why a test is skipped, past the harness, which hides the output of tests that pass.
fn skipped(why: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// What the test needs, or what of it is missing.
fn memory_groups() -> Result<String, &'static str> {
    if !rustix::process::geteuid().is_root() {
        return Err("root");
    }
    if !Path::new("/sys/class/zram-control/hot_add").exists() {
        return Err("zram in the kernel");
    }
    if !["/sbin/mkswap", "/sbin/swapon", "/sbin/swapoff"].iter().all(|program| Path::new(program).exists()) {
        return Err("mkswap, swapon and swapoff");
    }
    let v1 = "sys/fs/cgroup/memory";
    let v2 = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").is_ok_and(|on| on.contains("memory"));
    match (Path::new("/").join(v1).join("cgroup.procs").exists(), v2) {
        (true, _) => Ok(v1.to_owned()),
        (false, true) => Ok("sys/fs/cgroup".to_owned()),
        (false, false) => Err("a memory controller"),
    }
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn swaps() -> String {
    fs::read_to_string("/proc/swaps").unwrap()
}

/// A process that waits, inside a group where one is given.
fn waiter(group: Option<&str>) -> Child {
    let enter = group.map_or_else(String::new, |group| format!("echo $$ > /{group}/cgroup.procs; "));
    let child = Command::new("sh").args(["-c", &format!("{enter}exec sleep 60")]).spawn().unwrap();
    let inside =
        |group: &str| fs::read_to_string(format!("/{group}/cgroup.procs")).unwrap().contains(&child.id().to_string());
    let started = Instant::now();
    while group.is_some_and(|group| !inside(group)) {
        assert!(started.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_tenant_on_zram_and_a_file_is_taken_back() {
    let groups = match memory_groups() {
        Ok(groups) => groups,
        Err(missing) => return skipped(format_args!("making swap, groups and devices for real needs {missing}")),
    };
    let home = tempfile::tempdir_in("/var/tmp").unwrap();
    let (root, state) = (Root::live(), StateDir::at(home.path().join("state")));
    let mut journal = Journal::create(&state, JournalHeader::new(&root, "a test", "2026-11-21T12:00:00Z")).unwrap();

    let parent = format!("{groups}/tiermark-test-{}", std::process::id());
    let tenant = format!("{parent}/t0");
    journal.note([&parent, &tenant].map(|path| Change::group(path.trim_start_matches('/'), &root)).to_vec()).unwrap();
    for group in [&parent, &tenant] {
        fs::create_dir(format!("/{group}")).unwrap();
    }
    for limit in ["memory.limit_in_bytes", "memory.max"].map(|file| format!("/{parent}/{file}")) {
        if Path::new(&limit).exists() {
            fs::write(&limit, "67108864").unwrap();
        }
    }

    let zram = |number: u32, sure: bool| {
        let text = fs::read_to_string(format!("/sys/block/zram{number}/diskseq")).ok();
        let sequence = text.and_then(|text| text.trim().parse().ok());
        Change::Zram { number, sure, size: sure.then_some(16 << 20), sequence: sequence.filter(|_| sure) }
    };
    journal.note(vec![zram(Change::next_zram(&root), false)]).unwrap();
    let number: u32 = fs::read_to_string("/sys/class/zram-control/hot_add").unwrap().trim().parse().unwrap();
    let device = format!("dev/zram{number}");
    let swap = |path: &str, remove_file| Change::Swap { path: path.to_owned(), remove_file, file_system: None };
    journal.note(vec![zram(number, true), swap(&device, false)]).unwrap();
    fs::write(format!("/sys/block/zram{number}/disksize"), "16M").unwrap();
    let node = format!("/{device}");
    assert!(quiet("/sbin/mkswap", &[&node]) && quiet("/sbin/swapon", &["-p", "0", &node]));
    assert!(swaps().contains(&format!("{node} ")));

    let file = home.path().join("tiermark-test.swap").display().to_string();
    journal.note(vec![swap(file.trim_start_matches('/'), true)]).unwrap();
    fs::write(&file, vec![0u8; 4 << 20]).unwrap();
    // Not every file system lends its files for swap; the file is there to be removed all the same.
    let _ = quiet("/sbin/mkswap", &[&file]) && quiet("/sbin/swapon", &["-p", "0", &file]);

    let (mut inside, mut outside) = (waiter(Some(&tenant)), waiter(None));
    let started = start_ticks(&root, outside.id()).unwrap();
    let noted = Change::Process { pid: outside.id(), start_ticks: started, what: "sleep".to_owned() };
    journal.note(vec![noted]).unwrap();
    journal.keep();

    assert_eq!(pending(&state, &root)[0].changes.len(), 6);
    let restored = restore_all(&state, &mut RootWriter::new(root.clone()), &Asked::default()).unwrap();
    // Before anything else: a test that fails must not leave processes either.
    let _ = (inside.kill(), inside.wait(), outside.kill(), outside.wait());
    assert!(!restored.incomplete(), "{restored:?}");
    assert!(
        restored.rows.iter().all(|row| matches!(row.outcome, ChangeOutcome::Done | ChangeOutcome::Already)),
        "{restored:?}"
    );
    assert!(!Path::new(&format!("/{parent}")).exists() && !Path::new(&format!("/sys/block/zram{number}")).exists());
    assert!(!swaps().contains(&node) && !swaps().contains(&file) && !Path::new(&file).exists());
    assert!(pending(&state, &root).is_empty());
}

/// A process whose main thread ends while another one runs.
const WITHOUT_MAIN_THREAD: &str = "import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[platform.machine()], 0)";

/// A process that enters a group first and then is whatever stands behind; not waited for.
fn inside(group: &str, then: &str, script: &str) -> Child {
    let enter = format!("echo $$ > /{group}/cgroup.procs; exec {then} \"$1\"");
    Command::new("sh").args(["-c", &enter, "sh", script]).spawn().unwrap()
}

/// Waits until a process has that state.
fn until_state(child: &Child, state: char) {
    let started = Instant::now();
    let stat = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    while !stat().rsplit(')').next().unwrap().trim_start().starts_with(state) {
        assert!(started.elapsed() < Duration::from_secs(10), "{}", stat());
        thread::sleep(Duration::from_millis(5));
    }
}

/// To /proc both are zombies. One lives, and its group lists it; the other one keeps nothing. Groups of threads list
/// nobody.
#[test]
fn a_group_is_as_empty_as_its_kernel_says() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let unified = mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, point, "cgroup2", ..] => Some(point.trim_start_matches('/').to_owned()),
        _ => None,
    });
    let able = rustix::process::geteuid().is_root() && quiet("python3", &["-c", "import ctypes"]);
    let (Some(unified), true) = (unified, able) else {
        return skipped(format_args!("processes in real groups need root, control groups of version 2 and python3"));
    };
    let home = tempfile::tempdir_in("/var/tmp").unwrap();
    let (root, state) = (Root::live(), StateDir::at(home.path().join("state")));
    let mut journal = Journal::create(&state, JournalHeader::new(&root, "a test", "2026-11-24T12:00:00Z")).unwrap();
    let group = format!("{unified}/tiermark-threads-{}", std::process::id());
    journal.note(vec![Change::group(&group, &root)]).unwrap();
    journal.keep();
    fs::create_dir_all(format!("/{group}/threads")).unwrap();
    fs::write(format!("/{group}/threads/cgroup.type"), "threaded").unwrap();
    let mut children = [inside(&group, "python3 -c", WITHOUT_MAIN_THREAD), inside(&group, "sh -c", "true")];
    children.iter().for_each(|child| until_state(child, 'Z'));
    let listed = fs::read_to_string(format!("/{group}/cgroup.procs")).unwrap();
    let unlisted = fs::read_to_string(format!("/{group}/threads/cgroup.procs"));
    let ended = children[0].try_wait().unwrap();
    let restored = restore_all(&state, &mut RootWriter::new(root.clone()), &Asked::default()).unwrap();
    children.iter_mut().for_each(|child| drop((child.kill(), child.wait())));
    assert_eq!((listed.trim(), ended), (children[0].id().to_string().as_str(), None));
    assert!(unlisted.is_err(), "{unlisted:?}");
    assert_eq!(restored.rows.iter().map(|row| row.outcome).collect::<Vec<_>>(), [ChangeOutcome::Done], "{restored:?}");
    assert!(!Path::new(&format!("/{group}")).exists() && pending(&state, &root).is_empty());
}
