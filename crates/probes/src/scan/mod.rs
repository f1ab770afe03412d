//! `scan`: latency and bandwidth of every region of a node's memory, to find slow ones.

mod slow;
mod study;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Probe, Study, Subject};
use tiermark_model::{Bytes, Finding, Observation, Plan, Purpose, Quantity, Refusal};

use crate::ladder::{measured, with_purpose};
use study::ScanStudy;

/// Parameters of the scan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanParams {
    /// Bytes of a region; `None` means 1 GiB, or four times the caches in reach of a cpu where that is more.
    pub chunk: Option<Bytes>,
}

/// The probe of `tiermark scan`; `docs/methods/scan.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "scan",
    method: 3,
    subject: Subject::Memory,
    summary: "Slow regions of memory: latency and bandwidth of each GiB",
    page: include_str!("../../../../docs/methods/scan.md"),
    shapes: &[],
    study: |request, lab| Ok(Box::new(ScanStudy::new(request, lab)?)),
};

impl Study for ScanStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        self.fill(&mut plan)?;
        self.task.limit(&mut plan, self.task.effort().choose([30.0, 60.0, 300.0]));
        self.task.with_steps(plan, "use smaller regions: --chunk 256M")
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let each = |seen: &Observation| {
            let quantity = match seen.metric {
                tiermark_model::Metric::Latency => Quantity::ScanLatency,
                tiermark_model::Metric::Bandwidth => Quantity::ScanBandwidth,
            };
            measured(seen, quantity).with_notes(slow::place(seen))
        };
        let mut findings: Vec<Finding> = with_purpose(observations, Purpose::Scan).map(each).collect();
        findings.extend(slow::compared(observations));
        findings
    }
}
