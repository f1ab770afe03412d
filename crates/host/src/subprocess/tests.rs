use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::process::{Pid, Signal, test_kill_process};
use tiermark_machine::{Root, discover};
use tiermark_model::messages::setup::codes;
use tiermark_model::messages::subprocess::codes as lost;
use tiermark_model::{Layout, MIB, OsCall, PageKind, ThreadSetup, testing};
use tiermark_system::live_facts;
use tiermark_system::testing::{first_cpu, in_own_process};

use super::*;
use crate::{LinuxHost, Options};

/// A subprocess that is no program of ours.
fn shell(script: &str, still: Duration) -> Subprocess {
    limited(script, Limits { still, whole: Duration::from_secs(600) })
}

fn limited(script: &str, limits: Limits) -> Subprocess {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Subprocess::start(&mut command, Stdio::null(), Arc::default(), limits).unwrap()
}

/// What it answers, or what is said of it.
fn ask(subprocess: &mut Subprocess) -> Result<u64, Refusal> {
    subprocess.ask(&Ask::Placement { seed: 7 })
}

fn setup(id: &str, bytes: u64, page: PageKind) -> Setup {
    let region = testing::region(bytes, page, Layout::Data);
    Setup {
        regions: vec![region],
        threads: vec![ThreadSetup::new(first_cpu(), Role::Os(OsCall::new(id.into())), 0)],
        seed: 7,
    }
}

fn host() -> LinuxHost {
    LinuxHost::new(discover(&Root::live(), &live_facts()).unwrap(), Options::default()).unwrap()
}

fn held(host: &mut LinuxHost, setup: &Setup) -> Result<SubprocessRig, Refusal> {
    let order = crate::check::setup(setup, &host.resources.lab.machine)?.remove(0);
    SubprocessRig::prepare(&mut host.resources, setup, &order)
}

/// What /proc says of a process under such a name.
fn proc(pid: Pid, name: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/{name}", pid.as_raw_nonzero())).unwrap_or_default()
}

/// The number behind a name in such a text.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Gone, or dead and not waited for by whoever has it now.
fn is_dead(pid: Pid) -> bool {
    let stat = proc(pid, "stat");
    stat.is_empty() || stat.contains(") Z ")
}

