//! The levels of the hierarchy in tables by footprint: for each cache, and for memory, a footprint that it holds, with
//! the latency and the rates measured there.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::figure::{Distance, distance};
use crate::observation::Observation;
use crate::plan::Scope;
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::run::{Experiment, Run};
use crate::tier::Tier;
use crate::units::Metric;

use super::ladder::LADDER_OPS;

/// A cache holds a footprint of this share of it, with what else is in it.
const HELD: f64 = 0.75;
/// A level is meant from so many times the one above it on, which answers a part of less.
const BEYOND: u64 = 2;
/// A table of fewer footprints shows no hierarchy.
const FOOTPRINTS: usize = 8;

/// What was measured of a level.
#[derive(Debug, Clone, Copy)]
pub struct LevelPoint<'a> {
    /// The cache, or memory.
    pub tier: Tier,
    /// The random chase over a footprint that the level holds.
    pub latency: Option<&'a Observation>,
    /// Rates over such a footprint, in the order of [`LADDER_OPS`].
    pub rates: [Option<&'a Observation>; 3],
}

impl LevelPoint<'_> {
    /// The footprints, in bytes: of the latency, and of the rates.
    pub fn footprints(&self) -> [Option<u64>; 2] {
        let bytes = |seen: Option<&Observation>| seen.and_then(|seen| seen.labels.bytes());
        [bytes(self.latency), bytes(self.rates.iter().flatten().next().copied())]
    }
}

/// The levels of a run that measured latency and rates over many footprints, by the caches that the system declares;
/// empty for other runs.
pub fn levels<'a>(run: &'a Run) -> Vec<LevelPoint<'a>> {
    // Of one thread on memory of its own node: a table may have others as well.
    let is_plain = |o: &Observation, scope: &Scope| {
        let own = distance(&o.labels, scope, &run.machine).is_none_or(|distance| distance == Distance::Local);
        o.labels.is_for(Purpose::Table)
            && own
            && o.value.is_some()
            && o.labels.threads().is_none_or(|threads| threads == 1)
    };
    let table = |fits: &dyn Fn(&Observation) -> bool| -> Vec<&'a Observation> {
        let of = |e: &'a Experiment| e.observations.iter().filter(move |o| is_plain(o, &e.request.scope));
        run.experiments.iter().flat_map(of).filter(|o| o.labels.bytes().is_some() && fits(o)).collect()
    };
    let is_random = |o: &Observation| {
        o.metric == Metric::Latency && o.labels.layout() == Some("random") && o.labels.chains().is_none_or(|n| n == 1)
    };
    let latency = table(&is_random);
    let rates = LADDER_OPS.map(|op| table(&|o| o.metric == Metric::Bandwidth && o.labels.op() == Some(op)));
    if latency.len() < FOOTPRINTS || rates.iter().all(|rates| rates.len() < FOOTPRINTS) {
        return Vec::new();
    }
    let held = |all: &[&'a Observation], sizes: &RangeInclusive<u64>| {
        let inside = |o: &&&Observation| o.labels.bytes().is_some_and(|bytes| sizes.contains(&bytes));
        all.iter().filter(inside).max_by_key(|o| o.labels.bytes()).copied()
    };
    let point = |(tier, sizes)| LevelPoint {
        tier,
        latency: held(&latency, &sizes),
        rates: rates.each_ref().map(|rates| held(rates, &sizes)),
    };
    let is_measured = |of: &LevelPoint<'_>| of.latency.is_some() || of.rates.iter().any(Option::is_some);
    bounds(run).into_iter().map(point).filter(is_measured).collect()
}

/// The largest footprint that a cache of this size holds; where its size is only known to be at least `low`, not more
/// than that.
fn most_held(size: u64, low: u64) -> u64 {
    ((size as f64 * HELD) as u64).min(low)
}

/// The footprints that a level carries: beyond the one above, of which `above` is the size, up to what it holds.
pub fn carried(above: u64, size: u64, low: u64) -> RangeInclusive<u64> {
    above.saturating_mul(BEYOND).saturating_add(1)..=most_held(size, low)
}

/// The footprints that a level holds and the one above does not: of each cache as declared or, if that is less, as
/// measured, and of memory. Caches of one level may differ: the smallest holds what all hold, and the largest is what
/// memory lies beyond.
fn bounds(run: &Run) -> Vec<(Tier, RangeInclusive<u64>)> {
    let declared = run.machine.data_caches().filter_map(|cache| Some((cache.level, cache.bytes?, cache.bytes?)));
    let sizes = run.findings().filter(|found| found.quantity == Quantity::GeometrySize);
    let measured = sizes.filter_map(|found| {
        let size = found.value? as u64;
        Some((found.labels.tier()?.level()?, size, found.interval.map_or(size, |interval| interval.low as u64)))
    });
    let mut sizes: BTreeMap<u8, [u64; 2]> = BTreeMap::new();
    for (level, size, low) in declared.chain(measured) {
        let ends = sizes.entry(level).or_insert([u64::MAX, 0]);
        *ends = [ends[0].min(most_held(size, low)), ends[1].max(size)];
    }
    let mut above = 0u64;
    let mut all = Vec::new();
    for (level, [held, most]) in sizes {
        all.push((Tier::Cache(level), above.saturating_add(1)..=held));
        above = most.saturating_mul(BEYOND);
    }
    all.push((Tier::Dram, above.max(1)..=u64::MAX));
    all
}
