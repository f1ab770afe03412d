//! Loads and ramps on simulated machines whose ceilings are known: what the probes must find again, whatever the noise.

use crate::common::{found, kernels, request, run, seeds, server};
use tiermark_engine::{Host, Lab, run_experiment};
use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_model::Purpose;
use tiermark_model::messages::memory::codes;
use tiermark_model::*;
use tiermark_probes::{loaded, scale};
use tiermark_sim::{Ceilings, SimHost, SimOptions};

#[test]
fn a_remote_ramp_finds_the_ceiling_of_its_link() {
    let machine = server(8, 2);
    for seed in seeds() {
        let link = 30e9 + 20e9 * testing::spread(seed);
        let ceilings = Ceilings { link, ..Ceilings::default() };
        let experiment =
            run(&scale::PROBE, &machine, &request("scale", Effort::Standard, seed, serde_json::Value::Null), ceilings);
        let ceiling = found(&experiment, "scale.ceiling", &[("place", "remote")]);
        assert!(ceiling.labels.limit() == Some("link"), "{ceiling:#?}");
        assert!((ceiling.value.unwrap() / link - 1.0).abs() < 0.02, "seed {seed}: {:?} of {link}", ceiling.value);
        assert_eq!(ceiling.verdict.grade, Grade::Trusted);
        let local = found(&experiment, "scale.ceiling", &[("place", "local")]);
        assert!(local.labels.limit() == Some("core"), "eight cores do not fill 245 GB/s: {local:#?}");
    }
}

#[test]
fn a_local_ramp_ends_at_its_memory_and_the_knee_is_where_the_cores_fill_it() {
    let machine = server(16, 1);
    let ceilings = Ceilings { node: Some(100e9), ..Ceilings::default() };
    let experiment =
        run(&scale::PROBE, &machine, &request("scale", Effort::Standard, 3, serde_json::Value::Null), ceilings);
    let ceiling = found(&experiment, "scale.ceiling", &[("place", "local")]);
    assert!(ceiling.labels.limit() == Some("memory"), "{ceiling:#?}");
    assert!((ceiling.value.unwrap() / 100e9 - 1.0).abs() < 0.02);
    // A core has 20.2 GB/s: thirty lines of 64 bytes every 95 ns.
    assert_eq!(found(&experiment, "scale.knee", &[("place", "local")]).value, Some(5.0));
    // Caches serve a part of the chase's accesses, and so of its latency.
    let lines = found(&experiment, "scale.in_flight", &[("place", "local")]).value.unwrap();
    assert!((22.0..31.0).contains(&lines), "{lines}");
}

/// Memory a little below what all cores ask for: the sum is still nine tenths of as many times one, and yet the last
/// core met the end.
#[test]
fn a_ramp_whose_last_core_adds_little_has_met_its_memory() {
    let one = Synth { node_bytes: 32 << 30, ..Synth::default() };
    let machine = Synth { cores_per_node: 8, cores_per_llc: 8, smt: 1, ..one.clone() }.machine().unwrap();
    for seed in seeds() {
        let ceilings = Ceilings { node: Some(150e9), ..Ceilings::default() };
        let experiment =
            run(&scale::PROBE, &machine, &request("scale", Effort::Standard, seed, serde_json::Value::Null), ceilings);
        let ceiling = found(&experiment, "scale.ceiling", &[("place", "local")]);
        let have = ceiling.noted(&codes::cores_have).unwrap();
        assert!(ceiling.labels.limit() == Some("memory") && have.data["last_adds"].is_number(), "{ceiling:#?}");
        assert!((ceiling.value.unwrap() / 150e9 - 1.0).abs() < 0.03, "{ceiling:#?}");
        assert_eq!(found(&experiment, "scale.knee", &[("place", "local")]).value, Some(8.0));
    }
    // Three cores ask for 60.6 GB/s: only that their siblings, who would bring a tenth more, bring nothing speaks of an
    // end.
    let machine = Synth { cores_per_node: 3, cores_per_llc: 3, smt: 2, ..one }.machine().unwrap();
    for (memory, limit) in [(60e9, None), (245e9, Some("core"))] {
        let ceilings = Ceilings { node: Some(memory), ..Ceilings::default() };
        let experiment =
            run(&scale::PROBE, &machine, &request("scale", Effort::Standard, 1, serde_json::Value::Null), ceilings);
        let ceiling = found(&experiment, "scale.ceiling", &[("place", "local")]);
        assert_eq!(ceiling.labels.limit(), limit, "{ceiling:#?}");
        assert_eq!(ceiling.noted(&codes::cores_are_the_limit).is_some(), limit.is_some(), "{ceiling:#?}");
    }
}

