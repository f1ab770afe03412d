//! Derived from a machine's data: which cpus share a core, a cache or a node.

use serde::{Deserialize, Serialize};

use crate::Tier;
use std::collections::BTreeMap;

use super::{Cache, CacheKind, Cpu, Machine, Node};
use crate::idset::{CpuId, IdSet, NodeId};
use crate::messages::machine as messages;
use crate::units::{Bytes, MIB, total};

/// Cpus that share one last-level cache.
#[derive(Debug, Clone, PartialEq)]
pub struct LlcGroup {
    /// The index that [`Cpu::llc`] refers to.
    pub index: u32,
    /// The online cpus of the group.
    pub cpus: IdSet,
    /// Bytes of the shared cache, where declared.
    pub bytes: Option<u64>,
}

/// Memory of the smallest node that footprints are laid out on: 64 MiB of a node stay free, and those of memory begin
/// with as much. Firmware reserves parts of a machine as nodes of a few MiB.
const LEAST_NODE_BYTES: u64 = 128 << 20;
/// Far beyond the caches of any machine, and small enough for working sets that are multiples of it.
pub(super) const MOST_CACHE_BYTES: u64 = 1 << 50;

impl Machine {
    /// The only node that has memory, where there is just one.
    pub fn only_memory_node(&self) -> Option<NodeId> {
        let mut with_memory = self.nodes.iter().filter(|node| node.memory_bytes != Some(0));
        with_memory.next().filter(|_| with_memory.next().is_none()).map(|node| node.id)
    }

    /// The nodes whose memory this process may use, and that hold more than stays free. Without a report of what the
    /// process may use, the kernel decides when memory is bound.
    pub fn memory_nodes(&self) -> IdSet {
        let allowed = |node: &&Node| self.allowed_nodes.is_empty() || self.allowed_nodes.contains(node.id);
        let usable = |node: &&Node| node.memory_bytes != Some(0) && !self.is_too_small(node);
        self.nodes.iter().filter(allowed).filter(usable).map(|node| node.id).collect()
    }

    /// Whether a node beside larger ones holds no footprint.
    pub fn is_too_small(&self, node: &Node) -> bool {
        let is_larger = |node: &Node| node.memory_bytes.is_none_or(|bytes| bytes >= LEAST_NODE_BYTES);
        node.memory_bytes != Some(0) && !is_larger(node) && self.nodes.iter().any(is_larger)
    }

    /// What memory without cpus is, where it is faster than that of the nodes with cpus (HBM in flat mode): by
    /// firmware's figures, or by the kernel's tiers. `None` for slower memory, and where nothing says which is faster.
    pub fn faster_memory(&self, node: &Node) -> Option<Tier> {
        let rate = |node: &Node| node.hmat.iter().filter_map(|access| access.read_bandwidth).reduce(f64::max);
        let own = || self.nodes.iter().filter(|node| !node.cpus.is_empty());
        let has_more = rate(node).zip(own().filter_map(rate).reduce(f64::max)).is_some_and(|(rate, own)| rate > own);
        let is_above = node.memory_tier.zip(own().filter_map(|node| node.memory_tier).min());
        let is_faster = node.is_memory_only() && (has_more || is_above.is_some_and(|(tier, own)| tier < own));
        let is_hbm =
            |dimm: &super::Dimm| dimm.populated && dimm.kind.as_ref().is_some_and(|kind| kind.starts_with("HBM"));
        is_faster.then(|| if self.dimms.iter().any(is_hbm) { Tier::Hbm(node.id) } else { Tier::Faster(node.id) })
    }

    /// The cpus this process may run on whose node has no memory that it may use.
    pub fn cpus_without_own_memory(&self) -> IdSet {
        let memory = self.memory_nodes();
        let is_away = |cpu: &CpuId| self.node_of(*cpu).is_some_and(|node| !memory.contains(node));
        self.allowed_cpus.iter().filter(is_away).collect()
    }

