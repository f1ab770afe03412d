//! The theoretical peak of some nodes' memory, from the data of their modules.

use crate::idset::IdSet;
use crate::machine::{Dimm, DisputedFact, Machine, MemoryChannels, Node, TheoreticalPeak};
use crate::units::total;

/// The largest share of a theoretical rate that may be true. A larger one shows that the measurement or the theoretical
/// rate is wrong: clocks differ from their nominal rate, which tables round to MT/s, by less than the intervals of rates
/// allow.
pub const MOST_THEORETICAL_SHARE: f64 = 1.03;

/// Nodes whose sizes are this near hold as many of the same modules: the kernel keeps a few percent of each from the
/// start.
const ALIKE: f64 = 0.9;
/// Firmware can make a node of each L3 ("L3 as NUMA domain"): the memory of these nodes lies interleaved over the same
/// channels, and they have at most this distance. Nodes with channels of their own are farther apart (AMD: 12).
const SHARED_CHANNELS: u32 = 11;
/// Bytes a transfer of a channel, whose two halves some modules have apart.
const CHANNEL_BYTES: f64 = 8.0;

impl Machine {
    /// The theoretical peak of the memory modules; `None` in a guest, whose hypervisor makes their table up, and where
    /// modules are missing from the list.
    pub fn real_peak(&self) -> Option<&TheoreticalPeak> {
        self.theoretical_peak.as_ref().filter(|_| self.system.board_maker().is_none() && !self.has_unlisted_modules())
    }

    /// The memory channels; `None` where slot names or the processors do not show them, and where the package of a cpu is disputed: the processors' channels are counted by packages.
    pub fn memory_channels(&self) -> Option<MemoryChannels> {
        self.real_peak()?.channels.filter(|_| !self.disputes_packages())
    }

    /// The memory channels that hold a module, and those that can; `None` where slot names do not show both.
    pub fn filled_channels(&self) -> Option<(u32, u32)> {
        let known = self.memory_channels().filter(|channels| !channels.at_most)?;
        Some((known.populated, known.most?))
    }

    /// Whether SMBIOS lists not all modules: the kernel has more memory than those that it lists hold.
    pub fn has_unlisted_modules(&self) -> bool {
        let is_disputed = self.contradictions.iter().any(|found| found.fact == DisputedFact::Modules);
        let listed = self.dimms.iter().chain(&self.cxl_modules).filter_map(|dimm| dimm.bytes);
        let listed = listed.fold(0, u64::saturating_add);
        is_disputed && self.system.memory_bytes.is_some_and(|kernel| kernel > listed)
    }

    /// Whether two views of the package of a cpu exclude each other.
    pub fn disputes_packages(&self) -> bool {
        self.contradictions.iter().any(|found| matches!(found.fact, DisputedFact::Package { .. }))
    }

    /// What the links between two sockets carry; `None` in a guest, whose hypervisor makes its sockets up.
    pub fn real_link(&self) -> Option<&TheoreticalPeak> {
        self.theoretical_link.as_ref().filter(|_| self.system.hypervisor.is_none())
    }

    /// Bytes a second that the memory of some nodes can give at most: their part of the theoretical peak where modules
    /// lie evenly over the nodes, else that of the whole machine, which no node exceeds.
    ///
    /// Nodes that may share channels have those of all of them. `None` where the machine's is not known, as in a guest, or for nodes without cpus: their memory is not among the
    /// modules of the board.
    pub fn memory_peak(&self, nodes: &IdSet) -> Option<f64> {
        let whole = self.real_peak()?.bytes_per_second;
        let with_memory = |node: &&Node| node.installed_bytes().is_some_and(|bytes| bytes > 0);
        let own: Vec<&Node> = self.nodes.iter().filter(with_memory).filter(|node| !node.is_memory_only()).collect();
        let named = self.nodes.iter().filter(with_memory).filter(|node| nodes.contains(node.id));
        let named: Vec<&Node> = named.collect();
        if named.is_empty() || named.iter().any(|node| node.is_memory_only()) {
            return None;
        }
        let groups = self.channel_groups(&own);
        let used = groups.iter().filter(|group| !group.intersection(nodes).is_empty()).count();
        // The nodes of a control domain are not those of the board.
        let even = !self.system.sees_board && self.is_even(&groups, whole);
        Some(if even { whole / groups.len() as f64 * used as f64 } else { whole })
    }

