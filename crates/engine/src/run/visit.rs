//! One visit to a step, at one of its places: compares rival kernels if due, makes a shot and notifies listeners.

use std::time::Duration;

use tiermark_model::{KernelId, Observation, Purpose, Role, Step, TimeSpent};

use super::Runner;
use crate::analyse::{Deductions, analyse};
use crate::cell::{Beside, Cell, first_kernel};
use crate::costs::Costs;
use crate::event::Event;
use crate::host::{Fault, Host, Rig};
use crate::passes;
use crate::rivals::Rivals;
use crate::throughput::Judged;

/// Fraction of a step's time; after it, only a rival kernel that leads is still compared.
const RIVAL_SHARE: f64 = 0.4;
/// Comparisons of rivals on one visit at most, and the seconds after which there is no other: those of small memory
/// take 6 ms, those of string instructions in large memory up to 100 ms.
const COMPARISONS: usize = 3;
const COMPARING_SECONDS: f64 = 12e-3;
/// Seconds between two observations of a step that listeners get: what a kill may lose.
const REPORT_EVERY: f64 = 10.0;
/// Bytes of the times of blocks of a run, from which on it keeps no more: twice as much in base64 is still a document
/// that can be read.
const BLOCK_BYTES_MOST: usize = 96 << 20;
/// Visits between two looks at the pings of all of them.
const LOOK_EVERY: usize = 200;

