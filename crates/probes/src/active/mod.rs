//! What a machine gives now: a few sharp cells, visited for a moment each in turn, within a budget of cpu time.
//!
//! The cells are steps of the probes of latency, bandwidth and residency. Each has a rig that is kept, so that a visit
//! is a shot, and its windows are judged as in a run: the newest visit against the edge of all (the capability) and
//! against the machine's record. `docs/methods/watch.md` describes the method.

mod budget;
mod cells;
mod held;
mod notes;
mod overhead;
mod pings;
mod retention;
mod series;

use std::time::Duration;

use tiermark_engine::accounting::StepAccounting;
use tiermark_engine::analyse::{Deductions, analyse};
use tiermark_engine::{Fault, Host, Interruptions, Rig, Shot};
use tiermark_model::messages::active as says;
use tiermark_model::{Machine, Metric, Refusal, Step, Unit, WatchActive, WatchBest, WatchShared};
use tiermark_stats::Side;

use budget::CpuBudget;
use cells::{Cells, Figure, MEMORY, Planned, cells};
use overhead::Overhead;
use pings::Pings;
use retention::Retention;
use series::Series;

/// Shortest and longest shot: one window, and four.
const SHOTS: (f64, f64) = (300e-6, 1e-3);
/// Shot of threads that are only pinged.
const PINGED_SHOT: f64 = 20e-6;
/// Part of the budget that shots take: the rest is for waking threads, warming caches and reading the system.
const SHOT_PART: f64 = 0.5;
/// Share of a shot in which its thread must have had its cpu: interrupts take less than the rest.
const HAD: f64 = 0.95;
/// Weight of the newest visit in the expected cost of the next.
const NEWEST: f64 = 0.3;

/// What a watch asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Cpu time of the whole program, as a share of one cpu.
    pub budget: f64,
    /// Seconds between two rounds.
    pub interval: f64,
    /// Seed of every random choice.
    pub seed: u64,
}

/// The machine's record of a step of a probe, by the version of the method.
pub type Record<'a> = &'a dyn Fn(&str, u32, &Step, Unit, &Machine) -> Option<f64>;

/// The cells with their rigs.
pub struct Active {
    cells: Vec<Cell>,
    clock: Series,
    retention: Retention,
    pings: Pings,
    interruptions: Interruptions,
    cpu_budget: CpuBudget,
    overhead: Overhead,
    /// Whether the user knows that too little of the budget is left for the cells.
    has_noted_overhead: bool,
    options: Options,
    shot: Duration,
    cpu: u32,
    next: usize,
    /// When the last round began, and the cpu time used at its end.
    last: Option<(f64, f64)>,
    memory_bytes: u64,
    /// What could not be had, or failed, and was not reported yet.
    notices: Vec<Refusal>,
}

struct Cell {
    figure: Figure,
    accounting: StepAccounting,
    /// `None` once it failed.
    rig: Option<Box<dyn Rig>>,
    series: Series,
    /// Memory that it takes.
    bytes: u64,
    /// Expected cpu time of a visit, seconds.
    cost: f64,
    /// When the last visit ended.
    seen: f64,
}

impl Active {
    /// Plans the cells and prepares their memory and threads.
    ///
    /// # Errors
    /// A [`Refusal`] where nothing can be measured.
    pub fn prepare(host: &mut dyn Host, options: Options, record: Record<'_>) -> Result<Self, Refusal> {
        let planned = cells(host, options.seed)?;
        let Cells { cpu, cells, pinged, refused } = planned;
        let mut active = Self {
            cells: Vec::new(),
            clock: Series::new(Side::High, None),
            retention: Retention::new(options.interval),
            pings: Pings::new(pinged),
            interruptions: Interruptions::default(),
            cpu_budget: CpuBudget::new(options.budget, options.interval),
            overhead: Overhead::new(options.budget),
            has_noted_overhead: false,
            options,
            shot: Duration::from_secs_f64(shot_seconds(&options, cells.len())),
            cpu,
            next: 0,
            last: None,
            memory_bytes: 0,
            notices: refused,
        };
        for cell in cells {
            match host.prepare(&cell.step.setup) {
                Ok(rig) => {
                    active.memory_bytes += cell.step.setup.total_bytes().0;
                    active.cells.push(Cell::new(&cell, rig, record, host));
                }
                Err(refusal) => active.notices.push(refusal),
            }
        }
        match active.notices.first() {
            Some(refusal) if active.cells.is_empty() => Err(refusal.clone()),
            _ => Ok(active),
        }
    }

