//! The tiers that are there now: footprints that the caches hold, whatever size the system declares.

use std::time::Duration;

use tiermark_engine::accounting::StepAccounting;
use tiermark_engine::analyse::{Deductions, analyse};
use tiermark_engine::{Host, Interruptions, Lab};
use tiermark_model::{CpuId, Effort, IdSet, Refusal, Request, Scope, Step};
use tiermark_stats::median;

use crate::finder::Finder;
use crate::found::{CurvePoint, Found};
use crate::task::Task;

/// Length of the visit to each point, seconds.
const SHOT: f64 = 1e-3;

/// The tiers of a coarse curve, whose points are visited once each. None where no point could be had: then the declared
/// sizes have to do.
///
/// # Errors
/// As [`Task::new`].
pub(super) fn tiers(host: &mut dyn Host, lab: &Lab, cpu: CpuId, seed: u64) -> Result<Found, Refusal> {
    let only: IdSet = [cpu].into_iter().collect();
    let request = Request {
        probe: "watch".to_owned(),
        scope: Scope { cpus: Some(only), ..Scope::default() },
        effort: Effort::Quick,
        precision: None,
        seed,
        params: serde_json::Value::Null,
        part: None,
    };
    let (task, ()) = Task::new(&request, lab)?;
    let finder = Finder::coarse(&task, cpu, task.page());
    let mut points = Vec::new();
    for step in finder.first() {
        if host.stopped() {
            break;
        }
        points.extend(visit(host, &step));
    }
    Ok(finder.found(&points))
}

/// A visit to a point; `None` if it failed, or other work disturbed all of it.
fn visit(host: &mut dyn Host, step: &Step) -> Option<CurvePoint> {
    let bytes = step.labels.bytes()?;
    let shot = host.prepare(&step.setup).ok()?.shot(Duration::from_secs_f64(SHOT)).ok()?;
    let mut interruptions = Interruptions::default();
    interruptions.add(host.now(), &shot);
    let deductions = Deductions { stamp_ns: host.bench().overheads.stamp_ns, interruptions: &interruptions };
    let seen = analyse(&shot, &StepAccounting::of(step, host.machine()), deductions);
    let ns = median(&seen.clean().collect::<Vec<f64>>())?;
    Some(CurvePoint { bytes, ns, low: ns, high: ns })
}
