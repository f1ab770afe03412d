//! Threads or processes that wake each other in turn: a token passes from one to the next and back to the caller.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, Refusal};
use tiermark_system::Clock;
use tiermark_system::os::{Child, SharedWords};

use crate::body::Body;
use crate::failure::{Failure, no_more, refused_by};
use crate::watch::Watch;

/// Words of the shared page: whether it is over, and how many could not go to the cpu.
const OVER: usize = 0;
const ASTRAY: usize = 1;
/// How often the first of the others passed the token on.
#[cfg(test)]
const PASSES: usize = 2;
/// How long a member has to end before it is killed.
const GOODBYE: Duration = Duration::from_secs(1);
/// Walks over the working set that are remembered.
const WALKS: usize = 8;

/// What all but the caller are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    Thread,
    Process,
}

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// The token goes round once.
    Rounds,
    /// The token passes from one to the next; rounds are whole.
    Passes,
}

/// The job of a relay.
#[derive(Debug, Clone, Copy)]
pub(super) struct RelayPlan {
    pub(super) members: Members,
    /// How many there are with the caller, at least two.
    pub(super) count: usize,
    pub(super) counts: Counts,
    /// Where the others run.
    pub(super) cpu: CpuId,
    /// Bytes that each works on before it wakes the next.
    pub(super) set: usize,
    pub(super) clock: Clock,
    /// How long nothing may move, where it is not the usual time.
    pub(super) limit: Option<Duration>,
}

/// Wakes one that waits: the ends of a pipe.
#[derive(Debug)]
struct Bell {
    read: OwnedFd,
    write: OwnedFd,
}

impl Bell {
    fn new() -> rustix::io::Result<Self> {
        pipe_with(PipeFlags::CLOEXEC).map(|(read, write)| Self { read, write })
    }

    fn ring(&self) -> rustix::io::Result<()> {
        retry_on_intr(|| rustix::io::write(&self.write, &[1])).map(drop)
    }

    fn wait(&self) -> rustix::io::Result<()> {
        retry_on_intr(|| rustix::io::read(&self.read, &mut [0u8; 1])).map(drop)
    }
}

/// What all share: the bell that each waits at, the caller's first.
#[derive(Debug)]
struct Common {
    bells: Vec<Bell>,
    words: SharedWords,
}

impl Common {
    fn pass_to(&self, index: usize) -> rustix::io::Result<()> {
        self.bells[index].ring()
    }

    fn wait_at(&self, index: usize) -> rustix::io::Result<()> {
        self.bells[index].wait()
    }

    /// Ends the relay: wakes all members, so that no member waits again.
    fn end(&self) {
        self.words.word(OVER).store(1, Release);
        for index in 0..self.bells.len() {
            let _ = self.pass_to(index);
        }
    }

    fn is_over(&self) -> bool {
        self.words.word(OVER).load(Acquire) != 0
    }

    /// The work of one of the others, to its end.
    fn serve(&self, index: usize, cpu: CpuId, mut set: WorkingSet) -> i32 {
        if tiermark_system::pin(cpu).is_err() {
            self.words.word(ASTRAY).fetch_add(1, Release);
        }
        let next = (index + 1) % self.bells.len();
        while self.wait_at(index).is_ok() && !self.is_over() {
            set.walk();
            #[cfg(test)]
            if index == 1 {
                self.words.word(PASSES).fetch_add(1, Release);
            }
            if self.pass_to(next).is_err() {
                return 1;
            }
        }
        0
    }
}

/// Memory that each works on: a word of each line is changed.
#[derive(Debug)]
struct WorkingSet(Vec<[u64; 8]>);

impl WorkingSet {
    fn new(bytes: usize) -> Self {
        Self(vec![[1; 8]; bytes / 64])
    }

    fn walk(&mut self) {
        self.0.iter_mut().for_each(|line| line[0] = line[0].wrapping_add(1));
        std::hint::black_box(&mut self.0);
    }
}

/// How long a working set takes where it is in the cache.
#[derive(Debug)]
struct Walks {
    /// The latest, ticks.
    latest: [u64; WALKS],
    next: usize,
    clock: Clock,
}

impl Walks {
    fn new(clock: Clock) -> Self {
        Self { latest: [u64::MAX; WALKS], next: 0, clock }
    }

