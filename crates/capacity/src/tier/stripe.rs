//! The swap areas of one part of a tier: a device or a file, or several of the same priority, which the kernel fills in
//! turn.

use std::fs;

use tiermark_machine::Root;
use tiermark_model::Refusal;
use tiermark_model::messages::tiers as messages;

use super::{ActiveTier, Preflight, TierSizes, device, file};
use crate::system::System;

/// Swap areas begin and end at pages, which have 64 KiB at most.
const ALIGN: u64 = 64 << 10;

/// Size of each file of so many areas: together they have the size of the tier.
fn share(size: u64, areas: usize) -> u64 {
    if areas > 1 { size / areas as u64 / ALIGN * ALIGN } else { size }
}

/// Looks at each area, and whether they are different ones.
pub(super) fn preflight(paths: &[String], wanted: &TierSizes, root: &Root) -> Preflight {
    let size = share(wanted.size, paths.len());
    let mut found = Preflight::default();
    found.hold(distinct(paths));
    for path in paths {
        let room = match device::is(path) {
            true => found.hold(device::preflight(path, root)).map(|device| device.room),
            // The name of the file is drawn when it is made.
            false => found.hold(file::preflight(path, size, "0")).map(|_| size),
        };
        found = found.with(Preflight { room, ..Preflight::default() });
    }
    found
}

/// Makes one area after the other, each noted before it is made.
pub(super) fn activate(
    paths: &[String],
    wanted: &TierSizes,
    priority: u16,
    system: &mut System,
) -> Result<ActiveTier, Refusal> {
    distinct(paths)?;
    let size = share(wanted.size, paths.len());
    let mut active = ActiveTier::default();
    for path in paths {
        let area = match device::is(path) {
            true => device::activate(path, priority, system)?,
            false => file::activate(path, size, priority, system)?,
        };
        let new = |device: &String| !active.devices.contains(device);
        let devices: Vec<String> = area.devices.iter().filter(|device| new(device)).cloned().collect();
        active.devices.extend(devices);
        active.areas.extend(area.areas);
        active.room = active.room.saturating_add(area.room);
    }
    Ok(active)
}

/// Whether no area has two names.
fn distinct(paths: &[String]) -> Result<(), Refusal> {
    let real: Vec<_> = paths.iter().map(|path| fs::canonicalize(path).ok()).collect();
    let same = |at: usize| (0..at).find(|before| real[at].is_some() && real[at] == real[*before]);
    match (0..paths.len()).find_map(|at| Some((at, same(at)?))) {
        Some((at, before)) => Err(messages::same_swap_area(&paths[before], &paths[at])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_tier_share_its_size_and_are_different() {
        assert_eq!((share(1000, 1), share(96 << 20, 2), share((1 << 20) + 1, 3)), (1000, 48 << 20, 320 << 10));
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        fs::create_dir(at("a")).unwrap();
        fs::create_dir(at("b")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("c")).unwrap();
        let refused = |names: &[&str]| distinct(&names.iter().map(|name| at(name)).collect::<Vec<_>>()).err();
        assert_eq!((refused(&["a", "b"]), refused(&["x", "y"])), (None, None));
        let same = refused(&["b", "a", "c"]).unwrap();
        assert_eq!((same.code.as_str(), same.text("path")), ("same_swap_area", Some(at("c").as_str())));
    }

    #[test]
    fn each_area_is_looked_at() {
        let wanted = TierSizes { size: 1 << 20, dram: 0, floor: 0 };
        let found = preflight(&["/nonexistent/a".into(), "/nonexistent/b".into()], &wanted, &Root::live());
        let paths: Vec<_> = found.refused.iter().filter_map(|refusal| refusal.text("path")).collect();
        assert_eq!(paths, ["/nonexistent/a", "/nonexistent/b"]);
    }
}
