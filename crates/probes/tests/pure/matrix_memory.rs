//! The memory of a matrix's threads: on which pages, whose, and how much of it a cell moves.

use serde_json::{Value, json};
use tiermark_engine::{Lab, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::messages::{memory, plan, rules};
use tiermark_model::{
    Bench, Bytes, Effort, Experiment, GIB, HugePool, MIB, Machine, Metric, Note, PageKind, Plan, Reason, Refusal,
    Request, Scope, Step, testing,
};
use tiermark_probes::find;
use tiermark_sim::{SimHost, SimOptions};

fn request(params: Value) -> Request {
    let scope = Scope::default();
    Request { scope, effort: Effort::Quick, params, ..testing::request("matrix") }
}

fn bench() -> Bench {
    Bench { kernels: tiermark_kernels::streams().iter().map(|s| s.kernel_info()).collect(), ..Bench::default() }
}

fn planned(machine: &Machine, params: Value) -> Result<Plan, Refusal> {
    find("matrix").unwrap().plan(&request(params), &Lab::new(machine.clone(), bench()))
}

fn run(machine: Machine, params: Value) -> Experiment {
    let mut host = SimHost::new(machine, bench().kernels, SimOptions::default());
    run_experiment(find("matrix").unwrap(), &request(params), &mut host, &mut ()).unwrap()
}

/// Two sockets of four cores.
fn server(gib: u64) -> Machine {
    let synth = Synth { sockets: 2, cores_per_node: 4, cores_per_llc: 4, smt: 1, ..Synth::default() };
    Synth { node_bytes: gib * GIB, ..synth }.machine().unwrap()
}

fn pools(mut machine: Machine, free: [u64; 2], page: u64) -> Machine {
    for (node, free) in machine.nodes.iter_mut().zip(free) {
        node.huge_pages = vec![HugePool { page_bytes: page, total: free, free, ..HugePool::default() }];
    }
    machine
}

/// Bytes and pages of a read of the plan, and the code of the rule that chose them.
fn chosen(machine: &Machine) -> (u64, PageKind, tiermark_model::Code) {
    let plan = planned(machine, json!({"ops": ["read"], "worker_memory": GIB})).unwrap();
    let region = &plan.steps[0].setup.regions[0];
    assert!(
        plan.steps.iter().all(|s| s.setup.regions.iter().all(|r| (r.bytes, r.page) == (region.bytes, region.page)))
    );
    let codes = [
        rules::codes::worker_huge,
        rules::codes::worker_ordinary,
        rules::codes::worker_less,
        rules::codes::worker_usual,
    ];
    let rule = |note: &Note| codes.iter().find(|code| note.code == **code).cloned();
    (region.bytes.0, region.page, plan.rules.iter().find_map(rule).unwrap())
}

#[test]
fn each_worker_has_huge_pages_where_they_are_free_and_says_where_not() {
    let huge = |free, page| pools(server(16), free, page);
    assert_eq!(chosen(&huge([4, 4], GIB)), (GIB, PageKind::Huge(GIB), rules::codes::worker_huge));
    assert_eq!(chosen(&huge([2048, 4000], 2 * MIB)), (GIB, PageKind::Huge(2 * MIB), rules::codes::worker_huge));
    // A page less on one node, and all cells have the others.
    assert_eq!(chosen(&huge([2047, 4000], 2 * MIB)), (GIB, PageKind::Thp, rules::codes::worker_ordinary));
    assert_eq!(chosen(&server(16)), (GIB, PageKind::Thp, rules::codes::worker_ordinary));
    // Half of what is free, in a power of two, beyond the caches.
    assert_eq!(chosen(&server(4)), (256 * MIB, PageKind::Thp, rules::codes::worker_less));
    let mut full = server(4);
    full.nodes.iter_mut().for_each(|node| node.free_bytes = Some(200 * MIB));
    let (bytes, page, code) = chosen(&full);
    assert_eq!((page, code), (PageKind::Thp, rules::codes::worker_usual));
    assert!(bytes < 25 * MIB, "{bytes}");
}

#[test]
fn one_buffer_is_as_large_as_those_of_all_threads_and_only_read() {
    let own = planned(&server(16), json!({"ops": ["read"]})).unwrap();
    let shared = planned(&server(16), json!({"ops": ["read"], "buffer": "shared"})).unwrap();
    assert_eq!(own.steps.len(), shared.steps.len());
    for (own, shared) in own.steps.iter().zip(&shared.steps) {
        assert_eq!((own.setup.regions.len(), shared.setup.regions.len()), (4, 1));
        assert_eq!(own.setup.total_bytes(), shared.setup.total_bytes());
        assert!(shared.setup.threads.iter().all(|thread| thread.region == 0));
        assert!(shared.labels.buffer() == Some("shared") && own.id != shared.id);
    }
    let named = planned(&server(16), json!({"ops": ["read"], "buffer": "shared", "size": 256 * MIB})).unwrap();
    assert_eq!(named.steps[0].setup.total_bytes(), Bytes(256 * MIB));
    // By default what can be measured is measured.
    let params = Request { effort: Effort::Standard, ..request(json!({"buffer": "shared"})) };
    let usual = find("matrix").unwrap().plan(&params, &Lab::new(server(16), bench())).unwrap();
    assert!(usual.refused.is_empty() && usual.steps.iter().any(|s| s.labels.policy() == Some("interleave")));
    // One buffer is not "each on its own node".
    let of = |step: &Step, policy| step.labels.policy() == Some(policy);
    assert!(usual.steps.iter().all(|s| !of(s, "mixed") && !of(s, "local") && s.labels.op() != Some("write")));
    let refused = |params: Value| planned(&server(16), params).unwrap_err().code;
    let written = plan::codes::shared_buffer_written;
    assert_eq!(refused(json!({"ops": ["read", "write.random8"], "buffer": "shared"})), written);
    assert_eq!(refused(json!({"ops": ["2:1"], "buffer": "shared"})), written);
    assert_eq!(refused(json!({"policies": ["mixed"], "buffer": "shared"})), plan::codes::shared_buffer_mixed);
}

#[test]
fn a_shared_buffer_is_judged_by_its_own_size() {
    let machine = server(16);
    // Less than twice the caches in reach as one buffer; far more as four.
    let size = machine.reachable_cache_bytes(&machine.nodes[0].cpus) * 3 / 2;
    let doubted = |buffer: &str| {
        let seen = run(machine.clone(), json!({"ops": ["read"], "buffer": buffer, "size": size, "policies": ["bind"]}));
        let is_doubt = |reason: &Reason| matches!(reason, Reason::CachesAnswer { bytes, .. } if bytes.0 == size);
        let rates = seen.findings.iter().filter(|f| f.quantity.name() == "bandwidth");
        rates.map(|f| f.verdict.reasons.iter().any(is_doubt)).collect::<Vec<_>>()
    };
    assert_eq!((doubted("shared"), doubted("own")), (vec![true; 4], vec![false; 4]));
}

#[test]
fn a_cell_ends_when_its_bytes_are_moved() {
    let total = 20 << 30;
    let seen =
        run(server(16), json!({"ops": ["latency", "read", "write.cached"], "total": total, "policies": ["bind"]}));
    assert_eq!(seen.observations.len(), 12);
    for seen in &seen.observations {
        if seen.metric == Metric::Latency {
            assert!(seen.moved.is_none() && seen.labels.total().is_none());
            continue;
        }
        let (moved, each) = (seen.moved.unwrap(), seen.moved.unwrap() / seen.visits.len() as u64);
        assert!((total..total + 2 * each).contains(&moved), "{moved} in visits of {each}");
    }
    let noted = seen.findings.iter().filter(|f| f.noted(&memory::codes::bytes_moved).is_some()).count();
    assert_eq!(noted, 8);
}

#[test]
fn the_bytes_used_are_shown_beside_those_that_move() {
    let ops = ["read", "write.cached", "read.random8", "write.random8"];
    let seen = run(server(16), json!({"ops": ops, "policies": ["bind"], "cpu_nodes": "0", "targets": "0"}));
    let used = |op: &str| {
        let is = |f: &&tiermark_model::Finding| f.quantity.name() == "matrix.used" && f.labels.op() == Some(op);
        seen.findings.iter().find(is).map(|f| f.value.unwrap())
    };
    // An ordinary store moves its line twice: read before it is written.
    let shares = ops.map(used);
    assert_eq!(shares, [None, Some(0.5), Some(0.125), Some(0.0625)]);
    // A buffer of sysbench's size lies in L1: no line of memory moves.
    let small = json!({"ops": ops, "policies": ["bind"], "size": 4096, "peak": 40e9});
    let small = run(server(16), small).findings;
    let of_lines = |f: &&tiermark_model::Finding| ["matrix.used", "matrix.share"].contains(&f.quantity.name());
    assert!(!small.is_empty() && !small.iter().any(|f| of_lines(&f)), "{small:#?}");
}

#[test]
fn workers_of_several_are_processes_where_that_is_asked_for() {
    let planned_as = |params: Value| planned(&server(16), params).unwrap();
    let steps = planned_as(json!({"ops": ["latency", "read"], "workers": "processes", "policies": ["bind", "mixed"]}));
    for step in &steps.steps {
        let threads = &step.setup.threads;
        assert!(threads.iter().all(|thread| thread.process == (threads.len() > 1)), "{}", step.id);
    }
    assert!(steps.rules.iter().any(|rule| rule.code == rules::codes::workers_are_processes));
    assert!(planned_as(json!({"ops": ["read"]})).steps.iter().all(|s| s.setup.threads.iter().all(|t| !t.process)));
    let alone = planned_as(json!({"ops": ["read"], "workers": "processes", "threads": ["one"], "policies": ["bind"]}));
    assert!(!alone.rules.iter().any(|rule| rule.code == rules::codes::workers_are_processes), "one worker a cell");
    let both = planned(&server(16), json!({"ops": ["read"], "workers": "processes", "buffer": "shared"})).unwrap_err();
    assert_eq!(both.code, plan::codes::shared_buffer_of_processes);
}
