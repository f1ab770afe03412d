//! All probes.

use tiermark_engine::Probe;

use crate::{
    background, bandwidth, c2c, geometry, granularity, latency, loaded, matrix, mlp, os, residency, scale, scan,
    survey, tlb,
};

/// Every probe, in the order they are listed. A new one is one file and one row here.
static PROBES: [&Probe; 15] = [
    &survey::PROBE,
    &latency::PROBE,
    &bandwidth::PROBE,
    &matrix::PROBE,
    &loaded::PROBE,
    &scale::PROBE,
    &c2c::PROBE,
    &geometry::PROBE,
    &tlb::PROBE,
    &mlp::PROBE,
    &granularity::PROBE,
    &background::PROBE,
    &residency::PROBE,
    &scan::PROBE,
    &os::PROBE,
];

/// Every probe.
pub fn all() -> &'static [&'static Probe] {
    &PROBES
}

/// The probe with this id.
pub fn find(id: &str) -> Option<&'static Probe> {
    PROBES.iter().copied().find(|probe| probe.id == id)
}
