//! The catalogue of experiments: commands of one probe. The options of a command are the parameters of its probe
//! (`…Params` there). A command that has further options is a file here.

mod command;
mod loaded;
mod matrix;
mod os;
mod rows;
mod survey;

use clap::{Arg, ArgMatches, Command, FromArgMatches, Subcommand};
use serde_json::{Value, json};
use tiermark_engine::Subject;
use tiermark_model::{Effort, Exit, Machine, PageKind, Request, Run, Scope};

use crate::args::{PlaceArgs, RunArgs, Simulation};
use crate::layouts::{Export, Layout};
use crate::measure::{self, Ended, Job};
use crate::output::{Failure, tell};
use crate::parse::NodeChoice;
use crate::scope::scopes;
use command::{Experiment, How, ProbeCommand};

/// Every experiment, in the order of help, completions and man pages.
static EXPERIMENTS: [&ProbeCommand; 15] = [
    &survey::ROW,
    &rows::LATENCY,
    &rows::BANDWIDTH,
    &loaded::ROW,
    &rows::SCALE,
    &matrix::ROW,
    &rows::C2C,
    &rows::GEOMETRY,
    &rows::TLB,
    &rows::MLP,
    &rows::GRANULARITY,
    &rows::RESIDENCY,
    &rows::SCAN,
    &rows::SOAK,
    &os::ROW,
];

/// The names of the experiments on a subject.
pub(crate) fn names(subject: Subject) -> Vec<&'static str> {
    let probes = EXPERIMENTS.iter().map(|row| row.probe);
    probes.filter(|probe| probe.subject == subject).map(|probe| probe.id).collect()
}

/// An option that a probe defines, by its long name.
pub(crate) fn option(long: &str) -> Option<Arg> {
    let defined = EXPERIMENTS.iter().map(|row| (row.define)(Command::new(row.probe.id)));
    defined
        .flat_map(|command| command.get_arguments().cloned().collect::<Vec<_>>())
        .find(|a| a.get_long() == Some(long))
}

/// A command of one probe, as it was typed or as a plan has it.
#[derive(Debug)]
pub(crate) struct Measure {
    probe: &'static str,
    own: Box<dyn Experiment>,
    how: How,
    /// Where to measure, and where the results go.
    pub(crate) run: RunArgs,
}

impl Measure {
    /// Runs the command.
    ///
    /// # Errors
    /// A [`Failure`] for whatever ends it before there is a result.
    pub(crate) fn run(&self, simulation: &Simulation) -> Result<Exit, Failure> {
        self.conduct(simulation, true).map(|ended| ended.exit)
    }

    /// Runs the command, and prints its report if that is wanted.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn conduct(&self, simulation: &Simulation, report: bool) -> Result<Ended, Failure> {
        let requests = |machine: &Machine, seed| {
            let remarks = self.own.check(&self.run, machine)?;
            if !self.run.result.quiet {
                remarks.iter().for_each(tell);
            }
            self.requests(machine, seed).map(measure::asked)
        };
        let exports = self.own.exports().into_iter();
        let exports = exports.filter_map(|(layout, place)| place.map(|place| Export { layout, place })).collect();
        let job = Job { title: self.probe, args: &self.run, simulation, requests: &requests, exports, plan: None };
        measure::conduct(&job, report)
    }

    /// The requests to the probe: one for each of its parameters, each pair of nodes where all are asked for, and each
    /// page size where there are several and the probe does not compare them itself.
    ///
    /// # Errors
    /// A [`Failure`] for options that this machine cannot meet.
    pub(crate) fn requests(&self, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
        let place = &self.run.place;
        let mut requests = Vec::new();
        for scope in scopes(&self.own.scope(place), machine)? {
            let all = self.own.params(place, machine).map_err(Failure::tool)?;
            let request = |params: Value| Request { params, ..self.request(scope.clone(), seed) };
            requests.extend(all.into_iter().flat_map(|params| by_page(request(params), place)));
        }
        requests.extend(requests.last().and_then(|last| self.own.then(last)));
        Ok(requests)
    }

    /// A request to the probe with its defaults.
    pub(crate) fn request(&self, scope: Scope, seed: u64) -> Request {
        Request {
            probe: self.probe.to_owned(),
            scope,
            effort: self.effort(),
            precision: self.run.place.precision,
            seed,
            params: Value::Null,
            part: None,
        }
    }

    /// Whether it can write a layout.
    pub(crate) fn writes(&self, layout: &Layout<Run>) -> bool {
        self.own.exports().iter().any(|(own, _)| own.name == layout.name)
    }

    /// Nodes with memory without which there is nothing to measure.
    pub(crate) fn nodes_needed(&self) -> usize {
        let named = match &self.run.place.mem_node {
            Some(NodeChoice::Far) => 2,
            Some(NodeChoice::These(nodes)) => nodes.len(),
            Some(NodeChoice::Each) | None => 1,
        };
        named.max(self.own.nodes_needed())
    }

    /// How far to go.
    pub(crate) fn effort(&self) -> Effort {
        match (self.how.quick, self.how.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Standard,
        }
    }
}

/// A request once for each page size, where there are several. A probe that compares page sizes has them among its
/// parameters.
fn by_page(mut request: Request, place: &PlaceArgs) -> Vec<Request> {
    let pages = place.compared_pages();
    if let Some(compared) = request.params.get_mut("pages") {
        *compared = json!(pages);
        return vec![request];
    }
    if pages.is_empty() {
        return vec![request];
    }
    let with =
        |page: PageKind| Request { scope: Scope { page: Some(page), ..request.scope.clone() }, ..request.clone() };
    pages.into_iter().map(with).collect()
}

impl Subcommand for Measure {
    fn augment_subcommands(command: Command) -> Command {
        EXPERIMENTS.iter().fold(command, |command, row| command.subcommand(row.command()))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        EXPERIMENTS.iter().any(|row| row.probe.id == name)
    }
}

impl FromArgMatches for Measure {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, own)| {
            let row = EXPERIMENTS.iter().find(|row| row.probe.id == name)?;
            Some((row, own))
        });
        let (row, own) = chosen.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))?;
        Ok(Self {
            probe: row.probe.id,
            own: (row.read)(own)?,
            how: How::from_arg_matches(own)?,
            run: RunArgs::from_arg_matches(own)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_has_its_command() {
        let mut probes: Vec<&str> = tiermark_probes::all().iter().map(|probe| probe.id).collect();
        let mut commands: Vec<&str> = EXPERIMENTS.iter().map(|row| row.probe.id).collect();
        probes.sort_unstable();
        commands.sort_unstable();
        assert_eq!(probes, commands);
        for row in EXPERIMENTS {
            let about = row.command().get_about().map(ToString::to_string);
            assert_eq!(about.as_deref(), Some(row.probe.summary));
        }
    }
}