    /// What could not be had, or failed, since this was asked last.
    pub fn notices(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.notices)
    }

    /// Visits as many cells as the budget allows, and says what is known now.
    pub fn round(&mut self, host: &mut dyn Host) -> WatchActive {
        let (at, before) = (host.now(), host.cpu_seconds().unwrap_or_default());
        let passed = self.last.map(|(last, _)| at - last);
        if let Some((_, used)) = self.last {
            let dearest = self.cells.iter().map(|cell| cell.cost).fold(0.0, f64::max);
            self.cpu_budget.earn(passed.unwrap_or_default(), before - used, dearest);
            self.overhead.add(passed.unwrap_or_default(), before - used);
            self.judge_overhead();
        }
        let mut visits = 0;
        for _ in 0..self.cells.len() {
            if host.stopped() || !self.cpu_budget.affords(self.cells[self.next].cost) {
                break;
            }
            let index = self.next;
            self.next = (index + 1) % self.cells.len();
            if self.cells[index].rig.is_some() {
                self.visit(index, host);
                visits += 1;
            }
        }
        let used = host.cpu_seconds().unwrap_or_default();
        self.last = Some((at, used));
        let cost = passed.filter(|passed| *passed > 0.0).map(|passed| (used - before) / passed);
        self.shown(host.now(), visits, cost)
    }

    fn visit(&mut self, index: usize, host: &mut dyn Host) {
        let before = host.cpu_seconds().unwrap_or_default();
        let shot = match self.cells[index].figure {
            Figure::Kept => self.look_at_cache(index, host),
            Figure::Pings => self.shoot(index, Duration::from_secs_f64(PINGED_SHOT)).map(|shot| {
                if !self.pings.add(host.now(), &shot.pings) {
                    // Nothing moves the cpus of this machine.
                    self.cells[index].rig = None;
                }
            }),
            _ => self.shoot(index, self.shot).map(|shot| self.take(index, &shot, host)),
        };
        if let Err(fault) = shot
            && !host.stopped()
        {
            self.notices.push(says::active_failed(self.cells[index].figure.name(), &fault.0));
            self.cells[index].rig = None;
        }
        let cost = host.cpu_seconds().unwrap_or_default() - before;
        self.cpu_budget.spend(cost);
        let cell = &mut self.cells[index];
        cell.cost = if cell.cost > 0.0 { cell.cost + NEWEST * (cost - cell.cost) } else { cost };
    }

    fn shoot(&mut self, index: usize, budget: Duration) -> Result<Shot, Fault> {
        let rig = self.cells[index].rig.as_mut().ok_or_else(|| Fault("it has failed before".to_owned()))?;
        rig.shot(budget)
    }

    /// Takes in a visit to a cell of one thread.
    fn take(&mut self, index: usize, shot: &Shot, host: &dyn Host) {
        if !had_its_cpu(shot) {
            return;
        }
        self.interruptions.add(host.now(), shot);
        let deductions = self.deductions(host);
        let result = analyse(shot, &self.cells[index].accounting, deductions);
        let cell = &mut self.cells[index];
        cell.series.add(host.now(), result.clean().collect());
        if cell.figure == Figure::Latency(Some(1)) {
            self.clock.add(host.now(), result.core_hz);
        }
    }

    /// Looks at what the shared cache holds of what was read at the visit before, and, where that is little, once more
    /// after a wait.
    fn look_at_cache(&mut self, index: usize, host: &mut dyn Host) -> Result<(), Fault> {
        let (after, seen) = self.look(index, host)?;
        let ends = self.newest(Figure::Latency(Some(3))).zip(self.newest(Figure::Latency(None)));
        if let Some((seen, ends)) = seen.zip(ends) {
            self.retention.look(host.now(), seen, ends, after);
        }
        let Some((wait, ends)) = self.retention.wait().zip(ends) else { return Ok(()) };
        host.rest(wait);
        let (after, seen) = self.look(index, host)?;
        if let Some(seen) = seen {
            self.retention.look_again(host.now(), seen, ends, after);
        }
        Ok(())
    }

    /// Seconds since the range was read, and the time of an access to it; `None` if the look was disturbed.
    fn look(&mut self, index: usize, host: &dyn Host) -> Result<(f64, Option<f64>), Fault> {
        let after = host.now() - self.cells[index].seen;
        let shot = self.shoot(index, Duration::ZERO)?;
        self.cells[index].seen = host.now();
        let seen = analyse(&shot, &self.cells[index].accounting, self.deductions(host)).clean().next();
        let seen = seen.filter(|_| had_its_cpu(&shot));
        Ok((after, seen))
    }

    fn deductions(&self, host: &dyn Host) -> Deductions<'_> {
        Deductions { stamp_ns: host.bench().overheads.stamp_ns, interruptions: &self.interruptions }
    }

    fn newest(&self, figure: Figure) -> Option<f64> {
        self.cells.iter().find(|cell| cell.figure == figure && cell.rig.is_some())?.series.now()
    }

    fn shown(&self, at: f64, visits: u64, cost_share: Option<f64>) -> WatchActive {
        let best = |figure: Figure| self.cells.iter().find(|cell| cell.figure == figure).map(|cell| cell.best(at));
        let is_visited = |figure: Figure| self.cells.iter().any(|cell| cell.figure == figure && cell.rig.is_some());
        let latency = |level| best(Figure::Latency(level));
        let bytes = |figure: Figure| self.cells.iter().find(|cell| cell.figure == figure).map(|cell| cell.bytes);
        let cell = |level| tiermark_model::WatchCell {
            latency: latency(level),
            latency_bytes: bytes(Figure::Latency(level)),
            bandwidth: best(Figure::Bandwidth(level)),
            bandwidth_bytes: bytes(Figure::Bandwidth(level)),
        };
        // Other work may have all of the cache while its cell is made. What was never faster than memory is none of it.
        let ends = latency(Some(3)).zip(latency(None)).map(|(l3, dram)| (l3.reached(), dram.reached()));
        let is_memory = matches!(ends, Some((Some(l3), Some(dram))) if l3 >= MEMORY * dram);
        let latency = |level| latency(level).filter(|_| level != Some(3) || !is_memory);
        let mut l3 = best(Figure::Kept).map_or_else(WatchShared::default, |_| self.retention.shown(at));
        (l3.latency, l3.latency_bytes) = (latency(Some(3)), bytes(Figure::Latency(Some(3))).filter(|_| !is_memory));
        l3.kept_bytes = bytes(Figure::Kept);
        if !is_visited(Figure::Kept) {
            (l3.kept, l3.lasts) = (l3.kept.map(WatchBest::not_now), l3.lasts.map(WatchBest::not_now));
        }
        let pinged = is_visited(Figure::Pings);
        WatchActive {
            cpu: self.cpu,
            clock: Some(self.clock.best(at))
                .filter(|best: &WatchBest| best.now.is_some() && is_visited(Figure::Latency(Some(1)))),
            l1: cell(Some(1)),
            l2: cell(Some(2)),
            l3,
            dram: cell(None),
            pings: if pinged { self.pings.pairs(at) } else { Vec::new() },
            clusters: if pinged { self.pings.clusters().to_vec() } else { Vec::new() },
            moves: self.pings.moves,
            interrupted: self.interruptions.share(self.cpu),
            visits,
            budget: self.options.budget,
            cost_share,
            interval_needed_seconds: self.overhead.excess().map(|excess| excess.interval),
            without_capability: self.without(|best| best.capability),
            without_record: self.without(|best| best.record),
            memory_bytes: self.memory_bytes,
        }
    }
}

