//! Servers that run elsewhere, on this machine or others: they run already, or a command starts each (`ssh`, `virsh`,
//! `kubectl`).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tiermark_load::{Address, Answer, Client, Outcome, Phase, Target, Watch, fill, run};
use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;
use tiermark_undo::{COMMAND_MOST, Change, bounded_until, output_tail_until, shell};

use super::adapter::{RUN, named, numbered, shown_address};
use super::{Backend, Counted, LoadSpec, Pulse};
use crate::system::System;

/// From the end of the command until its server answers.
const READY: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(100);
/// Servers that are checked at the same time before a run: each server that does not answer takes a whole timeout.
const TOGETHER: usize = 32;
/// One answer of a server that has just started.
const ANSWER: Duration = Duration::from_secs(5);

/// Commands that start and stop a tenant, of which `{N}` is its number, from 1; a shell runs them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Commands {
    /// Command that fails where a tenant may not be started, because another user's already runs.
    pub check: Option<String>,
    /// Starts one; returns once it starts. Where it fails, nothing was started.
    pub start: Option<String>,
    /// Command that stops one tenant, which deletes its data.
    pub stop: Option<String>,
    /// Command that shows the address of a tenant that was started, as `virsh domifaddr` does; `None` if addresses are
    /// known before.
    #[serde(default)]
    pub address: Option<String>,
}

/// Tenants at given addresses: the first of them are used, and filled. Servers without a stop command are filled once
/// and keep running.
#[derive(Debug)]
pub struct External {
    targets: Vec<Target>,
    commands: Commands,
    /// Servers in use: the first so many of the targets.
    used: usize,
    /// How many are filled: servers without a stop command keep their keys.
    filled: usize,
    /// How many servers may be overwritten: this run filled them, or the user allowed it (`--overwrite`).
    own: usize,
}

impl External {
    /// Tenants at these addresses, in this order. Those from `own` on are refused where they hold something.
    pub fn new(targets: Vec<Target>, commands: Commands, own: usize) -> Self {
        Self { targets, commands, used: 0, filled: 0, own }
    }

    /// What keeps the first tenants from being used: servers that run already and do not answer, or may not be written
    /// to. Of those that a command starts, nothing is known before. Nothing is written. Those that are not reached when
    /// it is to stop are refused as stopped.
    pub fn check(&self, most: usize, stop: &AtomicBool) -> Vec<Refusal> {
        if self.commands.start.is_some() {
            return self.commands.needs().into_iter().collect();
        }
        let numbers: Vec<usize> = (0..self.targets.len().min(most)).collect();
        let look = |at: usize| {
            let mut server = Client::connect(&self.targets[at], ANSWER, stop)?;
            self.writable(at, &mut server)
        };
        let mut refused = Vec::new();
        for some in numbers.chunks(TOGETHER) {
            thread::scope(|scope| {
                let looks: Vec<_> = some.iter().map(|at| scope.spawn(|| look(*at).err())).collect();
                refused.extend(looks.into_iter().filter_map(|look| look.join().ok().flatten()));
            });
        }
        refused
    }

    /// Whether a tenant's server may be written to: it is this run's, or holds nothing.
    fn writable(&self, at: usize, server: &mut Client<'_>) -> Result<(), Refusal> {
        if at < self.own { Ok(()) } else { empty(server, &self.targets[at]) }
    }

    fn start(&mut self, at: usize, stop: &AtomicBool, system: &mut System) -> Result<(), Refusal> {
        let word = system.word().to_owned();
        let named = |text: &String| named(&numbered(text, at), &word);
        if let Some(check) = &self.commands.check {
            carry_out(&named(check), stop)?;
        }
        if let Some(start) = &self.commands.start {
            let noted = self.commands.stop.as_ref().map(|stop| Change::Command {
                stop: named(stop),
                what: format!("tenant {}", at + 1),
                check: self.commands.check.as_ref().map(named),
                own: stop.contains(RUN),
            });
            system.note(noted.clone())?;
            let begun = Instant::now();
            let started = carry_out(&named(start), stop);
            // One that was not waited for may have started something; so may one whose name is this run's alone, of
            // which what is left can be stopped safely.
            let ended_by_itself = begun.elapsed() < COMMAND_MOST && !stop.load(Ordering::Relaxed);
            let ended_by_itself = ended_by_itself && !matches!(noted, Some(Change::Command { own: true, .. }));
            if let (Err(_), Some(change), true) = (&started, &noted, ended_by_itself) {
                system.withdraw(change);
            }
            started?;
        }
        if let Some(command) = &self.commands.address {
            let found = address(&named(command), stop)?;
            let Address::Tcp(host, _) = &mut self.targets[at].address else { return Ok(()) };
            *host = found.to_string();
        }
        let mut server = self.answering(at, stop)?;
        self.writable(at, &mut server)?;
        self.own = self.own.max(at + 1);
        Ok(())
    }

