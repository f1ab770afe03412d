//! What a tier is to a machine, whatever its size: so that different machines can be compared.

use std::collections::BTreeSet;

use tiermark_model::{Cache, Labels, Machine, Step, Tier};

/// Cores and sockets that a step used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) cores: usize,
    pub(crate) sockets: usize,
}

/// The cores and sockets whose cpus work in a step.
pub(crate) fn used(step: &Step, machine: &Machine) -> Used {
    let cpus: BTreeSet<u32> = step.setup.threads.iter().map(|thread| thread.cpu).collect();
    let known = || machine.cpus.iter().filter(|cpu| cpus.contains(&cpu.id));
    let cores: BTreeSet<u32> = known().map(|cpu| cpu.core).collect();
    let sockets: BTreeSet<u32> = known().map(|cpu| cpu.socket).collect();
    Used { cores: cores.len(), sockets: sockets.len() }
}

/// Whether a step works in caches of which each core has its own: they give a core the same, whatever the number of
/// cores.
pub(crate) fn is_of_private_caches(labels: &Labels, machine: &Machine) -> bool {
    let level: Option<u8> = labels.tier().and_then(Tier::level);
    let mut alike = machine.data_caches().filter(|cache| Some(cache.level) == level).peekable();
    let is_private = |cache: &Cache| machine.one_per_core(&cache.cpus).len() <= 1;
    alike.peek().is_some() && alike.all(is_private)
}

/// The role of a tier: a cache by its level, local memory, that of another node, or that of a node without cpus (`far`,
/// `HBM`, `faster`); `None` of what has no tier.
pub(crate) fn role(labels: &Labels) -> Option<&str> {
    match labels.tier() {
        Some(Tier::Far(_)) => Some("far"),
        Some(Tier::Hbm(_)) => Some("HBM"),
        Some(Tier::Faster(_)) => Some("faster"),
        Some(Tier::OtherNode(_)) => Some("remote"),
        _ => labels.tier_name(),
    }
}
