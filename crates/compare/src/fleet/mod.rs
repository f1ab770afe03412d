//! Runs of many hosts: which host is not like its peers, by which figures, and why. Pure: documents in, a document out.
//!
//! [`HostRecord::of`] takes from a run what is judged, so that documents can be read one after the other. [`Gathered`]
//! keeps the newest record of each host; [`Gathered::judged`] groups hosts of the same hardware into kinds and holds
//! each host against the median of its kind.

mod catalogue;
mod causes;
mod facts;
mod gather;
mod groups;
mod judge;
mod kind;
mod kinds;
mod limits;
mod loss;
mod names;
mod record;
mod spread;

pub use causes::Rates;
pub use gather::Gathered;
pub use limits::limits;
pub use record::HostRecord;

/// The fewest hosts of a kind that are judged by each other: with three, the median is one of them.
pub const FEWEST: usize = 4;
/// Expected share of false ones among the hosts that are odd by their figures.
pub const LEVEL: f64 = 0.02;
