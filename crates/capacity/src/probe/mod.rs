//! One probe: tenants are started and filled, brought to rest, asked, watched and judged.

mod monitor;
mod seen;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tiermark_load::{ClientSetup, KeyDist, Length, Outcome as Loaded, Phase, Workload, seed};
use tiermark_model::Refusal;
use tiermark_model::capacity::{CurvePoint, Ended, Evidence, Outcome};

use crate::backend::{Asking, Backend};
use crate::guard::{Abort, Guards};
use crate::level::Judgement;
use crate::resource::ended_by;
use crate::scenario::Scenario;
use crate::search::Ask;
use crate::system::System;
use crate::tier::Raised;
use monitor::Monitor;
pub use monitor::{Progress, Stage};
use seen::{Moment, Seen};

/// Where the interval of a percentile straddles its limit, it is measured for so many times as long.
const LONGER: u32 = 3;

/// What all probes of a search have in common.
#[derive(Debug)]
pub struct Prober<'a> {
    /// Tenants, load and service level.
    pub scenario: &'a Scenario,
    /// Percentage of GETs.
    pub mix: f64,
    /// Distribution of keys.
    pub keys: KeyDist,
    /// The client's threads.
    pub client: &'a ClientSetup,
    /// Ends it at once when set.
    pub stop: &'a AtomicBool,
    /// Seed of every random choice of this search.
    pub seed: u64,
    /// The tier.
    pub raised: &'a Raised,
}

/// What a probe came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    /// In one word.
    pub outcome: Outcome,
    /// Which limit, which tenant, which guard, with figures.
    pub said: String,
    /// What ran out, where it did not pass.
    pub ended_by: Option<Ended>,
    /// What was measured; `None` where no request was answered.
    pub point: Option<CurvePoint>,
    /// What the system said; `None` where nothing was measured.
    pub evidence: Option<Evidence>,
}

impl Probed {
    fn failed(said: impl Into<String>) -> Self {
        Self { outcome: Outcome::Fail, said: said.into(), ended_by: None, point: None, evidence: None }
    }

    fn aborted(abort: Abort) -> Self {
        Self { ended_by: abort.ended_by, ..Self::failed(format!("{}: {}", abort.guard, abort.said)) }
    }
}

/// Who is told how a probe is going.
pub type Told<'a> = &'a mut dyn FnMut(&Progress);

