//! A/A and power: pairs of runs of an unchanged machine that scatter in several ways, and pairs with a loss.
//!
//! `cargo test --release -p tiermark-compare --test pure -- --nocapture scatter` prints the table;
//! `TIERMARK_PAIRS=1000` sets the pairs of each row. Without it, the first rows alone are made, of a few pairs.

use std::collections::BTreeMap;

use tiermark_compare::{Document, OneRun, Reference, Rules, Scatters, compare, run_figures};
use tiermark_model::*;
use tiermark_sim::SimOptions;
use tiermark_stats::Rng;

use crate::noise::made::{draw, machine, many_steps, measured, of_visits, run_of};

/// Visits of a step, as in a standard survey.
const VISITS: usize = 30;
/// Allocations of a step.
const ALLOCATIONS: u32 = 4;
/// The limit of the gate.
const GATE: f64 = 0.05;
/// What one number of L3 or DRAM loses.
const BEYOND: f64 = 0.10;

/// What unchanged runs differ by: relative standard deviations.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    name: &'static str,
    /// Between the allocations of a step.
    allocations: f64,
    /// Between runs, each number for itself.
    own: f64,
    /// Between runs, all numbers alike: the clock of the cores, and the numbers with it.
    common: f64,
    /// Swing of a slow change within a run, whose phase differs from run to run.
    drift: f64,
    is_guest: bool,
}

/// Own scatter of numbers in cycles of the core on a guest: 13 surveys of one differed by 0.02 to 0.5 %.
const IN_CYCLES: f64 = 0.005;

/// A standard normal value (the sum of twelve uniform ones).
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// A run of a machine that scatters so; `slower`: what a number lost.
fn run(source: &Experiment, kind: Kind, slower: &dyn Fn(&Labels, usize) -> f64, rng: &mut Rng) -> Run {
    let steps = source.observations.len();
    let drawn: Vec<Visits> = source.observations.iter().map(|seen| draw(&seen.visits, VISITS, rng)).collect();
    let common = kind.common * normal(rng);
    let phase = rng.unit() * std::f64::consts::TAU;
    let factors: Vec<(f64, BTreeMap<u32, f64>)> = (0..steps)
        .map(|at| {
            let is_clocked = source.observations[at].per_cycle.is_some();
            let own = if kind.is_guest && is_clocked { kind.own.min(IN_CYCLES) } else { kind.own } * normal(rng);
            let each = (0..ALLOCATIONS).map(|at| (at, kind.allocations * normal(rng))).collect();
            (common + own, each)
        })
        .collect();
    let made = of_visits(source, |at, _| {
        let seen = &source.observations[at];
        // A time grows by what a rate loses.
        let direction = if seen.metric == Metric::Latency { -1.0 } else { 1.0 };
        let lost = (1.0 - slower(&seen.labels, at)).ln();
        let mut visits = drawn[at].clone();
        for (index, visit) in visits.list.iter_mut().enumerate() {
            visit.allocation = index as u32 * ALLOCATIONS / VISITS as u32;
            // A period of the length of the run.
            let moment = index as f64 / VISITS as f64 * std::f64::consts::TAU;
            let drift = kind.drift * (moment + phase).sin();
            let off = direction * (factors[at].0 + factors[at].1[&visit.allocation] + drift + lost);
            for window in &mut visit.windows {
                window.values.iter_mut().flatten().for_each(|value| *value *= off.exp());
                window.clocks.iter_mut().flatten().for_each(|clock| clock.hz *= common.exp());
            }
        }
        visits
    });
    let mut run = run_of(&made);
    run.machine.system.hypervisor = kind.is_guest.then(|| "KVM".to_owned());
    run
}

/// The scatter that a history of some runs shows.
fn history(source: &Experiment, kind: Kind, runs: usize, rng: &mut Rng) -> Scatters {
    let about: Vec<RunFigures> = (0..runs).map(|_| run_figures(&run(source, kind, &|_, _| 0.0, rng))).collect();
    let ids: Vec<String> = (0..runs).map(|at| format!("{at:04}")).collect();
    let runs = about.iter().zip(&ids).map(|(about, id)| OneRun { id, started: "", day: None, about });
    Scatters::of_history(&runs.collect::<Vec<_>>(), kind.is_guest)
}

