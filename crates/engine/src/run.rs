//! The run loop: keeps the rigs of a probe's plan and revisits every step in random order, until every one is measured
//! well enough or time is up.

mod allocations;
mod conclude;
mod rounds;
mod visit;

use std::collections::BTreeSet;

use tiermark_model::messages::run as says;
use tiermark_model::{
    AFTER_FIGURES, BlockTimes, Experiment, Observation, Plan, Purpose, Refusal, Request, Role, Step, TimeSpent,
};
use tiermark_stats::Rng;

use crate::cell::Cell;
use crate::clock::RunClock;
use crate::event::{Event, Sink};
use crate::host::Host;
use crate::interruptions::Interruptions;
use crate::probe::{Lab, Probe, Record, Study};
use crate::soak;
use crate::states::Conditions;
use crate::throughput::Throughputs;
use allocations::{Keep, is_piece, shared_home, wanted};
pub use conclude::{conclude, reanalyse};
use rounds::{ANSWER_SECONDS, Stage};

/// Times a probe may add steps: a probe that never stops adding must not run for ever. A noisy curve gets its most
/// points in a dozen rounds, and the figures only after them.
const MAX_REFINEMENTS: usize = 32;
/// Share of a run's time that filling memory for a point of a curve may take.
const FILLING_SHARE: f64 = 0.25;
/// A step takes over the visits of another that did the same, from this size on: those of smaller memory take no time.
const INHERITED_FROM: u64 = 16 << 20;

/// A request that is ready to be measured, with the plan that was made of it.
pub struct PlannedExperiment {
    /// The request.
    pub request: Request,
    /// The plan: its steps, and what of the request is refused.
    pub plan: Plan,
    method: u32,
    study: Box<dyn Study>,
}

impl PlannedExperiment {
    /// Plans a request by its study, which follows this version of the probe's method.
    ///
    /// # Errors
    /// As [`Study::plan`].
    pub fn new(study: Box<dyn Study>, request: &Request, method: u32) -> Result<Self, Refusal> {
        Ok(Self { request: request.clone(), plan: study.plan()?, method, study })
    }

    /// Measures it on a host: measures the plan's steps and those that follow from their results, holds the numbers
    /// against a record, finds states and changes, and derives findings.
    ///
    /// Every event goes to `sink`. Has the results so far if the user stopped the run; the caller checks this with
    /// [`Host::stopped`].
    pub fn run(self, host: &mut dyn Host, record: &dyn Record, sink: &mut dyn Sink) -> Experiment {
        let Self { request, plan, method, study } = self;
        sink.event(&Event::ExperimentStarted { request: &request, method, plan: &plan });
        let planned = Experiment::new(request, method, plan);
        let (mut experiment, block_times) = match planned.plan.steps.iter().find(|step| soak::role(step).is_some()) {
            Some(step) => (soaked(step, &planned, host, sink), Vec::new()),
            None => visited(planned, study.as_ref(), host, record, sink),
        };
        record.hold(&mut experiment);
        experiment.observations.iter().for_each(|observation| sink.event(&Event::Observed { observation }));
        let mut experiment = conclude(study.as_ref(), experiment);
        sink.event(&Event::ExperimentDone { experiment: &experiment });
        experiment.observations.iter_mut().zip(block_times).for_each(|(seen, times)| seen.block_times = times);
        experiment
    }
}

/// A planned experiment whose step is a soak of memory, carried out.
fn soaked(step: &Step, planned: &Experiment, host: &mut dyn Host, sink: &mut dyn Sink) -> Experiment {
    let began = host.now();
    let observations = vec![soak::soak(host, step, began + planned.plan.max_seconds, sink)];
    let whole = host.now() - began;
    let time = Some(TimeSpent { whole, figures: whole, ..TimeSpent::default() });
    Experiment { observations, time, ..planned.clone() }
}

