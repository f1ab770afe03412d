//! Injectors as the user wants them: pauses, order of lines, the cpu that is timed.

use tiermark_engine::{Host, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::*;
use tiermark_probes::bandwidth;
use tiermark_probes::loaded;
use tiermark_sim::{SimHost, SimOptions};

/// Two sockets of four cores.
fn host() -> SimHost {
    let machine =
        Synth { sockets: 2, cores_per_node: 4, cores_per_llc: 4, smt: 1, node_bytes: 32 << 30, ..Synth::default() };
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    SimHost::new(machine.machine().unwrap(), kernels, SimOptions::default())
}

fn request(cpus: Option<&str>, params: serde_json::Value) -> Request {
    let scope = Scope { cpus: cpus.map(|cpus| cpus.parse().unwrap()), ..Scope::default() };
    Request { scope, effort: Effort::Quick, params, ..testing::request("loaded-latency") }
}

fn plan(cpus: Option<&str>, params: serde_json::Value) -> Result<Plan, Refusal> {
    let host = host();
    loaded::PROBE.plan(&request(cpus, params), host.lab())
}

/// The chaser and the injectors of every point under load.
fn crews(plan: &Plan) -> Vec<(CpuId, IdSet)> {
    let points = plan.steps.iter().filter(|step| step.labels.is_for(Purpose::Load));
    let crew = |step: &Step| {
        let chases = |thread: &&ThreadSetup| matches!(thread.role, Role::Chase { .. });
        let chaser = step.setup.threads.iter().find(chases).unwrap().cpu;
        (chaser, step.setup.threads.iter().filter(|thread| !chases(thread)).map(|thread| thread.cpu).collect())
    };
    points.map(crew).collect()
}

#[test]
fn delays_are_the_points_and_no_others_are_added() {
    let params = serde_json::json!({ "mixes": ["read"], "delays": [5000, 0, 250, 0] });
    let mut host = host();
    let experiment = run_experiment(&loaded::PROBE, &request(None, params), &mut host, &mut ()).unwrap();
    let loads = experiment.observations.iter().filter(|o| o.labels.is_for(Purpose::Load));
    let mut pauses: Vec<u64> = loads.map(|o| o.labels.pause().unwrap()).collect();
    pauses.sort_unstable();
    assert_eq!(pauses, [0, 250, 5000]);
    assert!(experiment.observations.iter().any(|o| o.labels.is_for(Purpose::Unloaded)), "the idle point stays");
    let rule = &experiment.plan.rules[0];
    assert_eq!(rule.code, messages::rules::codes::delays_under_load);
    assert_eq!(experiment.plan.later_seconds, 0.0);
}

#[test]
fn the_chaser_is_the_cpu_that_was_chosen() {
    for (cpus, chaser, injectors) in [
        // Its node is the one that is measured.
        (None, 6, "4-5,7"),
        (Some("1-3"), 2, "1,3"),
        (Some("1-3"), 7, "1-3"),
    ] {
        let crews = crews(&plan(cpus, serde_json::json!({ "chaser_cpu": chaser })).unwrap());
        assert!(crews.len() >= 6, "{crews:?}");
        assert!(crews.iter().all(|crew| *crew == (chaser, injectors.parse().unwrap())), "{cpus:?}: {crews:?}");
    }
    let refusal = plan(None, serde_json::json!({ "chaser_cpu": 99 })).unwrap_err();
    assert_eq!(refusal.code, messages::plan::codes::cpus_not_allowed);
}

#[test]
fn random_mixes_walk_memory_whose_lines_have_an_order() {
    let plan = plan(None, serde_json::json!({ "mixes": ["2:1.random", "2:1"] })).unwrap();
    let of = |mix: &str| {
        let steps = plan.steps.iter().filter(|step| step.labels.mix() == Some(mix));
        steps.flat_map(|step| &step.setup.threads[1..]).map(|thread| thread.role.clone()).collect::<Vec<_>>()
    };
    let is_random = |role: &Role| role.kernels().all(|kernel| kernel.op().ends_with(".random"));
    assert!(!of("2:1.random").is_empty() && of("2:1.random").iter().all(is_random));
    assert!(!of("2:1").is_empty() && !of("2:1").iter().any(is_random));
    for step in plan.steps.iter().filter(|step| step.labels.mix().is_some()) {
        let random = step.labels.mix() == Some("2:1.random");
        let chain = |region: &&RegionSetup| !matches!(region.layout, Layout::Chain(_));
        let mut filled = step.setup.regions.iter().filter(chain);
        assert!(filled.all(|region| (region.layout == Layout::Permuted) == random), "{}", step.id);
    }
}

#[test]
fn groups_inject_at_once_each_with_its_own_work() {
    let traffic = serde_json::json!([
        { "cpus": "1-2", "mix": "read.random", "size": 268435456 },
        { "cpus": "5", "mix": "write", "size": 134217728, "node": 0, "delay": 700 },
    ]);
    let plan = plan(None, serde_json::json!({ "traffic": traffic, "delays": [0, 300] })).unwrap();
    let points: Vec<&Step> = plan.steps.iter().filter(|step| step.labels.is_for(Purpose::Load)).collect();
    assert_eq!((points.len(), plan.steps.len()), (2, 3), "two points and the idle one");
    for (point, pause) in points.into_iter().zip([0, 300]) {
        let seen: Vec<(CpuId, &str, u32, Option<u32>)> = point.setup.threads[1..]
            .iter()
            .map(|thread| {
                let Role::Load { kernels, pause_ns } = &thread.role else { panic!("{thread:?}") };
                let region = &point.setup.regions[thread.region];
                assert_eq!(region.layout == Layout::Permuted, kernels[0].op() == "read.random");
                (thread.cpu, kernels[0].op(), *pause_ns, region.nodes.first())
            })
            .collect();
        let random = |cpu| (cpu, "read.random", pause, None);
        assert_eq!(seen, [random(1), random(2), (5, "write", 700, Some(0))]);
        assert!(
            !["1", "2", "5"].contains(&point.setup.threads[0].cpu.to_string().as_str()),
            "the chaser is no injector"
        );
        assert!(point.labels.mix() == Some("2 x read.random 256 MiB + 1 x write 128 MiB node 0 pause 700"));
    }
    assert_eq!(plan.rules[0].code, messages::rules::codes::groups_under_load);
}

#[test]
fn groups_that_cannot_be_had_are_refused() {
    let refused = |traffic: serde_json::Value, more: &[(&str, u32)]| {
        let mut params = serde_json::json!({ "traffic": traffic });
        more.iter().for_each(|(key, value)| params[key] = (*value).into());
        plan(None, params).unwrap_err().code
    };
    let group = |cpus: &str, mix: &str| serde_json::json!({ "cpus": cpus, "mix": mix });
    use messages::plan::codes;
    assert_eq!(refused([group("0-2", "read"), group("2-3", "read")].into(), &[]), codes::cpus_in_two_groups);
    assert_eq!(refused([group("0-7", "read")].into(), &[]), codes::no_cpu_beside_groups);
    assert_eq!(refused([group("0-2", "read")].into(), &[("chaser_cpu", 1)]), codes::no_cpu_beside_groups);
    assert_eq!(refused([group("99", "read")].into(), &[]), codes::cpus_not_allowed);
    // A load that no point changes is one point.
    let paused = serde_json::json!([{ "cpus": "1-2", "mix": "read", "delay": 2000 }]);
    let both = plan(None, serde_json::json!({ "traffic": paused, "delays": [0, 300] })).unwrap_err();
    assert_eq!(both.code, codes::groups_have_delays);
    // Groups of bandwidth are among the cpus that were asked for.
    let beyond = serde_json::json!({ "traffic": [group("4-5", "read")] });
    let beyond = Request { probe: "bandwidth".into(), ..request(Some("0-1"), beyond) };
    let beyond = run_experiment(&bandwidth::PROBE, &beyond, &mut host(), &mut ()).unwrap_err();
    assert_eq!(beyond.code, codes::groups_beyond_cpus);
}

#[test]
fn a_load_that_always_pauses_is_not_the_latency_without_pauses() {
    let found = |delay: serde_json::Value| {
        let traffic = serde_json::json!([{ "cpus": "1-2", "mix": "read", "size": 268435456, "delay": delay }]);
        let mut params = serde_json::json!({ "traffic": traffic });
        if delay.is_null() {
            params["delays"] = serde_json::json!([0, 1000]);
        }
        let experiment = run_experiment(&loaded::PROBE, &request(None, params), &mut host(), &mut ()).unwrap();
        experiment.findings.iter().any(|f| f.quantity == Quantity::LoadedSaturated)
    };
    assert!(!found(2000.into()) && found(0.into()) && found(serde_json::Value::Null));
}

#[test]
fn the_wanted_precision_is_that_of_every_point() {
    let request = Request { precision: Some(0.1), ..request(None, serde_json::json!({})) };
    let host = host();
    let plan = loaded::PROBE.plan(&request, host.lab()).unwrap();
    assert!(plan.steps.iter().all(|step| step.stop.precision == 0.1), "{:?}", plan.steps[0].stop);
}

#[test]
fn bandwidth_has_the_sum_of_its_groups_and_each_of_them() {
    let traffic = serde_json::json!([
        { "cpus": "0-1", "mix": "read", "size": 268435456 },
        { "cpus": "4", "mix": "write.nt", "size": 268435456 },
    ]);
    let request = Request { probe: "bandwidth".into(), ..request(None, serde_json::json!({ "traffic": traffic })) };
    let experiment = run_experiment(&bandwidth::PROBE, &request, &mut host(), &mut ()).unwrap();
    assert_eq!(experiment.observations.len(), 1, "nothing else is measured");
    let value = |quantity: Quantity, part: Option<&str>| {
        let is = |f: &&Finding| f.quantity == quantity && f.labels.part() == part;
        experiment.findings.iter().find(is).unwrap().value.unwrap()
    };
    let sum = value(Quantity::Bandwidth, None);
    let parts = ["read on 0-1", "write.nt on 4"].map(|part| value(Quantity::BandwidthPart, Some(part)));
    assert!((parts.iter().sum::<f64>() / sum - 1.0).abs() < 0.02 && parts[0] > parts[1], "{parts:?} of {sum}");
}
