//! The subprocess: one thread, its memory, and a caller.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::fs::{FileType, fstat};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tiermark_engine::ThreadShot;
use tiermark_kernels::SPAN_QUANTUM;
use tiermark_model::messages::setup as says;
use tiermark_model::{Exit, FromJson, IdSet, KernelId, Machine, NodeId, Pattern, PlacementProof, Refusal, Role};
use tiermark_system::os::{block_signals, give_back_kept};

use super::{Ask, Job, SUBPROCESS};
use crate::check;
use crate::gate::StartGate;
use crate::indices::Indices;
use crate::proof;
use crate::region::{Order, Region};
use crate::streams::{Share, stream_plan};
use crate::worker::Worker;

/// Carries out the requests on the standard input, until it is closed.
///
/// Returns the code to end with.
pub(super) fn serve() -> u8 {
    // The kernel kills this process when its parent ends. If the parent has ended already, the socket is closed.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let Some((mut link, machine, job)) = begun() else {
        // A user who typed the argument gets a message; without a terminal the write fails.
        let _ = writeln!(
            std::io::stderr(),
            "tiermark: {SUBPROCESS} is internal: tiermark starts itself with it to measure processes; see `tiermark \
                help os`"
        );
        return Exit::Usage.code();
    };
    // Children share this memory. The parent ends this process by SIGKILL, which cannot be blocked.
    block_signals();
    let mut held = Held::make(job, machine);
    // Memory of the parsed request is freed, so that forks do not copy it.
    give_back_kept();
    let mut goes_on = say(&mut link, &held.as_ref().map(|_| ()));
    while let (true, Ok(held)) = (goes_on, &mut held) {
        goes_on = match receive(&mut link) {
            Some(Ask::Placement { seed }) => say(&mut link, &held.placement(seed)),
            Some(Ask::Select { kernel }) => {
                say(&mut link, &held.select(&kernel).map_err(|refusal| refusal.to_string()))
            }
            Some(Ask::Shot { budget_ns, number }) => say(&mut link, &held.shot(budget_ns, number)),
            None => false,
        };
    }
    Exit::Done.code()
}

/// The socket on the standard input, the machine, and the first request; `None` if no parent is on its other side.
fn begun() -> Option<(BufReader<UnixStream>, Machine, Job)> {
    let stdin = std::io::stdin();
    let kind = FileType::from_raw_mode(fstat(stdin.as_fd()).ok()?.st_mode);
    let socket = stdin.as_fd().try_clone_to_owned().ok().filter(|_| kind == FileType::Socket)?;
    let mut link = BufReader::new(UnixStream::from(socket));
    let machine = Machine::from_json(&line(&mut link)?).ok()?;
    let job = receive(&mut link)?;
    Some((link, machine, job))
}

/// The next line, where there is one that can be understood.
fn receive<T: DeserializeOwned>(link: &mut BufReader<UnixStream>) -> Option<T> {
    serde_json::from_slice(&line(link)?).ok()
}

fn line(link: &mut BufReader<UnixStream>) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    link.read_until(b'\n', &mut line).ok()?;
    Some(line)
}

/// Whether the answer was sent.
fn say(link: &mut BufReader<UnixStream>, what: &impl Serialize) -> bool {
    let line = serde_json::to_vec(what).map(|mut line| {
        line.push(b'\n');
        line
    });
    line.is_ok_and(|line| link.get_mut().write_all(&line).is_ok())
}

/// The setup that the subprocess holds.
struct Held {
    region: Arc<Region>,
    worker: Worker,
    gate: StartGate,
    one_node: Option<NodeId>,
}

impl Held {
    fn make(job: Job, machine: Machine) -> Result<Self, Refusal> {
        let Job { setup, target, note, clock, lookout, streams, offset, around, is_loaded, workers } = job;
        let (Some(asked), Some(thread)) = (setup.regions.first(), setup.threads.into_iter().next()) else {
            return Err(says::setup_inconsistent("a setup", "it has no memory or no thread"));
        };
        let order = Order { setup: asked, target, streams, note, offset };
        let region = Region::map(&order, &machine).map(Arc::new)?;
        let kernel = match &thread.role {
            Role::Stream { kernel, .. } => Some(kernel.clone()),
            _ => None,
        };
        let worker = Worker {
            index: 0,
            cpu: thread.cpu,
            clock,
            lookout,
            region: Arc::clone(&region),
            other: None,
            share: Share { index: 0, of: 1 },
            role: thread.role,
            seed: setup.seed,
            many_nodes: machine.nodes.len() > 1,
            around,
            is_alone: workers == 1,
            is_loaded,
            stopped: Arc::default(),
            nodes: if machine.nodes.len() > 1 { asked.nodes.clone() } else { IdSet::new() },
            work: None,
            from: 0.0,
            heads: Vec::new(),
            placed: None,
            stamps: Vec::new(),
            checksum: 0,
        };
        let gate = if workers > 1 { shared_gate(workers)? } else { StartGate::new(1) };
        let mut held = Self { region, worker, gate, one_node: machine.only_memory_node() };
        drop(machine);
        held.worker.settle(setup.seed, None)?;
        match kernel {
            Some(kernel) => held.select(&kernel)?,
            None => held.worker.equip(None, None)?,
        }
        Ok(held)
    }

    /// Takes up a kernel, with an order of lines where it walks them at random.
    fn select(&mut self, kernel: &KernelId) -> Result<(), Refusal> {
        let spec = check::kernel(kernel)?;
        let order = match spec.info.op.pattern() {
            Pattern::Random => {
                let lines = stream_plan(&self.region, usize::from(spec.info.op.streams())).span / SPAN_QUANTUM;
                Some(Indices::default().order(lines, self.worker.seed, &|| false)?)
            }
            Pattern::Sequential => None,
        };
        self.worker.equip(Some(spec), order)
    }

    /// The placement of its memory, and its other memory.
    fn placement(&self, seed: u64) -> PlacementProof {
        let regions = [Arc::clone(&self.region)];
        let is_called = matches!(self.worker.role, Role::Os(_));
        let beside = if is_called { proof::beside(&regions) } else { None };
        proof::prove(&regions, self.one_node, seed, beside.as_ref())
    }

    fn shot(&mut self, budget_ns: f64, number: u64) -> Result<ThreadShot, String> {
        let shot = self.worker.shot(&self.gate, None, budget_ns, number);
        shot.map(|shot| shot.thread).map_err(|ended| ended.to_string())
    }
}

/// The gate of all workers, in the memory that is the standard output.
fn shared_gate(workers: usize) -> Result<StartGate, Refusal> {
    let file = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let gate = file.and_then(|file| StartGate::shared(workers, &file));
    gate.map_err(|error| says::processes_share_nothing(&error.to_string()))
}