/// A planned experiment whose steps were visited, and the time of each block of each observation: they are no part of
/// events, since they may be most of a document, and the journal has each step several times.
fn visited(
    planned: Experiment,
    study: &dyn Study,
    host: &mut dyn Host,
    record: &dyn Record,
    sink: &mut dyn Sink,
) -> (Experiment, Vec<BlockTimes>) {
    let Experiment { request, method, mut plan, .. } = planned;
    let mut run = Runner::new((&request, method), (&plan, study), host, record, sink);
    run.measure(&mut plan);
    let (observations, interruptions) = (run.observations(), run.interruptions.of_cpus());
    let block_times = run.cells.iter_mut().map(|cell| std::mem::take(&mut cell.block_times)).collect();
    let time = Some(TimeSpent { whole: run.host.now() - run.began, ..run.time });
    let throughputs = run.throughputs.of_kinds();
    let planned = Experiment::new(request, method, plan);
    (Experiment { observations, interruptions, throughputs, time, ..planned }, block_times)
}

/// Plans one request and measures it, without a record.
///
/// # Errors
/// As [`Probe::open`] and [`Study::plan`].
pub fn run_experiment(
    probe: &Probe,
    request: &Request,
    host: &mut dyn Host,
    sink: &mut dyn Sink,
) -> Result<Experiment, Refusal> {
    let study = probe.open(request, host.lab())?;
    Ok(PlannedExperiment::new(study, request, probe.method)?.run(host, &(), sink))
}

struct Runner<'a> {
    host: &'a mut dyn Host,
    record: &'a dyn Record,
    /// The probe, and the version of its method.
    probe: (String, u32),
    lab: Lab,
    sink: &'a mut dyn Sink,
    cells: Vec<Cell>,
    study: &'a dyn Study,
    /// Whether listeners are owed the first values of the figures.
    owes_answer: bool,
    keep: Keep,
    /// When each cell's state was last sent to the sinks.
    reported: Vec<f64>,
    groups: Conditions,
    interruptions: Interruptions,
    throughputs: Throughputs,
    /// Whether the document is to have the time of each block, and the bytes of those so far.
    keeps_blocks: bool,
    block_bytes: usize,
    /// What the time went into so far.
    time: TimeSpent,
    began: f64,
    deadline: f64,
    /// Visits made, to all cells.
    visits: usize,
    /// Expected of steps that the probe will add.
    later_seconds: f64,
    rng: Rng,
}

