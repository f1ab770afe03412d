//! The checks before a run: changes of a killed run are taken back, and everything that would prevent this one is
//! reported at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tiermark_capacity::cost::Prices;
use tiermark_capacity::run::{self, Admission, WHAT, admit};
use tiermark_capacity::saved::{Pending, RunHeader, RunSetup, SavedRun, unfinished};
use tiermark_capacity::scenario::{Backend, Scenario};
use tiermark_machine::Root;
use tiermark_model::messages::capacity as messages;
use tiermark_model::messages::undo::no_journal_directory;
use tiermark_model::{ChangeRow, Refusal};
use tiermark_undo::{Restored, RootWriter, StateDir, pending, restore_those};

use super::asked::{asked, environment, programs, setup};
use super::scenario;
use crate::args::CapacityArgs;
use crate::busy::{Watch, disturbs_tenants};
use crate::output::{Failure, tell};
use crate::{environment, restoring, sanitise, target};

/// A run that can begin.
pub(super) struct Begun {
    /// The run and its file.
    pub(super) saved: SavedRun,
    /// Prices: mistakes in them are reported before hours of measuring.
    pub(super) prices: Option<Prices>,
    /// Other work on the cpus; `None` where the system does not say.
    pub(super) watch: Option<Watch>,
}

/// Checks everything, and begins or opens the file of the run.
pub(super) fn begin(args: &CapacityArgs) -> Result<Begun, Failure> {
    if let Some(file) = &args.resume {
        let file = match file {
            Some(file) => file.clone(),
            None => unfinished(&directory()?)?,
        };
        let saved = SavedRun::open(&file, args.trust)?;
        // Whoever trusts a file of another user is shown what it will run, with --quiet too.
        if args.trust || !args.quiet {
            for line in programs(&saved.begun.scenario, &saved.begun.setup) {
                tell(format_args!("tiermark: {line}"));
            }
        }
        let (prices, watch) = may_begin(args, &saved.pending())?;
        return Ok(Begun { saved, prices, watch });
    }
    let (scenario, setup) = (asked(args)?, setup(args)?);
    let (prices, watch) = may_begin(args, &Pending::all(&scenario, &setup))?;
    let (started, id) = environment::started_and_id();
    let seed = scenario.seed.unwrap_or_else(environment::random);
    let saved = SavedRun::create(&directory()?, &id, RunHeader::new(started, seed, scenario, setup))?;
    Ok(Begun { saved, prices, watch })
}

/// Whether the run can begin on the machine once the changes of a killed run are taken back, beside the work of others.
fn may_begin(args: &CapacityArgs, pending: &Pending<'_>) -> Result<(Option<Prices>, Option<Watch>), Failure> {
    let Pending { scenario, setup, .. } = pending;
    let prices = prices(scenario);
    let changes = scenario.backend != Backend::External || setup.commands.stop.is_some();
    // Missing rights and mistakes in prices are refused below, whatever changes are in effect.
    if prices.is_ok() && changes && (scenario.backend == Backend::External || is_root()) {
        take_back(&state()?, args.quiet)?;
    }
    let checks = Checks::run(args, pending, prices)?;
    if let Some(failure) = checks.wrong() {
        return Err(failure);
    }
    let watch = Watch::begin(&target::this_machine()?.allowed_cpus, is_forced(args, setup), disturbs_tenants)?;
    Ok((checks.prices, watch))
}

/// Whether the run begins beside any other work: it was begun so, or is resumed so.
fn is_forced(args: &CapacityArgs, setup: &RunSetup) -> bool {
    args.force || setup.force
}

/// The prices of a scenario that names a file of them, or the mistakes in it.
pub(super) fn prices(scenario: &Scenario) -> Result<Option<Prices>, Vec<String>> {
    scenario.prices.as_deref().map(scenario::prices).transpose()
}

/// Results of the checks before a run, which change nothing.
pub(super) struct Checks {
    /// Whether the machine has what the run needs.
    pub(super) admission: Admission,
    /// Prices, where there is a file of them that makes sense.
    prices: Option<Prices>,
    /// Mistakes in that file.
    mistakes: Vec<String>,
}

