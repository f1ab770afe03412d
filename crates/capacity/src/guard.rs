//! Limits beyond which a trial is ended, because the machine or the load can no longer be measured.

use std::fmt;

use tiermark_model::capacity::{Ended, Outcome, Resource};
use tiermark_model::messages::trials as says;
use tiermark_model::{Bytes, Note};

/// Share of the swap space that may be used; beyond it the next fault may kill a tenant.
const SWAP_USED: f64 = 0.95;
/// Share of the bytes swapped since a trial began that may go to areas outside the tier: with more the trial does not
/// measure the tier.
const ELSEWHERE: f64 = 0.01;
/// Bytes there that are no matter: other programs, too, are swapped.
const ELSEWHERE_LEAST: u64 = 4 << 20;
/// Share of the schedule's requests that have to be answered, over [`SLOW_SECONDS`]; of what the level promises, where
/// that is less.
const ACHIEVED: f64 = 0.95;
/// Standard deviations of a Poisson count by which answers must be too few: requests under way at the ends of the time
/// vary by chance.
const CHANCE: f64 = 2.0;
/// Seconds for which the rate may be missed: a stall of a second is a tail, of three an overload.
const SLOW_SECONDS: f64 = 3.0;
/// Seconds of its schedule by which the load may be behind.
const BACKLOG_SECONDS: f64 = 1.0;
/// Share of the time in which all tenants waited for memory (PSI full, average of 10 s), in percent.
const PRESSURE: f64 = 20.0;
/// Seconds by which the coordinator's own heartbeat may be late: beyond it the whole machine stands still.
const HEARTBEAT_SECONDS: f64 = 1.0;

/// The counters at one moment of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Seconds since the trial began, its fill included.
    pub at: f64,
    /// Processes that the kernel killed for want of memory in the tenants' groups since the trial began; 0 on systems
    /// that never tell.
    pub oom_kills: u64,
    /// Tenants that ended by themselves or were killed.
    pub ended: u32,
    /// Bytes of swap in use.
    pub swap_used: u64,
    /// Bytes of swap there are; 0 without any.
    pub swap_total: u64,
    /// Bytes by which areas that are not of the tier were filled since the trial began.
    pub elsewhere: u64,
    /// Requests due and answered since the sample before; `None` before the load starts.
    pub window: Option<Answered>,
    /// Seconds since the load began that runs.
    pub loaded: f64,
    /// Seconds of its schedule by which the load is behind.
    pub backlog: f64,
    /// PSI of memory, full, average of 10 s, in percent; `None` in the first 10 s of a stage, and on systems that never
    /// tell.
    pub memory_full: Option<f64>,
    /// Bytes available without swapping (MemAvailable).
    pub available: u64,
    /// Seconds by which the coordinator's heartbeat came late.
    pub heartbeat_late: f64,
    /// Bytes of memory that the client holds.
    pub client: u64,
}

/// Requests between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Requests that were answered.
    pub done: u64,
    /// Requests that were due by the schedule.
    pub due: u64,
}

/// Limits that a scenario sets; the others are the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guards {
    /// Bytes of the machine's memory that stay available.
    pub floor: u64,
    /// Seconds of a trial.
    pub wall: f64,
    /// Share of its schedule's requests that the service level promises to answer; 1 where it says nothing of that.
    pub rate: f64,
    /// Bytes of memory that the client may hold.
    pub client: u64,
    /// Bytes of memory that it needs while servers answer.
    pub usual: u64,
}

impl Guards {
    /// The same on a machine of so much memory: a client that is spared and locked would else be within its limit where
    /// nothing else has any memory.
    pub fn within(self, memory: u64) -> Self {
        Self { client: self.client.min(memory.saturating_sub(self.floor)), ..self }
    }
}

