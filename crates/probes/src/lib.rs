//! The questions tiermark asks of a machine, one file each. Pure: plans out, findings back.

#![forbid(unsafe_code)]

pub mod background;
pub mod bandwidth;
pub mod c2c;
mod chasing;
mod edges;
mod finder;
mod found;
pub mod geometry;
pub mod granularity;
mod ladder;
pub mod latency;
pub mod loaded;
pub mod matrix;
mod mix;
pub mod mlp;
pub mod os;
mod places;
mod reach;
pub mod residency;
mod room;
pub mod scale;
mod sizes;
mod steps;
pub mod survey;
mod tiers;
pub mod tlb;

pub use mix::Mix;
use tiermark_engine::Probe;

/// Every probe, in the order they are listed. A new one is one file and one row here.
static PROBES: [&dyn Probe; 14] = [
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
    &os::Os,
];

/// Every probe.
pub fn all() -> &'static [&'static dyn Probe] {
    &PROBES
}

/// What a probe was called before, in plans and documents that are kept, and what it is called now.
const RENAMED: [(&str, &str); 1] = [("loaded", "loaded-latency")];

/// What the probe with this id was called before.
pub fn former_ids(id: &str) -> impl Iterator<Item = &'static str> {
    RENAMED.iter().filter(move |(_, now)| *now == id).map(|(before, _)| *before)
}

/// The probe with this id, or that had it before.
pub fn find(id: &str) -> Option<&'static dyn Probe> {
    let id = RENAMED.iter().find(|(before, _)| *before == id).map_or(id, |(_, now)| now);
    PROBES.iter().copied().find(|p| p.about().id == id)
}