impl Runner<'_> {
    /// One visit, with its events.
    pub(super) fn visit(&mut self, index: usize) {
        let (began, before) = (self.host.now(), self.time);
        self.cells[index].begin(began, began + RIVAL_SHARE * (self.deadline - began));
        if let Err(fault) = self.stay(index) {
            let cell = &mut self.cells[index];
            // A visit that the user's stop cut short says nothing about the machine.
            if !self.host.stopped() {
                cell.fault = Some(fault.to_string());
            }
        }
        let took = self.host.now() - began;
        self.cells[index].seconds += took;
        self.time = match self.cells[index].step.labels.is_for(Purpose::Curve) {
            true => TimeSpent { curves: before.curves + took, ..before },
            false => {
                let figures = took - (self.time.beside_figures() - before.beside_figures());
                TimeSpent { figures: before.figures + figures, ..self.time }
            }
        };
        self.visits += 1;
        if self.visits.is_multiple_of(LOOK_EVERY) {
            self.look_at_pings();
        }
        let (done, remaining_seconds) = self.progress();
        self.sink.event(&Event::Visited { step: &self.cells[index].step, remaining_seconds, done });
        // Report each step once the run has lasted a second, so that a killed run keeps it; then every REPORT_EVERY
        // seconds.
        let now = self.host.now();
        let due = if self.reported[index].is_finite() {
            now - self.reported[index] >= REPORT_EVERY
        } else {
            now - self.began >= 1.0
        };
        if due && self.cells[index].visited() > 0 {
            self.reported[index] = now;
            let observation = self.cells[index].observe(&self.groups, &self.lab);
            self.report(&observation);
        }
    }

    pub(super) fn report(&mut self, observation: &Observation) {
        self.sink.event(&Event::Observed { observation });
    }

    /// A shot at one of the cell's places, in turn; a new one where it is due. One at which anything failed is given back.
    fn stay(&mut self, index: usize) -> Result<(), Fault> {
        let Some(at) = self.place(index) else { return Ok(()) };
        let shot = self.shoot(index, at);
        if shot.is_err() || self.cells[index].step.is_os() {
            self.retire(at);
        } else {
            self.retire_unless_it_fits(at);
        }
        shot
    }

    fn shoot(&mut self, index: usize, at: usize) -> Result<(), Fault> {
        let stamp_ns = self.host.bench().overheads.stamp_ns;
        let deductions = Deductions { stamp_ns, interruptions: &self.interruptions };
        let now = self.host.now();
        let leader = self.leader(index);
        let alone = self.alone(index).map(|alone| (alone.rivals.decided(), alone.rivals.winner().cloned()));
        if let Some((decided, winner)) = alone {
            let rivals = &mut self.cells[index].rivals;
            // All cores are not slower than one because they had no time to compare.
            winner.iter().for_each(|kernel| rivals.begin_with(kernel));
            rivals.narrow(&decided, &self.host.bench().kernels);
        }
        let cell = &mut self.cells[index];
        let Cell { rivals, accounting, step, compares_until, .. } = cell;
        let kept = self.keep.rig_of(at);
        if kept.works_for != index {
            let roles: Vec<Role> = step.setup.threads.iter().map(|thread| thread.role.clone()).collect();
            kept.rig.assign(&roles)?;
            (kept.works_for, kept.kernel) = (index, first_kernel(step).cloned());
        }
        // Each rival at most once a visit, so that rivals see as many moments as the step does.
        let mut compared = Vec::new();
        // Later only one that leads is compared, until it is decided: a figure whose kernel is open is a bound.
        let is_due = |host: &dyn Host, rivals: &Rivals, compared: &[usize]| {
            let is_early = host.now() < *compares_until;
            !host.stopped() && (is_early || compared.is_empty() && rivals.open().is_some())
        };
        while compared.len() < COMPARISONS && is_due(self.host, rivals, &compared) {
            let mut rig = Judged { rig: kept.rig.as_mut(), throughputs: &mut self.throughputs };
            let Some(rival) = rivals.compare(&mut rig, accounting, deductions, now, &compared)? else { break };
            // The rig has another kernel now.
            kept.kernel = None;
            compared.push(rival);
            if self.host.now() - now > COMPARING_SECONDS {
                break;
            }
        }
        self.time.comparing += self.host.now() - now;
        let kernel = leader.or_else(|| rivals.winner().cloned());
        if let Some(kernel) = kernel.as_ref().filter(|kernel| kept.kernel.as_ref() != Some(kernel)) {
            kept.rig.select(kernel)?;
            kept.kernel = Some(kernel.clone());
        }
        let mut rig = Judged { rig: kept.rig.as_mut(), throughputs: &mut self.throughputs };
        let shot = rig.shot(Duration::from_secs_f64(step.stop.shot_seconds))?;
        self.time.settling += shot.settling_seconds();
        self.interruptions.add(now - self.began, &shot);
        let deductions = Deductions { stamp_ns, interruptions: &self.interruptions };
        let result = analyse(&shot, accounting, deductions);
        let allocation = kept.allocation;
        cell.measured_by(kernel);
        let throughputs = self.throughputs.lowest(&shot);
        let costs = Costs::of(&shot, &cell.accounting, &result.disturbance);
        let beside = Beside { pings: shot.pings, traffic: shot.traffic, costs, throughputs };
        let rate = tiermark_stats::median(&result.clean().collect::<Vec<f64>>());
        cell.add(result, now - self.began, allocation, beside);
        if self.keeps_blocks && self.block_bytes < BLOCK_BYTES_MOST {
            let before = cell.block_times.bytes();
            cell.keep_blocks(&shot.threads);
            self.block_bytes += cell.block_times.bytes() - before;
        }
        match rate.filter(|_| passes::has_passes(&self.cells[index].step, self.host.machine())) {
            Some(rate) => self.pass(index, at, rate),
            None => Ok(()),
        }
    }

    /// One whole pass over an allocation, where it is due; `rate` is that of the visit before it.
    fn pass(&mut self, index: usize, at: usize, rate: f64) -> Result<(), Fault> {
        let now = self.host.now();
        let kept = self.keep.rig_of(at);
        let cell = &self.cells[index];
        let kernel = cell.kernel().and_then(|id| self.host.bench().kernel(&id.0));
        let bytes = kernel.map(|kernel| passes::bytes(&cell.step, kernel)).unwrap_or_default();
        let seconds = passes::seconds(&bytes, rate).filter(|seconds| now + seconds < self.deadline);
        let Some(seconds) = seconds.filter(|_| cell.wants_pass(kept.allocation, now)) else { return Ok(()) };
        let allocation = kept.allocation;
        let shot = kept.rig.shot(Duration::from_secs_f64(seconds))?;
        self.cells[index].passed(allocation, passes::rate(&shot, &bytes));
        Ok(())
    }

    /// The figure of one thread whose comparisons of rivals say what is worth comparing for a figure of several: of the
    /// same work on the same tier, or the nearest in size.
    fn alone(&self, index: usize) -> Option<&Cell> {
        let step = &self.cells[index].step;
        let [thread, _, ..] = step.setup.threads.as_slice() else { return None };
        let bytes = |step: &Step| step.setup.regions.first().map_or(1.0, |region| region.bytes.0 as f64);
        let away = |cell: &Cell| (bytes(&cell.step) / bytes(step)).ln().abs();
        let other_tier = |cell: &Cell| cell.step.labels.tier() != step.labels.tier();
        let is_alike = |cell: &&Cell| {
            let is_alone = cell.step.setup.threads.len() == 1 && cell.step.setup.threads[0].role == thread.role;
            is_alone && !cell.step.labels.is_point() && cell.refusal.is_none() && cell.fault.is_none()
        };
        let alike = self.cells.iter().filter(is_alike);
        alike.min_by(|a, b| other_tier(a).cmp(&other_tier(b)).then(away(a).total_cmp(&away(b))))
    }

    /// Whether the first visits to a figure of several threads wait until one thread has compared the rivals: a
    /// comparison by 16 threads takes 30 ms, and most would be of kernels that are clearly slower.
    pub(super) fn waits_for_one_thread(&self, index: usize) -> bool {
        let is_comparing = |alone: &Cell| {
            let is_open = alone.visited() == 0 || alone.compares(self.host.now());
            is_open && alone.visited() < alone.step.stop.min_visits
        };
        self.cells[index].rivals.undecided() && self.alone(index).is_some_and(is_comparing)
    }

    /// The kernel that a point is measured with: that of the figure of the same streams that is nearest in size, where
    /// there is one at its first visit. It stays: a curve is of one kernel, and no visit is lost.
    fn leader(&self, index: usize) -> Option<KernelId> {
        let point = &self.cells[index].step;
        let [thread, ..] = point.setup.threads.as_slice() else { return None };
        if !point.labels.is_point() || !matches!(thread.role, Role::Stream { .. }) {
            return None;
        }
        if self.cells[index].visited() > 0 {
            return self.cells[index].kernel().cloned();
        }
        let is_figure = |cell: &&Cell| {
            let threads = &cell.step.setup.threads;
            let is_alike = threads.len() == point.setup.threads.len() && threads[0].role == thread.role;
            !cell.step.labels.is_point() && is_alike
        };
        let bytes = |step: &Step| step.setup.total_bytes().0 as f64;
        let away = |cell: &Cell| (bytes(&cell.step) / bytes(point)).ln().abs();
        let figures = self.cells.iter().filter(is_figure);
        figures.min_by(|a, b| away(a).total_cmp(&away(b)))?.rivals.winner().cloned()
    }
}
