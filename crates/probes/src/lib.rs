//! The questions tiermark asks of a machine, one file each. Pure: plans out, findings back.

#![forbid(unsafe_code)]

pub mod bandwidth;
mod edges;
mod ladder;
pub mod latency;
pub mod loaded;
pub mod matrix;
mod places;
pub mod scale;
mod sizes;
mod steps;
pub mod survey;
mod tiers;

use tiermark_engine::Probe;

/// Every probe, in the order they are listed. A new one is one file and one row here.
static PROBES: [&dyn Probe; 5] =
    [&latency::Latency, &bandwidth::Bandwidth, &matrix::Matrix, &loaded::Loaded, &scale::Scale];

/// Every probe.
pub fn all() -> &'static [&'static dyn Probe] {
    &PROBES
}

/// The probe with this id.
pub fn find(id: &str) -> Option<&'static dyn Probe> {
    PROBES.iter().copied().find(|p| p.about().id == id)
}
