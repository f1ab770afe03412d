//! Compares saved runs: which numbers describe one thing, which of them changed beyond chance, and which facts of the
//! machines differ. Pure: documents in, a comparison out.

#![forbid(unsafe_code)]

mod basis;
mod evidence;
mod facts;
mod figures;
mod judge;
mod numbers;
mod roles;
mod series;

use std::collections::{HashMap, HashSet, VecDeque};

use tiermark_model::{Against, ComparedFigure, ComparedRun, Comparison, Run};
use tiermark_stats::holm;

pub use figures::run_figures;
use judge::Pair;
use numbers::Number;
pub use series::{FEWEST, OneRun, histories};

/// Relative change up to which two numbers count as the same. Six recorded runs of one machine gave 57 sharp edges.
/// Each was within 3 % of the best value of the six runs; two sharp edges agree within 2 % in 95 of 100 pairs. A
/// smaller change may thus be a difference between hours.
pub const THRESHOLD: f64 = 0.03;
/// Probability that two runs of an unchanged machine have any number that is called better or worse by chance.
pub const LEVEL: f64 = 0.01;

/// A run to compare, under the name that the user gave it.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// Its name on the command line.
    pub name: &'a str,
    /// Its contents.
    pub run: &'a Run,
}

/// How runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Relative change up to which two numbers are the same in practice.
    pub threshold: f64,
    /// Whether tiers are compared by their role, whatever their sizes.
    pub by_role: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { threshold: THRESHOLD, by_role: false }
    }
}

/// Compares each of some runs with the first.
#[must_use]
pub fn compare(first: Document<'_>, others: &[Document<'_>], rules: Rules) -> Comparison {
    let numbers = numbers::of(first.run, rules.by_role);
    let own_facts = facts::facts(first.run);
    let against = |other: &Document<'_>| Against {
        run: ComparedRun::of(other.name, other.run),
        facts: facts::differences(&own_facts, &facts::facts(other.run)),
        figures: figures(&numbers, &numbers::of(other.run, rules.by_role), rules),
    };
    Comparison {
        threshold: rules.threshold,
        level: LEVEL,
        by_role: rules.by_role,
        first: ComparedRun::of(first.name, first.run),
        others: others.iter().map(against).collect(),
    }
}

/// All numbers of two runs, with p-values that count for all of them.
fn figures(first: &[Number<'_>], other: &[Number<'_>], rules: Rules) -> Vec<ComparedFigure> {
    let pairs: Vec<Pair> = aligned(first, other).into_iter().map(|(a, b)| Pair::new(a, b, rules)).collect();
    let tested: Vec<usize> = (0..pairs.len()).filter(|at| pairs[*at].p_value().is_some()).collect();
    let adjusted = holm(&tested.iter().filter_map(|at| pairs[*at].p_value()).collect::<Vec<f64>>());
    let mut p_values = vec![None; pairs.len()];
    tested.into_iter().zip(adjusted).for_each(|(at, p)| p_values[at] = Some(p));
    pairs.into_iter().zip(p_values).map(|(pair, p)| pair.judged(p, rules.threshold)).collect()
}

/// Numbers with the same coordinates side by side; what a run measured several times, in its order. Numbers that only one
/// run has stand beside that of another probe, where the other run has one.
fn aligned<'n, 'a>(
    first: &'n [Number<'a>],
    other: &'n [Number<'a>],
) -> Vec<(Option<&'n Number<'a>>, Option<&'n Number<'a>>)> {
    let mut there: HashMap<&str, Vec<&Number<'a>>> = HashMap::new();
    for number in other.iter().rev() {
        there.entry(&number.key).or_default().push(number);
    }
    let mut pairs: Vec<_> =
        first.iter().map(|number| (Some(number), there.get_mut(number.key.as_str()).and_then(Vec::pop))).collect();
    for number in other {
        let left = there.get_mut(number.key.as_str());
        if let Some(alone) = left.filter(|left| left.last().is_some_and(|last| std::ptr::eq(*last, number))) {
            pairs.push((None, alone.pop()));
        }
    }
    across_probes(pairs)
}

/// Puts numbers that differ by their probe only into one pair.
fn across_probes<'n, 'a>(
    pairs: Vec<(Option<&'n Number<'a>>, Option<&'n Number<'a>>)>,
) -> Vec<(Option<&'n Number<'a>>, Option<&'n Number<'a>>)> {
    let mut alone: HashMap<&str, VecDeque<&Number<'a>>> = HashMap::new();
    for number in pairs.iter().filter(|(first, _)| first.is_none()).filter_map(|(_, other)| *other) {
        alone.entry(number.of_any_probe()).or_default().push_back(number);
    }
    let mut taken: HashSet<*const Number<'a>> = HashSet::new();
    let mut joined = Vec::new();
    for pair in pairs {
        joined.push(match pair {
            (Some(first), None) => {
                let other = alone.get_mut(first.of_any_probe()).and_then(VecDeque::pop_front);
                taken.extend(other.map(std::ptr::from_ref));
                (Some(first), other)
            }
            pair => pair,
        });
    }
    joined.retain(|(first, other)| {
        first.is_some() || other.is_none_or(|other| !taken.contains(&std::ptr::from_ref(other)))
    });
    joined
}
