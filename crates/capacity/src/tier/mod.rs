//! The memory behind DRAM, set up for a search and taken back after it.
//!
//! Each kind of tier is a file. Nothing that existed before is changed: devices that hold data, existing files, swap
//! areas in use and other zram devices are refused or not touched.

mod areas;
mod demotion;
mod device;
mod file;
mod node;
mod stripe;
mod zram;
mod zswap;

use tiermark_machine::Root;
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Bytes, Note, Refusal, Warning};
use tiermark_undo::{KnobChange, Syntax, apply};

use crate::evidence::Pools;
use crate::scenario::Tier;
use crate::system::{System, leave_floor, swap_tools};
pub(crate) use areas::used_elsewhere;
pub use node::Nodes;

/// A tier that is set up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActiveTier {
    /// Block devices that hold it (`zram1`, `nvme0n1`), for evidence; those of the first part of a mix.
    pub devices: Vec<String>,
    /// Paths of the swap areas that were made.
    pub areas: Vec<String>,
    /// Bytes of tenants that it takes.
    pub room: u64,
    /// Compressed memory, which is of the DRAM that there is.
    pub pools: Pools,
    /// Nodes of tenants, where one of them is the tier.
    pub nodes: Option<Nodes>,
    /// What a reader of the result should know.
    pub warnings: Vec<Warning>,
}

impl ActiveTier {
    /// Whether tenants may be swapped out.
    pub fn swaps(&self) -> bool {
        !self.areas.is_empty()
    }

    /// Whether pages of all tenants are moved to the node of the tier, and not whole tenants.
    pub fn demotes(&self) -> bool {
        self.nodes.as_ref().is_some_and(|nodes| nodes.demotes)
    }

    /// Bytes of memory that tenants may hold, given their DRAM: on a node of the tier, too.
    pub fn memory(&self, dram: u64) -> u64 {
        dram.saturating_add(self.nodes.as_ref().map_or(0, |nodes| nodes.room))
    }

    fn with(mut self, other: Self) -> Self {
        if self.devices.is_empty() {
            self.devices = other.devices;
        }
        self.areas.extend(other.areas);
        self.room = self.room.saturating_add(other.room);
        self.pools = self.pools.with(other.pools);
        self.nodes = self.nodes.or(other.nodes);
        self.warnings.extend(other.warnings);
        self
    }
}

/// The sizes that a tier is to have, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierSizes {
    /// Size of areas that have none of their own.
    pub size: u64,
    /// DRAM that tenants have.
    pub dram: u64,
    /// Memory of the machine that stays free.
    pub floor: u64,
}

impl TierSizes {
    /// Bytes that DRAM and compressed memory may take together for a moment, before tenants have less for it.
    fn most_compressed(&self) -> u64 {
        self.dram.saturating_add(self.size.min(self.dram))
    }
}

/// Whether a tier can be set up on a machine, found before anything of it is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preflight {
    /// Why the tier cannot be set up; empty if it can.
    pub refused: Vec<Refusal>,
    /// What can only be checked once the tier is set up.
    pub unchecked: Vec<Note>,
    /// Bytes of tenants that it would take; `None` where that is not known, or there is no tier.
    pub room: Option<u64>,
}

impl Preflight {
    /// Takes what was found for, or why it is not so.
    fn hold<T>(&mut self, found: Result<T, Refusal>) -> Option<T> {
        found.map_err(|refusal| self.refused.push(refusal)).ok()
    }

    /// Nothing where it can be had, else the first reason why not.
    fn sure(self) -> Result<(), Refusal> {
        self.refused.into_iter().next().map_or(Ok(()), Err)
    }

    fn with(mut self, other: Self) -> Self {
        self.refused.extend(other.refused);
        self.unchecked.extend(other.unchecked);
        self.room = match (self.room, other.room) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self
    }
}

/// Looks whether a tier can be had, by the same looks with which [`activate`] begins. Nothing is changed.
pub fn check(tier: &Tier, wanted: &TierSizes, root: &Root) -> Preflight {
    let mut found =
        tier.parts().iter().map(|part| preflight(part, wanted, root)).fold(Preflight::default(), Preflight::with);
    if tier.parts().iter().any(Tier::makes_area) {
        found.refused.extend(swap_tools());
        found.refused.extend(areas::priorities(tier.parts(), root).err());
    } else if tier.parts().contains(&Tier::Zswap)
        && let Some(behind) = found.hold(zswap::behind(root))
    {
        found.room = Some(behind.room);
    }
    found
}

