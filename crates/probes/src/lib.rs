//! The probes of tiermark, one file each. Pure: plans out, findings back.

#![forbid(unsafe_code)]

pub mod active;
pub mod background;
pub mod bandwidth;
pub mod c2c;
mod ceilings;
mod chasing;
mod cold;
pub mod curve_profile;
mod edges;
mod finder;
mod footprints;
mod found;
pub mod geometry;
pub mod granularity;
mod ladder;
pub mod latency;
pub mod loaded;
pub mod matrix;
mod memory_kinds;
mod mix;
pub mod mlp;
pub mod os;
mod places;
pub mod residency;
pub mod scale;
pub mod scan;
mod sizes;
mod steps;
pub mod survey;
mod tiers;
pub mod tlb;
mod traffic;

pub use mix::Mix;
use tiermark_engine::Probe;
pub use traffic::ThreadGroup;

/// Every probe, in the order they are listed. A new one is one file and one row here.
static PROBES: [&dyn Probe; 15] = [
    &survey::Survey,
    &latency::Latency,
    &bandwidth::Bandwidth,
    &matrix::Matrix,
    &loaded::Loaded,
    &scale::Scale,
    &c2c::C2c,
    &geometry::Geometry,
    &tlb::Tlb,
    &mlp::Mlp,
    &granularity::Granularity,
    &background::Background,
    &residency::Residency,
    &scan::Scan,
    &os::Os,
];

/// Every probe.
pub fn all() -> &'static [&'static dyn Probe] {
    &PROBES
}

/// The probe with this id.
pub fn find(id: &str) -> Option<&'static dyn Probe> {
    PROBES.iter().copied().find(|p| p.about().id == id)
}
