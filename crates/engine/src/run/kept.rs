//! The allocations of steps: made, kept from visit to visit, proven, and given back where memory is short.

use tiermark_model::{Labels, Setup, Step};

use super::{Runner, VISITS_A_PLACE};
use crate::cell::{Cell, Slot, first_kernel};

impl Runner<'_> {
    /// The slot to visit next, prepared if need be; `None` where it cannot be had.
    pub(super) fn slot(&mut self, index: usize) -> Option<usize> {
        let cell = &self.cells[index];
        let wanted = cell.step.stop.allocations.min(1 + cell.visited() / VISITS_A_PLACE);
        let is_new = (cell.slots.len() as u32) < wanted && (cell.slots.is_empty() || cell.allocated < wanted);
        if !is_new {
            return Some(cell.visited() as usize % cell.slots.len());
        }
        let allocation = cell.allocated;
        let setup = Setup { seed: place_seed(cell.step.setup.seed, allocation), ..cell.step.setup.clone() };
        let (bytes, kernel) = (cell.step.held_bytes().0, first_kernel(&cell.step).cloned());
        self.make_room(bytes);
        let rig = match self.host.prepare(&setup) {
            Err(_) if self.any_kept() && !self.host.stopped() => {
                self.make_room(u64::MAX);
                self.host.prepare(&setup)
            }
            prepared => prepared,
        };
        let stopped = self.host.stopped();
        let now = self.host.now();
        let cell = &mut self.cells[index];
        match rig {
            Ok(mut rig) => {
                if proven(&cell.step) {
                    cell.prove(rig.placement());
                }
                Some(cell.take(Slot { allocation, rig, kernel, visited: now }))
            }
            Err(_) if stopped => None,
            // Those that it has must do.
            Err(_) if !cell.slots.is_empty() => {
                cell.step.stop.allocations = cell.slots.len() as u32;
                Some(0)
            }
            Err(refusal) => {
                cell.refusal = Some(refusal);
                None
            }
        }
    }

    pub(super) fn any_kept(&self) -> bool {
        self.cells.iter().any(|cell| !cell.slots.is_empty())
    }

    /// Retires the allocations that were visited longest ago, until so many bytes more may be kept.
    pub(super) fn make_room(&mut self, bytes: u64) {
        let most = self.host.keep_bytes();
        loop {
            let held = |cell: &Cell| cell.step.held_bytes().0 * cell.slots.len() as u64;
            let kept: u64 = self.cells.iter().map(held).sum();
            if kept.saturating_add(bytes) <= most {
                return;
            }
            let slots = self.cells.iter().enumerate().flat_map(|(index, cell)| {
                cell.slots.iter().enumerate().map(move |(at, slot)| (slot.visited, index, at))
            });
            let Some((_, index, at)) = slots.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
            self.retire(index, at);
        }
    }

    /// Gives an allocation back, proven once more.
    pub(super) fn retire(&mut self, index: usize, at: usize) {
        let cell = &mut self.cells[index];
        let mut slot = cell.slots.remove(at);
        if proven(&cell.step) && !self.host.stopped() {
            cell.prove(slot.rig.placement());
        }
    }

    /// Proves every allocation that is kept once more, and gives them back.
    pub(super) fn prove_again(&mut self) {
        for index in 0..self.cells.len() {
            while !self.cells[index].slots.is_empty() {
                self.retire(index, 0);
            }
        }
    }
}

/// Whether to prove the placement of a step's regions. An operating-system operation that maps its own memory does not use them.
fn proven(step: &Step) -> bool {
    !step.is_os() || step.labels.number(Labels::RESIDENT).is_some()
}

/// The seed of an allocation. Each allocation gets another chain, so that the number does not rest on one chain alone. Seeds lie SplitMix64's
/// increment apart.
fn place_seed(seed: u64, allocation: u32) -> u64 {
    seed.wrapping_add(u64::from(allocation).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
