//! Servers that run already, on this machine or others, whoever started them.

use tiermark_load::{Outcome, Phase, Target, Watch, fill, run};
use tiermark_model::Refusal;

use super::{Asking, Backend, Counted, Pulse, Watcher};
use crate::system::System;

/// Tenants at addresses that are given: the first of them are used, filled once each, and left as they are.
#[derive(Debug)]
pub struct External {
    targets: Vec<Target>,
    /// How many are in use.
    used: usize,
    /// How many are filled: what was written stays there.
    filled: usize,
}

impl External {
    /// Tenants at these addresses, in this order.
    #[must_use]
    pub fn new(targets: Vec<Target>) -> Self {
        Self { targets, used: 0, filled: 0 }
    }
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
        self.used = self.used.max(wanted);
        let new = self.filled..wanted;
        if new.is_empty() {
            return Ok(None);
        }
        let mut told = |load: &_| watcher(&Pulse { load: Some(load), ended: 0, counted: None });
        let mut watch = Watch { stop: asking.stop, each_second: &mut told };
        let outcome = fill(&self.targets[new], asking.workload, asking.client, &mut watch)?;
        if !outcome.stopped {
            self.filled = wanted;
        }
        Ok(Some(outcome))
    }

    fn ask(&mut self, asking: &Asking<'_>, phase: Phase, watcher: Watcher<'_>) -> Result<Outcome, Refusal> {
        let mut told = |load: &_| watcher(&Pulse { load: Some(load), ended: 0, counted: None });
        let mut watch = Watch { stop: asking.stop, each_second: &mut told };
        run(&self.targets[..self.used], asking.workload, phase, asking.client, &mut watch)
    }

    fn clear(&mut self) -> Result<(), Refusal> {
        self.used = 0;
        Ok(())
    }

    fn ended(&mut self) -> u32 {
        0
    }

    fn counted(&self) -> Option<Counted> {
        None
    }
}
