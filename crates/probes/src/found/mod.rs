//! The tiers of a machine, found in its latency curve: where each cache ends, which footprint measures it, and whether
//! pages are translated in smaller pieces than requested. Pure: a curve and declared caches in, tiers out.
//!
//! The declared size of a cache names a level that was found, and decides where the curve of a private cache leaves a
//! range of sizes that includes it (see [`prior`]). Otherwise it is not used: a guest may have a part of a cache, see a
//! wrong declared size, or share it with neighbours who evict it.

mod grain;
mod levels;
mod naming;
mod prior;
#[cfg(test)]
mod real;
#[cfg(test)]
mod recorded;
mod refine;
mod rungs;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod simulated_luck;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use types::{CurvePoint, Declared, Found, FoundTier, Grain, Size};
pub(crate) use {refine::refine, rungs::half_of, rungs::is_declared};

use levels::{levels, plateaus};
use types::clean;
pub(crate) use types::still_rises;

/// Finds the tiers of a curve, measured on pages of `page_asked` bytes. `l1_dtlb_entries_hint` is the number of entries
/// of the first data TLB, if another probe or the system reports it.
pub(crate) fn find(
    curve: &[CurvePoint],
    declared: &[Declared],
    page_asked: u64,
    l1_dtlb_entries_hint: Option<u64>,
) -> Found {
    let curve = clean(curve);
    let mut declared = declared.to_vec();
    declared.sort_by_key(|d| d.level);
    let grain = grain::grain(&curve, &plateaus(&curve), page_asked, l1_dtlb_entries_hint);
    // The cost of translation is subtracted, so that a bend is not mistaken for the end of a cache.
    let mut flat = curve.clone();
    if let Some(grain) = &grain {
        flat = grain::without(&flat, grain);
        if let Some(walks) = grain::walks(&flat, &plateaus(&flat), grain) {
            flat = grain::without(&flat, &walks);
        }
    }
    let page = grain.map_or(page_asked, |grain| grain.page);
    let levels = levels(&flat, page);
    let named = naming::named(&flat, &levels, &declared, grain.as_ref(), page);
    rungs::tiers(&curve, &flat, &named, &declared, grain)
}
