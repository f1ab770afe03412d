//! The probes of shapes on simulated machines whose shape is known, and not what they declare.

use tiermark_engine::{Host, Lab, Probe, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::messages::shapes::codes;
use tiermark_model::{
    Effort, Finding, Grade, Interval, KIB, KernelInfo, Labels, MIB, Machine, Observation, Reason, Request, Scope, Tier,
    testing,
};
use tiermark_probes::{geometry, granularity, loaded, mlp, tlb};
use tiermark_sim::{SimCache, SimCore, SimHost, SimOptions};

/// Two cores that declare 48 KiB, 2 MiB and 64 MiB.
fn machine() -> Machine {
    let synth = Synth {
        cores_per_node: 2,
        cores_per_llc: 2,
        smt: 1,
        l1_bytes: 48 * KIB,
        l2_bytes: 2 * MIB,
        l3_bytes: 64 * MIB,
        ..Synth::default()
    };
    synth.machine().unwrap()
}

fn kernels() -> Vec<KernelInfo> {
    tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect()
}

fn request(probe: &str, params: serde_json::Value) -> Request {
    let scope = Scope { max_seconds: Some(600.0), ..Scope::default() };
    Request { scope, effort: Effort::Quick, seed: 3, params, ..testing::request(probe) }
}

fn findings(probe: &Probe, params: serde_json::Value, options: SimOptions) -> Vec<Finding> {
    let mut host = SimHost::new(machine(), kernels(), options);
    run_experiment(probe, &request(probe.id, params), &mut host, &mut ()).unwrap().findings
}

/// Parameters of `loaded-latency` for the part about a neighbour.
fn beside() -> serde_json::Value {
    serde_json::json!({ "neighbour": true })
}

/// The finding of a name and a tier (empty: without one).
fn find<'a>(findings: &'a [Finding], metric: &str, tier: &str) -> &'a Finding {
    let here = |f: &&Finding| f.quantity.name() == metric && f.labels.tier_name().unwrap_or_default() == tier;
    findings.iter().find(here).unwrap_or_else(|| panic!("no {metric} of '{tier}' in {findings:#?}"))
}

fn noisy(seed: u64, core: SimCore) -> SimOptions {
    SimOptions { seed, noise: if seed.is_multiple_of(2) { 0.002 } else { 0.01 }, core, ..SimOptions::default() }
}

#[test]
fn a_machine_that_lies_is_seen_through() {
    // 1.25 MiB of 20 ways and 28 MiB (1.75 x 16) of 14 where 2 MiB and 64 MiB are declared, and lines that come in
    // pairs.
    let cache = |level, bytes, ways| SimCache { level, bytes, ways };
    let caches = vec![cache(1, 48 * KIB, 12), cache(2, 1280 * KIB, 20), cache(3, 28 * MIB, 14)];
    let core = SimCore { caches, pair_bytes: 128, ..SimCore::default() };
    for seed in 0..testing::seeds(5) {
        let found = findings(&geometry::PROBE, serde_json::Value::Null, noisy(seed, core.clone()));
        let value = |metric: &str, tier: &str| find(&found, metric, tier).value;
        assert_eq!(value("geometry.line", ""), Some(64.0), "seed {seed}");
        assert_eq!(value("geometry.neighbours", ""), Some(128.0), "seed {seed}");
        for (tier, bytes, ways, sets) in [("L1", 48 * KIB, 12.0, 64.0), ("L2", 1280 * KIB, 20.0, 1024.0)] {
            assert_eq!(value("geometry.size", tier), Some(bytes as f64), "{tier}, seed {seed}");
            assert_eq!(value("geometry.ways", tier), Some(ways), "{tier}, seed {seed}");
            assert_eq!(value("geometry.sets", tier), Some(sets), "{tier}, seed {seed}");
        }
        let l3 = find(&found, "geometry.size", "L3");
        let bounds = l3.interval.unwrap();
        assert!(bounds.low <= (28 * MIB) as f64 && bounds.high >= (28 * MIB) as f64, "seed {seed}: {l3:?}");
        assert!(bounds.high / bounds.low < 1.2, "seed {seed}: {l3:?}");
        // What is declared stands beside it, and the difference is told.
        assert_eq!(l3.labels.declared_number(), Some(64 * MIB));
        for tier in ["L2", "L3"] {
            assert!(find(&found, "geometry.size", tier).noted(&codes::another_size_declared).is_some(), "{tier}");
        }
        assert!(find(&found, "geometry.size", "L1").notes.is_empty(), "as declared");
        assert!(find(&found, "geometry.ways", "L3").value.is_none(), "slices are hashed");
        for (tier, shared) in [("L1", false), ("L2", false), ("L3", true)] {
            let cost = value("geometry.shared", tier).unwrap();
            assert_eq!(cost > 0.25, shared, "{tier}, seed {seed}: {cost}");
        }
    }
}

