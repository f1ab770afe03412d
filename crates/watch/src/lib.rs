//! Samples of a system's memory: pressure, nodes, swap, migrations.
//!
//! A [`Source`] reads what the kernel counts at one moment, a [`Reading`]; [`sample`] makes a
//! [`WatchSample`](tiermark_model::WatchSample) of two of them. Everything is read below a
//! [`Root`](tiermark_machine::Root) and needs no root's rights. Samples are kept in a [`Recording`] and served by an
//! [`Endpoint`]; [`monitor`] shows them.

#![forbid(unsafe_code)]

mod endpoint;
mod groups;
pub mod monitor;
mod programs;
mod rates;
mod reading;
mod recording;
mod source;

pub use endpoint::Endpoint;
pub use groups::GroupReading;
pub use rates::sample;
pub use reading::{NodeReading, Reading};
pub use recording::{Recording, record, samples};
pub use source::Source;