impl Checks {
    /// Checks a run of these tiers; `reached` are servers elsewhere that hold this run's keys.
    pub(super) fn run(
        args: &CapacityArgs,
        pending: &Pending<'_>,
        prices: Result<Option<Prices>, Vec<String>>,
    ) -> Result<Self, Failure> {
        let (state, stop) = (state()?, AtomicBool::new(false));
        let environment = environment(args, pending.scenario, &state, &stop)?;
        let host = run::RunHost { root: &Root::live(), privileged: is_root() };
        let (prices, mistakes) = prices.map_or_else(|mistakes| (None, mistakes), |prices| (prices, Vec::new()));
        Ok(Self { admission: admit(pending, &environment, &host), prices, mistakes })
    }

    /// Everything that is wrong; `None` where the run can be made.
    pub(super) fn wrong(&self) -> Option<Failure> {
        let refused: Vec<Refusal> = self.admission.refusals().cloned().collect();
        let is_right = self.mistakes.is_empty() && refused.is_empty();
        (!is_right).then(|| Failure::Wrong(self.mistakes.clone(), refused))
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where runs are saved while they go on.
pub(super) fn directory() -> Result<PathBuf, Refusal> {
    environment::capacity_runs().directory().map(Path::to_owned).ok_or_else(messages::no_run_directory)
}

pub(super) fn state() -> Result<StateDir, Refusal> {
    environment::state().ok_or_else(no_journal_directory)
}

/// Takes back the changes of a killed run of this kind.
fn take_back(state: &StateDir, quiet: bool) -> Result<(), Failure> {
    let root = Root::live();
    let held = pending(state, &root).into_iter().filter(|held| held.what.starts_with(WHAT));
    restoring::announce_commands(&held.collect::<Vec<_>>());
    let restored = restore_those(state, &mut RootWriter::new(root), &|head| head.what.starts_with(WHAT))?;
    // What stays is refused below.
    let back: Vec<String> =
        restored.rows.iter().filter(|row| !row.stays()).map(|row| sanitise::line(&row.said())).collect();
    if !quiet && !back.is_empty() {
        tell(format_args!("tiermark: taken back, left by a killed run: {}", back.join(", ")));
    }
    match left(restored) {
        refused if refused.is_empty() => Ok(()),
        refused => Err(Failure::Wrong(Vec::new(), refused)),
    }
}

/// What keeps a run from being begun after what a killed one changed was taken back: journals that cannot be read, of
/// whatever command, and changes that stay.
fn left(restored: Restored) -> Vec<Refusal> {
    let mut refused = restored.refused;
    let kept: Vec<String> = restored.rows.iter().filter(|row| row.stays()).map(ChangeRow::said).collect();
    refused.extend((!kept.is_empty()).then(|| messages::killed_run_left(&kept)));
    refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::{Cli, Command};
    use clap::Parser;

    fn args(more: &[&str]) -> CapacityArgs {
        let cli = Cli::try_parse_from(["tiermark", "capacity"].iter().chain(more)).unwrap();
        let Some(Command::Capacity(args)) = cli.command else { panic!("{more:?}") };
        *args
    }

    /// The file of the run has the option; files of earlier versions do not.
    #[test]
    fn a_resumed_run_keeps_force() {
        let resumed = args(&["--resume"]);
        for (more, forced) in [(&["--scenario=mini"][..], false), (&["--scenario=mini", "--force"], true)] {
            let begun = serde_json::to_value(setup(&args(more)).unwrap()).unwrap();
            let read: RunSetup = serde_json::from_value(begun.clone()).unwrap();
            assert_eq!(is_forced(&resumed, &read), forced, "{more:?}");
            let mut older = begun;
            older.as_object_mut().unwrap().remove("force");
            let read = serde_json::from_value(older).unwrap();
            assert!(!is_forced(&resumed, &read) && is_forced(&args(&["--resume", "--force"]), &read));
        }
    }
}
