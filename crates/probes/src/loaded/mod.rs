//! `loaded-latency`: what an access takes while others load the memory.

mod curve;
mod curve_spec;
pub(crate) mod pauses;
mod planner;

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::{CpuId, Effort, Finding, Observation, Plan, Refusal, Request, Step};

use crate::mix::Mix;
use crate::steps::{default_page, max_seconds, once, with_steps};
use crate::traffic::ThreadGroup;
use planner::LoadedPlanner;

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
}

/// The probe of `tiermark loaded-latency`; `docs/methods/loaded-latency.md` describes the method.
pub struct Loaded;

static ABOUT: About = About {
    id: "loaded-latency",
    method: 4,
    subject: Subject::Memory,
    summary: "Latency while other cores read or write at a rising rate",
    page: include_str!("../../../../docs/methods/loaded-latency.md"),
    shapes: &[],
};

impl Probe for Loaded {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let planner = LoadedPlanner::new(request, lab)?;
        let mut plan = Plan::default();
        planner.fill(&mut plan);
        once(&mut plan.steps);
        let mut plan = with_steps(plan, request, "name a mix: --mix read")?;
        // Points that are added later take their time as well.
        let least = effort_seconds(request.effort);
        let room = if request.effort == Effort::Quick { least } else { least.max(1.5 * plan.later_seconds) };
        plan.max_seconds = max_seconds(request, room, &plan.steps);
        if request.scope.max_seconds.is_none() && request.effort != Effort::Quick {
            plan.max_seconds += plan.later_seconds;
        }
        Ok(plan)
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        LoadedPlanner::new(request, lab).map(|planner| planner.denser(observations)).unwrap_or_default()
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let (Ok(planner), Ok(params)) =
            (LoadedPlanner::new(request, lab), crate::steps::params::<LoadedParams>(request))
        else {
            return Vec::new();
        };
        let page = request.scope.page.unwrap_or_else(|| default_page(lab.machine));
        let (families, _) = planner.families();
        families.iter().flat_map(|family| curve::findings(family, page, params.target_ns, observations)).collect()
    }
}

/// Seconds an effort allows.
fn effort_seconds(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 25.0,
        Effort::Standard => 60.0,
        Effort::Full => 300.0,
    }
}
