//! The run loop: keeps the rigs of a probe's plan and revisits every step in random order, until every one is measured
//! well enough or time is up.

mod allocations;
mod visit;

use std::collections::BTreeSet;

use tiermark_model::messages::run as says;
use tiermark_model::{
    Drift, Experiment, Grade, KernelId, Machine, Observation, Plan, Purpose, Refusal, Request, Role, State, Step,
    TimeSpent,
};
use tiermark_stats::Rng;

use crate::accounting::StepAccounting;
use crate::cell::{Cell, reading, with_estimate, withheld};
use crate::clock::RunClock;
use crate::drifts::drifts;
use crate::estimate::Reading;
use crate::event::{Event, Sink};
use crate::host::Host;
use crate::interruptions::{self, Interruptions};
use crate::probe::{Lab, Probe, Record, Study};
use crate::states::{Conditions, states};
use crate::throughput::Throughputs;
use allocations::{Keep, is_piece, shared_home, wanted};

/// Times a probe may add steps: a probe that never stops adding must not run for ever. A noisy curve gets its most
/// points in a dozen rounds, and the figures only after them.
const MAX_REFINEMENTS: usize = 32;
/// Once they have their fewest visits, points of a curve by size are revisited in one round of `CURVE_ROUNDS`, points
/// of primitives in one of `POINT_ROUNDS`: the time is for the figures. Points under load are revisited in every round,
/// since they are compared with the idle point.
const CURVE_ROUNDS: u64 = 12;
const POINT_ROUNDS: u64 = 4;
/// Share of the time after which points get no more first visits while the probe has more steps to add.
const POINT_SHARE: f64 = 0.5;

/// Seconds added to a wait for the next moment, so that rounding does not end it just before.
const ROUNDING: f64 = 1e-6;
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
        let Self { request, mut plan, method, study } = self;
        sink.event(&Event::ExperimentStarted { request: &request, method, plan: &plan });
        let mut run = Runner::new((&request, method), &plan, host, record, sink);
        run.measure(&mut plan, study.as_ref());
        let (observations, interruptions) = (run.observations(), run.interruptions.of_cpus());
        // They are no part of events: they may be most of a document, and the journal has each step several times.
        let block_times: Vec<_> = run.cells.iter_mut().map(|cell| std::mem::take(&mut cell.block_times)).collect();
        let time = Some(TimeSpent { whole: run.host.now() - run.began, ..run.time });
        let throughputs = run.throughputs.of_kinds();
        let planned = Experiment::new(request, method, plan);
        let mut experiment = Experiment { observations, interruptions, throughputs, time, ..planned };
        record.hold(&mut experiment);
        experiment.observations.iter().for_each(|seen| run.report(seen));
        let mut experiment = conclude(study.as_ref(), experiment);
        sink.event(&Event::ExperimentDone { experiment: &experiment });
        experiment.observations.iter_mut().zip(block_times).for_each(|(seen, times)| seen.block_times = times);
        experiment
    }
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

/// An experiment with the states, changes, conditions and findings that follow from its observations: at the end of a
/// run, and again wherever observations change afterwards.
pub fn conclude(study: &dyn Study, experiment: Experiment) -> Experiment {
    let (states, drift, clock) = what_happened(&experiment.plan, &experiment.observations);
    let mut findings = study.derive(&experiment.observations);
    // A run without findings stays one: the conditions alone answer no request.
    if !findings.is_empty() {
        findings.extend(clock.map(RunClock::finding));
        findings.extend(interruptions::findings(&experiment.interruptions));
    }
    Experiment { states, drift, findings, ..experiment }
}

/// Makes every estimate of an experiment again from its windows, holds the numbers against a record and derives the
/// findings again. Observations without times, as the first version of the document has them, stay as they are.
pub fn reanalyse(study: &dyn Study, experiment: &Experiment, machine: &Machine, record: &dyn Record) -> Experiment {
    let groups =
        Conditions::of(with_steps(&experiment.plan, &experiment.observations).map(|(step, seen)| (step, &seen.visits)));
    let observations = experiment.observations.iter().map(|seen| {
        let step = experiment.plan.steps.iter().find(|step| step.id == seen.step);
        let timed = step.filter(|_| seen.visits.list.iter().any(|visit| visit.at > 0.0));
        timed.map_or_else(|| seen.clone(), |step| estimated_again(step, seen, &groups, machine))
    });
    let mut again = Experiment { observations: observations.collect(), ..experiment.clone() };
    record.hold(&mut again);
    conclude(study, again)
}

