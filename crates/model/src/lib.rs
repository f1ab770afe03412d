//! The data tiermark speaks.
//!
//! Everything here is serialisable and free of I/O: a machine, a request, a plan of setups, observations,
//! verdicts, findings and the run document that holds them. No crate below this one exists.

#![forbid(unsafe_code)]

pub mod idset;
pub mod kernel;
pub mod machine;
pub mod refusal;
pub mod units;

pub use idset::{CpuId, IdSet, ListError, NodeId};
pub use kernel::{Isa, KernelId, KernelInfo, Pattern, StoreKind};
pub use machine::*;
pub use refusal::Refusal;
pub use units::{Bytes, GIB, KIB, MIB, SizeError, Unit, format_gbs, format_ns, parse_size};