/// Looks at one part of a tier.
fn preflight(part: &Tier, wanted: &TierSizes, root: &Root) -> Preflight {
    let mut found = Preflight::default();
    let room = match part {
        Tier::Dram | Tier::Mix(_) => None,
        Tier::Zram(algorithm) => return zram::preflight(algorithm.as_deref(), wanted, root),
        Tier::Zswap => return zswap::preflight(wanted, root),
        Tier::Swap(paths) => return stripe::preflight(paths, wanted, root),
        Tier::Demotion(id) => found.hold(demotion::preflight(*id, wanted, root)).map(|active| active.room),
        Tier::Node(id) => found.hold(node::preflight(part, *id, wanted, root)).map(|active| active.room),
    };
    Preflight { room, ..found }
}

/// Sets up a tier. Where it fails, what was made is noted, and
/// [`System::restore`] takes it back.
///
/// # Errors
/// A [`Refusal`]: the kernel or the machine does not have the tier, it is in use, or this process may not change it.
pub fn activate(tier: &Tier, wanted: &TierSizes, system: &mut System) -> Result<ActiveTier, Refusal> {
    let parts = tier.parts();
    let mut active = ActiveTier::default();
    let priorities = areas::priorities(parts, system.root())?;
    for (part, priority) in parts.iter().zip(priorities) {
        active = active.with(part_of(part, wanted, priority, system)?);
    }
    if parts.contains(&Tier::Zswap) && active.areas.is_empty() {
        active = active.with(zswap::behind(system.root())?);
    }
    if active.swaps() && !parts.contains(&Tier::Zswap) {
        // Pages would else stop in compressed memory on their way, and another tier be measured.
        if switch(zswap::NAME, zswap::ENABLED, false, system)? == Some(true) {
            active.warnings.push(messages::zswap_off());
        }
    }
    active.warnings.extend(areas::others(system.root(), &active));
    Ok(active)
}

/// Refuses compressed memory where its pool could use up the machine's. Of the budget it is all the same, but how far
/// values compress is known only when it is there, and it may grow for a second before the next look at it.
fn leave_floor_for_pool(kind: &str, wanted: &TierSizes, root: &Root) -> Result<(), Refusal> {
    leave_floor(root, wanted.most_compressed(), wanted.floor, |available, limit| {
        messages::pool_memory_short(kind, Bytes(wanted.dram), available, limit, Bytes(wanted.floor))
    })
}

/// State of a switch of the kernel; `None` where the kernel does not have the switch.
fn switched(path: &str, root: &Root) -> Option<String> {
    let text = root.text(path)?;
    Syntax::Switch.parse(&text).map(|reading| reading.value)
}

/// Turns a switch of the kernel on or off; returns whether it had to be changed, `None` where the kernel does not have
/// the switch.
fn switch(name: &str, path: &str, on: bool, system: &mut System) -> Result<Option<bool>, Refusal> {
    let Some(old) = switched(path, system.root()) else { return Ok(None) };
    let new = if on { "1" } else { "0" };
    let turned = !Syntax::Switch.same(&old, new);
    if turned {
        let (name, path) = (name.to_owned(), path.to_owned());
        let change = KnobChange { name, path, syntax: Syntax::Switch, old, new: new.to_owned() };
        let (writer, journal) = system.writer()?;
        if let Some(refusal) = apply(&[change], writer, journal)?.refused {
            return Err(refusal);
        }
    }
    Ok(Some(turned))
}

fn part_of(tier: &Tier, wanted: &TierSizes, priority: u16, system: &mut System) -> Result<ActiveTier, Refusal> {
    match tier {
        Tier::Dram | Tier::Mix(_) => Ok(ActiveTier::default()),
        Tier::Zram(algorithm) => zram::activate(algorithm.as_deref(), wanted, priority, system),
        Tier::Swap(paths) => stripe::activate(paths, wanted, priority, system),
        Tier::Zswap => zswap::activate(wanted, system),
        Tier::Demotion(id) => demotion::activate(*id, wanted, system),
        Tier::Node(id) => node::preflight(tier, *id, wanted, system.root()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_memory_may_grow_before_it_is_looked_at() {
        let root = Root::from_files("test", [("proc/meminfo", "MemAvailable:    1000 kB\n")]);
        let asked = |size: u64, dram: u64| {
            leave_floor_for_pool("zram", &TierSizes { size: size << 10, dram: dram << 10, floor: 200 << 10 }, &root)
        };
        assert_eq!((asked(4000, 400), asked(100, 700)), (Ok(()), Ok(())));
        let refused = asked(4000, 401).unwrap_err();
        assert_eq!((&refused.data["dram"], &refused.data["floor"]), (&(401 << 10).into(), &(200 << 10).into()));
    }
}
