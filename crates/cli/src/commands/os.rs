//! `tiermark os`.

use tiermark_model::{Exit, Machine, PrimitiveInfo, Request, Sweep};
use tiermark_probes::os::OsParams;

use crate::args::{Format, OsArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::{Failure, tell};
use crate::parse::Chosen;

/// Runs the command. What would be taken without effect is a mistake here; in a plan, whose options are for all its experiments, it is none.
pub(crate) fn run(args: &OsArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if args.run.result.format == Format::Mlc {
        return Err(Failure::usage(
            "--format mlc has no block for what the operating system takes; leave it out, or take the document with --json",
        ));
    }
    let requests = |machine: &Machine, seed| {
        let known = tiermark_host::primitives(machine);
        if !args.run.result.quiet {
            args.only.iter().filter_map(|chosen| told(chosen, &known)).for_each(tell);
        }
        takes_page(args, &known)?;
        requests(args, machine, seed).map(measure::asked)
    };
    measure::run(&Job { title: "os", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &OsArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = serde_json::to_value(OsParams { only: only(args, &tiermark_host::primitives(machine)) })
        .map_err(Failure::tool)?;
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("os", &args.run.place, args.how.effort(), &scope, seed, params))
}

/// Groups and primitives by their whole names, each once.
fn only(args: &OsArgs, known: &[PrimitiveInfo]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in args.only.iter().flat_map(|chosen| names(chosen, known)) {
        if !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    }
    all
}

/// What a beginning stands for: a group that begins so has its primitives with it.
fn names(chosen: &Chosen, known: &[PrimitiveInfo]) -> Vec<&'static str> {
    let of = |name: &str| known.iter().find(|info| info.id.0 == name).map(|info| info.group.name());
    chosen.names.iter().filter(|name| of(name).is_none_or(|group| !chosen.names.contains(&group))).copied().collect()
}

/// Which names a beginning stands for, where it is of several.
fn told(chosen: &Chosen, known: &[PrimitiveInfo]) -> Option<String> {
    let names = names(chosen, known);
    let asked = chosen.asked.to_lowercase();
    (names.len() > 1).then(|| format!("tiermark: --only {asked}: {}", names.join(", ")))
}

/// That a page size asked for is one of something.
fn takes_page(args: &OsArgs, all: &[PrimitiveInfo]) -> Result<(), Failure> {
    let Some(page) = args.run.place.pages.first() else { return Ok(()) };
    let only = only(args, all);
    let by_page = |info: &&PrimitiveInfo| info.sweeps.iter().any(|sweep| matches!(sweep, Sweep::Pages(_)));
    let asked = |info: &&PrimitiveInfo| {
        only.is_empty() || only.iter().any(|name| *name == info.id.0 || name == info.group.name())
    };
    if all.iter().filter(asked).any(|info| by_page(&info)) {
        return Ok(());
    }
    let names: Vec<&str> = all.iter().filter(by_page).map(|info| info.id.0.as_str()).collect();
    Err(Failure::usage(format!(
        "--pages {page}: nothing of {} is measured by page size; leave it out, or ask for some that are: {}",
        only.join(", "),
        names.join(", ")
    )))
}
