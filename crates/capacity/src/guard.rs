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
/// Share of the schedule's requests that have to be answered, over [`SLOW_SECONDS`]; of what the level promises, where that is less.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds since the trial began, its fill included.
    pub at: f64,
    /// Processes that the kernel killed for want of memory in the tenants' groups since the trial began.
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
    /// PSI of memory, full, average of 10 s, in percent; `None` where the kernel does not report it.
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
    /// What that says of the server, where `ran_out` is what its evidence names. Requests that the client is late with are missing as those
    /// are that the server is late with, a machine that stands still without waiting for memory is held up by others, a tier that others share is not it, and how long a trial may
    /// take is this program's own matter.
    #[must_use]
    pub fn outcome(&self, ran_out: Option<&Ended>) -> Outcome {
        let is = |resource: Resource| ran_out.is_some_and(|ended| ended.resource == resource);
        let says_nothing = match self.guard {
            Guard::Rate | Guard::Backlog => is(Resource::Client),
            Guard::Heartbeat => !is(Resource::MemoryTier),
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
#[must_use]
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
            (Guard::SwapFull, says::swap_nearly_full(used, Bytes(last.swap_total)))
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

/// Whether the rate has been missed in every sample of the last seconds, by more than chance. `promised` is what the level wants of it.
fn slow(samples: &[Sample], promised: f64) -> Option<(Guard, Note)> {
    let wanted = ACHIEVED * promised;
    let end = samples.last()?.at;
    let missed = |window: &Answered| (window.done as f64) < wanted * window.due as f64;
    let run: Vec<Answered> = samples.iter().rev().map_while(|sample| sample.window.filter(missed)).collect();
    // A sample covers the time since the sample before.
    let before = samples.len().checked_sub(run.len() + 1).map(|at| samples[at].at);
    let seconds = end - before.or(samples.first().map(|sample| sample.at))?;
    let sum = |of: fn(&Answered) -> u64| run.iter().map(of).sum::<u64>() as f64;
    let (done, due) = (sum(|window| window.done), sum(|window| window.due));
    (seconds >= SLOW_SECONDS && done < wanted * due - CHANCE * due.sqrt())
        .then(|| (Guard::Rate, says::rate_missed(done / due, seconds, wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARDS: Guards = Guards { floor: 1 << 30, wall: 60.0, rate: 1.0, client: 1 << 30 };

    fn calm() -> Sample {
        Sample {
            at: 5.0,
            oom_kills: 0,
            ended: 0,
            swap_used: 94,
            swap_total: 100,
            elsewhere: 4 << 20,
            window: Some(Answered { done: 5000, due: 5000 }),
            loaded: 30.0,
            backlog: 1.0,
            memory_full: Some(20.0),
            available: 1 << 30,
            heartbeat_late: 1.0,
            client: 1 << 30,
        }
    }

    #[test]
    fn each_guard_ends_a_trial_just_beyond_its_limit() {
        assert_eq!(abort(&[calm()], &GUARDS), None);
        assert_eq!(abort(&[], &GUARDS), None);
        for (sample, guard, said, resource) in [
            (
                Sample { oom_kills: 1, ended: 1, ..calm() },
                Guard::Oom,
                "killed 1 process because",
                Some(Resource::MemoryTier),
            ),
            (Sample { ended: 1, ..calm() }, Guard::TenantEnded, "1 tenant ended", None),
            (Sample { swap_used: 96, ..calm() }, Guard::SwapFull, "96 % of 100 B", Some(Resource::MemoryTier)),
            (Sample { elsewhere: 5 << 20, ..calm() }, Guard::Elsewhere, "5 MiB were swapped to areas", None),
            (
                Sample { memory_full: Some(20.6), ..calm() },
                Guard::Pressure,
                "21 % of the last 10 s",
                Some(Resource::MemoryTier),
            ),
            (
                Sample { available: (1 << 30) - 1, ..calm() },
                Guard::Floor,
                "1 GiB must stay free",
                Some(Resource::MemoryTier),
            ),
            (Sample { client: (1 << 30) + 1, ..calm() }, Guard::Client, "its work needs less than 1 GiB", None),
            (Sample { heartbeat_late: 1.1, ..calm() }, Guard::Heartbeat, "1.1 s late", None),
            (Sample { backlog: 1.1, ..calm() }, Guard::Backlog, "1.1 s behind", None),
            (Sample { at: 60.5, ..calm() }, Guard::Wall, "60 s are allowed", None),
        ] {
            let found = abort(&[sample], &GUARDS).unwrap_or_else(|| panic!("{guard}"));
            assert_eq!((found.guard, found.ended_by.map(|e| e.resource)), (guard, resource));
            assert!(found.cause.text.contains(said), "{}", found.cause);
        }
        let much = Sample { swap_used: 900 << 20, swap_total: 1 << 30, elsewhere: 9 << 20, ..calm() };
        assert_eq!(abort(&[much], &GUARDS), None, "no more than one in a hundred");
        assert!(abort(&[Sample { elsewhere: 10 << 20, ..much }], &GUARDS).is_some());
        assert_eq!(abort(&[Sample { swap_total: 0, swap_used: 0, elsewhere: 1 << 30, ..calm() }], &GUARDS), None);
        assert_eq!(abort(&[Sample { swap_total: 0, swap_used: 0, memory_full: None, ..calm() }], &GUARDS), None);
    }

    /// A client that is too large, and counters that cannot be read, say nothing of the server, and no other trial may follow.
    #[test]
    fn what_ends_the_run_says_nothing_of_the_server() {
        let large = abort(&[Sample { client: u64::MAX, ..calm() }], &GUARDS).unwrap();
        for ended in [large, Abort::blind("proc/meminfo has no line MemAvailable")] {
            assert!(ended.ends_the_run() && ended.outcome(None) == Outcome::Unclear, "{ended:?}");
        }
        assert!(!abort(&[Sample { ended: 1, ..calm() }], &GUARDS).unwrap().ends_the_run());
    }

    fn second(at: f64, done: u64, due: u64) -> Sample {
        Sample { at, window: Some(Answered { done, due }), ..calm() }
    }

    #[test]
    fn a_rate_is_missed_for_three_seconds_before_it_counts() {
        let mut samples = vec![second(1.0, 5000, 5000), second(2.0, 2500, 5000), second(3.0, 4500, 5000)];
        assert_eq!(abort(&samples, &GUARDS), None);
        samples.push(second(4.0, 4700, 5000));
        let found = abort(&samples, &GUARDS).unwrap();
        assert_eq!(
            (found.guard, found.cause.text.as_str()),
            (Guard::Rate, "78 % of the requests due in 3 s were answered, below 95 %")
        );
        let nearly = [second(1.0, 1, 1), second(4.5, 947_000, 1_000_000)];
        assert!(abort(&nearly, &GUARDS).unwrap().cause.text.starts_with("94 % of the requests due"), "below 95 %");
        samples.push(second(5.0, 4800, 5000));
        assert_eq!(abort(&samples, &GUARDS), None, "it caught up");
        let before = Sample { window: None, ..second(9.0, 0, 0) };
        assert_eq!(abort(&[before, before, before], &GUARDS), None, "the load has not started");
        let idle: Vec<Sample> = (1..9).map(|at| second(f64::from(at), 0, 0)).collect();
        assert_eq!(abort(&idle, &GUARDS), None, "nothing was due");
    }

    #[test]
    fn few_requests_may_be_short_by_chance() {
        // Of 20 a second one or two are always under way; three of them three times are 93 %.
        let few: Vec<Sample> =
            [(17, 20), (18, 20), (18, 20)].iter().zip(2..).map(|((d, n), at)| second(f64::from(at), *d, *n)).collect();
        let with = |many: u64| {
            let scaled = few.iter().map(|s| s.window.map(|w| second(s.at, w.done * many, w.due * many)));
            std::iter::once(second(1.0, 1, 1)).chain(scaled.flatten()).collect::<Vec<Sample>>()
        };
        assert_eq!(abort(&with(1), &GUARDS), None);
        assert_eq!(abort(&with(100), &GUARDS).map(|found| found.guard), Some(Guard::Rate), "as a share the same");
        // It goes on, and cannot be chance any more.
        let on: Vec<Sample> = (1..40).map(|at| second(f64::from(at), 17, 20)).collect();
        assert_eq!(abort(&on, &GUARDS).map(|found| found.guard), Some(Guard::Rate));
    }

    #[test]
    fn a_level_that_promises_less_of_the_rate_has_laxer_guards() {
        let lax = Guards { rate: 0.9, ..GUARDS };
        let at = |share: u64| (1..6).map(|at| second(f64::from(at), share * 100, 10_000)).collect::<Vec<Sample>>();
        assert!(abort(&at(91), &GUARDS).is_some() && abort(&at(91), &lax).is_none());
        assert!(abort(&at(87), &lax).is_none(), "what the level refuses is for the level to say");
        assert_eq!(abort(&at(80), &lax).map(|found| found.guard), Some(Guard::Rate));
        let behind = Sample { backlog: 3.5, loaded: 30.0, ..calm() };
        assert_eq!(abort(&[behind], &GUARDS).map(|found| found.guard), Some(Guard::Backlog));
        assert_eq!(abort(&[behind], &lax), None, "3 s in 30 s are nine of ten");
        assert_eq!(abort(&[Sample { backlog: 4.5, ..behind }], &lax).map(|found| found.guard), Some(Guard::Backlog));
    }

    #[test]
    fn what_the_client_or_others_spoilt_is_no_vote() {
        let of = |guard, resource: Option<Resource>| {
            let abort = Abort { guard, cause: says::nothing_measured(), ended_by: None };
            abort.outcome(resource.map(|resource| Ended { resource, why: says::nothing_measured() }).as_ref())
        };
        for guard in [Guard::Rate, Guard::Backlog] {
            assert_eq!(of(guard, Some(Resource::Client)), Outcome::Unclear);
            assert_eq!([of(guard, Some(Resource::Cpu)), of(guard, None)], [Outcome::Fail; 2]);
        }
        assert_eq!([of(Guard::Heartbeat, None), of(Guard::Heartbeat, Some(Resource::Cpu))], [Outcome::Unclear; 2]);
        assert_eq!(of(Guard::Heartbeat, Some(Resource::MemoryTier)), Outcome::Fail, "it thrashes");
        assert_eq!([of(Guard::Wall, None), of(Guard::Wall, Some(Resource::MemoryTier))], [Outcome::Unclear; 2]);
        assert_eq!(of(Guard::Elsewhere, Some(Resource::MemoryTier)), Outcome::Unclear);
        assert_eq!([of(Guard::Oom, Some(Resource::Client)), of(Guard::TenantEnded, None)], [Outcome::Fail; 2]);
    }

    #[test]
    fn what_ran_out_of_a_slow_trial_is_left_to_its_evidence() {
        let found = abort(&[Sample { backlog: 2.0, ..calm() }], &GUARDS).unwrap();
        assert_eq!((found.guard, found.ended_by), (Guard::Backlog, None));
    }
}
