//! Whether a value can be: against the core's clock, the stamps' clock and the theoretical peak.

use tiermark_model::{Labels, Machine, Metric, Observation, ReasonCode, Step, Verdict};

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
        let why = match account {
            a if a.migrations >= a.shots => "a worker left its cpu in every one",
            a if a.major_faults >= a.shots => "pages were being swapped in during every one",
            _ => "no window of them was undisturbed",
        };
        let text = match account.shots {
            0 => "no shot was finished".to_owned(),
            shots => format!("{shots} shots, and {why}"),
        };
        verdict.invalid(ReasonCode::Disturbed, text);
        return;
    };
    if !value.is_finite() || value <= 0.0 {
        verdict.invalid(ReasonCode::Implausible, format!("{value} is not a possible value"));
        return;
    }
    if step.metric == Metric::Latency {
        let chains = step.labels.number(Labels::CHAINS).unwrap_or(1) as f64;
        if let Some(hz) = seen.core_hz.filter(|hz| value * chains < 1e9 / hz) {
            verdict.invalid(
                ReasonCode::Implausible,
                format!("{value:.3} ns is less than one cycle at {:.2} GHz", hz / 1e9),
            );
        }
        if let Some(step) = quantum {
            verdict.invalid(
                ReasonCode::Quantised,
                format!("every block is a whole multiple of {step:.3} ns an access: the clock did not resolve it"),
            );
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
        let text = format!(
            "the clock moves in steps of {resolution_ns:.0} ns, too coarse for windows of {} ms",
            WINDOW_NS / 1e6
        );
        verdict.invalid(ReasonCode::Quantised, text);
    }
}
