//! The gate of `compare --fail-over`: whether anything is worse by more than a limit, and whether that can be judged.

use std::collections::BTreeSet;

use crate::Scatter;
use tiermark_model::{
    Against, ChangeVerdict, ComparedFamily, ComparedFigure, ComparedRun, Comparison, Exit, Fact, Obstacle,
};

/// The result of a gate: the first variant that applies. A gate does not pass if it compared nothing (else it would
/// always pass after a change of methods), if a run lacks numbers of the first run, or if the runs are of different
/// machines.
#[derive(Debug, Clone, PartialEq)]
pub enum Gate<'a> {
    /// Not judged: this run is of another machine than the first, and no other run fails the gate.
    OtherMachine(&'a ComparedRun),
    /// These are worse by more than the limit.
    Failed {
        /// Families whose mean is worse by more than the limit.
        families: Vec<&'a ComparedFamily>,
        /// Numbers that are worse by more than the limit.
        figures: Vec<&'a ComparedFigure>,
    },
    /// The core clock is lower by this share, beyond the limit and beyond chance: caches are judged per cycle, and do not
    /// show it.
    SlowerClock(f64),
    /// Not judged: this run has no number that can be compared; with the obstacle of most of them.
    NothingComparable(&'a ComparedRun, Option<&'a Obstacle>),
    /// Not judged: these numbers may be worse. The list may be empty if a run has no sure number.
    Unsure(Vec<&'a ComparedFigure>),
    /// Not judged: a run has not measured these.
    Missing(Vec<&'a ComparedFigure>),
    /// Not judged: these were measured in another way than in the first run.
    OtherMethod(Vec<&'a ComparedFigure>),
    /// Nothing comparable is worse by more than the limit.
    Passed {
        /// Numbers judged, in the run with the fewest.
        judged: usize,
        /// Tiers of which that run has no number judged.
        tiers_unjudged: Vec<String>,
        /// Numbers that are not judged: without a sound value, or of another state.
        doubtful: Vec<&'a ComparedFigure>,
        /// Numbers that may be worse by more than the limit.
        perhaps_worse: Vec<&'a ComparedFigure>,
        /// The share by which the core clock is lower, where that is more than the limit.
        slower_clock: Option<f64>,
    },
}

/// Standard deviations of the part that all numbers of a run share, which the clock makes most of: 2.4 % on a machine,
/// and 9.6 % on a guest, whose clock follows that of its host.
const BEYOND_CHANCE: f64 = 4.0;

impl<'a> Gate<'a> {
    /// Judges a comparison by a limit of the loss: 0.05 is 5 %.
    #[must_use]
    pub fn of(found: &'a Comparison, limit: f64) -> Self {
        let is_over = |loss: Option<f64>| loss.is_some_and(|loss| loss > limit);
        let families_of = |other: &'a Against| other.families.iter().filter(move |family| is_over(family.loss()));
        let is_lost = |other: &'a Against| {
            families_of(other).next().is_some() || other.figures.iter().any(|figure| is_over(figure.loss()))
        };
        let odd = found.others.iter().find(|other| is_of_another_machine(other)).filter(|_| !found.by_role);
        // A loss in another run is reported even if one run is of another machine.
        let hides = found.others.iter().any(|other| !is_of_another_machine(other) && is_lost(other));
        if let Some(other) = odd.filter(|_| !hides) {
            return Self::OtherMachine(&other.run);
        }
        let families: Vec<&ComparedFamily> = found.others.iter().flat_map(families_of).collect();
        let figures = of_all(found, |figure| is_over(figure.loss()));
        if !families.is_empty() || !figures.is_empty() {
            return Self::Failed { families, figures };
        }
        let slower = found.others.iter().filter_map(slower_clock).fold(0.0, f64::max);
        let is_guest = found.others.iter().map(|other| &other.run).chain([&found.first]).any(|run| run.guest);
        if slower > limit.max(BEYOND_CHANCE * Scatter::by_default(is_guest).common) {
            return Self::SlowerClock(slower);
        }
        let is_compared = |figure: &ComparedFigure| !matches!(figure.verdict, ChangeVerdict::NotComparable(_));
        if let Some(other) = found.others.iter().find(|other| !other.figures.iter().any(is_compared)) {
            return Self::NothingComparable(&other.run, main_obstacle(other));
        }
        let blocks = |figure: &ComparedFigure| was_trusted(figure) && figure.blocks_gate(limit);
        let seem = of_all(found, blocks);
        let perhaps_worse = of_all(found, |figure| !blocks(figure) && is_over(figure.unsure_loss()));
        if fewest(found, is_sure) == 0 || !seem.is_empty() {
            return Self::Unsure([seem, perhaps_worse].concat());
        }
        let without = |is_so: fn(&Obstacle) -> bool| {
            of_all(found, |figure| {
                let is_gone = matches!(&figure.verdict, ChangeVerdict::NotComparable(why) if is_so(why));
                is_gone && was_trusted(figure) && is_of_hardware(figure)
            })
        };
        let missing = without(|why| matches!(why, Obstacle::OnlyInFirst | Obstacle::Probe { .. }));
        if !missing.is_empty() {
            return Self::Missing(missing);
        }
        let moved = without(|why| matches!(why, Obstacle::Method { .. } | Obstacle::WorkingSet { .. }));
        if !moved.is_empty() {
            return Self::OtherMethod(moved);
        }
        let doubtful = without(|why| {
            use Obstacle::{Estimate, Missing, State, Suspect};
            matches!(why, Suspect | Missing | State { .. } | Estimate)
        });
        let judged = found.others.iter().map(judged_tiers).min_by_key(|(judged, _)| *judged);
        let (judged, tiers_unjudged) = judged.unwrap_or_default();
        let slower_clock = Some(slower).filter(|slower| *slower > limit);
        Self::Passed { judged, tiers_unjudged, doubtful, perhaps_worse, slower_clock }
    }

    /// The exit code: a gate that cannot be judged is a part of a result.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Passed { .. } => Exit::Done,
            Self::Failed { .. } | Self::SlowerClock(_) => Exit::Regression,
            _ => Exit::Partial,
        }
    }
}

