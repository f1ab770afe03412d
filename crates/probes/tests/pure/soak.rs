//! The soak on simulated machines: every planted fault is found with its address and kind, and none where none is.

use tiermark_engine::{Event, Sink, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::*;
use tiermark_probes::soak;
use tiermark_sim::{BitFault, SimFault, SimHost, SimMemory, SimOptions};

const GIB: u64 = 1 << 30;

/// Two nodes of 4 GiB.
fn host(memory: SimMemory) -> SimHost {
    slow_to_touch(memory, None, 4 * GIB)
}

fn slow_to_touch(memory: SimMemory, first_touch: Option<f64>, node_bytes: u64) -> SimHost {
    let synth = Synth { sockets: 2, cores_per_node: 2, cores_per_llc: 2, smt: 1, node_bytes, ..Synth::default() };
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    SimHost::new(synth.machine().unwrap(), kernels, SimOptions { memory, first_touch, ..SimOptions::default() })
}

fn request(seconds: f64) -> Request {
    Request { effort: Effort::Quick, params: serde_json::json!({ "time": seconds }), ..testing::request("soak") }
}

fn soaked(host: &mut SimHost, seconds: f64) -> (Soak, Experiment) {
    let experiment = run_experiment(&soak::PROBE, &request(seconds), host, &mut ()).unwrap();
    let soak = experiment.observations[0].soak.as_deref().unwrap().clone();
    (soak, experiment)
}

fn faults(faults: Vec<SimFault>) -> SimMemory {
    SimMemory { faults, ..SimMemory::default() }
}

fn bit(offset: u64, bit: u8, kind: BitFault) -> SimFault {
    SimFault::Bit { offset, bit, kind }
}

#[test]
fn an_hour_of_sound_memory_has_no_error_and_is_compared_as_a_whole() {
    let (soak, experiment) = soaked(&mut host(SimMemory::default()), 3600.0);
    assert_eq!((soak.wrong_words, soak.wrong.len(), soak.lost.len(), soak.proven), (0, 0, 0, Some(true)));
    assert_eq!((soak.slowdown, soak.ended), (None, None));
    for node in &soak.memory {
        assert!(node.covered == node.held && node.held.0 > 2 * GIB && node.times() > 100.0, "{node:?}");
    }
    assert_eq!(soak.phases.len(), 8);
    assert!(soak.samples.len() <= 700, "{}", soak.samples.len());
    let value = |quantity| experiment.findings.iter().find(|f| f.quantity == quantity).and_then(|f| f.value);
    assert_eq!((value(Quantity::SoakWrong), value(Quantity::SoakSlower)), (Some(0.0), Some(0.0)));
}

#[test]
fn each_kind_of_faulty_bit_is_found_with_its_place() {
    let offset = 1234 * 4096 + 264;
    // A bit that sticks at 0 or 1 is seen by patterns that want the other.
    let kinds = [
        (BitFault::Flips(5.0), WrongKind::Lost),
        (BitFault::Stuck(false), WrongKind::Stuck),
        (BitFault::Stuck(true), WrongKind::Stuck),
        (BitFault::OnTheWay, WrongKind::OnTheWay),
        (BitFault::Rests(10.0), WrongKind::Lost),
    ];
    for (kind, expected) in kinds {
        for on_node in [0, 1] {
            let mut host = host(faults(vec![bit(offset + on_node * 3700 * (1 << 20), 41, kind)]));
            let (soak, _) = soaked(&mut host, 60.0);
            assert!(soak.wrong_words > 0, "{kind:?}, node {on_node}");
            for word in &soak.wrong {
                assert_eq!((u64::from(word.node), word.bits(), word.kind()), (on_node, 1 << 41, expected), "{kind:?}");
                assert_eq!(word.address.0 % 4096, (offset + on_node * 3700 * (1 << 20)) % 4096);
            }
            if kind == BitFault::Rests(10.0) {
                assert!(soak.wrong.iter().all(|word| word.between == SoakBetween::Rested));
            }
        }
    }
}

#[test]
fn a_shorted_line_of_addresses_is_found_by_what_it_shows() {
    for line in [3, 6, 12, 21, 30] {
        let (soak, _) = soaked(&mut host(faults(vec![SimFault::ShortedLine { line }])), 20.0);
        let of_addresses: Vec<&WrongWord> =
            soak.wrong.iter().filter(|word| word.pattern == SoakPattern::Addresses).collect();
        assert!(!of_addresses.is_empty() && of_addresses.iter().all(|word| word.bits() == 1 << line), "{line}");
        assert!(soak.wrong_words > 10_000 && soak.wrong.len() <= Soak::MOST_WORDS, "{}", soak.wrong_words);
    }
}

#[test]
fn a_page_that_is_taken_away_is_an_error_with_its_address() {
    let (soak, _) = soaked(&mut host(faults(vec![SimFault::Poisoned { offset: 5 << 20 }])), 20.0);
    assert_eq!(soak.lost.iter().map(|page| (page.node, page.offset)).collect::<Vec<_>>(), [(0, 5 << 20)]);
    assert!(soak.wrong_words == 0 && soak.has_errors());
}

#[test]
fn a_server_that_becomes_slower_when_it_is_hot_is_seen() {
    // In the middle, and in the first and the last minutes.
    for (seconds, hot) in
        [(3600.0, 840.0), (3600.0, 60.0), (3600.0, 3300.0), (1200.0, 300.0), (60.0, 10.0), (60.0, 45.0)]
    {
        let memory = SimMemory { hot: Some((hot, 0.11)), ..SimMemory::default() };
        let (soak, _) = soaked(&mut host(memory), seconds);
        let slow = soak.slowdown.unwrap_or_else(|| panic!("hot after {hot} s of {seconds} s"));
        let late = slow.from - hot;
        assert!((slow.share() - 0.11).abs() < 0.02 && late.abs() < 0.05 * hot + 2.0, "{hot} s: {slow:?}");
        assert!(slow.throttled.unwrap() as f64 > seconds - hot, "{slow:?}");
    }
}

/// The seconds at which listeners get what was compared until then.
#[derive(Default)]
struct Reports(Vec<f64>);

impl Sink for Reports {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Observed { observation } = event {
            self.0.push(observation.seconds);
        }
    }
}

