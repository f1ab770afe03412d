//! The cells of `watch --active` on simulated machines.

use tiermark_engine::Host;
use tiermark_machine::synth::Synth;
use tiermark_model::{GIB, MIB, Machine, WatchActive};
use tiermark_probes::active::{Active, Options};
use tiermark_sim::{Neighbours, SimCache, SimCore, SimHost, SimOptions, Visitor};

const OPTIONS: Options = Options { budget: 0.01, interval: 1.0, seed: 1 };

fn host(machine: Machine, neighbours: Neighbours) -> SimHost {
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    SimHost::new(machine, kernels, SimOptions { neighbours, ..SimOptions::default() })
}

/// The state after so many seconds, and what could not be had.
fn watched(host: &mut SimHost, seconds: u32) -> (WatchActive, usize) {
    let mut active = Active::prepare(host, OPTIONS, &|probe, _, step, _, _| {
        // The record of one step only: that of the first level.
        (probe == "latency" && step.setup.total_bytes().0 < MIB / 8).then_some(1.3)
    })
    .unwrap();
    let refused = active.notices().len();
    let mut last = active.round(host);
    for _ in 1..seconds {
        let began = host.now();
        last = active.round(host);
        host.rest(OPTIONS.interval - (host.now() - began));
    }
    (last, refused)
}

#[test]
fn every_figure_comes_to_its_capability() {
    let visitor = Some(Visitor { from: 1e9, until: 2e9, slows: 2.0 });
    let mut host = host(
        Synth { cores_per_node: 8, ..Synth::default() }.machine().unwrap(),
        Neighbours { visitor, ..Neighbours::default() },
    );
    let (seen, refused) = watched(&mut host, 300);
    assert_eq!(refused, 0);
    let best = [
        seen.clock,
        seen.l1.latency,
        seen.l1.bandwidth,
        seen.l2.latency,
        seen.l3.latency,
        seen.dram.latency,
        seen.dram.bandwidth,
    ];
    for best in best.into_iter().chain([seen.l3.kept, seen.l3.lasts]) {
        let best = best.unwrap();
        assert!((best.now.unwrap() / best.capability.unwrap() - 1.0).abs() < 0.05, "{best:?}");
        // Eight cpus that answer each other take more than the budget of a second.
        assert!(best.age_seconds.unwrap() < 10.0, "{best:?}");
    }
    assert_eq!((seen.l1.latency.unwrap().record, seen.l2.latency.unwrap().record), (Some(1.3), None));
    assert_eq!((seen.pings.len(), seen.clusters.len(), seen.moves), (12, 1, 0));
    assert!(seen.memory_bytes < 600 * MIB, "{}", seen.memory_bytes);
}

/// A hypervisor that declares the L3 of the host: an L3 of 166 ns was shown, of a footprint in memory.
#[test]
fn footprints_lie_within_what_is_held_and_not_within_what_is_declared() {
    let seen = |held: u64| {
        let synth = Synth { cores_per_node: 2, l3_bytes: 480 * MIB, node_bytes: 64 * GIB, ..Synth::default() };
        let caches = vec![SimCache { level: 3, bytes: held, ways: 16 }];
        let core = SimCore { caches, ..SimCore::default() };
        let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
        let mut host = SimHost::new(synth.machine().unwrap(), kernels, SimOptions { core, ..SimOptions::default() });
        watched(&mut host, 30)
    };
    for held in [40 * MIB, 16 * MIB] {
        let (active, refused) = seen(held);
        let now = |best: Option<tiermark_model::WatchBest>| best.and_then(|best| best.now).unwrap();
        assert!(now(active.l3.latency) < 0.5 * now(active.dram.latency), "{held}: {:?}", active.l3);
        assert!(active.l3.latency_bytes.unwrap() <= held && active.l3.kept_bytes.unwrap() <= held, "{held}");
        assert_eq!(refused, 0);
    }
    // No more than L2 holds: there is no L3, and a warning says so.
    let (active, refused) = seen(MIB);
    assert_eq!((active.l3.latency, active.l3.kept, refused), (None, None, 1), "{:?}", active.l3);
    assert!(active.l2.latency.is_some() && active.dram.latency.is_some());
}

#[test]
fn memory_is_bounded_and_what_has_no_room_is_refused() {
    for (memory, refused) in [(64 * GIB, 0), (2 * GIB, 0), (512 * MIB, 1)] {
        let mut machine = Synth { cores_per_node: 2, node_bytes: memory, ..Synth::default() }.machine().unwrap();
        machine.system.available_bytes = Some(memory);
        let mut host = host(machine, Neighbours::default());
        let (seen, told) = watched(&mut host, 3);
        assert_eq!((told, seen.dram.latency.is_none()), (refused, refused > 0), "{memory}");
        assert!(seen.l1.latency.unwrap().now.is_some());
        assert!(seen.memory_bytes < memory / 10 + 16 * MIB, "{} of {memory}", seen.memory_bytes);
        // Where cpus stay where they are, nothing is said of them.
        assert!(seen.pings.is_empty() && seen.clusters.is_empty());
    }
}