impl Cell {
    fn new(planned: &Planned, rig: Box<dyn Rig>, record: Record<'_>, host: &dyn Host) -> Self {
        let step = &planned.step;
        let (side, unit) = match step.metric {
            Metric::Latency => (Side::Low, Unit::Ns),
            Metric::Bandwidth => (Side::High, Unit::BytesPerSecond),
        };
        let record = planned.of.and_then(|(probe, method)| record(probe, method, step, unit, host.machine()));
        Self {
            figure: planned.figure,
            accounting: StepAccounting::of(step, host.machine()),
            rig: Some(rig),
            series: Series::new(side, record),
            bytes: step.setup.total_bytes().0,
            cost: 0.0,
            seen: host.now(),
        }
    }

    /// What is known of it. One that failed is visited no more: what it gave last is not what it gives now.
    fn best(&self, at: f64) -> WatchBest {
        let best = self.series.best(at);
        if self.rig.is_some() { best } else { best.not_now() }
    }
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Self::Latency(Some(1)) => "latency.l1",
            Self::Latency(Some(2)) => "latency.l2",
            Self::Latency(Some(_)) => "latency.l3",
            Self::Latency(None) => "latency.dram",
            Self::Bandwidth(Some(_)) => "read.l1.one",
            Self::Bandwidth(None) => "read.dram.one",
            Self::Kept => "kept.l3",
            Self::Pings => "pings",
        }
    }
}

