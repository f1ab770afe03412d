//! A setup in a small process of its own, the holder: what makes children costs what its process is made of, and this one holds the results
//! of a whole run and has several threads.
//!
//! The holder is this program again, with one thread. It maps and fills the memory, makes the calls between stamps of its own, and watches
//! itself, with the same code that does it here; it is asked in lines of JSON over a socket and answers in such lines.

mod holder;

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Fault, Rig, Shot, ThreadShot};
use tiermark_model::{CpuModel, IdSet, KernelId, Machine, PlacementProof, Refusal, Role, Setup};

use super::{find, no_more};
use crate::clock::Clock;
use crate::linux::LinuxHost;
use crate::region::{Order, stop_refusal};
use crate::sys::os::Child;

pub(super) use holder::serve;

/// The argument with which this program is a holder.
pub(super) const HOLD: &str = "__hold";

/// How long the holder may do nothing: far beyond any operation, far below a user's patience.
const LIMIT: Duration = Duration::from_secs(10);
/// Looks at it in that time.
const LOOKS: u32 = 40;
/// Bytes of an answer at most: a shot with as many stamps as there may be takes a third.
const LONGEST: usize = 64 << 20;

/// What a holder is told first. It answers with `Result<(), Refusal>`.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    setup: Setup,
    machine: Machine,
    /// Nodes of its memory, and what is not as asked.
    target: IdSet,
    note: Option<String>,
    clock: Clock,
    stamp_ns: f64,
}

/// What it is asked then, until nobody asks any more.
#[derive(Debug, Serialize, Deserialize)]
enum Ask {
    /// Where its memory is, looked at by this seed. It answers with a `PlacementProof`.
    Placement { seed: u64 },
    /// It answers with `Result<ThreadShot, String>`.
    Shot { budget_ns: f64, number: u64 },
}

/// Whether a setup is measured in a process of its own.
pub(crate) fn is_held(setup: &Setup) -> bool {
    let held = |role: &Role| matches!(role, Role::Os(call) if find(call).is_ok_and(|primitive| primitive.held));
    matches!(setup.threads.as_slice(), [only] if held(&only.role)) && setup.regions.len() == 1
}

/// A rig whose memory and caller are the holder's.
#[derive(Debug)]
pub(crate) struct HeldRig {
    holder: Holder,
    seed: u64,
    /// Number of the next shot, unlike any other of this host.
    shots: u64,
}

impl HeldRig {
    /// Starts the holder, and waits until memory and body are made.
    ///
    /// # Errors
    /// A [`Refusal`] of the holder's, or without a process.
    pub(crate) fn prepare(host: &mut LinuxHost, setup: &Setup, order: &Order<'_>) -> Result<Self, Refusal> {
        host.prepared += 1;
        let job = Job {
            setup: setup.clone(),
            machine: brief(&host.machine),
            target: order.target.clone(),
            note: order.note.clone(),
            clock: host.clock,
            stamp_ns: host.bench.overheads.stamp_ns,
        };
        let refused = |error: &io::Error| no_more("a process that holds the memory", error);
        let stopped = Arc::clone(&host.stopped);
        let mut holder = Holder::start(&mut itself(), stopped, LIMIT).map_err(|error| refused(&error))?;
        match holder.ask::<Result<(), Refusal>>(&job) {
            _ if host.stopped.load(Relaxed) => return Err(stop_refusal()),
            Ok(made) => made?,
            Err(why) => return Err(refused(&io::Error::other(why))),
        }
        Ok(Self { holder, seed: setup.seed, shots: host.prepared << 32 })
    }
}

impl Rig for HeldRig {
    fn placement(&mut self) -> PlacementProof {
        self.seed = self.seed.wrapping_add(1);
        let unseen = |why| PlacementProof { how: format!("the process that holds them: {why}"), ..PlacementProof::default() };
        self.holder.ask(&Ask::Placement { seed: self.seed }).unwrap_or_else(unseen)
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        Err(Fault(format!("kernel {kernel}: a process that makes children runs none")))
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        self.shots += 1;
        let ask = Ask::Shot { budget_ns: budget.as_secs_f64() * 1e9, number: self.shots };
        let shot = self.holder.ask::<Result<ThreadShot, String>>(&ask).and_then(|shot| shot).map_err(Fault)?;
        Ok(Shot { threads: vec![shot] })
    }
}

