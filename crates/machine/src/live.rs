//! Facts of the running system.

use tiermark_model::IdSet;

/// Facts that only system calls and instructions give; all `None` for captured trees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveFacts {
    /// `sched_getaffinity` of this process.
    pub allowed_cpus: Option<IdSet>,
    /// `get_mempolicy(MPOL_F_MEMS_ALLOWED)`.
    pub allowed_nodes: Option<IdSet>,
    /// `sysconf(_SC_PAGESIZE)`, in bytes.
    pub page_bytes: Option<u64>,
    /// Names and versions that `uname` returns; `None` for a captured machine.
    pub uname: Option<Uname>,
    /// The CPUID hypervisor signature (leaf 0x4000_0000), where the processor has one.
    pub hypervisor: Option<String>,
}

/// Names and versions that `uname` returns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Uname {
    /// Kernel release.
    pub release: String,
    /// Architecture.
    pub machine: String,
    /// Host name.
    pub nodename: String,
}
