//! Kernels for x86-64.

#[macro_use]
mod stream;

pub(crate) mod cache;
pub(crate) mod chase;
pub(crate) mod clock;
pub(crate) mod operation;
mod rep;

pub(crate) use rep::TABLE;