/// What was seen of some pairs.
#[derive(Debug, Default)]
struct Seen {
    pairs: usize,
    /// Unchanged: pairs in which a number or a family is better or worse.
    alarmed: usize,
    /// Unchanged: pairs in which one is worse by more than the gate's limit.
    failed: usize,
    /// Unchanged: pairs that the gate does not judge.
    unjudged: usize,
    /// Pairs in which the rates of DRAM lost 5 %, and those in which this is named.
    family: usize,
    /// Pairs in which one number that both trust lost 8 % (at random 12 %), and those in which this is named.
    single: usize,
    singles: usize,
    /// Pairs in which one rate, or one latency, of L3 or DRAM lost 10 %, whatever its grade, and those in which it is
    /// named.
    rates: Named,
    latencies: Named,
}

/// Of some pairs with a loss, those in which it is named.
#[derive(Debug, Default, Clone, Copy)]
struct Named {
    found: usize,
    of: usize,
}

fn compared(first: &[Run], other: &Run, scatters: Option<&Scatters>) -> Against {
    let all: Vec<Document<'_>> = first.iter().map(|run| Document { name: "a", run }).collect();
    let reference = Reference { first: all[0], more: &all[1..], scatters };
    compare(&reference, &[Document { name: "b", run: other }], Rules::default()).others.remove(0)
}

fn tried(source: &Experiment, kind: Kind, pairs: usize, runs: usize, past: usize, seed: u64) -> Seen {
    let mut rng = Rng::new(seed);
    // Losses beyond the cores have draws of their own, so that the other columns are of the same pairs without them.
    let mut beyond = Rng::new(!seed);
    let mut seen = Seen { pairs, ..Seen::default() };
    for _ in 0..pairs {
        let scatters = (past > 0).then(|| history(source, kind, past, &mut rng));
        let first: Vec<Run> = (0..runs).map(|_| run(source, kind, &|_, _| 0.0, &mut rng)).collect();
        let other = run(source, kind, &|_, _| 0.0, &mut rng);
        let found = compared(&first, &other, scatters.as_ref());
        let moved = found.figures.iter().any(|f| f.verdict.has_moved());
        seen.alarmed += usize::from(moved || found.families.iter().any(|family| family.verdict.has_moved()));
        let losses = found.figures.iter().filter_map(ComparedFigure::loss);
        let failed = losses.chain(found.families.iter().filter_map(ComparedFamily::loss)).any(|loss| loss > GATE);
        seen.failed += usize::from(failed);
        seen.unjudged += usize::from(!failed && found.figures.iter().any(|figure| figure.blocks_gate(GATE)));
        let is_rate = |labels: &Labels| !labels.op().is_some_and(|op| op.starts_with("chase"));
        let is_dram = |labels: &Labels| labels.tier() == Some(Tier::Dram) && is_rate(labels);
        let slow = run(source, kind, &|labels, _| if is_dram(labels) { 0.05 } else { 0.0 }, &mut rng);
        let found = compared(&first, &slow, scatters.as_ref());
        let named = found.families.iter().any(|f| f.tier == "DRAM" && f.verdict == ChangeVerdict::Worse);
        seen.family += usize::from(named);
        let at = rng.below(source.observations.len());
        // Intervals assume that accesses at random scatter twice as much between runs as other numbers.
        let is_random = source.observations[at].labels.op() == Some("chase.DRAM.1");
        let loss = if is_random { 0.12 } else { 0.08 };
        let slow = run(source, kind, &|_, index| if index == at { loss } else { 0.0 }, &mut rng);
        let trusted = |run: &Run| run.experiments[0].findings[at].verdict.grade == Grade::Trusted;
        if first.iter().chain([&slow]).all(trusted) {
            seen.singles += 1;
            let found = compared(&first, &slow, scatters.as_ref());
            let figure = &found.figures[at];
            seen.single += usize::from(figure.verdict == ChangeVerdict::Worse);
            if figure.verdict != ChangeVerdict::Worse {
                eprintln!("{} {:?} {:?} {:?}", figure.labels, figure.change, figure.interval, figure.p_value);
            }
        }
        seen.slow_beyond_cores(source, kind, (&first, scatters.as_ref()), &mut beyond);
    }
    seen
}