/// Whether the thread of a shot ran all the time. A shot as short as these may have one block only: where that lost its
/// cpu, it is no longer than the shot's own median, and so no gap.
fn had_its_cpu(shot: &Shot) -> bool {
    shot.threads.iter().all(|thread| thread.guard.cpu_ns >= HAD * thread.guard.wall_ns)
}

/// Length of a shot that lets each of so many cells be visited in an interval, where that is possible.
fn shot_seconds(options: &Options, cells: usize) -> f64 {
    (SHOT_PART * options.budget * options.interval / cells.max(1) as f64).clamp(SHOTS.0, SHOTS.1)
}

#[cfg(test)]
mod tests {
    use tiermark_machine::synth::Synth;
    use tiermark_sim::{SimHost, SimOptions};

    use super::*;

    #[test]
    fn a_cell_that_failed_gives_nothing_now() {
        let machine = Synth { cores_per_node: 2, ..Synth::default() }.machine().unwrap();
        let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
        let mut host = SimHost::new(machine, kernels, SimOptions::default());
        let options = Options { budget: 0.2, interval: 1.0, seed: 1 };
        let mut active = Active::prepare(&mut host, options, &|_, _, _, _, _| Some(50.0)).unwrap();
        let mut seconds = |active: &mut Active| {
            for _ in 0..40 {
                host.rest(1.0);
                active.round(&mut host);
            }
            active.round(&mut host)
        };
        let all = |seen: &WatchActive| [seen.clock, seen.l1.latency, seen.l3.kept, seen.l3.lasts, seen.dram.latency];
        let before = all(&seconds(&mut active));
        assert!(before.iter().all(|best| best.is_some_and(|best| best.now.is_some())), "{before:?}");
        for cell in &mut active.cells {
            if matches!(cell.figure, Figure::Latency(_) | Figure::Kept) {
                cell.rig = None;
            }
        }
        let after = all(&seconds(&mut active));
        assert_eq!(after[0], None);
        for (best, before) in after.into_iter().zip(before).skip(1) {
            let (best, before) = (best.unwrap(), before.unwrap());
            assert_eq!((best.now, best.age_seconds), (None, None));
            assert_eq!((best.capability, best.record), (before.capability, before.record));
        }
    }
}
