//! Faults that a thread of the process answers: userfaultfd.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, MIB, Machine, Refusal};
use tiermark_system::os::{Area, Shows, Tell, Userfault};

use super::touch::{Fault, Ground, Renew, Touches};
use super::{base_page, memory_refused};
use crate::body::{Body, Order, Prepared};
use crate::failure::{Failure, no_more, unavailable};

/// Bytes whose pages are brought before they are taken away again.
const ROUND: usize = 4 * MIB as usize;
/// The thread ends when it has had no fault for this long.
const LIMIT: Duration = Duration::from_secs(60);

/// The thread that answers; it ends when this is dropped.
struct Answerer {
    answered: Arc<AtomicU64>,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Answerer {
    fn new(faults: Userfault, cpu: Option<CpuId>) -> Result<Self, Refusal> {
        let refused = |error: &io::Error| no_more("a thread to answer faults", error);
        let (ended, stop) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused(&error.into()))?;
        let (arrived, arrival) = channel();
        let answered = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&answered);
        let answer = move || {
            let pinned = cpu.map_or(Ok(()), tiermark_system::pin);
            let there = pinned.is_ok();
            if arrived.send(pinned).is_err() || !there {
                return;
            }
            // After any error: when the thread ends, the file is closed, and a thread that waits in a fault gets a page
            // of zeros.
            while let Ok(Some(address)) = faults.wait(&ended, LIMIT) {
                counted.fetch_add(1, Relaxed);
                if faults.fill(address).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("tiermark-faults".into()).stack_size(64 << 10).spawn(answer);
        let thread = thread.map_err(|error| refused(&error))?;
        let answerer = Self { answered, stop: Some(stop), thread: Some(thread) };
        match (arrival.recv(), cpu) {
            (Ok(Err(error)), Some(cpu)) => Err(says::pin_refused(cpu, &error.to_string())),
            (Ok(Err(error)), None) => Err(refused(&error)),
            (Err(_), _) => Err(refused(&io::Error::other("it ended at once"))),
            (Ok(Ok(())), _) => Ok(answerer),
        }
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Faults that are answered, and counted on both sides.
struct Answered {
    touches: Box<dyn Body>,
    answerer: Answerer,
}

impl Body for Answered {
    fn major_faults(&self) -> u64 {
        self.touches.major_faults()
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let before = self.answerer.answered.load(Relaxed);
        let idle = self.touches.run(times)?;
        match self.answerer.answered.load(Relaxed) - before {
            // More where some did not count.
            n if n >= times => Ok(idle),
            n => Err(format!("{times} faults were answered {n} times").into()),
        }
    }
}

const CURE: &str = "sysctl vm.unprivileged_userfaultfd=1 (or Linux 5.11), and a seccomp profile with userfaultfd";

fn refused(why: &str) -> Refusal {
    unavailable("userfaultfd", why, CURE)
}

/// Why faults cannot be answered.
pub(super) fn no_userfaultfd(_: &Machine) -> Option<Refusal> {
    Userfault::open().err().map(|error| refused(&error.to_string()))
}

/// The fault, the message, the answer.
pub(super) fn round_trip(order: &Order<'_>) -> Prepared {
    let mut area = Area::map(Shows::Private, ROUND).map_err(memory_refused(order))?;
    let _ = area.tell(Tell::BasePages);
    let faults = Userfault::over(&mut area, base_page()).map_err(|error| refused(&error.to_string()))?;
    let answerer = Answerer::new(faults, order.call.others.first().copied())?;
    let renew: Renew = Box::new(|ground| ground.area.tell(Tell::Forget).map_err(Failure::of("madvise")));
    let ground = Ground { fault: Fault::Either, ..Ground::written(area, base_page()) };
    let touches = Touches::start(ground, renew, order, CURE)?;
    Ok(Box::new(Answered { touches, answerer }))
}
