//! The real machine behind the engine's door: memory, workers, clock.
//!
//! System calls are made by `tiermark_system`, those that are measured by `tiermark_primitives`.

#![forbid(unsafe_code)]

mod arena;
mod check;
#[cfg(test)]
mod confined;
mod core_clock;
mod ended;
mod free_memory;
mod gate;
mod idle;
mod indices;
mod linux;
mod load;
mod moment;
mod overheads;
mod physical;
mod ping;
mod proof;
mod region;
mod resources;
mod revisit;
mod rig;
mod settle;
mod share;
mod soak;
mod streams;
mod subprocess;
mod team;
mod work;
mod worker;

pub use idle::interruptions;
pub use linux::{LinuxHost, Options};
pub use subprocess::reexec;

#[cfg(test)]
tiermark_system::before_main!(crate::reexec);