fn dies(pid: Pid) {
    let began = Instant::now();
    while !is_dead(pid) {
        assert!(began.elapsed() < Duration::from_secs(30), "it lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_answer_is_a_line_that_can_be_understood() {
    let limit = Duration::from_secs(20);
    // It reads what it is asked, and answers in two pieces, with some looks between them.
    let mut subprocess =
        shell("while read line; do case $line in *seed*) printf 4; sleep 0.7; echo 2;; esac; done >&0", limit);
    assert_eq!((ask(&mut subprocess), ask(&mut subprocess)), (Ok(42), Ok(42)));
    for rubbish in ["rubbish", r#"{"a":"#, r"\377"] {
        let mut subprocess = shell(&format!("exec >&0; read a; printf '{rubbish}\n'; sleep 20"), limit);
        assert_eq!(ask(&mut subprocess).unwrap_err().code, lost::subprocess_answer_unreadable);
    }
}

#[test]
fn one_that_answered_wrong_once_is_not_asked_again() {
    // Its next line would be taken for the answer to what is asked then.
    let mut subprocess =
        shell("exec >&0; read a; echo rubbish; echo 42; read a; echo 43; sleep 60", Duration::from_secs(20));
    let why = ask(&mut subprocess).unwrap_err();
    dies(subprocess.child.pid());
    assert_eq!((ask(&mut subprocess), ask(&mut subprocess)), (Err(why.clone()), Err(why)));
}

#[test]
fn after_one_that_broke_the_next_setup_has_one_of_its_own() {
    let mut host = host();
    let setup = setup("vfork+exit", 4096, PageKind::Base);
    let mut rig = held(&mut host, &setup).unwrap();
    let first = rig.subprocess.child.pid();
    rustix::process::kill_process(first, Signal::KILL).unwrap();
    let fault = rig.shot(Duration::from_millis(1)).unwrap_err().0;
    assert!(fault.contains("SIGKILL") && fault.contains("--max-mem"), "{fault}");
    let (proof, again) = (rig.placement(), rig.shot(Duration::from_millis(1)));
    assert!(
        proof.how.text.contains("SIGKILL") && proof.page_share.is_none() && again == Err(Fault(fault)),
        "{proof:?}"
    );
    drop(rig);
    let mut next = held(&mut host, &setup).unwrap();
    assert_ne!(next.subprocess.child.pid(), first);
    assert!(next.shot(Duration::from_millis(1)).is_ok());
}

#[test]
fn one_that_ends_early_is_told_of_with_how_it_ended() {
    let ends = [
        ("exit 0", None, "report"),
        ("read line; exit 3", None, "report"),
        ("read line; printf 4 >&0", None, "report"),
        ("read line; kill -KILL $$", Some(Signal::KILL), "--max-mem"),
        ("kill -KILL $$", Some(Signal::KILL), "--max-mem"),
        ("read line; kill -SYS $$", Some(Signal::SYS), "seccomp"),
        ("read line; kill -TERM $$", Some(Signal::TERM), "report"),
    ];
    for (script, signal, cure) in ends {
        let why = ask(&mut shell(script, Duration::from_secs(20))).unwrap_err();
        assert_eq!(why.code, lost::subprocess_ended, "{script}");
        assert_eq!(why.data["signal"], serde_json::json!(signal.map(Signal::as_raw)), "{script}");
        assert!(why.cure.contains(cure), "{script}: {why}");
    }
    // A process that only closes its socket still runs.
    let mut subprocess = shell("read line; exec <&-; sleep 60", Duration::from_secs(20));
    let why = ask(&mut subprocess).unwrap_err();
    assert_eq!(why.code, lost::subprocess_hung_up);
    dies(subprocess.child.pid());
}

#[test]
fn an_answer_without_end_is_not_read_for_ever() {
    let mut subprocess = shell("read line; exec >&0; exec tr '\\0' 1 < /dev/zero", Duration::from_secs(20));
    assert_eq!(ask(&mut subprocess).unwrap_err().code, lost::subprocess_answer_too_long);
}

#[test]
fn one_that_hangs_is_killed_with_its_children() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("child");
    let script = format!("sleep 60 & echo $! > {}; wait", list.display());
    let mut subprocess = shell(&script, Duration::from_millis(700));
    let began = Instant::now();
    let why = ask(&mut subprocess).unwrap_err();
    assert_eq!((&why.code, why.text("state")), (&lost::subprocess_hangs, Some("S")));
    assert!(began.elapsed() < Duration::from_secs(30));
    let child = Pid::from_raw(std::fs::read_to_string(list).unwrap().trim().parse().unwrap()).unwrap();
    dies(child);
    dies(subprocess.child.pid());
    // Whoever asks on is told.
    assert!(ask(&mut subprocess).is_err());
}

#[test]
fn one_that_is_stopped_is_told_of_as_such() {
    let mut subprocess = shell("read line; kill -STOP $$", Duration::from_millis(700));
    let why = ask(&mut subprocess).unwrap_err();
    assert_eq!((&why.code, why.text("state")), (&lost::subprocess_hangs, Some("T")));
    dies(subprocess.child.pid());
}

#[test]
fn one_that_works_for_ever_is_not_waited_for() {
    let limits = Limits { still: Duration::from_secs(20), whole: Duration::from_secs(2) };
    let mut subprocess = limited("read line; while :; do :; done", limits);
    let why = ask(&mut subprocess).unwrap_err();
    assert_eq!((&why.code, why.text("state")), (&lost::subprocess_late, Some("R")));
    dies(subprocess.child.pid());
    // Of a subprocess of much memory more is expected.
    let most = |bytes, made| {
        let mut setup = setup("fork+exit written", bytes, PageKind::Base);
        let Role::Os(call) = &mut setup.threads[0].role else { panic!("no call") };
        call.bytes = made;
        whole(&setup)
    };
    assert_eq!(most(4096, None), WHOLE);
    for four_gib in [most(4 << 30, None), most(4096, Some(4 << 30))] {
        assert!(four_gib > 2 * WHOLE && four_gib < 3 * WHOLE, "{four_gib:?}");
    }
}

#[test]
fn one_that_works_for_long_is_left_alone() {
    // Two to three seconds of a shell's work, however fast it is: it looks for itself what time it is.
    let script = "read line; read t rest < /proc/uptime; end=$((${t%.*} + 3))
                  while [ ${t%.*} -lt $end ]; do read t rest < /proc/uptime; done; echo 5 >&0";
    let limit = Duration::from_millis(1_400);
    let mut subprocess = shell(script, limit);
    let began = Instant::now();
    assert_eq!(ask(&mut subprocess), Ok(5));
    assert!(began.elapsed() > limit, "{:?}", began.elapsed());
}

#[test]
fn who_stops_the_run_need_not_wait() {
    let mut command = Command::new("/bin/sleep");
    let stopped = Arc::new(AtomicBool::new(true));
    let limits = Limits { still: Duration::from_secs(4), whole: Duration::from_secs(60) };
    let mut subprocess = Subprocess::start(command.arg("60"), Stdio::null(), stopped, limits).unwrap();
    let (began, pid) = (Instant::now(), subprocess.child.pid());
    assert_eq!(ask(&mut subprocess).unwrap_err().code, lost::subprocess_run_stopped);
    assert!(began.elapsed() < Duration::from_secs(4));
    drop(subprocess);
    assert!(test_kill_process(pid).is_err(), "it lives on");
    let mut host = host();
    host.resources.stopped.store(true, Relaxed);
    let setup = setup("fork+exit", 4096, PageKind::Base);
    assert_eq!(held(&mut host, &setup).err(), Some(stop_refusal()));
}

#[test]
fn what_makes_processes_runs_in_subprocess_and_nothing_else() {
    let held = |id: &str| runs_in_subprocess(&setup(id, 4096, PageKind::Base));
    let all = ["fork+exit", "fork+exit written", "fork+exec", "fork+exec tiny", "vfork+exit", "posix_spawn", "shell"];
    assert!(all.into_iter().all(held));
    let found: Vec<&str> = tiermark_primitives::primitive_names().filter(|id| held(id)).collect();
    assert_eq!(found, [all.as_slice(), &["thread create+join"]].concat());
    let mut two = setup("fork+exit", 4096, PageKind::Base);
    two.threads.push(two.threads[0].clone());
    assert!(!runs_in_subprocess(&two));
}

#[test]
fn the_subprocess_is_one_thread_with_little_memory_whatever_its_maker_is() {
    if !in_own_process("subprocess::tests::the_subprocess_is_one_thread_with_little_memory_whatever_its_maker_is") {
        return;
    }
    let mut host = host();
    let setup = setup("fork+exit", 4 * MIB, PageKind::Base);
    let look = |host: &mut LinuxHost| {
        let mut rig = held(host, &setup).unwrap();
        rig.shot(Duration::from_millis(2)).unwrap();
        let how = rig.placement().how;
        let pid = rig.subprocess.child.pid();
        assert_eq!(number(&proc(pid, "status"), "Threads:"), 1);
        assert_eq!(how.data["held"]["data"]["threads"], 1, "{how:?}");
        let rollup = proc(pid, "smaps_rollup");
        let areas = proc(pid, "maps").lines().count();
        (number(&rollup, "Anonymous:") - 4096, number(&rollup, "Rss:") - 4096, areas)
    };
    let alone = look(&mut host);
    // Some MiB would be as much as the least that is asked for.
    assert!(alone.0 < 700 && alone.1 < 16 << 10 && alone.2 < 80, "{alone:?}: KiB written, KiB, mappings");
    // A maker with much memory in many pieces, and threads.
    let pieces: Vec<Vec<u8>> = (0..400).map(|_| vec![1u8; 256 << 10]).collect();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || wait.recv().is_err());
    let later = look(&mut host);
    assert!(later.0.abs_diff(alone.0) <= 64 && later.2.abs_diff(alone.2) <= 2, "{alone:?}, then {later:?}");
    drop((pieces, end));
    assert!(waiting.join().unwrap());
}

