//! The run loop: carries a probe's plan out, fairly interleaved, until every step is measured well enough or time is up.

use std::collections::BTreeSet;
use std::time::Duration;

use tiermark_model::{
    Experiment, KernelId, Labels, Machine, Observation, Plan, Refusal, Request, Rival, Role, Step, TOURNAMENT,
};
use tiermark_stats::Rng;

use crate::analyse::analyse;
use crate::cell::Cell;
use crate::event::{Event, Sink};
use crate::host::{Fault, Host, Rig};
use crate::judge;
use crate::probe::{Lab, Probe};
use crate::roll::Roll;

/// Kernels this near to the best are equals; the one named first in the plan wins, so that chance does not name the winner.
const EQUAL: f64 = 0.99;

/// Share of a run's time that is kept for later phases once a step has the fewest allocations that it needs: on a machine that is never quiet, numbers
/// would else be repeated until no curve is left.
const KEPT: f64 = 0.25;

/// Times a probe may add steps: a probe that never stops adding must not run for ever.
const MAX_REFINEMENTS: usize = 8;

/// Relative scatter of the medians of fresh allocations on a machine, for expected times: in guests, whose memory others of the
/// same host use as well, 1 to 3 % were measured; the rest is not measured yet, and taken for quiet.
pub fn scatter(machine: &Machine) -> f64 {
    const GUEST: f64 = 0.013;
    const OWN: f64 = 0.005;
    if machine.system.hypervisor.is_some() { GUEST } else { OWN }
}

/// Runs one probe's request on a host: plans, measures, refines, checks drift, derives.
///
/// Every event goes to `sink`. Returns what was seen also when the user stopped it; the caller asks the host.
///
/// # Errors
/// The probe's [`Refusal`] when nothing of the request can be measured here.
pub fn run_experiment(
    probe: &dyn Probe,
    request: &Request,
    host: &mut dyn Host,
    sink: &mut dyn Sink,
) -> Result<Experiment, Refusal> {
    let plan = probe.plan(request, Lab { machine: host.machine(), bench: host.bench() })?;
    let method = probe.about().method;
    sink.event(&Event::ExperimentStarted { request, method, plan: &plan });
    let deadline = host.now() + plan.max_seconds;
    let mut run = Runner {
        host,
        sink,
        cells: Vec::new(),
        deadline,
        by_the_user: request.scope.max_seconds.is_some(),
        closed: false,
        pending_seconds: 0.0,
        later_seconds: 0.0,
        most_kept: KEPT * plan.max_seconds,
        scatter: plan.scatter,
        rng: Rng::new(request.seed),
    };
    let phases: BTreeSet<u8> = plan.steps.iter().map(|step| step.phase).collect();
    for phase in phases {
        let (now, later): (Vec<&Step>, Vec<&Step>) =
            plan.steps.iter().filter(|s| s.phase >= phase).partition(|s| s.phase == phase);
        run.pending_seconds = later.iter().map(|step| step.likely_seconds(run.scatter)).sum();
        run.later_seconds = later.iter().map(|step| step.expected_seconds()).sum();
        run.measure(now.into_iter().cloned().collect());
    }
    // What is left of the time is for what could be better.
    run.rounds(0, false);
    let mut plan = plan;
    for _ in 0..MAX_REFINEMENTS {
        let mut steps = probe.refine(request, run.lab(), &run.observations());
        steps.retain(|s| plan.steps.iter().all(|old| old.id != s.id));
        // Where the time did not suffice for what is known, nothing is added.
        if steps.is_empty() || run.over() || run.cells.iter().any(|cell| !cell.settled()) {
            break;
        }
        run.sink.event(&Event::StepsAdded { steps: &steps });
        plan.steps.extend(steps.iter().cloned());
        run.measure(steps);
    }
    let drift = run.drift();
    run.sink.event(&Event::ExperimentDone { drift });
    let observations = run.observations();
    let lab = Lab { machine: host.machine(), bench: host.bench() };
    Ok(conclude(probe, request, plan, observations, drift, lab))
}

/// Derives an experiment's findings from its observations; also used for runs read back from a journal.
pub fn conclude(
    probe: &dyn Probe,
    request: &Request,
    plan: Plan,
    mut observations: Vec<Observation>,
    drift: Option<f64>,
    lab: Lab<'_>,
) -> Experiment {
    judge::judge_drift(&mut observations, drift);
    let findings = probe.derive(request, lab, &observations);
    Experiment { request: request.clone(), method: probe.about().method, plan, observations, drift, findings }
}

