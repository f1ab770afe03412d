//! Every primitive of the table as a step of a run: prepared, shot, dropped; and what a filter of system calls leaves
//! of them.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::fs;
use std::thread::scope;
use std::time::Duration;

use tiermark_engine::Host;
use tiermark_host::{LinuxHost, Options};
use tiermark_machine::{Root, discover};
use tiermark_model::{
    Bytes, ChainLayout, Layout, Machine, MemPolicy, Node, OsCall, PageKind, PrimitiveInfo, Refusal, RegionSetup, Role,
    Setup, Sweep, ThreadSetup, testing,
};
use tiermark_primitives::{Order, OsWork, present_primitives};
use tiermark_system::testing::{clock, first_cpu, held, in_own_process, no_more_than, refuse, refuse_as};
use tiermark_system::{PageRule, live_facts};

tiermark_system::before_main!(tiermark_host::reexec);

/// Long enough for a hundred blocks.
const SHOT: Duration = Duration::from_millis(2);
/// Rounds of which one has to take no more areas and no more address space than the one before: what stays of every
/// step grows in each of them, and what a library keeps for later does not.
const ROUNDS: usize = 5;

/// Kernel areas and pages of address space.
fn room() -> [usize; 2] {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages = pages.split_whitespace().next().unwrap().parse().unwrap();
    [fs::read_to_string("/proc/self/maps").unwrap().lines().count(), pages]
}

/// The call of a primitive at the first point of all it is measured over, and the memory that the process holds.
fn first_call(info: &PrimitiveInfo, machine: &Machine) -> (OsCall, u64) {
    let (mut call, mut resident) = (OsCall::new(info.id.clone()), 4096);
    for sweep in &info.sweeps {
        match sweep {
            Sweep::Bytes(all) => call.bytes = all.first().copied(),
            Sweep::Capacity(all) => call.capacity = all.first().copied(),
            Sweep::WorkingSet(all) => call.working_set = all.last().copied(),
            Sweep::Count(all) => call.count = all.first().copied(),
            Sweep::Pages(all) => call.page = all.last().copied(),
            // Little, so that the test is short: it is the region's, which other tests look after.
            Sweep::Resident(_) => resident = 1 << 20,
            Sweep::Partner => call.others = machine.allowed_cpus.iter().last().into_iter().collect(),
            Sweep::Bystanders => call.others = machine.allowed_cpus.iter().skip(1).collect(),
            Sweep::NodePairs => {
                let nodes: Vec<u32> =
                    machine.nodes.iter().filter(|n| n.memory_bytes != Some(0)).map(|n| n.id).collect();
                call.nodes = Some((nodes[0], nodes[1]));
            }
        }
    }
    (call, resident)
}

fn setup(info: &PrimitiveInfo, machine: &Machine) -> Setup {
    let (call, resident) = first_call(info, machine);
    let region = testing::region(resident, PageKind::Base, Layout::Data);
    Setup { regions: vec![region], threads: vec![ThreadSetup::new(first_cpu(), Role::Os(call), 0)], seed: 7 }
}

/// A step of a primitive. Where others keep its threads from their cpus, it may say so; nothing else may go wrong once
/// it is prepared.
fn step(host: &mut LinuxHost, setup: &Setup) -> Result<(), Refusal> {
    let mut rig = host.prepare(setup)?;
    for _ in 0..2 {
        let shot = match rig.shot(SHOT) {
            Ok(shot) => shot,
            Err(fault) if fault.to_string().contains("kept its second thread from the cpu") => break,
            Err(fault) => panic!("{setup:?}: {fault}"),
        };
        let thread = &shot.threads[0];
        assert!(thread.stamps_ns.len() >= 2 && thread.per_block > 0.0, "{setup:?}");
        assert!(thread.stamps_ns.windows(2).all(|pair| pair[0] <= pair[1]), "stamps fall: {setup:?}");
    }
    Ok(())
}

fn host() -> LinuxHost {
    LinuxHost::new(discover(&Root::live(), &live_facts()).unwrap(), Options::default()).unwrap()
}

