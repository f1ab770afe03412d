//! Caches and translations that are cold when a visit begins: with a host that settles a figure is right or a bound;
//! with one that does not, the engine says so.

use tiermark_model::{Experiment, Grade, KIB, MIB, Metric, Observation, ReasonCode, Step};
use tiermark_sim::{Leftovers, SimOptions, SimState, Warmth};

use super::made::{machine, measure_steps, step};
use super::{OFF, drawn, few_seeds};

/// Seconds of a run: some hundred visits to each step.
const SECONDS: f64 = 6.0;

/// A fault that is visible puts a figure off by more than this.
const VISIBLE: f64 = 0.05;

fn steps() -> Vec<Step> {
    vec![
        step("L3", 8 * MIB, 1, Metric::Latency),
        step("DRAM", 256 * MIB, 1, Metric::Latency),
        step("DRAM", 256 * MIB, 1, Metric::Bandwidth),
    ]
}

fn run(steps: &[Step], seed: u64, noise: f64, state: SimState) -> Experiment {
    measure_steps(&machine(), steps.to_vec(), SECONDS, SimOptions { seed, noise, state, ..SimOptions::default() })
}

/// What steps give without noise and faults.
fn truth(steps: &[Step]) -> Vec<f64> {
    run(steps, 1, 0.0, SimState::default()).observations.iter().map(|seen| seen.value.unwrap()).collect()
}

/// Relative distance from the planted value.
fn off(seen: &Observation, truth: f64) -> f64 {
    (seen.value.unwrap() / truth - 1.0).abs()
}

fn is_flagged(seen: &Observation) -> bool {
    seen.verdict.has(ReasonCode::NotSettled)
}

fn told(seed: u64, seen: &Observation, truth: f64) -> String {
    format!("seed {seed}: {} {:?}, {truth} there, {:?}", seen.step, seen.value, seen.verdict)
}

/// Time constants from 0.5 to 80 ms, excesses from 0.2 to 1.
fn warmth(seed: u64) -> Warmth {
    Warmth { excess: 0.2 + 0.8 * drawn(seed, 40), tau_seconds: 0.5e-3 * 160f64.powf(drawn(seed, 41)) }
}

#[test]
fn a_visit_that_times_its_own_warm_up_is_called_not_settled() {
    let (steps, mut flagged, mut all, mut visible) = (steps(), 0, 0, 0);
    let truth = truth(&steps);
    for seed in 0..few_seeds() {
        let state = SimState { settles: false, warmth: Some(warmth(seed)), ..SimState::default() };
        for (seen, truth) in run(&steps, seed, 0.001, state).observations.iter().zip(&truth) {
            all += 1;
            flagged += u64::from(is_flagged(seen));
            visible += u64::from(seen.typical.is_some_and(|now| (now.median / truth - 1.0).abs() > VISIBLE));
            let is_wrong = seen.verdict.grade == Grade::Trusted && off(seen, *truth) > OFF;
            if !is_flagged(seen) || is_wrong {
                eprintln!("{} {:?}", told(seed, seen, *truth), warmth(seed));
            }
        }
    }
    eprintln!("cold visits: {flagged} of {all} flagged, {visible} off by more than 5 %");
    assert!(10 * visible >= 8 * all, "the fault shows");
    assert!(100 * flagged >= 95 * all, "{flagged} of {all}");
}

#[test]
fn a_host_that_settles_is_right_or_says_that_it_is_not() {
    let (steps, mut trusted, mut all) = (steps(), 0, 0);
    let truth = truth(&steps);
    for seed in 0..few_seeds() {
        let state = SimState { warmth: Some(warmth(seed)), ..SimState::default() };
        for (seen, truth) in run(&steps, seed, 0.001, state).observations.iter().zip(&truth) {
            all += 1;
            trusted += u64::from(seen.verdict.grade == Grade::Trusted);
            let is_right = off(seen, *truth) <= OFF;
            assert!(is_right || is_flagged(seen), "{} {:?}", told(seed, seen, *truth), warmth(seed));
        }
    }
    eprintln!("settled visits: {trusted} of {all} trusted, none of them off");
    let short = Warmth { excess: 0.5, tau_seconds: 0.5e-3 };
    for (seen, truth) in
        run(&steps, 1, 0.001, SimState { warmth: Some(short), ..SimState::default() }).observations.iter().zip(&truth)
    {
        assert!(seen.verdict.grade == Grade::Trusted && off(seen, *truth) <= OFF, "{}", told(1, seen, *truth));
    }
}

#[test]
fn steady_visits_are_not_called_unsettled() {
    let (steps, mut flagged, mut all) = (steps(), 0, 0);
    for seed in 0..2 * few_seeds() {
        let noises = [0.0, 0.005 + 0.045 * drawn(seed, 42)];
        let state = SimState { hump: noises[(seed % 2) as usize], ..SimState::default() };
        for seen in run(&steps, seed, 0.001, state).observations {
            all += 1;
            if is_flagged(&seen) {
                flagged += 1;
                eprintln!("{}", told(seed, &seen, 0.0));
            }
        }
    }
    eprintln!("steady visits: {flagged} of {all} flagged");
    assert!(100 * flagged <= all, "{flagged} of {all}");
}

#[test]
fn lines_that_are_kept_from_a_later_use_on_are_held_when_a_visit_begins() {
    let steps = [step("L3", 8 * MIB, 1, Metric::Latency), step("L3", 8 * MIB, 1, Metric::Bandwidth)];
    let truth = truth(&steps);
    for (seed, kept_from_use) in (0..few_seeds()).zip([2, 3].into_iter().cycle()) {
        let state = |settles| SimState { settles, kept_from_use, ..SimState::default() };
        // A chase uses each line once in a visit; a stream comes round often enough, and its first rounds are a trend.
        let cold = run(&steps, seed, 0.001, state(false)).observations;
        assert!(off(&cold[0], truth[0]) > VISIBLE, "{}", told(seed, &cold[0], truth[0]));
        assert!(off(&cold[1], truth[1]) <= OFF || is_flagged(&cold[1]), "{}", told(seed, &cold[1], truth[1]));
        for (seen, truth) in run(&steps, seed, 0.001, state(true)).observations.iter().zip(&truth) {
            assert!(seen.verdict.grade == Grade::Trusted && off(seen, *truth) <= OFF, "{}", told(seed, seen, *truth));
        }
    }
}

#[test]
fn lines_left_in_the_second_level_make_no_capability() {
    // The second level holds 1 MiB.
    let steps = [step("L3", 2 * MIB, 1, Metric::Latency), step("L3", 1536 * KIB, 1, Metric::Bandwidth)];
    let truth = truth(&steps);
    for seed in 0..few_seeds() {
        let leftovers = Leftovers { seconds: 1e-3, factor: 1.1 + 0.4 * drawn(seed, 43) };
        let state = |settles| SimState { settles, leftovers: Some(leftovers), ..SimState::default() };
        for (seen, truth) in run(&steps, seed, 0.001, state(false)).observations.iter().zip(&truth) {
            assert!(off(seen, *truth) > VISIBLE && is_flagged(seen), "{}", told(seed, seen, *truth));
        }
        for (seen, truth) in run(&steps, seed, 0.001, state(true)).observations.iter().zip(&truth) {
            assert!(seen.verdict.grade == Grade::Trusted && off(seen, *truth) <= OFF, "{}", told(seed, seen, *truth));
        }
    }
}