    /// Walks twice; the shortest of the latest second walks, in ticks.
    fn warm(&mut self, set: &mut WorkingSet) -> u64 {
        if set.0.is_empty() {
            return 0;
        }
        set.walk();
        let start = self.clock.now();
        set.walk();
        self.latest[self.next] = self.clock.now().saturating_sub(start);
        self.next = (self.next + 1) % WALKS;
        *self.latest.iter().min().unwrap_or(&0)
    }
}

/// One of the others.
#[derive(Debug)]
enum Member {
    Thread(Option<JoinHandle<i32>>),
    Process(Child),
}

impl Member {
    fn new(plan: &RelayPlan, common: &Arc<Common>, index: usize) -> io::Result<Self> {
        let (cpu, set) = (plan.cpu, WorkingSet::new(plan.set));
        match plan.members {
            Members::Thread => {
                let common = Arc::clone(common);
                let thread = std::thread::Builder::new().name("tiermark-partner".into());
                thread.spawn(move || common.serve(index, cpu, set)).map(|thread| Self::Thread(Some(thread)))
            }
            Members::Process => {
                // SAFETY: system calls and words of shared memory; the working set, which is there already, is given
                // back.
                #[allow(unsafe_code, reason = "a fork")]
                let child = unsafe { Child::fork(|| common.serve(index, cpu, set)) };
                child.map(Self::Process)
            }
        }
    }
}

/// A relay with the caller in it, who wakes the next and waits until the token comes back.
#[derive(Debug)]
pub(super) struct Relay {
    // Ended first: the last reference to the shared data must be dropped by a thread that owns its files.
    watch: Watch,
    common: Arc<Common>,
    others: Vec<Member>,
    counts: Counts,
    set: WorkingSet,
    walks: Walks,
    clock: Clock,
}

impl Relay {
    /// Makes all the others on their cpu and has the token go round once.
    ///
    /// # Errors
    /// A refusal, when the system does not give files, processes or threads, or the cpu may not be used.
    pub(super) fn new(plan: &RelayPlan) -> Result<Self, Refusal> {
        let what = match plan.counts {
            Counts::Rounds => "a partner to switch to",
            Counts::Passes => "a ring of processes",
        };
        let refused = |error: io::Error| no_more(what, &error);
        let bells = (0..plan.count.max(2)).map(|_| Bell::new()).collect::<Result<Vec<_>, _>>();
        let bells = bells.map_err(|error| refused(error.into()))?;
        let words = SharedWords::map().map_err(|error| refused(error.into()))?;
        let common = Arc::new(Common { bells, words });
        let hung = Arc::clone(&common);
        let watch = Watch::over_waits(plan.limit, move || hung.end()).map_err(refused)?;
        let (set, clock, counts) = (WorkingSet::new(plan.set), plan.clock, plan.counts);
        let mut relay = Self { watch, common, others: Vec::new(), counts, set, walks: Walks::new(clock), clock };
        for index in 1..relay.common.bells.len() {
            relay.others.push(Member::new(plan, &relay.common, index).map_err(refused)?);
        }
        relay.round().map_err(|failure| refused_by(what, failure, "look at what it waits for"))?;
        match relay.common.words.word(ASTRAY).load(Acquire) {
            0 => Ok(relay),
            _ => Err(says::partner_elsewhere(plan.cpu)),
        }
    }

    fn round(&mut self) -> Result<(), Failure> {
        let common = &self.common;
        common.pass_to(1).map_err(Failure::of("waking the partner"))?;
        self.watch.waits(|| common.wait_at(0)).map_err(Failure::of("waiting for the partner"))?;
        if common.is_over() {
            return Err("the partner does not answer".into());
        }
        self.set.walk();
        Ok(())
    }
}

impl Body for Relay {
    fn least(&self) -> u64 {
        match self.counts {
            Counts::Rounds => 1,
            Counts::Passes => self.common.bells.len() as u64,
        }
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let began = self.clock.now();
        let walk = self.walks.warm(&mut self.set);
        let start = self.clock.now();
        let rounds = times / self.least();
        for _ in 0..rounds {
            self.round()?;
        }
        // Walks cannot take longer than the rounds that contain them: if the core's clock rose meanwhile, the time must
        // not become negative.
        let walks = walk * self.common.bells.len() as u64 * rounds;
        Ok(start.saturating_sub(began) + walks.min(self.clock.now().saturating_sub(start)))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.common.end();
        for member in &mut self.others {
            match member {
                Member::Thread(thread) => drop(thread.take().map(JoinHandle::join)),
                // A process that does not end is killed when it is dropped.
                Member::Process(child) => drop(child.ended_within(GOODBYE)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
