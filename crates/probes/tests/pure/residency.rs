//! Residency on simulated machines whose neighbours and partitions are known.

use tiermark_engine::{Host, Lab, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::messages::shapes::codes;
use tiermark_model::{Effort, Finding, KIB, MIB, Machine, Quantity, Request, Scope, Tier, testing};
use tiermark_probes::residency;
use tiermark_sim::{Neighbours, SimCache, SimCore, SimHost, SimOptions, SimState};

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
    Request { scope, effort, seed: 3, params, ..testing::request("residency") }
}

fn findings(effort: Effort, options: SimOptions) -> Vec<Finding> {
    let mut host = SimHost::new(machine(), Vec::new(), options);
    let asked = request(effort, serde_json::Value::Null);
    run_experiment(&residency::PROBE, &asked, &mut host, &mut ()).unwrap().findings
}

fn evicting(seed: u64, half_life_ms: f64) -> SimOptions {
    let evicts_after_seconds = Some(half_life_ms / 1e3 / std::f64::consts::LN_2);
    let neighbours = Neighbours { evicts_after_seconds, ..Neighbours::default() };
    SimOptions { seed, noise: 0.01, preemptions_per_second: 20.0, neighbours, ..SimOptions::default() }
}

fn half_life(found: &[Finding], bytes: u64) -> &Finding {
    half_life_of("again", found, bytes).unwrap()
}

fn half_life_of<'a>(used: &str, found: &'a [Finding], bytes: u64) -> Option<&'a Finding> {
    let here = |f: &&Finding| f.labels.used() == Some(used) && f.labels.bytes() == Some(bytes);
    found.iter().filter(|f| f.quantity == Quantity::ResidencyHalfLife).find(here)
}

fn only<'a>(found: &'a [Finding], metric: &str) -> &'a Finding {
    found.iter().find(|f| f.quantity.name() == metric && f.labels.used() != Some("once")).unwrap()
}

/// The limit of what is used once or again, and what it is noted to mean.
fn limit_of<'a>(used: &str, found: &'a [Finding]) -> (&'a str, &'a Finding) {
    let is_it = |f: &&Finding| f.quantity == Quantity::ResidencyLimit && f.labels.used() == Some(used);
    let limit = found.iter().find(is_it).unwrap();
    (limit.labels.limit().unwrap(), limit)
}

/// The shares of all ranges that are held after this use and wait.
fn held(used: &str, found: &[Finding], wait: u64) -> Vec<f64> {
    let is_it = |f: &&Finding| {
        let at = f.labels.wait() == Some(wait) && f.labels.used() == Some(used);
        f.quantity == Quantity::ResidencyHeld && at
    };
    found.iter().filter(is_it).map(|f| f.value.unwrap()).collect()
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
            assert_eq!(only(&found, "residency.limit").labels.limit(), Some("contention"));
        }
    }
}

#[test]
fn a_quiet_machine_keeps_what_was_touched() {
    let found = findings(Effort::Standard, SimOptions::default());
    for bytes in [8 * MIB, 16 * MIB, 32 * MIB] {
        let half = half_life(&found, bytes);
        assert!(half.labels.statistic() == Some("at least") && half.value == Some(32e6), "{half:?}");
    }
    let limit = only(&found, "residency.limit");
    assert!(limit.labels.limit() == Some("none") && limit.labels.statistic() == Some("at least"), "{limit:?}");
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
        assert!(limit.labels.limit() == Some("partition"), "{mib} MiB: {limit:?}");
        let had = limit.value.unwrap() / (mib * MIB) as f64;
        assert!((had - 1.0).abs() < 0.15, "{mib} MiB: {had}");
        // With others in the partition as well, the limit shrinks.
        let found = findings(Effort::Quick, SimOptions { core, ..evicting(4, 2.5) });
        assert!(only(&found, "residency.limit").labels.limit() == Some("contention"), "{mib} MiB");
    }
}

