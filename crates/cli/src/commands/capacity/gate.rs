//! The checks before a run: changes of a killed run are taken back, and everything that would prevent this one is
//! reported at once.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use tiermark_capacity::cost::Prices;
use tiermark_capacity::run::{self, Admission, WHAT, admit};
use tiermark_capacity::saved::{Pending, RunHeader, SavedRun, unfinished};
use tiermark_capacity::scenario::{Backend, Scenario};
use tiermark_machine::Root;
use tiermark_model::messages::capacity as messages;
use tiermark_model::messages::undo::no_journal_directory;
use tiermark_model::{ChangeRow, Refusal};
use tiermark_undo::{Restored, RootWriter, StateDir, pending, restore_those};

use super::asked::{asked, environment, programs, setup};
use super::scenario;
use crate::args::CapacityArgs;
use crate::output::{Failure, tell};
use crate::{restoring, shell};

/// A run that can begin, and prices: mistakes in prices are reported before hours of measuring.
pub(super) fn begin(args: &CapacityArgs) -> Result<(SavedRun, Option<Prices>), Failure> {
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
        let prices = may_begin(args, &saved.pending())?;
        return Ok((saved, prices));
    }
    let (scenario, setup) = (asked(args)?, setup(args)?);
    let prices = may_begin(args, &Pending::all(&scenario, &setup))?;
    let (started, id) = shell::started_and_id();
    let seed = scenario.seed.unwrap_or_else(shell::random);
    Ok((SavedRun::create(&directory()?, &id, RunHeader::new(started, seed, scenario, setup))?, prices))
}

/// Prices, and whether the run can begin on the machine once the changes of a killed run are taken back.
fn may_begin(args: &CapacityArgs, pending: &Pending<'_>) -> Result<Option<Prices>, Failure> {
    let Pending { scenario, setup, .. } = pending;
    let prices = prices(scenario);
    let changes = scenario.backend != Backend::External || setup.commands.stop.is_some();
    // Missing rights and mistakes in prices are refused below, whatever changes are in effect.
    if prices.is_ok() && changes && (scenario.backend == Backend::External || is_root()) {
        take_back(&state()?, args.quiet)?;
    }
    let checks = Checks::run(args, pending, prices)?;
    match checks.wrong() {
        None => Ok(checks.prices),
        Some(failure) => Err(failure),
    }
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
        let environment = environment(args, pending, &state, &stop)?;
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
    shell::capacity_runs().ok_or_else(messages::no_run_directory)
}

pub(super) fn state() -> Result<StateDir, Refusal> {
    shell::state().ok_or_else(no_journal_directory)
}

/// Takes back the changes of a killed run of this kind.
fn take_back(state: &StateDir, quiet: bool) -> Result<(), Failure> {
    let root = Root::live();
    let held = pending(state, &root).into_iter().filter(|held| held.what.starts_with(WHAT));
    restoring::announce_commands(&held.collect::<Vec<_>>());
    let restored = restore_those(state, &mut RootWriter::new(root), &|head| head.what.starts_with(WHAT))?;
    if !quiet && !restored.rows.is_empty() {
        tell("tiermark: taking back what a killed run changed");
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
