//! `loaded`: what an access takes while others load the memory.

mod curve;
mod pauses;
mod planner;

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe};
use tiermark_model::{Effort, Finding, Observation, Plan, Refusal, Request, Step};

use crate::mix::Mix;
use crate::steps::{default_page, max_seconds, once};
use planner::Planner;

/// What can be asked of the probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadedParams {
    /// Mixes of traffic, a curve each; none means those of the effort.
    pub mixes: Vec<Mix>,
    /// Latency that must not be exceeded, ns: how much bandwidth there is below it.
    pub target_ns: Option<f64>,
}

impl LoadedParams {
    /// Those of a request.
    fn of(request: &Request) -> Result<Self, Refusal> {
        if request.params.is_null() {
            return Ok(Self::default());
        }
        serde_json::from_value(request.params.clone())
            .map_err(|e| Refusal::new("the loaded request", e.to_string(), "see `tiermark help loaded`"))
    }
}

/// The probe.
pub struct Loaded;

static ABOUT: About = About {
    id: "loaded",
    method: 2,
    summary: "latency against bandwidth: what an access takes while other cores load the memory",
    text: "One thread follows a random chain in a DRAM footprint, alone on its core, as in the latency probe. Every other core of the \
crew injects traffic: plain vector kernels walk a buffer of their own in pieces of 2 KiB and pause after each piece. The pause is \
the dial: from none to so long that the memory is nearly idle. Each pause is a point: the chaser's latency, and beside it the useful \
bytes a second that the injectors moved inside the same undisturbed windows. Both are medians of these windows, since an edge would \
describe the moments of least load; so is the latency without load, or noise would count as load. The first points are spread over the pauses; further ones \
are placed where the curve bends and where it has gaps. A curve is measured for every mix of reads and writes asked for, by the node's \
own cores on their own memory, on memory of another node, and on nodes without cpus; where there are more nodes with cpus, also of \
all cores of the system, each on its own memory. The knee is the bend of the rising branch; \
what lies beyond the most bandwidth is overload, and stays on the curve. A last number is what all cores move with nobody timed.",
    not: "Bytes are useful bytes that the injectors counted, without the chaser's: ordinary stores read each line before they write it, so \
the channels carry more. Injectors also push the chaser's lines out of the shared cache, so that part of the first rise is lost cache, \
not waiting. Where the cores cannot saturate the memory, the curve ends before the knee, and says so.",
    citations: &[
        "Satopää, Albrecht, Irwin & Raghavan 2011, Finding a 'Kneedle' in a Haystack (the knee)",
        "Esmaili-Dokht et al. 2024, A Mess of Memory System Benchmarking, Simulation and Application Profiling (families of curves by read share)",
    ],
};

impl Probe for Loaded {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let planner = Planner::new(request, lab)?;
        let mut plan = Plan::default();
        planner.fill(&mut plan);
        once(&mut plan.steps);
        if plan.steps.is_empty() {
            let none = || Refusal::new("loaded", "nothing is left to measure", "ask for a mix: --mix read");
            return Err(plan.refused.into_iter().next().unwrap_or_else(none));
        }
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
        Planner::new(request, lab).map(|planner| planner.denser(observations)).unwrap_or_default()
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let (Ok(planner), Ok(params)) = (Planner::new(request, lab), LoadedParams::of(request)) else {
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
