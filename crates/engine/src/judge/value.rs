//! Whether a value can be: against the core's clock, the stamps' clock and the theoretical peak.

use tiermark_model::{Machine, Metric, Nothing, Observation, PingOp, Reason, Relation, Role, Step, Verdict};

use crate::analyse::WINDOW_NS;
use crate::plausible;

/// Compares a value with its physical limits.
pub(super) fn judge_value(
    step: &Step,
    seen: &Observation,
    quantum: Option<f64>,
    machine: &Machine,
    verdict: &mut Verdict,
) {
    let Some(value) = seen.value else {
        let account = &seen.disturbance;
        let cause = match account {
            a if a.migrations >= a.shots => Nothing::Migrated,
            a if a.major_faults >= a.shots => Nothing::Swapped,
            _ => Nothing::Disturbed,
        };
        verdict.invalid(Reason::Nothing { shots: account.shots, cause });
        return;
    };
    if !value.is_finite() || value <= 0.0 {
        verdict.invalid(Reason::Impossible { value: Some(value).filter(|value| value.is_finite()) });
        return;
    }
    if step.metric == Metric::Latency {
        let chains = step.labels.chains().unwrap_or(1) as f64;
        if let Some(hz) = seen.core_hz.filter(|hz| value * chains < 1e9 / hz) {
            verdict.invalid(Reason::BelowCycle { ns: value, hz });
        }
        if let Some(least_ns) = least_trip(step, seen, machine).filter(|least| value < *least) {
            verdict.suspect(Reason::TooFast { ns: value, least_ns });
        }
        if let Some(step_ns) = quantum {
            verdict.invalid(Reason::Quantised { step_ns });
        }
    }
    if let Some(rate) = plausible::rate(step, seen) {
        plausible::judge(step, rate, machine, verdict);
    }
}

/// The least time that two cores take to hand each other a line and get it back, ns; `None` for other steps and for
/// cpus that are declared to share a core.
fn least_trip(step: &Step, seen: &Observation, machine: &Machine) -> Option<f64> {
    /// Cycles: hardware threads of one core take 60 to 80 for a round trip, two cores of every model published 130 and
    /// more.
    const CYCLES: f64 = 100.0;
    let op = step.setup.threads.iter().find_map(|thread| match thread.role {
        Role::Ping { op } => Some(op),
        _ => None,
    })?;
    let cpus: Vec<u32> = step.setup.cpus().iter().collect();
    let [one, other] = cpus.as_slice() else { return None };
    let trip = CYCLES / seen.core_hz? * 1e9;
    let least = if op == PingOp::OneWay { trip / 2.0 } else { trip };
    (machine.relation(*one, *other) != Some(Relation::Smt)).then_some(least)
}

/// A window must be a thousand steps of the clock long, or its edges decide its rate.
pub(super) fn judge_clock(seen: &Observation, resolution_ns: f64, verdict: &mut Verdict) {
    const STEPS: f64 = 1000.0;
    if seen.value.is_some() && resolution_ns * STEPS > WINDOW_NS {
        verdict.invalid(Reason::CoarseClock { resolution_ns, window_ns: WINDOW_NS });
    }
}
