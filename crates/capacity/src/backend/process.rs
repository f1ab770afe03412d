//! A server process for each tenant, in a control group of its own below one that stands for the server's DRAM.

use std::time::Duration;

use tiermark_load::{Outcome, Phase, Target, Watch, fill, run};
use tiermark_model::Refusal;
use tiermark_tune::Change;

use super::server::{Server, Start};
use super::{Asking, Backend, Counted, Pulse, Watcher};
use crate::cgroup::{Budget, Disk, Group, Groups, Layout};
use crate::system::System;

/// Taking down tenants of many gigabytes takes seconds each; for ever would hide that one hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Memory that tenants have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// What the parent may take, and whether it may be swapped out.
    pub budget: Budget,
    /// Tenants that are kept on the machine's own memory; those from here on are put on `far`.
    pub near: u32,
    /// The node of the others, where the tier is one.
    pub far: Option<u32>,
}

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The server's program.
    pub server: String,
    /// Words that stand before it: what runs a container and stays in the group that it is started in.
    pub wrapper: Vec<String>,
    /// What puts a program's memory on a node: words before the node's number and the program.
    pub placer: Vec<String>,
    /// Port of the first tenant; `None` takes free ones.
    pub first_port: Option<u16>,
}

/// The tenants.
#[derive(Debug)]
pub struct Processes {
    layout: Layout,
    places: Places,
    room: Room,
    groups: Option<Groups<Disk>>,
    tenants: Vec<(Server, Group)>,
}

impl Processes {
    /// No tenants yet, and nothing made.
    #[must_use]
    pub fn new(layout: Layout, places: Places, room: Room) -> Self {
        Self { layout, places, room, groups: None, tenants: Vec::new() }
    }

    /// Makes a group, noted before it is there; the parent's first of all.
    fn group(&mut self, number: u32, system: &mut System) -> Result<Group, Refusal> {
        let parent = format!("tiermark-{}", std::process::id());
        let groups = match &mut self.groups {
            Some(groups) => groups,
            none => {
                system.note(changes(&self.layout, &parent))?;
                none.insert(Groups::create(Disk, self.layout.clone(), &parent, self.room.budget)?)
            }
        };
        let name = format!("tenant-{}", number + 1);
        system.note(changes(&self.layout, &format!("{parent}/{name}")))?;
        groups.child(&name)
    }

    /// The words that start a tenant's server.
    fn program(&self, number: u32) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(node) = self.room.far.filter(|_| number >= self.room.near) {
            words.extend(self.places.placer.iter().cloned());
            words.push(node.to_string());
        }
        words.extend(self.places.wrapper.iter().cloned());
        words.push(self.places.server.clone());
        words
    }

    fn start(&mut self, number: u32, system: &mut System) -> Result<(), Refusal> {
        let group = self.group(number, system)?;
        let port = self.places.first_port.map(|first| first.saturating_add(number.min(u32::from(u16::MAX)) as u16));
        let start = Start { program: &self.program(number), groups: group.directories(), port, number };
        let server = Server::start(&start)?;
        self.tenants.push((server, group));
        Ok(())
    }

    fn targets(&self, from: usize) -> Vec<Target> {
        self.tenants[from..].iter().map(|(server, _)| server.target.clone()).collect()
    }
}

/// Groups of one name in every hierarchy.
fn changes(layout: &Layout, name: &str) -> Vec<Change> {
    layout.directories(name).into_iter().map(|path| Change::Cgroup { path }).collect()
}

fn ended(tenants: &mut [(Server, Group)]) -> u32 {
    tenants.iter_mut().filter_map(|(server, _)| server.has_ended().then_some(())).count() as u32
}

impl Backend for Processes {
    fn count(&self) -> u32 {
        self.tenants.len() as u32
    }

    fn grow(
        &mut self,
        count: u32,
        asking: &Asking<'_>,
        system: &mut System,
        watcher: Watcher<'_>,
    ) -> Result<Option<Outcome>, Refusal> {
        let from = self.tenants.len();
        for number in self.count()..count {
            self.start(number, system)?;
            let counted = self.counted();
            let pulse = Pulse { load: None, ended: self.ended(), counted: counted.as_ref() };
            if !watcher(&pulse) {
                break;
            }
        }
        let new = self.targets(from);
        if new.is_empty() {
            return Ok(None);
        }
        let counted = self.counted();
        let tenants = &mut self.tenants;
        let mut told =
            |load: &_| watcher(&Pulse { load: Some(load), ended: ended(tenants), counted: counted.as_ref() });
        let mut watch = Watch { stop: asking.stop, each_second: &mut told };
        fill(&new, asking.workload, asking.client, &mut watch).map(Some)
    }

    fn ask(&mut self, asking: &Asking<'_>, phase: Phase, watcher: Watcher<'_>) -> Result<Outcome, Refusal> {
        let targets = self.targets(0);
        let counted = self.counted();
        let tenants = &mut self.tenants;
        let mut told =
            |load: &_| watcher(&Pulse { load: Some(load), ended: ended(tenants), counted: counted.as_ref() });
        let mut watch = Watch { stop: asking.stop, each_second: &mut told };
        run(&targets, asking.workload, phase, asking.client, &mut watch)
    }

    fn clear(&mut self) -> Result<(), Refusal> {
        for (server, _) in &mut self.tenants {
            server.end();
        }
        self.tenants.clear();
        self.groups.take().map_or(Ok(()), |groups| groups.remove(PATIENCE))
    }

    fn ended(&mut self) -> u32 {
        ended(&mut self.tenants)
    }

    fn counted(&self) -> Option<Counted> {
        let groups = self.groups.as_ref()?;
        let each = self.tenants.iter().map(|(_, group)| groups.paths(Some(group))).collect();
        Some(Counted { all: groups.paths(None), each })
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // What is left then is in the journal.
        let _ = self.clear();
    }
}
