//! When a probe is ended: the machine, or what is measured on it, is beyond what can be borne.

use std::fmt;

use tiermark_model::Bytes;
use tiermark_model::capacity::{Ended, Resource};

use crate::resource::{Signs, ended_by};

/// Share of the swap space that may be used; beyond it the next fault may kill a tenant.
const SWAP_USED: f64 = 0.95;
/// Share of the schedule's requests that have to be answered, over [`SLOW_SECONDS`].
const ACHIEVED: f64 = 0.95;
/// Seconds for which the rate may be missed: a stall of a second is a tail, of three an overload.
const SLOW_SECONDS: f64 = 3.0;
/// Seconds of its schedule by which the load may be behind.
const BACKLOG_SECONDS: f64 = 1.0;
/// Share of the time in which all tenants waited for memory (PSI full, average of 10 s), in percent.
const PRESSURE: f64 = 20.0;
/// Seconds by which the coordinator's own heartbeat may be late: beyond it the whole machine stands still.
const HEARTBEAT_SECONDS: f64 = 1.0;

/// What is known at one moment of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds since the probe began, its fill included.
    pub at: f64,
    /// Processes that the kernel killed for want of memory in the tenants' groups since the probe began.
    pub oom_kills: u64,
    /// Tenants that ended by themselves or were killed.
    pub ended: u32,
    /// Bytes of swap in use.
    pub swap_used: u64,
    /// Bytes of swap there are; 0 without any.
    pub swap_total: u64,
    /// Requests answered over those that were due since the sample before; `None` before the load starts.
    pub achieved: Option<f64>,
    /// Seconds of its schedule by which the load is behind.
    pub backlog: f64,
    /// PSI of memory, full, average of 10 s, in percent; `None` where the kernel does not tell.
    pub memory_full: Option<f64>,
    /// Bytes that can be had without swapping (MemAvailable).
    pub available: u64,
    /// Seconds by which the coordinator's heartbeat came late.
    pub heartbeat_late: f64,
    /// What resources say for themselves.
    pub signs: Signs,
}

/// Limits that a scenario sets; the others are the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guards {
    /// Bytes of the machine's memory that stay available.
    pub floor: u64,
    /// Seconds of a probe.
    pub wall: f64,
}

/// Which guard ended a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The kernel killed a process for want of memory.
    Oom,
    /// A tenant ended.
    TenantEnded,
    /// Swap is nearly full.
    SwapFull,
    /// The rate is not reached.
    Rate,
    /// The load is behind its schedule.
    Backlog,
    /// Everything waits for memory.
    Pressure,
    /// The machine itself runs out of memory.
    Floor,
    /// The coordinator does not get to run.
    Heartbeat,
    /// It takes too long.
    Wall,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Oom => "out of memory",
            Self::TenantEnded => "a tenant ended",
            Self::SwapFull => "swap full",
            Self::Rate => "rate not reached",
            Self::Backlog => "behind the schedule",
            Self::Pressure => "memory pressure",
            Self::Floor => "memory floor",
            Self::Heartbeat => "machine stands still",
            Self::Wall => "time limit",
        })
    }
}

/// Why a probe is ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Abort {
    /// The guard.
    pub guard: Guard,
    /// What it saw, with figures.
    pub said: String,
    /// The resource that ran out; `None` where nothing points to one.
    pub ended_by: Option<Ended>,
}

/// The first guard that ends a probe, given all its samples in order; `None` while it may go on.
///
/// To be asked after every sample: only the last one, and for the rate those of the last seconds, are looked at.
#[must_use]
pub fn abort(samples: &[Sample], guards: &Guards) -> Option<Abort> {
    let last = samples.last()?;
    let (guard, said) = at_once(last, guards).or_else(|| slow(samples))?;
    let memory = |words: &str| Some(Ended { resource: Resource::MemoryTier, words: words.to_owned() });
    let ended_by = match guard {
        Guard::Oom | Guard::SwapFull | Guard::Pressure | Guard::Floor => memory(&said),
        _ => ended_by(&last.signs),
    };
    Some(Abort { guard, said, ended_by })
}

fn at_once(last: &Sample, guards: &Guards) -> Option<(Guard, String)> {
    let used = last.swap_used as f64 / last.swap_total as f64;
    let full = last.memory_full.unwrap_or(0.0);
    Some(match () {
        () if last.oom_kills > 0 => {
            let processes = if last.oom_kills == 1 { "process" } else { "processes" };
            (Guard::Oom, format!("the kernel killed {} {processes} for want of memory", last.oom_kills))
        }
        () if last.ended > 0 => (Guard::TenantEnded, format!("{} of the tenants ended", last.ended)),
        () if last.swap_total > 0 && used > SWAP_USED => {
            (Guard::SwapFull, format!("{:.0} % of {} of swap are in use", used * 100.0, Bytes(last.swap_total)))
        }
        () if full > PRESSURE => {
            (Guard::Pressure, format!("all tenants waited for memory {full:.0} % of 10 s, {PRESSURE} % are allowed"))
        }
        () if last.available < guards.floor => {
            let (available, floor) = (Bytes(last.available), Bytes(guards.floor));
            (Guard::Floor, format!("{available} of the machine's memory are available, {floor} stay free"))
        }
        () if last.heartbeat_late > HEARTBEAT_SECONDS => {
            (Guard::Heartbeat, format!("the coordinator's heartbeat came {:.1} s late", last.heartbeat_late))
        }
        () if last.backlog > BACKLOG_SECONDS => {
            (Guard::Backlog, format!("the load is {:.1} s behind its schedule", last.backlog))
        }
        () if last.at > guards.wall => {
            (Guard::Wall, format!("{:.0} s have passed, {} were allowed", last.at, guards.wall))
        }
        () => return None,
    })
}

