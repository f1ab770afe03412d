//! Whether what is called trusted is true: simulated machines with planted states, neighbours and drift, over many
//! seeds.
//!
//! `TIERMARK_SEEDS=1000 cargo test --release -p tiermark-engine --test pure honest:: -- --nocapture` is the whole comparison.

mod clocks;
mod interrupted;
mod made;
mod noise;
mod sibling;
mod warm;

use made::{SECONDS, machine, measure, measure_steps, steps};
use tiermark_model::{Experiment, Grade, Metric, Observation, ReasonCode, StateKind, ValueKind, testing};
use tiermark_sim::{ComesAndGoes, Neighbours, SimOptions};

/// What a trusted number may be off.
const OFF: f64 = 0.01;
/// What a trusted typical value may be off the undisturbed one: it is within 2 % of a level that is right to 1 %.
const OFF_LEVEL: f64 = 0.03;
/// What the share of a state may be off.
const SHARE_OFF: f64 = 0.05;

/// Seeds of each kind of machine.
fn seeds() -> u64 {
    testing::seeds(4)
}

/// Seeds of each kind of machine, where a few take long enough.
fn few_seeds() -> u64 {
    testing::seeds(3)
}

/// A number from a seed, from 0 to 1, for each purpose another.
fn drawn(seed: u64, purpose: u64) -> f64 {
    tiermark_stats::Rng::new(seed ^ (purpose << 32)).unit()
}

/// A state that is there 20 to 80 % of the time, for 0.2 to 5 s.
fn state(seed: u64, purpose: u64) -> Option<ComesAndGoes> {
    let lasts = 0.2 * 25f64.powf(drawn(seed, purpose + 1));
    Some(ComesAndGoes { share: 0.2 + 0.6 * drawn(seed, purpose), lasts })
}

/// What became of the numbers of one kind of machine.
#[derive(Debug, Default)]
struct Tally {
    numbers: u64,
    trusted: u64,
    covered: u64,
    wrong: Vec<String>,
    bounds: u64,
    /// Bounds beyond the truth.
    untrue: Vec<String>,
    shares: Vec<f64>,
}

impl Tally {
    fn take(&mut self, seed: u64, observations: &[Observation], truth: &[f64]) {
        for (seen, truth) in observations.iter().zip(truth) {
            // A run may be over before its last step begins.
            let Some(value) = seen.value.filter(|_| !seen.visits.is_empty()) else {
                assert!(seen.refusal.is_some(), "seed {seed}: {}: {:?}", seen.step, seen.verdict);
                continue;
            };
            // What cores share is what programs get of it, whatever others leave: `shared` compares it.
            if seen.kind == ValueKind::Typical {
                if seen.verdict.grade == Grade::Trusted && (value / truth - 1.0).abs() > OFF_LEVEL {
                    self.wrong.push(format!("seed {seed}: {} {value}, {truth} there, {:?}", seen.step, seen.edge));
                }
                continue;
            }
            self.numbers += 1;
            if seen.verdict.grade != Grade::Trusted {
                self.take_bound(seed, seen, *truth);
                continue;
            }
            self.trusted += 1;
            let interval = seen.interval.unwrap();
            // A twentieth of a percent is within the steps of the clocks that stamp.
            let slack = 5e-4 * truth;
            self.covered += u64::from(interval.low - slack <= *truth && *truth <= interval.high + slack);
            if (value / truth - 1.0).abs() > OFF {
                self.wrong.push(format!("seed {seed}: {} {value}, {truth} there, {:?}", seen.step, seen.edge));
            }
        }
    }

    fn take_bound(&mut self, seed: u64, seen: &Observation, truth: f64) {
        let value = seen.value.unwrap();
        let better = |a: f64, b: f64| if seen.metric == Metric::Latency { b / a - 1.0 } else { a / b - 1.0 };
        let said = |other: f64| format!("seed {seed}: {} {value} beside {other}: {:?}", seen.step, seen.verdict);
        self.bounds += 1;
        self.untrue.extend((better(value, truth) > OFF).then(|| said(truth)));
    }

    /// At most one trusted number in a hundred is wrong, and 93 of a hundred intervals hold the truth.
    fn check(&self, name: &str, least_trusted: f64) {
        let share = |n: usize, of: u64| 100.0 * n as f64 / of.max(1) as f64;
        let (trusted, wrong) = (share(self.trusted as usize, self.numbers), share(self.wrong.len(), self.trusted));
        let covered = share(self.covered as usize, self.trusted);
        let off = self.shares.iter().copied().fold(0.0, f64::max);
        eprintln!(
            "{name}: {trusted:.0} % of {} numbers trusted, {wrong:.2} % of them off by more than 1 %, {covered:.1} % \
             covered, shares off by {:.1} points at most",
            self.numbers,
            100.0 * off
        );
        eprintln!("{name}: {} bounds, {} beyond the truth by more than 1 %", self.bounds, self.untrue.len());
        assert!(wrong <= 1.0, "{name}: {:#?}", self.wrong);
        assert!(100 * self.untrue.len() as u64 <= self.bounds.max(100), "{name}: {:#?}", self.untrue);
        assert!(trusted >= least_trusted, "{name}: {trusted} % trusted");
        // Of a machine that drifts, the interval is of the level that it had most of the time.
        assert!(covered >= 93.0 || name == DRIFT || self.trusted == 0, "{name}: {covered} % covered");
        assert!(off <= SHARE_OFF, "{name}: {:?}", self.shares);
    }
}

/// The machine that gets slower all the time.
const DRIFT: &str = "drift";

