//! A load generator for Redis: an open or closed loop over many servers (tenants) at once, latency from the intended
//! start and from the send, and nothing averaged that cannot be averaged.
//!
//! One thread serves many tenants with one epoll. Every request has a time at which it is due, which does not depend on
//! the server: a stalled answer stops nothing, and what had to wait shows in the response time (Tene's "coordinated
//! omission" does not occur).

#![forbid(unsafe_code)]

mod address;
mod buffers;
mod clock;
mod conn;
mod cpus;
mod document;
mod footprint;
mod hgrm;
mod histogram;
mod hold;
mod inventory;
mod judge;
mod keys;
mod live;
mod merge;
mod request_spec;
mod resp;
mod run;
mod schedule;
mod seed;
mod spin;
mod stream;
mod tally;
mod target;
mod tenant;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod values;
mod worker;
mod workload;

pub use address::Address;
pub use document::Job;
pub use footprint::{ClientBytes, client_bytes};
pub use histogram::{LONGEST_NS, Latencies};
pub use inventory::{MOST_BYTES as MOST_INVENTORY_BYTES, servers_of};
pub use keys::{KEY_FORMS, KeyDist, KeyOrder};
pub use live::{Snapshot, TenantNow};
pub use merge::merged;
pub use run::{Outcome, Watch, fill, run};
pub use schedule::Arrivals;
pub use seed::{Phase, seed};
pub use tally::{TenantResult, pooled};
pub use target::{Answer, Client, Target};
pub use values::{SMALLEST_CHECKED, SizeOrder, Sizes, ValueShape};
pub use workload::{ClientSetup, Length, Pace, Workload};