struct Runner<'a> {
    host: &'a mut dyn Host,
    sink: &'a mut dyn Sink,
    cells: Vec<Cell>,
    deadline: f64,
    /// Whether the user set that limit, and means it.
    by_the_user: bool,
    /// Whether something was left out for lack of time: what comes in later phases matters less, and is left out too.
    closed: bool,
    /// Expected of phases that have not begun.
    pending_seconds: f64,
    /// The least that they are expected to take.
    later_seconds: f64,
    /// Most that is kept for them.
    most_kept: f64,
    /// Of fresh allocations, as the plan reckons with it.
    scatter: f64,
    rng: Rng,
}

impl Runner<'_> {
    fn over(&self) -> bool {
        self.closed || self.host.stopped() || self.host.now() >= self.deadline
    }

    fn lab(&self) -> Lab<'_> {
        Lab { machine: self.host.machine(), bench: self.host.bench() }
    }

    fn observations(&self) -> Vec<Observation> {
        self.cells.iter().map(|c| c.observe(self.lab())).collect()
    }

    /// Measures steps. Where there is no time for all, the first round begins with the ladder of tiers, in its order: chance must not decide which
    /// headline is missing. Of a curve what costs least comes first, since most of its points are small.
    fn measure(&mut self, steps: Vec<Step>) {
        let expected: f64 = steps.iter().map(Step::expected_seconds).sum();
        let short = self.pace() * expected > self.deadline - self.host.now();
        let first = self.cells.len();
        self.cells.extend(steps.into_iter().map(Cell::new));
        self.rounds(first, short);
        if self.cells[first..].iter().any(|cell| cell.allocations() == 0 && !cell.settled()) {
            self.closed = true;
            self.refuse_untouched(first);
        }
    }

    /// Rounds: one fresh allocation of every unsettled step a round, in a new random order each round, so that slow changes of the machine spread
    /// over all of them; until all are settled, or the time is up.
    fn rounds(&mut self, first: usize, mut short: bool) {
        loop {
            let mut order: Vec<usize> = (first..self.cells.len()).filter(|i| !self.cells[*i].settled()).collect();
            shuffle(&mut self.rng, &mut order);
            if std::mem::take(&mut short) {
                order.sort_by(|a, b| self.precedence(*a).total_cmp(&self.precedence(*b)));
            }
            let mut visited = false;
            for index in order {
                if !self.over() && self.fits(index) {
                    self.visit(index);
                    visited = true;
                }
            }
            if !visited || self.over() {
                return;
            }
        }
    }

    /// What comes first where there is no time for all.
    fn precedence(&self, index: usize) -> f64 {
        let step = &self.cells[index].step;
        let is_headline = ["ladder", "os"].iter().any(|purpose| step.labels.is(Labels::PURPOSE, purpose));
        match step.labels.is_point() {
            _ if is_headline => index as f64 - self.cells.len() as f64,
            true => step.allocation_seconds() + step.tournament_seconds(),
            false => 0.0,
        }
    }

    /// How long steps really take, as a share of what they were expected to.
    fn pace(&self) -> f64 {
        self.pace_of(|_| true).unwrap_or(1.0)
    }

    /// The same of some steps; `None` before the first of them was begun.
    fn pace_of(&self, of: impl Fn(&Step) -> bool) -> Option<f64> {
        let spent = self.cells.iter().filter(|cell| of(&cell.step)).filter_map(Cell::spent);
        let (took, expected) = spent.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        (expected > 0.0).then(|| took / expected)
    }

    /// Seconds of a first allocation, at the pace of steps that hold about as much memory: where expectations are wrong, they are so by how fast
    /// a machine goes through memory of that size.
    fn first_seconds(&self, step: &Step) -> f64 {
        let held = |step: &Step| step.held_bytes().0;
        let about = |other: &Step| held(other) <= 2 * held(step) && held(step) <= 2 * held(other);
        let pace = self.pace_of(about).unwrap_or_else(|| self.pace());
        pace * (step.allocation_seconds() + step.tournament_seconds())
    }

    /// Whether one more allocation of a step can be expected to end in time, with the repetition of the first step still to come, and with what is
    /// kept for later phases where it has what it needs. The very first is made in any case: a run is asked for a number.
    fn fits(&self, index: usize) -> bool {
        let again = self.cells.iter().find_map(Cell::seconds_an_allocation).unwrap_or_default();
        let cell = &self.cells[index];
        let next = cell.seconds_an_allocation().unwrap_or_else(|| self.first_seconds(&cell.step));
        let has_least = cell.allocations() >= cell.step.stop.min_allocations;
        let kept = if has_least { (self.pace() * self.later_seconds).min(self.most_kept) } else { 0.0 };
        self.host.now() + next + again + kept <= self.deadline || self.cells.iter().all(|c| c.allocations() == 0)
    }

    /// One allocation of one step, with its event.
    fn visit(&mut self, index: usize) {
        let allocation = self.cells[index].allocations();
        self.sink.event(&Event::StepStarted { step: &self.cells[index].step, allocation });
        allocate_and_shoot(self.host, &mut self.cells[index]);
        let (done, remaining_seconds) = self.progress();
        let observation = self.cells[index].observe(self.lab());
        self.sink.event(&Event::Observed { observation: &observation, remaining_seconds, done });
    }

    /// Share of the expected work that is done, and seconds left, by what the steps so far really took.
    fn progress(&self) -> (f64, f64) {
        let (mut done, mut left) = (0.0, self.pending_seconds);
        for cell in &self.cells {
            let likely = cell.step.stop.likely_allocations(self.scatter);
            let visits = f64::from(likely.max(1));
            let seen = f64::from(cell.allocations()).min(visits);
            let expected = cell.step.likely_seconds(self.scatter);
            let settled = cell.settled();
            done += if settled { expected } else { expected * seen / visits };
            left += if settled { 0.0 } else { expected * (visits - seen) / visits };
        }
        let share = if done + left > 0.0 { done / (done + left) } else { 1.0 };
        (share, left.min((self.deadline - self.host.now()).max(0.0)))
    }

    fn refuse_untouched(&mut self, first: usize) {
        let stopped = self.host.stopped();
        for cell in self.cells[first..].iter_mut().filter(|c| c.allocations() == 0 && c.refusal.is_none()) {
            let (why, cure) = match stopped {
                true => ("the run was stopped", "let it run to its end"),
                // The time goes to the numbers first: what is left out only makes a curve less dense.
                false if cell.step.labels.is_point() => {
                    ("the time allowed went to the numbers: the curve has a point less", "allow more with --max-time")
                }
                false => ("the time left did not suffice", "allow more with --max-time"),
            };
            cell.refusal = Some(Refusal::new(cell.step.id.clone(), why, cure));
        }
    }

    /// Measures the first step that has a number once more, last, and returns the relative change of its median.
    fn drift(&mut self) -> Option<f64> {
        if self.host.stopped() || (self.by_the_user && self.host.now() >= self.deadline) {
            return None;
        }
        // What is invalid, as where the shots scatter by half of their median, says nothing of the machine's drift.
        let first = self.cells.iter().find(|c| c.observe(self.lab()).value.is_some())?;
        let before = first.median()?;
        let mut again = Cell::new(first.step.clone());
        again.winner.clone_from(&first.winner);
        allocate_and_shoot(self.host, &mut again);
        Some(again.median()? / before - 1.0)
    }
}

