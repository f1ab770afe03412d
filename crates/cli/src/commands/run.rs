//! `tiermark run`: a plan, from its first experiment to its last.

use tiermark_model::{Exit, IdSet, Machine, PlanPage, PlanPart, Scope};
use tiermark_session::Asked;

use crate::args::{PlaceArgs, PlanRunArgs, Simulation};
use crate::layouts::{Export, MESS};
use crate::measure::{self, Job};
use crate::output::Failure;
use crate::plans::{self, Planned};

/// Runs the command.
pub(crate) fn run(args: &PlanRunArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut plan = plans::load(&args.plan)?;
    let exports = exports(args, &plan.experiments)?;
    for experiment in &mut plan.experiments {
        inherit(&mut experiment.measure.run.place, &args.run.place);
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

/// Options that an experiment does not set are those of the whole run.
fn inherit(own: &mut PlaceArgs, run: &PlaceArgs) {
    if own.cpus.is_none() {
        own.cpus.clone_from(&run.cpus);
        own.logical = run.logical;
    }
    own.cpu_node = own.cpu_node.take().or_else(|| run.cpu_node.clone());
    own.mem_node = own.mem_node.take().or_else(|| run.mem_node.clone());
    if own.memory.is_none() {
        own.memory.clone_from(&run.memory);
        own.read_only = run.read_only;
    }
    if own.pages.is_empty() {
        own.pages.clone_from(&run.pages);
    }
    own.max_mem = own.max_mem.or(run.max_mem);
    own.precision = own.precision.or(run.precision);
    own.seconds = own.seconds.or(run.seconds);
}
