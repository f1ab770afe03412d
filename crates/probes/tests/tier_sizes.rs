//! Sizes of tiers as the latency probe finds them on simulated machines.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use tiermark_engine::{Event, SimCache, SimCore, SimHost, SimOptions, Sink, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{Effort, Finding, KIB, KernelInfo, Labels, MIB, Request, Scope};
use tiermark_probes::latency::Latency;

struct Quiet;

impl Sink for Quiet {
    fn event(&mut self, _: &Event<'_>) {}
}

fn sizes(effort: Effort, core: SimCore, seed: u64) -> Vec<Finding> {
    let synth = Synth {
        cores_per_node: 2,
        cores_per_llc: 2,
        smt: 1,
        l1_bytes: 48 * KIB,
        l2_bytes: 1280 * KIB,
        l3_bytes: 40 * MIB,
        ..Synth::default()
    };
    let kernels: Vec<KernelInfo> = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let options = SimOptions { seed, noise: 0.005, core, ..SimOptions::default() };
    let mut host = SimHost::new(synth.machine().unwrap(), kernels, options);
    let scope = Scope { max_seconds: Some(600.0), ..Scope::default() };
    let params = serde_json::Value::Null;
    let request = Request { probe: "latency".into(), scope, effort, precision: None, seed, params, part: None };
    let found = run_experiment(&Latency, &request, &mut host, &mut Quiet).unwrap().findings;
    found.into_iter().filter(|f| f.metric == "tier.size").collect()
}

#[test]
fn sizes_are_the_machine_s_or_not_said() {
    let quarter = SimCore { caches: vec![SimCache { level: 3, bytes: 10 * MIB, ways: 16 }], ..SimCore::default() };
    for (core, l3) in [(SimCore::default(), 40 * MIB), (quarter, 10 * MIB)] {
        for effort in [Effort::Quick, Effort::Standard, Effort::Full] {
            for seed in 0..3 {
                let found = sizes(effort, core.clone(), seed);
                for (name, truth) in [("L1", 48 * KIB), ("L2", 1280 * KIB), ("L3", l3)] {
                    let size = found.iter().find(|f| f.labels.is(Labels::TIER, name));
                    // Points an octave apart tell no size within 10 %.
                    let expected = effort > Effort::Quick && (name != "L3" || truth == 40 * MIB);
                    assert!(!expected || size.is_some_and(|s| s.value.is_some()), "{name}, {effort:?}: {size:?}");
                    let Some(value) = size.and_then(|s| s.value) else { continue };
                    assert!((value / truth as f64 - 1.0).abs() < 0.1, "{name}, {effort:?}, seed {seed}: {size:?}");
                }
            }
        }
    }
}