/// Fisher–Yates (Knuth 1997, The Art of Computer Programming 2, §3.4.2).
fn shuffle(rng: &mut Rng, order: &mut [usize]) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
}

/// Prepares fresh memory for a step, proves it, shoots, proves it again.
fn allocate_and_shoot(host: &mut dyn Host, cell: &mut Cell) {
    let began = host.now();
    let stamp_ns = host.bench().overheads.stamp_ns;
    cell.begin_allocation(began);
    let step = cell.step.clone();
    let shot = host.prepare(&step.setup).map(|mut rig| shoot(rig.as_mut(), cell, &step, stamp_ns));
    match shot {
        Ok(Ok(())) => {}
        // What the user's stop cut short says nothing about the machine.
        Ok(Err(_)) if host.stopped() => {}
        Err(_) if host.stopped() => cell.drop_allocation(),
        Ok(Err(fault)) => cell.fault = Some(fault.to_string()),
        Err(refusal) => cell.refusal = Some(refusal),
    }
    cell.end_allocation(host.now() - began);
}

fn shoot(rig: &mut dyn Rig, cell: &mut Cell, step: &Step, stamp_ns: f64) -> Result<(), Fault> {
    // Where an operation of the kernel maps what it needs by itself, the region is none that the number is about.
    let is_os = step.setup.threads.iter().any(|thread| matches!(thread.role, Role::Os(_)));
    let proven = !is_os || step.labels.number(Labels::RESIDENT).is_some();
    if proven {
        cell.prove(rig.placement());
    }
    choose_kernel(rig, cell, step, stamp_ns)?;
    for _ in 0..step.stop.shots {
        let shot = rig.shot(Duration::from_secs_f64(step.stop.shot_seconds))?;
        let result = analyse(&shot, cell.roll(), stamp_ns);
        cell.add(result);
    }
    if proven {
        cell.prove(rig.placement());
    }
    Ok(())
}

