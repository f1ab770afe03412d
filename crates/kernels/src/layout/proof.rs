//! Proof that pointers in memory form one cycle over all nodes.
//!
//! One walk around a gigabyte would take seconds, one missed line after the other. Instead some nodes are marked (in
//! the lowest bit of the pointer they hold), and several walkers each follow the chain from a mark to the next, at the
//! same time. If the walks link all marks into one ring and their steps add up to the number of nodes, every node lies
//! on that ring: a ring never visits a node twice, and there are no more nodes to visit.

use std::collections::HashMap;

use thiserror::Error;
use tiermark_model::setup::ChainLayout;

use super::{LayoutError, POLL_EVERY, go_on, places, slots};
use crate::rng::Rng;

/// Walks under way at once: about as many misses as a core keeps outstanding.
const WALKERS: usize = 32;
/// Most marks: enough that walks of very different lengths keep all walkers busy to the end.
const MARKS: usize = 1024;
/// The bit of a pointer that marks the node holding it. Pointers are multiples of 8.
const MARK: u64 = 1;

/// Why a chain is not what its layout says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProofError {
    /// The layout does not fit the buffer at all.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A pointer that leads to no node.
    #[error("the chain is broken: word {word} holds {pointer:#x}, which is no node of this buffer")]
    Astray {
        /// Index of the word.
        word: usize,
        /// The pointer in that word.
        pointer: u64,
    },
    /// Some nodes are not on the ring.
    #[error("the chain is not one cycle: a ring has {found} of {nodes} nodes")]
    NotOneCycle {
        /// Nodes on the ring that was found, or steps taken until it was clear that there is no ring.
        found: u64,
        /// Nodes there are.
        nodes: u64,
    },
    /// The permutations of a `long` chain are not followed one after the other.
    #[error("the chain leaves permutation {permutation} at {exits} places instead of one")]
    Exits {
        /// Number of the permutation, from 0.
        permutation: u8,
        /// Number of exits of the permutation.
        exits: u64,
    },
    /// A line number that is out of range or given twice.
    #[error("the order is no permutation: entry {entry} is line {line}, out of range or given before")]
    NotAPermutation {
        /// Index in the order.
        entry: usize,
        /// The line it names.
        line: u32,
    },
    /// A line order that leaves lines out.
    #[error("the order names {found} of {lines} lines")]
    Incomplete {
        /// Lines named.
        found: usize,
        /// Lines there are.
        lines: usize,
    },
}

/// A proven cycle, and some nodes on it with their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Nodes on the cycle: pointers followed in one round.
    pub nodes: u64,
    /// Places in the cycle (from an arbitrary node) and word indices of the marks, in rising order of place.
    marks: Vec<(u64, usize)>,
    /// Bytes from one place to the next of a chain of bytes, which has no marks; 0 of pointers.
    pitch: u64,
}

impl Proof {
    /// Addresses where `chains` parallel chains begin: equally spaced places of the one cycle.
    ///
    /// With N nodes and k chains, each chain reaches where another began after N/k steps, in which all chains together
    /// have touched all N nodes once: a line is met again only after every other line, as with one chain. Disjoint
    /// cycles would give the same distance but need a proof each.
    pub fn starts(&self, words: &[u64], base: u64, chains: u8) -> Vec<u64> {
        (0..chains).map(|chain| self.start(words, base, chain, chains)).collect()
    }

    /// Address where one of `chains` parallel chains begins: a walk from the mark before it.
    pub fn start(&self, words: &[u64], base: u64, chain: u8, chains: u8) -> u64 {
        let place = (u128::from(self.nodes) * u128::from(chain) / u128::from(chains)) as u64;
        if self.marks.is_empty() {
            return base + place * self.pitch;
        }
        let mark = self.marks.partition_point(|(at, _)| *at <= place) - 1;
        let (at, mut word) = self.marks[mark];
        for _ in at..place {
            word = ((words[word] - base) / 8) as usize;
        }
        base + word as u64 * 8
    }
}

