//! Kernels for aarch64.

#[macro_use]
mod stream;

pub(crate) mod cache;
pub(crate) mod chase;
pub(crate) mod clock;
mod neon;
mod random;
mod sve;
mod zva;

use crate::registry::StreamSpec;

/// The tables of this architecture.
pub(crate) fn tables() -> Vec<Vec<StreamSpec>> {
    vec![neon::table(), sve::table(), zva::table(), random::table()]
}

/// 128-bit vectors are part of every aarch64 that Linux runs on.
fn neon() -> bool {
    true
}

/// Scalable vectors, and an operating system that saves them.
fn sve() -> bool {
    std::arch::is_aarch64_feature_detected!("sve")
}
