//! The loops around portable kernels: what each kernel means, in Rust. Oracles of the assembly, and a last resort.

use std::hint::black_box;

use crate::rows::StreamArgs;

/// A function around what is done to one 64-bit word, a closure of `dst`, `src` and `src2`, the word's index there, the
/// value, and the sum so far. `build.rs` writes the calls of this macro.
macro_rules! twin_fn {
    ($name:ident, $walk:expr, $word:expr) => {
        unsafe extern "C" fn $name(args: *const $crate::StreamArgs) -> u64 {
            // SAFETY: the caller gives valid arguments: every stream that the word touches has `bytes` bytes, and every
            // line in `order` lies in it.
            unsafe { $walk(args, $word) }
        }
    };
}

/// Calls `f` with the arguments once a pass. `black_box` keeps the compiler from merging passes.
///
/// # Safety
/// As for [`crate::StreamFn`].
unsafe fn passes(args: *const StreamArgs, mut f: impl FnMut(&StreamArgs)) {
    // SAFETY: the caller gives valid arguments.
    let args = unsafe { &*args };
    for _ in 0..args.passes {
        f(black_box(args));
    }
}

/// The words of dst, src and src2.
fn streams(args: &StreamArgs) -> [*mut u64; 3] {
    [args.dst.cast(), args.src.cast_mut().cast(), args.src2.cast_mut().cast()]
}

/// Goes through the words of the span in rising order.
///
/// # Safety
/// As for [`crate::StreamFn`].
pub(crate) unsafe fn sequential(
    args: *const StreamArgs,
    mut word: impl FnMut([*mut u64; 3], usize, u64, &mut u64),
) -> u64 {
    let mut sum = 0u64;
    // SAFETY: by the caller's promise.
    unsafe {
        passes(args, |a| {
            let streams = streams(a);
            for i in 0..a.bytes / 8 {
                word(streams, i, a.value, &mut sum);
            }
        });
    }
    sum
}

/// Goes through the first `N` words of each line in the order given.
///
/// # Safety
/// As for [`crate::StreamFn`].
pub(crate) unsafe fn random<const N: usize>(
    args: *const StreamArgs,
    mut word: impl FnMut([*mut u64; 3], usize, u64, &mut u64),
) -> u64 {
    let mut sum = 0u64;
    // SAFETY: by the caller's promise: `order` holds one line number for every 64 bytes of the span.
    unsafe {
        passes(args, |a| {
            let streams = streams(a);
            for number in std::slice::from_raw_parts(a.order, a.bytes / 64) {
                let line = streams.map(|stream| stream.wrapping_add(*number as usize * 8));
                // A count that is known and a sum of its own: the compiler may add up a line by vectors.
                let mut of_line = 0u64;
                for i in 0..N {
                    word(line, i, a.value, &mut of_line);
                }
                sum = sum.wrapping_add(of_line);
            }
        });
    }
    sum
}

/// Goes through the first `N` words of each line in rising order.
///
/// # Safety
/// As for [`crate::StreamFn`].
pub(crate) unsafe fn lines<const N: usize>(
    args: *const StreamArgs,
    mut word: impl FnMut([*mut u64; 3], usize, u64, &mut u64),
) -> u64 {
    let mut sum = 0u64;
    // SAFETY: by the caller's promise.
    unsafe {
        passes(args, |a| {
            let streams = streams(a);
            for line in 0..a.bytes / 64 {
                for i in 0..N {
                    word(streams, line * 8 + i, a.value, &mut sum);
                }
            }
        });
    }
    sum
}

/// The product of two `f64`, by their bits.
pub(crate) fn multiplied(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) * f64::from_bits(b)).to_bits()
}

/// The sum of two `f64`, by their bits.
pub(crate) fn added(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) + f64::from_bits(b)).to_bits()
}