impl Seen {
    /// Makes one number of L3 or DRAM slower.
    fn slow_beyond_cores(
        &mut self,
        source: &Experiment,
        kind: Kind,
        (first, scatters): (&[Run], Option<&Scatters>),
        rng: &mut Rng,
    ) {
        let is_beyond =
            |at: &usize| ["L3", "DRAM"].iter().any(|tier| source.observations[*at].labels.tier_name() == Some(tier));
        let beyond: Vec<usize> = (0..source.observations.len()).filter(is_beyond).collect();
        let at = beyond[rng.below(beyond.len())];
        let slow = run(source, kind, &|_, index| if index == at { BEYOND } else { 0.0 }, rng);
        let figure = &compared(first, &slow, scatters).figures[at];
        let is_latency = source.observations[at].metric == Metric::Latency;
        let named = if is_latency { &mut self.latencies } else { &mut self.rates };
        named.of += 1;
        named.found += usize::from(figure.verdict == ChangeVerdict::Worse);
    }
}

fn row(name: &str, seen: &Seen) {
    let share = |count: usize, of: usize| format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64);
    let named = |of: Named| format!("{} ({})", share(of.found, of.of), of.of);
    eprintln!(
        "| {name} | {} | {} | {} | {} | {} | {} ({}) | {} | {} |",
        seen.pairs,
        share(seen.alarmed, seen.pairs),
        share(seen.failed, seen.pairs),
        share(seen.unjudged, seen.pairs),
        share(seen.family, seen.pairs),
        share(seen.single, seen.singles),
        seen.singles,
        named(seen.rates),
        named(seen.latencies)
    );
}

#[test]
fn scatter_between_runs_raises_no_alarm_and_hides_no_loss() {
    const SEED: u64 = 20_261_126;
    let asked: Option<usize> = std::env::var("TIERMARK_PAIRS").ok().and_then(|n| n.parse().ok());
    let pairs = asked.unwrap_or(5);
    let options = SimOptions { seed: 20, noise: 0.004, ..SimOptions::default() };
    let source = measured(many_steps(), &machine(), options);
    let quiet = Kind { name: "visits only", ..Kind::default() };
    let own = Kind { name: "between runs 1 %", own: 0.01, ..quiet };
    let allocations = Kind { name: "between allocations 2 %", allocations: 0.02, ..quiet };
    let kinds = [
        quiet,
        own,
        allocations,
        Kind { name: "guest: 1.4 %, shared 2.4 %", own: 0.014, common: 0.024, is_guest: true, ..quiet },
        Kind { name: "between runs 0.8 %, shared 0.6 %", own: 0.008, common: 0.006, ..quiet },
        Kind { name: "drift of 2 % within runs", drift: 0.02, ..quiet },
    ];
    eprintln!("seed {SEED}");
    eprintln!(
        "| scatter | pairs | alarm | gate fails | gate not judged | family -5 % | one -8 % (pairs) | \
         rate -10 % (pairs) | latency -10 % (pairs) |"
    );
    // One more than one of 20, since few pairs may have one by chance.
    let rare = |count: usize, seen: &Seen| count <= 1 + seen.pairs / 20;
    for (at, kind) in kinds.into_iter().enumerate().take(if asked.is_some() { kinds.len() } else { 4 }) {
        let seen = tried(&source, kind, pairs, 1, 0, SEED + at as u64);
        row(kind.name, &seen);
        assert!(
            rare(seen.alarmed, &seen) && rare(seen.failed, &seen) && (kind.is_guest || rare(seen.unjudged, &seen)),
            "{kind:?} {seen:?}"
        );
        if kind.own <= 0.01 && !kind.is_guest && kind.drift == 0.0 && kind.allocations == 0.0 {
            let (missed, lost) = (seen.pairs - seen.family, seen.singles - seen.single);
            assert!(rare(missed, &seen) && lost * 10 <= seen.singles, "{kind:?} {seen:?}");
        }
    }
    if asked.is_none() {
        return;
    }
    let guest = Kind { name: "", own: 0.014, common: 0.024, is_guest: true, ..quiet };
    let still = Kind { name: "", own: 0.005, common: 0.005, is_guest: true, ..quiet };
    let rows = [
        ("between runs 1 %, history of 5 runs", own, 1, 5),
        ("between runs 1 %, history of 20 runs", own, 1, 20),
        ("between runs 1 %, baseline of 5 runs", own, 5, 0),
        ("guest, baseline of 5 runs, history of 20", guest, 5, 20),
        ("guest of 0.7 %, history of 20 runs", still, 1, 20),
    ];
    for (at, (name, kind, runs, past)) in rows.into_iter().enumerate() {
        let seen = tried(&source, kind, pairs / 2, runs, past, SEED + 10 + at as u64);
        row(name, &seen);
        assert!(rare(seen.alarmed, &seen) && rare(seen.failed, &seen), "{name} {seen:?}");
    }
}
