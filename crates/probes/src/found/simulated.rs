//! Machines with known caches, and the tiers found in curves of them.

use std::io::Write;

use tiermark_model::{KIB, MIB};
use tiermark_stats::Rng;

use super::refine::MOST;
use super::{CurvePoint, Declared, Found, find, refine};
use crate::finder::this_round;
use crate::sizes::grid;

/// Seeds of each scenario: enough to see one fault in thirty. `TIERMARK_SEEDS=300` sees one in a hundred, for a change
/// of the method.
pub(super) fn seeds() -> u64 {
    tiermark_model::testing::seeds(60)
}
/// Rounds of more points.
const ROUNDS: usize = 8;
/// More points of a quick survey.
const QUICK: usize = 8;

/// How a cache is outgrown.
#[derive(Debug, Clone, Copy)]
pub(super) enum Replaced {
    /// A way's worth beyond the size, all sets overflow.
    Ways(f64),
    /// A share that falls by 1/e for each such part of the size beyond it.
    Gradually(f64),
    /// Random replacement in steady state: hits = exp(−misses x footprint/size).
    Random,
    /// Hits in proportion to size/footprint.
    Share,
    /// 4 KiB pages at random, with this many ways: those colours miss that got more pages than ways.
    Pages(u32),
    /// 4 KiB pages at random: with 16 ways, those beyond what a colour holds make its hits fall as `width` says. Drawn
    /// from `seed`; for each footprint again, or (`same`) the same pages for all.
    CurveProfile { width: f64, seed: u64, same: bool },
}

fn hits(how: Replaced, bytes: f64, size: f64) -> f64 {
    let x = bytes / size;
    match how {
        Replaced::Ways(ways) => (1.0 - (x - 1.0) * ways).clamp(0.0, 1.0),
        Replaced::Gradually(width) => (-(x - 1.0).max(0.0) / width).exp(),
        Replaced::Random => (0..200).fold(0.0, |h: f64, _| (-(1.0 - h) * x).exp()).clamp(0.0, 1.0),
        Replaced::Share => (1.0 / x).min(1.0),
        Replaced::Pages(ways) => {
            let mean = x * f64::from(ways);
            let (mut term, mut below) = ((-mean).exp(), 0.0);
            for k in 0..ways {
                below += term;
                term *= mean / f64::from(k + 1);
            }
            below
        }
        Replaced::CurveProfile { width, seed, same } => {
            placed(bytes, size, width, seed + if same { 0 } else { bytes as u64 })
        }
    }
}

/// [`Replaced::CurveProfile`].
fn placed(bytes: f64, size: f64, width: f64, seed: u64) -> f64 {
    const WAYS: f64 = 16.0;
    const PAGE: f64 = 4096.0;
    if bytes > 8.0 * size {
        return 0.0;
    }
    let mut rng = Rng::new(seed);
    let mut colours = vec![0.0_f64; (size / WAYS / PAGE) as usize];
    let pages = (bytes / PAGE).ceil();
    for _ in 0..pages as u64 {
        let colour = rng.below(colours.len());
        colours[colour] += 1.0;
    }
    let held = |n: &f64| n * (-(n / WAYS - 1.0).max(0.0) / width).exp();
    colours.iter().map(held).sum::<f64>() / pages
}

/// A machine.
pub(super) struct Truth {
    /// Bytes, ns and replacement of each level.
    pub(super) caches: Vec<(u64, f64, Replaced)>,
    pub(super) memory_ns: f64,
    /// Reach in bytes and cost in ns of each level of the TLB.
    pub(super) translation: Vec<(u64, f64)>,
    /// Time in ns after which others evicted all but 1/e of the last level.
    pub(super) residency_ns: Option<f64>,
}

impl Truth {
    fn ns(&self, bytes: f64) -> f64 {
        let with_kept = |kept: f64| {
            let (mut ns, mut left) = (0.0, 1.0);
            for (index, (size, latency, how)) in self.caches.iter().enumerate() {
                let kept = if index + 1 == self.caches.len() { kept } else { 1.0 };
                let hit = hits(*how, bytes, *size as f64) * kept;
                ns += left * hit * latency;
                left *= 1.0 - hit;
            }
            ns + left * self.memory_ns
        };
        let walks: f64 =
            self.translation.iter().map(|(reach, cost)| cost * (1.0 - *reach as f64 / bytes).max(0.0)).sum();
        let Some(residency) = self.residency_ns else { return with_kept(1.0) + walks };
        let mut ns = with_kept(1.0);
        for _ in 0..100 {
            ns = with_kept((-ns * bytes / 64.0 / residency).exp());
        }
        ns + walks
    }
}

