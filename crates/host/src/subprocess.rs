//! A setup in a small separate process, the subprocess: creating children costs more the larger the parent is, and this
//! process holds the results of a whole run and has several threads.
//!
//! The subprocess is this program again, with one thread. It maps and fills the memory, makes the calls between stamps
//! of its own, and guards itself, with the same code as here; requests and answers are lines of JSON over a socket.

mod call;
mod serve;
mod several;

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Fault, Rig, Shot, ThreadShot};
use tiermark_model::messages::{setup as says, subprocess as not_answering};
use tiermark_model::{CpuModel, IdSet, KernelId, Machine, Note, PlacementProof, Refusal, Role, Setup, ThreadSetup};
use tiermark_primitives::{able, no_more, wants_subprocess};
use tiermark_system::Clock;

use crate::core_clock::Lookout;
use crate::region::{Order, stop_refusal};
use crate::resources::Resources;
use crate::rig::is_loaded;
use crate::settle::Surroundings;
use call::{Limits, Subprocess};
pub(crate) use several::{ProcessesRig, runs_in_processes};

/// The argument with which this program is the subprocess.
const SUBPROCESS: &str = "__subprocess";

/// The subject of a refusal of the subprocess.
const WHAT: &str = "a process that holds the memory";

/// How long the subprocess may do nothing: far beyond any operation, far below a user's patience.
const LIMIT: Duration = Duration::from_secs(10);
/// How long an answer may take, whatever is done for it: so long, and the time for filling and forking its memory at
/// this rate, bytes a second, an eighth of the slowest that was seen.
const WHOLE: Duration = Duration::from_secs(60);
const SLOWEST: u64 = 50_000_000;

/// The first request to a subprocess, after the description of the machine. It answers with `Result<(), Refusal>`.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    setup: Setup,
    /// Nodes of its memory, and a note where they differ from the request.
    target: IdSet,
    note: Option<Note>,
    clock: Clock,
    lookout: Lookout,
    /// Arrays that kernels walk at once in its memory, and where that begins in its file.
    streams: usize,
    offset: u64,
    /// Regions up to this size stay in the caches that its cpu reaches.
    around: Surroundings,
    is_loaded: bool,
    /// Workers that start together, each in a process; the standard output is the memory of their gate.
    workers: usize,
}

impl Job {
    /// The job of one thread of a setup.
    fn new(resources: &Resources, setup: &Setup, thread: usize, order: &Order<'_>, workers: usize) -> Self {
        let only = &setup.threads[thread];
        let is_loaded = is_loaded(setup);
        let around = if workers > 1 { resources.surroundings(only.cpu, setup) } else { Surroundings::default() };
        let setup = Setup {
            regions: vec![order.setup.clone()],
            threads: vec![ThreadSetup { region: 0, ..only.clone() }],
            seed: setup.seed,
        };
        Self {
            setup,
            target: order.target.clone(),
            note: order.note.clone(),
            clock: resources.clock,
            lookout: resources.lookout,
            streams: order.streams,
            offset: order.offset,
            // Calls of the operating system have no memory to warm.
            around,
            is_loaded,
            workers,
        }
    }
}

/// The later requests, until the socket is closed.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Where its memory is, looked at by this seed. It answers with a `PlacementProof`.
    Placement { seed: u64 },
    /// Goes on with another kernel. It answers with `Result<(), String>`.
    Select { kernel: KernelId },
    /// It answers with `Result<ThreadShot, String>`.
    Shot { budget_ns: f64, number: u64 },
}

/// Serves another process of this program that started this one, by its arguments (the program's name first): as the
/// subprocess until its end, or as [`tiermark_primitives::reexec`] does. Returns the exit code, with which the caller
/// has to end; `None` where the arguments start something else.
///
/// A program that measures must call this first in its `main`. Otherwise primitives with processes are refused, since
/// the program would start itself without end.
pub fn reexec(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_subprocess = matches!(arguments.as_slice(), [_, only] if only == SUBPROCESS);
    tiermark_primitives::reexec(arguments).or_else(|| is_subprocess.then(serve::serve))
}

