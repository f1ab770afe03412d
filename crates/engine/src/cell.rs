//! A step while it is being measured: visits, proofs and disturbances as they come in, and the observation they make.

mod observe;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use tiermark_model::{
    BlockTimes, CoreKind, Disturbance, KernelId, Machine, Passes, PlacementProof, Refusal, Step, StepTraffic, Visit,
    Visits,
};
use tiermark_stats::{APART_SECONDS, moments};

use crate::accounting::{StepAccounting, Work};
use crate::analyse::{ShotResult, merge};
use crate::clock::clock_of;
use crate::costs::Costs;
use crate::host::ThreadShot;
use crate::passes;
use crate::rivals::Rivals;
use crate::states::Conditions;
use crate::throughput::Limits;

pub(crate) use observe::{first_kernel, reading, with_estimate, withheld};

/// A quantile is given only with this many blocks beyond it, so that no single block decides it.
const BLOCKS_BEYOND: f64 = 10.0;
/// Blocks are kept as 32-bit floats: they are known to this share of themselves, and a little more.
const KNOWN_TO: f64 = 1e-6;
/// Tail blocks kept a step: bounds the memory of long runs at 4 MiB a step.
const MAX_TAIL_BLOCKS: usize = 1 << 20;
/// Moments apart that were visited before the most visits are enough: an edge must be reached in as many, and one may
/// miss it.
const MOMENTS: usize = tiermark_stats::VISITS + 1;
/// Times its fewest visits that a figure has before its stop rule may end it: its fewest are of the first third of a
/// run, and a state that comes later may be better.
const SETTLES_AT: u32 = 2;
/// The stop rule is evaluated again after this share more visits: an estimate takes milliseconds.
const LOOK_AGAIN: f64 = 1.15;

/// What was seen beside the blocks of a shot.
pub(crate) struct Beside {
    /// As in [`Shot`](crate::host::Shot).
    pub(crate) pings: [Vec<f64>; 2],
    /// As in [`Shot`](crate::host::Shot).
    pub(crate) traffic: Option<StepTraffic>,
    /// What it costs beside its work.
    pub(crate) costs: Costs,
    /// Its lowest throughput, by kind of core.
    pub(crate) throughputs: Vec<(Option<CoreKind>, f64)>,
}

/// A step under way.
pub(crate) struct Cell {
    pub(crate) step: Step,
    pub(crate) accounting: StepAccounting,
    /// Places that it is to be visited at.
    pub(crate) wanted_places: u32,
    /// The cell whose places it is visited at: its own, but for a piece of memory, which all its steps share.
    pub(crate) home: usize,
    /// Allocations it was visited on.
    allocations: BTreeSet<u32>,
    visits: Visits,
    /// What each visit costs beside its work.
    costs: Vec<Costs>,
    /// The lowest throughput of each visit, by kind of core.
    throughputs: Vec<Vec<(Option<CoreKind>, f64)>>,
    /// The clock of each visit: the run's is taken from all of them after each round.
    clocks: Vec<Option<f64>>,
    /// The time of each block of its visits, where the document is to have them.
    pub(crate) block_times: BlockTimes,
    /// Useful bytes that the threads whose work the value counts have moved.
    moved: u64,
    /// What memory and links carried during its shots.
    traffic: Option<StepTraffic>,
    disturbance: Disturbance,
    blocks_ns: Vec<f32>,
    stamp_per_access: f64,
    /// The clock's step in ns per access, where the first shot shows one (later ones may have other blocks).
    quantum: Option<f64>,
    /// Accesses in one block, as the last shot had them.
    block_accesses: u64,
    core_hz: Vec<f64>,
    overhead_share: f64,
    placement: Option<PlacementProof>,
    pub(crate) rivals: Rivals,
    /// The kernel that the visits are of.
    kernel: Option<KernelId>,
    /// Rates of whole passes over its memory, each with its allocation; `None` of one that did not end in time.
    passes: Vec<(u32, Option<f64>)>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) fault: Option<String>,
    /// Whether it keeps the visits that it has, since no place for another can be had.
    pub(crate) lost_its_place: bool,
    pub(crate) started: Option<f64>,
    /// When rivals are compared no more: the first stays, unless another has won by then.
    pub(crate) compares_until: f64,
    pub(crate) seconds: f64,
    /// Whether the stop rule held when it was looked at after so many visits.
    looked: RefCell<(u32, bool)>,
}