/// Which guard ended a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The kernel killed a process for want of memory.
    Oom,
    /// A tenant ended, or was killed.
    TenantEnded,
    /// Swap is nearly full.
    SwapFull,
    /// Pages go to swap areas that are not of the tier.
    Elsewhere,
    /// Tenants and the pool of compressed memory take more DRAM than there is.
    Dram,
    /// The server answers fewer requests than the schedule requires.
    Rate,
    /// The load is behind its schedule.
    Backlog,
    /// Everything waits for memory.
    Pressure,
    /// The machine itself runs out of memory.
    Floor,
    /// The coordinator does not get to run.
    Heartbeat,
    /// The trial takes longer than the scenario allows.
    Wall,
    /// The client holds more memory than its work needs.
    Client,
    /// The counters of the guards cannot be read.
    Blind,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Oom => "out of memory",
            Self::TenantEnded => "a tenant ended",
            Self::SwapFull => "swap full",
            Self::Elsewhere => "swapped outside of the tier",
            Self::Dram => "DRAM used up",
            Self::Rate => "rate not reached",
            Self::Backlog => "behind the schedule",
            Self::Pressure => "memory pressure",
            Self::Floor => "memory floor",
            Self::Heartbeat => "machine stalled",
            Self::Wall => "time limit",
            Self::Client => "memory of the client",
            Self::Blind => "guards without data",
        })
    }
}

/// The guard that ended a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Abort {
    /// Which guard it is.
    pub guard: Guard,
    /// The reason, with the figures.
    pub cause: Note,
    /// The resource that ran out; `None` where nothing points to one.
    pub ended_by: Option<Ended>,
}

impl Abort {
    /// What that says of the server, where `ran_out` is what its evidence names. Requests that the client is late with,
    /// or that wait for cpus which other programs use, are missing as those are that the server is late with, a machine
    /// that stands still without waiting for memory is held up by others, a tier that others share is not it, and how
    /// long a trial may take is this program's own matter.
    pub fn outcome(&self, ran_out: Option<&Ended>) -> Outcome {
        let is_elsewhere = ran_out.is_some_and(|ended| !ended.resource.is_of_server());
        let is_memory = ran_out.is_some_and(|ended| ended.resource == Resource::MemoryTier);
        let says_nothing = match self.guard {
            Guard::Rate | Guard::Backlog => is_elsewhere,
            Guard::Heartbeat => !is_memory,
            Guard::Elsewhere | Guard::Wall | Guard::Client | Guard::Blind => true,
            _ => false,
        };
        if says_nothing { Outcome::Unclear } else { Outcome::Fail }
    }

    /// The counters of the guards cannot be read.
    pub(crate) fn blind(why: &str) -> Self {
        Self { guard: Guard::Blind, cause: says::guard_blind(why), ended_by: None }
    }

    /// Whether no other trial may follow.
    pub(crate) fn ends_the_run(&self) -> bool {
        matches!(self.guard, Guard::Client | Guard::Blind)
    }

    /// Whether the client may be what takes the memory, where it holds so many bytes: the kernel is to kill it before
    /// tenants then.
    pub(crate) fn blames_client(&self, held: u64, guards: &Guards) -> bool {
        match self.guard {
            Guard::Client => true,
            Guard::Floor => held > guards.usual,
            _ => false,
        }
    }

    /// DRAM is used up.
    pub(crate) fn of_dram(cause: Note) -> Self {
        Self::of_memory(Guard::Dram, cause)
    }

    /// A node's memory is used up.
    pub(crate) fn of_floor(cause: Note) -> Self {
        Self::of_memory(Guard::Floor, cause)
    }

    fn of_memory(guard: Guard, cause: Note) -> Self {
        let ended_by = Some(Ended { resource: Resource::MemoryTier, why: cause.clone() });
        Self { guard, cause, ended_by }
    }

    /// Guard and cause, as the reason of a trial.
    pub(crate) fn note(&self) -> Note {
        says::guard_ended_trial(&self.guard.to_string(), &self.cause)
    }
}

