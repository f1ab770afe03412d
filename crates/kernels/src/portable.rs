//! The portable twins: what each operation means, in Rust. Oracles of the assembly, and a last resort.

use std::hint::black_box;

use tiermark_model::kernel::{Isa, StoreKind};

use crate::registry::{Fill, KernelRow, Op, StreamArgs, StreamSpec};

/// 64-bit words in a line.
const WORDS: usize = 8;

macro_rules! twin {
    ($id:literal, $op:expr, $run:ident, $loads:literal, $stores:literal, $doc:literal) => {
        StreamSpec {
            info: KernelRow {
                id: $id,
                op: $op,
                isa: Isa::Portable,
                loads: $loads,
                stores: $stores,
                unroll_bytes: 64,
                store_kind: if $stores == 0 { StoreKind::None } else { StoreKind::Cached },
                fill: Fill::Word,
                plain: true,
                checked_by: None,
                doc: $doc,
                symbol: None,
            },
            run: $run,
            available: || true,
        }
    };
}

/// One twin an operation. Non-temporal and block operations have ordinary stores here, and say so.
pub(crate) static TABLE: [StreamSpec; 14] = [
    twin!("read/portable", Op::Read, read, 8, 0, "Rust loop over 64-bit words"),
    twin!("write/portable", Op::Write, write, 0, 8, "Rust loop over 64-bit words"),
    twin!("write.nt/portable", Op::WriteNt, write, 0, 8, "Rust loop; its stores are ordinary ones"),
    twin!("copy/portable", Op::Copy, copy, 8, 8, "Rust loop over 64-bit words"),
    twin!("copy.nt/portable", Op::CopyNt, copy, 8, 8, "Rust loop; its stores are ordinary ones"),
    twin!("update/portable", Op::Update, update, 8, 8, "Rust loop over 64-bit words"),
    twin!("triad/portable", Op::Triad, triad, 16, 8, "Rust loop over f64"),
    twin!("triad.nt/portable", Op::TriadNt, triad, 16, 8, "Rust loop over f64; its stores are ordinary ones"),
    twin!("fill.rep/portable", Op::FillRep, write, 0, 8, "Rust loop; its stores are ordinary ones"),
    twin!("copy.rep/portable", Op::CopyRep, copy, 8, 8, "Rust loop; its stores are ordinary ones"),
    twin!("read.random/portable", Op::ReadRandom, read_random, 8, 0, "Rust loop, lines in the order given"),
    twin!("write.random/portable", Op::WriteRandom, write_random, 0, 8, "Rust loop, lines in the order given"),
    twin!("read.random8/portable", Op::ReadRandom8, read_random8, 1, 0, "Rust loop, 8 bytes of each line"),
    twin!("write.random8/portable", Op::WriteRandom8, write_random8, 0, 1, "Rust loop, 8 bytes of each line"),
];

/// Words of a span.
fn words(args: &StreamArgs) -> usize {
    args.bytes / 8
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

unsafe extern "C" fn read(args: *const StreamArgs) -> u64 {
    let mut sum = 0u64;
    // SAFETY: the caller gives valid arguments: `src` has `bytes` readable bytes.
    unsafe {
        passes(args, |a| {
            let src = std::slice::from_raw_parts(a.src.cast::<u64>(), words(a));
            sum = src.iter().fold(sum, |s, w| s.wrapping_add(*w));
        });
    }
    sum
}

unsafe extern "C" fn write(args: *const StreamArgs) -> u64 {
    // SAFETY: the caller gives valid arguments: `dst` has `bytes` writable bytes.
    unsafe { passes(args, |a| std::slice::from_raw_parts_mut(a.dst.cast::<u64>(), words(a)).fill(a.value)) };
    0
}

unsafe extern "C" fn copy(args: *const StreamArgs) -> u64 {
    // SAFETY: the caller gives valid arguments: `src` and `dst` have `bytes` bytes and do not overlap.
    unsafe { passes(args, |a| a.dst.cast::<u64>().copy_from_nonoverlapping(a.src.cast(), words(a))) };
    0
}

unsafe extern "C" fn update(args: *const StreamArgs) -> u64 {
    // SAFETY: the caller gives valid arguments: `dst` has `bytes` readable and writable bytes.
    unsafe {
        passes(args, |a| {
            for w in std::slice::from_raw_parts_mut(a.dst.cast::<u64>(), words(a)) {
                *w = w.wrapping_add(a.value);
            }
        });
    }
    0
}

unsafe extern "C" fn triad(args: *const StreamArgs) -> u64 {
    // SAFETY: the caller gives valid arguments: three spans of `bytes` bytes that do not overlap.
    unsafe {
        passes(args, |a| {
            let dst = std::slice::from_raw_parts_mut(a.dst.cast::<f64>(), words(a));
            let b = std::slice::from_raw_parts(a.src.cast::<f64>(), words(a));
            let c = std::slice::from_raw_parts(a.src2.cast::<f64>(), words(a));
            let scale = f64::from_bits(a.value);
            for (d, (b, c)) in dst.iter_mut().zip(b.iter().zip(c)) {
                *d = b + scale * c;
            }
        });
    }
    0
}

/// The line numbers of random kernels.
///
/// # Safety
/// `order` must hold one line number for every 64 bytes of the span.
unsafe fn order(args: &StreamArgs) -> impl Iterator<Item = usize> {
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts(args.order, args.bytes / 64) }.iter().map(|line| *line as usize * WORDS)
}

unsafe extern "C" fn read_random(args: *const StreamArgs) -> u64 {
    let mut sum = 0u64;
    // SAFETY: the caller gives valid arguments: every line in `order` lies in `src`.
    unsafe {
        passes(args, |a| {
            for at in order(a) {
                for word in at..at + WORDS {
                    sum = sum.wrapping_add(*a.src.cast::<u64>().add(word));
                }
            }
        });
    }
    sum
}

unsafe extern "C" fn write_random(args: *const StreamArgs) -> u64 {
    // SAFETY: the caller gives valid arguments: every line in `order` lies in `dst`.
    unsafe {
        passes(args, |a| {
            for at in order(a) {
                std::slice::from_raw_parts_mut(a.dst.cast::<u64>().add(at), WORDS).fill(a.value);
            }
        });
    }
    0
}

unsafe extern "C" fn read_random8(args: *const StreamArgs) -> u64 {
    let mut sum = 0u64;
    // SAFETY: the caller gives valid arguments: every line in `order` lies in `src`.
    unsafe { passes(args, |a| order(a).for_each(|at| sum = sum.wrapping_add(*a.src.cast::<u64>().add(at)))) };
    sum
}

unsafe extern "C" fn write_random8(args: *const StreamArgs) -> u64 {
    // SAFETY: the caller gives valid arguments: every line in `order` lies in `dst`.
    unsafe { passes(args, |a| order(a).for_each(|at| *a.dst.cast::<u64>().add(at) = a.value)) };
    0
}
