//! Residency on simulated machines whose neighbours and partitions are known.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use tiermark_engine::{Neighbours, Probe, SimCache, SimCore, SimHost, SimOptions, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{Effort, Finding, KIB, Labels, MIB, Machine, Request, Scope};
use tiermark_probes::residency::Residency;

/// Two cores that declare 48 KiB, 1 MiB and 64 MiB.
fn machine() -> Machine {
    let synth = Synth {
        cores_per_node: 2,
        cores_per_llc: 2,
        smt: 1,
        l1_bytes: 48 * KIB,
        l2_bytes: MIB,
        l3_bytes: 64 * MIB,
        ..Synth::default()
    };
    synth.machine().unwrap()
}

fn request(effort: Effort, params: serde_json::Value) -> Request {
    let scope = Scope { max_seconds: Some(60.0), ..Scope::default() };
    Request { probe: "residency".into(), scope, effort, precision: None, seed: 3, params, part: None }
}

fn findings(effort: Effort, options: SimOptions) -> Vec<Finding> {
    let mut host = SimHost::new(machine(), Vec::new(), options);
    let asked = request(effort, serde_json::Value::Null);
    run_experiment(&Residency, &asked, &mut host, &mut ()).unwrap().findings
}

fn evicting(seed: u64, half_life_ms: f64) -> SimOptions {
    let evicts_after_seconds = Some(half_life_ms / 1e3 / std::f64::consts::LN_2);
    let neighbours = Neighbours { evicts_after_seconds, ..Neighbours::default() };
    SimOptions { seed, noise: 0.01, preemptions_per_second: 20.0, neighbours, ..SimOptions::default() }
}

fn half_life(found: &[Finding], bytes: u64) -> &Finding {
    let here = |f: &&Finding| f.metric.name() == "residency.half_life" && f.labels.number(Labels::SIZE) == Some(bytes);
    found.iter().find(here).unwrap()
}

fn only<'a>(found: &'a [Finding], metric: &str) -> &'a Finding {
    found.iter().find(|f| f.metric.name() == metric).unwrap()
}

#[test]
fn planted_half_lives_are_found() {
    for (effort, seed) in [(Effort::Quick, 1), (Effort::Standard, 2), (Effort::Standard, 3)] {
        for planted in [0.5, 2.5, 10.0] {
            let found = findings(effort, evicting(seed, planted));
            for bytes in [8 * MIB, 16 * MIB, 32 * MIB] {
                let value = half_life(&found, bytes).value.unwrap() / 1e6;
                assert!((value / planted - 1.0).abs() < 0.2, "{effort:?} {bytes}: {value} ms of {planted}");
            }
            assert_eq!(only(&found, "residency.limit").labels.get(Labels::LIMIT), Some("contention"));
        }
    }
}

#[test]
fn a_quiet_machine_keeps_what_was_touched() {
    let found = findings(Effort::Standard, SimOptions::default());
    for bytes in [8 * MIB, 16 * MIB, 32 * MIB] {
        let half = half_life(&found, bytes);
        assert!(half.labels.is(Labels::STATISTIC, "at least") && half.value == Some(32e6), "{half:?}");
    }
    let limit = only(&found, "residency.limit");
    assert!(limit.labels.is(Labels::LIMIT, "none") && limit.labels.is(Labels::STATISTIC, "at least"), "{limit:?}");
    assert!((limit.value.unwrap() / (32 * MIB) as f64 - 1.0).abs() < 0.05, "{limit:?}");
    // An eighth of the smallest range is in the second level.
    let hit = only(&found, "residency.hit").value.unwrap();
    assert!((14.0..16.7).contains(&hit), "{hit}");
}

#[test]
fn a_partition_is_told_from_contention() {
    for mib in [9, 12, 20] {
        let cache = SimCache { level: 3, bytes: mib * MIB, ways: 16 };
        let core = SimCore { caches: vec![cache], ..SimCore::default() };
        let found = findings(Effort::Quick, SimOptions { core: core.clone(), ..SimOptions::default() });
        let limit = only(&found, "residency.limit");
        assert!(limit.labels.is(Labels::LIMIT, "partition"), "{mib} MiB: {limit:?}");
        let had = limit.value.unwrap() / (mib * MIB) as f64;
        assert!((had - 1.0).abs() < 0.15, "{mib} MiB: {had}");
        // With others in the partition as well, the limit shrinks.
        let found = findings(Effort::Quick, SimOptions { core, ..evicting(4, 2.5) });
        assert!(only(&found, "residency.limit").labels.is(Labels::LIMIT, "contention"), "{mib} MiB");
    }
}

#[test]
fn ranges_that_closer_caches_hold_are_refused() {
    let asked = request(Effort::Quick, serde_json::json!({ "sizes": [2 * MIB, 8 * MIB] }));
    let mut host = SimHost::new(machine(), Vec::new(), SimOptions::default());
    let done = run_experiment(&Residency, &asked, &mut host, &mut ()).unwrap();
    assert_eq!(done.plan.refused[0].code, tiermark_model::messages::plan::codes::range_within_inner_cache);
    assert!(done.observations.iter().all(|seen| seen.labels.number(Labels::SIZE) >= Some(8 * MIB)));
    let mut blind = machine();
    blind.caches.retain(|cache| cache.level < 3);
    let lab = tiermark_engine::Lab { machine: &blind, bench: &tiermark_model::Bench::default() };
    let refused = Residency.plan(&request(Effort::Quick, serde_json::Value::Null), lab).unwrap_err();
    assert!(refused.to_string().contains("--sizes"), "{refused}");
}
