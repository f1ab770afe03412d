//! The memory of a run on the real machine: filled once, and shared by rigs that are there at the same time.

use crate::common::{SHOT, assert_sane, chase, first_cpu, host, region, stream};
use tiermark_engine::{Host, Rig};
use tiermark_model::{ChainLayout, KernelId, Layout, PageKind, Role, Setup};

const CHAIN: Layout = Layout::Chain(ChainLayout::Random);

/// Streams that read and write, and chains, of several sizes.
fn setups(host: &impl Host) -> Vec<Setup> {
    let cpu = first_cpu(host.machine());
    let streams = [("read/portable", 4 << 20), ("copy/portable", 4 << 20), ("write/portable", 64 << 10)];
    let streams = streams.map(|(kernel, bytes)| {
        stream(&[cpu], &region(bytes, PageKind::Thp, Layout::Data), kernel, &["read/portable", "copy/portable"])
    });
    let random = stream(&[cpu], &region(1 << 20, PageKind::Thp, Layout::Permuted), "read.random/portable", &[]);
    let chains = [4 << 20, 1 << 20, 64 << 10].map(|bytes| chase(cpu, region(bytes, PageKind::Thp, CHAIN), 2));
    let base = chase(cpu, region(2 << 20, PageKind::Base, Layout::Chain(ChainLayout::Groups)), 1);
    streams.into_iter().chain([random]).chain(chains).chain([base]).collect()
}

#[test]
fn rigs_of_all_steps_are_there_at_once_and_take_turns() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let setups = setups(&host);
    let filled = host.furnish(&setups.iter().collect::<Vec<_>>());
    assert!((10 << 20..16 << 20).contains(&filled.bytes) && filled.rate() > 0.0, "{filled}");
    let places = |setup: &Setup| [1, 2, 3].map(|seed| Setup { seed, ..setup.clone() });
    let mut rigs: Vec<Box<dyn Rig>> =
        setups.iter().flat_map(places).map(|setup| host.prepare(&setup).unwrap()).collect();
    for round in 0..3 {
        for (index, rig) in rigs.iter_mut().enumerate() {
            assert!(!rig.owns_memory(), "{index}");
            if round == 1 && index < 9 {
                rig.select(&KernelId::from("read/portable")).unwrap();
            }
            let shot = rig.shot(SHOT).unwrap();
            assert_sane(&shot.threads[0], cpu);
        }
    }
    for rig in &mut rigs {
        let proof = rig.placement();
        assert_eq!(proof.on_target, Some(1.0), "{proof:?}");
        assert!(proof.page != "base" || proof.page_share == Some(1.0), "{proof:?}");
    }
    // What was filled stays for the next experiment, and goes when nothing needs it.
    drop(rigs);
    assert_eq!(host.furnish(&[&setups[0]]).bytes, 0);
    assert!(!host.prepare(&setups[0]).unwrap().owns_memory());
    host.furnish(&[]);
    let mut own = host.prepare(&setups[0]).unwrap();
    assert!(own.owns_memory());
    assert_sane(&own.shot(SHOT).unwrap().threads[0], cpu);
}

#[test]
fn a_chain_that_lost_its_place_is_made_again_before_its_visit() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    // Each takes all words of its lines, so that there is room for one.
    let long =
        |seed| Setup { seed, ..chase(cpu, region(1 << 20, PageKind::Thp, Layout::Chain(ChainLayout::Long(8))), 1) };
    host.furnish(&[&long(1)]);
    let mut rigs = [1, 2, 3].map(|seed| host.prepare(&long(seed)).unwrap());
    for _ in 0..3 {
        for rig in &mut rigs {
            assert!(!rig.owns_memory());
            assert_sane(&rig.shot(SHOT).unwrap().threads[0], cpu);
        }
    }
}

#[test]
fn threads_of_a_setup_have_memory_side_by_side() {
    let mut host = host();
    let cpu = first_cpu(host.machine());
    let write = stream(&[cpu, cpu], &region(1 << 20, PageKind::Thp, Layout::Data), "write/portable", &[]);
    let mut beside = chase(cpu, region(1 << 20, PageKind::Thp, CHAIN), 1);
    beside.regions.push(region(2 << 20, PageKind::Thp, Layout::Data));
    beside.threads[0].reads_first = Some(1);
    host.furnish(&[&write, &beside]);
    for (setup, threads) in [(&write, write.threads.len()), (&beside, 1)] {
        let mut rig = host.prepare(setup).unwrap();
        assert!(!rig.owns_memory());
        assert_eq!(rig.shot(SHOT).unwrap().threads.len(), threads);
    }
    let mut zeros = write.clone();
    zeros.regions.iter_mut().for_each(|region| region.layout = Layout::Zeros);
    assert!(host.prepare(&zeros).unwrap().owns_memory(), "its contents are others");
    assert!(matches!(write.threads[0].role, Role::Stream { .. }));
}