    /// The cpus that a thread of this process can be pinned to.
    pub fn choosable_cpus(&self) -> IdSet {
        self.allowed_cpus.union(&self.beyond_affinity)
    }

    /// Whether the kernel's NUMA balancing moves pages here. Between tiers (mode 2 alone) it unmaps only pages of a tier
    /// below the uppermost; without tiers, memory of a node without cpus may be one.
    pub fn balances_pages(&self) -> bool {
        let lower = || {
            let tiers: IdSet = self.nodes.iter().filter_map(|node| node.memory_tier).collect();
            tiers.len() > 1 || tiers.is_empty() && self.nodes.iter().any(Node::is_memory_only)
        };
        match self.system.numa_balancing {
            None | Some(0) => false,
            Some(2) => self.nodes.len() > 1 && lower(),
            Some(_) => self.nodes.len() > 1,
        }
    }

    /// The cpu with this id.
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |c| c.id).ok().map(|i| &self.cpus[i])
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|n| n.id == id)
    }

    /// The kernel's ids of some nodes: of an emulated one, those of all its parts.
    pub fn kernel_nodes(&self, nodes: &IdSet) -> IdSet {
        nodes
            .iter()
            .flat_map(|id| {
                self.node(id).map_or_else(|| IdSet::from_iter([id]), Node::kernel_ids).iter().collect::<Vec<_>>()
            })
            .collect()
    }

    /// All online cpus.
    pub fn online(&self) -> IdSet {
        self.cpus.iter().map(|c| c.id).collect()
    }

    /// Distinct physical packages.
    pub fn sockets(&self) -> IdSet {
        self.cpus.iter().map(|c| c.socket).collect()
    }

    /// Sockets that hold a processor. Those whose cpus are all offline hold memory too.
    pub fn processors(&self) -> usize {
        self.sockets().len().max(usize::try_from(self.filled_sockets).unwrap_or_default())
    }

    /// Nodes with online cpus of which whole cores are offline: the cores that remain may not reach the rate of the
    /// node's memory. An offline cpu does not show whose it is: a node has fewer cores than others, or all have lost
    /// as many, where no processor is offline as a whole.
    pub fn nodes_short_of_cores(&self) -> IdSet {
        let mut cores: BTreeMap<NodeId, IdSet> = BTreeMap::new();
        for cpu in &self.cpus {
            if let Some(node) = self.node_of(cpu.id) {
                cores.entry(node).or_default().insert(cpu.core);
            }
        }
        let most = cores.values().map(IdSet::len).max().unwrap_or_default();
        let all_lack = self.processors() == self.sockets().len() && cores.values().all(|own| own.len() == most);
        let is_short = |own: &IdSet| self.has_offline_cores() && (all_lack || own.len() < most);
        cores.into_iter().filter(|(_, own)| is_short(own)).map(|(node, _)| node).collect()
    }

    /// Whether more cpus are offline than the second threads of the online cores.
    fn has_offline_cores(&self) -> bool {
        // With SMT off no core shows how many threads it has: two, as on all processors but a few.
        let is_off = self.system.smt_control.as_deref().is_some_and(|state| matches!(state, "off" | "forceoff"));
        let seen = self.cpus.iter().map(|cpu| cpu.smt_rank as usize + 1).max().unwrap_or(1);
        let threads = if is_off { seen.max(2) } else { seen };
        self.offline_cpus.len() > (self.core_count() * threads).saturating_sub(self.cpus.len())
    }

    /// Slots for memory modules in the processors' channels.
    pub fn slots(&self) -> u64 {
        (self.dimms.len() as u64).saturating_add(self.unlisted_slots)
    }

    /// Bytes of a node's memory; `None` where not known. An only node has all of the machine's, even if its own count is
    /// another, as in guests that get memory while they run.
    pub fn memory_of(&self, node: &Node) -> Option<u64> {
        let only = self.system.memory_bytes.filter(|_| self.nodes.len() == 1);
        only.or(node.memory_bytes)
    }

    /// Bytes of memory in blocks that are offline, on all nodes where this is known (see [`Node::offline_bytes`]);
    /// `None` where it is known of no node, or none is known to be offline and a node is unknown.
    ///
    /// [`Node::offline_bytes`]: crate::Node::offline_bytes
    pub fn offline_bytes(&self) -> Option<u64> {
        let known = self.nodes.iter().filter_map(|node| node.offline_bytes).reduce(u64::saturating_add);
        known.filter(|bytes| *bytes > 0 || self.nodes.iter().all(|node| node.offline_bytes.is_some()))
    }

    /// The memory in offline blocks of each node that has some, in words.
    pub fn offline_memory(&self) -> Vec<String> {
        let some = self.nodes.iter().filter_map(|node| Some((node.id, node.offline_bytes.filter(|bytes| *bytes > 0)?)));
        some.map(|(node, bytes)| messages::memory_offline(node, Bytes(bytes)).to_string()).collect()
    }

    /// Nodes with cpus of the socket that has most; more than one where the firmware splits sockets (NPS, SNC, cluster
    /// on die).
    pub fn nodes_per_socket(&self) -> usize {
        let mut sockets: std::collections::BTreeMap<u32, IdSet> = std::collections::BTreeMap::new();
        for cpu in &self.cpus {
            if let Some(node) = cpu.node {
                sockets.entry(cpu.socket).or_default().insert(node);
            }
        }
        sockets.values().map(IdSet::len).max().unwrap_or(1)
    }

    /// How many physical cores are online.
    pub fn core_count(&self) -> usize {
        self.cpus.iter().map(|c| c.core).collect::<IdSet>().len()
    }

    /// The node a cpu belongs to: its own, or, where the kernel has no NUMA, the one that stands for the machine.
    /// `None` for a cpu whose node is offline.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        let own = self.cpu(cpu)?.node;
        own.or_else(|| self.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id))
    }

    /// The data (or unified) cache of a level that a cpu uses.
    pub fn cache_of(&self, cpu: CpuId, level: u8) -> Option<&Cache> {
        self.data_caches().find(|c| c.level == level && c.cpus.contains(cpu))
    }

    /// All data and unified caches.
    pub fn data_caches(&self) -> impl Iterator<Item = &Cache> {
        self.caches.iter().filter(|c| c.kind != CacheKind::Instruction)
    }

    /// The last-level-cache groups in index order.
    pub fn llc_groups(&self) -> Vec<LlcGroup> {
        let mut groups: BTreeMap<u32, IdSet> = BTreeMap::new();
        for cpu in &self.cpus {
            if let Some(llc) = cpu.llc {
                groups.entry(llc).or_default().insert(cpu.id);
            }
        }
        groups
            .into_iter()
            .map(|(index, cpus)| {
                let last = cpus
                    .first()
                    .and_then(|cpu| self.data_caches().filter(|c| c.cpus.contains(cpu)).max_by_key(|c| c.level));
                LlcGroup { index, bytes: last.and_then(|c| c.bytes), cpus }
            })
            .collect()
    }

    /// The sum of all caches that the given cpus can reach, last level and the private ones above it, in bytes.
    ///
    /// Private levels count too: victim and exclusive last-level caches hold lines beside them. At most a PiB.
    pub fn reachable_cache_bytes(&self, cpus: &IdSet) -> u64 {
        let reached = self.data_caches().filter(|c| c.level >= 2 && !c.cpus.intersection(cpus).is_empty());
        total(reached.filter_map(|c| c.bytes)).min(MOST_CACHE_BYTES)
    }

    /// As [`Self::reachable_cache_bytes`]; `None` where a cpu's last cache may be larger than all that is known: it is
    /// listed without a size, or no third level is listed for any cpu. The system caches of many Arm servers, and those
    /// that a hypervisor hides, are listed nowhere. Beside cores with a third level, small cores without one have none.
    pub fn all_cache_bytes(&self, cpus: &IdSet) -> Option<u64> {
        let last = |cpu| self.data_caches().filter(|c| c.cpus.contains(cpu)).max_by_key(|c| c.level);
        let has_third = self.data_caches().any(|cache| cache.level >= 3);
        let is_known = |cpu| last(cpu).is_some_and(|cache| has_third && cache.bytes.is_some());
        cpus.iter().all(is_known).then(|| self.reachable_cache_bytes(cpus))
    }

    /// The least memory beyond all caches that the given cpus can reach: caches serve half of it. Machines and guests
    /// that hide their caches have some all the same.
    pub fn least_dram_bytes(&self, cpus: &IdSet) -> u64 {
        self.reachable_cache_bytes(cpus).max(4 * MIB).saturating_mul(2)
    }

    /// The given cpus ordered so that every physical core comes before any SMT sibling; cores in machine order.
    pub fn cores_first(&self, cpus: &IdSet) -> Vec<CpuId> {
        // The rank is taken among the given cpus: if only the second sibling of a core is allowed, it is that core's
        // first.
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        let mut ranked: Vec<(u32, u32, CpuId)> = cpus
            .iter()
            .filter_map(|id| self.cpu(id))
            .map(|cpu| {
                let rank = seen.entry(cpu.core).or_default();
                *rank += 1;
                (*rank, cpu.core, cpu.id)
            })
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, _, id)| id).collect()
    }

    /// One cpu per physical core out of the given ones.
    pub fn one_per_core(&self, cpus: &IdSet) -> IdSet {
        let mut seen = IdSet::new();
        cpus.iter()
            .filter_map(|id| self.cpu(id))
            .filter(|cpu| {
                let new = !seen.contains(cpu.core);
                seen.insert(cpu.core);
                new
            })
            .map(|cpu| cpu.id)
            .collect()
    }
}

