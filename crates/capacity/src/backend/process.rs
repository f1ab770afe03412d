//! A server process for each tenant, in a control group of its own below one that stands for the server's DRAM.

use std::sync::atomic::AtomicBool;

use tiermark_load::{Outcome, Phase, Target, Watch, fill, run};
use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;
use tiermark_undo::Change;

use super::adapter::{named, numbered};
use super::server::{Server, Start, free_port};
use super::tenancy::{Tenancy, TenantMemory};
use super::{Backend, Counted, LoadSpec, Pulse};
use crate::cgroup::{Layout, TenantGroup};
use crate::scenario::MemoryLimit;
use crate::system::System;
use crate::system::program;

/// The programs that tenants on this machine run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerLaunch {
    /// Path or name of the server's program.
    pub server: String,
    /// Words that stand before it, `{N}` in them being the tenant's number and `{RUN}` the random word of the run:
    /// what runs a container and stays in the group that it is started in.
    pub wrapper: Vec<String>,
    /// Command that removes a container after its server has ended.
    pub removes: Option<String>,
    /// When servers evict keys, and which.
    pub memory: MemoryLimit,
    /// Port of the first tenant; `None` takes free ones.
    pub first_port: Option<u16>,
}

impl ServerLaunch {
    /// What is missing of it, as far as it can be seen from here: what runs a container may have its server inside.
    pub fn check(&self) -> Vec<Refusal> {
        let first = self.wrapper.first().map_or(self.server.as_str(), String::as_str);
        let lacks = program(first).is_none().then(|| match first {
            server if self.wrapper.is_empty() => messages::server_missing(server),
            "podman" => messages::podman_missing(),
            word => messages::wrapper_missing(word),
        });
        let port = self.first_port.and_then(|port| free_port(Some(port)).err());
        lacks.into_iter().chain(port).collect()
    }
}

/// Tenants as processes of this machine, each in a control group.
#[derive(Debug)]
pub struct Processes {
    places: ServerLaunch,
    tenancy: Tenancy,
    tenants: Vec<(Server, TenantGroup)>,
}

impl Processes {
    /// No tenants yet, and nothing made.
    pub fn new(layout: Layout, places: ServerLaunch, room: TenantMemory, placer: Vec<String>) -> Self {
        Self { places, tenancy: Tenancy::new(layout, room, placer), tenants: Vec::new() }
    }

    fn start(&mut self, number: u32, stop: &AtomicBool, system: &mut System) -> Result<(), Refusal> {
        let group = self.tenancy.group(&format!("tenant-{}", number + 1), system)?;
        let port = self.places.first_port.map(|first| first.saturating_add(number.min(u32::from(u16::MAX)) as u16));
        let mut program = self.tenancy.before(number);
        program.extend(self.places.wrapper.iter().map(|word| named(&numbered(word, number as usize), system.word())));
        if let Some(removes) = &self.places.removes {
            system.note([removal(removes, number, system.word())])?;
        }
        program.push(self.places.server.clone());
        let (groups, memory) = (group.directories(), self.places.memory);
        let server = Server::start(&Start { program: &program, groups, memory, port, number, stop })?;
        self.tenants.push((server, group));
        Ok(())
    }

    fn remove(&mut self) -> Result<(), Refusal> {
        // All at once: each takes its time to give back its memory.
        self.tenants.iter_mut().for_each(|(server, _)| server.kill());
        self.tenants.iter_mut().for_each(|(server, _)| server.end());
        self.tenants.clear();
        self.tenancy.remove()
    }

