//! The level at which windows pile up near the end of a distribution that disturbance cannot reach.

mod windows;

use crate::edge::{APART_SECONDS, FEWEST_VISITS, Side, VISITS, VisitWindows};
use crate::order::quantile_sorted;
use crate::{Rng, usable};
use windows::{Level, Windows};

/// Half width of the band around a level, as a share of it: the windows of an undisturbed machine have a standard
/// deviation of 0.2 to 0.6 %, so that the band holds nine tenths of the widest of them.
pub const PILE_NEAR: f64 = 0.01;
/// The surroundings of a level reach so many half widths of the band to either side. Where the density is level or the
/// flank of one broad peak, a third of what lies in the surroundings lies in the band. A wider region would also call a
/// peak with a standard deviation of 2 % a pile; a narrower one needs more visits.
const AROUND: f64 = 3.0;
/// Chance at most that a density without a pile has so many visits in the band. Five visits in the band and none beside
/// it just pass. At 1 %, three of 64,000 simulated runs of noise with a standard deviation of 4 or 5 % had a "pile" 6
/// to 7 % above their mean; at 0.5 %, none.
const CHANCE: f64 = 5e-3;
/// Density on the fast side of the band over that in it, from which the band is no end of the distribution. A normal
/// peak with a standard deviation of 1.2 % has 0.34; the flank of a broad peak, 0.7 and more.
const FALL: f64 = 0.5;
/// Visits that may be faster than the level: their lines were in a nearer cache by chance.
const LUCKY: usize = 3;
/// [`Pile::width`] from which the band is filled evenly: then it has no level. Even filling has 0.0068.
const EVEN: f64 = 0.006;
/// How far the sustained rate may lie above the level: the best tenth of the visits to a pile is one standard deviation
/// above it. More says that the level is a chance bump on the slow side of the pile, or the middle of wide noise.
const ABOVE: f64 = 0.0075;
/// Delays that are shorter than the band is wide draw the level to the slow side: the fast end of the interval is so
/// much of [`Pile::width`] farther out. In simulations the interval then holds the planted level in 95 % of the runs
/// with delays; without, in 88 %.
const DRAWN: f64 = 0.2;
/// Share of the windows of a visit that are faster than the level, from which the visit is: of a visit with half of its
/// windows disturbed, the others count.
const FASTER: f64 = 0.25;
/// A rate does not count if at least the share [`MOSTLY`] of the visits that reach it do so mostly in their first half,
/// and if the chance of this is below `LEAVES` for halves that are alike. L3 of a Zen 5 took stores and copies 20 %
/// faster in the first millisecond of 1 to 4 % of the visits: 15 to 17 of 18 visits did not keep that rate, and without
/// this rule it was trusted.
const LEAVES: f64 = 0.01;
const MOSTLY: f64 = 0.75;
/// Share of the windows from which a rate is no longer rare: the trend of its visits shows then that they do not keep
/// it.
const RARE: f64 = 0.25;
/// A hump: nearly all windows of a state lie around one level, wider than a pile and with next to nothing faster. Then
/// its middle is what the hardware does, and no tail of it.
struct Hump {
    /// Half of its width, as a share of the level.
    reach: f64,
    /// Share of the visits' weight within it: noise with a standard deviation of 2 % has 0.87.
    share: f64,
    /// Share of the weight within its width on the fast side, at most: noise of 2 % has 0.07.
    tail: f64,
    /// Visits from which the middle of noise of 2 % is known to 1.2 % (95 %): 2 x 1.25 x 2 % / sqrt(20).
    visits: usize,
}
const HUMP: Hump = Hump { reach: 0.03, share: 0.85, tail: 0.08, visits: 20 };
/// Visits that begin within so many seconds of the first of them see one moment, and count as one. Visits that
/// take turns with those to other cells are 80 ms apart or more.
const IN_A_ROW_SECONDS: f64 = 0.05;
/// Bootstrap resamples: the ends of a 95 % interval then move by less than a tenth of its width (Davison & Hinkley
/// 1997, §2.5.2).
const RESAMPLES: usize = 200;

/// The level that windows pile up at, or the rate that was sustained where they do not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pile {
    /// The level, where windows pile up; else [`Pile::sustained`].
    pub value: f64,
    /// Lower end of the 95 % interval of `value`.
    pub low: f64,
    /// Upper end of the 95 % interval of `value`.
    pub high: f64,
    /// Share of the visits' weight within [`PILE_NEAR`] of the level; each visit weighs the same, however many windows
    /// it has.
    pub share: f64,
    /// Windows looked at.
    pub windows: usize,
    /// Visits looked at; those in a row count as one.
    pub visits: usize,
    /// Moments with windows at the level, each at least [`APART_SECONDS`] after the one before it.
    pub reached: usize,
    /// Whether windows pile up at the level, in enough visits and moments, with next to nothing faster.
    pub piled: bool,
    /// The best tenth of visits had at least this as their median, and at least four visits did.
    pub sustained: f64,
    /// Half of what the middle 68 % of the windows at the level spread over, as a share of the level.
    pub width: f64,
    /// Density next to the level on its fast side, over that at the level.
    pub falls_off: f64,
    /// Natural logarithm of the greatest chance that a density without a pile looks like this one.
    pub ln_chance: f64,
}

impl Pile {
    /// Whether there are visits enough to speak of a level. Windows do not count: those of a visit see one moment.
    #[must_use]
    pub fn has_enough(&self) -> bool {
        self.visits >= FEWEST_VISITS
    }

    /// Whether it was reached at enough moments.
    #[must_use]
    pub fn is_reproduced(&self) -> bool {
        self.reached >= VISITS
    }
}