/// Published limits of a core: latencies that no access undercuts, and rates that no code exceeds.
///
/// A figure beyond a limit was measured wrongly, or at another clock than assumed. No figure is rounded to a limit: the
/// reader of a limit chooses its tolerance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreLimits {
    /// The vendor's name of the core (`Golden Cove`).
    pub name: String,
    /// Cycles from a load that hits L1 to its use by the next load (a pointer chase), at least; `None` where no source
    /// has it, as for all numbers below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_l1_cycles: Option<f64>,
    /// Bytes that loads take from L1 in a cycle, at most, by the widest vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_bytes_per_cycle: Option<f64>,
    /// Bytes that stores write to L1 in a cycle, at most, by the widest vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_bytes_per_cycle: Option<f64>,
    /// Cycles from a load that hits L2 to its use, at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_l2_cycles: Option<f64>,
    /// Bytes that L2 delivers to the core in a cycle, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_bytes_per_cycle: Option<f64>,
    /// The documents that have the numbers.
    pub source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_memory_is_called_online_while_a_node_is_unknown() {
        let sum = |offline: &[Option<u64>]| {
            let nodes = offline.iter().map(|bytes| Node { offline_bytes: *bytes, ..Node::default() }).collect();
            Machine { nodes, ..Machine::default() }.offline_bytes()
        };
        assert_eq!((sum(&[Some(0), Some(0)]), sum(&[Some(0), None]), sum(&[])), (Some(0), None, None));
        assert_eq!((sum(&[Some(1), Some(2)]), sum(&[Some(1), None])), (Some(3), Some(1)));
    }

    /// Found by fuzzing.
    #[test]
    fn caches_of_any_size_have_a_sum_that_can_be_multiplied() {
        let cpus: IdSet = "0-3".parse().unwrap();
        let (kind, bytes) = (CacheKind::Unified, Some(u64::MAX));
        let cache = Cache { level: 3, kind, bytes, line_bytes: None, ways: None, sets: None, cpus: cpus.clone() };
        let machine = Machine { caches: vec![cache.clone(), cache], ..Machine::default() };
        assert_eq!(machine.reachable_cache_bytes(&cpus), MOST_CACHE_BYTES);
    }

    /// So many cores of two threads on each of two nodes, one a socket, and these cpus offline.
    fn with_cores(cores: [u32; 2], offline: &str) -> Machine {
        let core = |node: u32, n: u32| {
            let core = node * 100 + n;
            [0, 1].map(|rank| Cpu {
                id: core + 1000 * rank,
                core,
                smt_rank: rank,
                socket: node,
                node: Some(node),
                ..Cpu::default()
            })
        };
        let of_node = |node: usize| (0..cores[node]).flat_map(move |n| core(node as u32, n));
        let mut cpus: Vec<Cpu> = of_node(0).chain(of_node(1)).collect();
        cpus.sort_by_key(|cpu| cpu.id);
        Machine { cpus, offline_cpus: offline.parse().unwrap(), ..Machine::default() }
    }

    #[test]
    fn nodes_lack_cores_that_are_offline() {
        let short = |machine: &Machine| machine.nodes_short_of_cores().to_string();
        assert_eq!(short(&with_cores([8, 1], "101-107,1101-1107")), "1");
        assert_eq!(short(&with_cores([4, 4], "4-7,1004-1007,104-107,1104-1107")), "0-1");
        assert_eq!(short(&with_cores([8, 8], "")), "");
        assert_eq!(short(&with_cores([8, 1], "")), "", "nodes may differ");
        // The whole second processor, and then some cores of the first.
        let whole = Machine { filled_sockets: 2, ..with_cores([8, 0], "100-107,1100-1107") };
        assert_eq!(short(&whole), "");
        // Second threads only.
        let mut single = with_cores([8, 8], "1000-1007,1100-1107");
        single.cpus.retain(|cpu| cpu.smt_rank == 0);
        single.system.smt_control = Some("off".into());
        assert_eq!(short(&single), "");
        let mut one = with_cores([8, 8], "1005");
        one.cpus.retain(|cpu| cpu.id != 1005);
        assert_eq!(short(&one), "");
    }

    #[test]
    fn a_cpu_whose_node_is_offline_has_no_node() {
        let cpus = [(0, Some(1)), (1, None)].map(|(id, node)| Cpu { id, core: id, node, ..Cpu::default() }).to_vec();
        let node = |id: NodeId, cpus: &str| Node { id, cpus: cpus.parse().unwrap(), ..Node::default() };
        let machine = Machine { cpus: cpus.clone(), nodes: vec![node(1, "0")], ..Machine::default() };
        assert_eq!([0, 1, 2].map(|cpu| machine.node_of(cpu)), [Some(1), None, None]);
        // A kernel without NUMA: one node stands for the whole machine.
        let whole = Machine { cpus, nodes: vec![node(0, "0-1")], ..Machine::default() };
        assert_eq!(whole.node_of(1), Some(0));
    }

    #[test]
    fn a_node_without_memory_is_no_place_for_pages() {
        let only = |bytes: &[Option<u64>]| {
            let nodes = bytes.iter().zip(3..).map(|(bytes, id)| Node { id, memory_bytes: *bytes, ..Node::default() });
            Machine { nodes: nodes.collect(), ..Machine::default() }.only_memory_node()
        };
        assert_eq!(only(&[Some(1 << 30)]), Some(3));
        assert_eq!(only(&[Some(0), Some(1 << 30), Some(0)]), Some(4));
        // One that does not say may have some.
        assert_eq!((only(&[None]), only(&[None, Some(1 << 30)])), (Some(3), None));
        assert_eq!((only(&[Some(1), Some(1)]), only(&[Some(0)]), only(&[])), (None, None, None));
    }
}