impl<'a> Runner<'a> {
    fn new(
        (request, method): (&Request, u32),
        (plan, study): (&Plan, &'a dyn Study),
        host: &'a mut dyn Host,
        record: &'a dyn Record,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let began = host.now();
        let throughputs = Throughputs::new(host.machine(), |kind| record.throughput(kind));
        Self {
            deadline: began + plan.max_seconds,
            began,
            lab: host.lab().clone(),
            host,
            record,
            probe: (request.probe.clone(), method),
            keeps_blocks: sink.keeps_blocks(),
            block_bytes: 0,
            sink,
            cells: Vec::new(),
            study,
            owes_answer: false,
            keep: Keep::default(),
            reported: Vec::new(),
            groups: Conditions::default(),
            interruptions: Interruptions::default(),
            throughputs,
            time: TimeSpent::default(),
            visits: 0,
            later_seconds: plan.later_seconds,
            rng: Rng::new(request.seed),
        }
    }

    /// Measures the steps of a plan, and those that the study adds to it: what the first figures need, those, and then
    /// what gives way to them.
    fn measure(&mut self, plan: &mut Plan) {
        let is_short = self.deadline - self.began <= ANSWER_SECONDS;
        let (first, mut waiting) = with_waiting(plan.steps.clone(), is_short);
        if is_short {
            self.furnish(&plan.steps);
        }
        self.begin(&first);
        let (mut has_figures, mut is_answered) = (false, is_short);
        for _ in 0..MAX_REFINEMENTS {
            let mut steps = self.study.refine(&self.observations());
            steps.retain(|s| plan.steps.iter().all(|old| old.id != s.id));
            // If the time does not suffice for the known steps, none is added: figures that were due are missing.
            let is_late = self.over() || self.lacks_a_number();
            if is_late {
                steps.retain(|step| !step.labels.is_point());
            }
            if steps.is_empty() && waiting.is_empty() {
                break;
            }
            if steps.iter().any(|step| !step.labels.is_point()) {
                (self.later_seconds, has_figures) = (0.0, true);
            }
            if !steps.is_empty() {
                self.sink.event(&Event::StepsAdded { steps: &steps });
                plan.add(steps.clone());
            }
            if is_late {
                waiting.extend(steps);
                // What did not fit leaves room for what is smaller.
                if !self.over() {
                    self.begin(&std::mem::take(&mut waiting));
                }
                break;
            }
            let (now, later) = with_waiting(steps, is_short);
            waiting.extend(later);
            // Where nothing waits, and in a short run, the end of the run is the answer.
            self.owes_answer = !is_answered && now.iter().any(|step| !step.labels.is_point()) && !waiting.is_empty();
            is_answered |= self.owes_answer;
            self.begin(&if now.is_empty() { std::mem::take(&mut waiting) } else { now });
            if self.owes_answer {
                let figures = waiting.iter().filter(|step| is_due(step));
                self.revisit(Stage::Answer { left: figures.map(Step::expected_seconds).sum() });
                self.answer();
            }
        }
        let first = self.take(waiting);
        self.refuse_untouched(first);
        if !has_figures && !self.host.stopped() {
            plan.refused.extend(figures_not_reached(plan));
        }
        self.revisit(Stage::All);
        self.retire_all(|_| true);
    }

    /// Has the host make the memory of steps beside that of those before, and gives them their first visits, a phase
    /// after the other.
    fn begin(&mut self, steps: &[Step]) {
        self.furnish(steps);
        let phases: BTreeSet<u8> = steps.iter().map(|step| step.phase).collect();
        for phase in phases {
            self.first_visits(steps.iter().filter(|step| step.phase == phase).cloned().collect());
        }
    }

    /// Tells listeners the figures so far, if they do not have them yet.
    fn answer(&mut self) {
        if std::mem::take(&mut self.owes_answer) && !self.host.stopped() {
            let observations = self.observations();
            let findings = self.study.derive(&observations);
            self.sink.event(&Event::Answered { observations: &observations, findings: &findings });
        }
    }

    /// Tells them when a user has waited long enough, whatever the figures still lack.
    fn answer_if_due(&mut self) {
        let is_due = self.owes_answer && self.host.now() - self.began >= ANSWER_SECONDS;
        let lacks = |cell: &Cell| cell.visited() == 0 && cell.refusal.is_none() && !cell.step.labels.is_point();
        if is_due && !self.cells.iter().any(lacks) {
            self.answer();
        }
    }

    /// Has the host make the memory of all steps so far and of these, as far as it is not there, but for points that
    /// would take most of the time. Pieces of all free memory leave no room for it.
    fn furnish(&mut self, steps: &[Step]) {
        let all: Vec<&Step> = self.cells.iter().map(|cell| &cell.step).chain(steps).collect();
        let most = FILLING_SHARE * (self.deadline - self.began);
        let is_worth_it = |step: &&&Step| !step.labels.is_point() || step.filling_seconds() <= most;
        let has_pieces = all.iter().any(|step| is_piece(step));
        let setups = all.iter().filter(|_| !has_pieces).filter(is_worth_it).map(|step| &step.setup);
        let filled = self.host.furnish(&setups.collect::<Vec<_>>());
        if filled.bytes > 0 {
            self.time.filling += filled.seconds;
            self.time.filled.0 += filled.bytes;
            self.sink.event(&Event::Filled { filled });
        }
    }

    /// Whether no visit is made any more. The very first is made in any case, so that a run has a number.
    fn over(&self) -> bool {
        self.host.stopped() || (self.visits > 0 && self.host.now() >= self.deadline)
    }

    /// Whether there was no time for a number that was planned.
    fn lacks_a_number(&self) -> bool {
        let no_time = |refusal: &Refusal| refusal.code == says::codes::no_time_left;
        let lacks = |cell: &Cell| cell.visited() == 0 && cell.refusal.as_ref().is_none_or(no_time);
        self.cells.iter().any(|cell| lacks(cell) && !cell.step.labels.is_point())
    }

    fn observations(&mut self) -> Vec<Observation> {
        self.look_at_pings();
        self.cells.iter().map(|c| c.observe(&self.groups, &self.lab)).collect()
    }

    fn look_at_pings(&mut self) {
        let limits = self.throughputs.limits();
        self.cells.iter_mut().for_each(|cell| cell.look_again(&limits));
        let clock = RunClock::of_clocks(self.cells.iter().flat_map(Cell::clocks));
        self.groups = Conditions::at(clock, self.cells.iter().map(|cell| (&cell.step, cell.visits())));
    }

    /// Makes cells of steps. Returns the index of the first.
    fn take(&mut self, steps: Vec<Step>) -> usize {
        let first = self.cells.len();
        self.reported.extend(steps.iter().map(|_| f64::NEG_INFINITY));
        for step in steps {
            let mut cell = Cell::new(step, &self.lab.machine);
            let (probe, method) = &self.probe;
            let remembered = self.record.kernel(probe, *method, &cell.step);
            remembered.iter().for_each(|kernel| cell.rivals.begin_with(kernel));
            cell.wanted_places = wanted(&cell.step, self.host.machine());
            cell.home = shared_home(&self.cells, &cell.step).unwrap_or(self.cells.len());
            if let Some(same) = self.cells.iter().find(|same| does_the_same(same, &cell)) {
                cell.inherit(same);
            }
            self.cells.push(cell);
        }
        first
    }
}

/// Whether a run lacks a part without this step: it is no point that only draws a shape.
fn is_due(step: &Step) -> bool {
    !step.labels.is_point() || step.labels.is_for(Purpose::Cold)
}

/// The steps that come first, and those that wait for the figures. A run that is as short as a user waits for a first
/// answer has figures that come together.
fn with_waiting(steps: Vec<Step>, is_short: bool) -> (Vec<Step>, Vec<Step>) {
    let placed = |step: Step| match is_short && step.phase == AFTER_FIGURES && is_due(&step) {
        true => Step { phase: 0, ..step },
        false => step,
    };
    steps.into_iter().map(placed).partition(|step| step.phase != AFTER_FIGURES)
}

/// Refusals of the figures that a plan promises to choose from its results, where it never chose any.
fn figures_not_reached(plan: &Plan) -> Vec<Refusal> {
    let promises = plan.later.iter().filter(|note| note.code == tiermark_model::messages::rules::codes::later_steps);
    promises.map(|note| says::figures_not_reached(&note.text)).collect()
}

/// Whether two steps differ in nothing that their windows could show.
fn does_the_same(a: &Cell, b: &Cell) -> bool {
    let is_same_setup = a.step.setup.regions == b.step.setup.regions && a.step.setup.threads == b.step.setup.threads;
    let is_large = a.step.setup.regions.iter().any(|region| region.bytes.0 >= INHERITED_FROM);
    let is_same_setup = is_same_setup && is_large && !is_piece(&a.step) && !is_piece(&b.step);
    let is_chase = a.step.setup.threads.iter().all(|thread| matches!(thread.role, Role::Chase { .. }));
    let is_as_long = a.step.stop.shot_seconds.total_cmp(&b.step.stop.shot_seconds).is_eq();
    // A median takes over no visits: it is compared with medians of the same moments only.
    let has_edge = b.accounting.has_edge(&b.step.labels);
    is_same_setup
        && is_chase
        && is_as_long
        && has_edge
        && a.step.metric == b.step.metric
        && a.accounting == b.accounting
}
