//! Work on the other hardware thread of a core that the chains of the clock do not feel: all the time, and now and then.

use tiermark_engine::Record;
use tiermark_model::*;
use tiermark_sim::{ComesAndGoes, Neighbours, SimOptions};

use super::OFF;
use super::made::{machine, measure_against, step};

const SECONDS: f64 = 8.0;
/// Operations that a simulated core does in a cycle.
const THROUGHPUT: f64 = 5.0;

/// A machine whose earlier runs saw the core alone.
struct Known;

impl Record for Known {
    fn hold(&self, _: &mut Experiment) {}

    fn throughput(&self, _: Option<CoreKind>) -> Option<f64> {
        Some(THROUGHPUT)
    }
}

fn run(record: &dyn Record, neighbours: Neighbours) -> Experiment {
    let tiers = [("L1", 16 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB)];
    let of = |(tier, bytes)| [Metric::Latency, Metric::Bandwidth].map(|metric| step(tier, bytes, 1, metric));
    let steps = tiers.into_iter().flat_map(of).collect();
    let options = SimOptions { seed: 3, noise: 0.001, neighbours, ..SimOptions::default() };
    measure_against(record, &machine(), steps, SECONDS, options)
}

/// The values of an undisturbed run.
fn alone() -> Vec<f64> {
    run(&(), Neighbours::default()).observations.iter().map(|seen| seen.value.unwrap()).collect()
}

#[test]
fn a_sibling_that_never_rests_is_known_from_the_record() {
    let neighbours = Neighbours { busy_sibling: 0.3, ..Neighbours::default() };
    let (alone, unknown, known) = (alone(), run(&(), neighbours), run(&Known, neighbours));
    for ((truth, unknown), known) in alone.iter().zip(&unknown.observations).zip(&known.observations) {
        let is_of_core = known.labels.is_of_core();
        // The level is sharp, at every moment.
        assert_eq!(unknown.verdict.grade, Grade::Trusted, "{unknown:?}");
        assert_eq!((unknown.value.unwrap() / truth - 1.0).abs() > 0.2, is_of_core, "{}", unknown.step);
        assert_eq!(known.verdict.grade, if is_of_core { Grade::Shared } else { Grade::Trusted }, "{}", known.step);
        assert_eq!(known.verdict.reasons.contains(&Reason::NoClock), is_of_core, "{:?}", known.verdict);
    }
    let [seen] = known.throughputs.try_into().unwrap();
    assert_eq!((seen.kind, seen.record, seen.beside), (None, Some(THROUGHPUT), 1.0));
    assert!((seen.per_cycle - THROUGHPUT / 1.3).abs() < 0.05, "{seen:?}");
}

#[test]
fn visits_beside_a_sibling_that_comes_and_goes_have_no_clock() {
    let share = 0.4;
    let neighbours = Neighbours { sibling: Some(ComesAndGoes { share, lasts: 0.3 }), ..Neighbours::default() };
    let (alone, seen) = (alone(), run(&(), neighbours));
    for (truth, seen) in alone.iter().zip(&seen.observations).filter(|(_, seen)| seen.labels.is_of_core()) {
        assert_eq!(seen.verdict.grade, Grade::Trusted, "{:?}", seen.verdict);
        assert!((seen.value.unwrap() / truth - 1.0).abs() < OFF);
        let better = |value: f64| if seen.metric == Metric::Latency { truth / value } else { value / truth };
        let windows = seen.visits.list.iter().flat_map(|visit| &visit.windows);
        let clocked = windows.filter(|window| window.clocks.iter().all(Option::is_some));
        let beside = clocked.filter_map(|window| window.value()).filter(|value| better(*value) < 0.95).count();
        // Before the run has seen enough of the core alone, it cannot know.
        assert!(beside < seen.visits.list.len() / 10, "{beside} of {}", seen.visits.list.len());
    }
    // The state is known all the same.
    let told = seen.states.iter().find(|state| state.state == StateKind::Sibling).unwrap();
    let there = neighbours.sibling.unwrap().seen(SECONDS, 3 ^ 1);
    assert!((told.share - there).abs() < 0.05, "{told:?} {there}");
    assert!((seen.throughputs[0].beside - there).abs() < 0.1, "{:?} {there}", seen.throughputs);
}
