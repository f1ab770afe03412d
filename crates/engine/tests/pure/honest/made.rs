//! A machine of two cpus, the steps that are measured on it, and the measuring.

use tiermark_engine::{PlannedExperiment, Record, Study};
use tiermark_model::*;
use tiermark_sim::{SimHost, SimOptions};

/// Seconds of a run.
pub(crate) const SECONDS: f64 = 15.0;

/// Measures these steps for so many seconds.
struct Planned {
    steps: Vec<Step>,
    seconds: f64,
}

impl Study for Planned {
    fn plan(&self) -> Result<Plan, Refusal> {
        Ok(Plan { steps: self.steps.clone(), max_seconds: self.seconds, ..Plan::default() })
    }

    fn derive(&self, _: &[Observation]) -> Vec<Finding> {
        Vec::new()
    }
}

/// Latency and read of every tier, by one cpu and by two.
pub(crate) fn steps() -> Vec<Step> {
    let tiers = [("L1", 16 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB), ("DRAM", 256 * MIB)];
    let chase = |(tier, bytes)| step(tier, bytes, 1, Metric::Latency);
    let read = |threads: u32| move |(tier, bytes)| step(tier, bytes, threads, Metric::Bandwidth);
    tiers.map(chase).into_iter().chain(tiers.map(read(1))).chain(tiers.map(read(2))).collect()
}

/// A step of threads with a region of so many bytes each.
pub(crate) fn step(tier: &str, bytes: u64, threads: u32, metric: Metric) -> Step {
    let (role, layout) = match metric {
        Metric::Latency => (Role::Chase { chains: 1 }, Layout::Chain(ChainLayout::Random)),
        Metric::Bandwidth => (Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() }, Layout::Data),
    };
    let region = testing::region(bytes, PageKind::Thp, layout);
    Step {
        id: format!("{metric:?}/{tier}/{threads}"),
        labels: Labels::new().with_tier_name(tier).with_size(bytes),
        phase: 0,
        metric,
        setup: Setup {
            regions: vec![region; threads as usize],
            threads: (0..threads).map(|cpu| ThreadSetup::new(cpu, role.clone(), cpu as usize)).collect(),
            seed: 7,
        },
        // Until the time is up, as where a headline is never sure enough.
        stop: StopRule { precision: 1e-9, allocations: 3, min_visits: 20, max_visits: 10_000, shot_seconds: 0.002 },
    }
}

/// Two cores with a first and a second level each and a third that they share.
pub(crate) fn machine() -> Machine {
    testing::small_machine(2)
}

/// Measures all steps on a simulated machine.
pub(crate) fn measure(machine: &Machine, options: SimOptions) -> Experiment {
    measure_steps(machine, steps(), SECONDS, options)
}

/// Measures some steps on a simulated machine for so many seconds.
pub(crate) fn measure_steps(machine: &Machine, steps: Vec<Step>, seconds: f64, options: SimOptions) -> Experiment {
    measure_against(&(), machine, steps, seconds, options)
}

/// The same, of a machine with a record.
pub(crate) fn measure_against(
    record: &dyn Record,
    machine: &Machine,
    steps: Vec<Step>,
    seconds: f64,
    options: SimOptions,
) -> Experiment {
    let request = Request { seed: options.seed, ..testing::request("all") };
    let mut host = SimHost::new(machine.clone(), vec![testing::kernel("read/plain")], options);
    PlannedExperiment::new(Box::new(Planned { steps, seconds }), &request, 1).unwrap().run(&mut host, record, &mut ())
}