/// Proves that `words` hold one cycle over all nodes of the layout, and leaves them as they were.
///
/// `base` is the address of `words[0]` that the pointers assume. Takes about as long as reading each line once at
/// random, with 32 reads under way.
///
/// Stopped when `stopped` returns true, which is checked every million nodes.
///
/// # Errors
/// The first fault of the chain; [`LayoutError::Stopped`] inside [`ProofError::Layout`].
pub fn prove(
    words: &mut [u64],
    base: u64,
    layout: ChainLayout,
    stopped: &dyn Fn() -> bool,
) -> Result<Proof, ProofError> {
    let places = places(layout, size_of_val(words))?;
    if layout.is_of_bytes() {
        prove_zeros(words, stopped)?;
        return Ok(Proof { nodes: places as u64, marks: Vec::new(), pitch: layout.pitch() });
    }
    let grid = Grid::new(layout, places);
    grid.check_pointers(words, base, stopped)?;
    let marks = mark(words, &grid);
    let walks = walk(words, base, &grid, &marks, stopped);
    for &mark in &marks {
        words[mark] &= !MARK;
    }
    link(&marks, &walks?, grid.nodes())
}

/// Proves that every byte is zero, so that a chain of bytes rises by its stride from each access to the next.
fn prove_zeros(words: &[u64], stopped: &dyn Fn() -> bool) -> Result<(), ProofError> {
    for (piece, words) in words.chunks(POLL_EVERY).enumerate() {
        go_on(stopped)?;
        if let Some(at) = words.iter().position(|word| *word != 0) {
            return Err(ProofError::Astray { word: piece * POLL_EVERY + at, pointer: words[at] });
        }
    }
    Ok(())
}

/// Which words are nodes.
struct Grid {
    places: usize,
    /// Words from one place to the next.
    pitch: usize,
    /// Words of a place that are nodes: one, one for each permutation of a `long` chain, or the two of a pair.
    slots: Vec<usize>,
    pair: bool,
}

impl Grid {
    fn new(layout: ChainLayout, places: usize) -> Self {
        let pair = matches!(layout, ChainLayout::Pair(_));
        Self { places, pitch: layout.pitch() as usize / 8, slots: slots(layout), pair }
    }

    fn nodes(&self) -> u64 {
        self.places as u64 * self.slots.len() as u64
    }

    /// Every pointer leads to a node of its own permutation, but for one node a permutation, which leads to the next.
    /// In pairs, the first leads to the second of the same place, and the second to some first.
    fn check_pointers(&self, words: &[u64], base: u64, stopped: &dyn Fn() -> bool) -> Result<(), ProofError> {
        let span = (self.places * self.pitch * 8) as u64;
        let depths = self.slots.len();
        let mut exits = vec![0u64; depths];
        for (place, line) in words.chunks(self.pitch).take(self.places).enumerate() {
            if place.is_multiple_of(POLL_EVERY) {
                go_on(stopped)?;
            }
            for (depth, &at) in self.slots.iter().enumerate() {
                let pointer = line.get(at).copied().unwrap_or_default();
                let offset = pointer.wrapping_sub(base);
                let word = (offset % (self.pitch as u64 * 8)) as usize;
                let (here, onward) = (at * 8, self.slots[(depth + 1) % depths] * 8);
                let own = offset / (self.pitch as u64 * 8) == place as u64;
                let fits =
                    if self.pair { word == onward && (depth == 1 || own) } else { word == here || word == onward };
                if offset >= span || !fits {
                    return Err(ProofError::Astray { word: place * self.pitch + at, pointer });
                }
                exits[depth] += u64::from(word != here);
            }
        }
        match exits.iter().position(|count| depths > 1 && !self.pair && *count != 1) {
            Some(j) => Err(ProofError::Exits { permutation: j as u8, exits: exits[j] }),
            None => Ok(()),
        }
    }
}

