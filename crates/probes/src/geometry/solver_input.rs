//! Observations, sorted for the solver.

use std::collections::BTreeMap;

use tiermark_model::{ChainLayout, CpuId, KIB, Machine, Observation, Purpose, Tier};

use super::solve::{Level, Strided, levels, split, ways};
use crate::edges::boundary_names;
use crate::ladder::{points, with_purpose};

/// Footprint of the paired chain that misses the first level and stays in the second, where that is not declared to be
/// smaller.
pub(super) const BEHIND_FIRST: u64 = 512 * KIB;
/// Two sizes of one level, by ways and by footprint, agree within this: the curve bends where the last lines are fought
/// for.
pub(super) const AGREE: f64 = 0.8;

/// Observations by the property that they show.
pub(super) struct GeometryCurves<'a> {
    pub(super) cpu: Option<CpuId>,
    /// Every step of this probe that has a number, with its layout.
    pub(super) chases: Vec<(ChainLayout, &'a Observation)>,
    /// Strided chains.
    pub(super) strided: Vec<Strided>,
    /// The levels of the footprint curve, named.
    pub(super) levels: Vec<(Tier, Level)>,
    /// The curve of footprint and ns.
    pub(super) curve: Vec<(u64, f64)>,
    /// The layout of its chains.
    pub(super) curve_layout: ChainLayout,
}

impl<'a> GeometryCurves<'a> {
    pub(super) fn new(observations: &'a [Observation], machine: &Machine) -> Self {
        let curve = points(with_purpose(observations, Purpose::Curve));
        let shapes = with_purpose(observations, Purpose::Shape).chain(with_purpose(observations, Purpose::Curve));
        Self::of(chases(shapes), curve, ChainLayout::Random, machine)
    }

    /// A table of latencies by footprint and stride. The random rows are the footprint curve; where there are none,
    /// those of the smallest stride. Rising chains take the place of scattered ones: from a page on, prefetchers do not
    /// help them; below, a curve that never leaves its level counts for nothing.
    pub(super) fn of_table(observations: &'a [Observation], machine: &Machine) -> Self {
        let is_plain = |o: &&Observation| o.labels.chains().is_none_or(|chains| chains == 1);
        let mut chases = chases(with_purpose(observations, Purpose::Table).filter(is_plain));
        for (layout, _) in &mut chases {
            if let ChainLayout::Stride(bytes) = *layout {
                *layout = ChainLayout::Scatter(bytes);
            }
        }
        let smallest = chases.iter().filter_map(|(layout, _)| match layout {
            ChainLayout::Scatter(bytes) => Some(*bytes),
            _ => None,
        });
        let has_random = chases.iter().any(|(layout, _)| *layout == ChainLayout::Random);
        let smallest = smallest.min().filter(|_| !has_random);
        let of_curve = smallest.map_or(ChainLayout::Random, ChainLayout::Scatter);
        let curve = points(chases.iter().filter(|(layout, _)| *layout == of_curve).map(|(_, o)| *o));
        Self::of(chases, curve, of_curve, machine)
    }

