//! What keeps tenants: server processes or virtual machines in control groups, or servers that run elsewhere.

pub mod adapter;
mod external;
mod process;
mod qemu;
mod server;
mod tenancy;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use rustix::fs::{Access, access};
use tiermark_load::{ClientSetup, Outcome, Phase, Snapshot, Workload};
use tiermark_model::Refusal;

use crate::evidence::GroupPaths;
use crate::system::System;
pub use external::{Commands, External};
pub use process::{Places, Processes};
pub use qemu::{GuestFiles, Hypervisor, Qemu};
pub(crate) use server::SETTINGS;
pub use tenancy::Room;

/// A program that may be run, by its path, or the first of that name where programs are looked for.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).map(|place| place.join(name)).find(runs)
}

/// What is to be done where there is no server.
pub(crate) const NO_SERVER: &str = "install redis-server or valkey-server, or name it: --server PATH";

/// Tenants at one moment of a load.
#[derive(Debug)]
pub struct Pulse<'a> {
    /// What the load generator sees; empty while tenants are started.
    pub load: Option<&'a Snapshot>,
    /// Tenants that ended by themselves or were killed.
    pub ended: u32,
    /// Where their counters are.
    pub counted: Option<&'a Counted>,
}

/// Who is told, once a second, how tenants are doing; `false` ends what goes on.
pub type Watcher<'a> = &'a mut dyn FnMut(&Pulse<'_>) -> bool;

/// How the load is made.
#[derive(Debug)]
pub struct Asking<'a> {
    /// What is asked of every tenant.
    pub workload: &'a Workload,
    /// The client's threads.
    pub client: &'a ClientSetup,
    /// Ends it at once when set.
    pub stop: &'a AtomicBool,
}

/// Where the counters of tenants are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The group of all.
    pub all: GroupPaths,
    /// Each tenant's own.
    pub each: Vec<GroupPaths>,
}

/// What keeps tenants. Each has a number, from 0, which it keeps; tenants are added at the end and only taken away together.
pub trait Backend {
    /// Tenants that run.
    fn count(&self) -> u32;

    /// Starts tenants until there are so many, and fills the new ones with all records. `None` where none had to be started.
    ///
    /// # Errors
    /// A [`Refusal`] where they cannot be started or filled. That one ends while it is filled is none: the outcome says so.
    fn grow(
        &mut self,
        count: u32,
        asking: &Asking<'_>,
        system: &mut System,
        watcher: Watcher<'_>,
    ) -> Result<Option<Outcome>, Refusal>;

    /// Asks all tenants at once.
    ///
    /// # Errors
    /// A [`Refusal`] where that cannot begin, or the client fails.
    fn ask(&mut self, asking: &Asking<'_>, phase: Phase, watcher: Watcher<'_>) -> Result<Outcome, Refusal>;

    /// Ends all tenants, and takes away what was made for them.
    ///
    /// # Errors
    /// A [`Refusal`] that says what is left.
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
