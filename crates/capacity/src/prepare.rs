//! A run before it begins. All obstacles are found together, once, and before any change to the system. A dry run shows
//! them; a run begins with the same result.

use std::sync::atomic::AtomicBool;

use tiermark_load::Target;
use tiermark_machine::Root;
use tiermark_model::capacity::Setting;
use tiermark_model::messages::capacity as messages;
use tiermark_model::{ChangeRow, HeldChanges, Refusal};
use tiermark_undo::{RootWriter, StateDir, pending, restore_those};

use crate::cost::{self, Prices};
use crate::run::{Admission, Environment, RunHost, WHAT, admit};
use crate::saved::{Pending, RunSetup, SavedRun};
use crate::scenario::{Backend, Scenario};

/// A run that is to be made.
#[derive(Debug)]
pub enum Job {
    /// One that has not begun.
    New {
        /// What it measures.
        scenario: Scenario,
        /// How it is made here.
        setup: RunSetup,
    },
    /// One that goes on.
    Resumed(SavedRun),
}

impl Job {
    /// What is still to be measured.
    #[must_use]
    pub fn pending(&self) -> Pending<'_> {
        match self {
            Self::New { scenario, setup } => Pending::all(scenario, setup),
            Self::Resumed(saved) => saved.pending(),
        }
    }

    /// The prices of a scenario that names a file of them.
    ///
    /// # Errors
    /// The mistakes in that file, a sentence each.
    pub fn prices(&self) -> Result<Option<Prices>, Vec<String>> {
        self.pending().scenario.prices.as_deref().map(cost::read_file).transpose()
    }
}

/// What a run needs besides its job.
#[derive(Debug)]
pub struct Here<'a> {
    /// Where changes to the system are noted.
    pub state: &'a StateDir,
    /// The command that puts a program's memory on nodes: its words before the list of nodes and the program.
    pub placer: Vec<String>,
    /// Password of servers elsewhere; it is never saved.
    pub password: Option<String>,
    /// Reads all settings of the system, and those of these block devices.
    pub settings: fn(&[String]) -> Vec<Setting>,
    /// Ends the run at once when set.
    pub stop: &'a AtomicBool,
}

impl<'a> Here<'a> {
    /// The environment of a job of this scenario.
    #[must_use]
    pub fn environment(&self, scenario: &Scenario) -> Environment<'a> {
        let target = |address| Target { password: self.password.clone(), ..Target::new(address) };
        Environment {
            state: self.state,
            placer: self.placer.clone(),
            // `Scenario::problems` reports addresses that cannot be parsed.
            targets: scenario.targets.iter().filter_map(|text| text.parse().ok()).map(target).collect(),
            settings: self.settings,
            stop: self.stop,
        }
    }
}

/// A job with everything that was found before it begins.
#[derive(Debug)]
pub struct Prepared {
    /// The job.
    pub job: Job,
    /// Whether the machine has what the job needs.
    pub admission: Admission,
    /// Prices; `None` if the scenario names no price file, or the file has mistakes.
    pub prices: Option<Prices>,
    /// Mistakes in that file, a sentence each.
    pub mistakes: Vec<String>,
}

/// Checks a job with its prices on this machine; `privileged` is whether this process has the rights of root.
#[must_use]
pub fn prepare(job: Job, prices: Result<Option<Prices>, Vec<String>>, here: &Here<'_>, privileged: bool) -> Prepared {
    let (prices, mistakes) = match prices {
        Ok(prices) => (prices, Vec::new()),
        Err(mistakes) => (None, mistakes),
    };
    let pending = job.pending();
    let admission = admit(&pending, &here.environment(pending.scenario), &RunHost { root: &Root::live(), privileged });
    Prepared { job, admission, prices, mistakes }
}

impl Prepared {
    /// Whether nothing prevents the run.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        self.mistakes.is_empty() && self.admission.refusals().next().is_none()
    }
}

/// Takes back the changes of killed runs of `capacity`, if the job makes such changes itself and has the rights to.
/// Calls `announce` before, with the changes. Returns the changes taken back, and the reasons why no run may begin:
/// journals of any command that cannot be read, and changes that could not be taken back.
pub fn take_back(
    job: &Job,
    state: &StateDir,
    privileged: bool,
    announce: impl FnOnce(&[HeldChanges]),
) -> (Vec<ChangeRow>, Vec<Refusal>) {
    let Pending { scenario, setup, .. } = job.pending();
    let is_elsewhere = scenario.backend == Backend::External;
    if if is_elsewhere { setup.commands.stop.is_none() } else { !privileged } {
        return (Vec::new(), Vec::new());
    }
    let root = Root::live();
    let held: Vec<HeldChanges> = pending(state, &root).into_iter().filter(|held| held.what.starts_with(WHAT)).collect();
    announce(&held);
    let restored = restore_those(state, &mut RootWriter::new(root), &|head| head.what.starts_with(WHAT));
    let restored = match restored {
        Ok(restored) => restored,
        Err(refusal) => return (Vec::new(), vec![refusal]),
    };
    let (stay, back): (Vec<ChangeRow>, Vec<ChangeRow>) = restored.rows.into_iter().partition(ChangeRow::stays);
    let stay: Vec<String> = stay.iter().map(ChangeRow::summary).collect();
    let mut refused = restored.refused;
    refused.extend((!stay.is_empty()).then(|| messages::killed_run_left(&stay)));
    (back, refused)
}
