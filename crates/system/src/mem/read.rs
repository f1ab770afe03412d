//! Reads whose values do not matter: they bring lines or translations near the core.

use std::ptr;

use tiermark_kernels::layout::LINE;

use super::{Holds, Mapping};

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
        assert!(matches!(*self.holds(), Holds::Chain { .. }), "only a chain is never written again");
        // Mappings begin at a page, so a line begins inside wherever one of its bytes lies inside.
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
        let holds = self.holds();
        let no_writer = match *holds {
            // Never written again: several threads that follow it do not wait for one another.
            Holds::Chain { .. } => {
                drop(holds);
                None
            }
            // Code that would write has to take the lock first.
            Holds::Anything | Holds::Data { writers: 0, .. } => Some(holds),
            other => panic!("memory that others may write is not read: it holds {other:?}"),
        };
        // SAFETY: inside the mapping, whose memory is initialised (anonymous memory is zero); no other thread writes to
        // a proven chain, or to other memory as long as the lock is held.
        unsafe { touch_pieces(self.at(from, bytes), bytes, step) };
        drop(no_writer);
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
    use tiermark_kernels::layout::write_chain;
    use tiermark_model::ChainLayout;

    const BYTES: usize = 64 << 10;

    fn with_a_chain() -> Mapping {
        let (mapping, chain) = (Mapping::reserve(BYTES, 4096).unwrap(), ChainLayout::Groups);
        let base = mapping.address() as u64;
        mapping.fill(0, BYTES, |words| write_chain(words, base, chain, 4096, 1, &|| false)).unwrap();
        mapping.prove_chain(BYTES, chain, &|| false).unwrap();
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
    fn lines_of_memory_that_may_be_written_are_not_read_but_touched_under_the_lock() {
        let mapping = Mapping::reserve(BYTES, 4096).unwrap();
        assert!(panics(|| mapping.read_lines_within(0, 64)));
        mapping.touch_translations(0, BYTES, 4096);
        mapping.enter(false).unwrap();
        mapping.touch_translations(0, BYTES, 4096);
        mapping.leave(false);
        mapping.enter(true).unwrap();
        assert!(panics(|| mapping.touch_translations(0, BYTES, 4096)), "a call may write to it");
        mapping.leave(true);
        mapping.enter_shared().unwrap();
        assert!(panics(|| mapping.touch_translations(0, BYTES, 4096)), "others write with atomic operations");
        mapping.leave_shared();
        // A panic leaves no lock behind.
        mapping.fill(0, 64, |words| words.fill(7));
    }
}
