//! Calls that follow chains.

use std::sync::Arc;

use tiermark_kernels::{ByteArgs, ChaseArgs, ChaseFn, MAX_CHAINS, byte_chase, chase};

use super::Right;
use crate::{How, Mapping};

/// A chase bound to its chain.
#[derive(Debug)]
pub struct ChaseCall {
    pub(super) links: Links,
    right: Right,
}

/// What a chase follows.
#[derive(Debug)]
pub(super) enum Links {
    /// Pointers, several chains at once.
    Pointers { run: ChaseFn, args: Box<ChaseArgs> },
    /// Bytes, so many strides of them, round and round; the next access is at place `next`.
    Bytes { base: *const u8, stride: usize, places: usize, next: usize, last: usize },
}

// SAFETY: the pointers inside are to the mapping, which is itself Send and kept alive by the Arc.
unsafe impl Send for ChaseCall {}

impl ChaseCall {
    /// Follows chains from these addresses of a mapping that holds a proven cycle.
    ///
    /// # Errors
    /// A message: when a start is no node of a chain proven there, or there is no chase over that many chains.
    pub fn new(mapping: &Arc<Mapping>, starts: &[u64]) -> Result<Self, String> {
        let no_node = || "a chase starts at no node of a proven chain".to_owned();
        // As long as it is followed, it stays.
        let right = Right::new(mapping, How::Follows).map_err(|_| no_node())?;
        if starts.iter().any(|start| !mapping.is_node(*start as usize)) {
            return Err(no_node());
        }
        let place = |start: u64| start as usize - mapping.address();
        let links = match (mapping.bytes_chain(), starts) {
            (Some((stride, places)), [start]) => {
                let base = mapping.at(0, stride * places);
                Links::Bytes { base, stride, places, next: place(*start) / stride, last: 0 }
            }
            (Some(_), _) => return Err(format!("a chase over bytes follows one chain, not {}", starts.len())),
            (None, _) => {
                let chains = u8::try_from(starts.len()).ok().filter(|n| *n <= MAX_CHAINS);
                let run = chains.and_then(chase);
                let run = run.ok_or_else(|| format!("no chase follows {} chains at once", starts.len()))?;
                let mut args = Box::new(ChaseArgs::EMPTY);
                args.heads.iter_mut().zip(starts).for_each(|(head, start)| *head = mapping.at(place(*start), 8));
                Links::Pointers { run, args }
            }
        };
        Ok(Self { links, right })
    }

    /// Goes on where it was when it rested, also on a chain that was made again meanwhile.
    ///
    /// # Errors
    /// A message: when there is no such chain any more.
    pub fn take(&mut self) -> Result<(), String> {
        self.right.take()?;
        let is_there = match &self.links {
            Links::Bytes { stride, places, .. } => self.right.mapping.bytes_chain() == Some((*stride, *places)),
            Links::Pointers { args, .. } => {
                let heads = args.heads.iter().take_while(|head| !head.is_null());
                heads.into_iter().all(|head| self.right.mapping.is_node(*head as usize))
            }
        };
        if !is_there {
            self.right.rest();
            return Err("another chain is there now".to_owned());
        }
        Ok(())
    }

    /// Gives up the right to its memory for a while.
    pub fn rest(&mut self) {
        self.right.rest();
    }

    /// Addresses of the nodes that each chain follows next.
    pub fn heads(&self, chains: usize) -> Vec<u64> {
        match &self.links {
            Links::Pointers { args, .. } => args.heads.iter().take(chains).map(|head| *head as u64).collect(),
            Links::Bytes { base, stride, next, .. } => vec![base.wrapping_add(stride * next) as u64],
        }
    }

    /// [`Mapping::read_lines_within`] of the memory of the chain.
    ///
    /// # Panics
    /// When the range does not lie inside.
    pub fn read_lines_within(&self, from: usize, bytes: usize) {
        self.right.mapping.read_lines_within(from, bytes);
    }

    /// [`Mapping::touch_translations`] of the memory of the chain.
    ///
    /// # Panics
    /// When the range does not lie inside, or `step` is no multiple of 64 bytes.
    pub fn touch_translations(&self, from: usize, bytes: usize, step: usize) {
        self.right.mapping.touch_translations(from, bytes, step);
    }

    /// Follows every chain for `steps` loads.
    ///
    /// # Panics
    /// When the call rests.
    #[inline]
    pub fn run(&mut self, steps: usize) {
        self.right.check();
        match &mut self.links {
            Links::Pointers { run, args } => {
                args.steps = steps.max(1);
                // SAFETY: the heads are nodes of the cycle that the mapping has proven, and nothing can write to it
                // while the right is held, so every load leads to another node of it.
                unsafe { run(&raw mut **args) }
            }
            Links::Bytes { base, stride, places, next, last } => {
                let mut left = steps.max(1);
                while left > 0 {
                    let steps = left.min(*places - *next);
                    let at = base.wrapping_add(*next * *stride);
                    let mut args = ByteArgs { at, stride: *stride, steps, last: *last };
                    // SAFETY: the mapping has proven that all its bytes are zero, and nothing can write to it while the
                    // right is held, so the loads are those of the next `steps` places, of which there are as many.
                    unsafe { byte_chase().0(&raw mut args) };
                    *last = args.last;
                    *next = (*next + steps) % *places;
                    left -= steps;
                }
            }
        }
    }
}
