//! The theoretical peak of some nodes' memory, from the data of their modules.

use crate::idset::IdSet;
use crate::machine::{Dimm, DisputedFact, Machine, MemoryChannels, Node, TheoreticalPeak};

/// The largest share of a theoretical rate that may be true. A larger one shows that the measurement or the theoretical
/// rate is wrong: clocks differ from their nominal rate, which tables round to MT/s, by less than the intervals of rates
/// allow.
pub const MOST_THEORETICAL_SHARE: f64 = 1.03;

/// Nodes whose sizes are this near hold as many of the same modules: the kernel keeps a few percent of each from the
/// start.
const ALIKE: f64 = 0.9;
/// Bytes a transfer of a channel, whose two halves some modules have apart.
const CHANNEL_BYTES: f64 = 8.0;

impl Machine {
    /// The theoretical peak of the memory modules; `None` in a guest, whose hypervisor makes their table up.
    pub fn real_peak(&self) -> Option<&TheoreticalPeak> {
        self.theoretical_peak.as_ref().filter(|_| self.system.hypervisor.is_none())
    }

    /// The memory channels; `None` where slot names or the processors do not show them, where modules are missing from
    /// the list, and where the package of a cpu is disputed: the processors' channels are counted by packages.
    pub fn memory_channels(&self) -> Option<MemoryChannels> {
        self.real_peak()?.channels.filter(|_| !self.disputes_packages() && !self.has_unlisted_modules())
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
    /// `None` where the machine's is not known, as in a guest, or for nodes without cpus: their memory is not among the
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
        let even = is_even(&own, &self.dimms, whole);
        Some(if even { whole / own.len() as f64 * named.len() as f64 } else { whole })
    }

    /// The theoretical peak of the memory of these nodes alone; `None` if only the peak of more nodes together is
    /// known.
    pub fn own_memory_peak(&self, nodes: &IdSet) -> Option<f64> {
        let peak = self.memory_peak(nodes)?;
        let whole = self.real_peak()?.bytes_per_second;
        // A node without memory has no channels, unless modules are there that the kernel lacks: they may be its own.
        let lacks = self.contradictions.iter().any(|found| found.fact == DisputedFact::Modules);
        let is_other =
            |n: &Node| !nodes.contains(n.id) && !n.is_memory_only() && (lacks || n.installed_bytes() != Some(0));
        (peak < whole || !self.nodes.iter().any(is_other)).then_some(peak)
    }
}

/// Whether every node has as many channels as any other: nodes of one size, modules of one kind, as many of them on
/// each channel.
fn is_even(nodes: &[&Node], dimms: &[Dimm], whole: f64) -> bool {
    let sizes = || nodes.iter().filter_map(|node| node.installed_bytes());
    let (least, most) = (sizes().min().unwrap_or(0) as f64, sizes().max().unwrap_or(0) as f64);
    let modules: Vec<&Dimm> = dimms.iter().filter(|dimm| dimm.populated).collect();
    let Some(first) = modules.first() else { return false };
    let speed = |dimm: &Dimm| dimm.configured_transfers.or(dimm.rated_transfers);
    let same = |dimm: &&Dimm| dimm.bytes == first.bytes && dimm.kind == first.kind && speed(dimm) == speed(first);
    let Some(channel) = speed(first).map(|transfers| transfers * CHANNEL_BYTES) else { return false };
    let channels = (whole / channel).round().max(1.0) as usize;
    least >= ALIKE * most
        && modules.iter().all(same)
        && modules.len().is_multiple_of(channels)
        && channels.is_multiple_of(nodes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Contradiction, View};

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
