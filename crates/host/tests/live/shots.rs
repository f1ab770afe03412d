//! Shots on the real machine: what they hold, never how fast they were.

use crate::common::{SHOT, assert_sane, chase, first_cpu, host, machine, region, stream};
use tiermark_engine::Host;
use tiermark_model::{Before, ChainLayout, KernelId, Layout, PageKind, Pattern, Role, ThreadSetup};

#[test]
fn every_layout_is_chased_in_blocks_of_equal_work() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let layouts = [
        ChainLayout::Random,
        ChainLayout::PageRandom,
        ChainLayout::Groups,
        ChainLayout::Stride(256),
        ChainLayout::Stride(8),
        ChainLayout::Stride(1),
        ChainLayout::Long(3),
    ];
    for layout in layouts {
        // Bytes are one chain.
        for chains in [1u8, 3, 32].into_iter().filter(|chains| *chains == 1 || !layout.is_of_bytes()) {
            let setup = chase(cpu, region(96 << 10, PageKind::Base, Layout::Chain(layout)), chains);
            let mut rig = host.prepare(&setup).unwrap();
            let first = rig.shot(SHOT).unwrap();
            let second = rig.shot(SHOT).unwrap();
            let [a, b] = [&first.threads[0], &second.threads[0]];
            assert_sane(a, cpu);
            assert_eq!(a.per_block, b.per_block);
            assert!(
                a.per_block >= 64.0 && a.per_block <= 4096.0 * f64::from(chains),
                "{layout} {chains}: {}",
                a.per_block
            );
            assert_eq!(a.per_block % f64::from(chains), 0.0);
        }
    }
}

#[test]
fn what_was_touched_is_chased_once_a_shot_and_nothing_else_is_stamped() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    for before in [Before::UsedAgain, Before::UsedOnce, Before::Flushed] {
        let mut setup = chase(cpu, region(512 << 10, PageKind::Base, Layout::Chain(ChainLayout::Random)), 1);
        setup.threads[0].role = Role::Revisit { wait_ns: 3_000_000, accesses: 1024, before, since_last: false };
        let mut rig = host.prepare(&setup).unwrap();
        // A shot whose waits were all disturbed has no stamps.
        let shots = (0..20).map(|_| rig.shot(SHOT).unwrap().threads.remove(0));
        let whole: Vec<_> = shots.filter(|shot| !shot.stamps_ns.is_empty()).take(3).collect();
        assert!(!whole.is_empty(), "no wait was undisturbed");
        for shot in &whole {
            assert_eq!(shot.per_block * (shot.stamps_ns.len() - 1) as f64, 1024.0);
            // Reading and waiting come before the first stamp.
            assert!(shot.stamps_ns[0] >= 3_000_000.0, "{}", shot.stamps_ns[0]);
        }
    }
    // What the shot before read is looked at without a wait, which other work cannot disturb.
    let mut setup = chase(cpu, region(512 << 10, PageKind::Base, Layout::Chain(ChainLayout::Random)), 1);
    setup.threads[0].role = Role::Revisit { wait_ns: 0, accesses: 1024, before: Before::UsedAgain, since_last: true };
    let mut rig = host.prepare(&setup).unwrap();
    for _ in 0..3 {
        let shot = rig.shot(std::time::Duration::ZERO).unwrap().threads.remove(0);
        assert_eq!(shot.per_block * (shot.stamps_ns.len() - 1) as f64, 1024.0);
    }
    let mut none = chase(cpu, region(512 << 10, PageKind::Base, Layout::Chain(ChainLayout::Random)), 1);
    none.threads[0].role = Role::Revisit { wait_ns: 0, accesses: 0, before: Before::UsedAgain, since_last: false };
    assert!(host.prepare(&none).is_err());
}

#[test]
fn other_memory_is_read_before_a_shot_instead_of_settling() {
    const OTHER: u64 = 64 << 20;
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let mut setup = chase(cpu, region(32 << 20, PageKind::Thp, Layout::Chain(ChainLayout::Random)), 1);
    setup.regions.push(region(OTHER, PageKind::Thp, Layout::Data));
    setup.threads[0].reads_first = Some(1);
    let mut rig = host.prepare(&setup).unwrap();
    assert!(rig.placement().pages > 0);
    for _ in 0..3 {
        let shot = rig.shot(SHOT).unwrap().threads.remove(0);
        assert_sane(&shot, cpu);
        // No core reads 200 GB/s.
        assert!(shot.settling.is_settled && shot.settling.ns > OTHER as f64 / 200.0, "{:?}", shot.settling);
    }
    drop(rig);
    // Memory that is not there, and memory that the thread works on.
    for wrong in [Some(2), Some(0)] {
        setup.threads[0].reads_first = wrong;
        assert!(host.prepare(&setup).is_err(), "{wrong:?}");
    }
}

#[test]
fn every_kernel_of_this_cpu_runs_in_a_shot() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    for info in host.bench().kernels.clone() {
        let layout = if info.pattern == Pattern::Random { Layout::Permuted } else { Layout::Data };
        let setup = stream(&[cpu], &region(100_000, PageKind::Base, layout), &info.id.0, &[]);
        let mut rig = host.prepare(&setup).unwrap();
        let shot = rig.shot(SHOT).unwrap();
        assert_sane(&shot.threads[0], cpu);
        // Whole lines of every stream, or whole passes over all of them.
        let span = shot.threads[0].per_block / info.useful_per_byte();
        assert_eq!(span % 64.0, 0.0, "{}", info.id);
        assert!(span >= 32_768.0, "{}: a block covers {span} bytes of each stream", info.id);
    }
}

