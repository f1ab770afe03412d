//! Carries plans out through one door to the machine, and judges every number.

#![forbid(unsafe_code)]

pub mod admit;
pub mod analyse;
mod cell;
pub mod event;
pub mod host;
mod judge;
mod plausible;
pub mod probe;
pub mod roll;
mod run;
pub mod sim;

pub use admit::{admit, nearest_memory_node, region_nodes};
pub use event::{Event, Sink};
pub use host::{Fault, Guard, Host, Rig, Shot, ThreadShot};
pub use judge::TOO_WIDE;
pub use probe::{About, Lab, Probe};
pub use run::{conclude, run_experiment, scatter};
pub use sim::{Ceilings, SimCache, SimCore, SimHost, SimOptions};