    /// Nodes by the channels that they share, as far as that can be excluded: nodes that are an L3 each may share all of
    /// their socket's.
    fn channel_groups(&self, nodes: &[&Node]) -> Vec<IdSet> {
        let caches = self.llc_groups();
        let is_cache = |node: &Node| caches.iter().any(|cache| cache.cpus == node.cpus);
        let socket = |node: &Node| self.cpu(node.cpus.first()?).map(|cpu| cpu.socket);
        let share = |a: &Node, b: &Node| {
            let near = |a: &Node, b: &Node| a.distances.get(&b.id).is_none_or(|distance| *distance <= SHARED_CHANNELS);
            socket(a) == socket(b) && is_cache(a) && is_cache(b) && near(a, b) && near(b, a)
        };
        let mut groups: Vec<Vec<&Node>> = Vec::new();
        for node in nodes {
            match groups.iter_mut().find(|group| group.iter().any(|other| share(node, other))) {
                Some(group) => group.push(node),
                None => groups.push(vec![node]),
            }
        }
        groups.into_iter().map(|group| group.into_iter().map(|node| node.id).collect()).collect()
    }

    /// Whether every group of nodes has as many channels as any other: groups of one size, modules of one kind, as many
    /// of them on each channel.
    fn is_even(&self, groups: &[IdSet], whole: f64) -> bool {
        let size = |group: &IdSet| total(group.iter().filter_map(|id| self.node(id)?.installed_bytes()));
        let (least, most) =
            (groups.iter().map(size).min().unwrap_or(0) as f64, groups.iter().map(size).max().unwrap_or(0) as f64);
        let modules: Vec<&Dimm> = self.dimms.iter().filter(|dimm| dimm.populated).collect();
        let Some(first) = modules.first() else { return false };
        let speed = |dimm: &Dimm| dimm.configured_transfers.or(dimm.rated_transfers);
        let same = |dimm: &&Dimm| dimm.bytes == first.bytes && dimm.kind == first.kind && speed(dimm) == speed(first);
        let Some(channel) = speed(first).map(|transfers| transfers * CHANNEL_BYTES) else { return false };
        let channels = (whole / channel).round().max(1.0) as usize;
        least >= ALIKE * most
            && modules.iter().all(same)
            && modules.len().is_multiple_of(channels)
            && channels.is_multiple_of(groups.len())
    }

