//! Keeps run documents.
//!
//! A [`Store`] saves finished runs and finds them again, [`parse`] reads every released version of the document, an
//! [`Index`] keeps what a list and a trend need of each document, and a [`Journal`] keeps what a run under way has
//! seen, so that a signal, a crash or SIGKILL loses at most the step under way. [`lines`] are files that stay whole
//! if their writer dies, those of other crates too; [`config`] reads the files that people write.

#![forbid(unsafe_code)]

mod baselines;
pub mod config;
mod document;
mod encoding;
mod index;
mod journal;
pub mod lines;
mod load;
mod record;
mod recover;
mod save;
mod store;
mod weigh;

pub use baselines::Baselines;
pub use document::{MAX_DOCUMENT_BYTES, data_fits, malformed, parse, parse_results};
pub use encoding::to_utf8;
#[cfg(any(test, feature = "testing"))]
pub use index::testing;
pub use index::{Describe, Index, RunHead};
pub use journal::{Journal, Record, is_abandoned};
pub use record::{Best, MachineKey, MachineRecord, hold_again};
pub use recover::recover;
pub use save::SavedPlace;
pub use store::{Entry, Places, Store};