#[test]
fn what_is_declared_is_confirmed() {
    let found = findings(&geometry::PROBE, serde_json::Value::Null, noisy(4, SimCore::default()));
    assert_eq!(find(&found, "geometry.size", "L1").value, Some((48 * KIB) as f64));
    // 8 ways behind 12: lines that meet in the second level never leave the first.
    let hidden = find(&found, "geometry.ways", "L2");
    assert!(hidden.value.is_none() && hidden.noted(&codes::ways_hidden).unwrap().data["above"] == 12, "{hidden:?}");
    let bounds = find(&found, "geometry.size", "L2").interval.unwrap();
    assert!(bounds.low <= (2 * MIB) as f64 && (2 * MIB) as f64 <= bounds.high, "{bounds:?}");
    for tier in ["L1", "L2", "L3"] {
        let size = find(&found, "geometry.size", tier);
        assert!(size.noted(&codes::another_size_declared).is_none(), "{size:?}");
    }
    assert_eq!(find(&found, "geometry.neighbours", "").value, Some(64.0));
}

#[test]
fn ways_that_nobody_knows_make_no_size_up() {
    // Some systems declare zero ways where they do not know, or a full associativity.
    let mut machine = machine();
    machine.caches.iter_mut().for_each(|cache| cache.ways = Some(0));
    let mut host = SimHost::new(machine, kernels(), noisy(2, SimCore::default()));
    let asked = request("geometry", serde_json::Value::Null);
    let found = run_experiment(&geometry::PROBE, &asked, &mut host, &mut ()).unwrap().findings;
    for tier in ["L2", "L3"] {
        let size = find(&found, "geometry.size", tier);
        let bounds = size.interval.unwrap();
        assert!(bounds.high < 1.3 * bounds.low && size.value.unwrap() <= bounds.high, "{size:?}");
    }
}

#[test]
fn siblings_share_what_other_cores_do_not() {
    let synth = Synth { cores_per_node: 2, cores_per_llc: 2, smt: 2, l1_bytes: 48 * KIB, ..Synth::default() };
    let mut host = SimHost::new(synth.machine().unwrap(), kernels(), noisy(2, SimCore::default()));
    let asked = request("geometry", serde_json::Value::Null);
    let found = run_experiment(&geometry::PROBE, &asked, &mut host, &mut ()).unwrap().findings;
    for (relation, tier, shared) in
        [("sibling", "L1", true), ("sibling", "L2", true), ("same L3", "L1", false), ("same L3", "L3", true)]
    {
        let here = |f: &&Finding| {
            f.quantity.name() == "geometry.shared"
                && f.labels.tier_name() == Some(tier)
                && f.labels.relation() == Some(relation)
        };
        let found = found.iter().find(here).unwrap_or_else(|| panic!("{relation} {tier}"));
        assert_eq!(found.value.unwrap() > 0.25, shared, "{relation} {tier}: {found:?}");
        let note = found.noted(&codes::sharing).unwrap();
        assert_eq!(note.data["seen"], note.data["declared"], "as declared: {found:?}");
    }
}

#[test]
fn base_pages_resolve_the_first_level_and_say_why_not_the_second() {
    let params = serde_json::Value::Null;
    let mut request = request("geometry", params);
    request.scope.page = Some(tiermark_model::PageKind::Base);
    let mut host = SimHost::new(machine(), kernels(), noisy(2, SimCore::default()));
    let found = run_experiment(&geometry::PROBE, &request, &mut host, &mut ()).unwrap().findings;
    assert_eq!(find(&found, "geometry.size", "L1").value, Some((48 * KIB) as f64));
    let l2 = find(&found, "geometry.ways", "L2");
    assert!(l2.value.is_none() && l2.noted(&codes::ways_need_huge_pages).is_some(), "{l2:?}");
}

#[test]
fn translation_buffers_are_found_exactly() {
    let core = SimCore { tlb: [[72, 3072], [96, 768], [8, 16]], ..SimCore::default() };
    for seed in 0..testing::seeds(5) {
        let found = findings(&tlb::PROBE, serde_json::json!({ "pages": ["base", "thp"] }), noisy(seed, core.clone()));
        let of = |metric: &str, tier: &str, page: &str| {
            let here = |f: &&Finding| {
                f.quantity.name() == metric && f.labels.tier_name() == Some(tier) && f.labels.page() == Some(page)
            };
            found.iter().find(here).cloned().unwrap_or_else(|| panic!("no {metric} {tier} {page} in {found:#?}"))
        };
        for (page, first, second) in [("base", 72.0, Some(3072.0)), ("thp", 96.0, None)] {
            assert_eq!(of("tlb.entries", "L1", page).value, Some(first), "{page}, seed {seed}");
            if second.is_some() {
                assert_eq!(of("tlb.entries", "L2", page).value, second, "{page}, seed {seed}");
            }
        }
        let (miss, walk) = (of("tlb.miss", "L1", "base").value.unwrap(), of("tlb.walk", "walk", "base").value.unwrap());
        assert!((miss - 2.33).abs() < 0.2 && (walk - 14.33).abs() < 0.7, "seed {seed}: {miss} {walk}");
        // 512 MiB hold 255 huge pages: the second level is not reached, and that is said.
        let more = of("tlb.entries", "L2", "thp");
        assert!(more.labels.statistic() == Some("at least") && more.value.unwrap() >= 250.0, "{more:?}");
    }
}

