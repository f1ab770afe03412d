//! Compares saved runs: which numbers describe one thing, which of them changed beyond chance, and which facts of the
//! machines differ; [`fleet`] compares hosts with their peers. Pure: documents in, a comparison out.

#![forbid(unsafe_code)]

mod align;
mod alone;
mod basis;
mod evidence;
mod facts;
mod families;
mod figures;
pub mod fleet;
mod gate;
mod judge;
mod kernels;
mod numbers;
mod others;
mod roles;
mod scale;
mod scatter;
mod series;

use std::collections::{HashMap, HashSet};

use tiermark_model::{Against, ComparedFamily, ComparedFigure, ComparedRun, Comparison, Run, RunScatter};
use tiermark_stats::holm;

use align::aligned;
use alone::{Aligned, Alone};
use evidence::Weighed;
pub use figures::{named_figures, run_facts, run_figures};
pub use gate::Gate;
use judge::ComparedPair;
use numbers::Number;
pub use scatter::{FEWEST_RUNS, MOST_RUNS, Scatter, Scatters};
pub use series::{FEWEST, OneRun, histories, obstacle};

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

/// What others are compared with.
#[derive(Debug, Clone)]
pub struct Reference<'a> {
    /// The run whose numbers and facts count.
    pub first: Document<'a>,
    /// Further runs of the same machine: their values count for the means.
    pub more: &'a [Document<'a>],
    /// The scatter between runs of the machine; `None`: the default.
    pub scatters: Option<&'a Scatters>,
}

impl<'a> Reference<'a> {
    /// One run of a machine without a history.
    #[must_use]
    pub fn one(first: Document<'a>) -> Self {
        Self { first, more: &[], scatters: None }
    }
}

/// Compares each of some runs with a run, or with the mean of several.
#[must_use]
pub fn compare(reference: &Reference<'_>, others: &[Document<'_>], rules: Rules) -> Comparison {
    let first = reference.first;
    let own = numbers::of(first.run, rules.by_role);
    let more: Vec<Vec<Number<'_>>> =
        reference.more.iter().map(|document| numbers::of(document.run, rules.by_role)).collect();
    let more = by_key(&more);
    let own_facts = facts::facts(first.run);
    let against = |other: &Document<'_>| {
        let is_guest = [first.run, other.run].iter().any(|run| run.machine.system.hypervisor.is_some());
        let default = Scatters::by_default(is_guest);
        let scatters = reference.scatters.unwrap_or(&default);
        let judged = judged(&own, &more, &numbers::of(other.run, rules.by_role), scatters, rules);
        Against {
            run: ComparedRun::of(other.name, other.run),
            facts: facts::differences(&own_facts, &facts::facts(other.run)),
            figures: judged.figures,
            families: judged.families,
            scatter: judged.scatter,
        }
    };
    Comparison {
        threshold: rules.threshold,
        level: LEVEL,
        by_role: rules.by_role,
        first: ComparedRun::of(first.name, first.run),
        more_first: reference.more.iter().map(|more| ComparedRun::of(more.name, more.run)).collect(),
        others: others.iter().map(against).collect(),
    }
}

/// The numbers of further runs by their coordinates. What a run measured several times has no place in a mean.
fn by_key<'n, 'a>(runs: &'n [Vec<Number<'a>>]) -> HashMap<&'n str, Vec<&'n Number<'a>>> {
    let mut all: HashMap<&str, Vec<&Number<'a>>> = HashMap::new();
    for numbers in runs {
        let mut seen = HashSet::new();
        for number in numbers.iter().filter(|number| seen.insert(number.key.as_str())) {
            all.entry(&number.key).or_default().push(number);
        }
    }
    all
}

/// All numbers of two runs.
struct Judged {
    figures: Vec<ComparedFigure>,
    families: Vec<ComparedFamily>,
    scatter: Vec<RunScatter>,
}

/// Judges all numbers of two runs, with p-values that count for all tests.
fn judged<'n, 'a>(
    first: &'n [Number<'a>],
    more: &HashMap<&str, Vec<&'n Number<'a>>>,
    other: &'n [Number<'a>],
    scatters: &Scatters,
    rules: Rules,
) -> Judged {
    let more_of = |number: Option<&Number<'a>>| {
        number.and_then(|number| more.get(number.key.as_str())).map_or(&[][..], Vec::as_slice)
    };
    let aligned = aligned(first, other, rules.by_role);
    let alone = Alone::of(&aligned, rules.by_role);
    let pair = |(a, b): Aligned<'n, 'a>| ComparedPair::new(a, more_of(a), b, rules).because(alone.why((a, b)));
    let pairs: Vec<ComparedPair> = aligned.iter().copied().map(pair).collect();
    let noises = families::noises(&pairs, scatters);
    let weighed: Vec<Option<Weighed>> = pairs.iter().map(|pair| pair.weighed(&noises)).collect();
    let means = families::means(&pairs, &weighed, &noises);
    let tested = others::tested(&pairs, &weighed, &means, &noises);
    let of_means = means.iter().map(|mean| mean.weighed.p_value);
    let all: Vec<f64> = tested.iter().flatten().map(|one| one.p_value).chain(of_means).collect();
    let mut adjusted = holm(&all).into_iter();
    let pairs = pairs.into_iter().zip(tested);
    let figures = pairs
        .map(|(pair, tested)| pair.judged(tested, tested.and_then(|_| adjusted.next()), rules.threshold))
        .collect();
    let families = means.iter().zip(adjusted).map(|(mean, p_value)| mean.judged(p_value, rules)).collect();
    Judged { figures, families, scatter: families::reported(&noises) }
}
