//! Whether a rate of memory is possible: compared with the theoretical peak of its nodes. Pure.

use tiermark_model::{
    IdSet, MOST_THEORETICAL_SHARE, Machine, Metric, Observation, Purpose, Reason, RegionSetup, Role, Setup, Step, Tier,
    Unit, Verdict, total,
};

use crate::admit::nearest_memory_node;

/// Where no label says that memory answers, it does beyond so many times the caches in reach: as the probes size their
/// buffers.
const BEYOND_CACHES: u64 = 4;
/// Cells of a matrix are of memory by their name; where little memory is free they are at least this many times the
/// caches.
const BEYOND_CACHES_CELL: u64 = 2;

/// Bytes a second that streams moved: the value of a bandwidth, or of the load beside a latency.
pub(crate) fn rate(step: &Step, seen: &Observation) -> Option<f64> {
    if step.metric == Metric::Bandwidth {
        return seen.value;
    }
    let rates: Vec<f64> =
        seen.parts.iter().filter(|part| part.unit == Unit::BytesPerSecond).filter_map(|part| part.value).collect();
    (!rates.is_empty()).then(|| rates.iter().sum())
}

/// Compares a rate of memory with the theoretical peak of its nodes, whichever cpus read it: a link is no faster than
/// the memory behind it. The modules of a guest are made up, so no peak of its memory is known. Lines of zeros need not
/// cross the channels whole: there a rate above the peak makes the number suspect, not invalid.
pub(crate) fn judge(step: &Step, rate: f64, machine: &Machine, verdict: &mut Verdict) {
    if !of_memory(step, machine) {
        return;
    }
    let nodes = nodes(&step.setup, machine);
    let whole = machine.real_peak().map(|peak| peak.bytes_per_second);
    // Without nodes it is the machine's.
    let peak = if nodes.is_empty() { whole } else { machine.memory_peak(&nodes) };
    let Some(peak) = peak.filter(|peak| rate > peak * MOST_THEORETICAL_SHARE) else { return };
    let named = !nodes.is_empty() && Some(peak) != whole;
    let reason = Reason::AbovePeak { rate, peak, nodes: named.then(|| nodes.to_string()) };
    if step.labels.data().is_some() {
        verdict.suspect(reason);
    } else {
        verdict.invalid(reason);
    }
}

/// Whether memory answers, and no cache.
fn of_memory(step: &Step, machine: &Machine) -> bool {
    if step.labels.tier_name().is_some() {
        return step.labels.tier().is_some_and(Tier::is_memory);
    }
    let streams = streams(&step.setup);
    let caches = machine.reachable_cache_bytes(&streams.iter().map(|(cpu, _)| *cpu).collect());
    let bytes = total(streams.iter().map(|(_, region)| region.bytes.0));
    let cell = step.labels.is_for(Purpose::Matrix);
    caches > 0 && bytes >= caches * if cell { BEYOND_CACHES_CELL } else { BEYOND_CACHES }
}

/// Threads that move bytes, each with its region.
fn streams(setup: &Setup) -> Vec<(u32, &RegionSetup)> {
    let moves = |role: &Role| matches!(role, Role::Stream { .. } | Role::Load { .. });
    let threads = setup.threads.iter().filter(|thread| moves(&thread.role));
    threads.filter_map(|thread| Some((thread.cpu, setup.regions.get(thread.region)?))).collect()
}