/// What of a machine says where memory comes from: the holder shall be small.
fn brief(machine: &Machine) -> Machine {
    Machine {
        cpu_model: CpuModel::default(),
        caches: Vec::new(),
        dimms: Vec::new(),
        theoretical_peak: None,
        unseen: Vec::new(),
        ..machine.clone()
    }
}

/// This program as a holder: the same file, also where its name has gone, and nothing of what the user's environment asks of libraries.
fn itself() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(HOLD).env_clear();
    command
}

/// A process that is asked in lines and answers in lines. It is killed when it is dropped, with all its children.
#[derive(Debug)]
struct Holder {
    child: Child,
    link: BufReader<UnixStream>,
    stopped: Arc<AtomicBool>,
    look: Duration,
}

impl Holder {
    /// Starts it, with a socket for its standard input.
    fn start(command: &mut Command, stopped: Arc<AtomicBool>, limit: Duration) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let look = limit / LOOKS;
        ours.set_read_timeout(Some(look))?;
        ours.set_write_timeout(Some(limit))?;
        // A group of its own: whoever hangs, all that belongs to it can be killed at once, whatever it is called.
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).process_group(0);
        let child = Child::of_program(command)?;
        // The command has the other end still: it would never be heard that the process has ended.
        command.stdin(Stdio::null());
        Ok(Self { child, link: BufReader::new(ours), stopped, look })
    }

    /// Asks it, and waits for the answer.
    ///
    /// # Errors
    /// In words, why there is none.
    fn ask<A: DeserializeOwned>(&mut self, what: &impl Serialize) -> Result<A, String> {
        let mut line = serde_json::to_vec(what).map_err(|error| format!("it cannot be asked: {error}"))?;
        line.push(b'\n');
        let sent = self.link.get_mut().write_all(&line);
        sent.map_err(|error| format!("it cannot be asked any more: {error}"))?;
        let answer = self.hear()?;
        serde_json::from_slice(&answer).map_err(|error| format!("its answer cannot be understood: {error}"))
    }

    /// The next line that it says.
    fn hear(&mut self) -> Result<Vec<u8>, String> {
        let (mut line, mut spent, mut still) = (Vec::new(), None, 0);
        loop {
            let room = LONGEST.saturating_sub(line.len());
            match Read::by_ref(&mut self.link).take(room as u64).read_until(b'\n', &mut line) {
                Ok(_) if line.last() == Some(&b'\n') => return Ok(line),
                Ok(_) if line.len() >= LONGEST => return Err("its answer has no end".to_owned()),
                Ok(_) => return Err("it ended before it had answered".to_owned()),
                Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(format!("it cannot be heard: {error}"));
                }
                Err(_) if self.stopped.load(Relaxed) => return Err("the run was stopped".to_owned()),
                Err(_) => {}
            }
            // Filling much memory takes its time; who waits for a child that hangs takes none.
            let now = cpu_time(&self.child);
            still = if spent == Some(now) { still + 1 } else { 0 };
            spent = Some(now);
            if still >= LOOKS {
                self.child.kill_group();
                let limit = self.look.as_secs_f64() * f64::from(LOOKS);
                return Err(format!("it got nothing done for {limit:.0} s, and was killed with its children"));
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.child.kill_group();
    }
}

/// Ticks of the processor that a process has taken, in user mode and in the kernel's, as the kernel writes them (proc_pid_stat(5)).
fn cpu_time(child: &Child) -> Option<[u64; 2]> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.pid().as_raw_nonzero())).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split_whitespace().skip(11);
    Some([times.next()?.parse().ok()?, times.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests;
