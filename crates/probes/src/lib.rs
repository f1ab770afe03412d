//! The questions tiermark asks of a machine, one file each. Pure: plans out, findings back.

#![forbid(unsafe_code)]

pub mod bandwidth;
pub mod c2c;
mod edges;
mod ladder;
pub mod latency;
mod sizes;
mod steps;
pub mod survey;
mod tiers;

use tiermark_engine::Probe;

/// Every probe, in the order they are listed. A new one is one file and one row here.
static PROBES: [&dyn Probe; 3] = [&latency::Latency, &bandwidth::Bandwidth, &c2c::C2c];

/// Every probe.
pub fn all() -> &'static [&'static dyn Probe] {
    &PROBES
}

/// The probe with this id.
pub fn find(id: &str) -> Option<&'static dyn Probe> {
    PROBES.iter().copied().find(|p| p.about().id == id)
}
