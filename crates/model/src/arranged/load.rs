//! Points of curves of latency over bandwidth.

use crate::observation::Observation;
use crate::purpose::Purpose;

/// The part of a loaded step that is the load itself.
pub const LOAD_PART: &str = "load";

/// A point of a curve: the load on memory, and what an access beside it takes.
#[derive(Debug, Clone, Copy)]
pub struct LoadPoint<'a> {
    /// Bytes a second of the load, without the accesses that are timed.
    pub rate: f64,
    /// The lowest and the highest rate that its visits had.
    pub rates: [Option<f64>; 2],
    /// Time between two pieces of the load, ns; `None` if the labels of the step do not say it.
    pub pause: Option<u64>,
    /// The step: its value is the latency in ns.
    pub seen: &'a Observation,
}

impl<'a> LoadPoint<'a> {
    /// The point that a step is; `None` for other steps, and where the load has no rate.
    pub fn of(seen: &'a Observation) -> Option<Self> {
        let part = seen.parts.iter().find(|part| part.name == LOAD_PART);
        let part = part.filter(|_| seen.labels.is_for(Purpose::Load))?;
        Some(Self { rate: part.value?, rates: [part.min, part.max], pause: seen.labels.pause(), seen })
    }
}
