//! The swap areas of a tier among those that a system has already: pages go to the highest priority, and in turn to all
//! that have it.

use tiermark_machine::{Root, swap_areas, swap_names};
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Refusal, Swap, Warning};

use super::ActiveTier;
use crate::scenario::Tier;

/// Priority of the first area where the other areas have lower ones: half of the range, so that a higher one is free
/// even after a killed run whose area is still on.
const USUAL: i32 = 16_384;
/// The highest that the kernel takes (`SWAP_FLAG_PRIO_MASK`).
const HIGHEST: i32 = 32_767;

/// A priority for each part of a tier, above those of all areas that are there: the first part's is the highest, and a
/// part that makes no area has that of the next one.
///
/// # Errors
/// A [`Refusal`] that names the area which leaves no higher one.
pub(super) fn priorities(parts: &[Tier], root: &Root) -> Result<Vec<u16>, Refusal> {
    let areas = |parts: &[Tier]| parts.iter().filter(|part| part.makes_area()).count() as i32;
    let many = areas(parts);
    let text = root.text("proc/swaps").unwrap_or_default();
    let highest = swap_areas(&text).filter_map(Result::ok).max_by_key(|area| area.priority);
    let taken = highest.as_ref().map_or(-1, |area| area.priority).max(-1);
    let top = taken.saturating_add(many).max(USUAL);
    match highest {
        Some(area) if many > 0 && top > HIGHEST => Err(messages::no_higher_priority(&area.path, area.priority)),
        _ => Ok((0..parts.len()).map(|at| u16::try_from(top - areas(&parts[..at])).unwrap_or_default()).collect()),
    }
}

/// Bytes in use of areas that are not of a tier.
pub(crate) fn used_elsewhere(areas: &[Swap], active: &ActiveTier) -> u64 {
    let others = areas.iter().filter(|area| !active.areas.contains(&area.path));
    others.fold(0, |sum, area| sum.saturating_add(area.used_bytes))
}

/// Areas that are not of this tier: when its own are full, tenants go there.
pub(super) fn others(root: &Root, active: &ActiveTier) -> Option<Warning> {
    if !active.swaps() {
        return None;
    }
    let text = root.text("proc/swaps").unwrap_or_default();
    let others: Vec<String> = swap_names(&text).filter(|name| !active.areas.contains(name)).collect();
    (!others.is_empty()).then(|| messages::swaps_elsewhere(&others))
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
        let (zram, file) = (Tier::Zram(None), Tier::Swap(vec!["/var/tmp".into()]));
        let of = |parts: &[Tier], areas: &str| priorities(parts, &with(areas));
        let one = [zram.clone()];
        let two = [zram.clone(), file.clone()];
        assert_eq!(of(&one, ""), Ok(vec![16_384]));
        assert_eq!(of(&two, "/dev/sdb2 partition 8 0 -2\n"), Ok(vec![16_384, 16_383]));
        let high = "/dev/sdb2 partition 8 0 16383\n/dev/sdb3 partition 8 0 5\n";
        assert_eq!(of(&two, high), Ok(vec![16_385, 16_384]));
        let second_highest = "/dev/sdb2 partition 8 0 7\n/dev/zram0 partition 8 0 32766\n";
        assert_eq!(of(&one, second_highest), Ok(vec![32_767]));
        // Areas of one part are filled in turn.
        let striped = [zram.clone(), Tier::Swap(vec!["/a".into(), "/b".into()])];
        assert_eq!(of(&striped, ""), Ok(vec![16_384, 16_383]));
        // zswap is no area.
        assert_eq!(of(&[Tier::Zswap, file], second_highest), Ok(vec![32_767; 2]));
        let refused = of(&two, second_highest).unwrap_err();
        assert_eq!((refused.text("path"), refused.data["priority"].as_i64()), (Some("/dev/zram0"), Some(32_766)));
        let highest = "/dev/zram0 partition 8 0 32767\n";
        assert!(of(&one, highest).is_err());
        assert!(of(&[Tier::Zswap], highest).is_ok() && of(&[Tier::Dram], highest).is_ok(), "no area");
        assert_eq!(priorities(&one, &Root::from_files("test", [("proc/stat", "")])), Ok(vec![16_384]), "no such file");
    }

    #[test]
    fn what_is_of_a_tier_is_not_elsewhere() {
        let area = |path: &str, used_bytes: u64| Swap {
            path: path.to_owned(),
            kind: "file".to_owned(),
            bytes: 100,
            used_bytes,
            priority: 5,
            ..Swap::default()
        };
        let active = ActiveTier { areas: vec!["/dev/zram1".to_owned()], ..ActiveTier::default() };
        assert_eq!(used_elsewhere(&[area("/dev/zram1", 50), area("/dev/zram0", 30), area("/swap", 4)], &active), 34);
        let root = with("/dev/zram1 partition 8 0 7\n/dev/zram0 partition 8 0 5\n");
        assert_eq!(others(&root, &active).unwrap().data["areas"], serde_json::json!(["/dev/zram0"]));
        assert_eq!(others(&root, &ActiveTier::default()), None, "of a tier that swaps nothing");
    }
}