/// A curve's making.
pub(super) struct Noise {
    pub(super) sigma: f64,
    pub(super) wild: f64,
    pub(super) missing: f64,
    /// Few points, as in a quick survey.
    pub(super) quick: bool,
}

pub(super) const USUAL: Noise = Noise { sigma: 0.01, wild: 0.04, missing: 0.05, quick: false };

/// Measures one footprint; `None` where it was withheld.
fn measure(truth: &Truth, bytes: u64, noise: &Noise, rng: &mut Rng) -> Option<CurvePoint> {
    let wild = if rng.unit() < noise.wild { 1.2 + 0.8 * rng.unit() } else { 1.0 };
    let ns = truth.ns(bytes as f64) * wild * (noise.sigma * rng.normal()).exp();
    let missing = rng.unit() < noise.missing;
    (!missing).then_some(CurvePoint { bytes, ns, low: ns * 0.985, high: ns * 1.015 })
}

/// The curve of a machine up to four times what is declared, then more where it moves: as dense as a full survey's, or
/// a quick one's.
fn curve(truth: &Truth, declared: &[Declared], noise: &Noise, rng: &mut Rng) -> Vec<CurvePoint> {
    let all: u64 = declared.iter().map(|d| d.bytes).sum();
    let largest = (4 * all).max(if all == 0 { 512 * MIB } else { 64 * MIB });
    let per_octave = if noise.quick { 2 } else { 4 };
    let mut points: Vec<CurvePoint> =
        grid(4 * KIB, largest, per_octave).iter().filter_map(|b| measure(truth, b.0, noise, rng)).collect();
    let mut left = if noise.quick { QUICK } else { ROUNDS * MOST };
    for _ in 0..ROUNDS {
        let most = if noise.quick { this_round(left) } else { MOST };
        let more = refine(&points, 1024 * MIB, most);
        assert!(more.len() <= most);
        left -= more.len();
        points.extend(more.into_iter().filter_map(|bytes| measure(truth, bytes, noise, rng)));
        points.sort_by_key(|p| p.bytes);
    }
    points
}

fn declared(sizes: &[u64]) -> Vec<Declared> {
    sizes.iter().enumerate().map(|(i, bytes)| Declared { level: i as u8 + 1, bytes: *bytes, shared: i > 1 }).collect()
}

/// The result of a scenario.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) resolved: [u64; 3],
    pub(super) wrong: Vec<String>,
    pub(super) grains: u64,
    pub(super) rungs_off: Vec<String>,
}

/// Draws replacement policies for each level; most have parameters between those that are tried.
pub(super) fn drawn(sizes: [u64; 3], ns: [f64; 4], rng: &mut Rng) -> Truth {
    let first = Replaced::Ways([8.0, 10.0, 12.0, 16.0][rng.below(4)]);
    let gradually = Replaced::Gradually(0.2 + 0.15 * rng.unit());
    let second = [Replaced::Ways(16.0), gradually, Replaced::Ways(8.0), Replaced::Ways(10.0)][rng.below(4)];
    let pages = Replaced::Pages([11, 12, 16, 20][rng.below(4)]);
    let third = [Replaced::Share, Replaced::Random, gradually, pages][rng.below(4)];
    let caches = vec![(sizes[0], ns[0], first), (sizes[1], ns[1], second), (sizes[2], ns[2], third)];
    Truth { caches, memory_ns: ns[3], translation: Vec::new(), residency_ns: None }
}

