//! The level at which visits pile up near the end of a distribution that disturbance cannot reach.

use crate::edge::{FEWEST_VISITS, Side, VISITS};
use crate::moments::{APART_SECONDS, moments};
use crate::order::{median_in_place, quantile_sorted};
use crate::usable;

/// Half width of the band around a level, as a share of it: visits to memory of an undisturbed machine have a standard
/// deviation of 0.2 to 0.6 %, so that the band holds nine tenths of the widest of them.
pub const PILE_NEAR: f64 = 0.01;
/// The same for a core's own caches, whose undisturbed visits differ by 0.1 to 0.3 %: beside a busy hardware thread most
/// visits are 2 % slower and more, and few lie at the level, but these agree.
pub const PILE_NEAR_OF_CORE: f64 = 0.003;
/// Half width of the band whose middle is the value of a level, in half widths of the band around it. With a quarter,
/// values scatter a third more; with all of it, short delays draw them down more.
const CORE: f64 = 0.5;
/// The surroundings of a level reach so many half widths of the band to either side. Where the density is level or the
/// flank of one broad peak, a third of what lies in the surroundings lies in the band. A wider region would also call a
/// peak with a standard deviation of 2 % a pile; a narrower one needs more visits.
const AROUND: f64 = 3.0;
/// Chance at most that a density without a pile has so many visits in a band of [`PILE_NEAR`]; in proportion in a
/// narrower one, since there are as many more places where it might. Five visits in the band and none beside
/// it just pass. At 1 %, three of 64,000 simulated runs of noise with a standard deviation of 4 or 5 % had a "pile" 6
/// to 7 % above their mean; at 0.5 %, none.
const CHANCE: f64 = 5e-3;
/// Density on the fast side of the band over that in it, from which the band is no end of the distribution. A normal
/// peak with a standard deviation of 1.2 % has 0.34; the flank of a broad peak, 0.7 and more.
const FALL: f64 = 0.5;
/// Half of what the middle 68 % of the visits in the band spread over, in half widths of the band, from which the band
/// is filled evenly: then it has no level. Even filling has 0.68.
const EVEN: f64 = 0.6;
/// Visits that may be faster than the level: their lines were in a nearer cache by chance.
const LUCKY: usize = 3;
/// How far the sustained rate may lie above the level, in half widths of the band: the best tenth of the visits to a
/// pile is one standard deviation above it. More says that the level is a chance bump on the slow side of the pile, or
/// the middle of wide noise.
const ABOVE: f64 = 0.75;
/// Visits that begin within so many seconds of the first of them see one moment, and count as one. Visits that
/// take turns with those to other cells are 80 ms apart or more.
const IN_A_ROW_SECONDS: f64 = 0.05;

/// A visit: when it was, and what it came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitValue {
    /// When the visit was, in seconds.
    pub at: f64,
    /// Its value, positive.
    pub value: f64,
}

/// The level that visits pile up at, or the rate that was sustained where they do not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pile {
    /// The level, where visits pile up; else [`Pile::sustained`].
    pub value: f64,
    /// Share of the visits in the band around the level.
    pub share: f64,
    /// Visits looked at; those in a row count as one.
    pub visits: usize,
    /// Moments with visits at the level, each at least [`APART_SECONDS`] after the one before it.
    pub reached: usize,
    /// Whether visits pile up at the level, at enough moments, with next to nothing faster.
    pub piled: bool,
    /// The best tenth of visits had at least this, and at least four visits did.
    pub sustained: f64,
    /// Half width of the band around the level, as a share of it.
    pub near: f64,
}

impl Pile {
    /// Whether there are visits enough to speak of a level.
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

/// The pile of the values of some visits, in a band that reaches the share `near` of the level to either side
/// ([`PILE_NEAR`], [`PILE_NEAR_OF_CORE`]). As cheap as a few sorts.
///
/// The value is the middle of the narrow band that holds most visits (Chernoff, "Estimation of the mode", Annals of the
/// Institute of Statistical Mathematics 16, 1964), the fastest such place that passes a test: of the visits within
/// three bands, more lie in the middle one than a third. A density that is even, falls or rises with a hollow shape has
/// at most a third there, as has any normal peak that is wide beside the surroundings; the chance is bounded by
/// Hoeffding ("Probability inequalities for sums of bounded random variables", JASA 58, 1963, theorem 1). The density
/// has to fall off to the fast side, and no more than three visits may be faster, of no two of them alike: else that
/// may be the level, seen too seldom.
///
/// `None` without a visit, or where a value is not finite and positive.
#[must_use]
pub fn pile(visits: &[VisitValue], side: Side, near: f64) -> Option<Pile> {
    let values: Vec<f64> = visits.iter().map(|visit| visit.value).collect();
    if !usable(&values) || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let rates = Rates::new(visits, side, near);
    let levels = rates.levels();
    let sustained = rates.sustained();
    let piled = levels.iter().find(|level| level.is_pile(near) && sustained <= level.at + ABOVE * near);
    // Without a pile, the evidence of the level that comes nearest to one is shown.
    let nearest = piled.or_else(|| levels.iter().min_by(|a, b| a.ln_chance.total_cmp(&b.ln_chance)));
    let value = |log: f64| if side == Side::High { log.exp() } else { (-log).exp() };
    Some(Pile {
        value: value(piled.map_or(sustained, |level| level.at)),
        share: nearest.map_or(0.0, |level| level.share),
        visits: rates.list.len(),
        reached: nearest.map_or(0, |level| level.reached),
        piled: piled.is_some(),
        sustained: value(sustained),
        near,
    })
}

/// A level that may be a pile.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Logarithm of its rate.
    at: f64,
    share: f64,
    reached: usize,
    /// In half widths of the band.
    width: f64,
    falls_off: f64,
    /// Logarithm of the greatest chance that a density without a pile looks like this.
    ln_chance: f64,
    /// Visits that are faster than its surroundings.
    faster: usize,
    /// Whether two of them, at different moments, agree with each other.
    faster_agree: bool,
}

