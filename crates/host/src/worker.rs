//! One pinned thread: settles on its cpu, fills its region, and runs shots.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tiermark_engine::{Guard, IdleWatch, Settling, ThreadShot};
use tiermark_kernels::StreamSpec;
use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, IdSet, Refusal, Role};
use tiermark_primitives::{BoundMemory, Order, OsWork};
use tiermark_system::{Clock, LineOrder, SharedLines};

use crate::check;
use crate::core_clock::{Lookout, Seen};
use crate::ended::Ended;
use crate::gate::{BreakOnPanic, Opening, StartGate};
use crate::idle;
use crate::load::LoadWork;
use crate::moment::{Moment, guarded};
use crate::ping::Pings;
use crate::region::{Region, pin_refused, stop_refusal};
use crate::revisit::{RevisitWork, Round};
use crate::settle::{Surroundings, read_other, refresh, settle};
use crate::share::{ShareWork, Watch};
use crate::streams::Share;
use crate::work::{Border, Work};

/// Time between two looks at the clock of a core whose thread is alone, ns: a window.
const BETWEEN_LOOKS_NS: f64 = 250_000.0;
/// Time in which a chaser settles while the others load the memory, ns.
const SETTLES_UNDER_LOAD_NS: f64 = 1.5e6;
/// If a worker waits longer than this at the gate, ns, caches lose its lines meanwhile: all workers do another pass
/// before they start, once. A worker whose control group is throttled keeps the others waiting for milliseconds.
const WAITS_NS: f64 = 1e6;
/// Looks at the closed gate before the cpu is yielded: about 2 ms. Each worker has a cpu of its own, so that those that
/// are missing wait for theirs: yielding sooner would give this one away for a whole time slice beside other work.
/// Where two workers share a cpu, they come to it.
const SPIN_LOOKS: u32 = 40_000;
/// Stamps a shot keeps at most: 8 MiB of them, 4 s of blocks.
const STAMPS_MOST: usize = 1 << 20;

/// A thread's state.
pub(crate) struct Worker {
    pub(crate) cpu: CpuId,
    pub(crate) clock: Clock,
    pub(crate) lookout: Lookout,
    pub(crate) region: Arc<Region>,
    /// Memory that it reads before each shot instead of settling; it fills this memory itself.
    pub(crate) other: Option<Arc<Region>>,
    /// Among the workers of its region; the first fills it.
    pub(crate) share: Share,
    /// Its role.
    pub(crate) role: Role,
    /// Its number among the workers of the rig.
    pub(crate) index: usize,
    /// Seed of the setup.
    pub(crate) seed: u64,
    /// Whether other memory than the region's may be far away, so that line orders are copied close.
    pub(crate) many_nodes: bool,
    /// The caches and pages that it settles in.
    pub(crate) around: Surroundings,
    /// Whether it is the only thread of the setup, so that it may look at its clock between windows.
    pub(crate) is_alone: bool,
    /// Whether threads of the setup chase while others load the memory.
    pub(crate) is_loaded: bool,
    /// Set when the user wants to stop.
    pub(crate) stopped: Arc<AtomicBool>,
    /// Nodes that the setup names for its memory, where there are several.
    pub(crate) nodes: IdSet,
    pub(crate) work: Option<Work>,
    /// Where in their span the next streams begin, as a share of it: at first, workers that share a region are spread
    /// over it evenly.
    pub(crate) from: f64,
    /// Where a chase goes on that was given up for other work; empty where there was none.
    pub(crate) heads: Vec<u64>,
    /// Outlives the work that was made under it.
    pub(crate) placed: Option<BoundMemory>,
    pub(crate) stamps: Vec<u64>,
    /// Consumes what kernels read.
    pub(crate) checksum: u64,
}

