//! `c2c`: how long a line takes from core to core.

mod findings;
mod pairs;
mod planner;
mod remark;

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::{Finding, Observation, PingOp, Plan, Refusal, Request};

use planner::C2cPlanner;

/// Parameters of the c2c probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct C2cParams {
    /// How turns are passed, for every pair; none means compare-and-swap, and the others for one pair of each relation.
    pub ops: Vec<PingOp>,
    /// Which pairs; `None` means all that there is time for.
    pub sample: Option<Sample>,
}

/// Which pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// All of them, however long it takes.
    All,
    /// So many of each relation.
    Each(u32),
}

/// The probe of `tiermark c2c`; `docs/methods/c2c.md` describes the method.
pub struct C2c;

static ABOUT: About = About {
    id: "c2c",
    method: 4,
    subject: Subject::Memory,
    summary: "Time of a cache line from core to core, and contention",
    page: include_str!("../../../../docs/methods/c2c.md"),
    shapes: &[],
};

impl Probe for C2c {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        C2cPlanner::new(request, lab)?.plan()
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        findings::derive(request, lab, observations)
    }
}