#[test]
fn its_pages_are_proven_by_what_the_kernel_says_of_them() {
    if !in_own_process("subprocess::tests::its_pages_are_proven_by_what_the_kernel_says_of_them") {
        return;
    }
    let mut host = host();
    let mut proof = |page| held(&mut host, &setup("fork+exit", 8 * MIB, page)).unwrap().placement();
    let base = proof(PageKind::Base);
    assert_eq!((base.page_share, base.page.as_str()), (Some(1.0), "base"), "{base:?}");
    assert!(base.pages > 0 && base.on_target == Some(1.0), "{base:?}");
    // What is said of huge pages is what the kernel tells whoever looks from outside, however many there were to be
    // had.
    let mut rig = held(&mut host, &setup("fork+exit", 8 * MIB, PageKind::Thp)).unwrap();
    let pid = rig.subprocess.child.pid();
    let outside = || number(&proc(pid, "smaps_rollup"), "AnonHugePages:") as f64 / 8192.0;
    // Some may be joined between two looks, not between all.
    let agrees = |rig: &mut SubprocessRig| {
        let share = rig.placement().page_share.unwrap();
        (share - outside()).abs() < 1e-9
    };
    assert!((0..20).any(|_| agrees(&mut rig)), "{:?}, and {} outside", rig.placement(), outside());
    drop(rig);
    // The subprocess inherits this: what is asked for cannot be had, and that is seen.
    let _none = tiermark_system::os::BasePagesOnly::new().unwrap();
    let denied = held(&mut host, &setup("fork+exit", 8 * MIB, PageKind::Thp)).unwrap().placement();
    assert_eq!((denied.page_share, denied.page.as_str()), (Some(0.0), "thp"), "{denied:?}");
}

