//! The allocations of a run: made, kept from visit to visit, shared by steps that can take turns on them, proven, and
//! given back where memory is short.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{Bench, KernelId, Labels, PlacementProof, Purpose, Role, Setup, Step, ThreadSetup};

use super::{Runner, VISITS_A_PLACE};
use crate::cell::first_kernel;
use crate::host::Rig;

/// Steps share memory from this size on. Smaller memory is made within a visit or two, which is about what changing a
/// rig's kernel takes.
const SHARED_FROM: u64 = 16 << 20;
/// Share of a run's time that may go into making memory before steps that have an allocation get no other: a guest
/// whose host gives it memory only when it is touched took 3 to 4 s for each GiB (KVM, host pages of 4 KiB), and 0.25 s
/// for the same memory touched again. Visits are worth more: behind 300 MiB of cache three allocations of 1.2 GiB took
/// half a survey, and allocations differ by 0.1 to 0.4 %.
const MAKING_SHARE: f64 = 0.15;

/// Making memory is slow from this multiple of the expected time on; curve points then do not keep theirs.
const SLOW: f64 = 2.0;
/// Memory that is made in less is made in any case: a dozen visits take as long.
pub(super) const SOON_MADE: f64 = 0.04;

/// An allocation and the rig that holds it.
pub(super) struct Kept {
    /// The family of the steps that it is of.
    family: usize,
    /// Its number in the family.
    pub(super) allocation: u32,
    bytes: u64,
    pub(super) rig: Box<dyn Rig>,
    /// The kernel it was given last; `None` where another may be in place.
    pub(super) kernel: Option<KernelId>,
    /// Whether its workers stream now.
    pub(super) streams: bool,
    /// When it was visited last.
    pub(super) visited: f64,
    /// Where its pages were when it was made.
    proof: Option<PlacementProof>,
}

/// All that is kept now.
#[derive(Default)]
pub(super) struct Keep {
    list: Vec<Kept>,
    /// Allocations made so far, by family.
    made: BTreeMap<usize, u32>,
    /// Seconds that making new memory took, and the expected seconds.
    making: (f64, f64),
    /// Families whose memory was freed after their first visits by design: making it again is no sign of too little
    /// memory.
    given_up: BTreeSet<usize>,
}

impl Keep {
    /// The family of a step: the first of these steps that can take turns with it on one rig, or its own index, which
    /// comes next.
    pub(super) fn family<'s>(mut steps: impl ExactSizeIterator<Item = &'s Step>, step: &Step, bench: &Bench) -> usize {
        let own = steps.len();
        let is_large = step.setup.regions.iter().any(|region| region.bytes.0 >= SHARED_FROM) && !step.is_os();
        let found = if is_large { steps.position(|other| takes_turns(other, step, bench)) } else { None };
        found.unwrap_or(own)
    }

    pub(super) fn rig_of(&mut self, at: usize) -> &mut Kept {
        &mut self.list[at]
    }

    /// Where the allocations of a family are.
    fn of(&self, family: usize) -> Vec<usize> {
        (0..self.list.len()).filter(|at| self.list[*at].family == family).collect()
    }

    pub(super) fn has(&self, family: usize) -> bool {
        self.list.iter().any(|kept| kept.family == family)
    }

    /// Bytes of all that is kept.
    fn bytes(&self) -> u64 {
        self.list.iter().map(|kept| kept.bytes).sum()
    }

    /// How much longer than expected it takes to make memory here.
    pub(super) fn slowness(&self) -> f64 {
        let (took, expected) = self.making;
        if expected > 0.0 { (took / expected).max(1.0) } else { 1.0 }
    }
}

/// Whether all threads of a step stream.
pub(super) fn streams(step: &Step) -> bool {
    step.setup.threads.iter().all(|thread| matches!(thread.role, Role::Stream { .. }))
}

/// Whether a step looks at a piece of memory of which no other step may have a page: all pieces are kept until the end.
pub(super) fn is_piece(step: &Step) -> bool {
    step.labels.number(Labels::REGION).is_some()
}

