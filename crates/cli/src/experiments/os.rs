//! `tiermark os`.

use clap::Args;
use tiermark_model::{Machine, PrimitiveInfo, Sweep};
use tiermark_probes::os::{self, OsParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::{PlaceArgs, RunArgs};
use crate::output::Failure;
use crate::parse::{self, Chosen};

pub(super) const ROW: ProbeCommand = ProbeCommand { examples: EXAMPLES, ..ProbeCommand::with::<OsArgs>(&os::PROBE) };

const EXAMPLES: &str = "\
Takes about 90 s on two cpus (20 s with --quick, 5 minutes with --full), and more on machines with many cpus and nodes.
The report begins with ten well-known numbers by the names of lmbench.
Examples:
  tiermark os
  tiermark os --quick
  tiermark os --only syscalls,pipe          (groups and primitives: tiermark list primitives)
  tiermark os --only fork+exit --full --max-mem 16G
  tiermark os --only fork                   (all whose names begin so)";

/// Arguments of `os`.
#[derive(Debug, Args)]
struct OsArgs {
    /// Groups or primitives, such as syscalls,fork [default: all]
    ///
    /// Groups are syscalls, processes, switches, channels, faults, numa, libc and arithmetic; a prefix selects all
    /// names that start with it.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::primitive)]
    only: Vec<Chosen>,
}

impl Experiment for OsArgs {
    fn params(&self, _place: &PlaceArgs, machine: &Machine) -> Params {
        params(OsParams { only: only(self, &tiermark_primitives::primitives(machine)) })
    }

    fn check(&self, run: &RunArgs, machine: &Machine) -> Result<Vec<String>, Failure> {
        if !run.result.format.is_text() {
            return Err(Failure::usage(
                "--format mlc and --format stream have no layout for numbers of the operating system; leave --format \
                 out, or write the document with --json",
            ));
        }
        let known = tiermark_primitives::primitives(machine);
        takes_page(self, &run.place, &known)?;
        Ok(self.only.iter().filter_map(|chosen| described(chosen, &known)).collect())
    }
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

/// The names that a prefix stands for: a group with this prefix includes its primitives.
fn names(chosen: &Chosen, known: &[PrimitiveInfo]) -> Vec<&'static str> {
    let group_name = |name: &str| known.iter().find(|info| info.id.0 == name).map(|info| info.group.name());
    chosen
        .names
        .iter()
        .filter(|name| group_name(name).is_none_or(|group| !chosen.names.contains(&group)))
        .copied()
        .collect()
}

/// Which names a beginning stands for, where it is of several.
fn described(chosen: &Chosen, known: &[PrimitiveInfo]) -> Option<String> {
    let names = names(chosen, known);
    let asked = chosen.asked.to_lowercase();
    (names.len() > 1).then(|| format!("tiermark: --only {asked}: {}", names.join(", ")))
}

/// Checks that a primitive of the request is measured by the requested page size.
fn takes_page(args: &OsArgs, place: &PlaceArgs, all: &[PrimitiveInfo]) -> Result<(), Failure> {
    let Some(page) = place.pages.first() else { return Ok(()) };
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
        "--pages {page} has no effect: no primitive of {} is measured by page size; leave --pages out, or select one \
            that is: {}",
        only.join(", "),
        names.join(", ")
    )))
}