#[test]
fn all_cpus_start_at_one_gate_and_stop_after_the_budget() {
    let mut host = host();
    let cpus: Vec<u32> = host.machine().allowed_cpus.iter().take(4).collect();
    let setup = stream(&cpus, &region(4 << 20, PageKind::Thp, Layout::Data), "read/portable", &[]);
    let mut rig = host.prepare(&setup).unwrap();
    for _ in 0..3 {
        let shot = rig.shot(SHOT).unwrap();
        assert_eq!(shot.threads.len(), cpus.len());
        for (thread, cpu) in shot.threads.iter().zip(&cpus) {
            assert_sane(thread, *cpu);
            // All but the last block began before the budget was used up.
            let last_but_one = thread.stamps_ns[thread.stamps_ns.len() - 2];
            assert!(thread.stamps_ns.len() == 2 || last_but_one < SHOT.as_nanos() as f64);
            assert!(*thread.stamps_ns.last().unwrap() >= SHOT.as_nanos() as f64);
        }
    }
}

#[test]
fn rivals_with_other_stream_counts_use_the_same_memory() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let region = region(1 << 20, PageKind::Base, Layout::Data);
    let setup = stream(&[cpu], &region, "read/portable", &["copy/portable", "triad/portable"]);
    let mut rig = host.prepare(&setup).unwrap();
    for kernel in ["triad/portable", "copy/portable", "read/portable"] {
        rig.select(&KernelId::from(kernel)).unwrap();
        assert_sane(&rig.shot(SHOT).unwrap().threads[0], cpu);
    }
    let fault = rig.select(&KernelId::from("read/abacus")).unwrap_err();
    assert!(fault.0.contains("read/abacus"), "{fault}");
    // The rig still works after the fault.
    assert_sane(&rig.shot(SHOT).unwrap().threads[0], cpu);
}

#[test]
fn a_load_visits_lines_in_rising_and_in_random_order() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    for (layout, kernels) in [
        (Layout::Data, ["read/portable", "copy/portable"]),
        (Layout::Permuted, ["read.random/portable", "write.random/portable"]),
    ] {
        for pause_ns in [0, 2_000] {
            let mut setup = stream(&[cpu], &region(1 << 20, PageKind::Base, layout), "read/portable", &[]);
            let kernels: Vec<KernelId> = kernels.map(KernelId::from).into();
            setup.threads[0].role = Role::Load { kernels, pause_ns };
            let shot = host.prepare(&setup).unwrap().shot(SHOT).unwrap();
            assert_sane(&shot.threads[0], cpu);
            setup.regions[0].layout = if layout == Layout::Data { Layout::Permuted } else { Layout::Data };
            assert_eq!(host.prepare(&setup).is_err(), layout == Layout::Permuted, "an order is needed");
        }
    }
}

#[test]
fn a_chain_is_followed_and_read_through_in_turn() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let setup = chase(cpu, region(4 << 20, PageKind::Base, Layout::Chain(ChainLayout::Scatter(1088))), 1);
    let mut rig = host.prepare(&setup).unwrap();
    let stream = |kernel: &str| Role::Stream { kernel: KernelId::from(kernel), rivals: Vec::new() };
    for _ in 0..3 {
        rig.assign(&[setup.threads[0].role.clone()]).unwrap();
        let chased = rig.shot(SHOT).unwrap().threads.remove(0);
        assert_sane(&chased, cpu);
        rig.assign(&[stream("read/portable")]).unwrap();
        let read = rig.shot(SHOT).unwrap().threads.remove(0);
        assert_sane(&read, cpu);
        // Accesses of a block, then bytes of one.
        assert!(chased.per_block <= 4096.0 && read.per_block >= 32_768.0, "{} {}", chased.per_block, read.per_block);
    }
    assert!(rig.assign(&[stream("write/portable")]).is_err(), "a chain is never written");
}

#[test]
fn threads_may_share_a_region() {
    let machine = machine();
    let cpus: Vec<u32> = machine.allowed_cpus.iter().take(2).collect();
    let mut host = host();
    let mut setup = chase(cpus[0], region(64 << 10, PageKind::Base, Layout::Chain(ChainLayout::Random)), 4);
    let other = ThreadSetup { cpu: *cpus.last().unwrap(), ..setup.threads[0].clone() };
    setup.threads.push(other);
    let shot = host.prepare(&setup).unwrap().shot(SHOT).unwrap();
    assert_eq!(shot.threads.len(), 2);
    shot.threads.iter().zip(&setup.threads).for_each(|(shot, thread)| assert_sane(shot, thread.cpu));
}

#[test]
fn two_workers_on_one_cpu_do_not_hang() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let setup = stream(&[cpu, cpu], &region(64 << 10, PageKind::Base, Layout::Data), "read/portable", &[]);
    let mut rig = host.prepare(&setup).unwrap();
    for _ in 0..3 {
        rig.shot(SHOT).unwrap().threads.iter().for_each(|shot| assert_sane(shot, cpu));
    }
}

#[test]
fn the_instruments_are_described() {
    let host = host();
    let bench = host.bench();
    assert!(bench.kernels.iter().any(|kernel| kernel.plain));
    assert!(bench.clock.hz > 1e6 && bench.clock.resolution_ns > 0.0 && !bench.clock.how.is_empty());
    let overheads = &bench.overheads;
    assert!(overheads.stamp_ns > 0.0, "{overheads:?}");
    assert!(
        overheads.gate_ns.is_some_and(|ns| ns > 0.0) && overheads.loop_ns.is_some_and(|ns| ns >= 0.0),
        "{overheads:?}"
    );
}
