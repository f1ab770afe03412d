//! Observations made up for tests.

use tiermark_model::{ChainLayout, Labels, Metric, Observation, Purpose};

/// A number with labels, and nothing that speaks against it.
pub(super) fn observation(step: &str, labels: Labels, value: f64) -> Observation {
    Observation { value: Some(value), allocations: 3, ..Observation::new(step, labels, Metric::Latency) }
}

/// A chase through so many bytes.
pub(crate) fn chase(purpose: Purpose, layout: ChainLayout, bytes: u64, ns: f64) -> Observation {
    let labels = Labels::new().with_purpose(purpose).with_layout(layout).with_size(bytes);
    observation(&format!("{purpose}/{layout}/{bytes}"), labels.with_cpus(1), ns)
}