/// What a node can give is known only where modules lie evenly: a share of a peak that is not its own would say
/// nothing.
#[test]
fn shares_of_the_peak_are_those_of_the_node() {
    let mut machine = server(8, 1);
    let module = Dimm { populated: true, bytes: Some(8 << 30), configured_transfers: Some(6.25e9), ..Dimm::default() };
    machine.dimms = vec![module; 8];
    machine.theoretical_peak =
        Some(TheoreticalPeak { bytes_per_second: 400e9, how: "8 channels".into(), ..TheoreticalPeak::default() });
    let shares = |machine: &Machine| -> Vec<(f64, Note)> {
        let request = request("scale", Effort::Quick, 1, serde_json::Value::Null);
        let experiment = run(&scale::PROBE, machine, &request, Ceilings::default());
        let ceiling = found(&experiment, "scale.ceiling", &[("place", "local")]).value.unwrap();
        let of_peak =
            |f: &&Finding| f.quantity.name() == "scale.share" && f.labels.statistic() == Some("of theoretical peak");
        let local = |f: &&Finding| f.labels.place() == Some(Distance::Local);
        let shares = experiment.findings.iter().filter(of_peak).filter(local);
        shares.map(|f| (ceiling / f.value.unwrap(), f.noted(&codes::share_of_peak).unwrap().clone())).collect()
    };
    let even = shares(&machine);
    assert!(even.len() == 1 && (even[0].0 / 200e9 - 1.0).abs() < 1e-9, "{even:?}");
    assert_eq!(even[0].1.data["parts"], 2, "{even:?}");
    machine.dimms[0].bytes = Some(16 << 30);
    assert_eq!(shares(&machine), []);
    let mut alone = Synth { node_bytes: 32 << 30, ..Synth::default() }.machine().unwrap();
    (alone.dimms, alone.theoretical_peak) = (machine.dimms, machine.theoretical_peak);
    let whole = shares(&alone);
    assert!(whole.len() == 1 && (whole[0].0 / 400e9 - 1.0).abs() < 1e-9, "one node has it all: {whole:?}");
}

/// The idle point is no part of the bend, and where it is missing nothing is said of it.
#[test]
fn notes_of_a_curve_count_its_loaded_points_and_know_whether_one_is_idle() {
    let machine = server(16, 1);
    let ceilings = Ceilings { node: Some(120e9), knee: 0.8, ..Ceilings::default() };
    let params = serde_json::json!({ "mixes": ["read"], "target_ns": 50.0 });
    let request = request("loaded-latency", Effort::Standard, 1, params);
    let options = SimOptions { seed: 1, noise: 0.0, ceilings, ..SimOptions::default() };
    let mut host = SimHost::new(machine, kernels(), options);
    let experiment = run_experiment(&loaded::PROBE, &request, &mut host, &mut ()).unwrap();
    let local = |metric: &str, findings: &[Finding]| -> Note {
        let found =
            findings.iter().find(|f| f.quantity.name() == metric && f.labels.place() == Some(Distance::Local)).unwrap();
        found.notes[0].clone()
    };
    let is_load = |o: &&Observation| o.labels.is_for(Purpose::Load) && o.labels.place() == Some(Distance::Local);
    // Without noise each pause less moves more, up to the ceiling.
    let rate = |o: &Observation| o.parts.iter().find(|p| p.name == "load").unwrap().value.unwrap();
    let mut rates: Vec<(u64, f64)> =
        experiment.observations.iter().filter(is_load).map(|o| (o.labels.pause().unwrap(), rate(o))).collect();
    rates.sort_by_key(|(pause, _)| std::cmp::Reverse(*pause));
    let mut most = 0.0;
    let mut rising = 0;
    for (_, rate) in rates {
        rising += usize::from(rate > most);
        most = most.max(rate);
    }
    let note = local("loaded.knee", &experiment.findings);
    assert!(note.code == codes::knee_under_load && note.data["points"] == rising, "{rising}: {note}");
    let note = local("loaded.at_target", &experiment.findings);
    assert_eq!(note.code, codes::target_missed_idle);
    let loaded: Vec<Observation> =
        experiment.observations.into_iter().filter(|o| !o.labels.is_for(Purpose::Unloaded)).collect();
    let lab = host.lab();
    let note = local("loaded.at_target", &loaded::PROBE.open(&request, lab).unwrap().derive(&loaded));
    assert_eq!(note.code, codes::target_missed_under_load);
}

