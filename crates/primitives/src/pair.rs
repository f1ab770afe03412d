//! Two threads or processes that wake each other in turn.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Release},
};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::futex;
use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, Refusal};
use tiermark_system::Clock;
use tiermark_system::os::{Child, SharedWords};

use super::watch::Watch;
use super::{Body, Failure, no_more};

/// Words of the shared page: the two bells', whether it is over, and what became of the partner.
const THERE: usize = 0;
const BACK: usize = 1;
const OVER: usize = 2;
const STATE: usize = 3;
/// How often the partner was woken.
#[cfg(test)]
const ANSWERS: usize = 4;
/// The partner has gone to its cpu, or could not.
const READY: u32 = 1;
const ASTRAY: u32 = 2;
/// How long a partner has to end before it is killed.
const GOODBYE: Duration = Duration::from_secs(1);
/// Walks over the working set that are remembered.
const WALKS: usize = 8;

/// By what one wakes the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeBy {
    Pipe,
    Futex,
    Eventfd,
}

/// Kind of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    Thread,
    Process,
}

/// The job of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) by: WakeBy,
    pub(super) other: Other,
    /// Where the other runs.
    pub(super) cpu: CpuId,
    /// Bytes that each works on before it wakes the other.
    pub(super) set: usize,
    pub(super) clock: Clock,
    /// How long nothing may move, where it is not the usual time.
    pub(super) limit: Option<Duration>,
}

/// Wakes one that waits.
#[derive(Debug)]
enum Bell {
    Pipe(OwnedFd, OwnedFd),
    Futex(usize, futex::Flags),
    Eventfd(OwnedFd),
}

impl Bell {
    fn new(wanted: &Wanted, word: usize) -> rustix::io::Result<Self> {
        Ok(match wanted.by {
            WakeBy::Pipe => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                Self::Pipe(read, write)
            }
            WakeBy::Futex if wanted.other == Other::Thread => Self::Futex(word, futex::Flags::PRIVATE),
            WakeBy::Futex => Self::Futex(word, futex::Flags::empty()),
            WakeBy::Eventfd => Self::Eventfd(eventfd(0, EventfdFlags::CLOEXEC)?),
        })
    }

    fn ring(&self, words: &SharedWords) -> rustix::io::Result<()> {
        match self {
            Self::Pipe(_, write) => rustix::io::retry_on_intr(|| rustix::io::write(write, &[1])).map(drop),
            Self::Futex(word, flags) => {
                let word = words.word(*word);
                word.store(1, Release);
                futex::wake(word, *flags, 1).map(drop)
            }
            Self::Eventfd(file) => rustix::io::retry_on_intr(|| rustix::io::write(file, &1u64.to_ne_bytes())).map(drop),
        }
    }

    fn wait(&self, words: &SharedWords) -> rustix::io::Result<()> {
        match self {
            Self::Pipe(read, _) => rustix::io::retry_on_intr(|| rustix::io::read(read, &mut [0u8; 1])).map(drop),
            Self::Futex(word, flags) => wait_for(words.word(*word), *flags),
            Self::Eventfd(file) => rustix::io::retry_on_intr(|| rustix::io::read(file, &mut [0u8; 8])).map(drop),
        }
    }
}