#[test]
fn misses_in_flight_are_those_of_the_core() {
    let found = findings(&mlp::PROBE, serde_json::Value::Null, noisy(1, SimCore::default()));
    for tier in ["L1", "L2", "L3", "DRAM"] {
        let in_flight = find(&found, "mlp.in_flight", tier).value.unwrap();
        // The simulated core keeps 12.
        assert!((in_flight - 12.0).abs() < 0.6, "{tier}: {in_flight}");
    }
}

/// Derives findings again after the observations of a run were changed.
fn derived_again(probe: &Probe, params: &serde_json::Value, change: impl Fn(&mut Observation)) -> Vec<Finding> {
    let mut host = SimHost::new(machine(), kernels(), noisy(1, SimCore::default()));
    let request = request(probe.id, params.clone());
    let mut seen = run_experiment(probe, &request, &mut host, &mut ()).unwrap().observations;
    seen.iter_mut().for_each(change);
    probe.open(&request, host.lab()).unwrap().derive(&seen)
}

/// Gives an observation an interval of this half-width, as a share.
fn widen(observation: &mut Observation, half: f64) {
    let value = observation.value.unwrap();
    let interval = Some(Interval { low: value * (1.0 - half), high: value * (1.0 + half), level: 0.95 });
    observation.interval = interval;
    if let Some(edge) = &mut observation.edge {
        edge.within = interval;
    }
}

#[test]
fn a_ratio_is_as_uncertain_as_what_it_is_made_of() {
    let plain = serde_json::Value::Null;
    for (probe, params, metric) in [
        (&mlp::PROBE, plain.clone(), "mlp.in_flight"),
        (&granularity::PROBE, plain, "granularity.useful"),
        (&loaded::PROBE, beside(), "neighbour.cost"),
    ] {
        let width = |half: f64| {
            let found = derived_again(probe, &params, |o| widen(o, half))
                .into_iter()
                .find(|f| f.quantity.name() == metric)
                .unwrap();
            let interval = found.interval.unwrap();
            assert!(interval.low <= found.value.unwrap() && found.value.unwrap() <= interval.high, "{found:?}");
            interval.high - interval.low
        };
        assert!(width(0.2) > 3.0 * width(0.05), "{metric}");
    }
}

/// A share of 313 % within 310 % was printed, and one number of chains in flight from one number of chains.
#[test]
fn numbers_without_ground_are_not_given() {
    let wide = derived_again(&granularity::PROBE, &serde_json::Value::Null, |o| widen(o, 0.45));
    let shares = wide.iter().filter(|f| f.quantity.name() == "granularity.useful");
    assert!(shares.clone().count() > 0);
    for share in shares {
        assert_eq!((share.value, share.verdict.grade), (None, Grade::Invalid));
        assert!(matches!(share.verdict.reasons[..], [Reason::TooWide { .. }]), "{share:?}");
    }
    let few = derived_again(&mlp::PROBE, &serde_json::Value::Null, |o| {
        if o.labels.chains() > Some(1) && o.labels.tier() == Some(Tier::Cache(3)) {
            o.value = None;
        }
    });
    let [l2, l3] = ["L2", "L3"].map(|tier| find(&few, "mlp.in_flight", tier));
    assert!(l2.value.is_some() && l3.value.is_none(), "{l3:?}");
    assert!(l3.verdict.reasons.iter().any(|reason| matches!(reason, Reason::FewPoints { points: 1, .. })), "{l3:?}");
    // Times of pages that scatter more than translation costs.
    let scattered = derived_again(&tlb::PROBE, &serde_json::Value::Null, |o| widen(o, 0.45));
    let entries: Vec<&Finding> = scattered.iter().filter(|f| f.quantity.name() == "tlb.entries").collect();
    assert!(!entries.is_empty() && entries.iter().all(|f| f.value.is_none() && f.interval.is_none()), "{entries:?}");
}