    /// A connection to a server; to one that a command has just started, as soon as it answers.
    fn answering<'a>(&self, at: usize, stop: &'a AtomicBool) -> Result<Client<'a>, Refusal> {
        let begun = Instant::now();
        loop {
            match Client::connect(&self.targets[at], ANSWER, stop) {
                Ok(client) => return Ok(client),
                Err(refusal) if self.commands.start.is_none() || begun.elapsed() >= READY => return Err(refusal),
                Err(refusal) if stop.load(Ordering::Relaxed) => return Err(refusal),
                Err(_) => thread::sleep(POLL),
            }
        }
    }
}

/// The address that a command shows once a machine has it.
fn address(command: &str, stop: &AtomicBool) -> Result<IpAddr, Refusal> {
    let begun = Instant::now();
    while begun.elapsed() < READY && !stop.load(Ordering::Relaxed) {
        let stops = || stop.load(Ordering::Relaxed);
        let text = output_tail_until(shell(command), COMMAND_MOST, &stops)
            .map_err(|why| messages::command_failed(command, &why.text))?;
        if let Some(address) = shown_address(&text) {
            return Ok(address);
        }
        thread::sleep(POLL);
    }
    Err(messages::no_guest_address(command, READY.as_secs()))
}

/// Runs a command for a tenant, until it is to stop.
fn carry_out(text: &str, stop: &AtomicBool) -> Result<(), Refusal> {
    bounded_until(shell(text), COMMAND_MOST, &|| stop.load(Ordering::Relaxed))
        .map_err(|why| messages::command_failed(text, &why.text))
}

/// Whether a server holds nothing, in any of its databases: what somebody keeps there would be pushed out, or mixed
/// with what is measured.
fn empty(server: &mut Client<'_>, target: &Target) -> Result<(), Refusal> {
    let address = target.address.to_string();
    match server.ask(&[b"INFO", b"keyspace"])? {
        Answer::Text(text) => {
            let text = String::from_utf8_lossy(&text).into_owned();
            // db0:keys=2000,expires=0,avg_ttl=0
            let held: Vec<&str> = text.lines().filter(|line| line.starts_with("db")).collect();
            if held.is_empty() { Ok(()) } else { Err(messages::server_not_empty(&address, &held.join("; "))) }
        }
        other => Err(messages::keyspace_unknown(&address, &format!("{other:?}"))),
    }
}

impl Backend for External {
    fn count(&self) -> u32 {
        self.used as u32
    }

    fn grow(&mut self, count: u32, spec: &mut LoadSpec<'_>, system: &mut System) -> Result<Option<Outcome>, Refusal> {
        let wanted = count as usize;
        if wanted > self.targets.len() {
            return Err(messages::too_few_servers(wanted, self.targets.len()));
        }
        while self.used < wanted && (spec.watcher)(&Pulse { load: None, ended: 0, counted: None }) {
            // Counted before it is started: one whose server never answers is taken away too.
            self.used += 1;
            self.start(self.used - 1, spec.stop, system)?;
        }
        let new = self.filled..self.used;
        if new.is_empty() {
            return Ok(None);
        }
        let watcher = &mut *spec.watcher;
        let mut report = |load: &_| watcher(&Pulse { load: Some(load), ended: 0, counted: None });
        let mut watch = Watch { stop: spec.stop, each_second: &mut report };
        let outcome = fill(&self.targets[new], spec.workload, spec.client, &mut watch)?;
        // A server that did not take all records is filled again.
        if !outcome.stopped && outcome.tenants.iter().all(|one| one.fault.is_none() && one.first_error.is_none()) {
            self.filled = self.used;
        }
        Ok(Some(outcome))
    }

    fn load(&mut self, spec: &mut LoadSpec<'_>, phase: Phase) -> Result<Outcome, Refusal> {
        let watcher = &mut *spec.watcher;
        let mut report = |load: &_| watcher(&Pulse { load: Some(load), ended: 0, counted: None });
        let mut watch = Watch { stop: spec.stop, each_second: &mut report };
        run(&self.targets[..self.used], spec.workload, phase, spec.client, &mut watch)
    }