/// The pile of the windows of some visits, without its interval: `low` and `high` are `value`. As cheap as a few sorts.
///
/// `None` without a window, or where a value is not finite and positive.
#[must_use]
pub fn bare_pile(visits: &[VisitWindows], side: Side) -> Option<Pile> {
    Some(found(&read(visits, side)?, side).0)
}

/// The pile of the windows of some visits, with its interval.
///
/// The value is the middle of the narrow band that holds most weight (Chernoff, "Estimation of the mode", Annals of the
/// Institute of Statistical Mathematics 16, 1964), the fastest such place that passes a test: of what lies within three
/// bands, more lies in the middle one than a third. A density that is even, falls or rises with a hollow shape has at
/// most a third there, as has any normal peak that is wide beside the surroundings. Each visit counts with the share of
/// its windows that lie in the band, a number from 0 to 1, so that the chance is bounded by the binomial one
/// (Hoeffding, "Probability inequalities for sums of bounded random variables", JASA 58, 1963, theorem 1). The density
/// has to fall off to the fast side, and the second half of no more than three visits may be faster, of no two of them
/// alike: else that may be the level, seen too seldom. A rate that visits begin at and do not keep is no level.
///
/// Where nothing piles up, but nearly all windows lie in one hump of up to 2 % standard deviation with next to nothing
/// faster, the value is the middle of the hump.
///
/// The interval comes from resampling whole moments, since visits of one moment have one cause (a cluster bootstrap;
/// Davison & Hinkley 1997, §3.8).
///
/// `None` without a window, or where a value is not finite and positive.
#[must_use]
pub fn pile(visits: &[VisitWindows], side: Side, seed: u64) -> Option<Pile> {
    let windows = read(visits, side)?;
    let (bare, level, is_hump) = found(&windows, side);
    let [slow, fast] = interval(&windows, level.filter(|_| bare.piled), is_hump, seed);
    let ends = [rate(slow, side), rate(fast, side)];
    Some(Pile { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]), ..bare })
}

fn read(visits: &[VisitWindows], side: Side) -> Option<Windows> {
    let values: Vec<f64> = visits.iter().flat_map(|visit| visit.values.iter().copied()).collect();
    let is_usable = usable(&values) && values.iter().all(|value| *value > 0.0);
    is_usable.then(|| Windows::new(visits, side))
}

/// A value from the logarithm of its rate.
fn rate(log: f64, side: Side) -> f64 {
    if side == Side::High { log.exp() } else { (-log).exp() }
}

/// The pile, its level, and whether that is the middle of a hump.
fn found(windows: &Windows, side: Side) -> (Pile, Option<Level>, bool) {
    let levels = windows.levels();
    let sustained = windows.sustained(&vec![1; windows.moments()]);
    let piled = levels.iter().find(|level| is_pile(level) && sustained <= level.at + ABOVE);
    let hump = if piled.is_none() { windows.hump(&levels).filter(|level| level.reached >= VISITS) } else { None };
    let (is_hump, piled) = (hump.is_some(), piled.or(hump.as_ref()));
    // Without a pile, the evidence of the level that comes nearest to one is shown.
    let nearest = piled.or_else(|| levels.iter().min_by(|a, b| a.ln_chance.total_cmp(&b.ln_chance))).copied();
    let value = rate(piled.map_or(sustained, |level| level.at), side);
    let pile = Pile {
        value,
        low: value,
        high: value,
        share: nearest.map_or(0.0, |level| level.share),
        windows: windows.len(),
        visits: windows.visits(),
        reached: nearest.map_or(0, |level| level.reached),
        piled: piled.is_some(),
        sustained: rate(sustained, side),
        width: nearest.map_or(0.0, |level| level.width),
        falls_off: nearest.map_or(1.0, |level| level.falls_off),
        ln_chance: nearest.map_or(0.0, |level| level.ln_chance),
    };
    (pile, nearest, is_hump)
}

fn is_pile(level: &Level) -> bool {
    level.ln_chance <= CHANCE.ln()
        && level.reached >= VISITS
        && level.falls_off <= FALL
        && level.width <= EVEN
        && level.faster <= LUCKY
        && !level.faster_agree
        && !level.is_left
}

/// The slow and the fast end of the interval, as logarithms of rates.
fn interval(windows: &Windows, level: Option<Level>, is_hump: bool, seed: u64) -> [f64; 2] {
    let mut rng = Rng::new(seed);
    let moments = windows.moments();
    let mut counts = vec![1; moments];
    let around = level.map(|level| match is_hump {
        true => windows.within(level.at, HUMP.reach),
        false => windows.around(level.at),
    });
    let value = |counts: &[u32]| match &around {
        Some(around) if is_hump => around.middle(counts),
        Some(around) => around.level(counts),
        None => Some(windows.sustained(counts)),
    };
    let centre = level.map_or_else(|| windows.sustained(&counts), |level| level.at);
    let mut seen = vec![centre];
    for _ in 0..RESAMPLES {
        counts.fill(0);
        (0..moments).for_each(|_| counts[rng.below(moments)] += 1);
        seen.extend(value(&counts));
    }
    seen.sort_unstable_by(f64::total_cmp);
    let slower = centre - quantile_sorted(&seen, 0.025).min(centre);
    let faster = quantile_sorted(&seen, 0.975).max(centre) - centre;
    // The variance of resamples of n clusters is too small by (n - 1) / n (Davison & Hinkley 1997, section 2.3).
    let clusters = level.map_or(moments, |level| level.reached).max(2) as f64;
    let wider = (clusters / (clusters - 1.0)).sqrt();
    let drawn = level.map_or(0.0, |level| DRAWN * level.width);
    [centre - slower * wider, centre + faster * wider + drawn]
}
