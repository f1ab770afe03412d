//! Memory on the real machine: where it is, what is refused, and that nothing kills the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{SHOT, chase, first_cpu, host, machine, region, stream};
use tiermark_engine::Host;
use tiermark_host::{LinuxHost, Options};
use tiermark_machine::Root;
use tiermark_model::messages::setup::codes;
use tiermark_model::{Bytes, ChainLayout, IdSet, Layout, MemPolicy, PageKind, Refusal, RegionSetup, Setup};

const CHAIN: Layout = Layout::Chain(ChainLayout::Random);

/// The refusal that a setup must get.
fn refused(host: &mut LinuxHost, setup: &Setup) -> Refusal {
    match host.prepare(setup) {
        Err(refusal) => refusal,
        Ok(_) => panic!("{setup:?} was prepared"),
    }
}

#[test]
fn base_pages_are_proven_before_and_after() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let node = host.machine().node_of(cpu).unwrap();
    let mut rig = host.prepare(&chase(cpu, region(6 << 20, PageKind::Base, CHAIN), 1)).unwrap();
    let before = rig.placement();
    rig.shot(SHOT).unwrap();
    for proof in [before, rig.placement()] {
        assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
        assert_eq!(proof.page_share, Some(1.0), "{proof:?}");
        assert_eq!(proof.by_node.keys().collect::<Vec<_>>(), [&node]);
        assert!(proof.pages >= 6 * 256 / 100, "{proof:?}");
        assert_eq!(proof.page, "base");
    }
}

#[test]
fn transparent_huge_pages_are_had_or_their_absence_is_seen() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let mode = host.machine().system.thp.clone();
    let mut rig =
        host.prepare(&stream(&[cpu], &region(8 << 20, PageKind::Thp, Layout::Data), "read/portable", &[])).unwrap();
    let proof = rig.placement();
    assert_eq!(proof.page, "thp");
    match mode.as_deref() {
        // A fragmented machine may give less than all of it; what it gave is what is said.
        Some("always" | "madvise") => assert!(proof.page_share.unwrap() > 0.0, "{proof:?}"),
        _ => assert!(proof.page_share == Some(0.0) && !proof.notes.is_empty(), "{proof:?}"),
    }
}

/// The thread that works on the memory runs on another cpu than the one that touches it first, where there are two.
#[test]
fn memory_lies_where_the_cpu_that_touches_it_first_belongs() {
    let mut host = host();
    let (worker, toucher) = (first_cpu(host.machine()), host.machine().allowed_cpus.iter().last().unwrap());
    let node = tiermark_engine::nearest_memory_node(toucher, host.machine()).unwrap();
    let touched = |policy, layout| RegionSetup {
        policy,
        nodes: IdSet::from_iter([node]),
        ..region(4 << 20, PageKind::Base, layout)
    };
    for layout in [CHAIN, Layout::Data] {
        let setup = chase(worker, touched(MemPolicy::TouchedBy(toucher), CHAIN), 1);
        let setup = match layout {
            Layout::Data => stream(&[worker], &touched(MemPolicy::TouchedBy(toucher), layout), "read/portable", &[]),
            _ => setup,
        };
        let mut rig = host.prepare(&setup).unwrap();
        let proof = rig.placement();
        assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
        let shot = rig.shot(SHOT).unwrap();
        crate::common::assert_sane(&shot.threads[0], worker);
    }
    let refusal = refused(&mut host, &chase(worker, touched(MemPolicy::TouchedBy(100_000), CHAIN), 1));
    assert_eq!(refusal.data["cpu"], 100_000, "{refusal}");
}

#[test]
fn interleaved_memory_is_on_the_nodes_asked_for() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let nodes: IdSet = host.machine().nodes.iter().filter(|n| n.memory_bytes != Some(0)).map(|n| n.id).collect();
    let interleaved =
        RegionSetup { policy: MemPolicy::Interleave, nodes: nodes.clone(), ..region(4 << 20, PageKind::Base, CHAIN) };
    let proof = host.prepare(&chase(cpu, interleaved, 1)).unwrap().placement();
    assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
    assert_eq!(proof.by_node.keys().copied().collect::<IdSet>(), nodes);
}

#[test]
fn pages_that_a_long_stride_leaves_out_are_there_too() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let layout = Layout::Chain(ChainLayout::Stride(16 << 10));
    let proof = host.prepare(&chase(cpu, region((1 << 20) + 40, PageKind::Base, layout), 1)).unwrap().placement();
    assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
}

#[test]
fn huge_pages_are_had_or_refused_with_the_command_that_reserves_them() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    for page in [2 << 20, 1 << 30] {
        let setup = chase(cpu, region(page, PageKind::Huge(page), CHAIN), 1);
        match host.prepare(&setup) {
            Ok(mut rig) => {
                let proof = rig.placement();
                assert_eq!((proof.page_share, proof.on_target), (Some(1.0), Some(1.0)), "{proof:?}");
            }
            Err(refusal) => assert!(refusal.cure.contains("hugepages"), "{refusal}"),
        }
    }
}