#[test]
fn a_kill_loses_a_tenth_of_a_soak_and_no_more_than_a_minute() {
    for (seconds, every) in [(10.0, 2.0), (60.0, 6.0), (3600.0, 60.0)] {
        let mut reports = Reports::default();
        run_experiment(&soak::PROBE, &request(seconds), &mut host(SimMemory::default()), &mut reports).unwrap();
        let gaps: Vec<f64> = reports.0.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(!gaps.is_empty() && gaps.iter().all(|gap| *gap < every + 1.0), "{seconds} s: {gaps:?}");
        assert!(reports.0.len() as f64 <= seconds / every + 2.0, "{seconds} s: {}", reports.0.len());
    }
}

#[test]
fn memory_that_others_need_ends_the_run_with_a_sentence() {
    let memory = SimMemory { wanted_at: Some(15.0), ..SimMemory::default() };
    let mut host = host(memory);
    let (soak, experiment) = soaked(&mut host, 60.0);
    let ended = soak.ended.unwrap();
    assert_eq!(ended.code, messages::soak::codes::memory_wanted);
    assert!((15.0..20.0).contains(&experiment.observations[0].seconds), "{ended:?}");
    assert_eq!(soak.wrong_words, 0);
}

#[test]
fn twenty_gib_at_a_slow_first_touch_are_compared_within_ninety_seconds() {
    let mut host = slow_to_touch(SimMemory::default(), Some(0.4e9), 10 * GIB);
    let (soak, experiment) = soaked(&mut host, 60.0);
    let (held, covered): (u64, u64) =
        soak.memory.iter().fold((0, 0), |(held, covered), node| (held + node.held.0, covered + node.covered.0));
    assert!(held == covered && held > 15 * GIB, "{held} {covered}");
    assert!(experiment.observations[0].seconds < 90.0);
}