impl Worker {
    /// Goes to its cpu and, as the first of its region, fills it.
    pub(crate) fn settle(&mut self, seed: u64, next: Option<&[u32]>) -> Result<(), Refusal> {
        tiermark_system::pin(self.cpu).map_err(|error| pin_refused(self.cpu, &error))?;
        if let Some(other) = &self.other {
            other.fill(self.cpu, seed, None, &|| self.stopped())?;
        }
        if self.share.index != 0 {
            return Ok(());
        }
        self.region.fill(self.cpu, seed, next, &|| self.stopped())
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Takes up its work: the chase of its region, or the given kernel.
    pub(crate) fn equip(&mut self, kernel: Option<&StreamSpec>, order: Option<LineOrder>) -> Result<(), Refusal> {
        // Another kernel goes on where the last one stopped: what that has just read is in the caches.
        let streams = kernel.map_or(1, |spec| usize::from(spec.info.op.streams()));
        let next = self.work.as_ref().and_then(|work| work.next_from(&self.region, streams));
        self.from = next.unwrap_or(self.from);
        if let Some(work @ Work::Chase(_)) = &self.work {
            self.heads = work.heads();
        }
        // Given up first: memory that one call may write is open to no other.
        self.work = None;
        self.placed = None;
        let stopped = || self.stopped();
        let order = match order {
            Some(order) if self.many_nodes => Some(order.copied(&stopped).ok_or_else(stop_refusal)?),
            order => order,
        };
        if let Role::Os(call) = &self.role {
            // As a process of one thread has it. Where a filter forbids it, the price of a shared table is part of each
            // use of a file.
            let _ = tiermark_system::os::own_files();
            // Calls that move memory say themselves where it is.
            if call.nodes.is_none() {
                self.placed = BoundMemory::on(&self.nodes)?;
            }
            self.work = Some(Work::Os(OsWork::new(&Order { call, cpu: self.cpu, clock: &self.clock })?));
            return Ok(());
        }
        let work = match (&self.role, kernel) {
            (Role::Chase { chains }, _) => {
                let chains = usize::from(*chains);
                let starts = self.region.starts(chains * self.share.of, &stopped)?;
                let from = (chains * self.share.index).min(starts.len());
                let first = &starts[from..(from + chains).min(starts.len())];
                let mine = if self.heads.len() == chains { &self.heads } else { first };
                Work::chase(&self.region, mine, self.around, &self.clock)
            }
            (Role::Revisit { wait_ns, accesses, before, since_last }, _) => {
                let starts = self.region.starts(self.share.of, &stopped)?;
                let mine = &starts[self.share.index.min(starts.len())..(self.share.index + 1).min(starts.len())];
                let round = Round { wait_ns: *wait_ns, accesses: *accesses, before: *before, since_last: *since_last };
                RevisitWork::new(&self.region, mine, round).map(Work::Revisit)
            }
            (Role::Stream { .. }, Some(spec)) => {
                Work::stream(&self.region, spec, order, self.from, self.around, &self.clock)
            }
            (Role::Stream { .. }, None) => Err("no kernel".to_owned()),
            (Role::Load { kernels, pause_ns }, _) => {
                let specs = kernels.iter().map(check::kernel).collect::<Result<Vec<_>, _>>()?;
                LoadWork::new(&self.region, &specs, order.as_ref(), *pause_ns, self.share, &self.clock).map(Work::Load)
            }
            (role, _) => SharedLines::new(&self.region.mapping, self.region.bytes).and_then(|lines| {
                let work = ShareWork::new(lines, role, self.share.of, self.seed);
                work.map(Work::Share).ok_or_else(|| "not a role on shared lines".to_owned())
            }),
        };
        let what = || kernel.map_or("a chase".to_owned(), |spec| spec.info.id.to_owned());
        let mut work = work.map_err(|why| says::work_unsuitable(&what(), &why))?;
        work.rest();
        self.work = Some(work);
        Ok(())
    }

    /// Runs one shot, of the given number.
    ///
    /// # Errors
    /// There is no work, another worker broke the gate, or the shot failed here.
    pub(crate) fn shot(
        &mut self,
        gate: &StartGate,
        pings: Option<&Pings>,
        budget_ns: f64,
        number: u64,
    ) -> Result<WorkerShot, Ended> {
        let guard = BreakOnPanic(gate);
        let Some(mut work) = self.work.take() else {
            gate.break_open();
            return Err(Ended::Failed("the worker has no work".to_owned()));
        };
        if let Err(why) = work.take() {
            self.work = Some(work);
            gate.break_open();
            return Err(Ended::Failed(why));
        }
        self.lay_out(&mut work, budget_ns, number);
        let (clock, stopped) = (self.clock, Arc::clone(&self.stopped));
        let meeting = Meeting { gate, stopped: &stopped, clock: &clock };
        let shot = self.shot_of(&mut work, &meeting, pings, budget_ns);
        drop(guard);
        work.rest();
        self.work = Some(work);
        shot
    }

    /// Makes room for the stamps, and has lines that are shared drawn.
    fn lay_out(&mut self, work: &mut Work, budget_ns: f64, number: u64) {
        let wanted = (2.0 * budget_ns / work.block_ns().max(1.0)) as usize + 1_024;
        self.stamps.clear();
        // Written, not only reserved: the pages are there before the clock runs.
        self.stamps.resize(wanted.min(STAMPS_MOST), 1);
        if let Work::Share(work) = work {
            work.lay_out(number, self.share.index == 0);
        }
    }

    fn shot_of(
        &mut self,
        work: &mut Work,
        meeting: &Meeting<'_>,
        pings: Option<&Pings>,
        budget_ns: f64,
    ) -> Result<WorkerShot, Ended> {
        let fills = work.fills(&self.region, self.around.cache_bytes);
        let before = self.ping(meeting, pings)?;
        // After the pings, which take longer than a second level keeps its lines.
        let (settling, opened) = self.settle_with_others(work, meeting, budget_ns)?;
        let timed = self.timed(work, meeting, opened, budget_ns)?;
        let after = self.ping(meeting, pings)?;
        self.checksum = std::hint::black_box(self.checksum);
        // Threads that only answer stamp nothing.
        let stamps = &self.stamps[..timed.blocks + usize::from(timed.blocks > 0)];
        let stamps_ns: Vec<f64> = stamps.iter().map(|stamp| self.clock.between(opened, *stamp)).collect();
        let [from, to] = [(stamps_ns.first(), timed.ends[0]), (stamps_ns.last(), timed.ends[1])]
            .map(|(at, seen)| seen.at(at.copied().unwrap_or_default()));
        let inner = timed.between.into_iter();
        let inner = inner.map(|(at, seen)| seen.at(self.clock.between(opened, at)));
        let of_border = timed.border.map_or(0, |border| border.blocks);
        let unstamped = |ramp: usize| (ramp + of_border) as f64 * work.per_block();
        let thread = ThreadShot {
            per_block: work.per_block(),
            looks: std::iter::once(from).chain(inner).chain([to]).collect(),
            stamps_ns,
            settling,
            unstamped: work.ramp_blocks().filter(|_| !fills).map(unstamped),
            border_ns: timed.border.map(|border| border.ns).filter(|ns| ns.is_finite()),
            idle: timed.idle,
            guard: timed.guard,
        };
        Ok(WorkerShot { thread, pings: [before, after] })
    }

    /// Trips to the partners; both sides of a pair come to it at the same time.
    fn ping(&self, meeting: &Meeting<'_>, pings: Option<&Pings>) -> Result<Vec<f64>, Ended> {
        let Some(pings) = pings else { return Ok(Vec::new()) };
        meeting.arrive()?;
        Ok(pings.trips(self.index, &self.clock, self.lookout.stamp_ns()))
    }

    /// Brings caches and translations into the state that is measured, together with the other workers. Returns when
    /// the gate opened.
    fn settle_with_others(
        &mut self,
        work: &mut Work,
        meeting: &Meeting<'_>,
        budget_ns: f64,
    ) -> Result<(Settling, u64), Ended> {
        let (clock, around) = (&self.clock, self.around);
        let (mut settling, mut checksum) = match &self.other {
            Some(other) => (read_other(work, &self.region, other, around, clock), 0),
            None => settle(work, &self.region, around, budget_ns, clock),
        };
        let mut opened = meeting.arrive()?.at;
        if self.is_loaded {
            // While the others load the memory.
            if matches!(work, Work::Chase(_)) {
                let (again, sum) = settle(work, &self.region, around, budget_ns, clock);
                settling = Settling { ns: settling.ns + again.ns, ..again };
                checksum ^= sum;
            }
        } else if !self.is_alone {
            // The others may have taken longer: all go on together, and start from the same state.
            for is_last in [false, true] {
                checksum ^= refresh(work, around, clock);
                let opening = meeting.arrive()?;
                opened = opening.at;
                // All workers compare the same two times, so they decide alike: all do another pass, or none does.
                let is_together = clock.between(opening.first, opening.at) <= WAITS_NS;
                settling.is_settled &= !around.may_hold || is_together || !is_last;
                if is_together {
                    break;
                }
            }
        }
        self.checksum ^= checksum;
        Ok((settling, opened))
    }

    /// The work, between two looks at the clock of the core and at what the kernel counts.
    fn timed(
        &mut self,
        work: &mut Work,
        meeting: &Meeting<'_>,
        opened: u64,
        budget_ns: f64,
    ) -> Result<TimedWork, Ended> {
        let (clock, lookout, gate) = (self.clock, self.lookout, meeting.gate);
        let asked_before = work.major_faults();
        let before = Moment::start(&clock);
        let budget_ns = budget_ns + if self.is_loaded { SETTLES_UNDER_LOAD_NS } else { 0.0 };
        let first = lookout.look(&clock);
        // Threads that are measured together end together; a look of one that is alone is no part of its visit.
        let deadline = if self.is_alone { clock.now() } else { opened } + clock.ticks(budget_ns);
        let mut between = Vec::new();
        let blocks = match &mut *work {
            Work::Share(work) => {
                let (stopped, stamp_ns) = (meeting.stopped, lookout.stamp_ns());
                let watch = Watch { gate, stopped, clock: &clock, deadline, stamp_ns };
                // The other side of a shared line must not wait for this one.
                work.play(&mut self.stamps, &watch).inspect_err(|_| gate.break_open())?
            }
            Work::Revisit(work) => work.play(&mut self.stamps, &clock),
            Work::Os(work) => work.play(&mut self.stamps, &clock, deadline).inspect_err(|_| gate.break_open())?,
            work => {
                // After other work the first accesses are those that count.
                let mut checksum = if self.other.is_none() { work.ramp() } else { 0 };
                let mut timed =
                    Timed { clock: &clock, deadline, lookout: self.is_alone.then_some(lookout), between: &mut between };
                let blocks = timed.blocks(work, &mut self.stamps, &mut checksum);
                self.checksum ^= checksum;
                blocks
            }
        };
        let last = lookout.look(&clock);
        // Not of what others load until they end, nor of what is measured once after other work.
        let goes_on = self.other.is_none() && !self.is_loaded;
        let border = goes_on.then(|| work.border(&clock)).flatten();
        let mut after = Moment::end(&clock);
        let idle = idle::watch(&clock, idle::OF_A_VISIT_NS);
        // Faults on purpose say nothing about the system.
        after.usage.major_faults = after.usage.major_faults.saturating_sub(work.major_faults() - asked_before);
        Ok(TimedWork {
            blocks,
            ends: [first, last],
            between,
            border,
            idle,
            guard: guarded(self.cpu, &before, &after, &clock),
        })
    }
}

/// What a worker brings back of a shot.
pub(crate) struct WorkerShot {
    /// What it measured.
    pub(crate) thread: ThreadShot,
    /// Trips to its partners before and after, ns.
    pub(crate) pings: [Vec<f64>; 2],
}

/// Where the workers of a shot meet.
struct Meeting<'a> {
    gate: &'a StartGate,
    stopped: &'a AtomicBool,
    clock: &'a Clock,
}

