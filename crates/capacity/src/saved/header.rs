//! The first line of a saved run: the scenario, and the commands by which it is carried out.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tiermark_history::config::Mistake;
use tiermark_load::ClientSetup;
use tiermark_model::messages::{capacity as messages, scenario as says};
use tiermark_model::{Refusal, RunLabels};

use crate::backend::{Commands, GuestFiles, ServerLaunch};
use crate::scenario::Scenario;

/// The form of the file; readers take every released one.
pub(super) const SCHEMA: &str = "tiermark/capacity-run/1";

/// Longest time that an answer is waited for, seconds: an hour.
const LONGEST_TIMEOUT: f64 = 3600.0;
/// Most threads of a client, and one more than the largest number of a cpu: the kernel's own limit on cpus (NR_CPUS) is
/// 8,192.
const MOST_THREADS: usize = 8192;

/// The first line of a saved run: what it measures, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// `tiermark/capacity-run/1`.
    pub schema: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// The scenario that the run measures.
    pub scenario: Scenario,
    /// Programs, cpus and commands of this machine.
    pub setup: RunSetup,
}

/// How a run is made on a machine: no part of the question, and the same for all of its trials, also of those after a
/// kill. A password is never written down.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunSetup {
    /// Words before a server's program.
    pub wrapper: Vec<String>,
    /// Command that removes what the wrapper leaves; `None` if it leaves nothing.
    pub removes: Option<String>,
    /// Port of the first tenant; `None` takes free ones.
    pub first_port: Option<u16>,
    /// What starts and stops tenants elsewhere.
    pub commands: Commands,
    /// Whether servers elsewhere may be written to that hold something.
    pub overwrites: bool,
    /// Kernel and modules of virtual machines.
    pub guest: GuestFiles,
    /// Threads of the client; at least 1.
    pub threads: usize,
    /// Their cpus; none leaves them to the system.
    pub cpus: Vec<usize>,
    /// Seconds that an answer is waited for.
    pub timeout_seconds: f64,
    /// Whether it begins although other work keeps the cpus busy.
    #[serde(default)]
    pub force: bool,
    /// Labels that the user gave to the document.
    #[serde(default)]
    pub labels: RunLabels,
}

impl RunSetup {
    /// The servers of the run.
    pub(crate) fn servers(&self, scenario: &Scenario) -> ServerLaunch {
        ServerLaunch {
            server: scenario.tenant.server.clone(),
            wrapper: self.wrapper.clone(),
            removes: self.removes.clone(),
            memory: scenario.tenant.memory_limit(),
            first_port: self.first_port,
        }
    }

    /// The client of the run.
    pub fn client(&self) -> ClientSetup {
        let timeout = Duration::from_secs_f64(self.timeout_seconds);
        ClientSetup { threads: self.threads.max(1), cpus: self.cpus.clone(), timeout, ..ClientSetup::default() }
    }
}

impl RunHeader {
    /// The header of a new run.
    pub fn new(started: impl Into<String>, seed: u64, scenario: Scenario, setup: RunSetup) -> Self {
        Self { schema: SCHEMA.to_owned(), started: started.into(), seed, scenario, setup }
    }

    /// What is wrong with it: a file may have been changed since it was written, or written by another program.
    ///
    /// # Errors
    /// A [`Refusal`] that lists every mistake.
    pub(super) fn check(&self, path: &str) -> Result<(), Refusal> {
        let setup = &self.setup;
        let (timeout, threads) = (setup.timeout_seconds, setup.threads);
        let largest = setup.cpus.iter().max().copied().unwrap_or_default();
        let of_setup = [
            (timeout > 0.0 && timeout <= LONGEST_TIMEOUT, says::timeout_out_of_range(timeout)),
            (threads <= MOST_THREADS, says::threads_out_of_range(threads, MOST_THREADS)),
            (largest < MOST_THREADS, says::cpu_out_of_range(largest)),
            (self.started.parse::<jiff::Timestamp>().is_ok(), says::started_unreadable(&self.started)),
        ];
        let of_scenario = self.scenario.problems().into_iter().map(|problem| Mistake::from(problem).to_string());
        let of_setup = of_setup.into_iter().filter(|(right, _)| !right).map(|(_, fault)| fault.text);
        let problems: Vec<String> = of_scenario.chain(of_setup).collect();
        if problems.is_empty() { Ok(()) } else { Err(messages::saved_run_damaged(path, &problems.join("; "))) }
    }
}
