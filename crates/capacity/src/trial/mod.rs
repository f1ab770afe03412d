//! One trial: tenants are started and filled, the system settles, the load runs, counters are read, the level is
//! judged.

mod group_counters;
mod heartbeat;
mod measurements;
mod monitor;
mod pace;
mod sizing;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tiermark_load::{ClientSetup, Length, Outcome as Loaded, Phase, Workload, seed};
use tiermark_model::capacity::{CurvePoint, Ended, Evidence, Outcome, TrialRecord};
use tiermark_model::messages::{capacity as messages, trials as says};
use tiermark_model::{Note, Refusal};

use crate::backend::{Backend, LoadSpec, Pulse};
use crate::dram::Dram;
use crate::guard::{Abort, Guard, Guards};
use crate::level::Judgement;
use crate::resource::ended_by;
use crate::scenario::{MaxMemory, Requests, Scenario};
use crate::search::TrialRequest;
use crate::system::System;
use crate::tier::ActiveTier;
pub(crate) use group_counters::unseen;
use measurements::Measurements;
use monitor::Monitor;
pub use monitor::{Progress, Stage};
pub use sizing::Footprint;
pub(crate) use sizing::SIZING;

/// Where the interval of a percentile straddles its limit, it is measured for so many times as long.
pub(crate) const LONGER: u32 = 3;

/// Settings that all trials of a search share.
#[derive(Debug)]
pub struct TrialRunner<'a> {
    /// Tenants, load and service level.
    pub scenario: &'a Scenario,
    /// Mix of requests, and distribution of keys.
    pub requests: Requests,
    /// Threads and cpus of the client.
    pub client: &'a ClientSetup,
    /// Ends it at once when set.
    pub stop: &'a AtomicBool,
    /// Seed of every random choice of this search.
    pub seed: u64,
    /// The tier that is set up.
    pub active: &'a ActiveTier,
}

/// A trial that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its outcome, and why.
    pub record: TrialRecord,
    /// The results; `None` if no request was answered.
    pub point: Option<CurvePoint>,
}

impl Trial {
    fn failed(ask: &TrialRequest, decided_by: Note) -> Self {
        Self { record: ask.record(Outcome::Fail, decided_by), point: None }
    }

    fn aborted(ask: &TrialRequest, abort: Abort) -> Self {
        let outcome = abort.outcome(abort.ended_by.as_ref());
        let record = ask.record(outcome, abort.note());
        Self { record: TrialRecord { ended_by: abort.ended_by, ..record }, point: None }
    }
}

/// Receives the progress of a trial.
pub type ProgressSink<'a> = &'a mut dyn FnMut(&Progress);

