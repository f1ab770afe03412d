//! Writing the pointers of a chain into memory.

use tiermark_model::setup::ChainLayout;

use super::{LayoutError, POLL_EVERY, cycle, go_on, places, sattolo, slots};
use crate::rng::Rng;

/// Writes a chain into a buffer: each place's first word (for `long:N`, each of its first N words; for `groups`, its
/// second word) becomes the address of the node that follows. Other words stay as they are. A chain of bytes makes all
/// words zero.
///
/// `base` is the address of `words[0]` where the chain will be followed; `page_bytes` matters to `page-random` only.
/// `long:N` holds N permutations: permutation j lives in word j of each line, its last line leads into the first of
/// permutation j + 1, and the last of the last back to the first of the first. So a line is visited N times in a
/// round, each time before and after other lines.
///
/// Stopped when `stopped` returns true, which is checked every million nodes.
///
/// # Errors
/// A layout that cannot be built in a buffer of that size; [`LayoutError::Stopped`].
pub fn write_chain(
    words: &mut [u64],
    base: u64,
    layout: ChainLayout,
    page_bytes: usize,
    seed: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<(), LayoutError> {
    let nodes = places(layout, size_of_val(words))?;
    if layout.is_of_bytes() {
        return write_zeros(words, stopped);
    }
    if let ChainLayout::Long(count) = layout {
        return write_long(words, base, nodes as u32, count, seed, stopped);
    }
    let next = cycle(layout, nodes, page_bytes, seed, stopped)?;
    write_cycle(words, base, layout, &next, stopped)
}

/// Writes a cycle that [`super::cycle`] made, as [`write_chain`] would.
///
/// # Errors
/// A layout that does not fit the buffer, and [`LayoutError::Stopped`].
pub fn write_cycle(
    words: &mut [u64],
    base: u64,
    layout: ChainLayout,
    next: &[u32],
    stopped: &dyn Fn() -> bool,
) -> Result<(), LayoutError> {
    places(layout, size_of_val(words))?;
    let pitch = layout.pitch() as usize;
    let slot = slots(layout)[0];
    for (start, (piece, next)) in
        (0..).step_by(POLL_EVERY).zip(words.chunks_mut(POLL_EVERY * (pitch / 8)).zip(next.chunks(POLL_EVERY)))
    {
        go_on(stopped)?;
        for (place, (words, next)) in (start..).zip(piece.chunks_mut(pitch / 8).zip(next)) {
            let onward = base + u64::from(*next) * pitch as u64 + slot as u64 * 8;
            if let ChainLayout::Pair(apart) = layout {
                words[0] = base + (place * pitch) as u64 + apart;
                words[apart as usize / 8] = onward;
            } else {
                words[slot] = onward;
            }
        }
    }
    Ok(())
}

/// Bytes that add nothing to the address of the next.
fn write_zeros(words: &mut [u64], stopped: &dyn Fn() -> bool) -> Result<(), LayoutError> {
    words.chunks_mut(POLL_EVERY).try_for_each(|piece| {
        go_on(stopped)?;
        piece.fill(0);
        Ok(())
    })
}

/// `count` permutations, chained.
fn write_long(
    words: &mut [u64],
    base: u64,
    lines: u32,
    count: u8,
    seed: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<(), LayoutError> {
    let mut rng = Rng::new(seed);
    // Where each permutation is entered and left: its cycle is cut at a random node and the node after it.
    let mut cuts = Vec::with_capacity(usize::from(count));
    for j in 0..usize::from(count) {
        let next = sattolo(lines, &mut rng, stopped)?;
        let leave = rng.below(lines as usize);
        cuts.push((next[leave], leave));
        for (piece, next) in words.chunks_mut(POLL_EVERY * 8).zip(next.chunks(POLL_EVERY)) {
            go_on(stopped)?;
            for (line, next) in piece.chunks_exact_mut(8).zip(next) {
                line[j] = base + u64::from(*next) * 64 + j as u64 * 8;
            }
        }
    }
    for (j, &(_, leave)) in cuts.iter().enumerate() {
        let onward = (j + 1) % cuts.len();
        words[leave * 8 + j] = base + u64::from(cuts[onward].0) * 64 + onward as u64 * 8;
    }
    Ok(())
}
