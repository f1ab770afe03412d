//! The system's knobs: what they are, what they should be, changes that can always be taken back, and a check-up of the machine.
//!
//! Everything is read through a [`Root`](tiermark_machine::Root), so that all of it can be tested on trees of files. Nothing is changed
//! but through [`Hands`], and nothing through those before a [`Journal`] has it on disk: after SIGKILL, or years later,
//! [`restore_all`] puts back what was there. The journal is general: whoever makes control groups, swap areas, zram devices or
//! processes for a while notes them there too.

#![forbid(unsafe_code)]

mod apply;
mod crowd;
mod device;
pub mod doctor;
mod hands;
mod journal;
mod kconfig;
mod knob;
mod look;
mod restore;
mod stat;
mod table;
mod value;

pub use apply::{Applied, KnobChange, apply, changes};
pub use device::{disk_of, resolve as resolve_device};
pub use hands::{COMMAND_MOST, ENDS, Hands, Live, bounded, bounded_until, shell};
pub use journal::{Change, Head, Journal, Lock, StateDir, StatePlaces, lock_soon, pending};
pub use kconfig::KernelConfig;
pub use knob::{Fact, Knob, Place, Profile, Wish};
pub use look::{Scene, look};
pub use restore::{Restored, restore_all, restore_those};
pub use stat::{CpuShares, CpuTimes, ProcessTime, start_ticks};
pub use table::all as knobs;
pub use value::{Reading, Syntax};
