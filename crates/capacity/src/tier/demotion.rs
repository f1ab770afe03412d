//! A slower memory node, to which the kernel moves pages for which the others have no room.
//!
//! It does that when those nodes are full, and not at the limit of a control group: a limit counts pages of both alike.
//! So DRAM is here what the other nodes have, and a budget that is less is no budget.

use tiermark_machine::Root;
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Bytes, IdSet, Refusal};

use super::node::{self, Memory};
use super::{ActiveTier, Nodes, TierSizes, switch, switched};
use crate::scenario::Tier;
use crate::system::System;

const ENABLED: &str = "sys/kernel/mm/numa/demotion_enabled";
const TIERS: &str = "sys/devices/virtual/memory_tiering";
/// Share of the other nodes' free memory that the budget has to be at least, with the machine's floor: more of it would
/// be DRAM beside the budget.
const MOST_OF_IT: f64 = 0.9;

/// Turns demotion on, where it makes a tier of the node.
pub(super) fn activate(id: u32, wanted: &TierSizes, system: &mut System) -> Result<ActiveTier, Refusal> {
    let active = preflight(id, wanted, system.root())?;
    switch("numa/demotion_enabled", ENABLED, true, system)?;
    Ok(active)
}

/// Whether the kernel can demote, and to this node.
pub(super) fn preflight(id: u32, wanted: &TierSizes, root: &Root) -> Result<ActiveTier, Refusal> {
    let active = slower(id, wanted, root)?;
    match switched(ENABLED, root) {
        Some(_) => Ok(active),
        None => Err(messages::demotion_missing(id)),
    }
}

/// Whether the node is of a slower tier than all others, and those are the budget.
fn slower(id: u32, wanted: &TierSizes, root: &Root) -> Result<ActiveTier, Refusal> {
    let active = node::preflight(&Tier::Demotion(id), id, wanted, root)?;
    let Some(nodes) = active.nodes else { return Ok(active) };
    let found = tier_of(root, id)
        .filter(|far| nodes.near.iter().all(|node| tier_of(root, node).is_some_and(|near| near < *far)));
    if found.is_none() {
        return Err(messages::node_not_slower(id, &nodes.near.to_string()));
    }
    let free =
        nodes.near.iter().filter_map(|node| Memory::of(root, node)).fold(0u64, |sum, one| sum.saturating_add(one.free));
    if (wanted.dram.saturating_add(wanted.floor) as f64) < free as f64 * MOST_OF_IT {
        return Err(messages::budget_below_nodes(id, &nodes.near.to_string(), Bytes(free), Bytes(wanted.dram)));
    }
    Ok(ActiveTier {
        nodes: Some(Nodes { demotes: true, ..nodes }),
        warnings: vec![messages::pages_demoted()],
        ..active
    })
}

/// The number of a node's memory tier, which is larger the slower it is.
fn tier_of(root: &Root, id: u32) -> Option<u32> {
    let tiers = root.numbered(TIERS, "memory_tier").ok()?;
    let holds = |tier: &u32| {
        let nodes: Option<IdSet> = root.value(&format!("{TIERS}/memory_tier{tier}/nodelist"));
        nodes.is_some_and(|nodes| nodes.contains(id))
    };
    tiers.into_iter().find(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(tiers: &[(u32, &str)]) -> Root {
        let node = |id: u32| {
            let text = format!("Node {id} MemTotal: 200 kB\nNode {id} MemFree:  100 kB\n");
            (format!("sys/devices/system/node/node{id}/meminfo"), text)
        };
        let tiers =
            tiers.iter().map(|(tier, nodes)| (format!("{TIERS}/memory_tier{tier}/nodelist"), format!("{nodes}\n")));
        let switch = (ENABLED.to_owned(), "false\n".to_owned());
        Root::from_files("test", [node(0), node(1), node(2), switch].into_iter().chain(tiers))
    }

    #[test]
    fn only_a_slower_node_behind_all_of_dram_is_a_tier() {
        let wanted = |dram: u64| TierSizes { size: 0, dram: dram << 10, floor: 30 << 10 };
        let slow = machine(&[(4, "0-1"), (22, "2")]);
        let found = preflight(2, &wanted(150), &slow).unwrap();
        assert_eq!((found.room, found.demotes(), found.memory(5)), (90 << 10, true, (90 << 10) + 5));
        let nodes = found.nodes.unwrap();
        assert_eq!((nodes.near.to_string().as_str(), nodes.far), ("0-1", 2));
        let small = preflight(2, &wanted(149), &slow).unwrap_err();
        assert_eq!((small.code.as_str(), &small.data["free"]), ("budget_below_nodes", &(200 << 10).into()));
        assert!(preflight(2, &wanted(181), &slow).unwrap_err().data["floor"] == 20 << 10, "the floor of the others");
        // All nodes alike, the fast one, one of two slow ones, and a kernel that reports no tiers.
        for (id, tiers) in
            [(2, &[(4, "0-2")][..]), (0, &[(4, "0-1"), (22, "2")]), (2, &[(4, "0"), (22, "1-2")]), (2, &[])]
        {
            let refused = preflight(id, &wanted(180), &machine(tiers)).unwrap_err();
            assert_eq!(refused.code, messages::codes::node_not_slower, "{refused}");
        }
        assert!(preflight(7, &wanted(1), &slow).unwrap_err().text("tier") == Some("demotion:7"));
    }

    #[test]
    fn a_kernel_that_cannot_demote_is_told_before_anything_is_made() {
        let nodes = [0, 1].map(|id| {
            let text = format!("Node {id} MemTotal: 200 kB\nNode {id} MemFree:  100 kB\n");
            (format!("sys/devices/system/node/node{id}/meminfo"), text)
        });
        let tiers =
            [(4, "0"), (22, "1")].map(|(tier, node)| (format!("{TIERS}/memory_tier{tier}/nodelist"), node.to_owned()));
        let root = Root::from_files("test", nodes.into_iter().chain(tiers));
        let refused = preflight(1, &TierSizes { size: 0, dram: 95 << 10, floor: 0 }, &root).unwrap_err();
        assert_eq!(refused.code, messages::codes::demotion_missing);
    }
}
