//! Two views of one fact of a machine that exclude each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::idset::{CpuId, NodeId};

/// Two views of one fact that cannot both be true. Discovery decides which of them the description uses, by what the
/// kernel enforces, and keeps the other here, so that no two parts of the output can differ without a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contradiction {
    /// The fact.
    pub fact: DisputedFact,
    /// The view that the description uses.
    pub used: View,
    /// The view that is set aside.
    pub set_aside: View,
}

/// What one source says of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// The source: a file, or a property of this process.
    pub source: String,
    /// Its value, as it is printed.
    pub says: String,
}

/// Facts that a system reports in more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum DisputedFact {
    /// The cpus that are online.
    OnlineCpus,
    /// The cpus that this process may run on.
    AllowedCpus,
    /// The nodes that this process may take memory from.
    AllowedNodes,
    /// The cpus of a node.
    NodeCpus {
        /// The node.
        node: NodeId,
    },
    /// The cpus that belong to some node.
    CpusOfNodes,
    /// The cpus of a node and those of a socket, where neither has all of the other's.
    NodeAndSocket {
        /// The node.
        node: NodeId,
        /// The socket.
        socket: u32,
    },
    /// The cpus that share a cache.
    CacheCpus {
        /// The level of the cache.
        level: u8,
        /// The first cpu with the contradiction.
        cpu: CpuId,
    },
    /// The package of a cpu.
    Package {
        /// The first cpu with the contradiction.
        cpu: CpuId,
    },
    /// The memory of the machine.
    Memory,
    /// The memory of the machine, and that of its modules.
    Modules,
    /// The bytes of all swap areas.
    Swap,
    /// The distance between two nodes, or of one to itself.
    Distance {
        /// The node whose row states it.
        from: NodeId,
        /// The other node.
        to: NodeId,
    },
    /// The memory that is available, which cannot be more than there is.
    AvailableMemory,
    /// Whether the machine is a guest, and of which hypervisor.
    Hypervisor,
    /// The threads of a core: the kernel's switch is off, and cores have several.
    Threads,
}

impl DisputedFact {
    /// Whether numbers are doubtful while two views of this fact differ. They are where the fact decides which cpus,
    /// caches and nodes a number is of. They are not where the kernel enforces the view that is used, and not for the
    /// memory that somebody else gives: a container's files show its limit, and hosts plug memory into guests while
    /// they run.
    pub fn misleads(&self) -> bool {
        match self {
            Self::NodeCpus { .. }
            | Self::CpusOfNodes
            | Self::NodeAndSocket { .. }
            | Self::CacheCpus { .. }
            | Self::Package { .. }
            | Self::Threads
            | Self::Modules => true,
            Self::OnlineCpus
            | Self::AllowedCpus
            | Self::AllowedNodes
            | Self::Memory
            | Self::AvailableMemory
            | Self::Hypervisor
            | Self::Swap
            | Self::Distance { .. } => false,
        }
    }
}

impl fmt::Display for DisputedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlineCpus => write!(f, "online cpus"),
            Self::AllowedCpus => write!(f, "cpus that this process may use"),
            Self::AllowedNodes => write!(f, "nodes that this process may use"),
            Self::NodeCpus { node } => write!(f, "cpus of node {node}"),
            Self::CpusOfNodes => write!(f, "cpus of all nodes"),
            Self::NodeAndSocket { node, socket } => {
                write!(f, "cpus of node {node} and of socket {socket}, which cut across each other")
            }
            Self::CacheCpus { level, cpu } => write!(f, "cpus that share the L{level} of cpu {cpu}"),
            Self::Package { cpu } => write!(f, "package of cpu {cpu}"),
            Self::Memory => write!(f, "memory of the machine"),
            Self::Modules => write!(f, "memory of the machine and of its modules"),
            Self::Swap => write!(f, "swap"),
            Self::Distance { from, to } => write!(f, "distance of node {from} to node {to}"),
            Self::AvailableMemory => write!(f, "available memory"),
            Self::Hypervisor => write!(f, "hypervisor"),
            Self::Threads => write!(f, "threads of a core"),
        }
    }
}

/// `online cpus: 0-7 by the files of each cpu (used), 0 by /sys/devices/system/cpu/online`.
impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fact, used, set_aside } = self;
        write!(f, "{fact}: {} by {} (used), {} by {}", used.says, used.source, set_aside.says, set_aside.source)
    }
}
