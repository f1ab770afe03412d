//! Plans and findings of the matrix on machines that nobody here owns.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tiermark_engine::{Lab, run_experiment};
use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_model::messages::plan::codes;
use tiermark_model::messages::{memory, setup};
use tiermark_model::{
    Bench, Effort, Experiment, Finding, IdSet, KernelInfo, Machine, MemPolicy, Metric, NodeId, Observation, Plan,
    Reason, Refusal, Request, Role, testing,
};
use tiermark_probes::find;
use tiermark_sim::{SimHost, SimOptions};

fn kernels() -> Vec<KernelInfo> {
    tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect()
}

fn request(effort: Effort, params: Value) -> Request {
    Request { effort, params, ..testing::request("matrix") }
}

fn plan_of(machine: &Machine, request: &Request) -> Result<Plan, Refusal> {
    let bench = Bench { kernels: kernels(), ..Bench::default() };
    find("matrix").unwrap().plan(request, &Lab::new(machine.clone(), bench.clone()))
}

fn plan(machine: &Machine, effort: Effort, params: Value) -> Plan {
    plan_of(machine, &request(effort, params)).unwrap()
}

/// Two sockets of two nodes, ids 0 2 4 6, and two nodes of far memory, 8 and 10.
fn large() -> Machine {
    let far = MemoryNode { bytes: 32 << 30, distance: 28, tier: 5, latency_ns: 250, bandwidth_mbs: 26_000 };
    let synth = Synth {
        sockets: 2,
        nodes_per_socket: 2,
        cores_per_node: 4,
        cores_per_llc: 2,
        node_stride: 2,
        node_bytes: 16 << 30,
        memory_nodes: vec![far.clone(), far],
        ..Synth::default()
    };
    synth.machine().unwrap()
}

fn two_sockets() -> Machine {
    Synth { sockets: 2, node_bytes: 16 << 30, ..Synth::default() }.machine().unwrap()
}

/// The cells of an operation: from, to.
fn cells(plan: &Plan, op: &str) -> Vec<(String, u32)> {
    let of_op = plan.steps.iter().filter(|s| s.labels.op() == Some(op) && s.labels.policy().is_none());
    of_op.map(|s| (s.labels.from().unwrap().to_owned(), s.labels.node().unwrap())).collect()
}

#[test]
fn every_row_meets_every_column() {
    let machine = large();
    let plan = plan(&machine, Effort::Standard, Value::Null);
    for op in ["latency", "read", "write", "copy", "2:1", "read.random"] {
        let cells = cells(&plan, op);
        assert_eq!(cells.len(), 4 * 6, "{op}");
        assert!(cells.contains(&("node:6".into(), 10)) && cells.contains(&("node:0".into(), 0)));
    }
    for step in plan.steps.iter().filter(|s| s.labels.policy().is_none()) {
        // All memory is on the node of the column, and all threads are on cpus of the row.
        let node = step.labels.node().unwrap() as NodeId;
        assert!(
            step.setup.regions.iter().all(|r| r.policy == MemPolicy::Bind && r.nodes.iter().eq([node])),
            "{}",
            step.id
        );
        let from: NodeId = step.labels.from().unwrap().strip_prefix("node:").unwrap().parse().unwrap();
        assert!(step.setup.cpus().iter().all(|cpu| machine.node_of(cpu) == Some(from)), "{}", step.id);
        assert_eq!(step.setup.threads.len(), if step.metric == Metric::Latency { 1 } else { 4 }, "one a core");
    }
    let ids: BTreeSet<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids.len(), plan.steps.len());
}

#[test]
fn rows_can_be_sockets_and_caches_and_be_chosen() {
    let machine = large();
    let rows = |params: Value| -> BTreeSet<String> {
        cells(&plan(&machine, Effort::Quick, params), "latency").into_iter().map(|(from, _)| from).collect()
    };
    assert_eq!(rows(json!({"from": "socket"})).len(), 2);
    assert_eq!(rows(json!({"from": "llc"})).len(), 8);
    assert_eq!(rows(json!({"cpu_nodes": "4"})), ["node:4".to_owned()].into());
    let columns = plan(&machine, Effort::Quick, json!({"targets": "8,10"}));
    assert!(cells(&columns, "read").iter().all(|(_, to)| *to >= 8));
}

