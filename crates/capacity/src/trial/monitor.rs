//! Looks after a trial: once a second, all counters, the guards, and whether the system has come to rest.

use std::collections::VecDeque;
use std::time::Instant;

use tiermark_load::Snapshot;
use tiermark_machine::Root;
use tiermark_model::{Note, Swap};

use super::ProgressSink;
use super::group_counters::{Look, Sight};
use super::heartbeat::Heartbeat;
use super::measurements::SystemState;
use super::pace::Pace;
use crate::backend::{Backend, Pulse};
use crate::cgroup::set_limit;
use crate::coordinator::first_to_go;
use crate::dram::{Account, Dram, MANY, SOME};
use crate::evidence::{GroupCounters, GroupPaths, Host, Vitals};
use crate::guard::{Abort, Guard, Guards, Sample, abort};
use crate::steady::HitTrend;
use crate::tier::{ActiveTier, used_elsewhere};

/// Seconds for which tenants and compressed memory may take more than there is: the kernel may be busy with making
/// room.
const OVERDRAWN: u32 = 3;
/// Over how long stalls for memory are looked at.
const PRESSURE_SECONDS: f64 = 10.0;

/// The part of a trial that is under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Tenants are started and filled.
    Filling,
    /// One tenant is under load for a moment, to measure its memory.
    Sizing,
    /// Load runs until the system has come to rest.
    WarmingUp {
        /// Seconds at least.
        least: f64,
        /// Whether the stage ends early, when the system has come to rest.
        settles: bool,
    },
    /// The load whose response times count.
    Measuring,
}

impl Stage {
    /// In one word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Filling => "filling",
            Self::Sizing => "sizing",
            Self::WarmingUp { .. } => "warming up",
            Self::Measuring => "measuring",
        }
    }
}

/// Progress of a trial, for people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The part of the trial that is under way.
    pub stage: Stage,
    /// Seconds since the stage began.
    pub seconds: f64,
    /// Seconds that it takes at most; `None` where that is not known.
    pub of: Option<f64>,
    /// Requests answered a second, over the last one.
    pub rate: Option<f64>,
}

/// Looks after one trial.
pub(super) struct Monitor<'a> {
    root: Root,
    active: &'a ActiveTier,
    guards: Guards,
    dram: Dram,
    /// Looks in succession at which more of it was in use than there is.
    overdrawn: u32,
    /// Bytes that areas of others held when it began.
    elsewhere: u64,
    /// Which counters of the tenants' groups it has seen.
    sight: Sight,
    /// The use of DRAM at the last look.
    account: Option<Account>,
    begun: Instant,
    stage: Stage,
    entered: Instant,
    length: Option<f64>,
    samples: Vec<Sample>,
    pace: Pace,
    /// Seconds since the stage began, and µs in which all tenants had waited for memory by then.
    stalls: VecDeque<(f64, u64)>,
    heartbeat: Heartbeat,
    abort: Option<Abort>,
    progress: ProgressSink<'a>,
}

impl<'a> Monitor<'a> {
    pub(super) fn new(
        root: Root,
        active: &'a ActiveTier,
        (guards, dram): (Guards, Dram),
        progress: ProgressSink<'a>,
    ) -> Self {
        let now = Instant::now();
        // Where they cannot be read, the first pulse ends the trial.
        let vitals = Vitals::read(&root).ok();
        Self {
            elsewhere: vitals.as_ref().map_or(0, |vitals| used_elsewhere(&vitals.swaps, active)),
            sight: Sight::default(),
            root,
            active,
            guards: vitals.map_or(guards, |vitals| guards.within(vitals.total)),
            dram,
            overdrawn: 0,
            account: None,
            begun: now,
            stage: Stage::Filling,
            entered: now,
            length: None,
            samples: Vec::new(),
            pace: Pace::default(),
            stalls: VecDeque::new(),
            heartbeat: Heartbeat::start(),
            abort: None,
            progress,
        }
    }

    /// The counters of system and tenants at this moment.
    pub(super) fn state(&self, backend: &dyn Backend) -> SystemState {
        SystemState::take(&self.root, backend, self.active)
    }

    /// Why a guard ends the trial; `None` while it may go on.
    pub(super) fn abort(&self) -> Option<Abort> {
        self.abort.clone()
    }

    /// Tenants hold so many records together.
    pub(super) fn holds(&mut self, records: u64) {
        self.pace.pass = records;
    }

