//! The run loop on simulated machines: what is measured, when it stops, and what the verdict says.

mod kept;
mod time;

use tiermark_engine::{Event, Host, Lab, PlannedExperiment, Sink, Study};
use tiermark_model::Quantity;
use tiermark_model::*;
use tiermark_sim::{SimHost, SimOptions, SimState, Warmth};

/// Plans one latency step a size, and one read step with two rivals.
#[derive(Clone)]
struct Tiny {
    stop: StopRule,
    page: PageKind,
    refines: bool,
}

fn step(id: &str, metric: Metric, bytes: u64, page: PageKind, role: Role, stop: StopRule) -> Step {
    let layout = if metric == Metric::Latency { Layout::Chain(ChainLayout::Random) } else { Layout::Data };
    Step {
        id: id.into(),
        labels: Labels::new().with_size(bytes),
        phase: 0,
        metric,
        setup: Setup {
            regions: vec![testing::region(bytes, page, layout)],
            threads: vec![ThreadSetup::new(0, role, 0)],
            seed: 7,
        },
        stop,
    }
}

impl Study for Tiny {
    fn plan(&self) -> Result<Plan, Refusal> {
        let chase = Role::Chase { chains: 1 };
        let stream = Role::Stream { kernel: "read/plain".into(), rivals: vec!["read/fast".into()] };
        let mut steps: Vec<Step> = [16 * KIB, 256 * MIB]
            .map(|b| step(&format!("chase/{b}"), Metric::Latency, b, self.page, chase.clone(), self.stop))
            .to_vec();
        steps.push(step("read", Metric::Bandwidth, 256 * MIB, self.page, stream, self.stop));
        Ok(Plan { steps, max_seconds: 60.0, ..Plan::default() })
    }

    fn refine(&self, seen: &[Observation]) -> Vec<Step> {
        if !self.refines {
            return Vec::new();
        }
        // Adds one step a call, for ever: the engine must stop it.
        vec![step(
            &format!("extra/{}", seen.len()),
            Metric::Latency,
            32 * KIB,
            self.page,
            Role::Chase { chains: 1 },
            self.stop,
        )]
    }

    fn derive(&self, seen: &[Observation]) -> Vec<Finding> {
        seen.iter()
            .map(|o| Finding {
                interval: o.interval,
                samples: o.visits.len() as u64,
                verdict: o.verdict.clone(),
                evidence: vec![o.step.clone()],
                ..Finding::new(Quantity::Other("seen".into()), o.labels.clone(), o.value, o.unit)
            })
            .collect()
    }
}

/// The steps given, all at once, and those that are added when these were seen.
#[derive(Clone)]
struct Given(Vec<Step>, Vec<Step>);

impl Study for Given {
    fn plan(&self) -> Result<Plan, Refusal> {
        Ok(Plan { steps: self.0.clone(), max_seconds: 20.0, ..Plan::default() })
    }

    fn refine(&self, _: &[Observation]) -> Vec<Step> {
        self.1.clone()
    }

    fn derive(&self, _: &[Observation]) -> Vec<Finding> {
        Vec::new()
    }
}

const STOP: StopRule =
    StopRule { precision: 0.01, allocations: 3, min_visits: 12, max_visits: 600, shot_seconds: 0.002 };

fn tiny() -> Tiny {
    Tiny { stop: STOP, page: PageKind::Thp, refines: false }
}

fn machine() -> Machine {
    testing::small_machine(1)
}

fn kernels() -> Vec<KernelInfo> {
    vec![testing::kernel("read/plain"), KernelInfo { plain: false, ..testing::kernel("read/fast") }]
}

fn request() -> Request {
    Request { seed: 5, ..testing::request("tiny") }
}

#[derive(Default)]
struct Log(Vec<String>);

impl Sink for Log {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(match event {
            Event::ExperimentStarted { plan, .. } => format!("plan {}", plan.steps.len()),
            Event::Filled { filled } => format!("filled {}", filled.bytes),
            Event::StepsAdded { steps } => format!("added {}", steps.len()),
            Event::Visited { step, done, remaining_seconds } => {
                assert!((0.0..=1.0).contains(done) && *remaining_seconds >= 0.0);
                format!("visit {}", step.id)
            }
            Event::Counting { step, .. } => format!("counting {}", step.id),
            Event::Soaking { step, .. } => format!("soaking {}", step.id),
            Event::Observed { observation } => format!("seen {} {}", observation.step, observation.allocations),
            Event::Answered { .. } => "answer".into(),
            Event::ExperimentDone { .. } => "done".into(),
        });
    }
}

/// Wants the time of each block, which events do not have.
struct Keeps;

