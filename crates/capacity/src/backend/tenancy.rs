//! The control groups of tenants that this program starts: a parent with the budget, and one below it for each tenant.

use std::time::Duration;

use tiermark_machine::{Root, start_ticks};
use tiermark_model::Refusal;
use tiermark_undo::{Change, RootWriter, SystemWriter};

use super::Counted;
use crate::cgroup::{Budget, Disk, Groups, Layout, TenantGroup};
use crate::system::System;
use crate::tier::Nodes;

/// Taking down tenants of many gigabytes takes seconds each; for ever would hide that one hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Memory that tenants have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantMemory {
    /// Memory limit of the parent group, and whether its memory may be swapped out.
    pub budget: Budget,
    /// Tenants that are kept in DRAM; those from here on are put on the node of the tier, where it is one.
    pub near: u32,
    /// The nodes of both, where the tier is one.
    pub nodes: Option<Nodes>,
}

/// Groups that are made as tenants come.
#[derive(Debug)]
pub(super) struct Tenancy {
    layout: Layout,
    room: TenantMemory,
    /// Words in front of the nodes and the program that put a program's memory on nodes.
    placer: Vec<String>,
    groups: Option<Groups<Disk>>,
}

impl Tenancy {
    /// No groups yet.
    pub(super) fn new(layout: Layout, room: TenantMemory, placer: Vec<String>) -> Self {
        Self { layout, room, placer, groups: None }
    }

    /// Makes a tenant's group, noted before it is there; the parent's first of all.
    pub(super) fn group(&mut self, name: &str, system: &mut System) -> Result<TenantGroup, Refusal> {
        let parent = format!("tiermark-{}", system.word());
        let groups = match &mut self.groups {
            Some(groups) => groups,
            none => {
                system.note(changes(&self.layout, &parent, system.root()))?;
                none.insert(Groups::create(Disk, self.layout.clone(), &parent, self.room.budget)?)
            }
        };
        system.note(changes(&self.layout, &format!("{parent}/{name}"), system.root()))?;
        groups.child(name)
    }

    /// Words in front of the words that start a tenant's program.
    pub(super) fn before(&self, number: u32) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(nodes) = &self.room.nodes {
            words.extend(self.placer.iter().cloned());
            words.push(if number < self.room.near { nodes.near.to_string() } else { nodes.far.to_string() });
        }
        words
    }

    /// Where the counters of these tenants are.
    pub(super) fn counted<'a>(&self, tenants: impl Iterator<Item = &'a TenantGroup>) -> Option<Counted> {
        let groups = self.groups.as_ref()?;
        Some(Counted { all: groups.paths(None), each: tenants.map(|group| groups.paths(Some(group))).collect() })
    }

    /// Ends whatever is still in the groups, which what a wrapper started may be, and removes them.
    pub(super) fn remove(&mut self) -> Result<(), Refusal> {
        let Some(groups) = self.groups.take() else { return Ok(()) };
        let root = Root::live();
        let mut writer = RootWriter::new(root.clone());
        for pid in groups.processes() {
            if let Some(start) = start_ticks(&root, pid) {
                // A process that cannot be ended keeps its group busy, which the removal of the group reports.
                let _ = writer.stop(pid, start, true);
            }
        }
        groups.remove(PATIENCE)
    }
}

/// Groups of one name in every hierarchy.
fn changes(layout: &Layout, name: &str, root: &Root) -> Vec<Change> {
    layout.directories(name).into_iter().map(|path| Change::group(path, root)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_of_dram_are_kept_off_the_tier_s_node() {
        let words = |nodes: Option<Nodes>, number: u32| {
            let room = TenantMemory { budget: Budget { memory: 1, swap: false }, near: 2, nodes };
            Tenancy::new(Layout::V2("cg".to_owned()), room, vec!["place".to_owned()]).before(number)
        };
        let nodes = Nodes { near: [0, 2, 3].into_iter().collect(), far: 1, room: 0, floor: 0, demotes: false };
        assert_eq!(words(Some(nodes.clone()), 1), ["place", "0,2-3"]);
        assert_eq!(words(Some(nodes), 2), ["place", "1"]);
        assert!(words(None, 2).is_empty());
    }
}