/// An observation, estimated again from its windows. Its verdict keeps the reasons that do not come from the estimate.
fn estimated_again(step: &Step, seen: &Observation, groups: &Conditions, machine: &Machine) -> Observation {
    let accounting = StepAccounting::of(step, machine);
    let kernel = seen.labels.kernel().map(|id| KernelId(id.into()));
    let reading = reading(step, &accounting, &seen.disturbance, kernel.as_ref(), groups, machine);
    let reading = Reading { passes: seen.passes, ..reading };
    let estimate = reading.estimate(&accounting.counted(&seen.visits));
    let mut verdict = seen.verdict.clone();
    verdict.reasons.retain(|reason| !reason.is_of_estimate());
    if verdict.grade <= Grade::Bound {
        // Other reasons keep it a bound.
        verdict.grade = if verdict.reasons.is_empty() { Grade::Trusted } else { Grade::Bound };
        estimate.doubts.iter().for_each(|(grade, reason)| verdict.add(*grade, reason.clone()));
    }
    let mut again = Observation { verdict, ..with_estimate(seen.clone(), &estimate, &accounting) };
    let times = again.value.zip(seen.value).map(|(again, before)| again / before);
    again.rivals.iter_mut().for_each(|rival| rival.rescale(times));
    withheld(again)
}

/// Observations, each with its step.
fn with_steps<'a>(
    plan: &'a Plan,
    observations: &'a [Observation],
) -> impl Iterator<Item = (&'a Step, &'a Observation)> + Clone {
    let step = |seen: &Observation| plan.steps.iter().find(|step| step.id == seen.step);
    observations.iter().filter_map(move |seen| Some((step(seen)?, seen)))
}

fn what_happened(plan: &Plan, observations: &[Observation]) -> (Vec<State>, Vec<Drift>, Option<RunClock>) {
    let pairs: Vec<(&Step, &Observation)> = with_steps(plan, observations).collect();
    let groups = Conditions::of(pairs.iter().map(|(step, seen)| (*step, &seen.visits)));
    (states(&pairs, &groups), drifts(&pairs, &groups), groups.clock)
}