#[test]
fn what_a_minute_does_not_reach_is_said() {
    // 2 TiB at 0.4 GB/s and thread.
    let (soak, experiment) = soaked(&mut slow_to_touch(SimMemory::default(), Some(0.4e9), 1 << 40), 60.0);
    assert!(
        soak.memory
            .iter()
            .all(|node| node.covered > Bytes(0) && node.covered <= node.held && node.held < Bytes(1 << 39)),
        "{:?}",
        soak.memory
    );
    assert!(experiment.observations[0].seconds < 62.0);
}

#[test]
fn what_cannot_be_had_is_refused() {
    let plan = |params: serde_json::Value, scope: Scope| {
        let request = Request { params, scope, ..testing::request("soak") };
        let host = host(SimMemory::default());
        soak::PROBE.plan(&request, tiermark_engine::Host::lab(&host))
    };
    let cpus = |nodes: &str| {
        let plan = plan(serde_json::json!({ "nodes": nodes }), Scope::default()).unwrap();
        (plan.cpus().to_string(), plan.steps[0].setup.regions.len())
    };
    assert_eq!([cpus("1"), cpus("0-1")], [("2-3".to_owned(), 1), ("0-3".to_owned(), 2)]);
    assert!(plan(serde_json::json!({ "nodes": "7" }), Scope::default()).is_err());
    let refused = plan(serde_json::json!({}), Scope { max_mem: Some(Bytes(1 << 20)), ..Scope::default() }).unwrap_err();
    assert_eq!(refused.code, messages::soak::codes::no_memory);
    let plan = plan(serde_json::json!({ "level": "long" }), Scope::default()).unwrap();
    assert!((plan.max_seconds - 28800.0).abs() < 1e-9);
}

#[test]
fn far_cpus_are_of_another_node_however_cpus_are_numbered() {
    for smt in [1, 2] {
        let synth =
            Synth { sockets: 2, cores_per_node: 4, cores_per_llc: 4, smt, node_bytes: 4 * GIB, ..Synth::default() };
        let host = SimHost::new(synth.machine().unwrap(), Vec::new(), SimOptions::default());
        let machine = tiermark_engine::Host::machine(&host);
        let plan = soak::PROBE.plan(&testing::request("soak"), tiermark_engine::Host::lab(&host)).unwrap();
        let nodes: Vec<Option<u32>> =
            plan.steps[0].setup.threads.iter().map(|thread| machine.node_of(thread.cpu)).collect();
        let threads = nodes.len();
        for thread in 0..threads {
            let far = tiermark_engine::soak::partner(thread, threads, true);
            assert_ne!(nodes[thread], nodes[far], "{smt}: {nodes:?}");
        }
        let near = (0..threads).filter(|thread| nodes[*thread] == nodes[(thread + 1) % threads]).count();
        assert_eq!(near, threads - 2, "{nodes:?}");
    }
}

#[test]
fn a_small_group_on_a_large_machine_is_soaked_to_the_end() {
    let synth = Synth { cores_per_node: 2, cores_per_llc: 2, smt: 1, node_bytes: 64 * GIB, ..Synth::default() };
    let mut machine = synth.machine().unwrap();
    let group = Cgroup { memory_limit: Some(4 * GIB), ..Cgroup::default() };
    machine.system.cgroup = Some(group);
    let host = SimHost::new(machine, Vec::new(), SimOptions::default());
    let plan = soak::PROBE.plan(&testing::request("soak"), tiermark_engine::Host::lab(&host)).unwrap();
    let Role::Soak(role) = plan.steps[0].setup.threads[0].role else { panic!("{plan:?}") };
    let taken = plan.steps[0].setup.total_bytes().0;
    assert!(taken < 4 * GIB && role.least_free.0 < 4 * GIB - taken, "{taken} {role:?}");
}