#[test]
fn every_primitive_gives_back_what_its_steps_took() {
    if !in_own_process("every_primitive_gives_back_what_its_steps_took") {
        return;
    }
    let mut host = host();
    let machine = host.machine().clone();
    let (mut measured, mut refused) = (0, Vec::new());
    for info in present_primitives(&machine) {
        if let Some(refusal) = &info.refusal {
            assert!(!refusal.cure.is_empty(), "{refusal}");
            refused.push(info.id.0);
            continue;
        }
        let setup = setup(&info, &machine);
        // Made once for all: the C library's arenas, stacks of threads that have ended.
        step(&mut host, &setup).unwrap_or_else(|why| panic!("{}: {why}", info.id));
        let (mut before, mut taken) = (held(), room());
        assert_eq!(before[2], 0, "{}: children", info.id);
        let mut still = false;
        for _ in 0..ROUNDS {
            step(&mut host, &setup).unwrap_or_else(|why| panic!("{}: {why}", info.id));
            before = no_more_than(before, &info.id.0);
            let now = room();
            still |= now[0] <= taken[0] && now[1] <= taken[1];
            taken = now;
        }
        assert!(still, "{}: areas and pages rise after each step, to {taken:?}", info.id);
        measured += 1;
    }
    // Whatever a system has not: nodes, swap, pools, sizes of huge pages, what a container forbids.
    assert!(measured >= 40, "{measured} measured; refused: {refused:?}");
}

#[test]
fn what_was_measured_before_has_been_given_back() {
    if !in_own_process("what_was_measured_before_has_been_given_back") {
        return;
    }
    let mut host = host();
    let region = |bytes| testing::region(bytes, PageKind::Base, Layout::Chain(ChainLayout::Random));
    let chase = ThreadSetup::new(first_cpu(), Role::Chase { chains: 1 }, 0);
    let chases = Setup { regions: vec![region(1 << 16)], threads: vec![chase], seed: 7 };
    let call = ThreadSetup::new(first_cpu(), Role::Os(OsCall::new("getppid".into())), 0);
    let calls =
        Setup { regions: vec![RegionSetup { layout: Layout::Data, ..region(1 << 16) }], threads: vec![call], seed: 7 };
    let areas = |host: &mut LinuxHost| {
        let rig = host.prepare(&calls).unwrap();
        let areas = room()[0];
        drop(rig);
        areas
    };
    let before = areas(&mut host);
    const EARLIER: usize = 50;
    (0..EARLIER).for_each(|_| drop(host.prepare(&chases).unwrap()));
    // Each test may add mappings, which a fork copies; a few are the C library's.
    let after = areas(&mut host);
    assert!(after < before + EARLIER / 2, "{before} areas, then {after}");
}

/// Whether some thread of this process takes memory for its stack from the first node only.
fn some_thread_is_bound() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let rules = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("numa_maps")).ok());
    rules.flat_map(|rules| rules.lines().map(str::to_owned).collect::<Vec<_>>()).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some("bind:0") && words.any(|word| word == "stack")
    })
}

#[test]
fn a_step_takes_its_memory_from_the_node_that_its_setup_names() {
    if !in_own_process("a_step_takes_its_memory_from_the_node_that_its_setup_names") {
        return;
    }
    let mut machine = discover(&Root::live(), &live_facts()).unwrap();
    let bound = PageRule::now().and_then(|before| {
        PageRule::only(0).apply()?;
        let seen = some_thread_is_bound();
        before.apply().map(|()| seen)
    });
    // A kernel without nodes, or one that forbids it.
    if machine.nodes.is_empty() || !bound.is_ok_and(|seen| seen) {
        return;
    }
    // Where there is one node only, nothing needs to be said: another, from which nobody takes anything.
    let other = machine.nodes.len() as u32;
    machine.nodes.push(Node { id: other, ..Node::default() });
    let mut host = LinuxHost::new(machine, Options::default()).unwrap();
    for (nodes, wanted) in [("", false), ("0", true), ("", false)] {
        let region = RegionSetup {
            bytes: Bytes(4096),
            policy: MemPolicy::Bind,
            nodes: nodes.parse().unwrap(),
            page: PageKind::Base,
            layout: Layout::Data,
        };
        let thread = ThreadSetup::new(first_cpu(), Role::Os(OsCall::new("getppid".into())), 0);
        let rig = host.prepare(&Setup { regions: vec![region], threads: vec![thread], seed: 7 }).unwrap();
        assert_eq!(some_thread_is_bound(), wanted, "{nodes}");
        drop(rig);
        assert!(!some_thread_is_bound(), "{nodes}");
    }
}