/// Time runs out in the middle of ramps: what was not seen is not concluded from.
#[test]
fn a_ramp_cut_off_says_so_and_claims_no_more_than_it_saw() {
    // Sixteen cores of 20 GB/s fill 300 GB/s with fifteen of them: most cut ramps still rise, and only whole ones see
    // the end.
    let machine = server(16, 1);
    let ceilings = Ceilings { node: Some(300e9), link: 25e9, ..Ceilings::default() };
    let (mut rising, mut level) = (0, 0);
    for (seed, seconds) in (1..21).zip([0.04, 0.06, 0.08, 0.1].into_iter().cycle()) {
        let mut request = request("scale", Effort::Standard, seed, serde_json::Value::Null);
        request.scope.max_seconds = Some(seconds);
        let experiment = run(&scale::PROBE, &machine, &request, ceilings.clone());
        for place in ["local", "remote"] {
            let points = experiment.observations.iter().filter(|o| {
                o.labels.is_for(Purpose::Scaling) && o.labels.place_name() == Some(place) && o.value.is_some()
            });
            let points: Vec<(u64, f64)> = points.map(|o| (o.labels.threads().unwrap(), o.value.unwrap())).collect();
            let Some((last, _)) = points.iter().copied().max_by_key(|(threads, _)| *threads) else { continue };
            let of = |metric: &str| {
                experiment.findings.iter().find(|f| f.quantity.name() == metric && f.labels.place_name() == Some(place))
            };
            let ceiling = of("scale.ceiling").unwrap();
            let cut = ceiling.noted(&codes::ramp_cut_off);
            let cut = cut.map(|note| (note.data["reached"].as_u64().unwrap(), note.data["of"].as_u64().unwrap()));
            assert_eq!(cut, (last < 16).then_some((last, 16)), "seed {seed}");
            if last < 16 && place == "local" {
                rising += 1;
                assert!(ceiling.labels.limit().is_none(), "seed {seed}: {ceiling:#?}");
                assert!(ceiling.labels.statistic() == Some("at least"), "seed {seed}: {ceiling:#?}");
                let most = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
                assert_eq!(ceiling.value, Some(most), "seed {seed}");
                assert!(of("scale.knee").is_none() && of("scale.share").is_none(), "seed {seed}");
            }
            // Three cores fill this link: four and more are a level that was seen, cut off or not.
            let whole = points.iter().any(|(threads, _)| *threads == 1);
            let flat = points.iter().filter(|(threads, _)| *threads > 2).map(|(threads, _)| *threads).min();
            if last < 16 && place == "remote" && whole && flat.is_some_and(|first| first as f64 <= 0.75 * last as f64) {
                level += 1;
                assert!((ceiling.value.unwrap() / 25e9 - 1.0).abs() < 0.02, "seed {seed}: {ceiling:#?}");
                assert!(ceiling.labels.statistic().is_none(), "seed {seed}: {ceiling:#?}");
                // It is the link's if the local ramp came above it, however far that went.
                let local = found(&experiment, "scale.ceiling", &[("place", "local")]).value.unwrap();
                assert_eq!(ceiling.labels.limit() == Some("link"), 25e9 < 0.93 * local, "seed {seed}: {ceiling:#?}");
            }
        }
    }
    assert!(rising >= 3 && level >= 1, "{rising} and {level} ramps were cut off");
}

/// Time runs out after the idle point: one point is no curve.
#[test]
fn a_curve_without_a_load_has_no_knee() {
    for seconds in [0.02, 0.05, 0.1, 0.2, 0.4, 0.8] {
        let mut request =
            request("loaded-latency", Effort::Standard, 1, serde_json::json!({ "mixes": ["read", "2:1"] }));
        request.scope.max_seconds = Some(seconds);
        let ceilings = Ceilings { node: Some(120e9), link: 200e9, knee: 0.7, ..Ceilings::default() };
        let experiment = run(&loaded::PROBE, &server(16, 1), &request, ceilings);
        for knee in experiment.findings.iter().filter(|f| f.quantity.name() == "loaded.knee") {
            assert!(knee.evidence.len() > 1, "{seconds} s: {knee:#?}");
        }
    }
}

#[test]
fn a_remote_load_is_bounded_by_the_link() {
    let machine = server(8, 1);
    let ceilings = Ceilings { link: 40e9, ..Ceilings::default() };
    let params = serde_json::json!({ "mixes": ["read"] });
    let experiment = run(&loaded::PROBE, &machine, &request("loaded-latency", Effort::Standard, 4, params), ceilings);
    let most = found(&experiment, "loaded.most", &[("place", "remote")]).value.unwrap();
    assert!((most / 40e9 - 1.0).abs() < 0.03, "{most}");
    let (local, remote) = (
        found(&experiment, "loaded.unloaded", &[("place", "local")]).value.unwrap(),
        found(&experiment, "loaded.unloaded", &[("place", "remote")]).value.unwrap(),
    );
    assert!(remote > 1.5 * local, "{local} {remote}");
}