/// Runs machines of one kind; each experiment is looked at as well.
fn many(name: &str, least_trusted: f64, neighbours: impl Fn(u64) -> Neighbours, look: impl Fn(u64, &Experiment)) {
    many_for(SECONDS, name, least_trusted, neighbours, look);
}

/// The same, of runs that last so many seconds.
fn many_for(
    seconds: f64,
    name: &str,
    least_trusted: f64,
    neighbours: impl Fn(u64) -> Neighbours,
    look: impl Fn(u64, &Experiment),
) {
    let quiet = measure(&machine(), SimOptions { noise: 0.0, ..SimOptions::default() });
    let truth: Vec<f64> = quiet.observations.iter().map(|seen| seen.value.unwrap()).collect();
    assert_eq!(truth.len(), steps().len());
    let mut tally = Tally::default();
    for seed in 0..seeds() {
        let neighbours = neighbours(seed);
        // Runs without a trusted number may see one state only: what others do makes a bound no less true.
        if least_trusted > 0.0 && never_changes(&neighbours, seed) {
            continue;
        }
        let options = SimOptions { seed, noise: 0.001, neighbours, ..SimOptions::default() };
        let experiment = measure_steps(&machine(), steps(), seconds, options);
        tally.take(seed, &experiment.observations, &truth);
        if let Some(apart) = neighbours.apart.filter(|_| least_trusted > 0.0) {
            tally.shares.push((apart.seen(SECONDS, seed ^ 3) - share_apart(&experiment)).abs());
        }
        look(seed, &experiment);
    }
    tally.check(name, least_trusted);
}

/// Whether a state was there all the time, or never, so that nothing in the run could tell: a neighbour that never
/// leaves is a record's matter.
fn never_changes(neighbours: &Neighbours, seed: u64) -> bool {
    let states = [(neighbours.sibling, 1), (neighbours.traffic, 2), (neighbours.apart, 3)];
    let seen = states.into_iter().filter_map(|(state, own)| Some(state?.seen(SECONDS, seed ^ own)));
    seen.into_iter().any(|share| !(0.03..0.97).contains(&share))
}

/// Share of the time that the cpus lay apart, as the experiment says.
fn share_apart(experiment: &Experiment) -> f64 {
    let apart = experiment.states.iter().find(|state| matches!(state.state, StateKind::Apart { .. }));
    apart.map_or(0.0, |state| state.share)
}

#[test]
fn a_quiet_machine_is_trusted() {
    many(
        "quiet",
        99.0,
        |_| Neighbours::default(),
        |seed, experiment| {
            assert!(
                experiment.states.is_empty() && experiment.drift.is_empty(),
                "seed {seed}: {:?}",
                experiment.states
            );
        },
    );
}

#[test]
fn cpus_that_a_hypervisor_moves() {
    many("cpus moved", 70.0, |seed| Neighbours { apart: state(seed, 10), ..Neighbours::default() }, |_, _| {});
}

#[test]
fn a_neighbour_on_the_other_hardware_thread() {
    many("sibling", 70.0, |seed| Neighbours { sibling: state(seed, 20), ..Neighbours::default() }, |_, _| {});
}

#[test]
fn traffic_of_others() {
    many("traffic", 70.0, |seed| Neighbours { traffic: state(seed, 30), ..Neighbours::default() }, |_, _| {});
}

#[test]
fn all_of_them_at_once() {
    let neighbours = |seed| Neighbours {
        apart: state(seed, 10),
        sibling: state(seed, 20),
        traffic: state(seed, 30),
        ..Neighbours::default()
    };
    many("all at once", 25.0, neighbours, |_, _| {});
}

#[test]
fn a_few_visits_beside_all_of_them() {
    for (name, seconds) in [("0.2 s", 0.2), ("0.5 s", 0.5), ("1 s", 1.0), ("2 s", 2.0)] {
        let neighbours = |seed| Neighbours {
            apart: state(seed, 10),
            sibling: state(seed, 20),
            traffic: state(seed, 30),
            ..Neighbours::default()
        };
        many_for(seconds, name, 0.0, neighbours, |_, _| {});
    }
}

#[test]
fn a_slow_drift_within_what_a_number_may_be_off() {
    many(DRIFT, 90.0, |_| Neighbours { drift: 0.0002, ..Neighbours::default() }, |_, _| {});
}

#[test]
fn a_change_of_the_clock_is_found_and_the_better_side_is_the_capability() {
    let step = |_| Neighbours { step: Some((0.4 * SECONDS, 0.08)), ..Neighbours::default() };
    many("clock lowered", 90.0, step, |seed, experiment| {
        let Some(drift) = experiment.drift.first() else { panic!("seed {seed}: no change found") };
        let at = drift.at_seconds.unwrap();
        assert!(
            (drift.change.abs() - 0.08).abs() < 0.015 && (at - 0.4 * SECONDS).abs() < 1.0,
            "seed {seed}: {drift:?}"
        );
    });
}

#[test]
fn a_neighbour_that_never_leaves_is_what_only_a_record_can_tell() {
    let quiet = measure(&machine(), SimOptions { noise: 0.0, ..SimOptions::default() });
    let neighbours = Neighbours { always: 0.06, ..Neighbours::default() };
    let experiment = measure(&machine(), SimOptions { neighbours, ..SimOptions::default() });
    for (seen, truth) in experiment.observations.iter().zip(&quiet.observations) {
        assert_eq!(seen.verdict.grade, Grade::Trusted, "{}: the edge is sharp", seen.step);
        assert!(!seen.verdict.has(ReasonCode::BelowRecord), "the record is the program's, and not the engine's");
        assert!((seen.value.unwrap() / truth.value.unwrap() - 1.0).abs() > 0.04);
    }
}