impl Level {
    fn is_pile(&self, near: f64) -> bool {
        self.ln_chance <= (CHANCE * near / PILE_NEAR).ln()
            && self.reached >= VISITS
            && self.falls_off <= FALL
            && self.width <= EVEN
            && self.faster <= LUCKY
            && !self.faster_agree
    }
}

/// A visit, or several in a row: when, and the logarithm of the rate.
type Rate = (f64, f64);

/// Visits, the slowest first.
struct Rates {
    list: Vec<Rate>,
    /// Half width of the band around a level.
    near: f64,
}

impl Rates {
    fn new(visits: &[VisitValue], side: Side, near: f64) -> Self {
        let log = |value: f64| if side == Side::High { value.ln() } else { -value.ln() };
        let mut ordered: Vec<Rate> = visits.iter().map(|visit| (visit.at, log(visit.value))).collect();
        ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
        let as_one = |visits: &[Rate]| {
            (visits[0].0, median_in_place(&mut visits.iter().map(|(_, log)| *log).collect::<Vec<f64>>()))
        };
        let in_a_row = moments(ordered.iter().map(|(at, _)| *at), IN_A_ROW_SECONDS);
        let mut list: Vec<Rate> = in_a_row.into_iter().map(|visits| as_one(&ordered[visits])).collect();
        list.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        Self { list, near }
    }

    /// The visits from one rate to another.
    fn range(&self, from: f64, to: f64) -> &[Rate] {
        let first = self.list.partition_point(|(_, log)| *log < from);
        &self.list[first..self.list.partition_point(|(_, log)| *log <= to).max(first)]
    }

    /// What the best tenth of the visits had at least.
    fn sustained(&self) -> f64 {
        let above = (self.list.len() / 10).max(LUCKY).min(self.list.len() - 1);
        self.list[self.list.len() - 1 - above].1
    }

    /// The levels with more visits near them than any within two bands, the fastest first.
    fn levels(&self) -> Vec<Level> {
        let near = |log: f64| self.range(log - self.near, log + self.near).len();
        let counts: Vec<usize> = self.list.iter().map(|(_, log)| near(*log)).collect();
        let mut levels = Vec::new();
        let mut last = f64::INFINITY;
        for (index, (_, log)) in self.list.iter().enumerate().rev() {
            let within = |other: &usize| (self.list[*other].1 - log).abs() <= 2.0 * self.near;
            let is_higher = |other: usize| counts[other] > counts[index];
            let is_peak = last - log > 2.0 * self.near
                && !(0..index).rev().take_while(within).any(is_higher)
                && !(index..self.list.len()).take_while(within).any(is_higher);
            if is_peak {
                last = *log;
                levels.push(self.describe(self.middle(*log)));
            }
        }
        levels
    }

    /// The median of the narrow band with most visits, whose middle is near this rate.
    fn middle(&self, centre: f64) -> f64 {
        let around = self.range(centre - 2.0 * self.near, centre + 2.0 * self.near);
        let mut first = 0;
        let mut best = &around[..0];
        for (last, (_, log)) in around.iter().enumerate() {
            while around[first].1 < log - 2.0 * CORE * self.near {
                first += 1;
            }
            let is_near = (f64::midpoint(around[first].1, *log) - centre).abs() <= self.near;
            if is_near && last + 1 - first > best.len() {
                best = &around[first..=last];
            }
        }
        best.get(best.len().saturating_sub(1) / 2).map_or(centre, |(_, log)| *log)
    }

    fn describe(&self, at: f64) -> Level {
        let band = self.range(at - self.near, at + self.near);
        let logs: Vec<f64> = band.iter().map(|(_, log)| *log).collect();
        let surroundings = self.range(at - AROUND * self.near, at + AROUND * self.near);
        let beside = surroundings.iter().filter(|(_, log)| *log > at + self.near).count();
        let faster = self.range((at + AROUND * self.near).next_up(), f64::INFINITY);
        // Whatever the band: three visits that agree within 0.3 % are a level, seen too seldom.
        let agree = |a: &Rate, b: &Rate| (a.0 - b.0).abs() >= APART_SECONDS && (a.1 - b.1).abs() <= CORE * PILE_NEAR;
        Level {
            at,
            share: band.len() as f64 / self.list.len() as f64,
            reached: moments_of(band),
            width: (quantile_sorted(&logs, 0.84) - quantile_sorted(&logs, 0.16)) / 2.0 / self.near,
            falls_off: beside as f64 / band.len() as f64,
            ln_chance: ln_chance(band.len() as f64, surroundings.len() as f64),
            faster: faster.len(),
            faster_agree: faster.len() <= LUCKY && faster.iter().any(|a| faster.iter().any(|b| agree(a, b))),
        }
    }
}

/// Moments that visits see.
fn moments_of(visits: &[Rate]) -> usize {
    let mut times: Vec<f64> = visits.iter().map(|(at, _)| *at).collect();
    times.sort_unstable_by(f64::total_cmp);
    moments(times, APART_SECONDS).len()
}

/// Logarithm of the chance that so many of the visits around a level lie in its band, at most, where a third does.
fn ln_chance(band: f64, around: f64) -> f64 {
    let (seen, expected) = (band / around, 1.0 / AROUND);
    if seen <= expected {
        return 0.0;
    }
    let part = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
    -around * (part(seen, expected) + part(1.0 - seen, 1.0 - expected))
}
