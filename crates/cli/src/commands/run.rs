//! `tiermark run`: a plan, from its first experiment to its last.

use serde_json::Value;
use tiermark_model::{Effort, Exit, Machine, PlanPage, PlanPart, Request, Scope};
use tiermark_probes::matrix::Origin;

use crate::args::{Command, PlaceArgs, PlanRunArgs, Simulation};
use crate::measure::{self, Asked, Export, Job};
use crate::output::Failure;
use crate::plans::{self, Planned};

/// Runs the command.
pub(crate) fn run(args: &PlanRunArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut plan = plans::load(&args.plan)?;
    let exports = exports(args, &plan.experiments)?;
    for experiment in &mut plan.experiments {
        if let Some(place) = experiment.command.place_mut() {
            inherit(place, &args.run.place);
        }
    }
    let requests = |machine: &Machine, seed: u64| -> Result<Vec<Asked>, Failure> {
        let mut all = Vec::new();
        for experiment in &plan.experiments {
            let mut asked = match super::requests(&experiment.command, machine, seed) {
                Ok(requests) => measure::asked(requests),
                // What this machine lacks takes one experiment and not the plan.
                Err(Failure::Refused(refusal)) => {
                    let refusal = measure::of_a_plan(refusal, &args.run.place);
                    vec![(nothing(&experiment.probe, seed), Some(refusal))]
                }
                Err(failure) => return Err(failure),
            };
            let part = PlanPart { command: experiment.line.clone(), note: experiment.note.clone() };
            asked.iter_mut().for_each(|(request, _)| request.part = Some(part.clone()));
            all.extend(asked);
        }
        Ok(all)
    };
    let job = Job { title: &plan.name, args: &args.run, simulation, requests: &requests, share_time: true };
    let page = PlanPage { title: plan.title.clone(), about: plan.about.trim().to_owned() };
    measure::run_plan(&job, &exports, page)
}

/// What is written beside the document, of experiments that the plan has.
fn exports<'a>(args: &'a PlanRunArgs, experiments: &[Planned]) -> Result<Vec<Export<'a>>, Failure> {
    let lacks = |option: &str, what: &str| Failure::usage(format!("--{option}: plan {} has no {what}", args.plan));
    let mut exports = Vec::new();
    if let Some(place) = args.csv.as_deref() {
        if !experiments.iter().any(|e| matches!(e.command, Command::LoadedLatency(_))) {
            return Err(lacks("csv", "experiment of loaded latency, whose curves it would hold"));
        }
        exports.push(Export {
            option: "csv",
            place,
            text: &tiermark_report::mess,
            doubts: tiermark_report::mess_doubts,
        });
    }
    if let Some(place) = args.hmat.as_deref() {
        let pairs = |command: &Command| matches!(command, Command::Matrix(args) if args.from == Origin::Node);
        if !experiments.iter().any(|e| pairs(&e.command)) {
            return Err(lacks("hmat", "matrix of nodes, whose pairs it would hold"));
        }
        exports.push(Export { option: "hmat", place, text: &tiermark_report::hmat, doubts: |_| None });
    }
    Ok(exports)
}

/// What an experiment does not say is as the whole run was told.
fn inherit(own: &mut PlaceArgs, run: &PlaceArgs) {
    own.cpus = own.cpus.take().or_else(|| run.cpus.clone());
    own.cpu_node = own.cpu_node.take().or_else(|| run.cpu_node.clone());
    own.mem_node = own.mem_node.take().or_else(|| run.mem_node.clone());
    if own.pages.is_empty() {
        own.pages.clone_from(&run.pages);
    }
    own.max_mem = own.max_mem.or(run.max_mem);
    own.precision = own.precision.or(run.precision);
}

/// The request that an experiment would have made.
fn nothing(probe: &str, seed: u64) -> Request {
    let scope = Scope::default();
    Request {
        probe: probe.to_owned(),
        scope,
        effort: Effort::Standard,
        precision: None,
        seed,
        params: Value::Null,
        part: None,
    }
}
