//! Whether a value can be: against the core's clock, the stamps' clock and the theoretical peak.

use tiermark_model::{Labels, Machine, Metric, Nothing, Observation, Reason, Step, Verdict};

use crate::analyse::WINDOW_NS;
use crate::plausible;

/// Holds a value against what is possible.
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
        let chains = step.labels.number(Labels::CHAINS).unwrap_or(1) as f64;
        if let Some(hz) = seen.core_hz.filter(|hz| value * chains < 1e9 / hz) {
            verdict.invalid(Reason::BelowCycle { ns: value, hz });
        }
        if let Some(step_ns) = quantum {
            verdict.invalid(Reason::Quantised { step_ns });
        }
    }
    if let Some(rate) = plausible::rate(step, seen) {
        plausible::judge(step, rate, machine, verdict);
    }
}

/// A window must be a thousand steps of the clock long, or its edges decide its rate.
pub(super) fn judge_clock(seen: &Observation, resolution_ns: f64, verdict: &mut Verdict) {
    const STEPS: f64 = 1000.0;
    if seen.value.is_some() && resolution_ns * STEPS > WINDOW_NS {
        verdict.invalid(Reason::CoarseClock { resolution_ns, window_ns: WINDOW_NS });
    }
}