impl Meeting<'_> {
    /// Waits until all are here. A stop is looked for only after a long wait: a shot that can begin is short.
    fn arrive(&self) -> Result<Opening, Ended> {
        let is_stopped = || self.stopped.load(Ordering::Relaxed);
        let wait = |looks| pause(looks) && !(looks >= SPIN_LOOKS && is_stopped());
        self.gate.arrive(|| self.clock.now(), wait).map_err(|_| match is_stopped() {
            true => Ended::Failed("the run was stopped".to_owned()),
            false => Ended::Followed,
        })
    }
}

/// Work that was timed.
struct TimedWork {
    blocks: usize,
    /// Looks at the clock of the core before and after.
    ends: [Seen; 2],
    /// As in [`Timed`].
    between: Vec<(u64, Seen)>,
    /// The border between two blocks.
    border: Option<Border>,
    idle: IdleWatch,
    guard: Guard,
}

/// The timed loop.
struct Timed<'a> {
    clock: &'a Clock,
    deadline: u64,
    /// Looks at the core's clock between windows; `None` where that would stop a load that others are measured under.
    lookout: Option<Lookout>,
    /// These looks: when they were, on the time line of the stamps, and what they saw.
    between: &'a mut Vec<(u64, Seen)>,
}

impl Timed<'_> {
    /// The start, then a stamp after each block until the deadline has passed, less the time that looks took. Returns
    /// the blocks done.
    fn blocks(&mut self, work: &mut Work, stamps: &mut [u64], checksum: &mut u64) -> usize {
        let every = self.clock.ticks(BETWEEN_LOOKS_NS);
        let start = self.clock.now();
        stamps[0] = start;
        let (mut blocks, mut paused, mut next_look) = (0, 0, start + every);
        for slot in &mut stamps[1..] {
            *checksum ^= work.block();
            let now = self.clock.now();
            *slot = now.saturating_sub(paused);
            blocks += 1;
            if *slot >= self.deadline {
                break;
            }
            if let Some(lookout) = self.lookout.filter(|_| *slot >= next_look) {
                self.between.push((*slot, lookout.look(self.clock)));
                next_look = *slot + every;
                paused += self.clock.now().saturating_sub(now);
            }
        }
        // What stores leave on its way is work of the last block.
        tiermark_system::drain();
        stamps[blocks] = self.clock.now().saturating_sub(paused);
        blocks
    }
}

/// Waiting at the gate, as long as it takes.
pub(crate) fn pause(looks: u32) -> bool {
    if looks < SPIN_LOOKS {
        tiermark_system::relax();
    } else {
        tiermark_system::yield_now();
    }
    true
}