impl Sink for Keeps {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Observed { observation } = event {
            assert!(observation.block_times.is_empty());
        }
    }

    fn keeps_blocks(&self) -> bool {
        true
    }
}

/// Measures the plan of a study, for so many seconds or as long as the plan allows.
fn measured(
    study: &(impl Study + Clone + 'static),
    seconds: Option<f64>,
    host: &mut dyn Host,
    log: &mut Log,
) -> Experiment {
    let mut planned = PlannedExperiment::new(Box::new(study.clone()), &request(), 3).unwrap();
    planned.plan.max_seconds = seconds.unwrap_or(planned.plan.max_seconds);
    planned.run(host, &(), log)
}

fn run(probe: &Tiny, machine: Machine, options: SimOptions) -> (Experiment, Log) {
    let mut host = SimHost::new(machine, kernels(), options);
    let mut log = Log::default();
    let experiment = measured(probe, None, &mut host, &mut log);
    (experiment, log)
}

fn codes(observation: &Observation) -> Vec<ReasonCode> {
    observation.verdict.reasons.iter().map(Reason::code).collect()
}

#[test]
fn a_quiet_machine_gives_trusted_numbers_of_the_model() {
    let (experiment, _) = run(&tiny(), machine(), SimOptions::default());
    for observation in &experiment.observations {
        assert_eq!(observation.verdict, Verdict::trusted(), "{}", observation.step);
        assert_eq!(observation.allocations, 3);
        assert!(observation.edge.unwrap().share > 0.5 && observation.visits.len() >= 12, "{:?}", observation.edge);
    }
    let l1 = experiment.observations[0].value.unwrap();
    assert!((l1 / 1.3333 - 1.0).abs() < 0.01, "{l1}");
    // Streams over memory also run whole passes, and come to the same there.
    let read = &experiment.observations[2];
    let passes = read.passes.unwrap();
    assert!(passes.count >= 6 && (passes.best / read.value.unwrap() - 1.0).abs() < 0.02, "{passes:?}");
    assert!(experiment.observations[..2].iter().all(|chase| chase.passes.is_none()));
    assert!(experiment.drift.is_empty() && experiment.states.is_empty(), "{:?}", experiment.states);
    assert_eq!(experiment.method, 3);
}

#[test]
fn the_times_of_blocks_are_kept_for_a_listener_that_wants_them() {
    let measured = |sink: &mut dyn Sink| {
        let mut host = SimHost::new(machine(), kernels(), SimOptions::default());
        PlannedExperiment::new(Box::new(tiny()), &request(), 3).unwrap().run(&mut host, &(), sink).observations
    };
    for seen in measured(&mut Keeps) {
        assert!(seen.block_times.visits == seen.visits.len() as u64 && seen.block_times.visits > 0, "{}", seen.step);
        // A thread, and the number of its blocks: 7 bits a byte.
        let [1, low, high, ..] = seen.block_times.base64[..] else { panic!("{}", seen.step) };
        let count = u64::from(low & 0x7f) | if low > 0x7f { u64::from(high) << 7 } else { 0 };
        assert_eq!(seen.visits.list[0].blocks[0].count, count, "{}", seen.step);
    }
    assert!(measured(&mut ()).iter().all(|seen| seen.block_times.is_empty()));
}

#[test]
fn the_faster_kernel_is_measured_and_both_are_kept() {
    let (experiment, _) = run(&tiny(), machine(), SimOptions::default());
    let read = &experiment.observations[2];
    assert_eq!(read.labels.kernel(), Some("read/fast"));
    assert_eq!(
        read.rivals.iter().map(|rival| rival.kernel.0.as_ref()).collect::<Vec<_>>(),
        ["read/plain", "read/fast"]
    );
    assert!(read.rivals[0].ratio == Some(1.0) && read.rivals[1].ratio > Some(1.03), "{:?}", read.rivals);
}

#[test]
fn the_first_kernel_stays_where_no_other_is_better_each_time() {
    let mut kernels = kernels();
    kernels[0].plain = false;
    for seed in 0..20 {
        let noisy = SimOptions { seed, noise: 0.03, ..SimOptions::default() };
        let mut host = SimHost::new(machine(), kernels.clone(), noisy);
        let experiment = measured(&tiny(), None, &mut host, &mut Log::default());
        assert_eq!(experiment.observations[2].labels.kernel(), Some("read/plain"), "seed {seed}");
    }
}

#[test]
fn every_round_visits_every_step_in_changing_order() {
    let (_, log) = run(&tiny(), machine(), SimOptions::default());
    let visits: Vec<&str> = log.0.iter().filter_map(|l| l.strip_prefix("visit ")).collect();
    let rounds: Vec<&[&str]> = visits.chunks_exact(3).take(8).collect();
    for round in &rounds {
        let of_round: std::collections::BTreeSet<&&str> = round.iter().collect();
        assert_eq!(of_round.len(), 3, "{visits:?}");
    }
    assert!(rounds.iter().any(|round| round != &rounds[0]), "{rounds:?}");
    assert_eq!(log.0.first().map(String::as_str), Some("plan 3"));
    assert_eq!(log.0.last().map(String::as_str), Some("done"));
}

#[test]
fn preemption_leaves_the_number_and_its_trust() {
    let quiet = run(&tiny(), machine(), SimOptions::default()).0;
    let busy = run(&tiny(), machine(), SimOptions { preemptions_per_second: 100.0, ..SimOptions::default() }).0;
    for (a, b) in quiet.observations.iter().zip(&busy.observations) {
        assert_eq!(b.verdict.grade, Grade::Trusted, "{}: {:?}", b.step, b.verdict);
        assert!((b.value.unwrap() / a.value.unwrap() - 1.0).abs() < 0.02, "{}", b.step);
        assert!(b.disturbance.gap_share > 0.05, "{}: {:?}", b.step, b.disturbance);
        // What others take of the cpu is told apart.
        let typical = b.typical.unwrap();
        assert!(typical.p90 / typical.p10 < 1.02, "{}: {typical:?}", b.step);
    }
}

#[test]
fn a_clock_that_does_not_resolve_the_blocks_gives_no_number() {
    // Blocks of 31 µs, the longest in so short a visit, against steps of 10 µs: every block is 3 or 4 steps, as in a
    // table of latencies all multiples of one.
    let (experiment, _) = run(&tiny(), machine(), SimOptions { clock_step_ns: 10_000.0, ..SimOptions::default() });
    let chase = &experiment.observations[0];
    assert_eq!((chase.value, chase.verdict.grade), (None, Grade::Invalid));
    assert!(codes(chase).contains(&ReasonCode::Quantised), "{:?}", chase.verdict);
    // Steps of 10 ns, as some processors have, are far below the precision wanted.
    let (experiment, _) = run(&tiny(), machine(), SimOptions { clock_step_ns: 10.0, ..SimOptions::default() });
    assert_eq!(experiment.observations[0].verdict, Verdict::trusted());
}

#[test]
fn a_page_size_not_got_is_said() {
    let mut machine = machine();
    machine.system.thp = Some("never".into());
    let (experiment, _) = run(&tiny(), machine, SimOptions::default());
    assert!(codes(&experiment.observations[1]).contains(&ReasonCode::PageSize));
}

#[test]
fn more_memory_than_there_is_becomes_a_refusal_of_that_step_alone() {
    let mut machine = machine();
    machine.nodes[0].free_bytes = Some(100 * MIB);
    let (experiment, _) = run(&tiny(), machine, SimOptions::default());
    assert!(experiment.observations[0].value.is_some());
    let refusal = experiment.observations[1].refusal.as_ref().unwrap();
    assert!(refusal.why.contains("100 MiB"), "{refusal}");
    assert_eq!(experiment.observations[1].verdict.grade, Grade::Invalid);
}

#[test]
fn stopping_keeps_what_was_measured() {
    let (experiment, log) = run(&tiny(), machine(), SimOptions { stop_after: Some(0.6), ..SimOptions::default() });
    assert!(log.0.iter().filter(|l| l.starts_with("seen")).count() >= 1);
    assert!(experiment.observations.iter().any(|o| o.value.is_some()));
    assert!(experiment.observations.iter().any(|o| codes(o).contains(&ReasonCode::TooFew) || o.refusal.is_some()));
    assert!(experiment.drift.is_empty());
}

#[test]
fn a_probe_that_never_stops_refining_is_stopped() {
    let (experiment, log) = run(&Tiny { refines: true, ..tiny() }, machine(), SimOptions::default());
    let added = log.0.iter().filter(|l| l.starts_with("added")).count();
    assert!((1..100).contains(&added), "{added}");
    assert_eq!(experiment.plan.steps.len(), 3 + added);
    assert_eq!(experiment.observations.len(), experiment.plan.steps.len());
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let a = run(&tiny(), machine(), SimOptions::default()).0;
    let b = run(&tiny(), machine(), SimOptions::default()).0;
    assert_eq!(a, b);
}

#[test]
fn an_unknown_kernel_is_refused_with_a_cure() {
    let mut host = SimHost::new(machine(), Vec::new(), SimOptions::default());
    let plan = tiny().plan().unwrap();
    let Err(refusal) = host.prepare(&plan.steps[2].setup) else { panic!("no kernel is there") };
    assert!(refusal.what.contains("read/plain"), "{refusal}");
}
