//! A measurement from its requests to its document, below the command line: plans ([`prepare`]), counters beside shots
//! ([`counted`]), the machine's record, other work and faults meanwhile, and how it ends. Nothing here prints: what a
//! user should know is returned.

#![forbid(unsafe_code)]

mod busy;
pub mod counted;
mod file_memory;
mod health;
mod killed;
mod outcome;
mod prepare;
mod reanalysis;
mod record;
mod soak;

pub use busy::{OtherWork, disturbs_client, disturbs_measurement, disturbs_tenants, memory_of_others};
pub use file_memory::pages as file_pages;
pub use health::{HealthWatch, warnings as health_warnings};
pub use killed::{Adopted, adopt, concluded};
pub use outcome::{Demands, exit, imprecise, missing};
pub use prepare::{Asked, Begun, Head, NOT_SHORT, NotShort, Prepared, of_a_part, prepare};
pub use reanalysis::{Reanalysed, Revision, reanalyse_saved};
pub use record::{OwnRecord, machine_id};
