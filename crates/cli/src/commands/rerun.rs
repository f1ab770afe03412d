//! `tiermark rerun`: the requests of a saved run, made again on this machine.

use tiermark_engine::admit::admit_node;
use tiermark_model::messages::plan;
use tiermark_model::{Exit, Experiment, Machine, Numbering, Refusal, Request, Run, resolve_cpus};
use tiermark_session::Asked;

use crate::args::{RerunArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::{Failure, tell};
use crate::parse::MostMemory;
use crate::saved::{Kept, SavedDocument};

/// Runs the command.
pub(crate) fn run(args: &RerunArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let saved = match SavedDocument::load(&args.run)? {
        SavedDocument::Run(run) => run,
        SavedDocument::Other(kept) => return Err(other(&args.run, &kept)),
    };
    if saved.experiments.is_empty() {
        return Err(Failure::usage(format!("'{}' has no experiment that could be measured again", args.run)));
    }
    if !args.result.quiet {
        notes(&saved, simulation).iter().for_each(|note| tell(format_args!("tiermark: note: {note}")));
    }
    let mut run_args = args.run_args();
    run_args.place.control.seed = args.control.seed.or(Some(saved.seed));
    run_args.place.max_mem =
        saved.experiments.iter().filter_map(|e| e.request.scope.max_mem).max().map(MostMemory::Bytes);
    let requests = |machine: &Machine, _| -> Result<Vec<Asked>, Failure> {
        Ok(saved.experiments.iter().map(|e| asked(e, args.control.seed, &saved, machine)).collect())
    };
    let (title, plan) = (&saved.title, saved.plan.clone());
    measure::run(&Job { title, args: &run_args, simulation, requests: &requests, exports: Vec::new(), plan })
}

/// A saved request as it is made now: with another seed if one is given, refused where this machine lacks what it
/// names.
fn asked(saved: &Experiment, seed: Option<u64>, run: &Run, machine: &Machine) -> Asked {
    let request = Request { seed: seed.unwrap_or(saved.request.seed), ..saved.request.clone() };
    let refusal = refusal(saved, run, machine);
    (request, refusal)
}

/// Why a saved request cannot be made here at all.
fn refusal(saved: &Experiment, run: &Run, machine: &Machine) -> Option<Refusal> {
    let request = &saved.request;
    if tiermark_probes::find(&request.probe).is_none() {
        return Some(plan::probe_unknown(&request.probe));
    }
    // A part that its machine lacked was never resolved to cpus and nodes: the saved scope is not the plan's.
    let was_refused = saved.plan.steps.is_empty() && saved.observations.is_empty();
    if let Some(part) = request.part.as_ref().filter(|_| was_refused) {
        return Some(plan::request_not_saved(&part.command, &run.title));
    }
    let scope = &request.scope;
    let cpus = scope.cpus.as_ref().map(|cpus| resolve_cpus(&cpus.to_string(), Numbering::Os, machine).map(|_| ()));
    let node = scope.mem_node.map(|node| admit_node(node, machine));
    let lacks = [cpus, node].into_iter().flatten().find_map(Result::err)?;
    Some(plan::saved_place_missing(&lacks.what, &lacks.why, &command(&run.command)))
}

/// Differences from the saved run that affect the new numbers.
fn notes(saved: &Run, simulation: &Simulation) -> Vec<String> {
    let mut notes = Vec::new();
    if saved.stopped {
        notes.push("the saved run was stopped: experiments that it had not begun are not measured".to_owned());
    }
    if let (Some(tree), None) = (&saved.simulated, &simulation.simulate) {
        let tree = tiermark_model::shell_word(tree);
        notes
            .push(format!("the saved run is of a simulated machine (--simulate {tree}), this one of the machine here"));
    }
    for experiment in &saved.experiments {
        let probe = &experiment.request.probe;
        let method = tiermark_probes::find(probe).map_or(experiment.method, |found| found.method);
        let note = format!(
            "the method of {probe} is version {method}, in the document {}: its numbers differ",
            experiment.method
        );
        if method != experiment.method && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Why a document of tenants or of load is not measured again.
fn other(reference: &str, kept: &Kept) -> Failure {
    let (of, cure) = match kept {
        Kept::Capacity(run) => {
            ("tenants", format!("tiermark capacity --scenario {}", tiermark_model::shell_word(&run.scenario)))
        }
        Kept::Load(run) => ("load on servers", command(&run.command)),
    };
    Failure::usage(format!(
        "'{reference}' is a document of {of}, rerun is for runs of probes; give its command again: `{cure}`"
    ))
}

/// A saved command line as it is typed.
fn command(arguments: &[String]) -> String {
    let words = arguments.iter().skip(1).map(|argument| tiermark_model::shell_word(argument));
    ["tiermark".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
