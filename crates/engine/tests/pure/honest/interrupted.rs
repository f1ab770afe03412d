//! A hypervisor that takes the cpus away thousands of times a second, and tiers that others use all the time.

use tiermark_engine::{Study, conclude};
use tiermark_model::{
    Experiment, Finding, Grade, KIB, Labels, MIB, Metric, Observation, Plan, Quantity, Reason, Refusal, Step, Unit,
};
use tiermark_sim::{Arrangement, Interruptions, LeftAlone, SimHost, SimOptions, SimState};

use super::few_seeds;
use super::made::{machine, measure_steps, step};

/// Seconds of a run.
const SECONDS: f64 = 6.0;
/// What a trusted number of a core's own caches may be off.
const OFF_CORE: f64 = 0.005;
/// What a typical value may be off what was planted, beside its own interval: interruptions that are no part of blocks
/// are known to some percent of themselves.
const OFF_SHARED: f64 = 0.015;
/// What a typical value may be off more where interruptions come in bursts that are longer than visits: about half of
/// their share of the time.
const BURSTS: f64 = 0.025;
/// What the number of interruptions and their share may be off.
const OFF_SHARE: f64 = 0.2;
/// Scatter of the tiers that others use.
const SCATTER: f64 = 0.03;

fn steps() -> Vec<Step> {
    vec![
        step("L1", 16 * KIB, 1, Metric::Latency),
        step("L1", 16 * KIB, 1, Metric::Bandwidth),
        step("L2", 256 * KIB, 1, Metric::Latency),
        step("L2", 512 * KIB, 2, Metric::Bandwidth),
        step("L3", 8 * MIB, 1, Metric::Latency),
        step("L3", 8 * MIB, 1, Metric::Bandwidth),
        step("DRAM", 256 * MIB, 1, Metric::Latency),
        step("DRAM", 256 * MIB, 1, Metric::Bandwidth),
    ]
}

fn run(seed: u64, interruptions: Interruptions) -> (Experiment, Vec<f64>) {
    let state = SimState { shared_hump: SCATTER, ..SimState::default() };
    let options = SimOptions { seed, noise: 0.001, state, interruptions: Some(interruptions), ..SimOptions::default() };
    let quiet = SimOptions { noise: 0.0, ..SimOptions::default() };
    let host = SimHost::new(machine(), vec![tiermark_model::testing::kernel("read/plain")], quiet);
    let truth = |step: &Step| {
        let paces = host.planted(&step.setup).unwrap();
        match step.metric {
            Metric::Latency => 1.0 / paces[0],
            Metric::Bandwidth => paces.iter().sum::<f64>() * 1e9,
        }
    };
    let steps = steps();
    let truths = steps.iter().map(truth).collect();
    (measure_steps(&machine(), steps, SECONDS, options), truths)
}