impl Cell {
    pub(crate) fn new(step: Step, machine: &Machine) -> Self {
        let accounting = StepAccounting::of(&step, machine);
        let members = accounting.members().len();
        Self {
            visits: Visits::new(accounting.parts.len(), members),
            costs: Vec::new(),
            throughputs: Vec::new(),
            clocks: Vec::new(),
            block_times: BlockTimes::default(),
            moved: 0,
            traffic: None,
            rivals: Rivals::of(&step),
            kernel: first_kernel(&step).cloned(),
            passes: Vec::new(),
            wanted_places: step.stop.allocations,
            step,
            accounting,
            home: 0,
            allocations: BTreeSet::new(),
            disturbance: Disturbance::default(),
            blocks_ns: Vec::new(),
            stamp_per_access: 0.0,
            quantum: None,
            block_accesses: 0,
            core_hz: Vec::new(),
            overhead_share: 0.0,
            placement: None,
            refusal: None,
            fault: None,
            lost_its_place: false,
            started: None,
            compares_until: 0.0,
            seconds: 0.0,
            looked: RefCell::default(),
        }
    }

    /// Notes that its next visit is on this allocation, and where the pages of that were when it was made.
    pub(crate) fn visits_place(&mut self, allocation: u32, proof: Option<&PlacementProof>) {
        if self.allocations.insert(allocation)
            && let Some(proof) = proof
        {
            self.prove(proof.clone());
        }
    }

    /// Whether the step was visited on this allocation.
    pub(crate) fn was_on(&self, allocation: u32) -> bool {
        self.allocations.contains(&allocation)
    }

    /// The kernel that its visits are of.
    pub(crate) fn kernel(&self) -> Option<&KernelId> {
        self.kernel.as_ref()
    }

    /// Visits made so far.
    pub(crate) fn visited(&self) -> u32 {
        self.visits.len() as u32
    }

    /// All visits.
    pub(crate) fn visits(&self) -> &Visits {
        &self.visits
    }

    pub(crate) fn begin(&mut self, now: f64, compares_until: f64) {
        if self.started.is_none() {
            (self.started, self.compares_until) = (Some(now), compares_until);
        }
    }

    /// Whether a visit begins with a comparison of rivals.
    pub(crate) fn compares(&self, now: f64) -> bool {
        self.rivals.undecided() && now < self.compares_until
    }

    /// Takes over the visits of a step that does the same on the same memory.
    pub(crate) fn inherit(&mut self, other: &Self) {
        self.visits = other.visits.clone();
        self.costs.clone_from(&other.costs);
        self.throughputs.clone_from(&other.throughputs);
        self.clocks.clone_from(&other.clocks);
        self.block_times.clone_from(&other.block_times);
        self.disturbance = other.disturbance.clone();
        self.blocks_ns.clone_from(&other.blocks_ns);
        (self.stamp_per_access, self.quantum) = (other.stamp_per_access, other.quantum);
        (self.block_accesses, self.overhead_share) = (other.block_accesses, other.overhead_share);
        self.core_hz.clone_from(&other.core_hz);
        self.placement.clone_from(&other.placement);
        self.traffic.clone_from(&other.traffic);
        self.allocations.clone_from(&other.allocations);
        self.started = other.started;
    }

    /// Forgets what another kernel did.
    pub(crate) fn measured_by(&mut self, kernel: Option<KernelId>) {
        if self.kernel != kernel {
            (self.visits.list, self.blocks_ns, self.moved, self.traffic) = (Vec::new(), Vec::new(), 0, None);
            (self.disturbance, self.overhead_share) = (Disturbance::default(), 0.0);
            self.block_times = BlockTimes::default();
            self.costs.clear();
            self.throughputs.clear();
            self.clocks.clear();
            self.core_hz.clear();
            self.passes.clear();
            self.kernel = kernel;
        }
    }

