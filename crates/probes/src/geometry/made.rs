//! Observations made up for tests.

use tiermark_model::{ChainLayout, Labels, Metric, Observation, Purpose};

/// A number with labels, and nothing that speaks against it.
pub(super) fn observation(step: &str, labels: Labels, value: f64) -> Observation {
    Observation { value: Some(value), allocations: 3, ..Observation::new(step, labels, Metric::Latency) }
}

/// A chase through so many bytes.
pub(crate) fn chase(purpose: Purpose, layout: ChainLayout, bytes: u64, ns: f64) -> Observation {
    let labels = Labels::new().purpose(purpose).text(Labels::LAYOUT, layout).whole(Labels::SIZE, bytes);
    observation(&format!("{purpose}/{layout}/{bytes}"), labels.text(Labels::CPUS, 1), ns)
}