#[test]
fn what_a_filter_forbids_is_refused_and_the_rest_is_measured() {
    if !in_own_process("what_a_filter_forbids_is_refused_and_the_rest_is_measured") {
        return;
    }
    // Primitives that the machine lacks anyway.
    let lacking: Vec<String> = {
        let machine = discover(&Root::live(), &live_facts()).unwrap();
        let all = present_primitives(&machine).into_iter();
        all.filter(|info| info.refusal.is_some()).map(|info| info.id.0).collect()
    };
    refuse(&[libc::SYS_userfaultfd, libc::SYS_epoll_create1]).unwrap();
    refuse_as(libc::ENOSYS, &[libc::SYS_flock]).unwrap();
    let mut host = host();
    let machine = host.machine().clone();
    let before = held();
    let mut refused = Vec::new();
    for info in present_primitives(&machine) {
        let done = info.refusal.clone().map_or_else(|| step(&mut host, &setup(&info, &machine)), Err);
        if let Err(refusal) = done {
            assert!(lacking.contains(&info.id.0) || refusal.cure.contains("seccomp"), "{refusal}");
            refused.push(info.id.0);
        }
    }
    refused.retain(|id| !lacking.contains(id));
    let mut wanted = vec!["epoll_wait", "epoll_wait of many", "flock lock+unlock", "userfaultfd"];
    wanted.retain(|id| !lacking.iter().any(|lacks| lacks == id));
    refused.sort();
    assert_eq!(refused, wanted);
    no_more_than(before, "all of them");
}

#[test]
fn each_refusal_of_a_forbidden_call_says_what_forbids_it() {
    let machine = discover(&Root::live(), &live_facts()).unwrap();
    let present = present_primitives(&machine);
    let cases: [(libc::c_long, &[&str]); 18] = [
        (libc::SYS_memfd_create, &["pread", "pwrite", "fork+exec tiny"]),
        (libc::SYS_memfd_create, &["fault file read", "fault file write", "fault file copy", "mmap read"]),
        (libc::SYS_memfd_create, &["fcntl lock+unlock", "flock lock+unlock"]),
        (libc::SYS_flock, &["flock lock+unlock"]),
        (libc::SYS_rt_sigaction, &["sigaction", "signal to itself"]),
        (libc::SYS_tgkill, &["signal to itself"]),
        (libc::SYS_epoll_create1, &["epoll_wait", "epoll_wait of many"]),
        (
            libc::SYS_clone,
            &["fork+exit", "vfork+exit", "pipe", "tcp loopback ping-pong", "copy-on-write", "process ring"],
        ),
        (libc::SYS_execve, &["fork+exec", "posix_spawn", "shell"]),
        (libc::SYS_execveat, &["fork+exec tiny"]),
        (libc::SYS_pipe2, &["pipe", "process switch pipe", "thread switch pipe", "process ring", "userfaultfd"]),
        (libc::SYS_socketpair, &["socketpair", "socketpair ping-pong"]),
        (
            libc::SYS_socket,
            &["tcp loopback", "tcp loopback ping-pong", "tcp loopback connect", "udp loopback ping-pong"],
        ),
        (libc::SYS_socket, &["select", "poll", "epoll_wait of many"]),
        (libc::SYS_clock_nanosleep, &["sleep 50us", "sleep 1ms"]),
        (libc::SYS_prctl, &["sleep 50us", "MAP_POPULATE"]),
        (libc::SYS_fadvise64, &["major fault"]),
        (libc::SYS_mincore, &["major fault"]),
    ];
    for (number, names) in cases {
        let infos = present.iter().filter(|info| info.refusal.is_none() && names.contains(&info.id.0.as_str()));
        for info in infos {
            let (call, _) = first_call(info, &machine);
            // A filter lasts for ever, but only for one thread and its children.
            let refusal = scope(|scope| {
                let confined = || {
                    refuse(&[number]).unwrap();
                    OsWork::new(&Order { call: &call, cpu: first_cpu(), clock: &clock() }).err()
                };
                scope.spawn(confined).join().unwrap()
            });
            let refusal = refusal.unwrap_or_else(|| panic!("{} without call {number}", info.id));
            let told = refusal.cure.contains("seccomp") || refusal.cure.contains("container");
            assert!(told && !refusal.why.is_empty(), "{} without call {number}: {refusal}", info.id);
        }
    }
}