    /// Whether a whole pass is due on an allocation: once the kernel is known.
    pub(crate) fn wants_pass(&self, allocation: u32, now: f64) -> bool {
        let on_it = self.passes.iter().filter(|(place, _)| *place == allocation).count() as u32;
        let more = passes::ON_EACH * self.allocations.len() as u32 + self.visited() / passes::MORE_EVERY
            > self.passes.len() as u32;
        (on_it < passes::ON_EACH || more) && !self.compares(now)
    }

    /// Adds the rate of a whole pass; `None` if it did not end in time.
    pub(crate) fn passed(&mut self, allocation: u32, rate: Option<f64>) {
        self.passes.push((allocation, rate));
    }

    /// The whole passes.
    fn passes(&self) -> Option<Passes> {
        let rates = || self.passes.iter().filter_map(|(_, rate)| *rate);
        Some(Passes { count: rates().count() as u32, best: rates().reduce(f64::max)? })
    }

    /// Adds what a visit saw.
    pub(crate) fn add(&mut self, shot: ShotResult, at: f64, allocation: u32, seen: Beside) {
        let Beside { pings, traffic, costs, throughputs } = seen;
        merge(&mut self.disturbance, &shot.disturbance);
        self.core_hz.extend(shot.core_hz);
        // The mean: one shot whose blocks came out short, because its cpu was slow when they were sized, says nothing
        // of the number.
        self.overhead_share += (shot.overhead_share - self.overhead_share) / self.disturbance.shots.max(1) as f64;
        self.block_accesses = shot.block_work as u64;
        self.stamp_per_access = shot.stamp_per_access;
        if self.disturbance.shots == 1 {
            self.quantum = clock_step(&shot.blocks_ns);
        }
        // The memory of this process is part of what its forks take (0.16 µs a page and more): of calls to the kernel
        // only the distribution of single ones is kept.
        let calls = self.accounting.threads.iter().any(|work| matches!(work, Work::Calls | Work::Meetings));
        let most = if calls && self.block_accesses > 1 { 0 } else { MAX_TAIL_BLOCKS };
        let room = most.saturating_sub(self.blocks_ns.len());
        self.blocks_ns.extend(shot.blocks_ns.into_iter().take(room));
        let [before, after] = pings;
        self.moved += shot.work as u64;
        if let Some(counted) = traffic.filter(|_| shot.countable) {
            let counted = StepTraffic { useful: shot.streamed, ..counted };
            self.traffic.get_or_insert_default().add(&counted);
        }
        self.costs.push(costs);
        self.throughputs.push(throughputs);
        self.visits.push(Visit { at, allocation, before, after, windows: shot.windows, blocks: shot.blocks });
        // As the visit has it by now: clocks are kept in steps.
        self.clocks.extend(self.visits.list.last().map(clock_of));
    }

    /// Takes the clock from visits whose throughput falls short by what is known now: of the first visits of a run it was
    /// not known.
    pub(crate) fn look_again(&mut self, limits: &Limits) {
        let looks = self.throughputs.iter_mut().zip(&mut self.clocks);
        for (visit, (lowest, clock)) in self.visits.list.iter_mut().zip(looks) {
            if limits.fall_short(lowest) {
                lowest.clear();
                *clock = None;
                visit.windows.iter_mut().for_each(|window| window.clocks.iter_mut().for_each(|clock| *clock = None));
            }
        }
    }

    /// The clocks of its visits.
    pub(crate) fn clocks(&self) -> impl Iterator<Item = f64> {
        self.clocks.iter().copied().flatten()
    }

    /// Keeps the times of the blocks of the visit that was added last.
    pub(crate) fn keep_blocks(&mut self, threads: &[ThreadShot]) {
        let members = self.accounting.members();
        let stamps = members.iter().filter_map(|index| Some(threads.get(*index)?.stamps_ns.as_slice()));
        self.block_times.push(&stamps.collect::<Vec<_>>());
    }

    /// Share of the bytes after which the step ends that are moved; `None` where no number of bytes ends it.
    pub(crate) fn moved_share(&self) -> Option<f64> {
        self.step.labels.total().map(|total| self.moved as f64 / total.max(1) as f64)
    }

