//! Where chains of pointers lead and in which order random kernels visit lines. Pure: no clock, no system calls.
//!
//! A chain is one cycle over *nodes*: 64-byte lines, one line of each two, or the words that a stride names; of strides
//! that hold no pointer, over bytes, which are all zero. [`write_chain`] writes its pointers into memory, [`prove`]
//! walks it once and shows that it is one cycle over all nodes, and [`Proof::starts`] gives where k parallel chains
//! begin.

mod chain;
mod proof;

use thiserror::Error;
use tiermark_model::setup::ChainLayout;

use crate::rng::Rng;

pub use chain::{write_chain, write_cycle};
pub use proof::{Proof, ProofError, prove, prove_permutation};

/// Bytes of a line.
pub const LINE: usize = 64;

/// Why a layout cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Less memory than one node needs.
    #[error("a buffer of {bytes} bytes holds no node of layout {layout}: give it at least {needed} bytes")]
    TooSmall {
        /// The requested layout.
        layout: ChainLayout,
        /// Bytes there are.
        bytes: usize,
        /// Bytes one node needs.
        needed: usize,
    },
    /// More nodes than 4-byte numbers can name.
    #[error("{nodes} nodes are more than 32-bit line numbers can name: use a buffer below 256 GiB or a larger stride")]
    TooLarge {
        /// Nodes there would be.
        nodes: usize,
    },
    /// A page that does not hold whole lines.
    #[error("a page of {page_bytes} bytes does not hold whole lines: use a multiple of 64 bytes")]
    Page {
        /// The page size given.
        page_bytes: usize,
    },
    /// A stride of nothing, or of scattered pointers one that is no multiple of their size.
    #[error("a stride of {stride} bytes does not hold whole pointers: use a multiple of 8 bytes, above 0")]
    Stride {
        /// The stride given.
        stride: u64,
    },
    /// A distance that does not lie inside a block.
    #[error(
        "words {apart} bytes apart do not fit a block of {} bytes: use a multiple of 8 up to 504",
        ChainLayout::PAIR_BLOCK
    )]
    Pair {
        /// The distance given.
        apart: u64,
    },
    /// `stopped` returned true.
    #[error("the run was stopped")]
    Stopped,
    /// A count of permutations that does not fit a line.
    #[error("{count} permutations do not fit a line: use 1 to 8")]
    Permutations {
        /// The count given.
        count: u8,
    },
}

/// The words of a place that hold pointers, counted from its start.
fn slots(layout: ChainLayout) -> Vec<usize> {
    match layout {
        ChainLayout::Long(count) => (0..usize::from(count)).collect(),
        ChainLayout::Pair(apart) => vec![0, apart as usize / 8],
        ChainLayout::Groups => vec![ChainLayout::GROUP_OFFSET as usize / 8],
        ChainLayout::Random | ChainLayout::PageRandom | ChainLayout::Stride(_) | ChainLayout::Scatter(_) => vec![0],
    }
}

/// Nodes of one round through a buffer: its whole lines, or its whole strides.
///
/// # Errors
/// A layout that cannot be built in that many bytes.
pub fn places(layout: ChainLayout, bytes: usize) -> Result<usize, LayoutError> {
    match layout {
        ChainLayout::Stride(stride @ 0) => return Err(LayoutError::Stride { stride }),
        ChainLayout::Scatter(stride) if stride == 0 || stride % 8 != 0 => {
            return Err(LayoutError::Stride { stride });
        }
        ChainLayout::Pair(apart) if apart == 0 || apart % 8 != 0 || apart >= ChainLayout::PAIR_BLOCK => {
            return Err(LayoutError::Pair { apart });
        }
        ChainLayout::Long(count) if !(1..=8).contains(&count) => return Err(LayoutError::Permutations { count }),
        ChainLayout::Random
        | ChainLayout::PageRandom
        | ChainLayout::Stride(_)
        | ChainLayout::Scatter(_)
        | ChainLayout::Pair(_)
        | ChainLayout::Groups
        | ChainLayout::Long(_) => {}
    }
    let needed = layout.pitch() as usize;
    match bytes / needed {
        0 => Err(LayoutError::TooSmall { layout, bytes, needed }),
        nodes if u32::try_from(nodes).is_err() => Err(LayoutError::TooLarge { nodes }),
        nodes => Ok(nodes),
    }
}

/// Elements between two looks at whether to stop: even at a missed line and a page fault each, below 0.2 s.
const POLL_EVERY: usize = 1 << 20;

/// Ends with [`LayoutError::Stopped`] when `stopped` returns true.
fn go_on(stopped: &dyn Fn() -> bool) -> Result<(), LayoutError> {
    if stopped() { Err(LayoutError::Stopped) } else { Ok(()) }
}

/// The words of a line, a bit each, that hold pointers of a chain whose first word begins a line; all of them where its
/// places are no whole lines, or it has bytes.
pub fn words(layout: ChainLayout) -> u8 {
    let slots = slots(layout);
    let is_of_lines = layout.pitch().is_multiple_of(LINE as u64) && slots.iter().all(|slot| *slot < LINE / 8);
    let whole = |slots: Vec<usize>| slots.into_iter().fold(0, |words, slot| words | 1 << slot);
    if is_of_lines && !layout.is_of_bytes() { whole(slots) } else { u8::MAX }
}

/// Whether `offset` is where a node lies in a buffer of that many places.
pub fn is_node(layout: ChainLayout, places: usize, offset: usize) -> bool {
    let pitch = layout.pitch() as usize;
    if layout.is_of_bytes() {
        return offset.is_multiple_of(pitch) && offset / pitch < places;
    }
    let slot = offset % pitch.max(1);
    offset / pitch.max(1) < places && slot.is_multiple_of(8) && slots(layout).contains(&(slot / 8))
}

