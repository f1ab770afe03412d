//! `scan`: latency and bandwidth of every region of a node's memory, to find slow ones.

mod planner;
mod slow;

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::{Bytes, Finding, Observation, Plan, Purpose, Quantity, Refusal, Request};

use crate::ladder::{derived, with_purpose};
use crate::steps::{max_seconds, with_steps};
use planner::{ScanPlanner, effort_seconds};

/// Parameters of the scan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanParams {
    /// Bytes of a region; `None` means 1 GiB, or four times the caches in reach of a cpu where that is more.
    pub chunk: Option<Bytes>,
}

/// The probe of `tiermark scan`; `docs/methods/scan.md` describes the method.
pub struct Scan;

static ABOUT: About = About {
    id: "scan",
    method: 3,
    subject: Subject::Memory,
    summary: "Slow regions of memory: latency and bandwidth of each GiB",
    page: include_str!("../../../../docs/methods/scan.md"),
    shapes: &[],
};

impl Probe for Scan {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        ScanPlanner::new(request, lab)?.fill(&mut plan)?;
        plan.max_seconds = max_seconds(request, effort_seconds(request.effort), &plan.steps);
        with_steps(plan, request, "use smaller regions: --chunk 256M")
    }

    fn derive(&self, _request: &Request, _lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let each = |seen: &Observation| {
            let quantity = match seen.metric {
                tiermark_model::Metric::Latency => Quantity::ScanLatency,
                tiermark_model::Metric::Bandwidth => Quantity::ScanBandwidth,
            };
            let mut found = derived(seen, quantity, seen.labels.clone(), 0.0, seen.unit);
            (found.value, found.interval) = (seen.value, seen.interval);
            found.notes.extend(slow::place(seen));
            found
        };
        let mut findings: Vec<Finding> = with_purpose(observations, Purpose::Scan).map(each).collect();
        findings.extend(slow::compared(observations));
        findings
    }
}
