//! What is held against each other is estimated alike: medians on both sides where a load is described, windows at the
//! edge where a part of an edge is. The machines are busy most of the time, so that an edge and a median are far apart.

use tiermark_engine::{Probe, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::*;
use tiermark_model::{Purpose, Tier};
use tiermark_probes::{loaded, matrix};
use tiermark_sim::{ComesAndGoes, Neighbours, SimHost, SimOptions};

const BUSY: Option<ComesAndGoes> = Some(ComesAndGoes { share: 0.7, lasts: 0.3 });

fn run(probe: &Probe, sockets: u32, neighbours: Neighbours, seed: u64, params: serde_json::Value) -> Experiment {
    let machine = Synth { sockets, cores_per_node: 4, cores_per_llc: 4, smt: 1, ..Synth::default() };
    let kernels: Vec<KernelInfo> = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let options = SimOptions { seed, neighbours, ..SimOptions::default() };
    let mut host = SimHost::new(machine.machine().unwrap(), kernels, options);
    let request = Request { effort: Effort::Quick, seed, params, ..testing::request(probe.id) };
    run_experiment(probe, &request, &mut host, &mut ()).unwrap()
}

#[test]
fn a_private_cache_costs_nothing_however_busy_the_core_is() {
    let (mut costs, seeds) = (Vec::new(), testing::seeds(4));
    for seed in 0..seeds {
        let neighbours = Neighbours { sibling: BUSY, ..Neighbours::default() };
        let experiment = run(&loaded::PROBE, 1, neighbours, seed, serde_json::json!({ "neighbour": true }));
        let rows = || experiment.observations.iter().filter(|o| o.labels.is_for(Purpose::Neighbour));
        let alone =
            rows().find(|o| o.labels.beside() == Some("nothing") && o.labels.tier() == Some(Tier::Cache(1))).unwrap();
        assert!(alone.value > alone.min.map(|least| 1.05 * least) && alone.edge.is_none(), "{:?}", alone.value);
        let of_l1 = |f: &&Finding| f.quantity.name() == "neighbour.cost" && f.labels.tier() == Some(Tier::Cache(1));
        costs.extend(experiment.findings.iter().filter(of_l1).map(|found| found.value.unwrap()));
        // Medians of the same moments: as many visits to each.
        let visits: Vec<usize> = rows().map(|o| o.visits.len()).collect();
        assert!(visits.iter().all(|count| *count == visits[0]), "{visits:?}");
    }
    // A median of a few seconds of such a machine moves by some percent to either side; against an edge it would cost a
    // fifth, always.
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    assert!(costs.len() >= seeds as usize && mean.abs() < 0.05, "{mean}: {costs:?}");
    assert!(costs.iter().all(|cost| cost.abs() < 0.15), "{costs:?}");
}

/// What the lightest load adds to the latency without any, as a factor.
fn lightest_over_idle(neighbours: Neighbours, seed: u64) -> f64 {
    let experiment = run(&loaded::PROBE, 1, neighbours, seed, serde_json::Value::Null);
    let of = |purpose: Purpose, pause: Option<u64>| {
        let here = |o: &&Observation| o.labels.is_for(purpose) && o.labels.pause() == pause;
        experiment.observations.iter().find(here).unwrap()
    };
    let (idle, light) = (of(Purpose::Unloaded, None), of(Purpose::Load, Some(30_000)));
    assert!(idle.edge.is_none() && light.edge.is_none());
    let told = experiment.findings.iter().find(|f| f.quantity.name() == "loaded.unloaded").unwrap();
    assert_eq!(told.value, idle.value);
    light.value.unwrap() / idle.value.unwrap()
}

#[test]
fn the_idle_point_of_a_loaded_curve_is_a_median_as_its_others() {
    let seeds = testing::seeds(8);
    let quiet = lightest_over_idle(Neighbours::default(), 1);
    let busy = |seed| lightest_over_idle(Neighbours { traffic: BUSY, ..Neighbours::default() }, seed).ln();
    // A median of a few seconds of such a machine moves by a tenth; an edge would be lower by a fifth, always.
    let mean = ((0..seeds).map(busy).sum::<f64>() / seeds as f64).exp();
    assert!((mean / quiet - 1.0).abs() < 0.08, "{mean} among busy neighbours, {quiet} without");
}

#[test]
fn the_parts_of_a_mixed_cell_add_up_to_its_value() {
    for seed in 0..5 {
        let neighbours = Neighbours { traffic: BUSY, ..Neighbours::default() };
        let params = serde_json::json!({"policies": ["mixed"], "mixed": [50], "ops": ["read"], "cpu_nodes": "0"});
        let experiment = run(&matrix::PROBE, 2, neighbours, seed, params);
        let mixed = experiment.observations.iter().find(|o| o.labels.policy() == Some("mixed")).unwrap();
        let total = mixed.value.unwrap();
        let typical = mixed.typical.unwrap();
        assert!(typical.p10 <= total && total <= typical.p90, "{typical:?} of {total}");
        let parts = experiment.findings.iter().filter(|f| f.quantity.name() == "bandwidth.part");
        let sum: f64 = parts.map(|f| f.value.unwrap()).sum();
        assert!((sum / total - 1.0).abs() < 0.02, "seed {seed}: parts {sum} of {total}");
    }
}
