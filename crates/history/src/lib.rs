//! Keeps run documents.
//!
//! A [`Store`] saves finished runs and finds them again, [`parse`] reads every released version of the document, and a
//! [`Journal`] keeps what a run under way has seen, so that a signal, a crash or SIGKILL loses at most the step under way.

#![forbid(unsafe_code)]

mod document;
mod journal;
mod load;
mod migrate;
mod record;
mod recover;
mod save;
mod store;
mod weigh;

pub use document::{DocumentError, MAX_DOCUMENT_BYTES, SCHEMAS, Source, data_fits, parse};
pub use journal::{Journal, Record};
pub use load::LoadError;
pub use record::{Best, MachineKey, MachineRecord, hold_again};
pub use recover::recover;
pub use save::{Attempt, SaveError, SavedPlace};
pub use store::{Entry, Places, Store};
