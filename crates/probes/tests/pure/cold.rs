//! Accesses right after other work, on simulated machines whose warmth is known.

use tiermark_engine::{Host, Probe, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{
    Bytes, Effort, Experiment, Finding, Grade, KernelInfo, MIB, PageKind, Request, Scope, Step, Tier, ValueKind,
    testing,
};
use tiermark_probes::{latency, survey};
use tiermark_sim::{SimHost, SimOptions, SimState, Warmth};

fn host(seed: u64, warmth: Option<Warmth>) -> SimHost {
    let synth = Synth { cores_per_node: 2, cores_per_llc: 2, smt: 1, l3_bytes: 32 * MIB, ..Synth::default() };
    let kernels: Vec<KernelInfo> = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let state = SimState { warmth, ..SimState::default() };
    SimHost::new(synth.machine().unwrap(), kernels, SimOptions { seed, state, ..SimOptions::default() })
}

fn request(probe: &str, effort: Effort, scope: Scope) -> Request {
    let params = serde_json::Value::Null;
    Request { scope, effort, params, ..testing::request(probe) }
}

fn measured(seed: u64, warmth: Option<Warmth>) -> Experiment {
    let asked = request("latency", Effort::Standard, Scope::default());
    run_experiment(&latency::PROBE, &asked, &mut host(seed, warmth), &mut ()).unwrap()
}

fn of<'a>(experiment: &'a Experiment, metric: &str, tier: &str) -> Option<&'a Finding> {
    experiment.findings.iter().find(|f| f.quantity.name() == metric && f.labels.tier_name() == Some(tier))
}

/// The planted mean of the first 0.25 ms, as a factor on the settled time.
fn first_window(warmth: Warmth) -> f64 {
    let windows = 0.25e-3 / warmth.tau_seconds;
    1.0 + warmth.excess * (1.0 - (-windows).exp()) / windows
}

#[test]
fn a_planted_warm_up_is_the_cold_figure_and_the_time_that_half_of_it_takes() {
    let steady = of(&measured(1, None), "latency", "DRAM random").unwrap().value.unwrap();
    for (seed, excess, tau_ms) in [(1, 0.7, 1.5), (2, 0.4, 0.8), (3, 1.0, 2.5)] {
        let warmth = Warmth { excess, tau_seconds: tau_ms * 1e-3 };
        let experiment = measured(seed, Some(warmth));
        let cold = of(&experiment, "latency", "cold").unwrap();
        let planted = steady * first_window(warmth);
        let value = cold.value.unwrap();
        assert!((value / planted - 1.0).abs() < 0.02, "seed {seed}: {value} ns of {planted}");
        assert!(cold.interval.is_some_and(|i| i.low <= value && value <= i.high && i.high - i.low < 0.05 * value));
        let half = of(&experiment, "latency.recovery", "cold").unwrap();
        let (value, planted) = (half.value.unwrap(), tau_ms * std::f64::consts::LN_2 * 1e6);
        assert!((value / planted - 1.0).abs() < 0.1, "seed {seed}: {value} ns of {planted}");
        assert_eq!([cold, half].map(|f| f.verdict.grade), [Grade::Trusted; 2]);
        // It is no step of the ladder, and no change of the machine.
        assert!(experiment.drift.is_empty() && experiment.states.is_empty(), "{:?}", experiment.states);
        assert!(
            experiment
                .findings
                .iter()
                .filter(|f| f.quantity.name() == "latency.tail")
                .all(|f| f.labels.tier() != Some(Tier::Cold))
        );
    }
    // Where neither settling nor a visit comes to an end, nothing says where the way back leads.
    let slow = measured(4, Some(Warmth { excess: 0.8, tau_seconds: 80e-3 }));
    assert!(of(&slow, "latency", "cold").is_some() && of(&slow, "latency.recovery", "cold").is_none());
}

#[test]
fn without_warmth_cold_is_settled_and_nothing_comes_back() {
    let experiment = measured(1, None);
    let [cold, settled] = ["cold", "DRAM random"].map(|tier| of(&experiment, "latency", tier).unwrap().value.unwrap());
    assert!((cold / settled - 1.0).abs() < 0.02, "{cold} {settled}");
    assert_eq!(of(&experiment, "latency.recovery", "cold"), None);
    let seen = experiment.observations.iter().find(|seen| seen.labels.tier() == Some(Tier::Cold)).unwrap();
    assert!(
        (8..=40).contains(&seen.visits.len()) && seen.kind == ValueKind::Typical && seen.edge.is_none(),
        "{}",
        seen.visits.len()
    );
    assert_eq!(seen.visits.list[0].windows.len(), 64);
}

#[test]
fn other_memory_is_read_before_each_visit_where_there_is_room() {
    let steps = |probes: &[&'static Probe], effort, scope| -> Vec<Step> {
        let host = host(1, None);
        let lab = host.lab();
        let mut all = Vec::new();
        for probe in probes {
            // A curve whose points all fall within memory shows no tiers: the ladder follows.
            let observed = run_experiment(
                probe,
                &request(probe.id, effort, Scope::clone(&scope)),
                &mut self::host(1, None),
                &mut (),
            );
            all.extend(observed.unwrap().plan.steps.into_iter().filter(|step| step.labels.tier() == Some(Tier::Cold)));
        }
        assert!(lab.machine.caches.len() > 1);
        all
    };
    let planned = steps(&[&latency::PROBE, &survey::PROBE], Effort::Standard, Scope::default());
    let [one, other] = &planned[..] else { panic!("{} steps", planned.len()) };
    assert_eq!(one, other, "a survey has the step of its part");
    let bytes: Vec<Bytes> = one.setup.regions.iter().map(|region| region.bytes).collect();
    assert_eq!(one.labels.after(), Some(bytes[1].0));
    // 32 MiB and the caches of a core are twice read, and lie four times in the footprint.
    assert!(bytes[1].0 >= 64 * MIB && bytes[0].0 + 4 * MIB >= 2 * bytes[1].0, "{bytes:?}");
    assert_eq!(one.setup.threads[0].reads_first, Some(1));
    assert!(one.expected_seconds() < 1.5 && one.seconds_of(one.stop.max_visits) < 1.5, "{}", one.expected_seconds());
    let alone = [&latency::PROBE];
    assert_eq!(steps(&alone, Effort::Quick, Scope::default()), []);
    // Memory for the chase, and none beside it.
    let tight = Scope { max_mem: Some(Bytes(bytes[0].0)), ..Scope::default() };
    assert_eq!(steps(&alone, Effort::Standard, tight), []);
    let base = steps(&alone, Effort::Standard, Scope { page: Some(PageKind::Base), ..Scope::default() });
    assert!(base[0].setup.regions.iter().all(|region| region.page == PageKind::Base));
}
