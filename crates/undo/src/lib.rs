//! Changes to the system that can always be taken back.
//!
//! Everything is read through a [`Root`](tiermark_machine::Root), so that all of it can be tested on trees of files.
//! Everything is changed through a [`SystemWriter`], after a [`Journal`] has the change on disk: after SIGKILL, or
//! years later, [`restore_all`] puts back what was there. Values of knobs, stopped services, control groups, swap
//! areas, zram devices and processes are noted.

#![forbid(unsafe_code)]

mod apply;
mod command;
mod identity;
mod journal;
mod restore;
mod service;
mod syntax;
mod writer;

pub use apply::{Applied, KnobChange, apply, may_write};
pub use command::{COMMAND_MOST, bounded, bounded_until, end, output_tail_until, output_until, shell};
pub use journal::{Change, Journal, JournalHeader, Lock, StateDir, StatePlaces, is_noted, pending};
pub use restore::{Asked, Restored, restore_all, restore_own, restore_those};
pub use service::{service_runs, stop_service};
pub use syntax::{Reading, Syntax};
pub use writer::{ENDS, RootWriter, SystemWriter};
