//! Reads whose values do not matter: they bring lines or translations near the core.

use std::ptr;

use tiermark_kernels::layout::LINE;

use super::{How, Mapping};

impl Mapping {
    /// Reads one byte of every 64-byte line of the first `bytes` bytes of a chain, in rising order.
    ///
    /// # Panics
    /// As [`Mapping::read_lines_within`].
    pub fn read_lines(&self, bytes: usize) {
        self.read_lines_within(0, bytes);
    }

    /// Reads one byte of every 64-byte line that has some of the `bytes` bytes from `from` on, in rising order.
    ///
    /// # Panics
    /// When the memory holds no chain, or the range does not lie inside.
    pub fn read_lines_within(&self, from: usize, bytes: usize) {
        let _following = self.using(0, self.bytes(), How::Follows).unwrap_or_else(|why| panic!("{why}"));
        // A place begins inside wherever one of its bytes lies inside.
        let before = from % LINE;
        let base = self.at(from - before, before + bytes);
        for offset in (0..before + bytes).step_by(LINE) {
            // SAFETY: inside the mapping, without writers; volatile, so it is neither removed nor merged.
            unsafe { ptr::read_volatile(base.add(offset)) };
        }
    }

    /// Reads one byte in each `step` bytes (a multiple of 64) of the `bytes` bytes from `from` on, so that translations
    /// of addresses are at hand. The loads do not wait for one another. Calls on the memory may read it at the same
    /// time.
    ///
    /// Where a call writes, only its holder may do this: see [`crate::StreamCall::touch_translations`].
    ///
    /// # Panics
    /// When a call may write to the memory, or it holds shared lines; when the range does not lie inside.
    pub fn touch_translations(&self, from: usize, bytes: usize, step: usize) {
        let _reading = self.using(from, bytes, How::Reads).unwrap_or_else(|why| panic!("{why}"));
        // SAFETY: inside the mapping, whose memory is initialised (anonymous memory is zero); no other thread writes to
        // these bytes as long as the guard lives.
        unsafe { touch_pieces(self.at(from, bytes), bytes, step) };
    }
}

/// Reads one byte in each `step` bytes of a range, without one load waiting for another.
///
/// The byte moves on by a line from piece to piece. At the same place of every piece, all lines would fall into a few
/// sets of the caches, push out what else these sets hold, and each other.
///
/// # Safety
/// The `bytes` bytes from `base` on can be read, and no other thread writes to them meanwhile.
///
/// # Panics
/// When `step` is no multiple of a line's 64 bytes.
pub(crate) unsafe fn touch_pieces(base: *const u8, bytes: usize, step: usize) {
    assert!(step > 0 && step.is_multiple_of(LINE), "a step of {step} bytes is no number of lines");
    for at in bytes_touched(bytes, step) {
        // SAFETY: `at` is below `bytes`, the rest the caller warrants; volatile, so it is neither removed nor merged.
        unsafe { ptr::read_volatile(base.add(at)) };
    }
}

/// The offset of the byte read in each piece of a range.
fn bytes_touched(bytes: usize, step: usize) -> impl Iterator<Item = usize> {
    let mut line = 0;
    (0..bytes).step_by(step).map(move |piece| {
        // The last piece may be shorter than the others.
        let at = (piece + line).min(bytes - 1);
        line = if line + LINE < step { line + LINE } else { 0 };
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::ChainLayout;

    use crate::mem::Cycle;

    const BYTES: usize = 64 << 10;

    fn with_a_chain() -> Mapping {
        let (mapping, chain) = (Mapping::reserve(BYTES, 4096).unwrap(), ChainLayout::Groups);
        mapping.make_chain(BYTES, chain, Cycle::Seed { seed: 1, page_bytes: 4096 }, &|| false).unwrap();
        mapping
    }

    fn panics(job: impl FnOnce()) -> bool {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err()
    }

    #[test]
    fn one_byte_of_each_piece_is_touched_and_the_line_moves() {
        for (bytes, step) in [(0, 64), (1, 64), (64, 64), (1 << 20, 4096), ((1 << 20) + 100, 32 << 10), (5000, 1 << 20)]
        {
            let touched: Vec<usize> = bytes_touched(bytes, step).collect();
            assert_eq!(touched.len(), bytes.div_ceil(step));
            for (index, at) in touched.iter().enumerate() {
                assert_eq!(at / step, index, "{bytes} by {step}");
                assert_eq!(*at, (index * step + index * 64 % step).min(bytes - 1), "{bytes} by {step}");
            }
        }
    }

    #[test]
    fn parts_of_a_chain_are_read() {
        let mapping = with_a_chain();
        for (from, bytes) in [(0, BYTES), (0, 0), (BYTES, 0), (4096, 4096), (100, 1), (BYTES - 1, 1)] {
            mapping.read_lines_within(from, bytes);
            mapping.touch_translations(from, bytes, 4096);
        }
        assert!(panics(|| mapping.read_lines_within(4096, BYTES)), "beyond its end");
        assert!(panics(|| mapping.touch_translations(1, BYTES, 4096)), "beyond its end");
        assert!(panics(|| mapping.touch_translations(0, usize::MAX, 4096)), "beyond its end");
        assert!(
            panics(|| mapping.touch_translations(0, BYTES, 0)) && panics(|| mapping.touch_translations(0, BYTES, 96))
        );
    }

    #[test]
    fn lines_of_memory_that_may_be_written_are_not_read_but_touched() {
        let mapping = Mapping::reserve(BYTES, 4096).unwrap();
        assert!(panics(|| mapping.read_lines_within(0, 64)));
        mapping.touch_translations(0, BYTES, 4096);
        mapping.enter(How::Reads).unwrap();
        mapping.touch_translations(0, BYTES, 4096);
        mapping.leave(How::Reads);
        mapping.enter(How::Writes).unwrap();
        assert!(panics(|| mapping.touch_translations(0, BYTES, 4096)), "a call may write to it");
        mapping.leave(How::Writes);
        mapping.enter(How::Shares).unwrap();
        assert!(panics(|| mapping.touch_translations(0, BYTES, 4096)), "others write with atomic operations");
        mapping.leave(How::Shares);
        // A panic leaves no use behind.
        mapping.fill(0, 64, |words| words.fill(7));
    }
}
