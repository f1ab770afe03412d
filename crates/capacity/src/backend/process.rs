//! A server process for each tenant, in a control group of its own below one that stands for the server's DRAM.

use tiermark_load::{Outcome, Phase, Target, Watch, fill, run};
use tiermark_model::Refusal;

use super::server::{Server, Start};
use super::tenancy::{Room, Tenancy};
use super::{Asking, Backend, Counted, Pulse, Watcher};
use crate::cgroup::{Group, Layout};
use crate::system::System;

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
    places: Places,
    tenancy: Tenancy,
    tenants: Vec<(Server, Group)>,
}

impl Processes {
    /// No tenants yet, and nothing made.
    #[must_use]
    pub fn new(layout: Layout, places: Places, room: Room) -> Self {
        let tenancy = Tenancy::new(layout, room, places.placer.clone());
        Self { places, tenancy, tenants: Vec::new() }
    }

    fn start(&mut self, number: u32, system: &mut System) -> Result<(), Refusal> {
        let group = self.tenancy.group(&format!("tenant-{}", number + 1), system)?;
        let port = self.places.first_port.map(|first| first.saturating_add(number.min(u32::from(u16::MAX)) as u16));
        let mut program = self.tenancy.before(number);
        program.extend(self.places.wrapper.iter().cloned());
        program.push(self.places.server.clone());
        let server = Server::start(&Start { program: &program, groups: group.directories(), port, number })?;
        self.tenants.push((server, group));
        Ok(())
    }

    fn targets(&self, from: usize) -> Vec<Target> {
        self.tenants[from..].iter().map(|(server, _)| server.target.clone()).collect()
    }
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
        self.tenancy.remove()
    }

    fn ended(&mut self) -> u32 {
        ended(&mut self.tenants)
    }

    fn counted(&self) -> Option<Counted> {
        self.tenancy.counted(self.tenants.iter().map(|(_, group)| group))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // What is left then is in the journal.
        let _ = self.clear();
    }
}