/// Whether its chain is one [`cycle`], which [`write_cycle`] writes: chains of several permutations, and of bytes, are
/// built in place.
pub fn is_one_cycle(layout: ChainLayout) -> bool {
    match layout {
        ChainLayout::Stride(_) => !layout.is_of_bytes(),
        ChainLayout::Long(_) => false,
        ChainLayout::Random
        | ChainLayout::PageRandom
        | ChainLayout::Scatter(_)
        | ChainLayout::Pair(_)
        | ChainLayout::Groups => true,
    }
}

/// One cycle over `places` places, as the number of the place that follows each. For `long`, the first of its
/// permutations, closed to a cycle.
///
/// Stopped when `stopped` returns true, which is checked every million nodes.
///
/// # Errors
/// A page size that does not hold whole lines, or more nodes than 32 bits name; [`LayoutError::Stopped`].
pub fn cycle(
    layout: ChainLayout,
    places: usize,
    page_bytes: usize,
    seed: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<u32>, LayoutError> {
    let nodes = u32::try_from(places).map_err(|_| LayoutError::TooLarge { nodes: places })?;
    let mut rng = Rng::new(seed);
    match layout {
        ChainLayout::Random | ChainLayout::Long(_) | ChainLayout::Scatter(_) | ChainLayout::Pair(_) => {
            sattolo(nodes, &mut rng, stopped)
        }
        ChainLayout::Stride(_) => numbers(nodes, |i| if i + 1 == nodes { 0 } else { i + 1 }, stopped),
        ChainLayout::PageRandom => {
            if page_bytes == 0 || !page_bytes.is_multiple_of(LINE) {
                return Err(LayoutError::Page { page_bytes });
            }
            grouped(nodes, u32::try_from(page_bytes / LINE).unwrap_or(u32::MAX), &mut rng, stopped)
        }
        ChainLayout::Groups => {
            grouped(nodes, (ChainLayout::GROUP_BYTES / ChainLayout::GROUP_PITCH) as u32, &mut rng, stopped)
        }
    }
}

/// `of(0)`, `of(1)`, …, one for each node.
fn numbers(nodes: u32, number: impl Fn(u32) -> u32, stopped: &dyn Fn() -> bool) -> Result<Vec<u32>, LayoutError> {
    let mut numbers = Vec::with_capacity(nodes as usize);
    for from in (0..nodes).step_by(POLL_EVERY) {
        go_on(stopped)?;
        numbers.extend((from..nodes.min(from.saturating_add(POLL_EVERY as u32))).map(&number));
    }
    Ok(numbers)
}

/// A uniformly random cyclic permutation (Sattolo, "An algorithm to generate a random cyclic permutation",
/// Information Processing Letters 22(6), 1986): one cycle by construction.
fn sattolo(nodes: u32, rng: &mut Rng, stopped: &dyn Fn() -> bool) -> Result<Vec<u32>, LayoutError> {
    let mut next = numbers(nodes, |i| i, stopped)?;
    for i in (1..nodes).rev() {
        if (i as usize).is_multiple_of(POLL_EVERY) {
            go_on(stopped)?;
        }
        next.swap(i as usize, rng.below(i as usize));
    }
    Ok(next)
}

/// A uniformly random permutation (Fisher and Yates, in Durstenfeld's form, CACM 7(7), 1964).
fn shuffle(items: &mut [u32], rng: &mut Rng, stopped: &dyn Fn() -> bool) -> Result<(), LayoutError> {
    for i in (1..items.len()).rev() {
        if i.is_multiple_of(POLL_EVERY) {
            go_on(stopped)?;
        }
        items.swap(i, rng.below(i + 1));
    }
    Ok(())
}

/// Random places within a group of `size` until it is exhausted, groups in random order.
fn grouped(nodes: u32, size: u32, rng: &mut Rng, stopped: &dyn Fn() -> bool) -> Result<Vec<u32>, LayoutError> {
    let mut groups = numbers(nodes.div_ceil(size), |group| group, stopped)?;
    shuffle(&mut groups, rng, stopped)?;
    let mut next = numbers(nodes, |_| 0, stopped)?;
    let mut places = Vec::with_capacity(size.min(nodes) as usize);
    let (mut first, mut last) = (None, 0u32);
    let mut until_poll = POLL_EVERY;
    for group in groups {
        let start = group * size;
        places.clear();
        places.extend(start..nodes.min(start.saturating_add(size)));
        shuffle(&mut places, rng, stopped)?;
        for &place in &places {
            if first.is_none() {
                first = Some(place);
            } else {
                next[last as usize] = place;
            }
            last = place;
        }
        until_poll = until_poll.saturating_sub(places.len());
        if until_poll == 0 {
            go_on(stopped)?;
            until_poll = POLL_EVERY;
        }
    }
    if let Some(first) = first {
        next[last as usize] = first;
    }
    Ok(next)
}

/// A uniformly random order of lines for the random kernels. The host may give a kernel any slice of it
/// (`order` = the slice, `bytes` = 64 × its length): numbers count from the start of the whole buffer.
///
/// Stopped when `stopped` returns true, which is checked every million lines.
///
/// # Errors
/// More lines than 32 bits name; [`LayoutError::Stopped`].
pub fn permutation(lines: usize, seed: u64, stopped: &dyn Fn() -> bool) -> Result<Vec<u32>, LayoutError> {
    let count = u32::try_from(lines).map_err(|_| LayoutError::TooLarge { nodes: lines })?;
    let mut order = numbers(count, |line| line, stopped)?;
    shuffle(&mut order, &mut Rng::new(seed), stopped)?;
    Ok(order)
}
