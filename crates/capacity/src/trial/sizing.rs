//! Memory and cpu time of one tenant alone.

use std::time::{Duration, Instant};

use tiermark_load::{Length, Phase, Workload, seed};
use tiermark_model::Refusal;
use tiermark_model::messages::tenants::one_tenant_fails;

use super::monitor::{Monitor, Stage};
use super::{ProgressSink, TrialRunner, unwell};
use crate::backend::Backend;
use crate::system::System;

/// How long one tenant is under load to measure its cpu time: a difference of 1 % is visible.
pub(crate) const SIZING: Duration = Duration::from_secs(2);

/// Memory and cpu time of one tenant, measured by starting one.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Footprint {
    /// Peak memory in bytes, after the fill and the load.
    pub bytes: u64,
    /// Cpus that it keeps busy at its rate; `None` where that is not counted.
    pub cpus: Option<f64>,
}

impl TrialRunner<'_> {
    /// Starts one tenant, fills it, loads it for a moment, and returns the memory and cpu time that it took. `None`
    /// where the run was stopped, or tenants run elsewhere.
    ///
    /// # Errors
    /// A [`Refusal`] where not even one tenant can be run.
    pub fn footprint(
        &self,
        backend: &mut dyn Backend,
        system: &mut System,
        progress: ProgressSink<'_>,
    ) -> Result<Option<Footprint>, Refusal> {
        let mut monitor = Monitor::new(system.root().clone(), self.active, self.kept(1), progress);
        let workload = self.workload(seed(self.seed, 0, Phase::WarmUp(0)));
        let filled = backend.grow(1, &mut self.load(&workload, &mut |pulse| monitor.pulse(pulse)), system)?;
        monitor.sample(backend);
        if self.stopped() {
            return Ok(None);
        }
        let why = monitor.abort().map(|abort| abort.cause).or(filled.as_ref().and_then(unwell));
        if let Some(why) = why {
            return Err(one_tenant_fails(&why.text));
        }
        let before = monitor.state(backend);
        monitor.enter(Stage::Sizing, SIZING.as_secs_f64());
        let moment = Workload { length: Length::Time(SIZING), ..workload };
        let asked = Instant::now();
        backend.load(&mut self.load(&moment, &mut |pulse| monitor.pulse(pulse)), Phase::WarmUp(1))?;
        let seconds = asked.elapsed().as_secs_f64();
        monitor.sample(backend);
        if self.stopped() {
            return Ok(None);
        }
        if let Some(abort) = monitor.abort() {
            return Err(one_tenant_fails(&abort.cause.text));
        }
        let after = monitor.state(backend);
        Ok(after.footprint(&before, seconds))
    }
}