pub(super) fn tally(
    name: &str,
    declared_sizes: &[u64],
    noise: &Noise,
    mut make: impl FnMut(&mut Rng) -> Truth,
    mut check: impl FnMut(&Found, &Truth) -> Result<(), String>,
) -> Tally {
    let declared = declared(declared_sizes);
    let mut tally = Tally::default();
    for seed in 0..seeds() {
        let mut rng = Rng::new(seed);
        let truth = make(&mut rng);
        let points = curve(&truth, &declared, noise, &mut rng);
        let found = find(&points, &declared, 2 * MIB, None);
        let mut wrong = Vec::new();
        for (index, (size, ..)) in truth.caches.iter().enumerate() {
            let Some(tier) = found.tiers.iter().find(|t| usize::from(t.level) == index + 1) else { continue };
            if let Some(bytes) = tier.size.resolved() {
                tally.resolved[index] += 1;
                if (bytes as f64 / *size as f64 - 1.0).abs() > 0.1 {
                    wrong.push(format!("L{}: {} KiB of {} KiB, {:?}", index + 1, bytes / KIB, size / KIB, tier.size));
                }
            }
        }
        if found.tiers.iter().any(|t| usize::from(t.level) > truth.caches.len()) {
            wrong.push("a level too many".to_owned());
        }
        if let Err(why) = check(&found, &truth) {
            tally.rungs_off.push(format!("seed {seed}: {why}: {found:?}"));
        }
        tally.grains += u64::from(found.grain.is_some());
        if !wrong.is_empty() {
            tally.wrong.push(format!("seed {seed}: {wrong:?} {:?}", truth.caches));
        }
    }
    let share = |n: u64| n as f64 / seeds() as f64 * 100.0;
    if std::env::var_os("TIERMARK_SEEDS").is_some() {
        let mut told = format!(
            "{name}: resolved L1 {:.0} %, L2 {:.0} %, L3 {:.0} %; wrong {} of {}; grain {:.0} %; other faults {}\n",
            share(tally.resolved[0]),
            share(tally.resolved[1]),
            share(tally.resolved[2]),
            tally.wrong.len(),
            seeds(),
            share(tally.grains),
            tally.rungs_off.len()
        );
        tally
            .wrong
            .iter()
            .take(4)
            .chain(tally.rungs_off.iter().take(2))
            .for_each(|line| told += &format!("    {line}\n"));
        // Printed only when the whole comparison was requested.
        let _ = std::io::stderr().write_all(told.as_bytes());
    }
    tally
}

/// At most one seed in a hundred wrong, and one where there are fewer.
pub(super) fn few(tally: &Tally) {
    let most = most();
    assert!(tally.wrong.len() as u64 <= most, "{:?}", tally.wrong.first());
    assert!(tally.rungs_off.len() as u64 <= most, "{:?}", tally.rungs_off.first());
}

pub(super) fn most() -> u64 {
    (seeds() / 100).max(1)
}

/// Rungs hold what they measure: each above the level below and no larger than its own level.
pub(super) fn rungs_fit(found: &Found, truth: &Truth) -> Result<(), String> {
    let mut below = 0;
    for (index, (size, ..)) in truth.caches.iter().enumerate() {
        let Some(tier) = found.tiers.iter().find(|t| usize::from(t.level) == index + 1) else {
            return Err(format!("L{} is missing", index + 1));
        };
        if tier.rung <= below || tier.rung > *size {
            return Err(format!("rung of L{} at {} KiB", index + 1, tier.rung / KIB));
        }
        below = *size;
    }
    Ok(())
}

pub(super) const GENOA: [u64; 3] = [32 * KIB, MIB, 32 * MIB];
pub(super) const GENOA_NS: [f64; 4] = [1.1, 3.82, 15.6, 110.0];

#[test]
fn honest_machines() {
    let tally = tally("honest", &GENOA, &USUAL, |rng| drawn(GENOA, GENOA_NS, rng), rungs_fit);
    few(&tally);
    assert!(tally.grains <= most(), "{} grains", tally.grains);
}

#[test]
fn a_quarter_of_l3_by_allocation() {
    few(&tally("CAT quarter", &GENOA, &USUAL, |rng| drawn([32 * KIB, MIB, 8 * MIB], GENOA_NS, rng), rungs_fit));
}

#[test]
fn over_declared() {
    let truth = |rng: &mut Rng| drawn([48 * KIB, 1280 * KIB, 8 * MIB], [1.4, 4.6, 21.0, 95.0], rng);
    few(&tally("over-declared", &[48 * KIB, 1280 * KIB, 32 * MIB], &USUAL, truth, rungs_fit));
}

#[test]
fn under_declared() {
    few(&tally("under-declared", &[32 * KIB, MIB, 8 * MIB], &USUAL, |rng| drawn(GENOA, GENOA_NS, rng), rungs_fit));
}

