//! The real machine behind the engine's door: memory, workers, clock.
//!
//! The only crate that makes system calls. Everything unsafe is in `sys`.

#![deny(unsafe_code)]

mod check;
mod clock;
#[cfg(test)]
mod confined;
mod free_memory;
mod gate;
mod linux;
mod load;
mod os;
mod overheads;
mod ping;
mod proof;
mod region;
mod revisit;
mod rig;
mod share;
#[allow(unsafe_code)]
mod sys;
mod team;
mod work;
mod worker;

pub use linux::{LinuxHost, Options, live_facts};
pub use os::{PLACE, present_primitives, primitive_names, primitives, reexec};
