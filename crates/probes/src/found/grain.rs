//! The grain of translation: where the curve bends because the first data TLB is full.

use tiermark_model::KIB;
use tiermark_stats::bend;

use super::levels::{Level, SPANS, stretch, top};
use super::types::{CurvePoint, Grain};

/// Entries of first-level data TLBs for loads: Arm Neoverse N1 and V1 (48); Intel up to Ice Lake, AMD Zen 1 to 3 (64);
/// Zen 4 (72); Intel from Golden Cove, Zen 5 (96).
const ENTRIES: [u64; 4] = [48, 64, 72, 96];
/// Entries of second levels: Zen and Skylake to Ice Lake (1024 to 1536), Golden Cove and Zen 3 (2048), Zen 4 (3072),
/// Zen 5 (4096).
const SECOND: [u64; 5] = [1024, 1536, 2048, 3072, 4096];
/// Page sizes that one entry may translate: base pages of x86 and Arm, and huge pages.
const PAGES: [u64; 4] = [4 * KIB, 16 * KIB, 64 * KIB, 2048 * KIB];
/// A bend is believed from here on: of honest curves one in a hundred may look bent.
const SURE: f64 = 0.99;
/// A miss costs at least this share of an access: less is within a curve's waves, and does no harm.
const LEAST_COST: f64 = 0.08;
/// And at most this: 7 to 9 cycles to the second level of the TLB, in the latency of L2, which is 13 to 20; a walk that
/// L2 answers, in the latency of L3.
const MOST_COST: f64 = 0.8;
/// A miss in the first level costs at most this: 9 cycles at 2 GHz.
const MOST_NS: f64 = 4.5;
/// Points needed on either side of a bend.
const POINTS: usize = 3;
/// A bend at the start of a level cannot be separated from that start, nor can one behind its last point.
const INSIDE: f64 = 1.25;

/// Footprints at which a first level of the TLB may be full, for pages up to the requested size.
fn reaches(page_asked: u64, hint: Option<u64>) -> Vec<(u64, u64)> {
    let entries: Vec<u64> = hint.map_or_else(|| ENTRIES.to_vec(), |n| vec![n]);
    PAGES.iter().filter(|page| **page <= page_asked).flat_map(|page| entries.iter().map(move |n| (*n, *page))).collect()
}

/// Whether a TLB of either level may be full between these footprints.
pub(super) fn reaches_between(low: u64, high: u64) -> bool {
    let mut all = PAGES.iter().flat_map(|page| ENTRIES.iter().chain(&SECOND).map(move |n| n * page));
    all.any(|reach| low <= reach && reach <= high)
}

/// Whether the first level of a TLB may be full between these footprints.
pub(super) fn first_level_between(low: u64, high: u64) -> bool {
    PAGES.iter().flat_map(|page| ENTRIES.iter().map(move |n| n * page)).any(|reach| low <= reach && reach <= high)
}

/// The grain: the first bend of the curve's levels where the first level of the TLB may be full.
pub(super) fn grain(curve: &[CurvePoint], levels: &[Level], page_asked: u64, hint: Option<u64>) -> Option<Grain> {
    levels.iter().enumerate().find_map(|(index, level)| {
        let next = levels.get(index + 1);
        bend_of(curve, level, next, &reaches(page_asked, hint)).filter(|grain| grain.step_ns <= MOST_NS)
    })
}

/// The bend of the second level of the TLB, where walks begin, for entries of the grain's page.
pub(super) fn walks(curve: &[CurvePoint], levels: &[Level], grain: &Grain) -> Option<Grain> {
    let reaches: Vec<(u64, u64)> = SECOND.iter().map(|n| (*n, grain.page)).collect();
    levels.iter().enumerate().find_map(|(index, level)| bend_of(curve, level, levels.get(index + 1), &reaches))
}

/// A bend inside a level at one of the `reaches`: entries, and bytes of a page.
fn bend_of(curve: &[CurvePoint], level: &Level, next: Option<&Level>, reaches: &[(u64, u64)]) -> Option<Grain> {
    let samples = stretch(curve, level, next.map_or(u64::MAX, |next| next.to), SPANS[0]);
    let last = samples.last()?.size;
    let inside = |(n, page): &&(u64, u64)| {
        let reach = (n * page) as f64;
        let before = samples.iter().filter(|s| s.size <= reach).count();
        let enough = before >= POINTS && samples.len() - before >= POINTS;
        enough && reach > INSIDE * level.from as f64 && reach * INSIDE < last
    };
    let candidates: Vec<(u64, u64)> = reaches.iter().filter(inside).copied().collect();
    let bytes: Vec<f64> = candidates.iter().map(|(n, page)| (n * page) as f64).collect();
    let found = bend(&samples, (level.ns, top(&samples)?), &bytes, MOST_COST)?;
    let share = found.cost / found.level;
    let (entries, page) = *candidates.iter().find(|(n, page)| (n * page) as f64 == found.reach)?;
    let sure = found.probability >= SURE && (LEAST_COST..=MOST_COST).contains(&share);
    sure.then_some(Grain { knee: entries * page, page, entries, step_ns: found.cost })
}

/// The curve as it would be without the cost of a bend.
pub(super) fn without(curve: &[CurvePoint], grain: &Grain) -> Vec<CurvePoint> {
    curve
        .iter()
        .map(|point| {
            let cost = grain.step_ns * (1.0 - grain.knee as f64 / point.bytes as f64).max(0.0);
            let part = (point.ns - cost).max(point.ns / 2.0) / point.ns;
            CurvePoint { ns: point.ns * part, low: point.low * part, high: point.high * part, ..*point }
        })
        .collect()
}
