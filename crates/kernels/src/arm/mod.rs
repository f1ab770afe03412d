//! Kernels for aarch64.

#[macro_use]
mod stream;

pub(crate) mod cache;
pub(crate) mod chase;
pub(crate) mod clock;
pub(crate) mod operation;
mod zva;

pub(crate) use zva::TABLE;
