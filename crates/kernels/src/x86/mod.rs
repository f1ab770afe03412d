//! Kernels for x86-64.

#[macro_use]
mod stream;
#[macro_use]
mod variants;

pub(crate) mod cache;
pub(crate) mod chase;
pub(crate) mod clock;
mod fma;
mod random;
mod rep;
mod vector;

use crate::registry::StreamSpec;

/// The tables of this architecture.
pub(crate) fn tables() -> Vec<Vec<StreamSpec>> {
    vec![
        vector::sse2::table(),
        vector::avx2::table(),
        vector::avx512::table(),
        fma::table(),
        rep::table(),
        random::table(),
    ]
}

/// 128-bit vectors are part of x86-64.
fn sse2() -> bool {
    true
}

/// 256-bit vectors, and an operating system that saves them.
fn avx2() -> bool {
    std::is_x86_feature_detected!("avx2")
}

/// 256-bit vectors with fused multiplication and addition.
fn fma() -> bool {
    avx2() && std::is_x86_feature_detected!("fma")
}

/// 512-bit vectors, and an operating system that saves them.
fn avx512() -> bool {
    std::is_x86_feature_detected!("avx512f")
}

/// `clzero` (AMD APM volume 3: CPUID 8000_0008 EBX bit 0).
fn clzero() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0008 && __cpuid(0x8000_0008).ebx & 1 == 1
}