/// Where a step names rivals: holds a tournament on its first allocation, and uses the winner from then on.
fn choose_kernel(rig: &mut dyn Rig, cell: &mut Cell, step: &Step, stamp_ns: f64) -> Result<(), Fault> {
    let Some(Role::Stream { kernel, rivals }) = step.setup.threads.first().map(|t| &t.role) else { return Ok(()) };
    if cell.winner.is_none() {
        let field: Vec<KernelId> = std::iter::once(kernel).chain(rivals).cloned().collect();
        if field.len() > 1 {
            let roll = Roll { parts: Vec::new(), ..cell.roll().clone() };
            let mut trial = Trial { rig: &mut *rig, roll: &roll, stamp_ns, seconds: 0.0 };
            cell.rivals = tournament(&mut trial, &field)?;
            cell.tournament_seconds = trial.seconds;
        }
        cell.winner = Some(winner(&cell.rivals).unwrap_or_else(|| kernel.clone()));
    }
    match &cell.winner {
        Some(winner) if !rivals.is_empty() => rig.select(winner),
        _ => Ok(()),
    }
}

/// Short shots of every kernel in turn, A B C A B C …; then longer ones of the best few.
fn tournament(trial: &mut Trial<'_>, field: &[KernelId]) -> Result<Vec<Rival>, Fault> {
    let mut trials: Vec<Vec<f64>> = vec![Vec::new(); field.len()];
    let rule = TOURNAMENT;
    for _ in 0..rule.heat_rounds {
        let best = trials.iter().filter_map(|t| tiermark_stats::median(t)).fold(0.0, f64::max);
        for (kernel, rates) in field.iter().zip(&mut trials) {
            if tiermark_stats::median(rates).is_none_or(|m| m >= rule.cut * best) {
                rates.extend(trial.of(kernel, rule.heat_shot)?);
            }
        }
    }
    let mut order: Vec<usize> = (0..field.len()).collect();
    order.sort_by(|a, b| rate(&trials[*b]).total_cmp(&rate(&trials[*a])));
    order.truncate(rule.finalists);
    let mut last: Vec<Vec<f64>> = vec![Vec::new(); field.len()];
    for _ in 0..rule.final_rounds {
        for index in &order {
            last[*index].extend(trial.of(&field[*index], rule.final_shot)?);
        }
    }
    let value = |index: usize| tiermark_stats::median(&last[index]).or_else(|| tiermark_stats::median(&trials[index]));
    Ok(field.iter().enumerate().map(|(index, kernel)| Rival { kernel: kernel.clone(), value: value(index) }).collect())
}

/// Short shots of rivals on one rig, and the seconds they took.
struct Trial<'a> {
    rig: &'a mut dyn Rig,
    roll: &'a Roll,
    stamp_ns: f64,
    seconds: f64,
}

impl Trial<'_> {
    fn of(&mut self, kernel: &KernelId, shot: Duration) -> Result<Option<f64>, Fault> {
        self.rig.select(kernel)?;
        self.seconds += shot.as_secs_f64();
        Ok(analyse(&self.rig.shot(shot)?, self.roll, self.stamp_ns).value)
    }
}

/// Median rate of a kernel's trials; below all others where none was undisturbed.
fn rate(trials: &[f64]) -> f64 {
    tiermark_stats::median(trials).unwrap_or(f64::NEG_INFINITY)
}

/// The first of those that are as fast as the fastest.
fn winner(rivals: &[Rival]) -> Option<KernelId> {
    let best = rivals.iter().filter_map(|r| r.value).fold(0.0, f64::max);
    rivals.iter().find(|r| r.value.is_some_and(|v| v >= EQUAL * best)).map(|r| r.kernel.clone())
}