    /// Why the system had not come to rest.
    pub(super) fn not_steady(&self) -> Option<Note> {
        // Where a tier holds a part of the records, memory is settled only after all records may have been touched.
        let unasked = || self.pace.unasked().filter(|_| self.active.room > 0);
        self.pace.restless().or_else(unasked)
    }

    /// The trend of the hit rate over the measurement.
    pub(super) fn hit_trend(&self) -> Option<HitTrend> {
        self.pace.hit_trend()
    }

    /// Begins a stage that takes so many seconds.
    pub(super) fn enter(&mut self, stage: Stage, length: f64) {
        if self.stage != Stage::Measuring {
            self.pace.measures_from_here();
        }
        (self.stage, self.entered, self.length) = (stage, Instant::now(), Some(length));
        self.pace.pauses();
        self.stalls.clear();
    }

    /// Looks at everything. `false` ends the stage.
    pub(super) fn pulse(&mut self, pulse: &Pulse<'_>) -> bool {
        let (vitals, look) = match self.look(pulse) {
            Ok(found) => found,
            Err(why) => {
                self.ends(Err(why));
                return false;
            }
        };
        let host = Host::read(&self.root, &self.active.devices).unwrap_or_default();
        let asked = pulse.load.filter(|_| self.stage != Stage::Filling);
        let window = asked.and_then(|load| self.pace.step(load, &host, &look.group));
        let rate = window.map(|(window, seconds)| window.done as f64 / seconds);
        let sample = Sample {
            at: self.begun.elapsed().as_secs_f64(),
            oom_kills: look.kills.unwrap_or(0),
            ended: pulse.ended,
            window: window.map(|(window, _)| window),
            loaded: asked.map_or(0.0, |load| load.seconds),
            backlog: asked.map_or(0.0, behind),
            // While tenants are filled, waiting for memory is what makes room for them.
            memory_full: asked.and_then(|_| self.memory_full(look.stalled()?)),
            available: vitals.available,
            client: vitals.client,
            heartbeat_late: pulse.load.map_or(0.0, |load| load.client_silent).max(self.heartbeat.late()),
            elsewhere: used_elsewhere(&vitals.swaps, self.active).saturating_sub(self.elsewhere),
            ..swap(&vitals.swaps, self.active)
        };
        self.samples.push(sample);
        self.ends(Ok(abort(&self.samples, &self.guards)));
        self.ends(areas_are_on(&vitals.swaps, self.active).map(|()| None));
        // A machine that runs out of memory is not made to wait for limits.
        if let Some(counted) = pulse.counted.filter(|_| self.abort.is_none()) {
            let account = self.balance(&counted.all, SOME, &|| false);
            let ended = account.map(|account| account.and_then(|account| self.used_up(account)));
            self.ends(ended);
        }
        let full = self.active.nodes.as_ref().map_or(Ok(None), |nodes| nodes.full(&self.root));
        self.ends(full.map(|cause| cause.map(Abort::of_floor)));
        if self.abort.as_ref().is_some_and(|abort| abort.blames_client(vitals.client, &self.guards)) {
            first_to_go();
        }
        let seconds = self.entered.elapsed().as_secs_f64();
        (self.progress)(&Progress { stage: self.stage, seconds, of: self.length, rate });
        self.abort.is_none() && !self.rested(seconds)
    }

    /// What a guard says, where none has ended the trial yet; one that cannot see ends it too.
    fn ends(&mut self, verdict: Result<Option<Abort>, String>) {
        let verdict = verdict.unwrap_or_else(|why| Some(Abort::blind(&why)));
        self.abort = self.abort.take().or(verdict);
    }

    /// What the guards look at.
    ///
    /// # Errors
    /// A sentence that names what cannot be read.
    fn look(&mut self, pulse: &Pulse<'_>) -> Result<(Vitals, Look), String> {
        let look = match pulse.counted {
            Some(counted) => Look::at(&self.root, counted)?,
            None => Look::default(),
        };
        if pulse.counted.is_some() {
            self.sight.keeps(&look)?;
        }
        Ok((Vitals::read(&self.root)?, look))
    }

    /// Looks once more at the end of a stage: a tenant that was killed may have ended it between two seconds.
    pub(super) fn sample(&mut self, backend: &mut dyn Backend) {
        let counted = backend.counted();
        let ended = backend.ended();
        self.pulse(&Pulse { load: None, ended, counted: counted.as_ref() });
        // What is gone because the kernel killed it is told as that.
        let look = counted.and_then(|counted| Look::at(&self.root, &counted).ok());
        let kills = look.and_then(|look| look.kills).unwrap_or(0);
        if kills > 0 && self.abort.as_ref().is_some_and(|abort| abort.guard == Guard::TenantEnded) {
            self.abort = abort(&self.samples, &self.guards);
        }
    }