    /// Runs a phase on the tenants from index `from` on; without a phase, fills them.
    fn call(&mut self, from: usize, spec: &mut LoadSpec<'_>, phase: Option<Phase>) -> Result<Outcome, Refusal> {
        let targets: Vec<Target> = self.tenants[from..].iter().map(|(server, _)| server.target.clone()).collect();
        let counted = self.counted();
        let (tenants, watcher) = (&mut self.tenants, &mut *spec.watcher);
        let mut report =
            |load: &_| watcher(&Pulse { load: Some(load), ended: ended(tenants), counted: counted.as_ref() });
        let mut watch = Watch { stop: spec.stop, each_second: &mut report };
        match phase {
            None => fill(&targets, spec.workload, spec.client, &mut watch),
            Some(phase) => run(&targets, spec.workload, phase, spec.client, &mut watch),
        }
    }
}

/// The command that removes what a tenant was wrapped in. Only a name with the word of this run, which nobody could
/// know before, is surely the run's own: a saved run may name anything.
fn removal(removes: &str, number: u32, word: &str) -> Change {
    let stop = named(&numbered(removes, number as usize), word);
    let what = format!("what tenant {} was wrapped in", number + 1);
    Change::Command { own: stop.contains(word), stop, what, check: None }
}

fn ended(tenants: &mut [(Server, TenantGroup)]) -> u32 {
    tenants.iter_mut().filter_map(|(server, _)| server.has_ended().then_some(())).count() as u32
}

impl Backend for Processes {
    fn count(&self) -> u32 {
        self.tenants.len() as u32
    }

    fn grow(&mut self, count: u32, spec: &mut LoadSpec<'_>, system: &mut System) -> Result<Option<Outcome>, Refusal> {
        let from = self.tenants.len();
        for number in self.count()..count {
            self.start(number, spec.stop, system)?;
            let counted = self.counted();
            let pulse = Pulse { load: None, ended: self.ended(), counted: counted.as_ref() };
            if !(spec.watcher)(&pulse) {
                break;
            }
        }
        if self.tenants.len() == from { Ok(None) } else { self.call(from, spec, None).map(Some) }
    }

    fn load(&mut self, spec: &mut LoadSpec<'_>, phase: Phase) -> Result<Outcome, Refusal> {
        self.call(0, spec, Some(phase))
    }

    fn clear(&mut self, system: &mut System) -> Result<(), Refusal> {
        self.remove().and(system.stop_commanded())
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
        // A removal that fails is still in the journal.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::backend::adapter::podman;

    #[test]
    fn only_a_command_with_the_word_of_the_run_is_known_to_be_about_its_own() {
        let own = |removes: &str| match removal(removes, 2, "7-0a1b2c3d") {
            Change::Command { stop, own, .. } => (stop, own),
            other => panic!("{other}"),
        };
        let (words, removes) = podman("image");
        assert_eq!(own(&removes), ("podman rm --force --ignore tiermark-7-0a1b2c3d-3".to_owned(), true));
        assert!(words.contains(&"--name=tiermark-{RUN}-{N}".to_owned()), "{words:?}");
        // From a saved run of a version that wrote its word into it, or by hand.
        assert_eq!(own("podman rm tiermark-00112233-{N}"), ("podman rm tiermark-00112233-3".to_owned(), false));
    }

    #[test]
    fn what_is_missing_is_told_all_at_once_and_before_a_tenant_is_started() {
        let places = |server: &str, wrapper: &[&str], first_port: Option<u16>| ServerLaunch {
            server: server.to_owned(),
            wrapper: wrapper.iter().map(|word| (*word).to_owned()).collect(),
            first_port,
            ..ServerLaunch::default()
        };
        assert_eq!(places("sh", &[], None).check(), []);
        // A program inside a container cannot be checked from here.
        assert_eq!(places("no-such-server", &["env", "A=1"], None).check(), []);
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = places("no-such-server", &[], Some(taken.local_addr().unwrap().port())).check();
        assert_eq!(all.len(), 2, "{all:?}");
        assert_eq!([&all[0].code, &all[1].code], ["server_missing", "port_taken"]);
        // A file that is no program, and words that are none.
        assert!(places("/etc/passwd", &[], None).check()[0].code == messages::codes::server_missing);
        assert!(places("sh", &["no-such-words"], None).check()[0].code == messages::codes::wrapper_missing);
    }
}