/// The obstacle that most numbers of a run have; of equal counts, the first.
fn main_obstacle(other: &Against) -> Option<&Obstacle> {
    let of_hardware = other.figures.iter().filter(|figure| is_of_hardware(figure));
    let obstacles: Vec<&Obstacle> = of_hardware
        .filter_map(|figure| match &figure.verdict {
            ChangeVerdict::NotComparable(obstacle) => Some(obstacle),
            _ => None,
        })
        .collect();
    let count = |of: &Obstacle| obstacles.iter().filter(|one| ***one == *of).count();
    obstacles.iter().rev().copied().max_by_key(|of| count(of))
}

fn is_of_another_machine(other: &Against) -> bool {
    other.facts.iter().any(|difference| matches!(difference.fact, Fact::CpuModel | Fact::Simulated))
}

/// The share by which the clock of a run is lower than that of the first, by the figures that are judged per cycle.
fn slower_clock(other: &Against) -> Option<f64> {
    let share = |figure: &ComparedFigure| {
        let change = figure.clock_change.filter(|_| !matches!(figure.verdict, ChangeVerdict::NotComparable(_)))?;
        // A time that grows by a half is that of a clock that is lower by a third.
        Some(if figure.less_is_better()? { change / (1.0 + change) } else { -change })
    };
    tiermark_stats::median(&other.figures.iter().filter_map(share).collect::<Vec<_>>())
}

/// The figures of all other runs for which `is_so` holds.
fn of_all(found: &Comparison, is_so: impl Fn(&ComparedFigure) -> bool) -> Vec<&ComparedFigure> {
    found.others.iter().flat_map(|other| &other.figures).filter(|figure| is_so(figure)).collect()
}

/// For how many figures `is_so` holds, in the run with the fewest.
fn fewest(found: &Comparison, is_so: fn(&ComparedFigure) -> bool) -> usize {
    found.others.iter().map(|other| other.figures.iter().filter(|figure| is_so(figure)).count()).min().unwrap_or(0)
}

fn is_sure(figure: &ComparedFigure) -> bool {
    !matches!(figure.verdict, ChangeVerdict::NotComparable(_) | ChangeVerdict::Unsure(_))
}

fn was_trusted(figure: &ComparedFigure) -> bool {
    figure.first.as_ref().is_some_and(|first| first.grade.is_number())
}

/// Whether a figure has a better direction and describes the hardware, not the load of the hour.
fn is_of_hardware(figure: &ComparedFigure) -> bool {
    figure.less_is_better().is_some() && !figure.quantity.is_condition() && !figure.is_of_the_hour()
}

/// How many figures of the hardware the comparison decides, and the tiers without such a figure.
fn judged_tiers(other: &Against) -> (usize, Vec<String>) {
    let (judged, others): (Vec<&ComparedFigure>, Vec<&ComparedFigure>) =
        other.figures.iter().filter(|figure| is_of_hardware(figure)).partition(|figure| is_sure(figure));
    let tiers = |figures: &[&ComparedFigure]| -> BTreeSet<String> {
        figures.iter().filter_map(|figure| figure.labels.tier_name().map(str::to_owned)).collect()
    };
    (judged.len(), tiers(&others).difference(&tiers(&judged)).cloned().collect())
}
