//! Operating-system primitives as data: the operation of each, its dimensions, and one call of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::idset::CpuId;
use crate::page::PageKind;
use crate::refusal::Refusal;
use crate::units::Metric;

/// Name of a primitive (`getppid`, `fork+exit`, `pipe`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PrimitiveId(pub String);

impl fmt::Display for PrimitiveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for PrimitiveId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

/// Group of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OsGroup {
    /// Entering the kernel and leaving it.
    Syscalls,
    /// Making processes and threads.
    Processes,
    /// Giving the cpu to another, and being woken.
    Switches,
    /// Bytes from one process or thread to another.
    Channels,
    /// Faults and mappings.
    Faults,
    /// Moving memory between nodes.
    Numa,
    /// Functions of the C library.
    Libc,
    /// Operations on registers: no part of the system takes part.
    Arithmetic,
}

impl OsGroup {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Syscalls,
        Self::Processes,
        Self::Switches,
        Self::Channels,
        Self::Faults,
        Self::Numa,
        Self::Libc,
        Self::Arithmetic,
    ];

    /// As `--only` takes it and documents keep it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syscalls => "syscalls",
            Self::Processes => "processes",
            Self::Switches => "switches",
            Self::Channels => "channels",
            Self::Faults => "faults",
            Self::Numa => "numa",
            Self::Libc => "libc",
            Self::Arithmetic => "arithmetic",
        }
    }
}

impl fmt::Display for OsGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One dimension that a primitive is measured over, with its points, most important first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// Bytes that an operation moves or covers.
    Bytes(Vec<u64>),
    /// Bytes that a channel holds.
    Capacity(Vec<u64>),
    /// Resident memory of the process, bytes.
    Resident(Vec<u64>),
    /// Bytes that each side works on between two operations.
    WorkingSet(Vec<u64>),
    /// How many take part: descriptors that are watched, processes in a ring.
    Count(Vec<u64>),
    /// Page sizes of the memory that it touches or that the process holds.
    Pages(Vec<PageKind>),
    /// Where the other side runs: the same cpu, and one cpu of every relation there is.
    Partner,
    /// Threads of the process that run on other cpus meanwhile: none, one, and so on to all.
    Bystanders,
    /// Pairs of nodes that memory moves between.
    NodePairs,
}

/// A primitive as this host has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrimitiveInfo {
    /// As `--only` takes it: `fork+exit`.
    pub id: PrimitiveId,
    /// Its group.
    pub group: OsGroup,
    /// Its metric: ns an operation, or useful bytes a second.
    pub metric: Metric,
    /// How it is done, for people.
    pub text: String,
    /// What it is of on this system, where that differs: the C library, the file system of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<String>,
    /// Its dimensions.
    pub sweeps: Vec<Sweep>,
    /// Why it cannot be measured here, and the cure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

impl PrimitiveInfo {
    /// How it is done, and what it is of on this system.
    pub fn described(&self) -> String {
        self.here.as_ref().map_or_else(|| self.text.clone(), |here| format!("{} (here: {here})", self.text))
    }
}

/// One point of a primitive: everything that its body needs. Resident memory is the region that its thread works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OsCall {
    /// Id of the primitive: `fork+exit`.
    pub primitive: PrimitiveId,
    /// Bytes of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes that the channel holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Bytes each side works on between two operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<u64>,
    /// How many take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Page size of memory that the operation maps itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<PageKind>,
    /// Cpus of the others that take part: the partner, or the bystanders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<CpuId>,
    /// Nodes that memory moves from and to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<(u32, u32)>,
}

impl OsCall {
    /// A call without parameters.
    pub fn new(primitive: PrimitiveId) -> Self {
        Self {
            primitive,
            bytes: None,
            capacity: None,
            working_set: None,
            count: None,
            page: None,
            others: Vec::new(),
            nodes: None,
        }
    }
}
