//! `c2c` on simulated machines: what is planned, what is left out, and what comes back.

use std::collections::{BTreeMap, BTreeSet};
use tiermark_model::messages::memory::codes;
use tiermark_model::messages::rules;

use crate::common::fits;
use tiermark_engine::{Host, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::*;
use tiermark_probes::c2c;
use tiermark_sim::{SimHost, SimOptions};

fn request(effort: Effort, max_seconds: Option<f64>, params: serde_json::Value) -> Request {
    let scope = Scope { max_seconds, ..Scope::default() };
    Request { scope, effort, seed: 11, params, ..testing::request("c2c") }
}

fn host(synth: &Synth) -> SimHost {
    SimHost::new(synth.machine().unwrap(), Vec::new(), SimOptions::default())
}

/// Two sockets of two nodes, each with two last-level caches of two cores of two threads.
fn server() -> Synth {
    Synth { sockets: 2, nodes_per_socket: 2, cores_per_node: 4, cores_per_llc: 2, ..Synth::default() }
}

fn run(synth: &Synth, request: &Request) -> (Experiment, f64) {
    let mut host = host(synth);
    let experiment = run_experiment(&c2c::PROBE, request, &mut host, &mut ()).unwrap();
    (experiment, host.now())
}

fn plan(synth: &Synth, request: &Request) -> Result<Plan, Refusal> {
    let host = host(synth);
    c2c::PROBE.plan(request, host.lab())
}

fn value(experiment: &Experiment, metric: &str, labels: &[(&str, &str)]) -> f64 {
    let found: Vec<&Finding> = experiment.findings.iter().filter(|f| fits(f, metric, labels)).collect();
    assert_eq!(found.len(), 1, "{metric} {labels:?}: {found:?}");
    found[0].value.unwrap()
}

#[test]
fn relations_of_a_server_come_out_as_they_are() {
    let (experiment, _) = run(&server(), &request(Effort::Standard, None, serde_json::Value::Null));
    let pairs = experiment.findings.iter().filter(|f| f.quantity.name() == "c2c.pair").count();
    assert_eq!(pairs, 32 * 31 / 2, "all pairs of 32 cpus fit");
    for (relation, truth) in [("SMT", 16.0), ("LLC", 60.0), ("socket", 140.0), ("remote", 280.0)] {
        let median =
            value(&experiment, "c2c.relation", &[("relation", relation), ("statistic", "median"), ("op", "cas")]);
        assert!((median / truth - 1.0).abs() < 0.03, "{relation}: {median}, {truth} there");
        let clean = value(&experiment, "c2c.transfer", &[("relation", relation), ("state", "clean")]);
        assert!((clean / truth / 0.4 - 1.0).abs() < 0.05, "{relation}: {clean}");
        let one_way = value(&experiment, "c2c.op", &[("relation", relation), ("op", "one-way")]);
        assert!((one_way / truth / 0.5 - 1.0).abs() < 0.05, "{relation}: {one_way}");
        let asymmetry = value(&experiment, "c2c.asymmetry", &[("relation", relation)]);
        assert!(asymmetry.abs() < 0.03, "{relation}: {asymmetry}");
    }
    let doubted: Vec<_> = experiment.findings.iter().filter(|f| f.verdict.grade != Grade::Trusted).collect();
    assert!(doubted.is_empty(), "{doubted:#?}");
}

#[test]
fn a_guests_relations_are_its_hypervisors_word() {
    let medians = |machine: Machine| -> Vec<Vec<Note>> {
        let mut host = SimHost::new(machine, Vec::new(), SimOptions::default());
        let request = request(Effort::Quick, None, serde_json::Value::Null);
        let findings = run_experiment(&c2c::PROBE, &request, &mut host, &mut ()).unwrap().findings;
        let median = |f: &&Finding| f.quantity.name() == "c2c.relation" && f.labels.statistic() == Some("median");
        findings.iter().filter(median).map(|f| f.notes.clone()).collect()
    };
    let machine = server().machine().unwrap();
    assert!(medians(machine.clone()).iter().all(Vec::is_empty), "what is as declared needs no word");
    let mut guest = machine;
    guest.system.hypervisor = Some("KVM".into());
    let notes: Vec<Note> = medians(guest).into_iter().flatten().collect();
    assert!(matches!(&notes[..], [once] if once.code == codes::declared_by_hypervisor), "{notes:?}");
}

#[test]
fn homes_are_swept_and_named() {
    let (experiment, _) = run(&server(), &request(Effort::Quick, None, serde_json::Value::Null));
    let home = |relation, home| value(&experiment, "c2c.home", &[("relation", relation), ("home", home)]);
    // Sockets apart: three different nodes. In one core there are two.
    assert!((home("remote", "second") / home("remote", "first") - 1.05).abs() < 0.02);
    assert!((home("remote", "third") / home("remote", "first") - 1.25).abs() < 0.02);
    assert!((home("SMT", "third") / home("SMT", "first") - 1.25).abs() < 0.02);
    let second = |f: &&Finding| {
        f.quantity.name() == "c2c.home" && f.labels.relation() == Some("SMT") && f.labels.home() == Some("second")
    };
    assert!(!experiment.findings.iter().any(|f| second(&f)));
    // With a node of one's own choice there is nothing to sweep.
    let mut request = request(Effort::Quick, None, serde_json::Value::Null);
    request.scope.mem_node = Some(3);
    let plan = plan(&server(), &request).unwrap();
    assert!(!plan.steps.iter().any(|s| s.labels.is_for(Purpose::Home)));
    assert!(plan.steps.iter().all(|s| s.setup.regions.iter().all(|r| r.nodes.contains(3))));
}

#[test]
fn fetched_lines_say_where_their_home_is() {
    let homes = |mem_node: Option<u32>| -> BTreeSet<(u32, u32)> {
        let mut request = request(Effort::Quick, None, serde_json::Value::Null);
        request.scope.mem_node = mem_node;
        let (experiment, _) = run(&server(), &request);
        let fetched = experiment.findings.into_iter().filter(|f| f.quantity.name() == "c2c.transfer");
        fetched.map(|f| (f.labels.from_cpu().unwrap(), f.labels.node().unwrap())).collect()
    };
    let machine = server().machine().unwrap();
    let own = homes(None);
    assert!(!own.is_empty() && own.iter().all(|(cpu, node)| machine.node_of(*cpu) == Some(*node)), "{own:?}");
    assert!(homes(Some(3)).iter().all(|(_, node)| *node == 3));
}

#[test]
fn kinds_of_cores_are_told_apart() {
    // One last-level cache of two large cores and six small ones.
    let synth =
        Synth { smt: 1, cores_per_node: 8, cores_per_llc: 8, first_efficiency_core: Some(2), ..Synth::default() };
    let (experiment, _) = run(&synth, &request(Effort::Quick, None, serde_json::Value::Null));
    let pairs = |kinds: &str| {
        let fits = |f: &&Finding| f.quantity.name() == "c2c.relation" && f.labels.kinds() == Some(kinds);
        let found = experiment.findings.iter().filter(fits).find(|f| f.labels.statistic() == Some("median")).unwrap();
        (found.labels.pairs(), found.labels.pairs_all())
    };
    assert_eq!(["P-P", "P-E", "E-E"].map(pairs), [1, 12, 15].map(|n| (Some(n), Some(n))));
    let speakers = experiment.findings.iter().filter(|f| f.quantity.name() == "c2c.transfer");
    assert_eq!(speakers.filter_map(|f| f.labels.kinds()).collect::<BTreeSet<_>>().len(), 3);
    let pair =
        experiment.findings.iter().find(|f| f.quantity.name() == "c2c.pair" && f.labels.cpus() == Some("0,5")).unwrap();
    assert!(pair.labels.kinds() == Some("P-E") && pair.labels.relation() == Some("LLC"), "{:?}", pair.labels);
}

#[test]
fn contention_goes_to_all_cpus_and_says_who_waits() {
    let (experiment, _) = run(&server(), &request(Effort::Quick, None, serde_json::Value::Null));
    let threads = |metric: &str| -> BTreeMap<u64, f64> {
        let of = experiment.findings.iter().filter(|f| f.quantity.name() == metric);
        of.map(|f| (f.labels.threads().unwrap(), f.value.unwrap())).collect()
    };
    let times = threads("c2c.contention");
    assert_eq!(times.keys().copied().collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    assert!((times[&1] / 5.0 - 1.0).abs() < 0.02 && times[&32] > 8.0 * times[&2]);
    // Thirty-two of them, each waiting about as long, use the line that much more often than one does.
    let line = threads("c2c.line");
    assert!((line[&1] / times[&1] - 1.0).abs() < 0.01 && (line[&32] * 32.0 / times[&32] - 1.0).abs() < 0.1, "{line:?}");
    let fair = threads("c2c.fairness");
    assert!(!fair.contains_key(&1) && fair[&32] < 0.8 && fair[&32] > 0.6, "{fair:?}");
}

#[test]
fn the_largest_machine_is_planned_and_run_in_its_time() {
    let request = request(Effort::Standard, Some(15.0), serde_json::Value::Null);
    let host = host(&Synth::largest());
    let plan = c2c::PROBE.plan(&request, host.lab()).unwrap();
    assert_eq!(plan.cpus().len(), 2048);
    assert!(plan.expected_seconds() <= 15.0);
    let said = plan.rules.iter().find(|rule| rule.code == rules::codes::sampled_pairs).unwrap();
    assert!(["SMT", "LLC", "remote"].iter().all(|class| said.text.contains(class)), "{said}");
    let (experiment, took) = run(&Synth::largest(), &request);
    assert!(took <= 15.0 + 1.0, "{took} s");
    for relation in ["SMT", "LLC", "remote"] {
        let labels = [("relation", relation), ("statistic", "median")];
        assert!(value(&experiment, "c2c.relation", &labels) > 0.0);
    }
}

#[test]
fn samples_and_operations_are_as_asked() {
    let asked = serde_json::json!({ "ops": ["flag", "one-way"], "sample": { "each": 3 } });
    let planned = plan(&server(), &request(Effort::Quick, None, asked)).unwrap();
    let pairs: Vec<&Step> = planned.steps.iter().filter(|s| s.labels.is_for(Purpose::Pair)).collect();
    let ops: BTreeSet<&str> = pairs.iter().filter_map(|s| s.labels.op()).collect();
    assert_eq!((pairs.len(), ops), (2 * 4 * 3, BTreeSet::from(["flag", "one-way"])));
    assert!(!planned.steps.iter().any(|s| s.labels.is_for(Purpose::Op)));
    let refused = |params| plan(&server(), &request(Effort::Quick, None, params)).unwrap_err();
    assert!(refused(serde_json::json!({ "sample": { "each": 0 } })).what.contains("sample"));
    assert!(refused(serde_json::json!({ "colour": 1 })).why.contains("colour"));
}

#[test]
fn a_pair_at_two_distances_in_turn_is_told() {
    let asked = request(Effort::Quick, None, serde_json::Value::Null);
    let host = host(&Synth { smt: 1, ..Synth::default() });
    let (experiment, _) = run(&Synth { smt: 1, ..Synth::default() }, &asked);
    assert!(!experiment.findings.iter().any(|f| f.quantity.name() == "c2c.modes"), "a steady machine has one mode");
    let mut seen = experiment.observations;
    let lab = host.lab();
    let mode = |value| Mode { value, share: 0.5 };
    seen[0].modes = vec![mode(50.0), mode(200.0)];
    let found = c2c::PROBE.open(&asked, lab).unwrap().derive(&seen);
    let modes: Vec<&Finding> = found.iter().filter(|f| f.quantity.name() == "c2c.modes").collect();
    assert_eq!((modes.len(), &modes[0].evidence), (1, &vec![seen[0].step.clone()]));
    assert!((modes[0].value.unwrap() - 4.0).abs() < 0.1);
    let note = modes[0].noted(&codes::distances_in_turn).unwrap();
    assert_eq!(note.data["modes"], serde_json::json!([[50.0, 0.5], [200.0, 0.5]]));
}

#[test]
fn one_cpu_talks_to_nobody() {
    let mut request = request(Effort::Quick, None, serde_json::Value::Null);
    request.scope.cpus = Some(IdSet::from_iter([3]));
    let refusal = plan(&server(), &request).unwrap_err();
    assert_eq!(refusal.code, tiermark_model::messages::plan::codes::one_cpu_only);
}

#[test]
fn preemption_is_seen_and_does_not_move_the_median() {
    let options = SimOptions { preemptions_per_second: 100.0, ..SimOptions::default() };
    let mut host = SimHost::new(Synth { smt: 1, ..Synth::default() }.machine().unwrap(), Vec::new(), options);
    let request = request(Effort::Quick, None, serde_json::Value::Null);
    let experiment = run_experiment(&c2c::PROBE, &request, &mut host, &mut ()).unwrap();
    let labels = [("relation", "LLC"), ("statistic", "median")];
    assert!((value(&experiment, "c2c.relation", &labels) / 60.0 - 1.0).abs() < 0.03);
    assert!(experiment.observations.iter().any(|o| o.disturbance.involuntary_switches > 0));
}
