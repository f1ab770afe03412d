//! The swap areas of a tier among those that a system has already: pages go to the highest priority, and in turn to all that have it.

use tiermark_machine::{Root, swap_areas, swap_names};
use tiermark_model::{Refusal, Swap};

use super::Raised;
use crate::evidence::SwapArea;

/// Priority of a first area where others have lower ones: half of what there is, so that there is a higher one left beside the remains of a
/// run that nobody took back.
const USUAL: i32 = 16_384;
/// The highest that the kernel takes (`SWAP_FLAG_PRIO_MASK`).
const HIGHEST: i32 = 32_767;

/// Priorities for so many areas, the one that is filled first at the head: above those of all areas that are there.
///
/// # Errors
/// A [`Refusal`] that names the area which leaves no higher one.
pub(super) fn priorities(many: usize, root: &Root) -> Result<Vec<u16>, Refusal> {
    let text = root.read("proc/swaps").ok().flatten().unwrap_or_default();
    let highest = swap_areas(&text).filter_map(Result::ok).max_by_key(|area| area.priority);
    let taken = highest.as_ref().map_or(-1, |area| area.priority).max(-1);
    let top = i32::try_from(many).ok().and_then(|many| taken.checked_add(many)).map_or(i32::MAX, |top| top.max(USUAL));
    match highest {
        Some(area) if top > HIGHEST => Err(no_higher(&area)),
        _ => Ok((0..=top).rev().take(many).filter_map(|priority| u16::try_from(priority).ok()).collect()),
    }
}

fn no_higher(area: &Swap) -> Refusal {
    Refusal::new(
        format!("swap areas above {}, which has priority {}", area.path, area.priority),
        "areas of one priority are filled in turn, and tenants would be on both",
        format!("swapoff {0}, or swapoff it and turn it on again with a lower one: swapon -p 0 {0}", area.path),
    )
}

/// Bytes in use of areas that are not of a tier.
pub(crate) fn used_elsewhere(areas: &[SwapArea], raised: &Raised) -> u64 {
    let others = areas.iter().filter(|area| !raised.areas.contains(&area.path));
    others.fold(0, |sum, area| sum.saturating_add(area.used))
}

/// Areas that are not of this tier: when its own are full, tenants go there.
pub(super) fn remark(root: &Root, raised: &Raised) -> Option<String> {
    if !raised.swaps() {
        return None;
    }
    let text = root.read("proc/swaps").ok().flatten().unwrap_or_default();
    let others: Vec<String> = swap_names(&text).filter(|name| !raised.areas.contains(name)).collect();
    (!others.is_empty()).then(|| {
        let others = others.join(", ");
        format!("this system swaps to {others} as well, which is not of this tier: a tenant may go there once the tier is full")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Filename Type Size Used Priority\n";

    fn with(areas: &str) -> Root {
        Root::from_files("test", [("proc/swaps", format!("{HEAD}{areas}").as_str())])
    }

    #[test]
    fn areas_of_a_tier_are_filled_before_all_others() {
        let of = |many: usize, areas: &str| priorities(many, &with(areas)).unwrap();
        assert_eq!(of(1, ""), [16_384]);
        assert_eq!(of(2, "/dev/sdb2 partition 8 0 -2\n"), [16_384, 16_383]);
        assert_eq!(of(2, "/dev/sdb2 partition 8 0 16383\n/dev/sdb3 partition 8 0 5\n"), [16_385, 16_384]);
        assert_eq!(of(1, "/dev/zram0 partition 8 0 32766\n"), [32_767]);
        assert_eq!(priorities(1, &Root::from_files("test", [("proc/stat", "")])), Ok(vec![16_384]), "no such file");
        let refused = priorities(2, &with("/dev/sdb2 partition 8 0 7\n/dev/zram0 partition 8 0 32766\n")).unwrap_err();
        assert!(refused.what.contains("/dev/zram0, which has priority 32766"), "{refused}");
        assert!(priorities(1, &with("/dev/zram0 partition 8 0 32767\n")).is_err());
    }

    #[test]
    fn what_is_of_a_tier_is_not_elsewhere() {
        let area = |path: &str, used: u64| SwapArea { path: path.to_owned(), size: 100, used, priority: 5 };
        let raised = Raised { areas: vec!["/dev/zram1".to_owned()], ..Raised::default() };
        assert_eq!(used_elsewhere(&[area("/dev/zram1", 50), area("/dev/zram0", 30), area("/swap", 4)], &raised), 34);
        let root = with("/dev/zram1 partition 8 0 7\n/dev/zram0 partition 8 0 5\n");
        assert!(remark(&root, &raised).unwrap().contains("swaps to /dev/zram0 as well"));
        assert_eq!(remark(&root, &Raised::default()), None, "of a tier that swaps nothing");
    }
}
