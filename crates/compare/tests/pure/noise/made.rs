//! A machine of two cpus, documents that are drawn from the visits of one run, and slower ones.

use tiermark_engine::{PlannedExperiment, Study, reanalyse};
use tiermark_model::*;
use tiermark_sim::{SimHost, SimOptions};
use tiermark_stats::Rng;

/// Seconds of a simulated run.
const SECONDS: f64 = 15.0;
/// Visits in a row that are drawn together: half a second of the recordings.
const BLOCK: usize = 5;
/// Seconds between the visits of a drawn document.
const APART: f64 = 0.2;

/// Every step is a finding.
pub(crate) struct All {
    pub(crate) steps: Vec<Step>,
}

impl Study for All {
    fn plan(&self) -> Result<Plan, Refusal> {
        Ok(Plan { steps: self.steps.clone(), max_seconds: SECONDS, ..Plan::default() })
    }

    fn derive(&self, seen: &[Observation]) -> Vec<Finding> {
        let finding = |seen: &Observation| {
            let metric = if seen.metric == Metric::Latency { Quantity::Latency } else { Quantity::Bandwidth };
            let bare = Finding::new(metric, seen.labels.clone(), seen.value, seen.unit);
            let (interval, verdict) = (seen.interval, seen.verdict.clone());
            Finding { interval, per_cycle: seen.per_cycle, verdict, evidence: vec![seen.step.clone()], ..bare }
        };
        seen.iter().map(finding).collect()
    }
}

/// A chase, or reads, of so many threads.
pub(crate) fn step(id: String, tier: &str, bytes: u64, threads: u32, metric: Metric) -> Step {
    let (role, layout) = match metric {
        Metric::Latency => (Role::Chase { chains: 1 }, Layout::Chain(ChainLayout::Random)),
        Metric::Bandwidth => (Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() }, Layout::Data),
    };
    let region = testing::region(bytes, PageKind::Thp, layout);
    let labels = Labels::new().with_tier_name(tier).with_size(bytes).with_op(&id);
    Step {
        labels: labels.with_threads(threads.into()),
        id,
        phase: 0,
        metric,
        setup: Setup {
            regions: vec![region; threads as usize],
            threads: (0..threads).map(|cpu| ThreadSetup::new(cpu, role.clone(), cpu as usize)).collect(),
            seed: 7,
        },
        stop: StopRule { precision: 1e-9, allocations: 3, min_visits: 20, max_visits: 10_000, shot_seconds: 0.002 },
    }
}

fn steps() -> Vec<Step> {
    let tiers = [("L1", 16 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB), ("DRAM", 256 * MIB)];
    let all = [(1, Metric::Latency), (1, Metric::Bandwidth), (2, Metric::Bandwidth)];
    let of = |(threads, metric): (u32, Metric)| {
        tiers.map(|(tier, bytes)| step(format!("{metric:?}.{tier}.{threads}"), tier, bytes, threads, metric))
    };
    all.into_iter().flat_map(of).collect()
}

/// As many numbers as a survey has: of each tier a latency, and six rates.
pub(crate) fn many_steps() -> Vec<Step> {
    let tiers = [("L1", 16 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB), ("DRAM", 256 * MIB)];
    let rates = [1, 2].into_iter().flat_map(|threads| ["read", "write", "copy"].map(|op| (threads, op)));
    let all: Vec<(u32, &str)> = [(1, "chase")].into_iter().chain(rates).collect();
    let of = |(tier, bytes): (&'static str, u64)| {
        let one = move |(threads, op): (u32, &str)| {
            let metric = if op == "chase" { Metric::Latency } else { Metric::Bandwidth };
            step(format!("{op}.{tier}.{threads}"), tier, bytes, threads, metric)
        };
        all.iter().copied().map(one).collect::<Vec<Step>>()
    };
    tiers.into_iter().flat_map(of).collect()
}

/// Two cores with a first and a second level each and a third that they share.
pub(crate) fn machine() -> Machine {
    testing::small_machine(2)
}

fn request() -> Request {
    testing::request("all")
}

/// Measures all steps on a simulated machine.
pub(crate) fn measure(machine: &Machine, options: SimOptions) -> Experiment {
    measured(steps(), machine, options)
}

/// Measures these steps on a simulated machine.
pub(crate) fn measured(steps: Vec<Step>, machine: &Machine, options: SimOptions) -> Experiment {
    let mut host = SimHost::new(machine.clone(), vec![testing::kernel("read/plain")], options);
    PlannedExperiment::new(Box::new(All { steps }), &request(), 1).unwrap().run(&mut host, &(), &mut ())
}

/// An experiment of these steps and their visits, with its estimates.
pub(crate) fn estimated(steps: Vec<Step>, visits: Vec<Visits>) -> Experiment {
    let seen = |(step, visits): (&Step, Visits)| {
        let clean = Observation::new(&step.id, step.labels.clone(), step.metric);
        // A value, so that it is not withheld before it is estimated.
        Observation { visits, value: Some(1.0), ..clean }
    };
    let observations = steps.iter().zip(visits).map(seen).collect();
    let plan = Plan { steps, max_seconds: SECONDS, ..Plan::default() };
    let experiment = Experiment { observations, ..Experiment::new(request(), 1, plan) };
    reanalyse(&All { steps: Vec::new() }, &experiment, &machine(), &())
}

pub(crate) fn of_visits(experiment: &Experiment, visits: impl Fn(usize, &Visits) -> Visits) -> Experiment {
    let drawn = experiment.observations.iter().enumerate().map(|(at, seen)| visits(at, &seen.visits)).collect();
    estimated(experiment.plan.steps.clone(), drawn)
}

/// Two experiments of visits that are drawn from those of a third.
pub(crate) fn documents(source: &Experiment, visits: usize, rng: &mut Rng) -> [Experiment; 2] {
    [(); 2].map(|()| {
        let drawn: Vec<Visits> = source.observations.iter().map(|seen| draw(&seen.visits, visits, rng)).collect();
        estimated(source.plan.steps.clone(), drawn)
    })
}

pub(crate) fn draw(from: &Visits, visits: usize, rng: &mut Rng) -> Visits {
    let mut list: Vec<Visit> = Vec::with_capacity(visits);
    while list.len() < visits && from.len() >= BLOCK {
        let start = rng.below(from.len() - BLOCK + 1);
        for visit in &from.list[start..start + BLOCK] {
            list.push(Visit { at: APART * (1 + list.len()) as f64, ..visit.clone() });
        }
    }
    Visits { list, ..from.clone() }
}

/// The same experiment with one figure slower by a share.
pub(crate) fn slower(experiment: &Experiment, at: usize, by: f64) -> Experiment {
    let factor = match experiment.observations[at].metric {
        Metric::Latency => 1.0 + by,
        Metric::Bandwidth => 1.0 - by,
    };
    of_visits(experiment, |index, visits| {
        let mut visits = visits.clone();
        let windows = visits.list.iter_mut().flat_map(|visit| &mut visit.windows).filter(|_| index == at);
        windows.flat_map(|window| &mut window.values).for_each(|value| *value = value.map(|value| value * factor));
        visits
    })
}

/// A document with one experiment.
pub(crate) fn run_of(experiment: &Experiment) -> Run {
    Run {
        id: "simulated".into(),
        title: "all".into(),
        seconds: SECONDS,
        seed: 1,
        machine: machine(),
        experiments: vec![experiment.clone()],
        ..Run::default()
    }
}