#[test]
fn a_cache_that_keeps_lines_from_their_second_use_is_not_blamed_on_others() {
    for (effort, kept_from_use) in [(Effort::Quick, 2), (Effort::Standard, 2), (Effort::Standard, 3)] {
        let state = SimState { kept_from_use, ..SimState::default() };
        let found = findings(effort, SimOptions { state, noise: 0.01, ..SimOptions::default() });
        assert!(held("again", &found, 50_000).iter().all(|share| *share > 0.95), "{found:#?}");
        assert!(held("once", &found, 50_000).iter().all(|share| *share < 0.05), "{found:#?}");
        assert_eq!(limit_of("again", &found).0, "none");
        let (kind, limit) = limit_of("once", &found);
        assert!(kind == "reuse" && limit.noted(&codes::kept_once_used_again).is_some(), "{limit:#?}");
        assert!(limit.labels.tier() == Some(Tier::Cache(3)) && limit.value < Some(MIB as f64), "{limit:#?}");
        // Nothing of it is held, so that nothing is evicted.
        for bytes in [8 * MIB, 16 * MIB, 32 * MIB] {
            assert!(half_life_of("once", &found, bytes).is_none());
            assert!(half_life(&found, bytes).labels.statistic() == Some("at least"));
        }
    }
    // Both causes at once.
    let state = SimState { kept_from_use: 2, ..SimState::default() };
    let found = findings(Effort::Standard, SimOptions { state, ..evicting(7, 10.0) });
    assert_eq!((limit_of("again", &found).0, limit_of("once", &found).0), ("contention", "reuse"));
}

#[test]
fn lines_that_are_kept_alike_are_said_to_be() {
    for (effort, options, kind) in [
        (Effort::Quick, SimOptions { noise: 0.01, ..SimOptions::default() }, "none"),
        (Effort::Standard, SimOptions::default(), "none"),
        (Effort::Quick, evicting(5, 2.5), "contention"),
        (Effort::Standard, evicting(6, 2.5), "contention"),
    ] {
        let found = findings(effort, options);
        assert_eq!(limit_of("again", &found).0, kind);
        let (of_once, limit) = limit_of("once", &found);
        assert!(of_once == kind && limit.noted(&codes::kept_alike).is_some(), "{limit:#?}");
        for bytes in [8 * MIB, 16 * MIB, 32 * MIB] {
            let once = half_life_of("once", &found, bytes).unwrap();
            let (once_ms, again_ms) = (once.value.unwrap() / 1e6, half_life(&found, bytes).value.unwrap() / 1e6);
            let is_bound = once.labels.statistic() == Some("at least");
            assert!(is_bound || (once_ms / again_ms - 1.0).abs() < 0.2, "{once_ms} ms, again {again_ms} ms");
        }
    }
}

#[test]
fn few_repetitions_look_twice_at_what_was_used_once() {
    let asked = |effort, params| {
        let host = SimHost::new(machine(), Vec::new(), SimOptions::default());
        residency::PROBE.plan(&request(effort, params), host.lab()).unwrap()
    };
    let count = |plan: &tiermark_model::Plan, used: &str| {
        plan.steps.iter().filter(|step| step.labels.used() == Some(used)).count()
    };
    let range = serde_json::json!({ "sizes": [16 * MIB] });
    let (quick, standard) = (asked(Effort::Quick, range.clone()), asked(Effort::Standard, range));
    assert_eq!((count(&quick, "again"), count(&quick, "once")), (6, 2));
    assert_eq!((count(&standard, "again"), count(&standard, "once")), (8, 8));
    // A survey has time for a second of it.
    let brief = asked(Effort::Standard, serde_json::json!({ "sizes": [64 * MIB], "brief": true }));
    let once = brief.steps.iter().filter(|step| step.labels.used() == Some("once"));
    let seconds: f64 = once.map(tiermark_model::Step::expected_seconds).sum();
    assert!(seconds < 1.0, "{seconds}");
}

#[test]
fn ranges_that_closer_caches_hold_are_refused() {
    let asked = request(Effort::Quick, serde_json::json!({ "sizes": [2 * MIB, 8 * MIB] }));
    let mut host = SimHost::new(machine(), Vec::new(), SimOptions::default());
    let done = run_experiment(&residency::PROBE, &asked, &mut host, &mut ()).unwrap();
    assert_eq!(done.plan.refused[0].code, tiermark_model::messages::plan::codes::range_within_inner_cache);
    assert!(done.observations.iter().all(|seen| seen.labels.bytes() >= Some(8 * MIB)));
    let mut blind = machine();
    blind.caches.retain(|cache| cache.level < 3);
    let lab = &Lab::new(blind.clone(), tiermark_model::Bench::default());
    let refused = residency::PROBE.plan(&request(Effort::Quick, serde_json::Value::Null), lab).unwrap_err();
    assert!(refused.to_string().contains("--sizes"), "{refused}");
}
