//! The windows of some visits, sorted by rate and weighed by visit.

use super::{
    APART_SECONDS, AROUND, FASTER, HUMP, IN_A_ROW_SECONDS, LEAVES, LUCKY, MOSTLY, PILE_NEAR, RARE, Side, VisitWindows,
};
use crate::order::median_in_place;
use crate::sign::sign_test;

/// Half width of the band whose middle is the value of a level. With a quarter of [`PILE_NEAR`] values scatter a third
/// more; with all of it, short delays draw them down more.
const CORE: f64 = PILE_NEAR / 2.0;

/// Steps from the fullest band to the middle of the hump around it: they end where a step changes nothing, after two or
/// three.
const HUMP_STEPS: usize = 4;

/// Where in its visit a window lies: in one of two halves of as many windows, or between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    Middle,
    Second,
}

/// A window: the logarithm of its rate, its weight, and the visit that it is of.
#[derive(Debug, Clone, Copy)]
struct Window {
    at: f64,
    weight: f64,
    visit: usize,
    /// The part of its visit that it is of.
    part: Part,
}

/// A visit, or several in a row.
#[derive(Debug, Clone, Copy)]
struct Visit {
    at: f64,
    moment: usize,
    median: f64,
    /// Those of its second half.
    late: usize,
}

/// A level that may be a pile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    /// Logarithm of its rate.
    pub(super) at: f64,
    pub(super) share: f64,
    pub(super) reached: usize,
    pub(super) width: f64,
    pub(super) falls_off: f64,
    pub(super) ln_chance: f64,
    /// Visits that are faster.
    pub(super) faster: usize,
    /// Whether two of them, at different moments, agree with each other.
    pub(super) faster_agree: bool,
    /// Whether nearly all visits that have it, or a faster one, have it mostly in their first half.
    pub(super) is_left: bool,
}

/// Windows, the slowest first.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    list: Vec<Window>,
    /// Weight before each window, and of all.
    before: Vec<f64>,
    visits: Vec<Visit>,
    /// Visits by median, the fastest first.
    best: Vec<usize>,
    moments: usize,
}

