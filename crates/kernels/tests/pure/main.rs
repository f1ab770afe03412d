//! What the kernels promise, held against the kernels of this build.
#![allow(clippy::unwrap_used)] // Helpers of tests fail as tests do.

mod chases;
mod disassembly;
mod files;
mod guard;
mod layouts;
mod meanings;
mod streams;

// What build.rs is made of.
#[path = "../../build/declared.rs"]
mod declared;
#[path = "../../build/emit.rs"]
mod emit;
#[path = "../../build/expand.rs"]
mod expand;
#[path = "../../build/parse.rs"]
mod parse;
