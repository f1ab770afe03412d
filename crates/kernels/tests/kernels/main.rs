//! What the kernels promise, held against the kernels of this build.
#![allow(clippy::unwrap_used)] // Helpers of tests fail as tests do.

mod chases;
mod disassembly;
mod guard;
mod layouts;
mod streams;