#[test]
fn the_subprocess_ends_with_the_thread_that_made_it_and_when_nobody_can_ask_any_more() {
    let made = std::thread::spawn(|| {
        let rig = held(&mut host(), &setup("vfork+exit", 4096, PageKind::Base)).unwrap();
        let pid = rig.subprocess.child.pid();
        assert!(!is_dead(pid));
        // Nobody kills it but the kernel, and its socket stays open.
        std::mem::forget(rig);
        pid
    });
    dies(made.join().unwrap());
    let mut rig = held(&mut host(), &setup("vfork+exit", 4096, PageKind::Base)).unwrap();
    rig.subprocess.link.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
    assert!(rig.subprocess.child.ended_within(Duration::from_secs(20)), "it waits on");
    assert!(rig.shot(Duration::from_millis(1)).is_err());
    let lost = rig.placement();
    assert!(lost.how.code == codes::placement_lost && lost.on_target.is_none(), "{lost:?}");
}

#[test]
fn without_a_program_or_a_process_there_is_a_refusal_with_its_cure() {
    if !in_own_process("subprocess::tests::without_a_program_or_a_process_there_is_a_refusal_with_its_cure") {
        return;
    }
    let refusal = |calls: &'static [libc::c_long]| {
        let confined = move || {
            let mut host = host();
            tiermark_system::testing::refuse(calls).unwrap();
            held(&mut host, &setup("fork+exit", 4096, PageKind::Base)).err().unwrap()
        };
        std::thread::spawn(confined).join().unwrap()
    };
    // Its program, its socket, and what it does itself.
    for calls in [&[libc::SYS_execve] as &[_], &[libc::SYS_socketpair], &[libc::SYS_wait4]] {
        let refusal = refusal(calls);
        assert!(refusal.cure.contains("seccomp") && !refusal.why.is_empty(), "{calls:?}: {refusal}");
    }
    let mut host = host();
    let nobody = rustix::thread::Uid::from_raw(65_534);
    if rustix::process::getuid().is_root() {
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
    }
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(rustix::process::Resource::Nproc, none).unwrap();
    let refusal = held(&mut host, &setup("fork+exit", 4096, PageKind::Base)).err().unwrap();
    assert_eq!(refusal.data["errno"], rustix::io::Errno::AGAIN.raw_os_error(), "{refusal}");
}
