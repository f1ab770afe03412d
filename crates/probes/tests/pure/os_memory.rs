//! `os` where memory is short: what does not fit is refused or left out, and said; nothing is planned that would be
//! killed for it.

use tiermark_engine::Host;
use tiermark_machine::synth::Synth;
use tiermark_model::messages::rules::codes;
use tiermark_model::{Bytes, MIB, Metric, OsGroup, PageKind, Plan, PrimitiveInfo, Request, Scope, Sweep, testing};
use tiermark_probes::os;
use tiermark_sim::{SimHost, SimOptions};

fn info(id: &str, group: OsGroup, sweeps: Vec<Sweep>) -> PrimitiveInfo {
    PrimitiveInfo {
        id: id.into(),
        group,
        metric: Metric::Latency,
        text: String::new(),
        here: None,
        sweeps,
        refusal: None,
    }
}

/// The plan within so much memory.
fn plan(max_mem: u64) -> Plan {
    let primitives = vec![
        info("getppid", OsGroup::Syscalls, Vec::new()),
        info("fork+exit", OsGroup::Processes, vec![Sweep::Resident(vec![64 * MIB, MIB])]),
        info("fork+exit written", OsGroup::Processes, vec![Sweep::Bytes(vec![64 * MIB])]),
        info("fault anonymous", OsGroup::Faults, vec![Sweep::Pages(vec![PageKind::Base, PageKind::Thp])]),
    ];
    let host = SimHost::new(Synth::default().machine().unwrap(), Vec::new(), SimOptions::default());
    let host = host.with_primitives(primitives);
    let scope = Scope { max_mem: Some(Bytes(max_mem)), ..Scope::default() };
    let request = Request { scope, seed: 3, ..testing::request("os") };
    os::PROBE.plan(&request, host.lab()).unwrap()
}

#[test]
fn what_does_not_fit_is_left_out_and_said() {
    let of = |plan: &Plan, op: &str| plan.steps.iter().filter(|step| step.labels.op() == Some(op)).count();
    let refused = |plan: &Plan| plan.refused.iter().map(|refusal| refusal.what.clone()).collect::<Vec<_>>();
    let much = plan(1 << 30);
    assert_eq!((of(&much, "fork+exit"), of(&much, "fork+exit written"), of(&much, "fault anonymous")), (2, 1, 2));
    let left_out =
        |plan: &Plan| plan.rules.iter().any(|rule| rule.code == tiermark_model::messages::rules::codes::left_out_of);
    assert!(much.refused.is_empty() && !left_out(&much), "{:?}", much.rules);
    // 2 x 64 MiB do not fit: one point less of the one, none of the other.
    let some = plan(100 * MIB);
    assert_eq!((of(&some, "fork+exit"), of(&some, "fork+exit written"), of(&some, "fault anonymous")), (1, 0, 2));
    assert_eq!(refused(&some), ["fork+exit written"]);
    assert!(some.rules.iter().any(|rule| rule.code == codes::left_out_of && rule.text.contains("--max-mem")));
    // Faults touch tens of MiB, although none of their points says so.
    let little = plan(20 * MIB);
    assert_eq!((of(&little, "getppid"), of(&little, "fork+exit"), of(&little, "fault anonymous")), (1, 1, 0));
    assert_eq!(refused(&little), ["fork+exit written", "fault anonymous"]);
    assert!(little.refused.iter().all(|refusal| refusal.cure.starts_with("allow more with --max-mem")));
}
