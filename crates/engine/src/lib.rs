//! Carries plans out through one door to the machine, and judges every number.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod admit;
mod agree;
pub mod analyse;
mod cell;
mod clock;
mod costs;
mod drifts;
mod estimate;
pub mod event;
pub mod host;
mod interruptions;
mod judge;
mod limited;
mod passes;
mod plausible;
pub mod probe;
mod rivals;
mod run;
pub mod soak;
mod states;
mod throughput;

pub use admit::{admit, nearest_memory_node, region_nodes};
pub use agree::disagreements;
pub use clock::RunClock;
pub use estimate::random_latency_between_runs;
pub use event::{Event, Sink};
pub use host::{ClockLook, Fault, Filled, Guard, Host, IdleWatch, Rig, Settling, Shot, ThreadShot, ping_pairs};
pub use interruptions::Interruptions;
pub use limited::open_limited;
pub use probe::{Lab, OpenStudy, Probe, Record, Study, Subject};
pub use run::{PlannedExperiment, conclude, reanalyse, run_experiment};
pub use states::Conditions;
pub use throughput::Throughputs;
