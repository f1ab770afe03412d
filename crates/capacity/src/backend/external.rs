//! Servers that run elsewhere, on this machine or others: they run already, or a command starts each (`ssh`, `virsh`, `kubectl`).

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tiermark_load::{Client, Outcome, Phase, Target, Watch, fill, run};
use tiermark_model::Refusal;
use tiermark_tune::bounded;

use super::{Asking, Backend, Counted, Pulse, Watcher};
use crate::system::System;

/// What stands in a command for a tenant's number, from 1.
const NUMBER: &str = "{n}";
/// Booting a machine of its own takes minutes; a command that takes longer hangs.
const COMMAND_MOST: Duration = Duration::from_secs(600);
/// From the end of the command until its server answers.
const READY: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(100);
/// One answer of a server that has just started.
const ANSWER: Duration = Duration::from_secs(5);

/// Commands that start and stop a tenant, of which `{n}` is its number, from 1; a shell runs them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commands {
    /// Starts one; returns once it starts.
    pub start: Option<String>,
    /// Stops one, and what it holds is gone.
    pub stop: Option<String>,
}

/// Tenants at addresses that are given: the first of them are used, and filled. Those that no command stops are filled once, and left
/// as they are.
#[derive(Debug)]
pub struct External {
    targets: Vec<Target>,
    commands: Commands,
    /// How many are in use.
    used: usize,
    /// How many are filled: what was written to those that are not stopped stays there.
    filled: usize,
}

impl External {
    /// Tenants at these addresses, in this order.
    #[must_use]
    pub fn new(targets: Vec<Target>, commands: Commands) -> Self {
        Self { targets, commands, used: 0, filled: 0 }
    }

    fn start(&self, at: usize) -> Result<(), Refusal> {
        let Some(start) = &self.commands.start else { return Ok(()) };
        carry_out(start, at)?;
        let begun = Instant::now();
        loop {
            match Client::connect(&self.targets[at], ANSWER) {
                Ok(_) => return Ok(()),
                Err(_) if begun.elapsed() < READY => thread::sleep(LOOK),
                Err(refusal) => return Err(refusal),
            }
        }
    }
}

/// Runs a command for a tenant.
fn carry_out(text: &str, at: usize) -> Result<(), Refusal> {
    let text = text.replace(NUMBER, &(at + 1).to_string());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &text]);
    bounded(command, COMMAND_MOST)
        .map_err(|why| Refusal::new(format!("the command '{text}'"), why, "run it by hand to see what is wrong"))
}

impl Backend for External {
    fn count(&self) -> u32 {
        self.used as u32
    }

    fn grow(
        &mut self,
        count: u32,
        asking: &Asking<'_>,
        _system: &mut System,
        watcher: Watcher<'_>,
    ) -> Result<Option<Outcome>, Refusal> {
        let wanted = count as usize;
        if wanted > self.targets.len() {
            return Err(Refusal::new(
                format!("{wanted} tenants"),
                format!("{} addresses were given", self.targets.len()),
                "give more targets, or a smaller --most-tenants",
            ));
        }
        while self.used < wanted && watcher(&Pulse { load: None, ended: 0, counted: None }) {
            // Counted before it is started: one whose server never answers is stopped too.
            self.used += 1;
            self.start(self.used - 1)?;
        }
        let new = self.filled..self.used;
        if new.is_empty() {
            return Ok(None);
        }
        let mut told = |load: &_| watcher(&Pulse { load: Some(load), ended: 0, counted: None });
        let mut watch = Watch { stop: asking.stop, each_second: &mut told };
        let outcome = fill(&self.targets[new], asking.workload, asking.client, &mut watch)?;
        if !outcome.stopped {
            self.filled = self.used;
        }
        Ok(Some(outcome))
    }

    fn ask(&mut self, asking: &Asking<'_>, phase: Phase, watcher: Watcher<'_>) -> Result<Outcome, Refusal> {
        let mut told = |load: &_| watcher(&Pulse { load: Some(load), ended: 0, counted: None });
        let mut watch = Watch { stop: asking.stop, each_second: &mut told };
        run(&self.targets[..self.used], asking.workload, phase, asking.client, &mut watch)
    }

    fn clear(&mut self) -> Result<(), Refusal> {
        let used = std::mem::take(&mut self.used);
        let Some(stop) = &self.commands.stop else { return Ok(()) };
        self.filled = 0;
        // Every one is stopped, whatever becomes of the others.
        (0..used).map(|at| carry_out(stop, at)).fold(Ok(()), Result::and)
    }

    fn ended(&mut self) -> u32 {
        0
    }

    fn counted(&self) -> Option<Counted> {
        None
    }
}

impl Drop for External {
    fn drop(&mut self) {
        // Where that fails there is nobody left to tell.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_run_for_each_tenant_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        let stop = Some(format!("echo stopped {{n}} >> {}", file.display()));
        let mut external = External::new(Vec::new(), Commands { start: None, stop });
        external.used = 2;
        external.clear().unwrap();
        drop(external);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "stopped 1\nstopped 2\n");
        let refused = carry_out("echo no {n} >&2; exit 1", 4).unwrap_err();
        assert!(refused.what.contains("echo no 5") && refused.why.contains("no 5"), "{refused}");
    }
}