/// Whether two steps can be measured on the same memory: they differ in their seeds only, or are streams that differ in
/// their kernels and all write or all read. (After a write the memory is one word repeated; reads are of random data.)
/// A stream may also read through the chain that the other step follows.
fn takes_turns(a: &Step, b: &Step, bench: &Bench) -> bool {
    let writes = |step: &Step| {
        let kernel = first_kernel(step).filter(|_| streams(step))?;
        bench.kernel(&kernel.0).map(|info| info.write_per_line > 0)
    };
    let are_streams = writes(a).is_some() && writes(a) == writes(b);
    let reads_chain = |a: &Role, b: &Role| matches!((a, b), (Role::Chase { .. }, Role::Stream { .. }));
    let same = |(a, b): (&ThreadSetup, &ThreadSetup)| {
        let is_alike =
            are_streams || a.role == b.role || reads_chain(&a.role, &b.role) || reads_chain(&b.role, &a.role);
        let of = |thread: &'_ ThreadSetup| (thread.cpu, thread.region, thread.reads_first, thread.process);
        of(a) == of(b) && a.part == b.part && is_alike
    };
    if a.labels.number(Labels::REGION) != b.labels.number(Labels::REGION) {
        return false;
    }
    let (a, b) = (&a.setup, &b.setup);
    a.regions == b.regions && a.threads.len() == b.threads.len() && a.threads.iter().zip(&b.threads).all(same)
}

