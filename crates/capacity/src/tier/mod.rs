//! The memory behind DRAM, set up for a search and taken back after it.
//!
//! What a tier is made of is a file each. Nothing is touched that was there before: devices with anything on them, files, swap areas
//! in use and zram devices of others are refused or left alone.

mod device;
mod file;
mod node;
mod zram;
mod zswap;

use tiermark_model::Refusal;

use crate::scenario::Tier;
use crate::system::System;

/// Priority of the first swap area made here: the highest there is, so that areas of others are filled last. Each further one of a
/// mix has one less.
const PRIORITY: u16 = 32_767;

/// A tier that is set up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Raised {
    /// Block device that holds it (`zram1`, `nvme0n1`), for evidence; the first of a mix.
    pub device: Option<String>,
    /// Paths of the swap areas that were made.
    pub areas: Vec<String>,
    /// Bytes of tenants that it takes.
    pub room: u64,
    /// The node that takes tenants for which DRAM has no room.
    pub node: Option<u32>,
    /// What a reader of the result should know.
    pub remarks: Vec<String>,
}

impl Raised {
    /// Whether tenants may be swapped out.
    #[must_use]
    pub fn swaps(&self) -> bool {
        !self.areas.is_empty()
    }

    fn with(mut self, other: Self) -> Self {
        self.device = self.device.or(other.device);
        self.areas.extend(other.areas);
        self.room = self.room.saturating_add(other.room);
        self.node = self.node.or(other.node);
        self.remarks.extend(other.remarks);
        self
    }
}

/// Sets up a tier. `size` is the room of areas that have no size of their own, in bytes. Where it fails, what was made is noted, and
/// [`System::restore`] takes it back.
///
/// # Errors
/// A [`Refusal`]: the kernel or the machine does not have it, it is somebody else's, or this process may not.
pub fn raise(tier: &Tier, size: u64, system: &mut System) -> Result<Raised, Refusal> {
    let parts = match tier {
        Tier::Mix(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut raised = Raised::default();
    for (part, priority) in parts.iter().zip((0..PRIORITY).rev()) {
        raised = raised.with(part_of(part, size, priority, system)?);
    }
    if parts.contains(&Tier::Zswap) && raised.areas.is_empty() {
        raised = raised.with(zswap::behind(system.root())?);
    }
    raised.remarks.extend(others(system, &raised));
    Ok(raised)
}

fn part_of(tier: &Tier, size: u64, priority: u16, system: &mut System) -> Result<Raised, Refusal> {
    match tier {
        Tier::Dram | Tier::Mix(_) => Ok(Raised::default()),
        Tier::Zram(algorithm) => zram::raise(algorithm.as_deref(), size, priority, system),
        Tier::Swap(path) if device::is(path) => device::raise(path, priority, system),
        Tier::Swap(path) => file::raise(path, size, priority, system),
        Tier::Zswap => zswap::raise(system),
        Tier::Node(id) => node::raise(*id, system.root()),
    }
}

/// Swap areas of others: when those of this tier are full, tenants go there.
fn others(system: &System, raised: &Raised) -> Option<String> {
    if !raised.swaps() {
        return None;
    }
    let text = system.root().read("proc/swaps").ok().flatten().unwrap_or_default();
    let names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let others: Vec<&str> = names.filter(|name| !raised.areas.iter().any(|area| area == name)).collect();
    (!others.is_empty()).then(|| {
        let others = others.join(", ");
        format!("this system swaps to {others} as well, which is not of this tier: a tenant may go there once the tier is full")
    })
}
