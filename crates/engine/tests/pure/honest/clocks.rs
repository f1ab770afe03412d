//! A core clock that moves, in steps or without, within visits and between them.

use tiermark_model::{Experiment, Grade, KIB, MIB, Metric, StateKind, Step};
use tiermark_sim::{SimClock, SimOptions, SimState};

use super::made::{machine, measure_steps, step};
use super::{OFF, drawn, few_seeds};

const SECONDS: f64 = 6.0;
/// The clock at which the quiet machine runs, cycles per second.
const QUIET_HZ: f64 = 3e9;

fn of_cores() -> Vec<Step> {
    let tiers = [("L1", 16 * KIB), ("L2", 512 * KIB)];
    let of = |(tier, bytes)| {
        let step = move |threads, metric| step(tier, bytes, threads, metric);
        [step(1, Metric::Latency), step(1, Metric::Bandwidth), step(2, Metric::Bandwidth)]
    };
    tiers.into_iter().flat_map(of).collect()
}

fn beyond() -> Vec<Step> {
    let step = |tier, bytes| [Metric::Latency, Metric::Bandwidth].map(|metric| step(tier, bytes, 1, metric));
    [("L3", 8 * MIB), ("DRAM", 256 * MIB)].into_iter().flat_map(|(tier, bytes)| step(tier, bytes)).collect()
}

fn run(steps: &[Step], seed: u64, clock: SimClock, beyond_slope: f64) -> Experiment {
    let state = SimState { clock, beyond_slope, ..SimState::default() };
    let noise = if clock == SimClock::Fixed { 0.0 } else { 0.001 };
    measure_steps(&machine(), steps.to_vec(), SECONDS, SimOptions { seed, noise, state, ..SimOptions::default() })
}

fn truth(steps: &[Step]) -> Vec<f64> {
    run(steps, 1, SimClock::Fixed, 0.0).observations.iter().map(|seen| seen.value.unwrap()).collect()
}

/// Clocks around a middle, which differs from run to run: every second one glides.
fn clock(seed: u64) -> SimClock {
    let low = 2.2e9 + 1e8 * (10.0 * drawn(seed, 50)).floor();
    let (high, period) = (low + 4e8, 0.05 * 100f64.powf(drawn(seed, 51)));
    match seed % 2 {
        0 => SimClock::Steps { low, high, step: 1e8, mean_dwell_seconds: period / 10.0 },
        _ => SimClock::Glide { low, high, period_seconds: period },
    }
}

/// No state of other work may be told of, where nobody else works.
fn assert_alone(seed: u64, experiment: &Experiment) {
    let is_other = |kind: StateKind| matches!(kind, StateKind::Sibling | StateKind::Shared | StateKind::OneCore);
    assert!(!experiment.states.iter().any(|state| is_other(state.state)), "seed {seed}: {:?}", experiment.states);
}

#[test]
fn caches_of_the_core_are_the_same_per_cycle_whatever_the_clock() {
    let (steps, mut trusted, mut without, mut all) = (of_cores(), 0, 0, 0);
    let truth = truth(&steps);
    for seed in 0..few_seeds() {
        let clock = clock(seed);
        let experiment = run(&steps, seed, clock, 0.0);
        assert_alone(seed, &experiment);
        for (seen, (truth, step)) in experiment.observations.iter().zip(truth.iter().zip(&steps)) {
            let told = || format!("seed {seed}: {clock:?} {} {:?} {:?}", seen.step, seen.per_cycle, seen.verdict);
            // Without its clock taken out, what a program gets says little: the fault shows. Two clocks that glide may
            // add up to a constant.
            let now = seen.typical.unwrap();
            let is_alone = step.setup.threads.len() == 1;
            assert!(!is_alone || now.p90 / now.p10 > 1.05, "{} {now:?}", told());
            let cycles = if step.metric == Metric::Latency { truth * QUIET_HZ / 1e9 } else { truth / QUIET_HZ };
            let cores = step.setup.threads.len() as f64;
            let planted = if step.metric == Metric::Latency { cycles } else { cycles / cores };
            all += 1;
            // Of two threads the clock is seen before and after a visit only: where it changes every few ms, half of
            // the visits have none.
            let Some(found) = seen.per_cycle.map(|found| found.value) else {
                assert!(!is_alone, "{}", told());
                without += 1;
                continue;
            };
            trusted += u64::from(seen.verdict.grade == Grade::Trusted);
            assert!((found / planted - 1.0).abs() <= OFF, "{} {planted} there", told());
        }
    }
    eprintln!("clocks that move: {trusted} of {all} figures trusted, all within 1 % per cycle, {without} without");
    assert!(50 * without <= all, "{without} of {all}");
    assert!(10 * trusted >= 9 * all, "{trusted} of {all}");
}

#[test]
fn memory_that_does_not_follow_the_clock_is_told_as_measured() {
    let (steps, mut trusted, mut all) = (beyond(), 0, 0);
    let truth = truth(&steps);
    for seed in 0..few_seeds() {
        let experiment = run(&steps, seed, clock(seed), 0.0);
        assert_alone(seed, &experiment);
        for (seen, truth) in experiment.observations.iter().zip(&truth) {
            let told = format!("seed {seed}: {} {:?} {:?}", seen.step, seen.clock_slope, seen.verdict);
            all += 1;
            assert!(seen.clock_slope.is_none(), "{told}");
            trusted += u64::from(seen.verdict.grade == Grade::Trusted);
            assert!(seen.per_cycle.is_none(), "{told}");
            assert!((seen.value.unwrap() / truth - 1.0).abs() <= OFF, "{told}");
        }
    }
    eprintln!("memory beside clocks that move: {trusted} of {all} trusted, none with a slope");
    assert!(10 * trusted >= 9 * all, "{trusted} of {all}");
}

#[test]
fn what_follows_the_clock_in_part_is_given_at_the_clock_of_the_run() {
    let steps = beyond();
    let truth = truth(&steps);
    for seed in 0..few_seeds() {
        let planted = 0.3 + 0.6 * drawn(seed, 52);
        let clock = clock(seed);
        let (SimClock::Steps { low, high, .. } | SimClock::Glide { low, high, .. }) = clock else { continue };
        let experiment = run(&steps, seed, clock, planted);
        assert_alone(seed, &experiment);
        for (seen, (truth, step)) in experiment.observations.iter().zip(truth.iter().zip(&steps)) {
            let told =
                format!("seed {seed}: {} {:?}, {planted} there, {:?}", seen.step, seen.clock_slope, seen.verdict);
            assert!(seen.clock_slope.is_some_and(|slope| (slope - planted).abs() < 0.1), "{told}");
            // The clock of the run is within its range.
            let sign = if step.metric == Metric::Latency { -1.0 } else { 1.0 };
            let at = |hz: f64| truth * (hz / QUIET_HZ).powf(sign * planted);
            let (least, most) = (at(low).min(at(high)), at(low).max(at(high)));
            let value = seen.value.unwrap();
            assert!((least * (1.0 - OFF)..=most * (1.0 + OFF)).contains(&value), "{told}: {least} to {most}: {value}");
        }
    }
}