#[test]
fn what_cannot_be_had_is_refused_with_a_cure() {
    let mut machine = large();
    machine.allowed_nodes = "0,2,8".parse().unwrap();
    machine.nodes[1].memory_bytes = Some(0);
    // Columns that are left are measured; the others are told.
    let some = plan(&machine, Effort::Quick, json!({"targets": "0,2,4,8"}));
    assert_eq!(cells(&some, "latency").into_iter().map(|(_, to)| to).collect::<BTreeSet<_>>(), [0, 8].into());
    let nodes: Vec<_> = some.refused.iter().map(|r| (r.code.clone(), r.data["node"].as_u64())).collect();
    assert_eq!(nodes, [2, 4].map(|node| (setup::codes::node_unusable, Some(node))));
    // By default only what may be used is a column, without a word; the cpus of a memory-less node are a row.
    let usual = plan(&machine, Effort::Quick, Value::Null);
    assert!(usual.refused.is_empty() && cells(&usual, "latency").contains(&("node:2".into(), 8)));
    let refused = |params: Value| plan_of(&machine, &request(Effort::Quick, params)).unwrap_err();
    assert!(refused(json!({"targets": "4"})).why.contains("cpuset.mems"));
    assert_eq!(refused(json!({"cpu_nodes": "8"})).code, codes::no_cpus_on_node);
    assert!(refused(json!({"ops": ["9:1"]})).cure.contains("2:1"));
    assert_eq!(refused(json!({"columns": 3})).code, codes::request_unreadable);
    let few = plan(&machine, Effort::Quick, json!({"threads": [64]}));
    assert!(few.refused.iter().any(|r| r.what == "64 threads on node:0"), "{:?}", few.refused);
}

#[test]
fn pages_are_spread_as_asked() {
    let machine = two_sockets();
    let params = json!({"policies": ["interleave", "weighted"], "weights": ["0:3,1:1"], "ops": ["read"]});
    let plan = plan(&machine, Effort::Quick, params);
    let of = |policy: &str| plan.steps.iter().filter(|s| s.labels.policy() == Some(policy)).collect::<Vec<_>>();
    // Each row, and all cpus together; those beside their own memory.
    assert_eq!((of("interleave").len(), of("weighted").len(), of("local").len()), (3, 3, 1));
    for step in of("weighted") {
        let region = &step.setup.regions[0];
        assert_eq!((&region.policy, region.nodes.to_string().as_str()), (&MemPolicy::Weighted(vec![3, 1]), "0-1"));
        // Whole rounds of huge pages: shares are exact.
        assert_eq!(region.bytes.0 % (4 * (2 << 20)), 0);
    }
    assert!(of("interleave").iter().all(|s| s.setup.regions.iter().all(|r| r.policy == MemPolicy::Interleave)));
    // The kernel of this machine is new enough to have weights of its own.
    assert_eq!(of("kernel weights").len(), 3);
}

#[test]
fn an_old_kernel_has_no_weights_of_its_own() {
    let mut machine = two_sockets();
    machine.system.kernel = Some("6.1.0-56-cloud-amd64".into());
    let plan = plan(&machine, Effort::Quick, json!({"policies": ["weighted"]}));
    assert!(!plan.steps.iter().any(|s| s.labels.policy() == Some("kernel weights")));
    assert!(plan.refused.iter().any(|r| r.code == codes::kernel_without_weights), "{:?}", plan.refused);
    assert!(plan.steps.iter().filter(|s| s.labels.policy() == Some("weighted")).count() >= 6);
}

#[test]
fn one_node_has_nothing_to_spread_over() {
    let machine = Synth::default().machine().unwrap();
    let usual = plan(&machine, Effort::Standard, Value::Null);
    assert!(usual.refused.is_empty() && usual.steps.iter().all(|s| s.labels.policy().is_none()));
    let refusal = plan_of(&machine, &request(Effort::Standard, json!({"policies": ["interleave"]}))).unwrap_err();
    assert_eq!(refusal.code, codes::policy_needs_nodes);
}

#[test]
fn mixed_threads_have_whole_memories() {
    let machine = large();
    let params = json!({"policies": ["mixed"], "mixed": [25, 50], "ops": ["read", "2:1"], "cpu_nodes": "0"});
    let plan = plan(&machine, Effort::Standard, params);
    // One step for each kind of far memory: the neighbour in the socket, the other socket, memory without cpus.
    assert_eq!(plan.steps.len(), 2 * 2 * 3);
    for step in &plan.steps {
        let remote = step.labels.node().unwrap() as NodeId;
        let share = step.labels.remote().unwrap() as usize;
        let on = |node: NodeId| step.setup.regions.iter().filter(|r| r.nodes.iter().eq([node])).count();
        assert_eq!((on(remote), on(0)), (4 * share / 100, 4 - 4 * share / 100), "{}", step.id);
        for thread in &step.setup.threads {
            let there = step.setup.regions[thread.region].nodes.contains(remote);
            assert_eq!(thread.part, if there { "remote" } else { "local" });
        }
        let loads = step.setup.threads.iter().filter(|t| matches!(t.role, Role::Load { .. })).count();
        assert_eq!(loads > 0, step.labels.op() == Some("2:1"));
    }
}