    fn clear(&mut self, system: &mut System) -> Result<(), Refusal> {
        self.used = 0;
        if self.commands.stop.is_some() {
            self.filled = 0;
        }
        system.stop_commanded()
    }

    fn renews(&self) -> bool {
        self.commands.stop.is_some()
    }

    fn ended(&mut self) -> u32 {
        0
    }

    fn counted(&self) -> Option<Counted> {
        None
    }
}

#[cfg(test)]
mod tests {
    use tiermark_load::{ClientSetup, Workload};
    use tiermark_undo::StateDir;

    use super::*;

    /// Commands for two tenants whose servers never answer: the first is started, and stopped in the end whatever
    /// becomes of it.
    #[test]
    fn what_a_command_started_is_noted_and_stopped_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let command = |word: &str| Some(format!("echo {word} {{N}} >> {}", log.display()));
        let commands = Commands { check: None, start: command("start"), stop: command("stop"), address: None };
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let targets = vec![Target::new(nobody.parse().unwrap()); 2];
        let mut external = External::new(targets, commands, 0);
        let state = StateDir::at(dir.path().join("state"));
        let lock = state.hold("a test").unwrap();
        let mut system = System::begin(&state, &lock, "a test", "2026-11-21T00:00:00Z").unwrap();
        let stop = AtomicBool::new(true);
        let (workload, client) = (Workload::default(), ClientSetup::default());
        let mut spec =
            LoadSpec { workload: &workload, client: &client, stop: &stop, watcher: &mut |_: &Pulse<'_>| true };
        let read = || std::fs::read_to_string(&log).unwrap_or_default();
        // A stop that came before: the command is not waited for, and taken back all the same.
        external.grow(2, &mut spec, &mut system).unwrap_err();
        external.clear(&mut system).unwrap();
        assert!(read().ends_with("stop 1\n") && external.renews(), "{}", read());
        std::fs::write(&log, "").unwrap();
        // It is not stopped twice.
        system.restore().unwrap();
        assert_eq!(read(), "");
    }

    /// A server of another user that already runs is not stopped: neither where the check says so, nor where the start
    /// fails.
    #[test]
    fn what_was_not_started_here_is_not_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let (no, stop) =
            (Some("echo 'it is running' >&2; exit 1".to_owned()), Some(format!("echo stop >> {}", log.display())));
        let state = StateDir::at(dir.path().join("state"));
        let lock = state.hold("a test").unwrap();
        for (check, start) in [(no.clone(), Some("true".to_owned())), (None, no)] {
            let commands = Commands { check, start, stop: stop.clone(), address: None };
            let mut external = External::new(vec![Target::new("127.0.0.1:1".parse().unwrap())], commands, 0);
            let mut system = System::begin(&state, &lock, "a test", "2026-11-21T00:00:00Z").unwrap();
            let (flag, workload, client) = (AtomicBool::new(false), Workload::default(), ClientSetup::default());
            let mut spec =
                LoadSpec { workload: &workload, client: &client, stop: &flag, watcher: &mut |_: &Pulse<'_>| true };
            let refused = external.grow(1, &mut spec, &mut system).unwrap_err();
            assert!(refused.text("error").is_some_and(|error| error == "it is running"), "{refused}");
            external.clear(&mut system).unwrap();
            system.restore().unwrap();
            assert!(!log.exists());
        }
    }

    /// All of those that run already, and none that is not used.
    #[test]
    fn servers_that_do_not_answer_are_told_all_at_once() {
        let nobody = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let targets: Vec<Target> = (0..3).map(|_| Target::new(nobody().parse().unwrap())).collect();
        let goes_on = AtomicBool::new(false);
        let external = |commands: Commands| External::new(targets.clone(), commands, 0);
        let told = external(Commands::default()).check(2, &goes_on);
        assert_eq!(told.len(), 2, "{told:?}");
        let started = Commands { start: Some("true".to_owned()), ..Commands::default() };
        assert_eq!(external(started).check(2, &goes_on), []);
    }

    #[test]
    fn a_command_that_fails_says_why() {
        let refused = carry_out(&numbered("echo no {N} >&2; exit 1", 4), &AtomicBool::new(false)).unwrap_err();
        assert_eq!(refused.code, messages::codes::command_failed);
        assert!(refused.text("command").is_some_and(|command| command.starts_with("echo no 5")), "{refused}");
        assert!(refused.text("error").is_some_and(|error| error == "no 5"), "{refused}");
    }
}
