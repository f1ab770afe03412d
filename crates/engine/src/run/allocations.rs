//! The places in memory that the steps of a run are visited at: made, visited in turn, proven, and given back.
//!
//! Most rigs hold slices of the memory that the host filled once, and all of them are there at the same time. Others
//! have memory of their own: it is kept while it fits, and else made for each visit.

use std::collections::BTreeMap;

use tiermark_model::{KernelId, Machine, PageKind, PlacementProof, RegionSetup, Setup, Step};

use super::Runner;
use crate::cell::{Cell, first_kernel};
use crate::host::Rig;

/// Share of a run's time that may go into places that take long to make, before steps that have one get no other: a
/// chain over 1 GiB takes a second, and visits are worth more, since places differ by 0.1 to 0.4 %.
const MAKING_SHARE: f64 = 0.15;
/// A place that is made in less is made in any case: a dozen visits take as long.
const SOON_MADE: f64 = 0.04;
/// Visits to a step before it gets another place that takes longer: the first figures of all steps come before the
/// second places of any.
const VISITS_A_PLACE: u32 = 3;

/// Places of a figure in plain memory beyond L1 whose pages are small, in a guest perhaps behind the guest's back: they
/// may crowd a few sets of a cache (one of eleven slices of 1 MiB had a quarter of the rate of a second level).
const PLACES_OF_SMALL_PAGES: u32 = 5;

/// A rig at a place.
pub(super) struct Kept {
    /// The cell that it is of.
    cell: usize,
    /// Its number among the places of the cell.
    pub(super) allocation: u32,
    /// Bytes of memory of its own.
    bytes: u64,
    pub(super) rig: Box<dyn Rig>,
    /// The kernel it was given last; `None` where another may be in place.
    pub(super) kernel: Option<KernelId>,
    /// The cell whose roles its workers have.
    pub(super) works_for: usize,
    /// Where its pages were when it was made.
    proof: Option<PlacementProof>,
}

/// All that is kept now.
#[derive(Default)]
pub(super) struct Keep {
    list: Vec<Kept>,
    /// Places made so far, by cell, and the seconds that the last one took.
    places: BTreeMap<usize, (u32, f64)>,
    /// Seconds that all of them took.
    seconds: f64,
}

impl Keep {
    pub(super) fn rig_of(&mut self, at: usize) -> &mut Kept {
        &mut self.list[at]
    }

    /// Where the rigs of a cell are.
    fn of(&self, cell: usize) -> Vec<usize> {
        (0..self.list.len()).filter(|at| self.list[*at].cell == cell).collect()
    }

    pub(super) fn has(&self, cell: usize) -> bool {
        self.list.iter().any(|kept| kept.cell == cell)
    }

    /// Bytes of memory that rigs have of their own.
    fn bytes(&self) -> u64 {
        self.list.iter().fold(0, |sum, kept| sum.saturating_add(kept.bytes))
    }
}

/// Whether a step looks at a piece of memory of which no other step may have a page: all pieces are kept until the end.
pub(super) fn is_piece(step: &Step) -> bool {
    step.labels.region().is_some()
}

/// Places that a step is to be visited at.
pub(super) fn wanted(step: &Step, machine: &Machine) -> u32 {
    let first_level = machine.data_caches().filter(|cache| cache.level == 1).filter_map(|cache| cache.bytes).max();
    let is_beyond = |region: &RegionSetup| region.bytes.0 > first_level.unwrap_or_default();
    let may_be_small = |region: &RegionSetup| region.page == PageKind::Base || machine.system.hypervisor.is_some();
    let is_crowded = step.setup.regions.iter().any(|region| is_beyond(region) && may_be_small(region));
    let least = if is_crowded && step.setup.is_plain() && !step.labels.is_point() && !is_piece(step) {
        PLACES_OF_SMALL_PAGES
    } else {
        1
    };
    step.stop.allocations.max(least)
}

/// The first of these cells that a step has its piece of memory in common with.
pub(super) fn shared_home(cells: &[Cell], step: &Step) -> Option<usize> {
    let piece = step.labels.region()?;
    let is_home = |other: &Step| other.labels.region() == Some(piece) && other.setup.regions == step.setup.regions;
    cells.iter().position(|cell| is_home(&cell.step))
}

