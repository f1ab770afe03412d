//! Observations made up for tests.

use tiermark_model::{ChainLayout, Disturbance, Labels, Metric, Observation, Purpose, Unit, Verdict, Visits};

/// A number with labels, and nothing that speaks against it.
pub(super) fn observation(step: &str, labels: Labels, value: f64) -> Observation {
    Observation {
        step: step.to_owned(),
        labels,
        metric: Metric::Latency,
        unit: Unit::Ns,
        value: Some(value),
        interval: None,
        now: None,
        edge: None,
        state: None,
        in_states: Vec::new(),
        modes: Vec::new(),
        min: None,
        max: None,
        spread_within: None,
        spread_between: None,
        visits: Visits::default(),
        allocations: 3,
        disturbance: Disturbance::default(),
        tail: None,
        placement: None,
        core_hz: None,
        core_hz_spread: None,
        parts: Vec::new(),
        rivals: Vec::new(),
        overhead_share: None,
        started_seconds: 0.0,
        seconds: 0.0,
        verdict: Verdict::trusted(),
        refusal: None,
    }
}

/// A chase through so many bytes.
pub(crate) fn chase(purpose: Purpose, layout: ChainLayout, bytes: u64, ns: f64) -> Observation {
    let labels = Labels::new().purpose(purpose).text(Labels::LAYOUT, layout).whole(Labels::SIZE, bytes);
    observation(&format!("{purpose}/{layout}/{bytes}"), labels.text(Labels::CPUS, 1), ns)
}
