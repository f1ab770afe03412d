//! The levels of the hierarchy in tables by footprint: for each cache, and for memory, a footprint that it holds, with
//! the latency and the rates measured there.

use crate::machine::Machine;
use crate::observation::Observation;
use crate::purpose::Purpose;
use crate::run::Run;
use crate::tier::Tier;
use crate::units::Metric;

use super::ladder::LADDER_OPS;

/// A cache holds a footprint of this share of it, with what else is in it.
const HELD: f64 = 0.75;
/// Memory is meant from so many times the largest cache on.
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
    let table = |fits: &dyn Fn(&Observation) -> bool| -> Vec<&'a Observation> {
        let seen = run.observations().filter(|o| o.labels.is_for(Purpose::Table) && o.value.is_some());
        seen.filter(|o| o.labels.bytes().is_some() && fits(o)).collect()
    };
    let is_random = |o: &Observation| {
        o.metric == Metric::Latency && o.labels.layout() == Some("random") && o.labels.chains().is_none_or(|n| n == 1)
    };
    let latency = table(&is_random);
    let rates = LADDER_OPS.map(|op| table(&|o| o.metric == Metric::Bandwidth && o.labels.op() == Some(op)));
    if latency.len() < FOOTPRINTS || rates.iter().all(|rates| rates.len() < FOOTPRINTS) {
        return Vec::new();
    }
    let held = |all: &[&'a Observation], from: u64, to: u64| {
        let inside = |o: &&&Observation| o.labels.bytes().is_some_and(|bytes| (from..=to).contains(&bytes));
        all.iter().filter(inside).max_by_key(|o| o.labels.bytes()).copied()
    };
    let point = |(tier, from, to)| LevelPoint {
        tier,
        latency: held(&latency, from, to),
        rates: rates.each_ref().map(|rates| held(rates, from, to)),
    };
    let is_measured = |of: &LevelPoint<'_>| of.latency.is_some() || of.rates.iter().any(Option::is_some);
    bounds(&run.machine).into_iter().map(point).filter(is_measured).collect()
}

/// The footprints that a level holds and the one above does not: of each declared cache, and of memory.
fn bounds(machine: &Machine) -> Vec<(Tier, u64, u64)> {
    let mut sizes: Vec<(u8, u64)> =
        machine.data_caches().filter_map(|cache| Some((cache.level, cache.bytes?))).collect();
    sizes.sort_unstable();
    sizes.dedup_by_key(|(level, _)| *level);
    let mut above = 0;
    let mut all = Vec::new();
    for (level, bytes) in sizes {
        all.push((Tier::Cache(level), above + 1, (bytes as f64 * HELD) as u64));
        above = bytes * BEYOND;
    }
    all.push((Tier::Dram, above.max(1), u64::MAX));
    all
}
