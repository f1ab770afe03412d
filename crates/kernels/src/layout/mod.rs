//! Where chains of pointers lead and in which order random kernels visit lines. Pure: no clock, no system calls.
//!
//! A chain is one cycle over *nodes*: 64-byte lines, or the words that a stride names. [`write_chain`] writes its
//! pointers into memory, [`prove`] walks it once and shows that it is one cycle over all nodes, and
//! [`Proof::starts`] gives where k parallel chains begin.

mod chain;
mod proof;

use thiserror::Error;
use tiermark_model::setup::ChainLayout;

use crate::rng::Rng;

pub use chain::write_chain;
pub use proof::{Proof, ProofError, prove, prove_permutation};

/// Bytes of a line.
pub const LINE: usize = 64;

/// Why a layout cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Less memory than one node needs.
    #[error("a buffer of {bytes} bytes holds no node of layout {layout}: give it at least {needed} bytes")]
    TooSmall {
        /// The layout.
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
    /// A stride that is no multiple of the pointer size.
    #[error("a stride of {stride} bytes does not hold whole pointers: use a multiple of 8 bytes")]
    Stride {
        /// The stride given.
        stride: u64,
    },
    /// A count of permutations that does not fit a line.
    #[error("{count} permutations do not fit a line: use 1 to 8")]
    Permutations {
        /// The count given.
        count: u8,
    },
}

/// Distance between neighbouring nodes in bytes: the stride of `stride:N`, a line otherwise.
pub fn pitch(layout: ChainLayout) -> usize {
    match layout {
        ChainLayout::Stride(bytes) => bytes as usize,
        _ => LINE,
    }
}

/// Nodes of one round through a buffer: its whole lines, or its whole strides.
///
/// # Errors
/// A layout that cannot be built in that many bytes.
pub fn places(layout: ChainLayout, bytes: usize) -> Result<usize, LayoutError> {
    match layout {
        ChainLayout::Stride(stride) if stride == 0 || stride % 8 != 0 => return Err(LayoutError::Stride { stride }),
        ChainLayout::Long(count) if !(1..=8).contains(&count) => return Err(LayoutError::Permutations { count }),
        _ => {}
    }
    let needed = pitch(layout);
    match bytes / needed {
        0 => Err(LayoutError::TooSmall { layout, bytes, needed }),
        nodes if u32::try_from(nodes).is_err() => Err(LayoutError::TooLarge { nodes }),
        nodes => Ok(nodes),
    }
}

/// One cycle over `places` nodes, as the number of the node that follows each. For `long`, the first of its
/// permutations, closed to a cycle.
///
/// # Errors
/// A page size that does not hold whole lines, or more nodes than 32 bits name.
pub fn cycle(layout: ChainLayout, places: usize, page_bytes: usize, seed: u64) -> Result<Vec<u32>, LayoutError> {
    let nodes = u32::try_from(places).map_err(|_| LayoutError::TooLarge { nodes: places })?;
    let mut rng = Rng::new(seed);
    match layout {
        ChainLayout::Random | ChainLayout::Long(_) => Ok(sattolo(nodes, &mut rng)),
        ChainLayout::Stride(_) => Ok((0..nodes).map(|i| if i + 1 == nodes { 0 } else { i + 1 }).collect()),
        ChainLayout::PageRandom => {
            if page_bytes == 0 || !page_bytes.is_multiple_of(LINE) {
                return Err(LayoutError::Page { page_bytes });
            }
            Ok(page_cycle(nodes, u32::try_from(page_bytes / LINE).unwrap_or(u32::MAX), &mut rng))
        }
    }
}

/// A uniformly random cyclic permutation (Sattolo, "An algorithm to generate a random cyclic permutation",
/// Information Processing Letters 22(6), 1986): one cycle by construction.
fn sattolo(nodes: u32, rng: &mut Rng) -> Vec<u32> {
    let mut next: Vec<u32> = (0..nodes).collect();
    for i in (1..nodes).rev() {
        let j = rng.below(i);
        next.swap(i as usize, j as usize);
    }
    next
}

/// A uniformly random permutation (Fisher and Yates, in Durstenfeld's form, CACM 7(7), 1964).
fn shuffle(items: &mut [u32], rng: &mut Rng) {
    for i in (1..items.len()).rev() {
        let j = rng.below(i as u32 + 1);
        items.swap(i, j as usize);
    }
}

/// Random lines within a page until it is exhausted, pages in random order.
fn page_cycle(nodes: u32, page_lines: u32, rng: &mut Rng) -> Vec<u32> {
    let mut pages: Vec<u32> = (0..nodes.div_ceil(page_lines)).collect();
    shuffle(&mut pages, rng);
    let mut next = vec![0u32; nodes as usize];
    let mut lines = Vec::with_capacity(page_lines.min(nodes) as usize);
    let (mut first, mut last) = (None, 0u32);
    for page in pages {
        let start = page * page_lines;
        lines.clear();
        lines.extend(start..nodes.min(start.saturating_add(page_lines)));
        shuffle(&mut lines, rng);
        for &line in &lines {
            if first.is_none() {
                first = Some(line);
            } else {
                next[last as usize] = line;
            }
            last = line;
        }
    }
    if let Some(first) = first {
        next[last as usize] = first;
    }
    next
}

/// A uniformly random order of lines for the random kernels. The host may give a kernel any slice of it
/// (`order` = the slice, `bytes` = 64 × its length): numbers count from the start of the whole buffer.
///
/// # Errors
/// More lines than 32 bits name.
pub fn permutation(lines: usize, seed: u64) -> Result<Vec<u32>, LayoutError> {
    let count = u32::try_from(lines).map_err(|_| LayoutError::TooLarge { nodes: lines })?;
    let mut order: Vec<u32> = (0..count).collect();
    shuffle(&mut order, &mut Rng::new(seed));
    Ok(order)
}