#[test]
fn a_pool_that_is_empty_after_all_is_a_refusal_and_no_signal() {
    // A tree that promises pages which the kernel does not have.
    let pool = "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    let options = Options { root: Root::from_files("test", [(pool, "1000000\n")]), ..Options::default() };
    let mut host = LinuxHost::new(machine(), options).unwrap();
    let cpu = first_cpu(host.machine());
    // More than any machine has in its pool by chance: 256 GiB.
    let refusal = refused(
        &mut host,
        &chase(cpu, region(1 << 38, PageKind::Huge(2 << 20), Layout::Chain(ChainLayout::Stride(4096))), 1),
    );
    assert!(refusal.cure.contains("nr_hugepages"), "{refusal}");
}

#[test]
fn more_than_there_is_is_refused_with_numbers() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let total = host.machine().system.memory_bytes.unwrap();
    let refusal = refused(&mut host, &chase(cpu, region(total + (3 << 30), PageKind::Thp, CHAIN), 1));
    assert_eq!(refusal.code, codes::free_memory_short);
    assert!(!refusal.cure.is_empty(), "{refusal}");
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let small = || region(64 << 10, PageKind::Base, CHAIN);
    let data = || region(64 << 10, PageKind::Base, Layout::Data);
    let nowhere = RegionSetup { nodes: IdSet::from_iter([977]), ..small() };
    let no_thread = Setup { threads: Vec::new(), ..chase(cpu, small(), 1) };
    let cases = [
        (chase(cpu, nowhere, 1), "memory on node 977"),
        (chase(100_000, small(), 1), "cpu 100000"),
        (chase(cpu, small(), 33), "33 chains"),
        (chase(cpu, region(0, PageKind::Base, CHAIN), 1), "a region of 0 B"),
        (chase(cpu, RegionSetup { bytes: Bytes(u64::MAX), ..small() }, 1), "a region of"),
        (chase(cpu, data(), 1), "a chase"),
        (stream(&[cpu], &data(), "read/abacus", &[]), "kernel read/abacus"),
        (stream(&[cpu], &data(), "read/portable", &["copy/abacus"]), "kernel copy/abacus"),
        (stream(&[cpu], &small(), "write/portable", &[]), "kernel write/portable"),
        (stream(&[cpu], &data(), "read.random/portable", &[]), "kernel read.random/portable"),
        (stream(&[cpu], &region(100, PageKind::Base, Layout::Data), "copy/portable", &[]), "a region of 100 B"),
        (no_thread, "a setup"),
    ];
    for (setup, what) in cases {
        let refusal = refused(&mut host, &setup);
        assert!(refusal.what.contains(what) && !refusal.why.is_empty(), "{what}: {refusal}");
        assert!(!refusal.cure.is_empty(), "{refusal}");
    }
}

#[test]
fn a_cpu_outside_the_affinity_is_refused() {
    let mut machine = machine();
    let cpu = first_cpu(&machine);
    machine.allowed_cpus.remove(cpu);
    if machine.allowed_cpus.is_empty() {
        let refusal = LinuxHost::new(machine, Options::default()).unwrap_err();
        assert!(refusal.cure.contains("affinity"), "{refusal}");
        return;
    }
    let mut host = LinuxHost::new(machine, Options::default()).unwrap();
    let refusal = refused(&mut host, &chase(cpu, region(64 << 10, PageKind::Base, CHAIN), 1));
    assert_eq!(refusal.code, codes::cpu_unusable);
}

#[test]
fn a_stop_is_heard_while_memory_is_filled() {
    let stopped = Arc::new(AtomicBool::new(false));
    let options = Options { stopped: Arc::clone(&stopped), ..Options::default() };
    let mut host = LinuxHost::new(machine(), options).unwrap();
    let cpu = first_cpu(host.machine());
    stopped.store(true, Ordering::Relaxed);
    let refusal =
        refused(&mut host, &stream(&[cpu], &region(64 << 20, PageKind::Thp, Layout::Data), "read/portable", &[]));
    assert!(refusal.why.contains("stopped"), "{refusal}");
    assert!(host.stopped());
}

#[test]
fn a_stop_is_heard_while_chains_and_orders_are_built_and_proven() {
    let data = RegionSetup { layout: Layout::Permuted, ..region(512 << 20, PageKind::Base, CHAIN) };
    let long = Layout::Chain(ChainLayout::Long(2));
    let setups = |cpu| {
        [
            chase(cpu, region(512 << 20, PageKind::Base, CHAIN), 8),
            chase(cpu, region(512 << 20, PageKind::Thp, long), 1),
            stream(&[cpu], &data, "read.random/portable", &[]),
        ]
    };
    // Before anything is done, and in different parts of it: building, writing, proving.
    for after_ms in [0, 60, 250, 700] {
        let stopped = Arc::new(AtomicBool::new(false));
        let options = Options { stopped: Arc::clone(&stopped), ..Options::default() };
        let mut host = LinuxHost::new(machine(), options).unwrap();
        let cpu = first_cpu(host.machine());
        for setup in setups(cpu) {
            stopped.store(after_ms == 0, Ordering::Relaxed);
            let stop = Arc::clone(&stopped);
            let watch = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(after_ms));
                stop.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let why = host.prepare(&setup).map(drop).err();
            let ended = Instant::now();
            let told = watch.join().unwrap();
            // A fast machine may be ready before it is told.
            assert!(after_ms > 0 || why.is_some());
            assert!(why.is_none_or(|refusal| refusal.why.contains("stopped")));
            let late = ended.saturating_duration_since(told);
            assert!(late < Duration::from_secs(1), "{late:?} after the stop at {after_ms} ms");
        }
    }
}
