//! Which pairs of cpus are measured: all, or some of each relation drawn by seed.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use tiermark_model::messages::rules;
use tiermark_model::{CpuId, CpuPosition, IdSet, Kinds, Machine, Note, Relation};
use tiermark_stats::Rng;

/// The class of pairs that should be alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    pub(super) relation: Relation,
    /// On a hybrid machine: large cores and small ones are not equally fast, and often not equally far from each other.
    pub(super) kinds: Option<Kinds>,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kinds {
            Some(kinds) => write!(f, "{} {kinds}", self.relation),
            None => write!(f, "{}", self.relation),
        }
    }
}

/// Two cpus, the one that begins first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CpuPair {
    pub(super) class: Class,
    pub(super) first: CpuId,
    pub(super) second: CpuId,
}

impl CpuPair {
    /// The same, begun by the other.
    pub(super) fn turned(self) -> Self {
        Self { first: self.second, second: self.first, ..self }
    }
}

/// The pairs to measure, and how many there are.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Choice {
    /// By class, then by cpu.
    pub(super) pairs: Vec<CpuPair>,
    /// All pairs of each class.
    pub(super) all: BTreeMap<Class, u64>,
}

impl Choice {
    /// How many of a class were chosen.
    pub(super) fn chosen(&self, class: Class) -> usize {
        self.pairs.iter().filter(|p| p.class == class).count()
    }

    /// The pair of each class that stands for it where one must: without cpu 0, where interrupts land, if that can be.
    pub(super) fn speakers(&self) -> Vec<CpuPair> {
        let mut speakers: BTreeMap<Class, CpuPair> = BTreeMap::new();
        for pair in &self.pairs {
            let known = speakers.entry(pair.class).or_insert(*pair);
            if (known.first == 0 || known.second == 0) && pair.first != 0 && pair.second != 0 {
                *known = *pair;
            }
        }
        speakers.into_values().collect()
    }

    /// The numbers of chosen pairs and of all pairs.
    pub(super) fn rule(&self, cpus: usize) -> Note {
        let all: u64 = self.all.values().sum();
        if self.pairs.len() as u64 == all {
            return rules::all_pairs(all, cpus);
        }
        let class_text = |(class, all): (&Class, &u64)| format!("{class} {} of {all}", self.chosen(*class));
        let each: Vec<String> = self.all.iter().map(class_text).collect();
        rules::sampled_pairs(cpus, &each.join(", "), all - self.pairs.len() as u64)
    }
}

/// How many pairs of each class there are among the cpus.
pub(super) fn count(machine: &Machine, cpus: &IdSet) -> BTreeMap<Class, u64> {
    let mut counts: Vec<u64> = Vec::new();
    let classes = each_pair(&machine.places(cpus), |class, _| match counts.get_mut(class) {
        Some(count) => *count += 1,
        None => counts.push(1),
    });
    classes.into_iter().zip(counts).collect()
}

/// Chooses at most so many pairs of each class; all where no number is given for one.
pub(super) fn choose(machine: &Machine, cpus: &IdSet, most: &BTreeMap<Class, u64>, seed: u64) -> Choice {
    let mut rng = Rng::new(seed);
    let mut reservoirs: Vec<Reservoir> = Vec::new();
    // Algorithm R (Vitter 1985, Random sampling with a reservoir): one pass, every pair as likely as any other.
    let classes = each_pair(&machine.places(cpus), |class, pair| {
        if class == reservoirs.len() {
            let most = most.get(&pair.class).copied().unwrap_or(u64::MAX);
            reservoirs.push(Reservoir { most, seen: 0, kept: Vec::new() });
        }
        let reservoir = &mut reservoirs[class];
        reservoir.seen += 1;
        if (reservoir.kept.len() as u64) < reservoir.most {
            reservoir.kept.push(pair);
        } else if let Some(place) = reservoir.kept.get_mut(rng.below(reservoir.seen as usize)) {
            *place = pair;
        }
    });
    let all = classes.into_iter().zip(&reservoirs).map(|(class, reservoir)| (class, reservoir.seen)).collect();
    let mut pairs: Vec<CpuPair> = reservoirs.into_iter().flat_map(|reservoir| reservoir.kept).collect();
    pairs.sort_unstable();
    Choice { pairs, all }
}