/// Marks nodes spread at random, and gives their word indices.
fn mark(words: &mut [u64], grid: &Grid) -> Vec<usize> {
    // One node in 16, so that small chains are walked and not only looked up.
    let count = (grid.places / 16).clamp(1, MARKS);
    let mut rng = Rng::new(0);
    let mut marks = Vec::with_capacity(count);
    while marks.len() < count {
        let slot = grid.slots[rng.below(grid.slots.len())];
        let word = rng.below(grid.places) * grid.pitch + slot;
        if words[word] & MARK == 0 {
            words[word] |= MARK;
            marks.push(word);
        }
    }
    marks
}

/// From a mark to the next: the word index it ends at, and the steps it took.
type Walk = (usize, u64);

/// Walks from every mark to the next, several at once.
fn walk(
    words: &[u64],
    base: u64,
    grid: &Grid,
    marks: &[usize],
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<Walk>, ProofError> {
    let mut walks = vec![(0, 0); marks.len()];
    // (which mark the walker started from, where it is, steps taken)
    let mut walkers: Vec<(usize, usize, u64)> = (0..marks.len().min(WALKERS)).map(|m| (m, marks[m], 0)).collect();
    let mut started = walkers.len();
    let (mut total, mut next_poll) = (0u64, 0u64);
    while !walkers.is_empty() {
        if total >= next_poll {
            go_on(stopped)?;
            next_poll = total + POLL_EVERY as u64;
        }
        let mut arrived = false;
        for (_, at, steps) in &mut walkers {
            *at = (((words[*at] & !MARK) - base) / 8) as usize;
            *steps += 1;
        }
        for (_, at, _) in &walkers {
            arrived |= words[*at] & MARK != 0;
        }
        total += walkers.len() as u64;
        if total > grid.nodes() {
            return Err(ProofError::NotOneCycle { found: total, nodes: grid.nodes() });
        }
        if !arrived {
            continue;
        }
        walkers.retain_mut(|walker| {
            if words[walker.1] & MARK == 0 {
                return true;
            }
            walks[walker.0] = (walker.1, walker.2);
            let more = started < marks.len();
            if more {
                *walker = (started, marks[started], 0);
                started += 1;
            }
            more
        });
    }
    Ok(walks)
}

/// Links the walks into a ring that must hold every node.
fn link(marks: &[usize], walks: &[Walk], nodes: u64) -> Result<Proof, ProofError> {
    let index: HashMap<usize, usize> = marks.iter().enumerate().map(|(i, word)| (*word, i)).collect();
    let mut places = Vec::with_capacity(marks.len());
    let (mut at, mut place) = (0, 0u64);
    loop {
        places.push((place, marks[at]));
        let (end, steps) = walks[at];
        place += steps;
        // Every walk ends at a mark; only the first can be met twice before all steps are used up.
        let Some(&onward) = index.get(&end) else { break };
        if onward == 0 || place > nodes {
            break;
        }
        at = onward;
    }
    if place == nodes && places.len() == marks.len() {
        Ok(Proof { nodes, marks: places, pitch: 0 })
    } else {
        Err(ProofError::NotOneCycle { found: place, nodes })
    }
}

/// Proves that `order` names each of `lines` lines once.
///
/// Stopped when `stopped` returns true, which is checked every million lines.
///
/// # Errors
/// The first entry that is out of range or repeats another, or that some are missing; [`LayoutError::Stopped`] inside [`ProofError::Layout`].
pub fn prove_permutation(order: &[u32], lines: usize, stopped: &dyn Fn() -> bool) -> Result<(), ProofError> {
    let mut seen = vec![0u64; lines.div_ceil(64)];
    for (entry, &line) in order.iter().enumerate() {
        if entry.is_multiple_of(POLL_EVERY) {
            go_on(stopped)?;
        }
        let (word, bit) = (line as usize / 64, 1u64 << (line % 64));
        if line as usize >= lines || seen[word] & bit != 0 {
            return Err(ProofError::NotAPermutation { entry, line });
        }
        seen[word] |= bit;
    }
    if order.len() == lines { Ok(()) } else { Err(ProofError::Incomplete { found: order.len(), lines }) }
}