impl Runner<'_> {
    /// The allocation to visit next, prepared if need be; `None` where it cannot be had.
    pub(super) fn place(&mut self, index: usize) -> Option<usize> {
        let cell = &self.cells[index];
        let family = cell.family;
        let wanted = cell.step.stop.allocations.min(1 + cell.visited() / VISITS_A_PLACE);
        let kept = self.keep.of(family);
        let made = self.keep.made.get(&family).copied().unwrap_or_default();
        let is_wanted = (kept.len() as u32) < wanted && made < wanted;
        let is_new = kept.is_empty() || (is_wanted && self.may_make(index));
        let turn = cell.visited() as usize;
        let at = if is_new { self.make(index, made) } else { kept.get(turn % kept.len()).copied() }?;
        let kept = &self.keep.list[at];
        self.cells[index].visits_place(kept.allocation, kept.proof.as_ref());
        Some(at)
    }

    /// Whether there is time for one more allocation of a step that has one.
    fn may_make(&self, index: usize) -> bool {
        let next = self.making_seconds(index);
        let is_in_time = self.host.now() + next < self.deadline;
        let is_affordable = self.keep.making.0 + next <= MAKING_SHARE * (self.deadline - self.began);
        is_in_time && (next < SOON_MADE || is_affordable)
    }

    /// Whether a curve point gets its first visits in a row and then retires its memory: where memory is slow to make
    /// or short, it would otherwise be made again for each visit, or figures would lack it.
    pub(super) fn is_made_once(&self, index: usize) -> bool {
        let step = &self.cells[index].step;
        let is_new = self.cells[index].visited() < step.stop.min_visits && !self.keep.has(self.cells[index].family);
        let is_costly = self.is_costly_point(index);
        let is_short = || self.keep.bytes().saturating_add(step.held_bytes().0) > self.host.keep_bytes();
        is_costly && is_new && (self.keep.slowness() >= SLOW || is_short())
    }

    /// Whether a step is a point of a curve whose memory takes long to make.
    pub(super) fn is_costly_point(&self, index: usize) -> bool {
        let is_curve = self.cells[index].step.labels.is_for(Purpose::Curve);
        is_curve && self.making_seconds(index) >= SOON_MADE
    }

    /// Makes all first visits to a point, then retires its memory unless a figure uses it too.
    pub(super) fn visit_at_once(&mut self, index: usize) {
        let is_open = |run: &Self| {
            let cell = &run.cells[index];
            let wants = cell.visited() < cell.step.stop.min_visits && cell.refusal.is_none() && cell.fault.is_none();
            wants && !run.over() && run.fits(index)
        };
        self.visit(index);
        while is_open(self) {
            self.visit(index);
        }
        let family = self.cells[index].family;
        if !self.figures().contains(&family) {
            self.keep.given_up.insert(family);
            self.keep.of(family).into_iter().rev().for_each(|at| self.retire(at));
        }
    }

    /// Families with a step that is not a curve point, or whose memory takes long to be made again for each visit.
    fn figures(&self) -> BTreeSet<usize> {
        let is_figure =
            |cell: &&crate::cell::Cell| !cell.step.labels.is_point() || cell.step.labels.is_for(Purpose::Cold);
        self.cells.iter().filter(is_figure).map(|cell| cell.family).collect()
    }

    /// Seconds that an allocation of a step is expected to take, as others took here.
    pub(super) fn making_seconds(&self, index: usize) -> f64 {
        let step = &self.cells[index].step;
        step.prepare_seconds() + (self.keep.slowness() - 1.0) * step.memory_seconds()
    }

    /// Prepares the next allocation of a step's family; `made` were made before.
    fn make(&mut self, index: usize, made: u32) -> Option<usize> {
        let cell = &self.cells[index];
        let family = cell.family;
        let is_again = made > 0 && !self.keep.has(family);
        let setup = Setup { seed: place_seed(cell.step.setup.seed, made), ..cell.step.setup.clone() };
        let (bytes, kernel) = (cell.step.held_bytes().0, first_kernel(&cell.step).cloned());
        let (proves, expected) = (proven(&cell.step), cell.step.prepare_seconds());
        let (is_piece, streams) = (is_piece(&cell.step), streams(&cell.step));
        if !is_piece {
            self.make_room(bytes);
        }
        let (began, reused) = (self.host.now(), self.host.reused_bytes());
        let rig = match self.host.prepare(&setup) {
            Err(_) if !self.keep.list.is_empty() && !is_piece && !self.host.stopped() => {
                self.make_room(u64::MAX);
                self.host.prepare(&setup)
            }
            prepared => prepared,
        };
        let (stopped, visited) = (self.host.stopped(), self.host.now());
        let is_kept = self.keep.has(family);
        let cell = &mut self.cells[index];
        match rig {
            Ok(mut rig) => {
                // Memory used again says nothing of the time that new memory takes.
                let is_new = self.host.reused_bytes() == reused;
                if is_new {
                    self.keep.making = (self.keep.making.0 + visited - began, self.keep.making.1 + expected);
                }
                // Reused memory may be the same pages as the step's previous allocation, so it does not count as a new
                // one.
                let allocation = if is_again && !is_new { made - 1 } else { made };
                self.keep.made.insert(family, allocation + 1);
                if is_again && !self.keep.given_up.remove(&family) {
                    cell.remade();
                }
                let proof = proves.then(|| rig.placement());
                self.keep.list.push(Kept { family, allocation, bytes, rig, kernel, streams, visited, proof });
                Some(self.keep.list.len() - 1)
            }
            Err(_) if stopped => None,
            // The step keeps the allocations that it has.
            Err(_) if is_kept => {
                let kept = self.keep.of(family);
                cell.step.stop.allocations = kept.len() as u32;
                kept.first().copied()
            }
            Err(refusal) => {
                cell.refusal = Some(refusal);
                None
            }
        }
    }

    /// Retires allocations until so many bytes more may be kept: those that only points of curves use, the largest
    /// first, since figures need the time; then those that were visited longest ago.
    fn make_room(&mut self, bytes: u64) {
        let most = self.host.keep_bytes();
        loop {
            if self.keep.bytes().saturating_add(bytes) <= most {
                return;
            }
            let figures = self.figures();
            let last = |kept: &Kept| match figures.contains(&kept.family) {
                true => (true, kept.visited),
                false => (false, -(kept.bytes as f64)),
            };
            let all = self.keep.list.iter().map(last).enumerate();
            let first = all.min_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let Some((at, _)) = first else { return };
            self.retire(at);
        }
    }

    /// Gives an allocation back, proven once more.
    pub(super) fn retire(&mut self, at: usize) {
        let mut kept = self.keep.list.remove(at);
        if kept.proof.is_none() || self.host.stopped() {
            return;
        }
        let proof = kept.rig.placement();
        let was_there = |cell: &&mut crate::cell::Cell| cell.family == kept.family && cell.was_on(kept.allocation);
        self.cells.iter_mut().filter(was_there).for_each(|cell| cell.prove(proof.clone()));
    }

    /// Proves every allocation that is kept once more, and gives them back.
    pub(super) fn prove_again(&mut self) {
        while !self.keep.list.is_empty() {
            self.retire(0);
        }
    }
}

/// Whether to prove the placement of a step's regions. An operating-system operation that maps its own memory does not
/// use them.
fn proven(step: &Step) -> bool {
    !step.is_os() || step.labels.number(Labels::RESIDENT).is_some()
}

/// The seed of an allocation. Each allocation gets another chain, so that the number does not rest on one chain alone.
/// Seeds lie SplitMix64's increment apart.
fn place_seed(seed: u64, allocation: u32) -> u64 {
    seed.wrapping_add(u64::from(allocation).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