impl Windows {
    pub(super) fn new(visits: &[VisitWindows], side: Side) -> Self {
        let mut ordered: Vec<&VisitWindows> = visits.iter().filter(|visit| !visit.values.is_empty()).collect();
        ordered.sort_by(|a, b| a.at.total_cmp(&b.at));
        let log = |value: &f64| if side == Side::High { value.ln() } else { -value.ln() };
        let mut merged: Vec<(f64, Vec<(f64, Part)>)> = Vec::new();
        for visit in ordered {
            let (half, count) = (visit.values.len() / 2, visit.values.len());
            let part = |index: usize| match index {
                early if early < half => Part::First,
                late if late >= count - half => Part::Second,
                _ => Part::Middle,
            };
            let values = visit.values.iter().enumerate().map(|(index, value)| (log(value), part(index)));
            match merged.last_mut().filter(|(first, _)| visit.at - first < IN_A_ROW_SECONDS) {
                Some((_, last)) => last.extend(values),
                None => merged.push((visit.at, values.collect())),
            }
        }
        let (mut list, mut of_visits) = (Vec::new(), Vec::new());
        let (mut moment, mut from) = (0, merged.first().map_or(0.0, |(at, _)| *at));
        for (visit, (at, values)) in merged.into_iter().enumerate() {
            if at - from >= APART_SECONDS {
                (moment, from) = (moment + 1, at);
            }
            let weight = 1.0 / values.len() as f64;
            list.extend(values.iter().map(|(at, part)| Window { at: *at, weight, visit, part: *part }));
            let late = values.iter().filter(|(_, part)| *part == Part::Second).count();
            let mut rates: Vec<f64> = values.into_iter().map(|(at, _)| at).collect();
            of_visits.push(Visit { at, moment, late, median: median_in_place(&mut rates) });
        }
        list.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
        let mut best: Vec<usize> = (0..of_visits.len()).collect();
        best.sort_by(|a, b| of_visits[*b].median.total_cmp(&of_visits[*a].median));
        let before = std::iter::once(0.0).chain(list.iter().scan(0.0, |sum, window| {
            *sum += window.weight;
            Some(*sum)
        }));
        Self { before: before.collect(), list, visits: of_visits, best, moments: moment + 1 }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn visits(&self) -> usize {
        self.visits.len()
    }

    pub(super) fn moments(&self) -> usize {
        self.moments
    }

    /// The indices of the windows from one rate to another.
    fn range(&self, from: f64, to: f64) -> std::ops::Range<usize> {
        self.list.partition_point(|w| w.at < from)..self.list.partition_point(|w| w.at <= to)
    }

    fn weight(&self, from: f64, to: f64) -> f64 {
        let range = self.range(from, to);
        self.before[range.end] - self.before[range.start]
    }

    /// The median of the best tenth's last visit, where the visits of each moment count so often.
    pub(super) fn sustained(&self, counts: &[u32]) -> f64 {
        let count = |visit: &usize| counts[self.visits[*visit].moment] as usize;
        let all: usize = self.best.iter().map(count).sum();
        let above = (all / 10).max(LUCKY);
        let mut seen = 0;
        let found = self.best.iter().filter(|visit| count(visit) > 0).find(|visit| {
            seen += count(visit);
            seen > above
        });
        let last = found.or(self.best.iter().rfind(|visit| count(visit) > 0));
        last.map_or(0.0, |visit| self.visits[*visit].median)
    }

    /// The levels with more weight near them than any within two bands, the fastest first.
    pub(super) fn levels(&self) -> Vec<Level> {
        let near: Vec<f64> = self.list.iter().map(|w| self.weight(w.at - PILE_NEAR, w.at + PILE_NEAR)).collect();
        let mut levels = Vec::new();
        let mut last = f64::INFINITY;
        for (index, window) in self.list.iter().enumerate().rev() {
            let within = |other: &usize| (self.list[*other].at - window.at).abs() <= 2.0 * PILE_NEAR;
            let is_higher = |other: usize| near[other] > near[index] + 1e-9;
            let is_peak = last - window.at > 2.0 * PILE_NEAR
                && !(0..index).rev().take_while(within).any(is_higher)
                && !(index..self.list.len()).take_while(within).any(is_higher);
            if is_peak {
                last = window.at;
                levels.extend(self.describe(window.at));
            }
        }
        levels
    }

    /// The middle of the hump that nearly all windows lie in, if they do and next to nothing is faster: its level,
    /// described as others are.
    pub(super) fn hump(&self, levels: &[Level]) -> Option<Level> {
        let mode = levels.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        let once = vec![1; self.moments];
        let mut at = mode.at;
        for _ in 0..HUMP_STEPS {
            at = self.within(at, HUMP.reach).middle(&once)?;
        }
        let all = self.visits.len() as f64;
        let share = self.weight(at - HUMP.reach, at + HUMP.reach) / all;
        let tail = self.weight(at + HUMP.reach, at + 2.0 * HUMP.reach) / all;
        let (faster, faster_agree) = self.faster(at + 2.0 * HUMP.reach);
        let level = Level { at, share, faster, faster_agree, ..self.describe_at(at)? };
        let is_whole = share >= HUMP.share && tail <= HUMP.tail && self.visits.len() >= HUMP.visits;
        (is_whole && faster <= LUCKY && !faster_agree).then_some(level)
    }

    fn describe(&self, centre: f64) -> Option<Level> {
        self.describe_at(self.around(centre).level(&vec![1; self.moments])?)
    }

    fn describe_at(&self, at: f64) -> Option<Level> {
        let near = self.range(at - PILE_NEAR, at + PILE_NEAR);
        let in_band = self.before[near.end] - self.before[near.start];
        let faster = self.weight(at + PILE_NEAR, at + AROUND * PILE_NEAR);
        let mut is_in_band = vec![false; self.visits.len()];
        self.list[near.clone()].iter().for_each(|window| is_in_band[window.visit] = true);
        let (mut last, mut reached) = (f64::NEG_INFINITY, 0);
        for (visit, _) in self.visits.iter().zip(&is_in_band).filter(|(_, is_in_band)| **is_in_band) {
            if visit.at - last >= APART_SECONDS {
                (last, reached) = (visit.at, reached + 1);
            }
        }
        let quantile = |q: f64| {
            let wanted = self.before[near.start] + q * in_band;
            let index = self.before.partition_point(|before| *before <= wanted).saturating_sub(1);
            self.list[index.clamp(near.start, near.end.saturating_sub(1))].at
        };
        let (faster_visits, faster_agree) = self.faster(at + AROUND * PILE_NEAR);
        Some(Level {
            at,
            share: in_band / self.visits.len() as f64,
            reached,
            width: (quantile(0.84) - quantile(0.16)) / 2.0,
            falls_off: faster / in_band,
            ln_chance: self.ln_chance(at),
            faster: faster_visits,
            faster_agree,
            is_left: self.is_left(at - PILE_NEAR),
        })
    }

    /// Whether a rate, or a faster one, is rare, and nearly all visits that have it have it mostly in their first half.
    /// Then it comes from lines that were left in nearer caches. A state of the machine lasts for many visits, and ends
    /// in a visit as often as it begins in one.
    fn is_left(&self, than: f64) -> bool {
        if self.weight(than, f64::INFINITY) >= RARE * self.visits.len() as f64 {
            return false;
        }
        // Both halves have the same number of windows.
        let mut counts = vec![[0, 0, 0]; self.visits.len()];
        for window in self.list.iter().rev().take_while(|w| w.at >= than) {
            counts[window.visit][window.part as usize] += 1;
        }
        let with = counts.iter().filter(|counts| counts.iter().any(|count| *count > 0)).count();
        let first = counts.iter().filter(|[first, _, second]| first > second).count();
        let second = counts.iter().filter(|[first, _, second]| second > first).count();
        first as f64 >= MOSTLY * with as f64 && sign_test(second, first) < LEAVES
    }

    /// Chance that so much of the surroundings lies in the band, at most: each visit counts with the share of its
    /// windows there.
    fn ln_chance(&self, at: f64) -> f64 {
        let mut shares = vec![(0.0, 0.0); self.visits.len()];
        for window in &self.list[self.range(at - AROUND * PILE_NEAR, at + AROUND * PILE_NEAR)] {
            let share = &mut shares[window.visit];
            share.1 += 1.0;
            share.0 += f64::from(u8::from((window.at - at).abs() <= PILE_NEAR));
        }
        let seen: Vec<f64> = shares.iter().filter(|(_, all)| *all > 0.0).map(|(near, all)| near / all).collect();
        let (all, mean) = (seen.len() as f64, seen.iter().sum::<f64>() / seen.len() as f64);
        let expected = 1.0 / AROUND;
        if mean <= expected {
            return 0.0;
        }
        let part = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
        -all * (part(mean, expected) + part(1.0 - mean, 1.0 - expected))
    }

    /// Visits whose second half is faster than a rate, and whether two of them at different moments agree. Rates that
    /// visits begin at and do not keep do not count.
    fn faster(&self, than: f64) -> (usize, bool) {
        if self.is_left(than) {
            return (0, false);
        }
        let mut counts = vec![0.0; self.visits.len()];
        let mut sums = vec![0.0; self.visits.len()];
        for window in self.list.iter().rev().take_while(|w| w.at > than).filter(|w| w.part == Part::Second) {
            counts[window.visit] += 1.0;
            sums[window.visit] += window.at;
        }
        let is_faster =
            |visit: &usize| counts[*visit] >= FASTER * self.visits[*visit].late as f64 && counts[*visit] > 0.0;
        let fast: Vec<usize> = (0..self.visits.len()).filter(is_faster).collect();
        let mean = |visit: usize| sums[visit] / counts[visit];
        let agree = |a: usize, b: usize| {
            self.visits[b].at - self.visits[a].at >= APART_SECONDS && (mean(a) - mean(b)).abs() <= CORE
        };
        let agreed = fast.len() <= LUCKY && fast.iter().any(|a| fast.iter().any(|b| agree(*a, *b)));
        (fast.len(), agreed)
    }

    /// The windows around a level.
    pub(super) fn around(&self, at: f64) -> Around {
        self.within(at, 2.0 * PILE_NEAR)
    }

    /// The windows within a reach of a level.
    pub(super) fn within(&self, at: f64, reach: f64) -> Around {
        let range = self.range(at - reach, at + reach);
        let list = self.list[range].iter().map(|w| (w.at, w.weight, self.visits[w.visit].moment)).collect();
        Around { centre: at, list }
    }
}

/// The windows around a level: logarithm of the rate, weight, moment; the slowest first.
#[derive(Debug, Clone)]
pub(super) struct Around {
    centre: f64,
    list: Vec<(f64, f64, usize)>,
}

impl Around {
    /// The median, where each moment counts so often.
    pub(super) fn middle(&self, counts: &[u32]) -> Option<f64> {
        let weight = |(_, weight, moment): &(f64, f64, usize)| weight * f64::from(counts[*moment]);
        let all: f64 = self.list.iter().map(weight).sum();
        let mut seen = 0.0;
        let found = self.list.iter().find(|window| {
            seen += weight(window);
            seen >= all / 2.0 && seen > 0.0
        });
        found.map(|(at, ..)| *at)
    }

    /// The middle of the narrow band with most weight, where each moment counts so often.
    pub(super) fn level(&self, counts: &[u32]) -> Option<f64> {
        let counted = self.list.iter().map(|(at, weight, moment)| (*at, weight * f64::from(counts[*moment])));
        let counted: Vec<(f64, f64)> = counted.filter(|(_, weight)| *weight > 0.0).collect();
        let is_near = |at: f64| (at - self.centre).abs() <= PILE_NEAR;
        let (mut first, mut sum, mut best) = (0, 0.0, (0.0, 0..0));
        for (last, (at, weight)) in counted.iter().enumerate() {
            sum += weight;
            while counted[first].0 < at - 2.0 * CORE {
                sum -= counted[first].1;
                first += 1;
            }
            if sum > best.0 + 1e-9 && is_near((counted[first].0 + at) / 2.0) {
                best = (sum, first..last + 1);
            }
        }
        let mut seen = 0.0;
        let found = counted[best.1].iter().find(|(_, weight)| {
            seen += weight;
            seen >= best.0 / 2.0
        });
        found.map(|(at, _)| *at)
    }
}