#[test]
fn contended_l3() {
    let truth = |rng: &mut Rng| {
        let mut truth = drawn(GENOA, [1.1, 3.82, 15.6, 150.0], rng);
        truth.residency_ns = Some(1e6 * (1.0 + 5.0 * rng.unit()));
        truth
    };
    few(&tally("contended L3", &GENOA, &USUAL, truth, rungs_fit));
}

#[test]
fn small_host_pages_under_huge_ones() {
    let truth = |rng: &mut Rng| {
        let mut truth = drawn(GENOA, GENOA_NS, rng);
        truth.caches[1].2 = if rng.unit() < 0.5 { Replaced::Pages(8) } else { Replaced::Gradually(0.27) };
        truth.translation = vec![(288 * KIB, 2.15)];
        if rng.unit() < 0.5 {
            truth.translation.push((12 * MIB, 4.0 + 8.0 * rng.unit()));
        }
        truth
    };
    let check = |found: &Found, truth: &Truth| {
        rungs_fit(found, truth)?;
        let grain = found.grain.ok_or("no grain")?;
        let l2 = found.tiers[1].rung;
        if grain.page != 4 * KIB || !(64 * KIB..=256 * KIB).contains(&l2) {
            return Err(format!("{grain:?}, L2 at {l2}"));
        }
        Ok(())
    };
    let tally = tally("4 KiB host pages", &GENOA, &USUAL, truth, check);
    few(&tally);
    assert!(tally.grains + most() >= seeds(), "{}", tally.grains);
}

#[test]
fn larger_second_levels() {
    for l2 in [1280 * KIB, 2 * MIB] {
        let sizes = [48 * KIB, l2, 30 * MIB];
        let truth = |rng: &mut Rng| drawn(sizes, [1.4, 4.6, 24.0, 110.0], rng);
        few(&tally(&format!("L2 of {} KiB", l2 / KIB), &sizes, &USUAL, truth, rungs_fit));
    }
}

/// The ends of a curve differ a little between runs; figures of different footprints do not compare.
#[test]
fn the_rung_of_a_shared_cache_is_the_same_in_every_run() {
    let sizes = [48 * KIB, 2 * MIB, 260 * MIB];
    for (name, width, residency) in [("calm", 0.0, None), ("others evict", 0.5, Some(15e6))] {
        let truth = |rng: &mut Rng| {
            let mut truth = drawn(sizes, [1.4, 4.6, 24.0, 110.0], rng);
            // Others use part of the second level as well: it ends anywhere below its size.
            truth.caches[1].0 = (sizes[1] as f64 * (1.0 - width * rng.unit())) as u64;
            truth.residency_ns = residency.map(|ns| ns * (1.0 + rng.unit()));
            truth
        };
        let check = |found: &Found, _: &Truth| match found.tiers.iter().find(|t| t.level == 3) {
            Some(tier) if tier.rung == 8 * MIB => Ok(()),
            other => Err(format!("{other:?}")),
        };
        let tally = tally(&format!("steady rung, {name}"), &sizes, &USUAL, truth, check);
        assert!(
            tally.rungs_off.len() as u64 <= most(),
            "{name}: {} {:?}",
            tally.rungs_off.len(),
            tally.rungs_off.first()
        );
    }
}

#[test]
fn sixteen_times_the_second_level() {
    let sizes = [32 * KIB, 512 * KIB, 8 * MIB];
    few(&tally("L3 = 16 x L2", &sizes, &USUAL, |rng| drawn(sizes, [1.2, 3.5, 11.0, 85.0], rng), rungs_fit));
}

#[test]
fn many_missing_and_wild_points() {
    let noise = Noise { sigma: 0.01, wild: 0.08, missing: 0.2, quick: false };
    few(&tally("missing and wild", &GENOA, &noise, |rng| drawn(GENOA, GENOA_NS, rng), rungs_fit));
}

#[test]
fn hits_in_proportion_on_every_level() {
    let truth = |rng: &mut Rng| {
        let mut truth = drawn(GENOA, GENOA_NS, rng);
        truth.caches.iter_mut().for_each(|cache| cache.2 = Replaced::Share);
        truth
    };
    let tally = tally("by share", &GENOA, &USUAL, truth, rungs_fit);
    few(&tally);
    assert!(tally.grains <= most(), "{} grains", tally.grains);
}

#[test]
fn nothing_declared() {
    few(&tally("nothing declared", &[], &USUAL, |rng| drawn(GENOA, GENOA_NS, rng), rungs_fit));
}