/// Whether the rate has been missed in every sample of the last seconds.
fn slow(samples: &[Sample]) -> Option<(Guard, String)> {
    let end = samples.last()?.at;
    let missed = |sample: &&Sample| sample.achieved.is_some_and(|achieved| achieved < ACHIEVED);
    let run: Vec<&Sample> = samples.iter().rev().take_while(missed).collect();
    // A sample tells of the time since the one before it.
    let before = samples.len().checked_sub(run.len() + 1).map(|at| samples[at].at);
    let seconds = end - before.or(run.last().map(|sample| sample.at))?;
    let worst = run.iter().filter_map(|sample| sample.achieved).fold(f64::INFINITY, f64::min);
    (!run.is_empty() && seconds >= SLOW_SECONDS).then(|| {
        (
            Guard::Rate,
            format!(
                "{:.0} % of the requests were answered at worst, below {:.0} % for {seconds:.0} s",
                worst * 100.0,
                ACHIEVED * 100.0
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARDS: Guards = Guards { floor: 1 << 30, wall: 60.0 };

    fn calm() -> Sample {
        Sample {
            at: 5.0,
            oom_kills: 0,
            ended: 0,
            swap_used: 94,
            swap_total: 100,
            achieved: Some(1.0),
            backlog: 1.0,
            memory_full: Some(20.0),
            available: 1 << 30,
            heartbeat_late: 1.0,
            signs: Signs::default(),
        }
    }

    #[test]
    fn each_guard_ends_a_probe_just_beyond_its_limit() {
        assert_eq!(abort(&[calm()], &GUARDS), None);
        assert_eq!(abort(&[], &GUARDS), None);
        for (sample, guard, said, resource) in [
            (
                Sample { oom_kills: 1, ended: 1, ..calm() },
                Guard::Oom,
                "killed 1 process for",
                Some(Resource::MemoryTier),
            ),
            (Sample { ended: 1, ..calm() }, Guard::TenantEnded, "1 of the tenants", None),
            (Sample { swap_used: 96, ..calm() }, Guard::SwapFull, "96 % of 100 B", Some(Resource::MemoryTier)),
            (Sample { memory_full: Some(20.6), ..calm() }, Guard::Pressure, "21 % of 10 s", Some(Resource::MemoryTier)),
            (
                Sample { available: (1 << 30) - 1, ..calm() },
                Guard::Floor,
                "1 GiB stay free",
                Some(Resource::MemoryTier),
            ),
            (Sample { heartbeat_late: 1.1, ..calm() }, Guard::Heartbeat, "1.1 s late", None),
            (Sample { backlog: 1.1, ..calm() }, Guard::Backlog, "1.1 s behind", None),
            (Sample { at: 60.5, ..calm() }, Guard::Wall, "60 were allowed", None),
        ] {
            let found = abort(&[sample], &GUARDS).unwrap_or_else(|| panic!("{guard}"));
            assert_eq!((found.guard, found.ended_by.map(|e| e.resource)), (guard, resource));
            assert!(found.said.contains(said), "{}", found.said);
        }
        assert_eq!(abort(&[Sample { swap_total: 0, swap_used: 0, memory_full: None, ..calm() }], &GUARDS), None);
    }

    #[test]
    fn a_rate_is_missed_for_three_seconds_before_it_counts() {
        let second = |at: f64, achieved: f64| Sample { at, achieved: Some(achieved), ..calm() };
        let mut samples = vec![second(1.0, 1.0), second(2.0, 0.5), second(3.0, 0.9)];
        assert_eq!(abort(&samples, &GUARDS), None);
        samples.push(second(4.0, 0.94));
        let found = abort(&samples, &GUARDS).unwrap();
        assert_eq!(
            (found.guard, found.said.as_str()),
            (Guard::Rate, "50 % of the requests were answered at worst, below 95 % for 3 s")
        );
        samples.push(second(5.0, 0.96));
        assert_eq!(abort(&samples, &GUARDS), None, "it caught up");
        let before = Sample { achieved: None, ..second(9.0, 0.0) };
        assert_eq!(abort(&[before, before, before], &GUARDS), None, "the load has not started");
    }

    #[test]
    fn a_slow_probe_says_what_ran_out() {
        let signs = Signs { server_cpu: Some(0.98), ..Signs::default() };
        let found = abort(&[Sample { backlog: 2.0, signs, ..calm() }], &GUARDS).unwrap();
        let ended = found.ended_by.unwrap();
        assert_eq!(
            (ended.resource, ended.words.as_str()),
            (Resource::Cpu, "the tenants' cpus were busy 98 % of the time")
        );
    }
}