/// The nodes that the streams' memory is on: those named, or each thread's own.
fn nodes(setup: &Setup, machine: &Machine) -> IdSet {
    let stream_nodes = |(cpu, region): (u32, &RegionSetup)| -> IdSet {
        let own = || nearest_memory_node(cpu, machine).into_iter().collect();
        if region.nodes.is_empty() { own() } else { region.nodes.clone() }
    };
    streams(setup).into_iter().map(stream_nodes).fold(IdSet::new(), |all, nodes| all.union(&nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::{
        Cpu, Dimm, Grade, KernelId, Layout, MIB, Node, PageKind, System, TheoreticalPeak, ThreadSetup, testing,
    };

    /// Two nodes of one cpu and four channels of 10 GB/s each, and a node without cpus; 1 MiB of cache for each cpu.
    fn server() -> Machine {
        let node = |id: u32, cpus: &[u32]| Node {
            id,
            cpus: cpus.iter().copied().collect(),
            memory_bytes: Some(64 << 30),
            ..Node::default()
        };
        let cache = |cpu: u32| testing::cache(2, MIB, [cpu]);
        let cpu = |id: u32| Cpu { id, node: Some(id), core: id, socket: id, ..Cpu::default() };
        let dimm =
            Dimm { populated: true, bytes: Some(16 << 30), configured_transfers: Some(1.25e9), ..Dimm::default() };
        Machine {
            cpus: vec![cpu(0), cpu(1)],
            caches: vec![cache(0), cache(1)],
            nodes: vec![node(0, &[0]), node(1, &[1]), node(2, &[])],
            allowed_nodes: [0, 1, 2].into_iter().collect(),
            dimms: vec![dimm; 8],
            theoretical_peak: Some(TheoreticalPeak { bytes_per_second: 80e9, ..TheoreticalPeak::default() }),
            ..Machine::default()
        }
    }

    /// Each cpu streams through so much of some nodes.
    fn step(labels: Labels, cpus: &[u32], nodes: &[u32], each: u64) -> Step {
        let region = testing::region(each, PageKind::Thp, Layout::Data);
        let region = RegionSetup { nodes: nodes.iter().copied().collect(), ..region };
        let role = Role::Stream { kernel: KernelId("read/avx2".into()), rivals: Vec::new() };
        let threads = cpus.iter().enumerate().map(|(i, cpu)| ThreadSetup::new(*cpu, role.clone(), i)).collect();
        let setup = Setup { regions: vec![region; cpus.len()], threads, seed: 0 };
        Step { labels, setup, ..testing::step("a", Metric::Bandwidth) }
    }

    fn grade(step: &Step, gbs: f64, machine: &Machine) -> Grade {
        let mut verdict = Verdict::trusted();
        judge(step, gbs * 1e9, machine, &mut verdict);
        verdict.grade
    }

    #[test]
    fn a_cell_is_no_faster_than_the_memory_it_reads() {
        let cell = || Labels::new().with_purpose(Purpose::Matrix);
        let server = server();
        for (nodes, most) in [(&[0u32][..], 40.0), (&[1], 40.0), (&[0, 1], 80.0)] {
            let cell = step(cell(), &[0], nodes, 64 * MIB);
            assert_eq!(grade(&cell, most * 1.01, &server), Grade::Trusted, "{nodes:?}");
            assert_eq!(grade(&cell, most * 1.04, &server), Grade::Invalid, "{nodes:?}");
        }
        let own = step(cell(), &[0, 1], &[], 64 * MIB);
        assert_eq!((grade(&own, 79.0, &server), grade(&own, 83.0, &server)), (Grade::Trusted, Grade::Invalid));
        // The peak of memory without cpus is unknown; small footprints lie in the caches.
        assert_eq!(grade(&step(cell(), &[0], &[2], 64 * MIB), 500.0, &server), Grade::Trusted);
        assert_eq!(grade(&step(cell(), &[0], &[0], MIB), 500.0, &server), Grade::Trusted);
        assert_eq!(grade(&step(cell(), &[0], &[0], 2 * MIB), 500.0, &server), Grade::Invalid);
    }

    #[test]
    fn whatever_is_larger_than_the_caches_is_held_against_the_peak() {
        let server = server();
        let plain = |each| step(Labels::new().with_purpose(Purpose::Scaling), &[0], &[0], each);
        assert_eq!(grade(&plain(4 * MIB), 60.0, &server), Grade::Invalid);
        assert_eq!(grade(&plain(2 * MIB), 60.0, &server), Grade::Trusted, "half of it may be hits");
        let rung = |tier: &str| step(Labels::new().with_tier_name(tier), &[0], &[0], 64 * MIB);
        assert_eq!(grade(&rung("DRAM"), 60.0, &server), Grade::Invalid);
        assert_eq!(grade(&rung("DRAM node 1"), 60.0, &server), Grade::Invalid);
        assert_eq!(grade(&rung("L3"), 60.0, &server), Grade::Trusted);
    }

    #[test]
    fn guests_have_no_peak_and_zeros_are_doubted() {
        let rung = step(Labels::new().with_tier(Tier::Dram), &[0], &[0], 64 * MIB);
        let guest = Machine { system: System { hypervisor: Some("KVM".into()), ..System::default() }, ..server() };
        assert_eq!(grade(&rung, 60.0, &guest), Grade::Trusted, "a hypervisor makes modules up");
        let of_nowhere = step(Labels::new().with_tier(Tier::Dram), &[], &[], 64 * MIB);
        assert_eq!(grade(&of_nowhere, 100.0, &guest), Grade::Trusted, "nor is there a peak of the whole machine");
        let zeros = Step { labels: rung.labels.clone().with_data("zeros"), ..rung };
        assert_eq!(grade(&zeros, 60.0, &server()), Grade::Suspect);
    }

    #[test]
    fn the_load_beside_a_latency_is_a_rate_too() {
        let mut point = step(Labels::new(), &[0], &[0], 64 * MIB);
        point.metric = Metric::Latency;
        let mut cell = crate::cell::Cell::new(point.clone(), &server())
            .observe(&crate::Conditions::default(), &crate::Lab::default());
        assert_eq!(rate(&point, &cell), None);
        let part = |unit, value| tiermark_model::PartResult { name: "load".into(), unit, value, min: None, max: None };
        cell.parts = vec![
            part(Unit::BytesPerSecond, Some(5e9)),
            part(Unit::Ns, Some(3.0)),
            part(Unit::BytesPerSecond, Some(2e9)),
        ];
        assert_eq!(rate(&point, &cell), Some(7e9));
    }
}