    /// The theoretical peak of the memory of these nodes alone; `None` if only the peak of more nodes together is
    /// known.
    pub fn own_memory_peak(&self, nodes: &IdSet) -> Option<f64> {
        let peak = self.memory_peak(nodes).filter(|_| !self.system.sees_board)?;
        let whole = self.real_peak()?.bytes_per_second;
        // A node without memory has no channels, unless modules are there that the kernel lacks: they may be its own.
        let lacks = self.contradictions.iter().any(|found| found.fact == DisputedFact::Modules);
        let is_other =
            |n: &Node| !nodes.contains(n.id) && !n.is_memory_only() && (lacks || n.installed_bytes() != Some(0));
        let own: Vec<&Node> = self.nodes.iter().filter(|node| !node.is_memory_only()).collect();
        let shares = |group: &IdSet| !group.intersection(nodes).is_empty() && !group.is_subset(nodes);
        let shares = self.channel_groups(&own).iter().any(shares);
        (!shares && (peak < whole || !self.nodes.iter().any(is_other))).then_some(peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Contradiction, Cpu, View};

    /// Two nodes with cpus and one without, and so many modules and channels of 10 GB/s.
    fn server(modules: usize, channels: usize) -> Machine {
        let node = |id: u32, cpus: IdSet| Node { id, cpus, memory_bytes: Some(64 << 30), ..Node::default() };
        let nodes = vec![node(0, [0].into_iter().collect()), node(1, [1].into_iter().collect()), node(2, IdSet::new())];
        let dimm =
            Dimm { populated: true, bytes: Some(16 << 30), configured_transfers: Some(1.25e9), ..Dimm::default() };
        let peak = TheoreticalPeak { bytes_per_second: channels as f64 * 10e9, ..TheoreticalPeak::default() };
        Machine { nodes, dimms: vec![dimm; modules], theoretical_peak: Some(peak), ..Machine::default() }
    }

    fn peak(machine: &Machine, nodes: &[u32]) -> Option<f64> {
        machine.memory_peak(&nodes.iter().copied().collect()).map(|peak| peak / 1e9)
    }

    #[test]
    fn a_node_has_its_part_of_even_modules() {
        let even = server(8, 8);
        assert_eq!((peak(&even, &[0]), peak(&even, &[1]), peak(&even, &[0, 1])), (Some(40.0), Some(40.0), Some(80.0)));
        assert_eq!(peak(&server(16, 8), &[1]), Some(40.0), "two modules a channel");
        assert_eq!((peak(&even, &[2]), peak(&even, &[0, 2]), peak(&even, &[])), (None, None, None));
        assert_eq!(peak(&Machine { theoretical_peak: None, ..even.clone() }, &[0]), None);
        let mut guest = even;
        guest.theoretical_link = Some(TheoreticalPeak::default());
        assert!(guest.real_link().is_some());
        guest.system.hypervisor = Some("KVM".into());
        assert_eq!(guest.real_link(), None, "a hypervisor makes sockets up");
        assert_eq!((peak(&guest, &[0]), guest.real_peak()), (None, None), "a hypervisor makes modules up");
    }

    /// So many nodes of one socket, each an L3 of one cpu, at these distances to each other; nodes of another socket are
    /// the second half where `sockets` is 2.
    fn caches_as_nodes(count: u32, sockets: u32, distance: impl Fn(u32, u32) -> Option<u32>) -> Machine {
        let mut machine = server(8, 8);
        let cpu = |id| Cpu { id, llc: Some(id), node: Some(id), socket: id * sockets / count, ..Cpu::default() };
        machine.cpus = (0..count).map(cpu).collect();
        let node = |id: u32| Node {
            id,
            cpus: [id].into_iter().collect(),
            memory_bytes: Some(32 << 30),
            distances: (0..count).filter_map(|to| Some((to, distance(id, to)?))).collect(),
            ..Node::default()
        };
        machine.nodes = (0..count).map(node).collect();
        machine
    }

    #[test]
    fn nodes_made_of_caches_share_their_sockets_channels() {
        let own = |machine: &Machine, nodes: &[u32]| {
            machine.own_memory_peak(&nodes.iter().copied().collect()).map(|peak| peak / 1e9)
        };
        let near = |from, to| Some(if from == to { 10 } else { 11 });
        let one = caches_as_nodes(4, 1, near);
        assert_eq!((peak(&one, &[0]), own(&one, &[0]), own(&one, &[0, 1, 2, 3])), (Some(80.0), None, Some(80.0)));
        let two = caches_as_nodes(4, 2, |from, to| if from / 2 == to / 2 { near(from, to) } else { Some(32) });
        assert_eq!((peak(&two, &[0]), own(&two, &[0]), own(&two, &[0, 1])), (Some(40.0), None, Some(40.0)));
        // Two halves of a socket with channels of their own, each of two caches.
        let halves = caches_as_nodes(4, 1, |from, to| if from / 2 == to / 2 { near(from, to) } else { Some(12) });
        assert_eq!((peak(&halves, &[2]), own(&halves, &[2]), own(&halves, &[2, 3])), (Some(40.0), None, Some(40.0)));
        let quarters = caches_as_nodes(4, 1, |from, to| Some(if from == to { 10 } else { 12 }));
        assert_eq!((peak(&quarters, &[1]), own(&quarters, &[1])), (Some(20.0), Some(20.0)));
        let unknown = caches_as_nodes(4, 1, |_, _| None);
        assert_eq!((peak(&unknown, &[1]), own(&unknown, &[1])), (Some(80.0), None));
        // Halves of a socket (SNC) of one L3.
        let mut clusters = caches_as_nodes(4, 1, near);
        clusters.cpus.iter_mut().for_each(|cpu| cpu.llc = Some(0));
        assert_eq!((peak(&clusters, &[1]), own(&clusters, &[1])), (Some(20.0), Some(20.0)));
    }

    #[test]
    fn a_node_whose_modules_the_kernel_lacks_has_its_channels_all_the_same() {
        let own = |machine: &Machine| machine.own_memory_peak(&[0].into_iter().collect()).map(|peak| peak / 1e9);
        let mut lost = server(8, 8);
        lost.nodes[1].memory_bytes = Some(0);
        assert_eq!(own(&lost), Some(80.0), "all modules are of the other socket");
        let view = |says: &str| View { source: String::new(), says: says.to_owned() };
        let fact = DisputedFact::Modules;
        lost.contradictions = vec![Contradiction { fact, used: view("64 GiB"), set_aside: view("128 GiB") }];
        assert_eq!(own(&lost), None, "some are of this one");
    }

    #[test]
    fn uneven_modules_bound_a_node_by_the_whole() {
        assert_eq!(peak(&server(16, 12), &[0]), Some(120.0), "one node may have two a channel, the other one");
        let mut mixed = server(8, 8);
        mixed.dimms[3].bytes = Some(32 << 30);
        assert_eq!(peak(&mixed, &[0]), Some(80.0));
        let mut offline = server(8, 8);
        (offline.nodes[1].memory_bytes, offline.nodes[1].offline_bytes) = (Some(16 << 30), Some(48 << 30));
        assert_eq!(peak(&offline, &[0]), Some(40.0), "memory that is offline lies in modules too");
        let mut lopsided = server(8, 8);
        lopsided.nodes[1].memory_bytes = Some(16 << 30);
        assert_eq!(peak(&lopsided, &[0]), Some(80.0));
    }
}
