//! What probes find on hundreds of simulated machines: knees of loaded curves, and sizes of tiers.

use crate::common::{findings, found, request, run, seeds, server};
use tiermark_model::{Effort, Finding, KIB, MIB, Purpose, testing};
use tiermark_probes::{latency, loaded};
use tiermark_sim::{Ceilings, SimCache, SimCore};

/// What an effort makes of a curve whose knee is known, under a seed of noise.
fn knee_is_found(effort: Effort, seed: u64, points: usize) {
    let machine = server(16, 1);
    let knee = 0.6 + 0.3 * testing::spread(seed);
    let (node, link) = (120e9, 200e9);
    let ceilings = Ceilings { node: Some(node), link, knee, ..Ceilings::default() };
    let params = serde_json::json!({ "mixes": ["read"], "target_ns": 150.0 });
    let experiment = run(&loaded::PROBE, &machine, &request("loaded-latency", effort, seed, params), ceilings);
    let local = [("place", "local")];
    let at = found(&experiment, "loaded.knee", &local);
    let truth = knee * node;
    let off = at.value.map_or(f64::NAN, |value| value / truth - 1.0);
    if effort == Effort::Quick {
        // Fifteen points lie farther apart; between its neighbours the knee is all the same.
        let neighbours = at.interval.unwrap();
        assert!((neighbours.low..=neighbours.high).contains(&truth) && off.abs() < 0.1, "seed {seed}: {at:#?}");
    } else {
        assert!(off.abs() < 0.03, "{effort:?}, seed {seed}: {:?} of {truth}", at.value);
    }
    let most = found(&experiment, "loaded.most", &local).value.unwrap();
    assert!((most / node - 1.0).abs() < 0.03, "{effort:?}, seed {seed}: {most}");
    let idle = found(&experiment, "loaded.unloaded", &local).value.unwrap();
    let full = found(&experiment, "loaded.saturated", &local).value.unwrap();
    let target = found(&experiment, "loaded.at_target", &local).value.unwrap();
    assert!(idle < 100.0 && full > 2.0 * idle && target > truth && target < most, "{idle} {full} {target}");
    let seen = experiment.observations.iter().filter(|o| o.labels.is_for(Purpose::Load));
    assert!(seen.clone().count() >= points && seen.clone().all(|o| o.value.is_some()), "{effort:?}, seed {seed}");
}

// Full and standard effort measure two places, quick effort one.
#[test]
fn the_knee_of_a_full_curve_is_where_the_memory_has_it() {
    seeds().for_each(|seed| knee_is_found(Effort::Full, seed, 2 * 12));
}

#[test]
fn the_knee_of_a_loaded_curve_is_where_the_memory_has_it() {
    seeds().for_each(|seed| knee_is_found(Effort::Standard, seed, 2 * 12));
}

#[test]
fn the_knee_of_a_quick_curve_is_where_the_memory_has_it() {
    seeds().for_each(|seed| knee_is_found(Effort::Quick, seed, 12));
}

fn sizes(effort: Effort, core: SimCore, seed: u64) -> Vec<Finding> {
    findings(&latency::PROBE, serde_json::Value::Null, effort, core, seed)
        .into_iter()
        .filter(|f| f.quantity.name() == "tier.size")
        .collect()
}

#[test]
fn sizes_are_the_machine_s_or_not_said() {
    sizes_are(&SimCore::default(), 40 * MIB);
}

#[test]
fn sizes_are_those_that_a_guest_got_or_not_said() {
    let quarter = SimCore { caches: vec![SimCache { level: 3, bytes: 10 * MIB, ways: 16 }], ..SimCore::default() };
    sizes_are(&quarter, 10 * MIB);
}

fn sizes_are(core: &SimCore, l3: u64) {
    for effort in [Effort::Quick, Effort::Standard, Effort::Full] {
        for seed in 0..testing::seeds(2) {
            let found = sizes(effort, core.clone(), seed);
            for (name, truth) in [("L1", 48 * KIB), ("L2", 1280 * KIB), ("L3", l3)] {
                let size = found.iter().find(|f| f.labels.tier_name() == Some(name));
                // Points an octave apart tell no size within 10 %.
                let expected = effort > Effort::Quick && (name != "L3" || truth == 40 * MIB);
                assert!(!expected || size.is_some_and(|s| s.value.is_some()), "{name}, {effort:?}: {size:?}");
                let Some(value) = size.and_then(|s| s.value) else { continue };
                assert!((value / truth as f64 - 1.0).abs() < 0.1, "{name}, {effort:?}, seed {seed}: {size:?}");
            }
        }
    }
}
