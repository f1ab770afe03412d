//! Which memory plans measure, and what they call it, where some of it cannot be used.

use serde_json::{Value, json};
use tiermark_engine::{Lab, Sink, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_machine::{LiveFacts, Root, discover};
use tiermark_model::messages::plan::codes as says;
use tiermark_model::messages::rules::codes;
use tiermark_model::messages::system::codes as system;
use tiermark_model::{
    Bench, Code, Effort, Experiment, KernelInfo, Machine, Plan, Purpose, Quantity, Request, Scope, testing,
};
use tiermark_probes::find;
use tiermark_sim::{SimHost, SimOptions};

fn kernels() -> Vec<KernelInfo> {
    tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect()
}

fn request(probe: &str, cpus: Option<&str>, params: Value) -> Request {
    let scope = Scope { cpus: cpus.map(|cpus| cpus.parse().unwrap()), ..Scope::default() };
    Request { scope, effort: Effort::Quick, params, ..testing::request(probe) }
}

fn plan(machine: &Machine, request: &Request) -> Plan {
    let bench = Bench { kernels: kernels(), ..Bench::default() };
    find(&request.probe).unwrap().plan(request, &Lab::new(machine.clone(), bench.clone())).unwrap()
}

fn measured(machine: &Machine, request: &Request) -> Experiment {
    let options = SimOptions { seed: 1, ..SimOptions::default() };
    let mut host = SimHost::new(machine.clone(), kernels(), options);
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    run_experiment(find(&request.probe).unwrap(), request, &mut host, &mut sinks).unwrap()
}

fn says(plan: &Plan, code: &Code) -> bool {
    plan.rules.iter().any(|rule| rule.code == *code)
}

/// Two nodes of four cpus.
fn two_nodes() -> Synth {
    Synth { sockets: 2, smt: 1, ..Synth::default() }
}

/// The tiers of memory that a latency ladder has.
fn memories(experiment: &Experiment) -> Vec<String> {
    let ladder = experiment.findings.iter().filter(|f| f.quantity == Quantity::Latency);
    let ladder = ladder.filter(|f| f.labels.is_for(Purpose::Ladder));
    let tiers = ladder.filter_map(|f| f.labels.tier_name()).filter(|tier| !tier.starts_with('L'));
    tiers.map(str::to_owned).collect()
}

#[test]
fn cpus_of_an_offline_node_are_in_no_row() {
    let mut files = two_nodes().files();
    files.retain(|path, _| !path.starts_with("sys/devices/system/node/node0/"));
    files.insert("sys/devices/system/node/online".into(), "1\n".into());
    let machine = discover(&Root::from_files("offline node", files), &LiveFacts::default()).unwrap();
    assert_eq!((machine.cpus.len(), machine.nodes.len(), machine.node_of(0)), (8, 1, None));
    let matrix = plan(&machine, &request("matrix", None, json!({ "ops": ["read"] })));
    let from: Vec<_> = matrix.steps.iter().map(|step| (step.labels.from(), step.setup.threads.len())).collect();
    assert_eq!(from, [(Some("node:1"), 4)]);
    let rule = matrix.rules.iter().find(|rule| rule.code == codes::cpus_without_node).unwrap();
    assert_eq!(rule.data["cpus"], "0-3");
    // One thread runs beside its memory.
    let latency = plan(&machine, &request("latency", None, Value::Null));
    assert_eq!(latency.cpus().to_string(), "4");
}

#[test]
fn memory_that_is_not_the_cpus_own_is_called_by_its_node() {
    let mut machine = two_nodes().machine().unwrap();
    machine.allowed_nodes = "1".parse().unwrap();
    assert_eq!(memories(&measured(&machine, &request("latency", None, Value::Null))), ["DRAM", "DRAM random"]);
    let remote = request("latency", Some("0-3"), Value::Null);
    assert!(says(&plan(&machine, &remote), &codes::memory_is_remote));
    assert_eq!(memories(&measured(&machine, &remote)), ["DRAM node 1"]);
    // Of all cores only those beside the memory measure DRAM.
    let bandwidth = plan(&machine, &request("bandwidth", None, json!({ "ops": ["read"] })));
    let rule = bandwidth.rules.iter().find(|rule| rule.code == codes::without_own_memory).unwrap();
    assert_eq!((&rule.data["cpus"], &rule.data["measured"]), (&"0-3".into(), &"4-7".into()));
}

#[test]
fn memory_spread_over_nodes_is_held_against_all_of_them() {
    let synth = Synth { l3_bytes: 512 << 20, node_bytes: 4 << 30, ..two_nodes() };
    let mut machine = synth.machine().unwrap();
    for node in &mut machine.nodes {
        node.free_bytes = Some(3 << 30);
    }
    // 1 GiB of caches in reach: half of what one node has free is less than twice that, half of both is more.
    let request = Request { effort: Effort::Standard, ..request("matrix", None, json!({ "ops": ["read"] })) };
    let plan = plan(&machine, &request);
    let from_all: Vec<_> = plan.steps.iter().filter(|step| step.labels.from() == Some("all")).collect();
    let policies: Vec<_> = from_all.iter().filter_map(|step| step.labels.policy()).collect();
    assert_eq!(policies, ["local", "interleave"], "{:?}", plan.refused);
    for step in from_all {
        assert!(step.setup.total_bytes().0 > 2 << 30 && step.setup.total_bytes().0 <= 3 << 30, "{}", step.id);
    }
}

#[test]
fn memory_behind_a_memory_side_cache_is_a_tier_of_its_own() {
    let synth = Synth { side_cache_bytes: 1 << 30, node_bytes: 32 << 30, smt: 1, ..Synth::default() };
    let machine = synth.machine().unwrap();
    // Filling 4 GiB takes longer than a quick run has.
    let mut request = request("latency", None, Value::Null);
    request.scope.max_seconds = Some(60.0);
    let experiment = measured(&machine, &request);
    let value = |tier: &str| {
        let mut found = experiment.findings.iter().filter(|f| f.quantity == Quantity::Latency);
        let found = found.find(|f| f.labels.tier_name() == Some(tier)).unwrap();
        (found.labels.bytes().unwrap(), found.value.unwrap())
    };
    assert_eq!(memories(&experiment), ["memory-side cache", "DRAM", "DRAM random"]);
    let ((cached, near), (behind, far)) = (value("memory-side cache"), value("DRAM"));
    assert!(cached < 1 << 30 && behind >= 4 << 30, "{cached} and {behind} bytes");
    assert!(far > 2.0 * near, "{near} and {far} ns");
    // Where there is no time to fill so much, it is not measured.
    let large = Synth { side_cache_bytes: 96 << 30, node_bytes: 1 << 40, ..synth }.machine().unwrap();
    let plan = plan(&large, &request);
    let refused = plan.refused.iter().find(|refusal| refusal.code == says::memory_within_caches).unwrap();
    assert_eq!((&refused.data["tier"], refused.text("limit").unwrap().contains("--max-time")), (&"DRAM".into(), true));
    let warnings = tiermark_probes::survey::warnings(&large);
    let warning = warnings.iter().find(|warning| warning.code == system::memory_side_cache).unwrap();
    assert_eq!(warning.data["nodes"], "0");
}