#[test]
fn the_share_of_a_mixed_crew_is_what_its_threads_come_to() {
    let machine = two_sockets();
    let params = json!({"policies": ["mixed"], "mixed": [50, 40], "ops": ["read"], "threads": [3], "cpu_nodes": "0"});
    let plan = plan(&machine, Effort::Standard, params);
    // Both shares put one of three threads on remote memory: one step, and a third.
    assert_eq!(plan.steps.len(), 1, "{:?}", plan.steps.iter().map(|s| &s.id).collect::<Vec<_>>());
    assert_eq!(plan.steps[0].labels.remote(), Some(33));
}

#[test]
fn a_policy_that_comes_to_nothing_is_told_beside_other_refusals() {
    // One thread cannot be on two memories, and the refusal of a node must not hide that.
    let params = json!({"policies": ["bind", "mixed"], "threads": ["one"], "targets": "0,1,7", "ops": ["read"]});
    let plan = plan(&two_sockets(), Effort::Quick, params);
    let what: Vec<&str> = plan.refused.iter().map(|r| r.what.as_str()).collect();
    assert!(what.len() == 2 && what.contains(&"policy mixed"), "{what:?}");
}

#[test]
fn the_largest_machine_is_planned() {
    let machine = Synth::largest().machine().unwrap();
    let plan = plan(&machine, Effort::Standard, Value::Null);
    assert_eq!(cells(&plan, "read").len(), 64);
    assert!(plan.steps.len() < 600, "{} steps", plan.steps.len());
}

#[test]
fn a_sample_has_a_row_and_a_memory_of_each_kind() {
    let machine = Synth::largest().machine().unwrap();
    let plan = plan(&machine, Effort::Standard, json!({ "sample": true }));
    assert_eq!(cells(&plan, "read"), [("node:0".to_owned(), 0), ("node:0".to_owned(), 1)]);
    // The other node of the socket, one of the other socket, one without cpus.
    let sample = self::plan(&large(), Effort::Standard, json!({ "sample": true }));
    assert_eq!(cells(&sample, "latency").iter().map(|(_, to)| *to).collect::<Vec<_>>(), [0, 2, 4, 8]);
}

fn run(machine: Machine, effort: Effort, params: Value) -> Experiment {
    let mut host = SimHost::new(machine, kernels(), SimOptions::default());
    run_experiment(find("matrix").unwrap(), &request(effort, params), &mut host, &mut ()).unwrap()
}

fn value(run: &Experiment, op: &str, from: &str, to: u32) -> f64 {
    let is = |o: &&Observation| {
        let labels = &o.labels;
        labels.op() == Some(op) && labels.from() == Some(from) && labels.node() == Some(to) && labels.policy().is_none()
    };
    run.observations.iter().find(is).and_then(|o| o.value).unwrap_or_else(|| panic!("no value of {op} {from} {to}"))
}

#[test]
fn remote_memory_is_farther_and_slower() {
    let run = run(two_sockets(), Effort::Standard, json!({"ops": ["latency", "read"]}));
    for (from, near, far) in [("node:0", 0, 1), ("node:1", 1, 0)] {
        assert!(value(&run, "latency", from, far) > 1.5 * value(&run, "latency", from, near));
        assert!(value(&run, "read", from, far) < value(&run, "read", from, near));
    }
    let far: Vec<&Finding> = run.findings.iter().filter(|f| f.quantity.name() == "matrix.far").collect();
    assert_eq!(far.len(), 2 * 2, "{far:?}");
    for found in far {
        let slower = found.value.unwrap();
        assert!(if found.labels.op() == Some("latency") { slower > 1.5 } else { slower < 1.0 }, "{found:?}");
        assert!(
            found.interval.unwrap().low < slower
                && found.noted(&memory::codes::at_distance).unwrap().data["distance"] == 21
        );
    }
    // Mixed placement gives the rates of both groups, which add up to the whole.
    let mixed = run.observations.iter().find(|o| o.labels.policy() == Some("mixed")).unwrap();
    let parts: f64 = mixed.parts.iter().map(|p| p.value.unwrap()).sum();
    assert_eq!(mixed.parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["local", "remote"]);
    assert!((parts / mixed.value.unwrap() - 1.0).abs() < 0.02, "{parts}");
    assert!(run.findings.iter().any(|f| f.quantity.name() == "mixed.against_local" && f.value.is_some()));
    assert_eq!(run.findings.iter().filter(|f| f.quantity.name() == "bandwidth.part").count(), 2 * 2);
}

#[test]
fn even_machines_have_no_uneven_pairs() {
    let run = run(large(), Effort::Quick, Value::Null);
    let pairs: Vec<&Finding> = run.findings.iter().filter(|f| f.labels.against().is_some()).collect();
    // The widest of each operation is told all the same.
    assert_eq!(pairs.len(), 2, "{pairs:?}");
    assert!(pairs.iter().all(|f| f.noted(&memory::codes::directions_alike).is_some()), "{pairs:?}");
}