    /// Brings tenants' limit all the way to what compressed memory leaves them, before a load that counts, or as far as
    /// it is when the run is stopped.
    pub(super) fn settle(&mut self, backend: &dyn Backend, stopped: &dyn Fn() -> bool) {
        if let Some(counted) = backend.counted() {
            let account = self.balance(&counted.all, MANY, stopped);
            self.ends(account.map(|_| None));
        }
    }

    /// Gives tenants what compressed memory leaves them of DRAM; `None` without such memory.
    ///
    /// # Errors
    /// A sentence that names what cannot be read.
    fn balance(&self, paths: &GroupPaths, rounds: u32, stopped: &dyn Fn() -> bool) -> Result<Option<Account>, String> {
        let pools = &self.active.pools;
        if pools.is_none() {
            return Ok(None);
        }
        let mut read = || {
            let group = GroupCounters::read(&self.root, paths).map_err(|why| why.to_string())?;
            let held = group.memory.ok_or("the tenants' control group does not say how much memory it holds")?;
            Ok(Account { held, pool: pools.bytes(&self.root, &group)?.unwrap_or(0), limit: group.limit })
        };
        // The kernel may refuse a limit that it cannot make room for; what is in use all the same is looked at.
        let mut set = |limit: u64| !stopped() && set_limit(paths, limit);
        self.dram.balance(rounds, &mut read, &mut set).map(Some)
    }

    /// Whether tenants and compressed memory have taken more than there is. While tenants are filled, only whether that
    /// memory took it all.
    fn used_up(&mut self, account: Account) -> Option<Abort> {
        // As long as the limit gets lower, room is being made.
        let lowered = self.account.replace(account).is_some_and(|before| account.limit < before.limit);
        let over = self.dram.overdrawn(&account).filter(|_| self.stage != Stage::Filling && !lowered);
        self.overdrawn = if over.is_some() { self.overdrawn + 1 } else { 0 };
        let over = over.filter(|_| self.overdrawn >= OVERDRAWN);
        self.dram.pool_exhausted(&account).or(over).map(Abort::of_dram)
    }

    /// Share of the last ten seconds in which all tenants waited for memory, in percent; `None` before the stage is so
    /// old. The kernel's own average would reach back into the fill, where waiting for memory is what makes room.
    fn memory_full(&mut self, stalled_us: u64) -> Option<f64> {
        let now = self.entered.elapsed().as_secs_f64();
        self.stalls.push_back((now, stalled_us));
        while self.stalls.get(1).is_some_and(|(at, _)| now - at >= PRESSURE_SECONDS) {
            self.stalls.pop_front();
        }
        let ((then, before), (_, after)) = (self.stalls.front()?, self.stalls.back()?);
        let seconds = now - then;
        (seconds >= PRESSURE_SECONDS).then(|| after.saturating_sub(*before) as f64 / 1e4 / seconds)
    }

    /// Whether the system has come to rest, so that warming up may end.
    fn rested(&self, seconds: f64) -> bool {
        let Stage::WarmingUp { least, settles } = self.stage else { return false };
        settles && seconds >= least && self.not_steady().is_none()
    }
}

/// Seconds by which the tenant that is worst off is behind its schedule.
fn behind(load: &Snapshot) -> f64 {
    load.tenants.iter().map(|tenant| tenant.behind_ns).max().unwrap_or(0) as f64 / 1e9
}

/// Whether the kernel still swaps to every area of the tier: if somebody turned one off, nothing that follows is of
/// this tier.
fn areas_are_on(areas: &[Swap], active: &ActiveTier) -> Result<(), String> {
    match active.areas.iter().find(|path| !areas.iter().any(|area| area.path == **path)) {
        Some(gone) => Err(format!("/proc/swaps no longer lists {gone}, an area of the tier")),
        None => Ok(()),
    }
}

/// A sample of nothing but the swap areas of the tier.
fn swap(areas: &[Swap], active: &ActiveTier) -> Sample {
    let areas = areas.iter().filter(|area| active.areas.contains(&area.path));
    let (used, total) = areas.fold((0u64, 0u64), |(used, total), area| (used + area.used_bytes, total + area.bytes));
    Sample { swap_used: used, swap_total: total, ..Sample::default() }
}

#[cfg(test)]
mod tests;