    fn of(
        chases: Vec<(ChainLayout, &'a Observation)>,
        curve: Vec<(u64, f64)>,
        curve_layout: ChainLayout,
        machine: &Machine,
    ) -> Self {
        let cpu = chases.first().and_then(|(_, o)| o.labels.cpus()?.parse().ok());
        let mut strides: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
        for (layout, o) in &chases {
            if let (ChainLayout::Scatter(stride), Some(size), Some(ns)) = (layout, o.labels.size(), o.value) {
                strides.entry(*stride).or_default().push((size.0, ns));
            }
        }
        let strided: Vec<Strided> = strides.into_iter().map(|(stride, points)| Strided { stride, points }).collect();
        let levels = named(parted(levels(&curve), &curve, &strided), cpu, machine);
        Self { cpu, chases, strided, levels, curve, curve_layout }
    }

    /// Paired chains: (distance, ns) of those that stay in a cache, and of those in memory.
    pub(super) fn pairs(&self) -> [Vec<(u64, f64, &'a Observation)>; 2] {
        let size = |o: &Observation| o.labels.size().map_or(0, |s| s.0);
        let paired: Vec<(u64, u64, f64, &Observation)> = self
            .chases
            .iter()
            .filter_map(|(layout, o)| match layout {
                ChainLayout::Pair(apart) => Some((size(o), *apart, o.value?, *o)),
                _ => None,
            })
            .collect();
        let pairs_of_size = |bytes: Option<u64>| {
            let here = paired.iter().filter(|(size, ..)| Some(*size) == bytes);
            let mut here: Vec<_> = here.map(|(_, apart, ns, o)| (*apart, *ns, *o)).collect();
            here.sort_by_key(|(apart, ..)| *apart);
            here
        };
        // If time or memory allowed only one size, it must be known which: pairs in memory do not show lines.
        let sizes = || paired.iter().map(|(size, ..)| *size);
        let least = sizes().min().filter(|size| *size <= BEHIND_FIRST);
        let most = sizes().max().filter(|most| Some(*most) != least);
        [pairs_of_size(least), pairs_of_size(most)]
    }

    /// The observation of a chain.
    pub(super) fn at(&self, layout: ChainLayout, bytes: u64) -> Option<&'a Observation> {
        let here =
            |(l, o): &&(ChainLayout, &'a Observation)| *l == layout && o.labels.size().is_some_and(|s| s.0 == bytes);
        self.chases.iter().find(here).map(|(_, o)| *o)
    }
}

/// Observations that have a number, with their layout.
fn chases<'a>(observations: impl Iterator<Item = &'a Observation>) -> Vec<(ChainLayout, &'a Observation)> {
    let layout = |o: &Observation| o.labels.layout()?.parse().ok();
    observations.filter(|o| o.value.is_some()).filter_map(|o| Some((layout(o)?, o))).collect()
}

/// Levels with those parted whose ways tell that a smaller one hides in them.
fn parted(levels: Vec<Level>, curve: &[(u64, f64)], strided: &[Strided]) -> Vec<Level> {
    let mut out: Vec<Level> = Vec::new();
    for level in levels {
        let above = out.last().and_then(|l| l.size.high).unwrap_or(0);
        let by_ways = ways(strided, level.ns, level.next_ns).and_then(|w| w.size());
        let inside = by_ways.filter(|size| *size > above && (*size as f64) < AGREE * level.size.low as f64);
        match inside.and_then(|size| split(curve, &level, size)) {
            Some(two) => out.extend(two),
            None => out.push(level),
        }
    }
    out
}

/// Levels by name: by the declared caches where their sizes are near, in their order elsewhere.
fn named(levels: Vec<Level>, cpu: Option<CpuId>, machine: &Machine) -> Vec<(Tier, Level)> {
    let declared = machine.data_caches().filter(|c| cpu.is_some_and(|cpu| c.cpus.contains(cpu))).count();
    let in_order = |index: usize| Tier::Cache(u8::try_from(index + 1).unwrap_or(u8::MAX));
    if levels.len() == declared || declared == 0 {
        return levels.into_iter().enumerate().map(|(i, level)| (in_order(i), level)).collect();
    }
    let estimates: Vec<f64> = levels.iter().map(|l| l.size.value as f64).collect();
    let names = boundary_names(&estimates, cpu, machine);
    let taken = names.clone();
    let mut before = 0;
    let mut out = Vec::new();
    for (level, name) in levels.into_iter().zip(names) {
        // A level far from any declared size follows the one before it, unless another lies nearer to that name.
        let next = in_order(before);
        let name = name.or_else(|| (!taken.contains(&Some(next))).then_some(next));
        let Some(name) = name else { continue };
        before = name.level().map_or(before + 1, usize::from);
        out.push((name, level));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::super::solve::Count;
    use super::*;
    use tiermark_model::{KIB, MIB, testing};

    fn names(sizes: &[u64], declared: &[u64]) -> Vec<String> {
        let cache = |(level, bytes): (usize, &u64)| testing::cache(level as u8 + 1, *bytes, [1]);
        let machine = Machine { caches: declared.iter().enumerate().map(cache).collect(), ..Machine::default() };
        let level = |bytes: &u64| Level {
            ns: 1.0,
            next_ns: 4.0,
            size: Count { value: *bytes, low: *bytes, high: Some(*bytes) },
        };
        named(sizes.iter().map(level).collect(), Some(1), &machine)
            .into_iter()
            .map(|(tier, _)| tier.to_string())
            .collect()
    }

    #[test]
    fn pairs_in_memory_are_no_pairs_in_a_cache() {
        let machine = Machine::default();
        let of = |sizes: &[u64]| {
            let mut all: Vec<Observation> = Vec::new();
            for bytes in sizes {
                all.extend(
                    [256, 64, 8]
                        .map(|apart| fixtures::chase(Purpose::Shape, ChainLayout::Pair(apart), *bytes, apart as f64)),
                );
            }
            let seen = GeometryCurves::new(&all, &machine);
            seen.pairs().map(|pairs| pairs.iter().map(|(apart, ..)| *apart).collect::<Vec<_>>())
        };
        let all = vec![8, 64, 256];
        assert_eq!(of(&[256 * KIB, 64 * MIB]), [all.clone(), all.clone()]);
        assert_eq!(of(&[64 * MIB]), [vec![], all.clone()], "nothing is known of those in a cache");
        assert_eq!(of(&[256 * KIB]), [all, vec![]]);
    }

    #[test]
    fn levels_are_named_in_order_or_by_what_is_declared_near() {
        let declared = [48 * KIB, MIB, 32 * MIB];
        // A third of the declared size still counts as a level.
        assert_eq!(names(&[48 * KIB, MIB, 2 * MIB], &declared), ["L1", "L2", "L3"]);
        assert_eq!(names(&[48 * KIB, MIB], &declared), ["L1", "L2"]);
        assert_eq!(names(&[48 * KIB, 30 * MIB], &declared), ["L1", "L3"]);
        assert_eq!(names(&[48 * KIB, MIB, 30 * MIB], &[]), ["L1", "L2", "L3"]);
        assert_eq!(names(&[48 * KIB, MIB, 30 * MIB], &[48 * KIB]), ["L1", "L2", "L3"]);
    }
}
