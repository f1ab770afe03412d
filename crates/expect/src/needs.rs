//! What a machine must be for a limit to say anything about it.

use std::collections::BTreeSet;

use tiermark_model::messages::check as says;
use tiermark_model::{Machine, Node, Note};

/// What a machine must be for an expectation to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Memory on two nodes: one has no remote memory.
    TwoNodes,
    /// Two sockets: among more, some are not linked directly, and traffic takes two links.
    TwoSockets,
    /// One node a socket: of several, some memory of the other socket is farther than the rest.
    WholeSockets,
    /// One module on each channel: two small ones on a channel may be as much as one large one.
    OneModuleAChannel,
    /// Sockets of which one has an odd number of channels with modules, or fewer than the others.
    UnevenChannels,
    /// Cores of one kind: an efficiency core moves fewer bytes a cycle than the fast core that measures alone.
    OneKindOfCore,
    /// No guest: a hypervisor declares what it likes, and other guests use the hardware too.
    BareMetal,
}

impl Need {
    /// All, with their names in files.
    pub const ALL: [(&'static str, Self); 7] = [
        ("two-nodes", Self::TwoNodes),
        ("two-sockets", Self::TwoSockets),
        ("whole-sockets", Self::WholeSockets),
        ("one-module-a-channel", Self::OneModuleAChannel),
        ("uneven-channels", Self::UnevenChannels),
        ("one-kind-of-core", Self::OneKindOfCore),
        ("bare-metal", Self::BareMetal),
    ];

    /// The need of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, need)| *need)
    }

    /// Why a limit says nothing about a machine; `None` if the machine is what it needs.
    pub fn lacks(self, machine: &Machine) -> Option<Note> {
        match self {
            Self::TwoNodes => {
                let with_memory = |node: &&Node| node.memory_bytes.is_none_or(|bytes| bytes > 0);
                (machine.nodes.iter().filter(with_memory).count() < 2).then(says::needs_two_nodes)
            }
            Self::TwoSockets => {
                let sockets = machine.sockets().len();
                (sockets != 2).then(|| says::needs_two_sockets(sockets, &machine.offline_cpus))
            }
            Self::WholeSockets => (machine.nodes_per_socket() > 1).then(says::needs_whole_sockets),
            Self::OneKindOfCore => {
                let kinds: BTreeSet<_> = machine.cpus.iter().map(|cpu| (cpu.kind, cpu.core_name.as_deref())).collect();
                (kinds.len() > 1).then(says::needs_one_kind_of_core)
            }
            Self::BareMetal => machine.system.hypervisor.as_deref().map(says::needs_bare_metal),
            Self::OneModuleAChannel => {
                let channels = machine.memory_channels();
                let modules = machine.dimms.iter().filter(|dimm| dimm.populated).count();
                let is_one =
                    channels.is_some_and(|channels| !channels.at_most && channels.populated as usize == modules);
                (!is_one).then(says::needs_one_module_a_channel)
            }
            Self::UnevenChannels => {
                let channels = machine.memory_channels();
                let is_uneven =
                    channels.is_some_and(|channels| !channels.at_most && channels.is_uneven(machine.processors()));
                (!is_uneven).then(says::needs_uneven_channels)
            }
        }
    }
}