fn wait_for(word: &AtomicU32, flags: futex::Flags) -> rustix::io::Result<()> {
    while word.swap(0, Acquire) == 0 {
        match futex::wait(word, flags, 0, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Data that both sides share.
#[derive(Debug)]
struct Common {
    there: Bell,
    back: Bell,
    words: SharedWords,
}

impl Common {
    /// Ends the waiting: no thread waits any more, and none will.
    fn end(&self) {
        self.words.word(OVER).store(1, Release);
        let _ = self.there.ring(&self.words);
        let _ = self.back.ring(&self.words);
    }

    fn is_over(&self) -> bool {
        self.words.word(OVER).load(Acquire) != 0
    }

    /// The partner's work, to its end.
    fn answer(&self, cpu: CpuId, mut set: WorkingSet) -> i32 {
        let state = if tiermark_system::pin(cpu).is_ok() { READY } else { ASTRAY };
        self.words.word(STATE).store(state, Release);
        set.walk();
        let mut rung = self.back.ring(&self.words);
        while rung.is_ok() && state == READY {
            rung = self.there.wait(&self.words);
            if self.is_over() {
                return 0;
            }
            #[cfg(test)]
            self.words.word(ANSWERS).fetch_add(1, Release);
            set.walk();
            rung = rung.and_then(|()| self.back.ring(&self.words));
        }
        1
    }
}

/// Memory that one side works on: a word of each line is changed.
#[derive(Debug)]
pub(super) struct WorkingSet(Vec<[u64; 8]>);

impl WorkingSet {
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![[1; 8]; bytes / 64])
    }

    pub(super) fn walk(&mut self) {
        self.0.iter_mut().for_each(|line| line[0] = line[0].wrapping_add(1));
        std::hint::black_box(&mut self.0);
    }
}

/// How long a working set takes where it is in the cache.
#[derive(Debug)]
pub(super) struct Walks {
    /// The latest, ticks.
    latest: [u64; WALKS],
    next: usize,
    clock: Clock,
}

impl Walks {
    pub(super) fn new(clock: Clock) -> Self {
        Self { latest: [u64::MAX; WALKS], next: 0, clock }
    }

    /// Walks twice; the shortest of the latest second walks, in ticks.
    pub(super) fn warm(&mut self, set: &mut WorkingSet) -> u64 {
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

#[derive(Debug)]
enum Partner {
    Thread(Option<JoinHandle<i32>>),
    Process(Child),
}

/// The caller's side: an operation wakes the partner and waits until it has been woken by it.
#[derive(Debug)]
pub(super) struct Pair {
    // Ended first: the last reference to the shared data must be dropped by a thread that owns its files.
    watch: Watch,
    common: Arc<Common>,
    partner: Partner,
    set: WorkingSet,
    walks: Walks,
    clock: Clock,
}

impl Pair {
    /// Makes the partner and has it go to its cpu.
    ///
    /// # Errors
    /// A refusal, when the system does not give files, processes or threads, or the cpu may not be used.
    pub(super) fn new(wanted: &Wanted) -> Result<Self, Refusal> {
        let refused = |error: io::Error| no_more("a partner to switch to", &error);
        let common = Arc::new(Common {
            there: Bell::new(wanted, THERE).map_err(|error| refused(error.into()))?,
            back: Bell::new(wanted, BACK).map_err(|error| refused(error.into()))?,
            words: SharedWords::map().map_err(|error| refused(error.into()))?,
        });
        let hung = Arc::clone(&common);
        let watch = Watch::over_waits(wanted.limit, move || hung.end()).map_err(refused)?;
        let partner = Partner::new(wanted, &common).map_err(refused)?;
        let (set, clock) = (WorkingSet::new(wanted.set), wanted.clock);
        let mut pair = Self { common, partner, watch, set, walks: Walks::new(clock), clock };
        pair.wait().map_err(|why| {
            super::unavailable("a partner to switch to", &why.to_string(), "look at what it waits for")
        })?;
        if pair.common.words.word(STATE).load(Acquire) == READY {
            return Ok(pair);
        }
        Err(says::partner_elsewhere(wanted.cpu))
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let common = &self.common;
        let woken = self.watch.waits(|| common.back.wait(&common.words));
        woken.map_err(Failure::of("waiting for the partner"))?;
        if common.is_over() { Err("the partner does not answer".into()) } else { Ok(()) }
    }
}

impl Body for Pair {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let began = self.clock.now();
        let both = 2 * self.walks.warm(&mut self.set);
        let start = self.clock.now();
        for _ in 0..times {
            let rung = self.common.there.ring(&self.common.words);
            rung.map_err(Failure::of("waking the partner"))?;
            self.wait()?;
            self.set.walk();
        }
        // A walk is never longer than what it is part of; a clock that rose meanwhile must not turn time back.
        Ok(start.saturating_sub(began) + (both * times).min(self.clock.now().saturating_sub(start)))
    }
}

impl Partner {
    fn new(wanted: &Wanted, common: &Arc<Common>) -> io::Result<Self> {
        let (cpu, set) = (wanted.cpu, WorkingSet::new(wanted.set));
        match wanted.other {
            Other::Thread => {
                let common = Arc::clone(common);
                let thread = std::thread::Builder::new().name("tiermark-partner".into());
                thread.spawn(move || common.answer(cpu, set)).map(|thread| Self::Thread(Some(thread)))
            }
            Other::Process => {
                // SAFETY: system calls and words of shared memory; the working set, which is there already, is given
                // back.
                #[allow(unsafe_code, reason = "a fork")]
                let child = unsafe { Child::fork(|| common.answer(cpu, set)) };
                child.map(Self::Process)
            }
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.common.end();
        match &mut self.partner {
            Partner::Thread(thread) => {
                if let Some(thread) = thread.take() {
                    let _ = thread.join();
                }
            }
            // A partner that does not end is killed when it is dropped.
            Partner::Process(child) => drop(child.ended_within(GOODBYE)),
        }
    }
}

#[cfg(test)]
impl Pair {
    /// How often the partner was woken.
    pub(super) fn answers(&self) -> u32 {
        self.common.words.word(ANSWERS).load(Acquire)
    }

    /// The partner, where it is a process.
    pub(super) fn child(&self) -> Option<rustix::process::Pid> {
        match &self.partner {
            Partner::Process(child) => Some(child.pid()),
            Partner::Thread(_) => None,
        }
    }
}
