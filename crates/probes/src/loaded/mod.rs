//! `loaded-latency`: what an access takes while others load the memory.

mod curve;
mod curve_spec;
mod neighbour;
pub(crate) mod pauses;
mod study;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Probe, Study, Subject};
use tiermark_model::{CpuId, Effort, Finding, Observation, Plan, Purpose, Refusal, Step};

use crate::mix::Mix;
use crate::task::Task;
use crate::traffic::ThreadGroup;
use neighbour::NeighbourStudy;
use study::LoadedStudy;

/// Parameters of the loaded-latency probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadedParams {
    /// Mixes of traffic, a curve each; none means those of the effort.
    pub mixes: Vec<Mix>,
    /// Latency that must not be exceeded, ns: how much bandwidth there is below it.
    pub target_ns: Option<f64>,
    /// Pauses after each piece of an injector, ns: exactly these points; none means points placed where the curve
    /// bends.
    pub delays: Vec<u32>,
    /// The cpu whose accesses are timed; `None` means one chosen among the cpus in scope.
    pub chaser_cpu: Option<CpuId>,
    /// Groups of injectors, instead of mixes and places: one curve of them all.
    pub traffic: Vec<ThreadGroup>,
    /// Each tier beside one busy neighbour, instead of curves.
    pub neighbour: bool,
}

/// The probe of `tiermark loaded-latency`; `docs/methods/loaded-latency.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "loaded-latency",
    method: 4,
    subject: Subject::Memory,
    summary: "Latency while other cores read or write at a rising rate",
    page: include_str!("../../../../docs/methods/loaded-latency.md"),
    aids: &[Purpose::Curve],
    study: |request, lab| {
        let (task, params): (_, LoadedParams) = Task::new(request, lab)?;
        Ok(if params.neighbour {
            Box::new(NeighbourStudy::new(task)?)
        } else {
            Box::new(LoadedStudy::new(task, params)?)
        })
    },
};

impl Study for LoadedStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        self.fill(&mut plan);
        // Points that are added later take their time as well.
        let least: f64 = self.task.effort().choose([25.0, 60.0, 300.0]);
        let is_quick = self.task.effort() == Effort::Quick;
        let room = if is_quick { least } else { least.max(1.5 * plan.later_seconds) };
        self.task.limit(&mut plan, room);
        if self.task.request.scope.max_seconds.is_none() && !is_quick {
            plan.max_seconds += plan.later_seconds;
        }
        self.task.with_steps(plan, "name a mix: --mix read", &["--mix"])
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        self.denser(observations)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let (page, target) = (self.task.page(), self.params.target_ns);
        self.families.iter().flat_map(|family| curve::findings(family, page, target, observations)).collect()
    }
}