impl Runner<'_> {
    /// The place to visit next, made if need be; `None` where it cannot be had.
    pub(super) fn place(&mut self, index: usize) -> Option<usize> {
        let (kept, visited) = (self.keep.of(self.cells[index].home), self.cells[index].visited());
        let is_due = kept.is_empty() || self.may_make(index);
        let at = if is_due { self.make(index) } else { kept.get(visited as usize % kept.len()).copied() }?;
        let kept = &self.keep.list[at];
        self.cells[index].visits_place(kept.allocation, kept.proof.as_ref());
        Some(at)
    }

    /// Whether a step that has a place gets one more now.
    fn may_make(&self, index: usize) -> bool {
        let (cell, next) = (&self.cells[index], self.making_seconds(index));
        let places = self.keep.places.get(&self.cells[index].home).map_or(0, |(places, _)| *places);
        let is_in_time = self.host.now() + next < self.deadline;
        let is_affordable = self.keep.seconds + next <= MAKING_SHARE * (self.deadline - self.began);
        let is_worth_it = next < SOON_MADE || (is_affordable && cell.visited() >= places * VISITS_A_PLACE);
        places < cell.wanted_places && is_in_time && is_worth_it
    }

    /// Seconds that a place of a step is expected to take, as the last one did.
    pub(super) fn making_seconds(&self, index: usize) -> f64 {
        self.keep
            .places
            .get(&self.cells[index].home)
            .map_or_else(|| self.cells[index].step.prepare_seconds(), |(_, took)| *took)
    }

    /// Makes the next place of a step.
    fn make(&mut self, index: usize) -> Option<usize> {
        let step = &self.cells[index].step;
        let home = self.cells[index].home;
        let allocation = self.keep.places.get(&home).map_or(0, |(places, _)| *places);
        let setup = Setup { seed: place_seed(step.setup.seed, allocation), ..step.setup.clone() };
        let (own, kernel) = (step.held_bytes().0, first_kernel(step).cloned());
        let (proves, is_piece) = (proven(step), is_piece(step));
        let began = self.host.now();
        let rig = match self.host.prepare(&setup) {
            Err(_) if self.keep.bytes() > 0 && !is_piece && !self.host.stopped() => {
                self.retire_all(|kept| kept.bytes > 0);
                self.host.prepare(&setup)
            }
            prepared => prepared,
        };
        let (is_stopped, took) = (self.host.stopped(), self.host.now() - began);
        let kept = self.keep.of(home);
        let cell = &mut self.cells[index];
        match rig {
            Ok(mut rig) => {
                self.keep.places.insert(home, (allocation + 1, took));
                self.keep.seconds += took;
                self.time.placing += took;
                let proof = proves.then(|| rig.placement());
                let bytes = if rig.owns_memory() { own } else { 0 };
                self.keep.list.push(Kept { cell: home, allocation, bytes, rig, kernel, works_for: index, proof });
                Some(self.keep.list.len() - 1)
            }
            Err(_) if is_stopped => None,
            // The step keeps the places that it has.
            Err(_) if !kept.is_empty() => {
                cell.wanted_places = kept.len() as u32;
                kept.first().copied()
            }
            Err(_) if cell.visited() > 0 => {
                cell.lost_its_place = true;
                None
            }
            Err(refusal) => {
                cell.refusal = Some(refusal);
                None
            }
        }
    }

    /// Gives a rig back after a visit to it, if its memory is its own and there is no room to keep all such memory.
    pub(super) fn retire_unless_it_fits(&mut self, at: usize) {
        let kept = &self.keep.list[at];
        let is_over = kept.bytes > 0 && self.keep.bytes() > self.host.keep_bytes();
        if is_over && !is_piece(&self.cells[kept.cell].step) {
            self.retire(at);
        }
    }

    /// Gives a rig back, its memory proven once more.
    pub(super) fn retire(&mut self, at: usize) {
        let mut kept = self.keep.list.remove(at);
        if kept.proof.is_none() || self.host.stopped() {
            return;
        }
        let proof = kept.rig.placement();
        for index in (0..self.cells.len()).filter(|index| self.cells[*index].home == kept.cell).collect::<Vec<_>>() {
            if self.cells[index].was_on(kept.allocation) {
                self.cells[index].prove(proof.clone());
            }
        }
    }

    /// Gives back all rigs of a kind.
    pub(super) fn retire_all(&mut self, is: impl Fn(&Kept) -> bool) {
        let ended: Vec<usize> = (0..self.keep.list.len()).rev().filter(|at| is(&self.keep.list[*at])).collect();
        ended.into_iter().for_each(|at| self.retire(at));
    }
}

/// Whether to prove the placement of a step's regions. An operating-system operation that maps its own memory does not
/// use them.
fn proven(step: &Step) -> bool {
    !step.is_os() || step.labels.resident().is_some()
}

/// The seed of a place. Each gets another slice of memory and another chain, so that the number rests on no single one.
/// Seeds lie SplitMix64's increment apart.
fn place_seed(seed: u64, place: u32) -> u64 {
    seed.wrapping_add(u64::from(place).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