/// The pairs of one class: so many at most are kept of those seen.
struct Reservoir {
    most: u64,
    seen: u64,
    kept: Vec<CpuPair>,
}

/// Divides a number of pairs among the classes: as many of each, and what a small one leaves goes to the others. Never
/// none of any.
pub(super) fn divide(all: &BTreeMap<Class, u64>, pairs: u64) -> BTreeMap<Class, u64> {
    let mut by_size: Vec<(u64, Class)> = all.iter().map(|(class, count)| (*count, *class)).collect();
    by_size.sort_unstable();
    let (mut left, mut classes) = (pairs, by_size.len() as u64);
    let mut most = BTreeMap::new();
    for (count, class) in by_size {
        let share = (left / classes.max(1)).max(1).min(count);
        most.insert(class, share);
        left = left.saturating_sub(share);
        classes -= 1;
    }
    most
}

/// Visits every pair with the number of its class, counted in the order of their first pairs. Returns the classes by
/// number.
///
/// 16,384 cpus have 134 million pairs: what two sites have in common is worked out once for a row of pairs.
fn each_pair(places: &[(CpuId, CpuPosition)], mut visit: impl FnMut(usize, CpuPair)) -> Vec<Class> {
    let mut sites: HashMap<CpuPosition, u32> = HashMap::new();
    let seats: Vec<(CpuId, u32, u32)> = places
        .iter()
        .map(|(cpu, place)| {
            let next = sites.len() as u32;
            (*cpu, place.core(), *sites.entry(place.site()).or_insert(next))
        })
        .collect();
    let mut classes: Vec<Class> = Vec::new();
    let mut classify = |here: &CpuPosition, there: &CpuPosition| {
        let class = Class { relation: here.relation(there), kinds: here.kinds(there) };
        let number = classes.iter().position(|known| *known == class).unwrap_or(classes.len());
        if number == classes.len() {
            classes.push(class);
        }
        (number, class)
    };
    let (mut row, mut of): (Vec<Option<(usize, Class)>>, Option<u32>) = (Vec::new(), None);
    for (index, (first, core, site)) in seats.iter().enumerate() {
        if of != Some(*site) {
            row = vec![None; sites.len()];
            of = Some(*site);
        }
        for (offset, (second, other, there)) in seats[index + 1..].iter().enumerate() {
            let (number, class) = match row[*there as usize] {
                Some(known) if core != other => known,
                _ => {
                    let found = classify(&places[index].1, &places[index + 1 + offset].1);
                    if core != other {
                        row[*there as usize] = Some(found);
                    }
                    found
                }
            };
            visit(number, CpuPair { class, first: *first, second: *second });
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tiermark_model::{CoreKind, Cpu};

    /// Two sockets of two last-level caches of four cores of two threads: 32 cpus.
    fn machine() -> (Machine, IdSet) {
        let cpu = |id: u32| Cpu { id, core: id / 2, llc: Some(id / 8), socket: id / 16, ..Cpu::default() };
        let cpus: IdSet = (0..32).collect();
        (Machine { cpus: (0..32).map(cpu).collect(), ..Machine::default() }, cpus)
    }

    /// The class of a relation where all cores are alike.
    fn alike(relation: Relation) -> Class {
        Class { relation, kinds: None }
    }

    #[test]
    fn kinds_of_cores_are_classes_of_their_own() {
        let (mut machine, cpus) = machine();
        // In each last-level cache two large cores of two threads and two small ones.
        for cpu in &mut machine.cpus {
            cpu.kind = Some(if cpu.id % 8 < 4 { CoreKind::Performance } else { CoreKind::Efficiency });
        }
        let named: Vec<(String, u64)> = count(&machine, &cpus).iter().map(|(c, n)| (c.to_string(), *n)).collect();
        let llc: Vec<(&str, u64)> =
            named.iter().map(|(c, n)| (c.as_str(), *n)).filter(|(c, _)| c.starts_with("LLC")).collect();
        assert_eq!(llc, [("LLC P-P", 16), ("LLC P-E", 64), ("LLC E-E", 16)]);
        assert_eq!(choose(&machine, &cpus, &BTreeMap::new(), 1).speakers().len(), named.len());
    }

    #[test]
    fn every_pair_has_one_relation() {
        let (machine, cpus) = machine();
        let all = count(&machine, &cpus);
        let expected = [(Relation::Smt, 16), (Relation::Llc, 96), (Relation::Socket, 128), (Relation::Remote, 256)];
        assert_eq!(all, expected.into_iter().map(|(relation, pairs)| (alike(relation), pairs)).collect());
        let choice = choose(&machine, &cpus, &BTreeMap::new(), 1);
        assert_eq!((choice.pairs.len(), &choice.all), (32 * 31 / 2, &all));
        assert_eq!(choice.pairs.iter().collect::<BTreeSet<_>>().len(), choice.pairs.len());
        assert_eq!(choice.rule(32), rules::all_pairs(496, 32));
        // cpu 0 is no example if there are others.
        assert!(choice.speakers().iter().all(|p| p.first != 0) && choice.speakers().len() == 4);
    }

    #[test]
    fn pairs_are_classed_by_row_as_one_by_one() {
        let (mut machine, cpus) = machine();
        for cpu in &mut machine.cpus {
            // A core whose threads are at two sites, and kinds that change within a last-level cache.
            cpu.llc = cpu.llc.filter(|_| cpu.id != 9);
            cpu.kind = Some(if cpu.id % 8 < 5 { CoreKind::Performance } else { CoreKind::Efficiency });
        }
        let places = machine.places(&cpus);
        let mut one_by_one: BTreeMap<Class, u64> = BTreeMap::new();
        for (index, (_, here)) in places.iter().enumerate() {
            for (_, there) in &places[index + 1..] {
                let class = Class { relation: here.relation(there), kinds: here.kinds(there) };
                *one_by_one.entry(class).or_default() += 1;
            }
        }
        assert_eq!(count(&machine, &cpus), one_by_one);
    }

    #[test]
    fn a_sample_has_every_relation_and_follows_from_the_seed() {
        let (machine, cpus) = machine();
        let most = divide(&count(&machine, &cpus), 40);
        assert_eq!(most.values().copied().collect::<Vec<_>>(), [10, 10, 10, 10]);
        let sample = |seed| choose(&machine, &cpus, &most, seed);
        assert_eq!(sample(3), sample(3));
        assert_ne!(sample(3).pairs, sample(4).pairs);
        let all = Relation::ALL.map(alike);
        assert!(all.iter().all(|c| sample(3).chosen(*c) == most.get(c).map_or(0, |n| *n as usize)));
        let rule = sample(3).rule(32);
        assert_eq!(rule.data["left_out"], 456, "{rule}");
        // Even a sample of 1 has a pair of each relation.
        assert_eq!(choose(&machine, &cpus, &divide(&count(&machine, &cpus), 0), 1).pairs.len(), 4);
        // The budget that a small relation does not use goes to the others.
        assert_eq!(divide(&count(&machine, &cpus), 160).values().sum::<u64>(), 160);
    }

    #[test]
    fn every_pair_of_a_relation_is_as_likely() {
        let (machine, cpus) = machine();
        let most = BTreeMap::from([(alike(Relation::Smt), 4)]);
        let mut hits: BTreeMap<CpuPair, u32> = BTreeMap::new();
        for seed in 0..4000 {
            let choice = choose(&machine, &cpus, &most, seed);
            choice
                .pairs
                .iter()
                .filter(|p| p.class == alike(Relation::Smt))
                .for_each(|p| *hits.entry(*p).or_default() += 1);
        }
        // 4 of 16 pairs in each of 4,000 draws: 1,000 each, with a standard deviation of 27.
        assert_eq!(hits.len(), 16);
        assert!(hits.values().all(|n| n.abs_diff(1000) < 140), "{hits:?}");
    }
}
