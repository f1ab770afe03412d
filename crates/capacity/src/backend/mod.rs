//! Backends: server processes or virtual machines in control groups, or servers that run elsewhere.

pub mod adapter;
mod external;
mod process;
mod qemu;
mod server;
mod tenancy;

use std::sync::atomic::AtomicBool;

use tiermark_load::{ClientSetup, Outcome, Phase, Snapshot, Workload};
use tiermark_model::Refusal;

use crate::evidence::GroupPaths;
use crate::system::System;
pub use external::{Commands, External};
pub use process::{Processes, ServerLaunch};
pub use qemu::{GuestFiles, Hypervisor, Qemu};
pub use tenancy::TenantMemory;

/// Tenants at one moment of a load.
#[derive(Debug)]
pub struct Pulse<'a> {
    /// Progress of the load generator; empty while tenants are started.
    pub load: Option<&'a Snapshot>,
    /// Tenants that ended by themselves or were killed.
    pub ended: u32,
    /// The control groups of the tenants; `None` where they have none here.
    pub counted: Option<&'a Counted>,
}

/// The load that the client sends to all tenants for a time.
pub struct LoadSpec<'a> {
    /// The requests to each tenant.
    pub workload: &'a Workload,
    /// The client's threads.
    pub client: &'a ClientSetup,
    /// Ends the load at once when set.
    pub stop: &'a AtomicBool,
    /// Called once a second with the state of the tenants; `false` ends the load.
    pub watcher: &'a mut dyn FnMut(&Pulse<'_>) -> bool,
}

/// The control groups of tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The group around all tenants.
    pub all: GroupPaths,
    /// Each tenant's own.
    pub each: Vec<GroupPaths>,
}

/// A backend of tenants. Each tenant has a number, from 0, which it keeps; tenants are added at the end and only
/// removed together.
pub trait Backend {
    /// Tenants that run.
    fn count(&self) -> u32;

    /// Starts tenants until there are so many, and fills the new ones with all records. `None` where none had to be
    /// started.
    ///
    /// # Errors
    /// A [`Refusal`] when they cannot be started or filled. A tenant that dies while it is filled is reported in the
    /// outcome, not as an error.
    fn grow(&mut self, count: u32, spec: &mut LoadSpec<'_>, system: &mut System) -> Result<Option<Outcome>, Refusal>;

    /// Runs one phase of load on all tenants at once.
    ///
    /// # Errors
    /// A [`Refusal`] when the load cannot begin, or the client fails.
    fn load(&mut self, spec: &mut LoadSpec<'_>, phase: Phase) -> Result<Outcome, Refusal>;

    /// Ends all tenants, and removes everything that was made for them.
    ///
    /// # Errors
    /// A [`Refusal`] that names what could not be removed.
    fn clear(&mut self, system: &mut System) -> Result<(), Refusal>;

    /// Whether tenants that were cleared come back holding nothing.
    fn renews(&self) -> bool {
        true
    }

    /// Tenants that ended by themselves or were killed.
    fn ended(&mut self) -> u32;

    /// Where their counters are; `None` where they run elsewhere.
    fn counted(&self) -> Option<Counted>;
}