#[test]
fn overload_is_named_and_kept() {
    let machine = server(16, 1);
    let ceilings = Ceilings { node: Some(60e9), overload: 0.3, ..Ceilings::default() };
    let params = serde_json::json!({ "mixes": ["read"] });
    let experiment =
        run(&loaded::PROBE, &machine, &request("loaded-latency", Effort::Standard, 5, params.clone()), ceilings);
    let lost = found(&experiment, "loaded.overload", &[("place", "local")]);
    assert!((0.1..0.3).contains(&lost.value.unwrap()), "{lost:#?}");
    let calm =
        run(&loaded::PROBE, &machine, &request("loaded-latency", Effort::Standard, 5, params), Ceilings::default());
    assert!(calm.findings.iter().all(|f| f.quantity.name() != "loaded.overload"));
}

#[test]
fn plans_of_large_machines_are_small_and_memory_without_cpus_is_asked_for() {
    let machine = Synth::largest().machine().unwrap();
    let bench = SimHost::new(machine.clone(), kernels(), SimOptions::default());
    let lab = &Lab::new(machine.clone(), bench.bench().clone());
    for probe in [&loaded::PROBE, &scale::PROBE] {
        let plan = probe.plan(&request(probe.id, Effort::Standard, 1, serde_json::Value::Null), lab).unwrap();
        assert!(plan.steps.len() < 150, "{} steps of {}", plan.steps.len(), probe.id);
        assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    }
    let cxl = MemoryNode { bytes: 64 << 30, distance: 28, tier: 5, latency_ns: 250, bandwidth_mbs: 26_000 };
    let small = Synth { cores_per_node: 4, smt: 1, memory_nodes: vec![cxl], ..Synth::default() }.machine().unwrap();
    let experiment = run(
        &loaded::PROBE,
        &small,
        &request("loaded-latency", Effort::Standard, 2, serde_json::json!({ "mixes": ["read"] })),
        Ceilings::default(),
    );
    let most = found(&experiment, "loaded.most", &[("place", "far")]).value.unwrap();
    assert!((15e9..26.5e9).contains(&most), "three cores 250 ns away: {most}");
    let ramps =
        run(&scale::PROBE, &small, &request("scale", Effort::Quick, 2, serde_json::Value::Null), Ceilings::default());
    assert!(found(&ramps, "scale.ceiling", &[("place", "far")]).value.is_some());
}

#[test]
fn the_chaser_has_a_core_of_its_own() {
    let machine = server(4, 2);
    let bench = SimHost::new(machine.clone(), kernels(), SimOptions::default());
    let lab = &Lab::new(machine.clone(), bench.bench().clone());
    let plan =
        loaded::PROBE.plan(&request("loaded-latency", Effort::Standard, 1, serde_json::Value::Null), lab).unwrap();
    let points: Vec<&Step> = plan.steps.iter().filter(|s| s.labels.is_for(Purpose::Load)).collect();
    assert!(points.len() >= 6 * 7);
    for step in points {
        let core = |cpu: CpuId| machine.cpu(cpu).unwrap().core;
        let chaser = &step.setup.threads[0];
        assert!(matches!(chaser.role, Role::Chase { chains: 1 }));
        let others = &step.setup.threads[1..];
        assert!(others.iter().all(|t| core(t.cpu) != core(chaser.cpu) && t.part == "load"));
        if step.labels.place() == Some(Distance::System) {
            assert_eq!(others.len(), 7, "one on each other core of both nodes");
            assert!(step.setup.regions.iter().all(|region| region.nodes.is_empty()), "each on its own memory");
            continue;
        }
        assert_eq!(others.len(), 3, "one on each other core of the node");
        assert!(others.iter().all(|t| machine.node_of(t.cpu) == machine.node_of(chaser.cpu)));
    }
    let system = |purpose: Purpose| {
        let of = |s: &&Step| s.labels.place() == Some(Distance::System) && s.labels.is_for(purpose);
        plan.steps.iter().filter(of).count()
    };
    assert_eq!(
        (system(Purpose::Load), system(Purpose::Peak)),
        (6, 5),
        "a curve of reads, and what all cores move in five mixes"
    );
    // One core has nobody to load the memory for it.
    let one = Synth { cores_per_node: 1, smt: 2, ..Synth::default() }.machine().unwrap();
    let lab = &Lab::new(one.clone(), bench.bench().clone());
    let refusal =
        loaded::PROBE.plan(&request("loaded-latency", Effort::Quick, 1, serde_json::Value::Null), lab).unwrap_err();
    assert_eq!(refusal.code, tiermark_model::messages::plan::codes::no_core_for_load);
}