impl TrialRunner<'_> {
    /// Makes a trial. `None` where it was stopped, and says nothing.
    ///
    /// # Errors
    /// A [`Refusal`] where tenants cannot be started or taken away, or the client fails: nothing about the server.
    pub fn trial(
        &self,
        ask: &TrialRequest,
        backend: &mut dyn Backend,
        system: &mut System,
        progress: ProgressSink<'_>,
    ) -> Result<Option<Trial>, Refusal> {
        if ask.fresh {
            backend.clear(system)?;
        }
        let mut monitor = Monitor::new(system.root().clone(), self.active, self.kept(ask.tenants), progress);
        let filled = {
            let workload = self.workload(seed(self.seed, 0, Phase::WarmUp(0)));
            backend.grow(ask.tenants, &mut self.load(&workload, &mut |pulse| monitor.pulse(pulse)), system)?
        };
        monitor.sample(backend);
        if self.stopped() {
            return Ok(None);
        }
        goes_on(&monitor)?;
        let unwell = filled.as_ref().and_then(unwell);
        let trouble = unwell.map(|cause| says::during_fill(&cause));
        let abort = monitor.abort().filter(|abort| decides(abort, trouble.as_ref(), None));
        if let Some(spoilt) =
            abort.map(|abort| Trial::aborted(ask, abort)).or(trouble.map(|why| Trial::failed(ask, why)))
        {
            return Ok(Some(spoilt));
        }
        self.measured(ask, backend, &mut monitor)
    }

    /// Warms up and measures tenants that are filled.
    fn measured(
        &self,
        ask: &TrialRequest,
        backend: &mut dyn Backend,
        monitor: &mut Monitor<'_>,
    ) -> Result<Option<Trial>, Refusal> {
        // Each trial has keys of its own: those of an earlier trial would still be in memory.
        let base = seed(self.seed, u64::from(ask.number), Phase::WarmUp(0));
        monitor.holds(self.scenario.tenant.records.saturating_mul(u64::from(ask.tenants)));
        monitor.settle(backend, &|| self.stopped());
        let begun = monitor.state(backend);
        let warmed = self.warm_up(base, backend, monitor)?;
        let time = &self.scenario.time;
        let unwaited = (time.settle <= 0.0).then(says::settling_off);
        let restless = unwaited.or_else(|| monitor.not_steady());
        let mut seen = Measurements::new(
            ask.tenants as usize,
            self.scenario.load.pacing,
            self.scenario.tenant.maxmemory != MaxMemory::Off,
        );
        // Where the warm-up was ended, what ran out is to be seen in it, and its times are all that there are.
        let early = monitor.abort().is_some();
        warmed.iter().filter(|_| early).for_each(|warmed| seen.add(warmed));
        let before = if early { begun } else { monitor.state(backend) };
        let judged = self.iterations(ask.full, base, backend, monitor, &mut seen)?;
        if self.stopped() {
            return Ok(None);
        }
        goes_on(monitor)?;
        let after = monitor.state(backend);
        let seen_by_system = seen.evidence(&before, &after, restless.or_else(|| monitor.not_steady()));
        // Tenants' memory on a node of the tier is no DRAM.
        let budget = Some(self.scenario.tenants_dram()).filter(|_| self.active.nodes.is_none());
        let evidence = after.dram(budget, seen_by_system);
        Ok(Some(self.verdict(ask, monitor.abort(), judged, &seen, evidence)))
    }

    /// Measures as many iterations as the scenario sets, more where the level is still unclear, until the trial ends;
    /// and judges the result.
    fn iterations(
        &self,
        full: bool,
        base: u64,
        backend: &mut dyn Backend,
        monitor: &mut Monitor<'_>,
        seen: &mut Measurements,
    ) -> Result<Option<Judgement>, Refusal> {
        let time = &self.scenario.time;
        let rounds = if full { time.iterations } else { 1 };
        let most = time.iterations.max(rounds) * LONGER;
        let mut judged: Option<Judgement> = None;
        for iteration in 0..most {
            if self.stopped() || monitor.abort().is_some() || (iteration >= rounds && !unclear(judged.as_ref())) {
                break;
            }
            monitor.enter(Stage::Measuring, time.measure);
            let workload = self.workload(base);
            let mut watcher = |pulse: &Pulse<'_>| monitor.pulse(pulse);
            let outcome = backend.load(&mut self.load(&workload, &mut watcher), Phase::Measure(iteration))?;
            seen.add(&outcome);
            monitor.sample(backend);
            // Judged at most twice: to judge until the result is clear would find a clear result too often.
            if [rounds, most].contains(&(iteration + 1)) {
                judged = Some(seen.judge(&self.scenario.level, monitor.hit_trend()));
            }
        }
        Ok(judged)
    }

    /// Loads until the system has come to rest, for as long as is allowed.
    fn warm_up(
        &self,
        base: u64,
        backend: &mut dyn Backend,
        monitor: &mut Monitor<'_>,
    ) -> Result<Option<Loaded>, Refusal> {
        let time = &self.scenario.time;
        let length = time.warm_up + time.settle;
        if length <= 0.0 || monitor.abort().is_some() {
            return Ok(None);
        }
        monitor.enter(Stage::WarmingUp { least: time.warm_up, settles: time.settle > 0.0 }, length);
        let workload = Workload { length: Length::Time(Duration::from_secs_f64(length)), ..self.workload(base) };
        let mut watcher = |pulse: &Pulse<'_>| monitor.pulse(pulse);
        let warmed = backend.load(&mut self.load(&workload, &mut watcher), Phase::WarmUp(0))?;
        monitor.sample(backend);
        Ok(Some(warmed))
    }

    fn verdict(
        &self,
        ask: &TrialRequest,
        abort: Option<Abort>,
        judged: Option<Judgement>,
        seen: &Measurements,
        evidence: Evidence,
    ) -> Trial {
        let trouble = seen.trouble();
        // Keys that are lost for another reason than eviction are no matter of maxmemory.
        let of_level = judged.as_ref().filter(|_| trouble.is_none());
        let ran_out = ended_by(&evidence, &measurements::signs(&self.scenario.level, of_level, seen.trend()));
        let abort = abort.filter(|abort| decides(abort, trouble.as_ref(), judged.as_ref()));
        let ended_early = abort.is_some() || judged.is_none();
        let (outcome, decided_by, ended) = match (abort, trouble, judged) {
            (Some(abort), _, _) => {
                let ended = abort.ended_by.clone().or(ran_out);
                (abort.outcome(ended.as_ref()), abort.note(), ended)
            }
            (None, Some(trouble), _) => (Outcome::Fail, trouble, ran_out),
            (None, None, Some(judged)) => {
                let ended = ran_out.filter(|_| judged.outcome != Outcome::Pass);
                (of_the_server(judged.outcome, ended.as_ref()), judged.decided_by, ended)
            }
            (None, None, None) => (Outcome::Fail, says::nothing_measured(), None),
        };
        let point = seen.point(ask.number, evidence.faults_per_request, (outcome, ended_early));
        let record = ask.record(outcome, decided_by);
        Trial { record: TrialRecord { ended_by: ended, evidence: Some(evidence), ..record }, point }
    }

    /// The limits of a trial: guards, and the DRAM of the budget.
    fn kept(&self, tenants: u32) -> (Guards, Dram) {
        let limits = &self.scenario.limits;
        let rate = self.scenario.level.promised_rate();
        let client = tiermark_load::client_bytes(u64::from(tenants), &self.workload(0), self.client.threads);
        let (floor, wall) = (limits.memory_floor.0, limits.trial_seconds);
        let guards = Guards { floor, wall, rate, client: client.most, usual: client.usual };
        (guards, Dram::new(self.active.memory(self.scenario.tenants_dram())))
    }

    fn workload(&self, seed: u64) -> Workload {
        self.scenario.asked(self.requests, seed)
    }

    fn load<'a>(&'a self, workload: &'a Workload, watcher: &'a mut dyn FnMut(&Pulse<'_>) -> bool) -> LoadSpec<'a> {
        LoadSpec { workload, client: self.client, stop: self.stop, watcher }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Whether the run may go on after a trial.
///
/// # Errors
/// A [`Refusal`] where a guard cannot see, or the client itself is what has to be stopped.
fn goes_on(monitor: &Monitor<'_>) -> Result<(), Refusal> {
    match monitor.abort().filter(Abort::ends_the_run) {
        Some(abort) => Err(messages::guard_ended_run(&abort.note())),
        None => Ok(()),
    }
}

/// What a level that was missed says of the server: nothing where the client was at its limit or other programs used
/// the cpus up, since the times are not the server's then.
fn of_the_server(outcome: Outcome, ran_out: Option<&Ended>) -> Outcome {
    let is_elsewhere = ran_out.is_some_and(|ended| !ended.resource.is_of_server());
    if is_elsewhere && outcome == Outcome::Fail { Outcome::Unclear } else { outcome }
}

/// Whether a trial is what ended it: not where time was over, and what was seen until then says more.
fn decides(abort: &Abort, trouble: Option<&Note>, judged: Option<&Judgement>) -> bool {
    let is_clear = judged.is_some_and(|judged| judged.outcome != Outcome::Unclear);
    abort.guard != Guard::Wall || (trouble.is_none() && !is_clear)
}

fn unclear(judged: Option<&Judgement>) -> bool {
    judged.is_some_and(|judged| judged.outcome == Outcome::Unclear)
}

/// Errors of tenants; `None` without one.
fn unwell(outcome: &Loaded) -> Option<Note> {
    let gave_up = outcome.tenants.iter().find_map(|tenant| tenant.fault.clone());
    let refused = outcome.tenants.iter().find_map(|tenant| tenant.first_error.clone());
    gave_up.map(|why| says::tenant_given_up(None, &why.text)).or(refused.map(|why| says::request_refused(&why)))
}

#[cfg(test)]
mod tests;
