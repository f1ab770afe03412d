//! Processes on one cpu that pass a token round.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, Refusal};
use tiermark_system::Clock;
use tiermark_system::os::{Child, SharedWords};

use super::pair::{Walks, WorkingSet};
use super::watch::Watch;
use super::{Body, Failure, no_more};

/// Words of the shared page: whether it is over, and how many could not go to the cpu.
const OVER: usize = 0;
const ASTRAY: usize = 1;
/// How often the first of the children passed the token on.
#[cfg(test)]
const PASSES: usize = 2;
/// How long a child has to end before it is killed.
const GOODBYE: Duration = Duration::from_secs(1);

/// What all have: the pipe that each waits at, the caller's first.
#[derive(Debug)]
struct Common {
    pipes: Vec<(OwnedFd, OwnedFd)>,
    words: SharedWords,
}

impl Common {
    fn pass_to(&self, index: usize) -> rustix::io::Result<()> {
        retry_on_intr(|| rustix::io::write(&self.pipes[index].1, &[1])).map(drop)
    }

    fn wait_at(&self, index: usize) -> rustix::io::Result<()> {
        retry_on_intr(|| rustix::io::read(&self.pipes[index].0, &mut [0u8; 1])).map(drop)
    }

    /// Nobody waits any more, and none will.
    fn end(&self) {
        self.words.word(OVER).store(1, Release);
        for index in 0..self.pipes.len() {
            let _ = self.pass_to(index);
        }
    }

    fn is_over(&self) -> bool {
        self.words.word(OVER).load(Acquire) != 0
    }

    /// What a child does, to its end.
    fn serve(&self, index: usize, cpu: CpuId, mut set: WorkingSet) -> i32 {
        if tiermark_system::pin(cpu).is_err() {
            self.words.word(ASTRAY).fetch_add(1, Release);
        }
        let next = (index + 1) % self.pipes.len();
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

/// A ring with the caller in it. An operation is one pass from a process to the next; rounds are whole.
#[derive(Debug)]
pub(super) struct Ring {
    // Ended first: nothing is left to watch then.
    watch: Watch,
    common: Arc<Common>,
    children: Vec<Child>,
    set: WorkingSet,
    walks: Walks,
    clock: Clock,
}

impl Ring {
    /// Makes all the others on a cpu and has the token go round once. `limit` is how long nothing may move, where it is
    /// not the usual time.
    ///
    /// # Errors
    /// A refusal, when the system does not give files or processes, or the cpu may not be used.
    pub(super) fn new(
        cpu: CpuId,
        count: usize,
        set: usize,
        clock: Clock,
        limit: Option<Duration>,
    ) -> Result<Self, Refusal> {
        let refused = |error: io::Error| no_more("a ring of processes", &error);
        let pipes = (0..count.max(2)).map(|_| pipe_with(PipeFlags::CLOEXEC)).collect::<Result<Vec<_>, _>>();
        let pipes = pipes.map_err(|error| refused(error.into()))?;
        let words = SharedWords::map().map_err(|error| refused(error.into()))?;
        let common = Arc::new(Common { pipes, words });
        let hung = Arc::clone(&common);
        let watch = Watch::over_waits(limit, move || hung.end()).map_err(refused)?;
        let (walks, mine) = (Walks::new(clock), WorkingSet::new(set));
        let mut ring = Self { watch, common, children: Vec::new(), set: mine, walks, clock };
        for index in 1..ring.common.pipes.len() {
            let (common, theirs) = (&ring.common, WorkingSet::new(set));
            // SAFETY: system calls and words of shared memory; the working set, which is there already, is given back.
            #[allow(unsafe_code, reason = "a fork")]
            let child = unsafe { Child::fork(|| common.serve(index, cpu, theirs)) };
            ring.children.push(child.map_err(refused)?);
        }
        ring.round()
            .map_err(|failure| super::refused_by("a ring of processes", failure, "look at what it waits for"))?;
        if ring.common.words.word(ASTRAY).load(Acquire) == 0 { Ok(ring) } else { Err(says::partner_elsewhere(cpu)) }
    }

    /// The token once round.
    fn round(&mut self) -> Result<(), Failure> {
        let common = &self.common;
        common.pass_to(1).map_err(Failure::of("passing the token"))?;
        self.watch.waits(|| common.wait_at(0)).map_err(Failure::of("waiting for the token"))?;
        if common.is_over() {
            return Err("a process of the ring does not answer".into());
        }
        self.set.walk();
        Ok(())
    }
}

impl Body for Ring {
    /// A round.
    fn least(&self) -> u64 {
        self.common.pipes.len() as u64
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let began = self.clock.now();
        let walk = self.walks.warm(&mut self.set);
        let start = self.clock.now();
        let each = self.least();
        (0..times / each).try_for_each(|_| self.round())?;
        // A walk is never longer than what it is part of; a clock that rose meanwhile must not turn time back.
        Ok(start.saturating_sub(began) + (walk * times).min(self.clock.now().saturating_sub(start)))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.common.end();
        for child in &mut self.children {
            // One that does not end is killed when it is dropped.
            let _ = child.ended_within(GOODBYE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tiermark_system::testing::{clock, first_cpu};

    fn ring(count: usize, set: usize, limit: Option<Duration>) -> Ring {
        Ring::new(first_cpu(), count, set, clock(), limit).unwrap()
    }

    #[test]
    fn the_token_passes_every_process_as_often() {
        for (count, set) in [(2, 0), (4, 4096), (8, 0)] {
            let mut ring = ring(count, set, None);
            assert_eq!((ring.children.len(), ring.least()), (count - 1, count as u64));
            let before = ring.common.words.word(PASSES).load(Acquire);
            ring.run(5 * count as u64).unwrap();
            assert_eq!(ring.common.words.word(PASSES).load(Acquire), before + 5);
        }
    }

    #[test]
    fn a_process_that_does_not_answer_ends_the_wait() {
        let mut ring = ring(3, 0, Some(Duration::from_millis(700)));
        rustix::process::kill_process(ring.children[1].pid(), rustix::process::Signal::STOP).unwrap();
        let began = Instant::now();
        // The first ones may still be answered: a signal takes its time.
        let why = (0..100).find_map(|_| ring.run(3).err()).unwrap();
        assert!(why.to_string().contains("does not answer"), "{why}");
        drop(ring);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
