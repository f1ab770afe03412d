//! `c2c`: how long a line takes from core to core.

mod findings;
mod pairs;
mod remark;
mod study;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Probe, Subject};
use tiermark_model::PingOp;

use study::C2cStudy;

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
pub static PROBE: Probe = Probe {
    id: "c2c",
    method: 4,
    subject: Subject::Memory,
    summary: "Time of a cache line from core to core, and contention",
    page: include_str!("../../../../docs/methods/c2c.md"),
    shapes: &[],
    study: |request, lab| Ok(Box::new(C2cStudy::new(request, lab)?)),
};