struct Runner<'a> {
    host: &'a mut dyn Host,
    record: &'a dyn Record,
    /// The probe, and the version of its method.
    probe: (String, u32),
    lab: Lab,
    sink: &'a mut dyn Sink,
    cells: Vec<Cell>,
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
        plan: &Plan,
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

    /// Measures the steps of a plan, and those that the study adds to it.
    fn measure(&mut self, plan: &mut Plan, study: &dyn Study) {
        self.furnish(plan);
        let phases: BTreeSet<u8> = plan.steps.iter().map(|step| step.phase).collect();
        for phase in phases {
            self.first_visits(plan.steps.iter().filter(|step| step.phase == phase).cloned().collect());
        }
        let mut has_figures = false;
        for _ in 0..MAX_REFINEMENTS {
            let mut steps = study.refine(&self.observations());
            steps.retain(|s| plan.steps.iter().all(|old| old.id != s.id));
            // If the time does not suffice for the known steps, none is added: figures that were due are missing.
            let is_late = self.over() || self.lacks_a_number();
            if is_late {
                steps.retain(|step| !step.labels.is_point());
            }
            if steps.is_empty() {
                break;
            }
            if steps.iter().any(|step| !step.labels.is_point()) {
                (self.later_seconds, has_figures) = (0.0, true);
            }
            self.sink.event(&Event::StepsAdded { steps: &steps });
            plan.add(steps.clone());
            if is_late {
                let first = self.take(steps);
                self.refuse_untouched(first);
                break;
            }
            self.furnish(plan);
            self.first_visits(steps);
        }
        if !has_figures && !self.host.stopped() {
            plan.refused.extend(figures_not_reached(plan));
        }
        self.revisit();
        self.retire_all(|_| true);
    }

    /// Has the host make the memory of all steps, once, but for points that would take most of the time. Pieces of all
    /// free memory leave no room for it.
    fn furnish(&mut self, plan: &Plan) {
        let all: &[Step] = if plan.steps.iter().any(is_piece) { &[] } else { &plan.steps };
        let most = FILLING_SHARE * (self.deadline - self.began);
        let is_worth_it = |step: &&Step| !step.labels.is_point() || step.filling_seconds() <= most;
        let filled = self.host.furnish(&all.iter().filter(is_worth_it).map(|step| &step.setup).collect::<Vec<_>>());
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

    /// Gives steps their fewest visits. Where there is no time for all, the first round begins with the ladder of
    /// tiers, in its order: chance must not decide which headline is missing. Of a curve what costs least comes first,
    /// since most of its points are small.
    fn first_visits(&mut self, steps: Vec<Step>) {
        let expected: f64 = steps.iter().map(Step::expected_seconds).sum();
        let mut short = expected > self.deadline - self.host.now();
        let has_time = !short;
        let first = self.take(steps);
        loop {
            // Numbers that are planned from a curve need most of the time.
            let spent = (self.host.now() - self.began) / (self.deadline - self.began);
            let wants = |index: &usize| {
                let cell = &self.cells[*index];
                let over = cell.step.labels.is_point() && spent > POINT_SHARE && self.later_seconds > 0.0;
                let is_open = cell.refusal.is_none() && cell.fault.is_none() && !over;
                is_open
                    && cell.visited() < cell.step.stop.min_visits
                    && !(has_time && self.waits_for_one_thread(*index))
            };
            let mut order: Vec<usize> = (first..self.cells.len()).filter(wants).collect();
            shuffle(&mut self.rng, &mut order);
            if std::mem::take(&mut short) {
                order.sort_by(|a, b| self.precedence(*a).total_cmp(&self.precedence(*b)));
            }
            if !self.round(&order) {
                break;
            }
        }
        self.refuse_untouched(first);
    }

    /// Rounds over all steps that are not settled, each in a new random order, so that every step sees all of the run.
    /// Where all of them only lack moments, nothing is visited until the next one.
    fn revisit(&mut self) {
        for round in 0.. {
            self.look_at_pings();
            let now = self.host.now();
            let is_open = |index: &usize| {
                let cell = &self.cells[*index];
                // Memory that figures need is not made again for a point of a curve that was seen.
                let is_there = !cell.step.labels.is_for(Purpose::Curve) || self.keep.has(self.cells[*index].home);
                let is_open = cell.visited() > 0 && !cell.settled(&self.groups, &self.lab.machine, now);
                is_open && is_there && self.fits(*index)
            };
            let open: Vec<usize> = (0..self.cells.len()).filter(is_open).collect();
            let waits = |index: &usize| self.cells[*index].waits(now - self.began);
            let Some(wait) = open.iter().map(waits).reduce(f64::min) else { return };
            if wait > 0.0 {
                self.host.rest((wait + ROUNDING).min((self.deadline - now).max(0.0)));
                self.time.waiting += self.host.now() - now;
                if self.over() {
                    return;
                }
                continue;
            }
            let is_due = |index: &usize| {
                let rounds = match self.cells[*index].step.labels.purpose() {
                    Some(Purpose::Curve) => CURVE_ROUNDS,
                    Some(Purpose::OsPoint) => POINT_ROUNDS,
                    _ => 1,
                };
                (*index as u64 + round).is_multiple_of(rounds) && waits(index) <= 0.0
            };
            let mut order: Vec<usize> = open.iter().copied().filter(is_due).collect();
            shuffle(&mut self.rng, &mut order);
            if !self.round(&order) && (self.over() || !order.is_empty()) {
                return;
            }
        }
    }

    /// Visits these cells; whether there was time for any of them.
    fn round(&mut self, order: &[usize]) -> bool {
        let mut visited = false;
        for index in order {
            if !self.over() && self.fits(*index) {
                self.visit(*index);
                visited = true;
            }
        }
        visited && !self.over()
    }

    /// Order of the steps if the time does not suffice for all.
    fn precedence(&self, index: usize) -> f64 {
        let step = &self.cells[index].step;
        let is_headline = matches!(step.labels.purpose(), Some(Purpose::Ladder | Purpose::Os));
        match step.labels.is_point() {
            _ if is_headline => index as f64 - self.cells.len() as f64,
            true => step.prepare_seconds() + step.rivalry_seconds(),
            false => 0.0,
        }
    }

    /// Whether one more visit to a cell can be expected to end in time.
    fn fits(&self, index: usize) -> bool {
        let cell = &self.cells[index];
        let preparing = if self.keep.has(self.cells[index].home) { 0.0 } else { self.making_seconds(index) };
        let next = preparing + cell.step.visit_seconds();
        self.host.now() + next <= self.deadline || self.cells.iter().all(|c| c.visited() == 0)
    }

    /// Share of the expected work that is done, and remaining seconds.
    fn progress(&self) -> (f64, f64) {
        let now = self.host.now();
        let left = |cell: &Cell| {
            let seen = cell.visited();
            match cell.moved_share() {
                _ if cell.settled(&self.groups, &self.lab.machine, now) => 0.0,
                Some(share) if share > 0.0 => cell.seconds * (1.0 - share).max(0.0) / share,
                _ => cell.step.seconds_of(cell.step.stop.max_visits.saturating_sub(seen)),
            }
        };
        let known: f64 = self.cells.iter().map(left).sum();
        let left = (known + self.later_seconds).min(self.deadline - now).max(0.0);
        let spent = now - self.began;
        (if spent + left > 0.0 { spent / (spent + left) } else { 1.0 }, left)
    }

    fn refuse_untouched(&mut self, first: usize) {
        let stopped = self.host.stopped();
        for cell in
            self.cells[first..].iter_mut().filter(|c| c.visited() == 0 && c.refusal.is_none() && c.fault.is_none())
        {
            let step = cell.step.id.as_str();
            cell.refusal = Some(match stopped {
                true => says::run_stopped(step),
                // Figures get the time before points of curves: a skipped point only makes a curve less dense.
                false if cell.step.labels.is_point() && !cell.step.labels.is_for(Purpose::Cold) => {
                    says::curve_point_skipped(step)
                }
                false => says::no_time_left(step),
            });
        }
    }
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

/// Fisher–Yates (Knuth 1997, The Art of Computer Programming 2, §3.4.2).
fn shuffle(rng: &mut Rng, order: &mut [usize]) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
}