/// The first guard that ends a trial, given all its samples in order; `None` while the trial may continue.
///
/// Call it after every sample: it checks only the last sample, and for the rate those of the last seconds.
pub fn abort(samples: &[Sample], guards: &Guards) -> Option<Abort> {
    let last = samples.last()?;
    let (guard, cause) = at_once(last, guards).or_else(|| slow(samples, guards.rate))?;
    Some(match guard {
        Guard::Oom | Guard::SwapFull | Guard::Pressure | Guard::Floor => Abort::of_memory(guard, cause),
        // The evidence of the whole stage names the resource.
        _ => Abort { guard, cause, ended_by: None },
    })
}

fn at_once(last: &Sample, guards: &Guards) -> Option<(Guard, Note)> {
    let used = last.swap_used as f64 / last.swap_total as f64;
    let full = last.memory_full.unwrap_or(0.0);
    Some(match () {
        () if last.oom_kills > 0 => (Guard::Oom, says::processes_killed(last.oom_kills)),
        () if last.ended > 0 => (Guard::TenantEnded, says::tenants_ended(last.ended)),
        () if last.swap_total > 0 && used > SWAP_USED => {
            (Guard::SwapFull, says::swap_nearly_full(used.into(), Bytes(last.swap_total)))
        }
        () if goes_elsewhere(last) => {
            (Guard::Elsewhere, says::swapped_elsewhere(Bytes(last.elsewhere), Bytes(last.swap_used)))
        }
        () if full > PRESSURE => (Guard::Pressure, says::tenants_stalled(full, PRESSURE)),
        () if last.available < guards.floor => {
            (Guard::Floor, says::memory_below_floor(Bytes(last.available), Bytes(guards.floor)))
        }
        () if last.client > guards.client => {
            (Guard::Client, says::client_too_large(Bytes(last.client), Bytes(guards.client)))
        }
        () if last.heartbeat_late > HEARTBEAT_SECONDS => (Guard::Heartbeat, says::heartbeat_late(last.heartbeat_late)),
        // A required rate of 90 % allows a backlog of 1 s in 10 s.
        () if last.backlog > BACKLOG_SECONDS + (1.0 - guards.rate) * last.loaded => {
            (Guard::Backlog, says::load_behind(last.backlog))
        }
        () if last.at > guards.wall => (Guard::Wall, says::trial_too_long(last.at, guards.wall)),
        () => return None,
    })
}

/// Whether what is swapped goes to areas that are not of the tier: one of as high a priority was turned on beside it.
fn goes_elsewhere(last: &Sample) -> bool {
    let all = last.swap_used.saturating_add(last.elsewhere);
    last.swap_total > 0 && last.elsewhere > ELSEWHERE_LEAST && last.elsewhere as f64 > ELSEWHERE * all as f64
}

/// Whether the rate has been missed in every sample of the last seconds, by more than chance. `promised` is what the
/// level wants of it.
fn slow(samples: &[Sample], promised: f64) -> Option<(Guard, Note)> {
    let wanted = ACHIEVED * promised;
    let end = samples.last()?.at;
    let missed = |window: &Answered| (window.done as f64) < wanted * window.due as f64;
    let run: Vec<Answered> = samples.iter().rev().map_while(|sample| sample.window.filter(missed)).collect();
    // A sample covers the time since the sample before.
    let before = samples.len().checked_sub(run.len() + 1).map(|at| samples[at].at);
    let seconds = end - before.or(samples.first().map(|sample| sample.at))?;
    let sum = |field: fn(&Answered) -> u64| run.iter().map(field).sum::<u64>() as f64;
    let (done, due) = (sum(|window| window.done), sum(|window| window.due));
    (seconds >= SLOW_SECONDS && done < wanted * due - CHANCE * due.sqrt())
        .then(|| (Guard::Rate, says::rate_missed(done / due, seconds, wanted.into())))
}

#[cfg(test)]
mod tests;
