//! Compressed memory in front of swap.

use tiermark_machine::Root;
use tiermark_model::Refusal;
use tiermark_model::messages::tiers as messages;

use super::{ActiveTier, Preflight, TierSizes, leave_floor_for_pool, switch, switched};
use crate::evidence::{Host, Pools};
use crate::system::System;

pub(super) const NAME: &str = "zswap/enabled";
pub(super) const ENABLED: &str = "sys/module/zswap/parameters/enabled";

/// Whether the kernel has it, and memory for its pool.
pub(super) fn preflight(wanted: &TierSizes, root: &Root) -> Preflight {
    let mut found = Preflight::default();
    found.hold(leave_floor_for_pool("zswap", wanted, root));
    if switched(ENABLED, root).is_none() {
        found.refused.push(messages::zswap_missing());
    } else if Host::read(root, &[]).ok().and_then(|host| host.zswap).is_none() {
        found.refused.push(messages::zswap_not_counted());
    }
    found
}

/// Turns it on, where it is not.
pub(super) fn activate(wanted: &TierSizes, system: &mut System) -> Result<ActiveTier, Refusal> {
    preflight(wanted, system.root()).sure()?;
    switch(NAME, ENABLED, true, system)?;
    let zswap = Host::read(system.root(), &[]).ok().and_then(|host| host.zswap);
    let pools = Pools { zswap: Some(zswap.map_or(0, |zswap| zswap.memory)), ..Pools::default() };
    Ok(ActiveTier { pools, ..ActiveTier::default() })
}

/// The swap of the system, where a tier has none of its own.
pub(super) fn behind(root: &Root) -> Result<ActiveTier, Refusal> {
    let host = Host::read(root, &[]).map_err(|why| messages::swap_unreadable(&why.to_string()))?;
    let areas = host.swaps.unwrap_or_default();
    if areas.is_empty() {
        return Err(messages::zswap_alone());
    }
    let room = areas.iter().map(|area| area.bytes.saturating_sub(area.used_bytes)).sum();
    let names = areas.into_iter().map(|area| area.path).collect();
    Ok(ActiveTier { areas: names, room, ..ActiveTier::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_whose_size_nobody_tells_is_refused() {
        let sizes = TierSizes { size: 0, dram: 1 << 10, floor: 0 };
        let found = |more: &str| {
            let meminfo = format!("MemAvailable: 1000 kB\n{more}");
            let files = [(ENABLED, "N\n"), ("proc/meminfo", meminfo.as_str())];
            preflight(&sizes, &Root::from_files("test", files)).refused
        };
        assert_eq!(found("Zswap: 0 kB\nZswapped: 0 kB\n"), []);
        let [refused] = &found("")[..] else { panic!("one reason") };
        assert_eq!(refused.code, messages::codes::zswap_not_counted);
    }

    #[test]
    fn it_stands_before_the_system_s_swap() {
        let swaps = "Filename Type Size Used Priority\n/dev/vdb partition 1000 200 -2\n";
        let found = behind(&Root::from_files("test", [("proc/swaps", swaps)])).unwrap();
        assert_eq!((found.room, found.swaps()), (800 << 10, true));
        let none = behind(&Root::from_files("test", [("proc/swaps", "Filename Type\n")])).unwrap_err();
        assert_eq!(none.code, messages::codes::zswap_alone);
    }
}