/// Whether a setup is measured in a process of its own.
pub(crate) fn runs_in_subprocess(setup: &Setup) -> bool {
    let held = |role: &Role| matches!(role, Role::Os(call) if wants_subprocess(call));
    matches!(setup.threads.as_slice(), [only] if held(&only.role)) && setup.regions.len() == 1
}

/// A rig whose memory and caller are the subprocess's.
#[derive(Debug)]
pub(crate) struct SubprocessRig {
    subprocess: Subprocess,
    seed: u64,
    /// Number of the next shot, unlike any other of this means.
    shots: u64,
}

impl SubprocessRig {
    /// Starts the subprocess, and waits until memory and body are made.
    ///
    /// # Errors
    /// A [`Refusal`] of the subprocess's, or without a process.
    pub(crate) fn prepare(resources: &mut Resources, setup: &Setup, order: &Order<'_>) -> Result<Self, Refusal> {
        able(WHAT)?;
        resources.prepared += 1;
        let job = Job::new(resources, setup, 0, order, 1);
        let refused = |error: &io::Error| no_more(WHAT, error);
        let stopped = Arc::clone(&resources.stopped);
        let limits = Limits { still: LIMIT, whole: whole(setup) };
        let mut subprocess =
            Subprocess::start(&mut itself(), Stdio::null(), stopped, limits).map_err(|error| refused(&error))?;
        let sent = subprocess.tell(&brief(&resources.lab.machine));
        match sent.and_then(|()| subprocess.ask::<Result<(), Refusal>>(&job)) {
            _ if resources.stopped.load(Relaxed) => return Err(stop_refusal()),
            Ok(prepared) => prepared?,
            Err(lost) => return Err(lost),
        }
        Ok(Self { subprocess, seed: setup.seed, shots: resources.prepared << 32 })
    }
}

impl Rig for SubprocessRig {
    fn placement(&mut self) -> PlacementProof {
        self.seed = self.seed.wrapping_add(1);
        let unseen =
            |lost: Refusal| PlacementProof { how: says::placement_lost(&lost.why), ..PlacementProof::default() };
        self.subprocess.ask(&Ask::Placement { seed: self.seed }).unwrap_or_else(unseen)
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        Err(Fault(not_answering::subprocess_without_kernels(&kernel.to_string()).to_string()))
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        self.shots += 1;
        let ask = Ask::Shot { budget_ns: budget.as_secs_f64() * 1e9, number: self.shots };
        let lost = |lost: Refusal| Fault(lost.to_string());
        let shot = self.subprocess.ask::<Result<ThreadShot, String>>(&ask).map_err(lost)?;
        Ok(Shot { threads: vec![shot.map_err(Fault)?], ..Shot::default() })
    }
}

/// The part of a machine's description that decides where memory comes from: the subprocess must be small.
fn brief(machine: &Machine) -> Machine {
    Machine {
        cpu_model: CpuModel::default(),
        core_limits: None,
        caches: Vec::new(),
        dimms: Vec::new(),
        cxl_modules: Vec::new(),
        theoretical_peak: None,
        theoretical_link: None,
        unseen: Vec::new(),
        contradictions: Vec::new(),
        ..machine.clone()
    }
}

/// How long an answer of the subprocess of a setup may take.
fn whole(setup: &Setup) -> Duration {
    let call_bytes =
        setup.threads.iter().map(|thread| if let Role::Os(call) = &thread.role { call.bytes.unwrap_or(0) } else { 0 });
    WHOLE + Duration::from_secs(setup.total_bytes().0.saturating_add(call_bytes.sum()) / SLOWEST)
}

/// This program as a subprocess: the same file, even if it was renamed or deleted, without the environment variables
/// that load libraries.
fn itself() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(SUBPROCESS).env_clear();
    command
}

#[cfg(test)]
mod tests;
