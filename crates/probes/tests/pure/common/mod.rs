//! Probes on simulated machines, and what they find there.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use tiermark_engine::{Probe, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{
    Effort, Experiment, Finding, KIB, KernelInfo, Label, Labels, MIB, Machine, Request, Scope, testing,
};
use tiermark_sim::{Ceilings, SimCore, SimHost, SimOptions};

/// Seeds of noise under which every number must come out.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    1..1 + testing::seeds(2)
}

/// Two sockets.
pub(crate) fn server(cores: u32, smt: u32) -> Machine {
    Synth { sockets: 2, cores_per_node: cores, cores_per_llc: cores, smt, node_bytes: 32 << 30, ..Synth::default() }
        .machine()
        .unwrap()
}

/// Only plain kernels and their portable twins: what the compiler's target has is not the question here.
pub(crate) fn kernels() -> Vec<KernelInfo> {
    tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect()
}

pub(crate) fn request(probe: &str, effort: Effort, seed: u64, params: serde_json::Value) -> Request {
    Request { effort, seed, params, ..testing::request(probe) }
}

pub(crate) fn run(probe: &Probe, machine: &Machine, request: &Request, ceilings: Ceilings) -> Experiment {
    let options = SimOptions { seed: request.seed, noise: 0.005, ceilings, ..SimOptions::default() };
    let mut host = SimHost::new(machine.clone(), kernels(), options);
    run_experiment(probe, request, &mut host, &mut ()).unwrap()
}

/// Whether a finding is of a quantity and has these words as labels.
pub(crate) fn fits(finding: &Finding, metric: &str, labels: &[(&str, &str)]) -> bool {
    let word = |(name, word): &(&str, &str)| Labels::new().with_named(name, Label::Text((*word).to_owned()));
    finding.quantity.name() == metric && labels.iter().all(|label| finding.labels.include(&word(label)))
}

pub(crate) fn found<'a>(experiment: &'a Experiment, metric: &str, labels: &[(&str, &str)]) -> &'a Finding {
    let mut fitting = experiment.findings.iter().filter(|finding| fits(finding, metric, labels));
    fitting.next().unwrap_or_else(|| panic!("no {metric} {labels:?}: {:#?}", experiment.findings))
}

/// Two cores that declare 48 KiB, 1.25 MiB and 40 MiB, whatever they have.
pub(crate) fn two_cores(options: SimOptions) -> SimHost {
    let synth = Synth {
        cores_per_node: 2,
        cores_per_llc: 2,
        smt: 1,
        l1_bytes: 48 * KIB,
        l2_bytes: 1280 * KIB,
        l3_bytes: 40 * MIB,
        ..Synth::default()
    };
    SimHost::new(synth.machine().unwrap(), kernels(), options)
}

/// What a probe finds on them.
pub(crate) fn findings(
    probe: &Probe,
    params: serde_json::Value,
    effort: Effort,
    core: SimCore,
    seed: u64,
) -> Vec<Finding> {
    let options = SimOptions { seed, noise: 0.005, core, ..SimOptions::default() };
    let mut host = two_cores(options);
    let scope = Scope { max_seconds: Some(600.0), ..Scope::default() };
    let request = Request { scope, effort, seed, params, ..testing::request(probe.id) };
    run_experiment(probe, &request, &mut host, &mut ()).unwrap().findings
}
