//! Whether a number that scatters is two: what takes part falls into one of two states, and a median of both says nothing of either.

use tiermark_model::{Metric, Observation, format_gbs};

/// The states are at least this far apart, as a factor.
const APART: f64 = 1.5;
/// Shots of each state at least: fewer are outliers.
const FEWEST: usize = 3;
/// Share of the distance of the states, as logarithms, that each of them may fill: where they fill more, the shots are scattered all over.
const FILLED: f64 = 0.5;

/// The two states, in words to stand behind a reason.
pub(super) fn two(seen: &Observation) -> Option<String> {
    let values = seen.samples.iter().map(|sample| sample.value);
    let mut sorted: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let splits = FEWEST..=sorted.len().checked_sub(FEWEST)?;
    let split = splits.max_by(|a, b| (sorted[*a] / sorted[a - 1]).total_cmp(&(sorted[*b] / sorted[b - 1])))?;
    let (low, high) = sorted.split_at(split);
    let middle = |state: &[f64]| tiermark_stats::median(state);
    let (slow, fast) = (middle(low)?, middle(high)?);
    let width = |state: &[f64]| (state[state.len() - 1] / state[0]).ln();
    let distance = (fast / slow).ln();
    if fast < APART * slow || width(low).max(width(high)) > FILLED * distance {
        return None;
    }
    let told = |value: f64| match seen.metric {
        Metric::Latency => format!("{value:.0} ns"),
        Metric::Bandwidth => format!("{} GB/s", format_gbs(value)),
    };
    Some(format!(": two states, {} in {} shots and {} in {}", told(slow), low.len(), told(fast), high.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(metric: &str, values: &[f64]) -> Option<String> {
        let samples: Vec<_> = values.iter().map(|v| serde_json::json!({ "allocation": 0, "value": v })).collect();
        let mut seen = serde_json::json!({
            "step": "", "labels": {}, "metric": metric, "unit": "ns", "value": null, "interval": null, "min": null,
            "max": null, "spread_within": null, "spread_between": null, "samples": samples, "allocations": 3, "tail": null,
            "placement": null, "core_hz": null, "core_hz_spread": null, "rivals": [], "overhead_share": null,
            "started_seconds": 0.0, "seconds": 0.0, "refusal": null,
        });
        seen["disturbance"] = serde_json::to_value(tiermark_model::Disturbance::default()).unwrap();
        seen["verdict"] = serde_json::to_value(tiermark_model::Verdict::trusted()).unwrap();
        two(&serde_json::from_value(seen).unwrap())
    }

    #[test]
    fn two_states_are_named() {
        // A pipe between two cpus with blocks of 4 KiB, as it was seen.
        let pipe = [2.76, 2.95, 3.05, 10.75, 9.26, 10.26, 8.79, 8.09, 9.7].map(|gbs| gbs * 1e9);
        assert_eq!(said("bandwidth", &pipe).unwrap(), ": two states, 2.95 GB/s in 3 shots and 9.48 GB/s in 6");
        let waking = [5_100.0, 5_000.0, 48_000.0, 52_000.0, 4_900.0, 50_000.0];
        assert_eq!(said("latency", &waking).unwrap(), ": two states, 5000 ns in 3 shots and 50000 ns in 3");
    }

    #[test]
    fn scatter_and_outliers_are_no_states() {
        let mut outlier = [1.0; 9];
        outlier[4] = 20.0;
        outlier[5] = 21.0;
        assert_eq!(said("latency", &outlier), None);
        assert_eq!(said("latency", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]), None);
        // Two that are near each other are what an interval is for.
        assert_eq!(said("latency", &[1.0, 1.01, 1.02, 1.3, 1.31, 1.32]), None);
        assert_eq!(said("latency", &[1.0, 1.0, 5.0, 5.0]), None);
        assert_eq!(said("latency", &[]), None);
    }
}