    /// Keeps the worst of all proofs.
    pub(crate) fn prove(&mut self, proof: PlacementProof) {
        let Some(worst) = &mut self.placement else {
            self.placement = Some(proof);
            return;
        };
        worst.pages += proof.pages;
        for (node, pages) in proof.by_node {
            *worst.by_node.entry(node).or_default() += pages;
        }
        // The proof that saw least decides: it is why the whole is unproven.
        let less = |worst: Option<f64>, now: Option<f64>| worst.is_some() && now.is_none();
        if less(worst.on_target, proof.on_target) || less(worst.page_share, proof.page_share) {
            worst.how = proof.how;
        }
        if worst.page.is_empty() {
            worst.page = proof.page;
        }
        worst.on_target = lower(worst.on_target, proof.on_target);
        worst.page_share = lower(worst.page_share, proof.page_share);
        for note in proof.notes {
            if !worst.notes.contains(&note) {
                worst.notes.push(note);
            }
        }
    }

    /// Whether no more visits can be made.
    fn has_ended(&self) -> bool {
        self.refusal.is_some() || self.fault.is_some() || self.lost_its_place
    }

    /// Whether the step is measured as well as its stop rule wants, or cannot be.
    pub(crate) fn settled(&self, groups: &Conditions, machine: &Machine, now: f64) -> bool {
        let stop = &self.step.stop;
        let visits = self.visited();
        if let Some(share) = self.moved_share() {
            return self.has_ended() || (visits >= stop.min_visits && share >= 1.0);
        }
        // Visits in a row see one moment, however many they are.
        let moments = MOMENTS.min(stop.max_visits as usize);
        if self.has_ended() || (visits >= stop.max_visits && self.moments().len() >= moments) {
            return true;
        }
        // A point shows a shape with any kernel; a figure waits for the best.
        if !self.step.labels.is_point() && self.compares(now) {
            return false;
        }
        let (looked, held) = *self.looked.borrow();
        let least = if self.step.labels.is_point() { stop.min_visits } else { SETTLES_AT * stop.min_visits };
        if visits < least || (looked > 0 && f64::from(visits) < LOOK_AGAIN * f64::from(looked)) {
            return held;
        }
        let estimate = self.reading(groups, machine).estimate(&self.accounting.counted(&self.visits));
        // Other runs find other pages and another hour, whatever this one does.
        let within = estimate.edge.and_then(|edge| edge.within).or(estimate.interval);
        let half = estimate.value.zip(within).map(|(value, within)| within.half_of(value));
        let held = !estimate.is_open() && !self.lacks_moments() && half.is_some_and(|half| half <= stop.precision);
        *self.looked.borrow_mut() = (visits, held);
        held
    }

    /// Seconds until another visit sees another moment, where the step has its most visits and only lacks moments; 0
    /// where a visit is of use now.
    pub(crate) fn waits(&self, now: f64) -> f64 {
        let has_all = self.moved_share().is_none() && self.visited() >= self.step.stop.max_visits;
        if has_all { self.next_moment(now) } else { 0.0 }
    }

    /// Seconds until a visit sees another moment.
    pub(crate) fn next_moment(&self, now: f64) -> f64 {
        let began = self.moments().last().map_or(f64::NEG_INFINITY, |visits| self.visits.list[visits.start].at);
        (began + APART_SECONDS - now).max(0.0)
    }

    /// Whether it was seen at too few moments for a verdict.
    pub(crate) fn lacks_moments(&self) -> bool {
        self.moments().len() < MOMENTS
    }

    /// Its visits by the moments that they see.
    fn moments(&self) -> Vec<Range<usize>> {
        moments(self.visits.list.iter().map(|visit| visit.at), APART_SECONDS)
    }
}

/// The step of which all blocks of a shot are whole multiples.
fn clock_step(blocks_ns: &[f32]) -> Option<f64> {
    // As many as decide the question; more only take time.
    const BLOCKS: usize = 200;
    let blocks: Vec<f64> = blocks_ns.iter().take(BLOCKS).map(|b| f64::from(*b)).collect();
    let largest = blocks.iter().copied().fold(0.0, f64::max);
    tiermark_stats::quantum(&blocks, KNOWN_TO * largest).map(|q| q.size)
}

fn lower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        // One proof that saw nothing leaves the whole unproven.
        _ => None,
    }
}

#[cfg(test)]
mod tests;
