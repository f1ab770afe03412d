//! Giving the cpu to another, and being woken.

use std::num::NonZeroU64;

use rustix::thread::{NanosleepRelativeResult, clock_nanosleep_relative, current_timer_slack, set_current_timer_slack};
use rustix::time::{ClockId, Timespec};
use tiermark_model::{KIB, MIB, Machine, OsGroup, Sweep};
use tiermark_system::Clock;

use crate::body::{Body, Make, Order, Prepared, Primitive};
use crate::failure::{Failure, unavailable};
use crate::relay::{Counts, Members, Relay, RelayPlan};

const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Switches, id, text, make)
}

/// Two sides, everywhere, and working sets.
const fn switch(id: &'static str, text: &'static str, make: Make) -> Primitive {
    row(id, text, make).over(|machine| vec![Sweep::WorkingSet(sets(machine)), Sweep::Partner])
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    switch(
        "process switch pipe",
        "two processes pass a byte to and fro through a pipe each way: two switches, two writes, two reads. Each side \
         changes a word of every line of its working set before it answers; the time of these changes in warm caches \
         is subtracted. On two cpus the number includes the wake-up of a cpu that may sleep, instead of a switch",
        |order| pair(order, Members::Process),
    ),
    switch("thread switch pipe", "as process switch pipe, between two threads of a process", |order| {
        pair(order, Members::Thread)
    }),
    row(
        "process ring",
        "a token passes from process to process in a ring on one cpu, through a pipe to each process. The number \
         is one pass: a switch, a write and a read. Each process changes a word of every line of its working set \
         before it passes the token on; the time of these changes in warm caches is subtracted",
        ring,
    )
    .over(|_| vec![Sweep::Count(RING.to_vec()), Sweep::WorkingSet(RING_SETS.to_vec())]),
    row(
        "sleep 50us",
        "how much later than requested clock_nanosleep returns from a sleep of 50 µs, with Linux's default timer \
         slack of 50 µs. The delay is the slack, the timer's interrupt, the exit from the idle state and the switch. \
         A thread with a real-time policy has no slack",
        |order| sleep(order, 50_000),
    ),
    row(
        "sleep 1ms",
        "as sleep 50us, but of 1 ms: the cpu may reach deeper idle states; the slack is the same 50 µs",
        |order| sleep(order, 1_000_000),
    ),
];

/// Processes of a ring, and the working set of each: the usual ones of lat_ctx.
const RING: [u64; 3] = [2, 4, 8];
const RING_SETS: [u64; 3] = [0, 16 * KIB, 64 * KIB];
/// The default timer slack of a thread, ns.
const USUAL_SLACK: NonZeroU64 = NonZeroU64::new(50_000).unwrap();
/// A level 2 that is not declared.
const USUAL_L2: u64 = MIB;

/// Working sets from none to the second level of cache.
fn sets(machine: &Machine) -> Vec<u64> {
    let l2 = machine.data_caches().filter(|cache| cache.level == 2).filter_map(|cache| cache.bytes).max();
    let l2 = l2.unwrap_or(USUAL_L2);
    let mut sets = vec![0, 16 * KIB, 128 * KIB, l2];
    sets.retain(|set| *set <= l2);
    sets.dedup();
    sets
}

fn pair(order: &Order<'_>, members: Members) -> Prepared {
    let cpu = order.call.others.first().copied().unwrap_or(order.cpu);
    Ok(Box::new(Relay::new(&RelayPlan { members, cpu, ..two(order) })?))
}

fn ring(order: &Order<'_>) -> Prepared {
    let count = order.call.count.unwrap_or(RING[0]) as usize;
    Ok(Box::new(Relay::new(&RelayPlan { count, counts: Counts::Passes, ..two(order) })?))
}

/// Two processes on the cpu of the order.
fn two(order: &Order<'_>) -> RelayPlan {
    RelayPlan {
        members: Members::Process,
        count: 2,
        counts: Counts::Rounds,
        cpu: order.cpu,
        set: order.call.working_set.unwrap_or(0) as usize,
        clock: *order.clock,
        limit: None,
    }
}

/// Sleeps; only the delay beyond the requested time counts.
struct Sleep {
    ns: u64,
    clock: Clock,
}

fn sleep(order: &Order<'_>, ns: u64) -> Prepared {
    // Set once before the measurement, so that a filter that forbids it is reported.
    with_slack(USUAL_SLACK, || Ok(()))
        .map_err(|why| unavailable("timer slack", &why.to_string(), "allow prctl in the seccomp profile"))?;
    Ok(Box::new(Sleep { ns, clock: *order.clock }))
}

/// Does something with another timer slack of this thread, and gives it back its own.
fn with_slack<R>(slack: NonZeroU64, job: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    let before = current_timer_slack().map_err(Failure::of("timer slack"))?;
    set_current_timer_slack(Some(slack)).map_err(Failure::of("timer slack"))?;
    let done = job();
    set_current_timer_slack(NonZeroU64::new(before)).map_err(Failure::of("timer slack"))?;
    done
}

/// Sleeps so long, on when a signal came between.
fn sleep_for(ns: u64) -> Result<(), Failure> {
    let mut left = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
    loop {
        match clock_nanosleep_relative(ClockId::Monotonic, &left) {
            NanosleepRelativeResult::Ok => return Ok(()),
            NanosleepRelativeResult::Interrupted(rest) => left = rest,
            NanosleepRelativeResult::Err(error) => return Err(Failure::of("clock_nanosleep")(error)),
        }
    }
}

impl Body for Sleep {
    fn single(&self) -> bool {
        true
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let (clock, ns) = (self.clock, self.ns);
        let began = clock.now();
        let late = with_slack(USUAL_SLACK, || {
            let start = clock.now();
            (0..times).try_for_each(|_| sleep_for(ns))?;
            let slept = clock.now().saturating_sub(start);
            Ok(slept.saturating_sub(clock.ticks((ns * times) as f64)))
        })?;
        Ok(clock.now().saturating_sub(began).saturating_sub(late))
    }
}

#[cfg(test)]
mod tests;
