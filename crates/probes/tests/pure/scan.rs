//! The scan on simulated machines: a slow region is found whatever the noise, and even memory raises no alarm.

use std::collections::BTreeSet;

use tiermark_engine::{Host, Lab, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::messages::{plan as plans, scan as says};
use tiermark_model::*;
use tiermark_probes::scan;
use tiermark_sim::{ComesAndGoes, Neighbours, SimHost, SimOptions};

/// Two nodes of 12 GiB.
fn host(options: SimOptions) -> SimHost {
    let synth =
        Synth { sockets: 2, cores_per_node: 2, cores_per_llc: 2, smt: 1, node_bytes: 12 << 30, ..Synth::default() };
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    SimHost::new(synth.machine().unwrap(), kernels, options)
}

fn request(scope: Scope, chunk: Option<u64>) -> Request {
    let params = serde_json::json!({ "chunk": chunk });
    Request { scope, effort: Effort::Quick, params, ..testing::request("scan") }
}

fn run(options: SimOptions) -> Experiment {
    run_experiment(&scan::PROBE, &request(Scope::default(), None), &mut host(options), &mut ()).unwrap()
}

fn plan(scope: Scope, chunk: Option<u64>) -> Result<Plan, Refusal> {
    let host = host(SimOptions::default());
    scan::PROBE.plan(&request(scope, chunk), host.lab())
}

/// The regions that are named slow.
fn slow(experiment: &Experiment) -> BTreeSet<u64> {
    let found = experiment.findings.iter().filter(|f| f.quantity == Quantity::ScanSlow);
    found.map(|f| f.labels.region().unwrap()).collect()
}

#[test]
fn a_slow_region_is_found_and_even_memory_raises_no_alarm() {
    for seed in 1..11 {
        for noise in [0.002, 0.02] {
            // Rigs may hold less between visits than all regions take, which are kept all the same.
            let options = SimOptions { seed, noise, keep_bytes: 4 << 30, ..SimOptions::default() };
            assert_eq!(slow(&run(options.clone())), BTreeSet::new(), "seed {seed}, noise {noise}");
            let options = SimOptions { slow_allocation: Some((seed, 1.3)), ..options };
            let experiment = run(options);
            assert_eq!(slow(&experiment).len(), 1, "seed {seed}, noise {noise}: {:#?}", slow(&experiment));
            let found: Vec<&Finding> =
                experiment.findings.iter().filter(|f| f.quantity == Quantity::ScanSlow).collect();
            for found in found {
                assert!((found.value.unwrap() - 1.3).abs() < 0.1, "{found:#?}");
            }
        }
    }
}

#[test]
fn other_work_in_the_shared_cache_and_on_the_channels_is_no_slow_region() {
    for seed in 1..6 {
        let traffic = Some(ComesAndGoes { share: 0.5, lasts: 0.5 });
        let neighbours = Neighbours { traffic, ..Neighbours::default() };
        let experiment = run(SimOptions { seed, neighbours, ..SimOptions::default() });
        assert_eq!(slow(&experiment), BTreeSet::new(), "seed {seed}");
    }
}

#[test]
fn every_region_has_memory_of_its_own_and_both_numbers_of_it() {
    let mut host = host(SimOptions { keep_bytes: 2 << 30, ..SimOptions::default() });
    let experiment = run_experiment(&scan::PROBE, &request(Scope::default(), None), &mut host, &mut ()).unwrap();
    let regions: BTreeSet<u64> = experiment.observations.iter().map(|o| o.labels.region().unwrap()).collect();
    assert!(regions.len() > 16, "{regions:?}");
    assert_eq!(experiment.observations.len(), 2 * regions.len());
    assert!(experiment.observations.iter().all(|o| o.value.is_some() && o.allocations == 1), "{experiment:#?}");
    let medians: Vec<&Finding> = experiment.findings.iter().filter(|f| f.quantity == Quantity::ScanMedian).collect();
    assert_eq!(medians.len(), 4, "two nodes, two numbers");
}

#[test]
fn a_tenth_of_the_free_memory_stays_free() {
    let free = |node: usize| host(SimOptions::default()).machine().nodes[node].free_bytes.unwrap();
    let whole = plan(Scope::default(), None).unwrap();
    let of_node = |plan: &Plan, node: u32| {
        let steps = plan.steps.iter().filter(|step| step.metric == Metric::Latency);
        steps.filter(|step| step.labels.node() == Some(node)).count() as u64
    };
    for node in 0..2 {
        let taken = of_node(&whole, node as u32) << 30;
        assert!(taken * 10 <= free(node) * 9 && taken + (2 << 30) > free(node) * 9 / 10, "{taken} of {}", free(node));
    }
    let some = plan(Scope { max_mem: Some(Bytes(5 << 30)), ..Scope::default() }, None).unwrap();
    assert_eq!((of_node(&some, 0), of_node(&some, 1)), (3, 2), "nodes take turns");
    let one = plan(Scope { mem_node: Some(1), max_mem: Some(Bytes(1 << 30)), ..Scope::default() }, Some(256 << 20));
    assert_eq!((of_node(&one.clone().unwrap(), 0), of_node(&one.unwrap(), 1)), (0, 4));
}

#[test]
fn reserved_pages_give_as_many_regions_as_are_free() {
    let mut machine = host(SimOptions::default()).machine().clone();
    machine.nodes[1].huge_pages = vec![HugePool { page_bytes: GIB, total: 4, free: 4, promised: 1, on_demand: 0 }];
    let bench = host(SimOptions::default()).bench().clone();
    let request = request(Scope { page: Some(PageKind::Huge(GIB)), ..Scope::default() }, None);
    let plan = scan::PROBE.plan(&request, &Lab::new(machine.clone(), bench.clone())).unwrap();
    assert_eq!(plan.steps.len(), 6);
    assert_eq!(plan.refused[0].code, says::codes::no_room_for_region, "node 0 has no such page");
}

#[test]
fn what_cannot_be_scanned_is_refused_with_what_to_do() {
    let tiny = plan(Scope { max_mem: Some(Bytes(512 << 20)), ..Scope::default() }, None).unwrap_err();
    assert_eq!(tiny.code, says::codes::no_room_for_region);
    let cached = plan(Scope::default(), Some(1 << 20)).unwrap_err();
    assert_eq!(cached.code, says::codes::region_within_caches);
    assert!(plan(Scope { mem_node: Some(7), ..Scope::default() }, None).is_err());
    assert_ne!(tiny.code, plans::codes::nothing_to_measure);
}

/// A server of one node whose cpu reaches caches of `l3` bytes and 1 MiB.
fn of_cache(l3_bytes: u64, node_bytes: u64) -> SimHost {
    let synth = Synth { l3_bytes, node_bytes, smt: 1, ..Synth::default() };
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    SimHost::new(synth.machine().unwrap(), kernels, SimOptions::default())
}

#[test]
fn regions_grow_with_the_caches_and_the_plan_says_so() {
    let planned = |l3: u64| {
        let host = of_cache(l3, 16 * GIB);
        scan::PROBE.plan(&request(Scope::default(), None), host.lab()).unwrap()
    };
    for (l3, region) in [(16 * MIB, GIB), (255 * MIB, GIB), (256 * MIB, 1536 * MIB), (300 * MIB, 1536 * MIB)] {
        let plan = planned(l3);
        assert!(plan.steps.iter().all(|step| step.labels.bytes() == Some(region)), "{l3}");
        let follows = plan.rules.iter().any(|rule| rule.code == says::codes::region_follows_caches);
        assert_eq!(follows, region > GIB, "{l3}: {:#?}", plan.rules);
    }
    let experiment =
        run_experiment(&scan::PROBE, &request(Scope::default(), None), &mut of_cache(300 * MIB, 16 * GIB), &mut ())
            .unwrap();
    assert_eq!(experiment.observations.len(), 16, "8 regions of 1.5 GiB in nine tenths of 14 GiB");
    assert!(experiment.observations.iter().all(|o| o.value.is_some()), "{experiment:#?}");
}

/// The suggested option is accepted.
#[test]
fn a_refused_region_names_the_smallest_that_is_not() {
    let host = of_cache(300 * MIB, 16 * GIB);
    let lab = host.lab();
    let small = scan::PROBE.plan(&request(Scope::default(), Some(GIB)), lab).unwrap_err();
    assert!(small.cure.ends_with("--chunk 1204M"), "{small:?}");
    let taken = |max_mem: u64, chunk: Option<u64>| {
        scan::PROBE.plan(&request(Scope { max_mem: Some(Bytes(max_mem)), ..Scope::default() }, chunk), lab)
    };
    let full = taken(1300 * MIB, None).unwrap_err();
    assert!(full.cure.contains("--chunk 1204M"), "{full:?}");
    assert_eq!(taken(1300 * MIB, Some(1204 * MIB)).unwrap().steps.len(), 2);
    assert_eq!(taken(GIB, None).unwrap_err().cure, "free memory");
}
