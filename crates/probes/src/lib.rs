//! The probes of tiermark, a file or folder each. Pure: plans out, findings back.

#![forbid(unsafe_code)]

pub mod active;
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
mod ground;
mod ladder;
pub mod latency;
pub mod loaded;
pub mod matrix;
mod memory_kinds;
mod mix;
pub mod mlp;
pub mod os;
mod places;
mod registry;
pub mod residency;
pub mod scale;
pub mod scan;
mod sizes;
pub mod soak;
mod steps;
pub mod survey;
mod task;
mod tiers;
pub mod tlb;
mod traffic;
mod written;

pub use mix::Mix;
pub use registry::{all, find};
pub use traffic::ThreadGroup;
