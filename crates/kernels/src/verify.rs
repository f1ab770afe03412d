//! Holds a kernel against its portable twin on this very cpu: what a self-test can do without guard pages.

use crate::layout::{LayoutError, permutation};
use crate::registry::stream;
use crate::rng::fill_data;
use crate::rows::{StreamArgs, StreamSpec};

/// Words of a line.
const WORDS: usize = 8;
/// Lines on each side of every array that no kernel may touch.
const MARGIN: usize = 4;
/// Spans in lines: one line, an odd number below every unroll, and one that no unroll divides.
const SPANS: [usize; 3] = [1, 7, 145];

/// A line, aligned as kernels want it.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; WORDS]);

/// Leaves the upper 24 bits of each fraction: with a factor of few bits, products and sums are exact, and kernels that
/// round once agree with those that round twice.
fn exact(words: &mut [u64]) {
    words.iter_mut().for_each(|word| *word &= !0 << 28);
}

/// The three arrays of a call, with margins.
struct Arena {
    arrays: [Vec<Line>; 3],
    order: Vec<u32>,
}

impl Arena {
    fn new(lines: usize) -> Result<Self, LayoutError> {
        let mut words = vec![0; (lines + 2 * MARGIN) * WORDS];
        let arrays = [1, 2, 3].map(|seed| {
            fill_data(&mut words, seed);
            exact(&mut words);
            words.chunks_exact(WORDS).map(|w| Line(std::array::from_fn(|i| w[i]))).collect()
        });
        Ok(Self { arrays, order: permutation(lines, 1, &|| false)? })
    }

    /// The checksum of all lines between the margins, twice over. A kernel that keeps nothing of what it loads returns
    /// 0, and the one that adds up for it is called besides.
    fn sum(&mut self, spec: &StreamSpec, value: u64) -> u64 {
        let own = self.call(spec, value);
        if spec.info.checked_by.is_some() { own.wrapping_add(self.call(spec.summing(), value)) } else { own }
    }

    /// Calls a kernel on these lines and returns its checksum.
    fn call(&mut self, spec: &StreamSpec, value: u64) -> u64 {
        let bytes = self.order.len() * size_of::<Line>();
        let order = self.order.as_ptr();
        let [dst, src, src2] = self.arrays.each_mut().map(|lines| lines[MARGIN..].as_mut_ptr().cast::<u8>());
        let args = StreamArgs { dst, src, src2, bytes, passes: 2, value, order };
        // SAFETY: three arrays that do not overlap, each aligned to 64 bytes and with more than `bytes` bytes from
        // there on; an order of their lines; and `verify` has checked that the kernel is available.
        unsafe { (spec.run)(&args) }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.arrays.iter().flatten().flat_map(|line| line.0)
    }
}

/// Runs a kernel and its portable twin on the same data, and compares checksums and every word, margins included.
///
/// # Errors
/// A message: where they differ, or that this cpu cannot run the kernel.
pub fn verify(spec: &StreamSpec) -> Result<(), String> {
    if let Some(foreign) = [spec, spec.summing()].into_iter().find(|spec| !(spec.available)()) {
        return Err(format!("{} cannot run on this cpu", foreign.info.id));
    }
    let twin = format!("{}/portable", spec.info.op.name());
    let twin = stream(&twin).ok_or_else(|| format!("there is no {twin} to compare with"))?;
    // Bits of 3.25 as f64 and some: a factor of few bits for triad, and eight bytes that are not all alike for stores.
    let value = 3.25f64.to_bits() | 0x5a << 40;
    for lines in SPANS {
        let arena = || Arena::new(lines).map_err(|e| e.to_string());
        let (mut got, mut want) = (arena()?, arena()?);
        let sums = (got.sum(spec, value), want.sum(twin, spec.info.fill.word(value)));
        if sums.0 != sums.1 {
            return Err(format!("over {lines} lines the checksum is {:#x}, that of its twin {:#x}", sums.0, sums.1));
        }
        if let Some(word) = got.words().zip(want.words()).position(|(got, want)| got != want) {
            let array = ["dst", "src", "src2"][word / ((lines + 2 * MARGIN) * WORDS)];
            return Err(format!("over {lines} lines {array} differs from what its twin leaves"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::available;

    #[test]
    fn every_kernel_passes() {
        for spec in available() {
            assert_eq!(verify(spec), Ok(()), "{}", spec.info.id);
        }
    }

    #[test]
    fn a_kernel_that_does_something_else_is_told() {
        let find = |id| *stream(id).unwrap();
        let mut wrong = find("read.random8/portable");
        wrong.run = find("read/portable").run;
        assert!(verify(&wrong).unwrap_err().contains("checksum"));
        let mut wrong = find("copy/portable");
        wrong.run = find("write/portable").run;
        assert!(verify(&wrong).unwrap_err().contains("dst"));
        wrong.available = || false;
        assert!(verify(&wrong).unwrap_err().contains("cannot run"));
        // A kernel whose loads another kernel adds up returns no checksum of its own.
        for id in ["read/portable", "read/nonsense"] {
            let mut wrong = find("read/portable");
            wrong.info.checked_by = Some(id);
            assert!(verify(&wrong).unwrap_err().contains("checksum"), "{id}");
        }
    }
}