#[test]
fn what_a_hypervisor_takes_of_the_cpu_is_in_no_number_and_is_told() {
    let arrangements =
        [Arrangement::Periodic { jitter: 0.2 }, Arrangement::Bursty { share: 0.3, seconds: 0.02 }, Arrangement::Random];
    let mut wrong = Vec::new();
    for seed in 0..few_seeds() {
        for (arrangement, (per_second, median_ns)) in arrangements
            .into_iter()
            .zip([(2_000.0, 6_000.0), (18_000.0, 2_300.0), (50_000.0, 1_500.0)].into_iter().cycle())
        {
            let planted = Interruptions { per_second, median_ns, arrangement, ..Interruptions::default() };
            let (experiment, truths) = run(seed, planted);
            for (seen, truth) in experiment.observations.iter().zip(truths) {
                let (value, interval) = (seen.value.unwrap(), seen.within_run().unwrap());
                let off = (value / truth - 1.0).abs();
                let is_core = seen.step.contains("/L1/") || seen.step.contains("/L2/");
                // In bursts, most visits lose less than the share of the last second, and some more.
                let uneven = if matches!(arrangement, Arrangement::Bursty { .. }) { BURSTS } else { 0.0 };
                let slack = if is_core { OFF_CORE } else { OFF_SHARED + uneven + interval.half_of(value) };
                let wanted = if is_core { Grade::Trusted } else { Grade::Shared };
                if off > slack || seen.verdict.grade > wanted {
                    wrong.push(format!(
                        "seed {seed} {arrangement:?}: {} {value}, {truth} there: {:?}",
                        seen.step, seen.verdict
                    ));
                }
            }
            for seen in &experiment.interruptions {
                let there = planted.seen(SECONDS, seen.cpu.unwrap(), seed);
                let number = ((seen.count - seen.long) as f64 / seen.watched_seconds) / there.short.per_second;
                let share = (seen.share - seen.long_share) / there.short.share;
                if (number - 1.0).abs() > OFF_SHARE || (share - 1.0).abs() > OFF_SHARE {
                    wrong.push(format!("seed {seed} {arrangement:?}: {number} {share} of {there:?}, {seen:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Findings of any kind: the conditions of a run without them are none.
struct Found;

impl Study for Found {
    fn plan(&self) -> Result<Plan, Refusal> {
        Ok(Plan::default())
    }

    fn derive(&self, _: &[Observation]) -> Vec<Finding> {
        vec![Finding::new(Quantity::Latency, Labels::new(), Some(1.0), Unit::Ns)]
    }
}

#[test]
fn interruptions_are_findings() {
    let planted = Interruptions { per_second: 18_000.0, median_ns: 2_300.0, ..Interruptions::default() };
    let experiment = conclude(&Found, run(1, planted).0);
    let cpus = &experiment.interruptions;
    let there = planted.seen(SECONDS, cpus[0].cpu.unwrap(), 1);
    for (metric, planted) in [
        (Quantity::InterruptionsRate, there.short.per_second + there.long.per_second),
        (Quantity::InterruptionsShare, there.short.share + there.long.share),
    ] {
        let found = experiment.findings.iter().find(|found| found.quantity == metric).unwrap();
        let value = found.value.unwrap();
        assert!((value / planted - 1.0).abs() < OFF_SHARE, "{metric}: {value}, {planted} planted");
        assert_eq!(found.samples, cpus.iter().map(|cpu| cpu.count).sum::<u64>());
    }
}

/// The host takes memory away that is not used. What it costs to bring it back is no interruption of the cpu.
#[test]
fn stalls_that_no_interruption_explains_are_told() {
    for (touched_first, told) in [(true, false), (false, true)] {
        let left_alone = Some(LeftAlone { touched_first, forgets_after_seconds: 0.01 });
        let interruptions = Some(Interruptions::default());
        let options = SimOptions { left_alone, interruptions, ..SimOptions::default() };
        let step = step("DRAM", 256 * MIB, 1, Metric::Bandwidth);
        let seen = measure_steps(&machine(), vec![step], SECONDS, options).observations.remove(0);
        let is_told = seen.verdict.reasons.iter().any(|reason| matches!(reason, Reason::Stalled { .. }));
        assert_eq!(is_told, told, "{:?} {:?}", seen.verdict, seen.disturbance);
    }
}

/// Blocks of 4 µs, and an interruption every 12 µs: one of three is hit, and the next one refills the caches.
#[test]
fn a_core_whose_blocks_are_mostly_interrupted_is_not_trusted() {
    let interruptions = Interruptions { per_second: 80_000.0, ..Interruptions::default() };
    let (experiment, _) = run(3, interruptions);
    let seen = &experiment.observations[0];
    let reasons = &seen.verdict.reasons;
    let is_told = reasons.iter().any(|reason| matches!(reason, Reason::MostlyInterrupted { .. }));
    assert!(is_told && seen.verdict.grade > Grade::Trusted && seen.value.is_some(), "{:?}", seen.verdict);
}

#[test]
fn without_interruptions_nothing_is_taken_out() {
    let none = Interruptions { per_second: 0.0, long_per_second: 0.0, ..Interruptions::default() };
    let (experiment, truths) = run(1, none);
    assert!(experiment.interruptions.iter().all(|seen| seen.count == 0), "{:?}", experiment.interruptions);
    for (seen, truth) in experiment.observations.iter().zip(truths) {
        let off = (seen.value.unwrap() / truth - 1.0).abs();
        let slack = seen.interval.unwrap().half_of(seen.value.unwrap()).max(0.002);
        assert!(off <= slack, "{}: {:?}, {truth} there", seen.step, seen.value);
    }
}
