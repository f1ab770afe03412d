//! Carries plans out through one door to the machine, and judges every number.

#![forbid(unsafe_code)]

pub mod event;
pub mod host;
pub mod probe;

pub use event::{Event, Sink};
pub use host::{Fault, Guard, Host, Rig, Shot, ThreadShot};
pub use probe::{About, Lab, Probe};