#[test]
fn a_slow_direction_and_a_slow_node_are_named() {
    let mut machine = two_sockets();
    // From node 0 the other socket is farther than the other way round.
    machine.nodes[0].distances.insert(1, 32);
    let found = run(machine, Effort::Quick, Value::Null).findings;
    let named: Vec<&Finding> = found.iter().filter(|f| f.quantity.name() == "matrix.asymmetry").collect();
    assert_eq!(named.len(), 2, "{named:?}");
    let latency = named.iter().find(|f| f.labels.op() == Some("latency")).unwrap();
    assert!((latency.value.unwrap() - 32.0 / 21.0).abs() < 0.05, "{latency:?}");
    let larger = &latency.noted(&memory::codes::compared_ns).unwrap().data["larger"];
    assert_eq!((&larger[0], &larger[1]), (&json!("node:0"), &json!(1)), "{latency:?}");
    // A neighbour in the first socket whose memory is slower than that of the other neighbours at the same distance.
    let mut machine = large();
    let says = machine.nodes[4].hmat.clone();
    machine.nodes[1].hmat = says;
    let found = run(machine, Effort::Quick, json!({"ops": ["latency"]})).findings;
    let uneven: Vec<&Finding> = found.iter().filter(|f| f.quantity.name() == "matrix.uneven").collect();
    assert!(
        uneven
            .iter()
            .any(|f| f.noted(&memory::codes::both_at_distance).unwrap().data["distance"] == 12
                && f.labels.node() == Some(2)),
        "{uneven:?}"
    );
}

#[test]
fn the_best_weights_are_found_and_refined() {
    let run = run(
        two_sockets(),
        Effort::Standard,
        json!({"policies": ["bind", "weighted"], "ops": ["read"], "cpu_nodes": "0"}),
    );
    let best = run.findings.iter().find(|f| f.quantity.name() == "interleave.best").unwrap();
    let swept: Vec<f64> =
        run.observations.iter().filter(|o| o.labels.weights().is_some()).filter_map(|o| o.value).collect();
    assert!(swept.len() > 6, "points were added beside the best");
    assert_eq!(best.value, swept.iter().copied().reduce(f64::max));
    assert!(best.noted(&memory::codes::kernels_weights).is_some(), "{:?}", best.notes);
    // Dealt pages are proven where they lie.
    let nodes: IdSet = "0-1".parse().unwrap();
    for seen in run.observations.iter().filter(|o| o.labels.weights().is_some()) {
        let both = !seen.labels.weights().unwrap().contains(":0");
        let there: IdSet = seen.placement.as_ref().unwrap().by_node.keys().copied().collect();
        assert_eq!(there == nodes, both, "{}", seen.step);
        assert!(seen.value.is_some(), "{:?}", seen.verdict);
    }
}

#[test]
fn a_footprint_that_caches_hold_is_doubted() {
    let run = run(two_sockets(), Effort::Quick, json!({"ops": ["latency"], "size": 1 << 20}));
    let cells: Vec<&Finding> = run.findings.iter().filter(|f| f.quantity.name() == "latency").collect();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert!(
            cell.verdict.reasons.iter().any(|reason| matches!(reason, Reason::CachesAnswer { .. })),
            "{:?}",
            cell.verdict
        );
    }
}

#[test]
fn far_memory_adds_its_bandwidth_where_shares_fit() {
    // 32 cores have more than one node can carry; a node of CXL memory adds a tenth of it, if it gets a tenth of the
    // pages.
    let far = MemoryNode { bytes: 32 << 30, distance: 28, tier: 5, latency_ns: 250, bandwidth_mbs: 26_000 };
    let synth = Synth {
        cores_per_node: 32,
        cores_per_llc: 32,
        smt: 1,
        node_bytes: 64 << 30,
        memory_nodes: vec![far],
        ..Synth::default()
    };
    let params = json!({"policies": ["bind", "weighted"], "ops": ["read"]});
    let run = run(synth.machine().unwrap(), Effort::Quick, params);
    let best = run.findings.iter().find(|f| f.quantity.name() == "interleave.best").unwrap();
    let gain = best.value.unwrap() / value(&run, "read", "node:0", 0);
    assert!((1.05..1.12).contains(&gain), "{gain}: {best:?}");
    let weights = best.labels.weights().unwrap();
    let numbers: Vec<f64> = weights.split(',').map(|part| part.split_once(':').unwrap().1.parse().unwrap()).collect();
    assert!((8.0..12.0).contains(&(numbers[0] / numbers[1])), "{weights}");
}
