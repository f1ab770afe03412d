//! Changes to the system that can always be taken back.
//!
//! Everything is read through a [`Root`](tiermark_machine::Root), so that all of it can be tested on trees of files. Nothing is changed
//! but through [`Hands`], and nothing through those before a [`Journal`] has it on disk: after SIGKILL, or years later,
//! [`restore_all`] puts back what was there. Values of knobs, control groups, swap areas, zram devices and processes are noted.

#![forbid(unsafe_code)]

mod apply;
mod command;
mod hands;
mod journal;
mod restore;
mod syntax;

pub use apply::{Applied, KnobChange, apply};
pub use command::{COMMAND_MOST, bounded, bounded_until, shell};
pub use hands::{ENDS, Hands, Live};
pub use journal::{Change, Head, Journal, Lock, StateDir, StatePlaces, lock_soon, pending};
pub use restore::{Restored, restore_all, restore_those};
pub use syntax::{Reading, Syntax};