#[test]
fn without_the_latency_of_one_chain_nothing_is_said_to_be_in_flight() {
    let found = derived_again(&mlp::PROBE, &serde_json::Value::Null, |o| {
        if o.labels.chains() == Some(1) && o.labels.tier() == Some(Tier::Cache(3)) {
            o.value = None;
            o.verdict.invalid(Reason::Pairs { doubted: 2, of: 3 });
        }
    });
    let missing = find(&found, "mlp.in_flight", "L3");
    assert_eq!((missing.value, missing.verdict.grade), (None, Grade::Invalid), "{missing:?}");
    assert!(find(&found, "mlp.in_flight", "L2").value.is_some());
}

#[test]
fn eight_bytes_of_a_line_are_an_eighth_of_it() {
    let found = findings(&granularity::PROBE, serde_json::Value::Null, noisy(1, SimCore::default()));
    let shares: Vec<&Finding> = found.iter().filter(|f| f.quantity.name() == "granularity.useful").collect();
    // Reading and writing, on base and on huge pages.
    assert_eq!(shares.len(), 4, "{found:#?}");
    for f in shares {
        assert!((f.value.unwrap() - 0.125).abs() < 0.01, "{f:?}");
    }
}

#[test]
fn a_neighbour_is_measured_beside() {
    let found = findings(&loaded::PROBE, beside(), noisy(1, SimCore::default()));
    let cost = |tier: &str, beside: &str| {
        let here = |f: &&Finding| {
            f.quantity.name() == "neighbour.cost"
                && f.labels.tier_name() == Some(tier)
                && f.labels.beside() == Some(beside)
        };
        found.iter().find(here).unwrap_or_else(|| panic!("{tier} {beside}")).value.unwrap()
    };
    for beside in ["sequential read", "sequential write", "random read", "random write"] {
        assert!(cost("L1", beside).abs() < 0.05, "a private cache is nobody else's");
        assert!(cost("L3", beside) > 0.25, "a shared one is: {beside}");
    }
    let rates =
        found.iter().filter(|f| f.quantity.name() == "neighbour.rate" && f.value.is_some_and(|v| v > 1e9)).count();
    assert_eq!(rates, 16, "four neighbours beside four tiers");
}

#[test]
fn a_neighbour_is_measured_beside_memory_of_a_chosen_node() {
    let synth = Synth { sockets: 2, cores_per_node: 2, cores_per_llc: 2, smt: 1, ..Synth::default() };
    for (node, name) in [(0, "DRAM"), (1, "DRAM node 1")] {
        let mut host = SimHost::new(synth.machine().unwrap(), kernels(), SimOptions::default());
        let mut asked = request("loaded-latency", beside());
        asked.scope.mem_node = Some(node);
        let found = run_experiment(&loaded::PROBE, &asked, &mut host, &mut ()).unwrap().findings;
        assert!(find(&found, "neighbour.latency", name).value.is_some());
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let alone = Synth { cores_per_node: 1, cores_per_llc: 1, smt: 1, ..Synth::default() }.machine().unwrap();
    let host = SimHost::new(alone, kernels(), SimOptions::default());
    let lab = |host: &SimHost| -> (Machine, tiermark_model::Bench) { (host.machine().clone(), host.bench().clone()) };
    let (machine, bench) = lab(&host);
    let lab = &Lab::new(machine.clone(), bench.clone());
    let refused = loaded::PROBE.plan(&request("loaded-latency", beside()), lab).unwrap_err();
    assert_eq!(refused.code, tiermark_model::messages::plan::codes::no_neighbour);
    for probe in [&geometry::PROBE, &tlb::PROBE, &mlp::PROBE, &granularity::PROBE] {
        let id = probe.id;
        let refused = probe.plan(&request(id, serde_json::json!({ "spiral": 1 })), lab).unwrap_err();
        assert!(refused.to_string().contains("spiral"), "{refused}");
        assert!(probe.plan(&request(id, serde_json::Value::Null), lab).is_ok(), "{id}");
    }
}

#[test]
fn plans_of_the_largest_machine_are_small() {
    let machine = Synth::largest().machine().unwrap();
    let host = SimHost::new(machine.clone(), kernels(), SimOptions::default());
    let bench = host.bench().clone();
    let lab = &Lab::new(machine.clone(), bench.clone());
    for probe in [&geometry::PROBE, &tlb::PROBE, &mlp::PROBE, &granularity::PROBE, &loaded::PROBE] {
        let params = if probe.id == loaded::PROBE.id { beside() } else { serde_json::Value::Null };
        let plan = probe.plan(&request(probe.id, params), lab).unwrap();
        assert!(!plan.steps.is_empty() && plan.steps.len() < 400, "{}: {}", probe.id, plan.steps.len());
        let ids: std::collections::BTreeSet<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids.len(), plan.steps.len());
        // Labels that reports need.
        let named = |l: &Labels| l.purpose().is_some();
        assert!(plan.steps.iter().all(|s| named(&s.labels)));
    }
}