impl Prober<'_> {
    /// Makes a probe. `None` where it was stopped, and says nothing.
    ///
    /// # Errors
    /// A [`Refusal`] where tenants cannot be started or taken away, or the client fails: nothing about the server.
    pub fn probe(
        &self,
        ask: &Ask,
        backend: &mut dyn Backend,
        system: &mut System,
        told: Told<'_>,
    ) -> Result<Option<Probed>, Refusal> {
        if ask.fresh {
            backend.clear()?;
        }
        let limits = &self.scenario.limits;
        let guards = Guards { floor: limits.memory_floor.0, wall: limits.probe_seconds };
        let mut monitor = Monitor::new(system.root().clone(), self.raised, guards, self.scenario.load.rate, told);
        let filled = {
            let workload = self.workload(seed(self.seed, 0, Phase::WarmUp(0)));
            let asking = self.asking(&workload);
            backend.grow(ask.tenants, &asking, system, &mut |pulse| monitor.pulse(pulse))?
        };
        monitor.look(backend);
        if self.stopped() {
            return Ok(None);
        }
        if let Some(abort) = monitor.abort() {
            return Ok(Some(Probed::aborted(abort)));
        }
        if let Some(said) = filled.as_ref().and_then(unwell) {
            return Ok(Some(Probed::failed(format!("while it was filled, {said}"))));
        }
        self.measured(ask, backend, &mut monitor)
    }

    /// Warms up and measures tenants that are filled.
    fn measured(
        &self,
        ask: &Ask,
        backend: &mut dyn Backend,
        monitor: &mut Monitor<'_>,
    ) -> Result<Option<Probed>, Refusal> {
        // Each probe has keys of its own: what an earlier one asked for would be in memory.
        let base = seed(self.seed, u64::from(ask.number), Phase::WarmUp(0));
        self.warm_up(base, backend, monitor)?;
        let time = &self.scenario.time;
        let rounds = if ask.full { time.iterations } else { 1 };
        let mut seen = Seen::new(ask.tenants as usize);
        let before = Moment::take(monitor.root(), backend, self.raised);
        let mut judged: Option<Judgement> = None;
        for iteration in 0..time.iterations.max(rounds) * LONGER {
            if self.stopped() {
                return Ok(None);
            }
            if monitor.abort().is_some() || (iteration >= rounds && !unclear(judged.as_ref())) {
                break;
            }
            monitor.enter(Stage::Measuring, time.measure);
            let workload = self.workload(base);
            let asking = self.asking(&workload);
            let outcome = backend.ask(&asking, Phase::Measure(iteration), &mut |pulse| monitor.pulse(pulse))?;
            seen.add(&outcome);
            monitor.look(backend);
            judged = Some(seen.judge(&self.scenario.level));
        }
        if self.stopped() {
            return Ok(None);
        }
        let after = Moment::take(monitor.root(), backend, self.raised);
        let evidence = seen.evidence(&before, &after, monitor.not_steady());
        Ok(Some(self.verdict(ask, monitor.abort(), judged, &seen, evidence)))
    }

    /// Loads until the system has come to rest, for as long as is allowed.
    fn warm_up(&self, base: u64, backend: &mut dyn Backend, monitor: &mut Monitor<'_>) -> Result<(), Refusal> {
        let time = &self.scenario.time;
        let length = time.warm_up + time.settle;
        if length <= 0.0 || monitor.abort().is_some() {
            return Ok(());
        }
        monitor.enter(Stage::WarmingUp { least: time.warm_up, settles: time.settle > 0.0 }, length);
        let workload = Workload { length: Length::Time(Duration::from_secs_f64(length)), ..self.workload(base) };
        let asking = self.asking(&workload);
        backend.ask(&asking, Phase::WarmUp(0), &mut |pulse| monitor.pulse(pulse))?;
        monitor.look(backend);
        Ok(())
    }

    fn verdict(
        &self,
        ask: &Ask,
        abort: Option<Abort>,
        judged: Option<Judgement>,
        seen: &Seen,
        evidence: Evidence,
    ) -> Probed {
        let ran_out = ended_by(&seen::signs(&evidence));
        let (outcome, said, ended) = match (abort, seen.trouble(), judged) {
            (Some(abort), _, _) => {
                (Outcome::Fail, format!("{}: {}", abort.guard, abort.said), abort.ended_by.or(ran_out))
            }
            (None, Some(trouble), _) => (Outcome::Fail, trouble, ran_out),
            (None, None, Some(judged)) => {
                let ended = ran_out.filter(|_| judged.outcome != Outcome::Pass);
                (judged.outcome, judged.said, ended)
            }
            (None, None, None) => (Outcome::Fail, "nothing was measured".to_owned(), None),
        };
        let point = seen.point(ask.number, evidence.faults_per_request, outcome);
        Probed { outcome, said, ended_by: ended, point, evidence: Some(evidence) }
    }

    fn workload(&self, seed: u64) -> Workload {
        self.scenario.asked(self.mix, self.keys, seed)
    }

    fn asking<'a>(&'a self, workload: &'a Workload) -> Asking<'a> {
        Asking { workload, client: self.client, stop: self.stop }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn unclear(judged: Option<&Judgement>) -> bool {
    judged.is_some_and(|judged| judged.outcome == Outcome::Unclear)
}

/// What tenants said that should say nothing; `None` where all went well.
fn unwell(outcome: &Loaded) -> Option<String> {
    let gave_up = outcome.tenants.iter().find_map(|tenant| tenant.fault.clone());
    let refused = outcome.tenants.iter().find_map(|tenant| tenant.first_error.clone());
    gave_up.map(|why| format!("a tenant was given up: {why}")).or(refused.map(|why| format!("a tenant refused: {why}")))
}

/// What one tenant takes, found out by starting one.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Footprint {
    /// Bytes, at most, after it was filled and asked.
    pub bytes: u64,
    /// Cpus that it keeps busy at its rate; `None` where that is not counted.
    pub cpus: Option<f64>,
}

impl Prober<'_> {
    /// Starts one tenant, fills it, asks it for a moment, and says what it took. `None` where it was stopped, or runs elsewhere.
    ///
    /// # Errors
    /// A [`Refusal`] where not even one tenant can be run.
    pub fn footprint(
        &self,
        backend: &mut dyn Backend,
        system: &mut System,
        told: Told<'_>,
    ) -> Result<Option<Footprint>, Refusal> {
        let guards = Guards { floor: self.scenario.limits.memory_floor.0, wall: self.scenario.limits.probe_seconds };
        let mut monitor = Monitor::new(system.root().clone(), self.raised, guards, self.scenario.load.rate, told);
        let workload = self.workload(seed(self.seed, 0, Phase::WarmUp(0)));
        let filled = backend.grow(1, &self.asking(&workload), system, &mut |pulse| monitor.pulse(pulse))?;
        monitor.look(backend);
        if self.stopped() {
            return Ok(None);
        }
        let why = monitor.abort().map(|abort| abort.said).or(filled.as_ref().and_then(unwell));
        if let Some(why) = why {
            return Err(alone(why));
        }
        let before = Moment::take(monitor.root(), backend, self.raised);
        monitor.enter(Stage::Sizing, SIZING.as_secs_f64());
        let moment = Workload { length: Length::Time(SIZING), ..workload };
        let asked = Instant::now();
        backend.ask(&self.asking(&moment), Phase::WarmUp(1), &mut |pulse| monitor.pulse(pulse))?;
        let seconds = asked.elapsed().as_secs_f64();
        monitor.look(backend);
        if self.stopped() {
            return Ok(None);
        }
        if let Some(abort) = monitor.abort() {
            return Err(alone(abort.said));
        }
        let after = Moment::take(monitor.root(), backend, self.raised);
        Ok(after.footprint(&before, seconds))
    }
}

/// Not even one tenant can be run.
fn alone(why: String) -> Refusal {
    let cure = "choose a larger --dram-budget, or fewer --records";
    Refusal::new("one tenant alone, with DRAM alone", why, cure)
}

/// For how long a single tenant is asked to see what cpu time it takes: a hundredth of it is told apart.
const SIZING: Duration = Duration::from_secs(2);
