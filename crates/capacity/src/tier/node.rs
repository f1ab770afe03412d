//! Another memory node, which takes the tenants that DRAM has no room for.

use tiermark_machine::Root;
use tiermark_machine::files::kilobytes;
use tiermark_model::messages::tiers as messages;
use tiermark_model::messages::trials as says;
use tiermark_model::{Bytes, IdSet, Note, Refusal};

use super::{ActiveTier, TierSizes};
use crate::scenario::Tier;

const NODES: &str = "sys/devices/system/node";

/// The memory nodes of tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nodes {
    /// Nodes of those that DRAM holds: all that have memory but the tier's.
    pub near: IdSet,
    /// The node of the tier.
    pub far: u32,
    /// Bytes of the tier's node that tenants may have.
    pub room: u64,
    /// Bytes of the tier's node that stay free: its share of the machine's floor.
    pub floor: u64,
    /// Whether the kernel moves pages there, and not whole tenants begin there.
    pub demotes: bool,
}

impl Nodes {
    /// Whether tenants have come to the floor of the tier's node, with the figures.
    ///
    /// # Errors
    /// A sentence that names the file of the node that does not tell.
    pub fn full(&self, root: &Root) -> Result<Option<Note>, String> {
        let unread = || format!("{NODES}/node{}/meminfo does not say how much memory is free", self.far);
        let free = Memory::of(root, self.far).ok_or_else(unread)?.free;
        Ok((free < self.floor).then(|| says::node_below_floor(self.far, Bytes(free), Bytes(self.floor))))
    }
}

/// The memory of a node, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    total: u64,
    /// Free, or taken by files that can be read again.
    pub(super) free: u64,
}

impl Memory {
    pub(super) fn of(root: &Root, id: u32) -> Option<Self> {
        let text = root.text(&format!("{NODES}/node{id}/meminfo"))?;
        let bytes = |name: &str| kilobytes(&text, name).ok().flatten();
        let files = ["Active(file)", "Inactive(file)"].map(|name| bytes(name).unwrap_or(0));
        let free = files.iter().fold(bytes("MemFree")?, |sum, files| sum.saturating_add(*files));
        Some(Self { total: bytes("MemTotal")?, free })
    }
}

/// Looks whether the node is there and has memory beside the floor, and whether the others have what DRAM is to be.
pub(super) fn preflight(tier: &Tier, id: u32, wanted: &TierSizes, root: &Root) -> Result<ActiveTier, Refusal> {
    let tier = tier.to_string();
    let nodes = root.numbered(NODES, "node").unwrap_or_default();
    let memories = nodes.iter().filter_map(|node| Some((*node, Memory::of(root, *node)?)));
    let memories: Vec<(u32, Memory)> = memories.filter(|(_, memory)| memory.total > 0).collect();
    let near: IdSet = memories.iter().map(|(node, _)| *node).filter(|node| *node != id).collect();
    let Some((_, far)) = memories.iter().find(|(node, _)| *node == id).filter(|_| !near.is_empty()) else {
        let there: Vec<u32> = memories.iter().map(|(node, _)| *node).collect();
        return Err(messages::node_missing(&tier, &there));
    };
    let all = memories.iter().fold(0u64, |sum, (_, memory)| sum.saturating_add(memory.total));
    // Of the machine's floor each has its part.
    let share = |total: u64| (wanted.floor as f64 * total as f64 / all as f64) as u64;
    let floor = share(far.total);
    let room = far.free.saturating_sub(floor);
    if room == 0 {
        return Err(messages::node_full(&tier, Bytes(far.free), Bytes(floor)));
    }
    let others = memories.iter().filter(|(node, _)| *node != id);
    let free = others.fold(0u64, |sum, (_, memory)| sum.saturating_add(memory.free));
    let kept = share(all - far.total);
    if wanted.dram.saturating_add(kept) > free {
        return Err(messages::other_nodes_full(&tier, Bytes(free), Bytes(kept)));
    }
    let nodes = Some(Nodes { near, far: id, room, floor, demotes: false });
    Ok(ActiveTier { room, nodes, warnings: vec![messages::tenants_on_nodes()], ..ActiveTier::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u32, total: u64, free: u64, files: u64) -> (String, String) {
        let rest = format!("Node {id} Active(file): {files} kB\nNode {id} Inactive(file):   0 kB\n");
        (
            format!("{NODES}/node{id}/meminfo"),
            format!("Node {id} MemTotal: {total} kB\nNode {id} MemFree:  {free} kB\n{rest}"),
        )
    }

    fn wanted(dram: u64, floor: u64) -> TierSizes {
        TierSizes { size: 0, dram: dram << 10, floor: floor << 10 }
    }

    fn at(id: u32, wanted: &TierSizes, root: &Root) -> Result<ActiveTier, Refusal> {
        preflight(&Tier::Node(id), id, wanted, root)
    }

    #[test]
    fn a_node_with_memory_beside_another() {
        // Of a floor of 40 each of the four hundreds has ten; node 3 has no memory at all.
        let root =
            Root::from_files("test", [node(0, 100, 50, 5), node(1, 200, 60, 10), node(2, 100, 8, 0), node(3, 0, 0, 0)]);
        let found = at(1, &wanted(43, 40), &root).unwrap();
        assert_eq!((found.room, found.swaps()), (50 << 10, false));
        let nodes = found.nodes.unwrap();
        assert_eq!((nodes.near.to_string().as_str(), nodes.far, nodes.floor), ("0,2", 1, 20 << 10));
        let refused = at(1, &wanted(44, 40), &root).unwrap_err();
        assert_eq!(
            (&refused.data["free"], &refused.data["floor"]),
            (&(63 << 10).into(), &(20 << 10).into()),
            "{refused}"
        );
        let full = at(2, &wanted(1, 40), &root).unwrap_err();
        assert_eq!((&full.data["free"], &full.data["floor"]), (&(8 << 10).into(), &(10 << 10).into()), "{full}");
        for absent in [3, 4] {
            assert_eq!(at(absent, &wanted(1, 0), &root).unwrap_err().data["nodes"], serde_json::json!([0, 1, 2]));
        }
        assert!(at(0, &wanted(1, 0), &Root::from_files("test", [node(0, 100, 50, 0)])).is_err());
    }

    #[test]
    fn a_node_that_is_full_ends_a_trial() {
        let nodes = Nodes { near: [0].into_iter().collect(), far: 1, room: 0, floor: 20 << 10, demotes: false };
        let full = |free: u64| nodes.full(&Root::from_files("test", [node(1, 200, free, 5)]));
        assert_eq!(full(15), Ok(None));
        assert_eq!(full(14).unwrap().unwrap().text, "19 KiB of node 1's memory are free, 20 KiB must stay free");
        let blind = nodes.full(&Root::from_files("test", [("x", "")])).unwrap_err();
        assert!(blind.contains("node1/meminfo"), "{blind}");
    }
}
