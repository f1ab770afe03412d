//! `tiermark run`: a plan, from its first experiment to its last.

use std::collections::BTreeSet;

use tiermark_model::messages::files as says;
use tiermark_model::{Exit, IdSet, Machine, PlanPage, PlanPart, Scope};
use tiermark_session::Asked;

use crate::args::{PlaceArgs, PlanRunArgs, Simulation};
use crate::layouts::{Export, MESS};
use crate::measure::{self, Job};
use crate::output::Failure;
use crate::parse::NodeChoice;
use crate::plans::{self, Planned};

/// Runs the command.
pub(crate) fn run(args: &PlanRunArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut plan = plans::load(&args.plan, &args.settings.given())?;
    let exports = exports(args, &plan.experiments)?;
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    for experiment in &mut plan.experiments {
        taken.extend(inherit(&mut experiment.measure.run.place, &args.run.place));
    }
    if let Some(option) = given(&args.run.place).into_iter().find(|option| !taken.contains(option)) {
        let fault = says::experiments_have_their_own();
        return Err(Failure::usage(format!("--{option}: plan {}: {fault}", args.plan)));
    }
    let requests = |machine: &Machine, seed: u64| -> Result<Vec<Asked>, Failure> {
        let mut all = Vec::new();
        for experiment in &plan.experiments {
            let mut asked = match experiment.measure.requests(machine, seed) {
                Ok(requests) => measure::asked(requests),
                // If this machine lacks something, one experiment is refused, not the plan.
                Err(Failure::Refused(refusal)) => {
                    let refusal = tiermark_session::of_a_part(refusal, &measure::given(&args.run.place));
                    vec![(experiment.measure.request(Scope::default(), seed), Some(refusal))]
                }
                Err(failure) => return Err(failure),
            };
            for (request, _) in &mut asked {
                let command = of_a_pair(&experiment.line, &request.scope, machine);
                request.part = Some(PlanPart { command, note: experiment.note.clone() });
            }
            all.extend(asked);
        }
        Ok(all)
    };
    let page = PlanPage {
        title: plan.title.clone(),
        about: plan.about.trim().to_owned(),
        machine: plan.machine,
        published: plan.published.clone(),
    };
    let (title, plan) = (&plan.name, Some(page));
    measure::run(&Job { title, args: &args.run, simulation, requests: &requests, exports, plan })
}

/// The command of an experiment; where that measures each pair of nodes, the command of the pair in this scope.
fn of_a_pair(line: &str, scope: &Scope, machine: &Machine) -> String {
    let from = scope.cpus.as_ref().and_then(IdSet::first).and_then(|cpu| machine.node_of(cpu));
    match (from, scope.mem_node) {
        (Some(from), Some(to)) => line.replace("--mem-node each", &format!("--cpu-node {from} --mem-node {to}")),
        (None, Some(to)) => line.replace("--mem-node each", &format!("--mem-node {to}")),
        _ => line.to_owned(),
    }
}

/// Files to write beside the document, of experiments that the plan has.
fn exports<'a>(args: &'a PlanRunArgs, experiments: &[Planned]) -> Result<Vec<Export<'a>>, Failure> {
    let Some(place) = args.csv.as_deref() else { return Ok(Vec::new()) };
    if experiments.iter().any(|experiment| experiment.measure.writes(&MESS)) {
        return Ok(vec![Export { layout: &MESS, place }]);
    }
    Err(Failure::usage(format!(
        "--{}: plan {} has no experiment of loaded latency, whose curves it would hold",
        MESS.name, args.plan
    )))
}

/// The options of a run that its experiments may also set themselves, as far as they are given.
fn given(run: &PlaceArgs) -> Vec<&'static str> {
    let all = [
        ("cpus", run.cpus.is_some()),
        ("cpu-node", run.cpu_node.is_some()),
        ("mem-node", run.mem_node.is_some()),
        ("memory", run.memory.is_some()),
        ("pages", !run.pages.is_empty()),
        ("max-mem", run.max_mem.is_some()),
        ("precision", run.precision.is_some()),
        ("seconds", run.seconds.is_some()),
    ];
    all.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
}

/// Options that an experiment does not set are those of the whole run; returns those that it took. Memory of each node
/// gives way to that of named ones.
fn inherit(own: &mut PlaceArgs, run: &PlaceArgs) -> Vec<&'static str> {
    let mut taken = given(run);
    let mut take = |option: &str, is_free: bool| {
        taken.retain(|given| is_free || *given != option);
        is_free
    };
    if take("cpus", own.cpus.is_none()) {
        own.cpus.clone_from(&run.cpus);
        own.logical = run.logical;
    }
    if take("cpu-node", own.cpu_node.is_none()) {
        own.cpu_node.clone_from(&run.cpu_node);
    }
    let is_each = own.mem_node == Some(NodeChoice::Each) && run.mem_node.is_some();
    if take("mem-node", own.mem_node.is_none() || is_each) {
        own.mem_node.clone_from(&run.mem_node);
    }
    if take("memory", own.memory.is_none()) {
        own.memory.clone_from(&run.memory);
        own.read_only = run.read_only;
    }
    if take("pages", own.pages.is_empty()) {
        own.pages.clone_from(&run.pages);
    }
    if take("max-mem", own.max_mem.is_none()) {
        own.max_mem = run.max_mem;
    }
    if take("precision", own.precision.is_none()) {
        own.precision = run.precision;
    }
    if take("seconds", own.seconds.is_none()) {
        own.seconds = run.seconds;
    }
    taken
}
