//! Rungs of the probes that plan with the sizes of tiers, on simulated machines.

use crate::common::{findings, kernels, two_cores};
use tiermark_engine::{Host, Lab, Probe, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{Effort, Experiment, Finding, KIB, MIB, PageKind, Purpose, Request, Scope, testing};
use tiermark_probes::{bandwidth, latency, loaded, mlp, survey};
use tiermark_sim::{ComesAndGoes, Neighbours, SimCache, SimCore, SimHost, SimOptions};

/// Probes that measure one rung of each tier, with their parameters.
fn tiers() -> [(&'static Probe, serde_json::Value); 3] {
    let beside = serde_json::json!({ "neighbour": true });
    [(&latency::PROBE, serde_json::Value::Null), (&mlp::PROBE, serde_json::Value::Null), (&loaded::PROBE, beside)]
}

#[test]
fn rungs_lie_in_the_caches_that_are_there() {
    // A guest that is told of caches four times as large as it has: half of the declared L2 does not fit in the real
    // one, nor does half of L3.
    let cache = |level, bytes, ways| SimCache { level, bytes, ways };
    let core = SimCore { caches: vec![cache(2, 320 * KIB, 10), cache(3, 8 * MIB, 16)], ..SimCore::default() };
    for effort in [Effort::Quick, Effort::Standard] {
        for seed in 0..2 {
            let [latency, mlp, beside] =
                tiers().map(|(probe, params)| findings(probe, params, effort, core.clone(), seed));
            for (tier, inner, own) in [
                ("L1", 0, 48 * KIB),
                ("L2", 48 * KIB, 320 * KIB),
                ("L3", 320 * KIB, 8 * MIB),
                ("DRAM", 8 * MIB, 1 << 40),
            ] {
                let ladder = footprints(&latency, "latency", tier);
                for (found, metric) in [(&mlp, "mlp.access"), (&beside, "neighbour.latency")] {
                    let sizes = footprints(found, metric, tier);
                    let [rung] = sizes[..] else { panic!("{metric} {tier}: {sizes:?}") };
                    assert!(inner < rung && rung < own, "{metric} {tier}, {effort:?}, seed {seed}: {rung}");
                    assert_eq!(ladder, sizes, "as latency has it: {metric} {tier}, {effort:?}, seed {seed}");
                }
            }
        }
    }
}

/// A probe on two cores that may have other caches than they declare.
fn run(probe: &Probe, effort: Effort, options: SimOptions) -> Experiment {
    let request = Request { effort, seed: options.seed, ..testing::request(probe.id) };
    run_experiment(probe, &request, &mut two_cores(options), &mut ()).unwrap()
}

#[test]
fn rungs_lie_in_their_caches_also_where_others_are_busy() {
    let cache = |level, bytes, ways| SimCache { level, bytes, ways };
    let less = vec![cache(2, 320 * KIB, 10), cache(3, 8 * MIB, 16)];
    let neighbours = Neighbours { traffic: Some(ComesAndGoes { share: 0.4, lasts: 0.02 }), ..Neighbours::default() };
    for (caches, l2, l3) in [(Vec::new(), 1280 * KIB, 40 * MIB), (less, 320 * KIB, 8 * MIB)] {
        let core = SimCore { caches, ..SimCore::default() };
        for seed in 0..2 {
            let (core, neighbours) = (core.clone(), neighbours);
            let options = SimOptions { seed, noise: 0.005, core, neighbours, ..SimOptions::default() };
            let experiment = run(&mlp::PROBE, Effort::Quick, options);
            for (tier, inner, own) in [("L1", 0, 48 * KIB), ("L2", 48 * KIB, l2), ("L3", l2, l3), ("DRAM", l3, 1 << 40)]
            {
                let rungs = footprints(&experiment.findings, "mlp.access", tier);
                assert!(
                    matches!(rungs[..], [rung] if inner < rung && rung < own),
                    "{tier} of {own}, {seed}: {rungs:?}"
                );
            }
        }
    }
}

#[test]
fn figures_follow_soon_after_the_memory_is_filled() {
    for (probe, figure) in [(&mlp::PROBE, Purpose::Mlp), (&survey::PROBE, Purpose::Ladder)] {
        for effort in [Effort::Quick, Effort::Standard] {
            let options = SimOptions { noise: 0.005, first_touch: Some(0.4e9), ..SimOptions::default() };
            let experiment = run(probe, effort, options);
            let of_figure = experiment.observations.iter().filter(|seen| seen.labels.is_for(figure));
            let first = of_figure.map(|seen| seen.started_seconds).fold(f64::INFINITY, f64::min);
            let filling = experiment.time.unwrap().filling;
            assert!(filling > 0.1 && first < filling + 1.5, "{}, {effort:?}: {first}, {filling}", probe.id);
        }
    }
}

/// The footprints that a tier was measured at.
fn footprints(found: &[Finding], metric: &str, tier: &str) -> Vec<u64> {
    let here = found.iter().filter(|f| f.quantity.name() == metric && f.labels.tier_name() == Some(tier));
    let mut sizes: Vec<u64> = here.filter_map(|f| f.labels.bytes()).collect();
    sizes.dedup();
    sizes
}

#[test]
fn without_a_curve_rungs_are_a_part_of_what_is_declared() {
    // Nothing was measured yet: what is expected of the time is reckoned with the declared sizes.
    let machine = Synth { cores_per_node: 2, cores_per_llc: 2, smt: 1, ..Synth::default() }.machine().unwrap();
    let host = SimHost::new(machine.clone(), kernels(), SimOptions::default());
    let lab = &Lab::new(machine.clone(), host.bench().clone());
    for (probe, params) in tiers().into_iter().skip(1) {
        let request = Request { effort: Effort::Quick, params, ..testing::request(probe.id) };
        let plan = probe.plan(&request, lab).unwrap();
        assert!(plan.steps.iter().all(|step| step.labels.is_point()) && plan.later_seconds > 0.0);
        let more = probe.open(&request, lab).unwrap().refine(&[]);
        let tiers: std::collections::BTreeSet<&str> = more.iter().filter_map(|step| step.labels.tier_name()).collect();
        assert_eq!(tiers.into_iter().collect::<Vec<_>>(), ["DRAM", "L1", "L2", "L3"], "{}", probe.id);
    }
}

#[test]
fn a_plan_says_what_follows_from_its_curve() {
    let machine = Synth { cores_per_node: 2, cores_per_llc: 2, smt: 1, ..Synth::default() }.machine().unwrap();
    let host = SimHost::new(machine.clone(), kernels(), SimOptions::default());
    let lab = &Lab::new(machine.clone(), host.bench().clone());
    let planned = |probe: &Probe, params: serde_json::Value, page| {
        let scope = Scope { page, ..Scope::default() };
        probe.plan(&Request { scope, params, ..testing::request(probe.id) }, lab).unwrap()
    };
    let asked = serde_json::json!({ "ops": ["read", "copy"], "threads": ["one", "cores"] });
    let plan = planned(&bandwidth::PROBE, asked, None);
    let [ladder, curve] = &plan.later[..] else { panic!("{:?}", plan.later) };
    assert_eq!([ladder, curve].map(|note| &note.data["what"]), [&serde_json::json!(["read", "copy"]); 2]);
    assert_eq!(ladder.data["threads"], serde_json::json!([1, 2]));
    assert_eq!(ladder.data["tiers"], serde_json::json!(["L1", "L2", "L3", "DRAM"]));
    assert_eq!(curve.data["tiers"], serde_json::json!([]));
    assert!(plan.later_expected_seconds() > 0.0);
    let tiers = |page| planned(&latency::PROBE, serde_json::Value::Null, page).later[0].data["tiers"].clone();
    assert_eq!(tiers(None), serde_json::json!(["L1", "L2", "L3", "DRAM", "DRAM random"]));
    // Whoever names pages is not measured on others.
    assert_eq!(tiers(Some(PageKind::Thp)), serde_json::json!(["L1", "L2", "L3", "DRAM", "DRAM random"]));
    // A table is all there is.
    assert!(planned(&latency::PROBE, serde_json::json!({ "sizes": [65536] }), None).later.is_empty());
}
