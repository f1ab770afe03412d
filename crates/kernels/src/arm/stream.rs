//! The loops around the bodies of `kernels/*.kernel`: passes around an unrolled loop, and a loop for the rest.
//! `build.rs` writes the calls of these macros.

/// A naked function around a loop body.
///
/// x0 points to the arguments, x1, x2 and x3 walk `dst`, `src` and `src2`, x4 counts bytes down, x5 counts passes down.
/// The body covers `$unroll` bytes of each stream, the tail covers 64.
macro_rules! stream_fn {
    ($name:ident, unroll $unroll:literal, walks [$($ptr:literal),*], init [$($init:expr),*],
     body [$($body:expr),*], tail [$($tail:expr),*], done [$($done:expr),* $(,)?]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                $($init,)*
                "ldr x5, [x0, #32]",
                "2:",
                "ldp x1, x2, [x0]",
                "ldp x3, x4, [x0, #16]",
                concat!("subs x4, x4, #", $unroll),
                "b.lo 4f",
                ".p2align 6",
                "3:",
                $($body,)*
                $(concat!("add ", $ptr, ", ", $ptr, ", #", $unroll),)*
                concat!("subs x4, x4, #", $unroll),
                "b.hs 3b",
                "4:",
                concat!("adds x4, x4, #", $unroll),
                "b.eq 6f",
                "5:",
                $($tail,)*
                $(concat!("add ", $ptr, ", ", $ptr, ", #64"),)*
                "subs x4, x4, #64",
                "b.ne 5b",
                "6:",
                "subs x5, x5, #1",
                "b.ne 2b",
                $($done,)*
                "ret",
            )
        }
    };
}

/// As [`stream_fn`] with vectors of any length: the body covers eight of them, the rest goes one predicated vector at a
/// time (x8 is the element index, p1 has the elements that remain). p0 is all true.
macro_rules! scalable_fn {
    ($name:ident, walks [$($ptr:literal),*], init [$($init:expr),*], body [$($body:expr),*], tail [$($tail:expr),*],
     done [$($done:expr),* $(,)?]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                ".arch_extension sve",
                "ptrue p0.d",
                "cntb x6, all, mul #8",
                $($init,)*
                "ldr x5, [x0, #32]",
                "2:",
                "ldp x1, x2, [x0]",
                "ldp x3, x4, [x0, #16]",
                "subs x4, x4, x6",
                "b.lo 4f",
                ".p2align 6",
                "3:",
                $($body,)*
                $(concat!("add ", $ptr, ", ", $ptr, ", x6"),)*
                "subs x4, x4, x6",
                "b.hs 3b",
                "4:",
                "adds x4, x4, x6",
                "b.eq 6f",
                "lsr x7, x4, #3",
                "mov x8, xzr",
                "whilelo p1.d, x8, x7",
                "5:",
                $($tail,)*
                "incd x8",
                "whilelo p1.d, x8, x7",
                "b.first 5b",
                "6:",
                "subs x5, x5, #1",
                "b.ne 2b",
                $($done,)*
                "ret",
                ".arch_extension nosve",
            )
        }
    };
}

/// A naked function that visits lines in the order of an array of 4-byte line numbers, four lines an iteration; nothing
/// is drawn inside the timed loop. For each line, x9 holds its address; `$base` is the register of the array visited,
/// x6 holds the value, and x10 is free for a sum.
macro_rules! random_fn {
    ($name:ident, base $base:literal, init [$($init:expr),*], visit [$($visit:expr),+], done [$($done:expr),*]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                $($init,)*
                "ldp x1, x2, [x0]",
                "ldp x5, x6, [x0, #32]",
                "2:",
                "ldr x4, [x0, #24]",
                "ldr x7, [x0, #48]",
                "subs x4, x4, #256",
                "b.lo 4f",
                ".p2align 6",
                "3:",
                concat!(".irp n,0,4,8,12\nldr w8, [x7, #\\n]\nadd x9, ", $base, ", x8, lsl #6\n", $($visit, "\n",)+
                        ".endr"),
                "add x7, x7, #16",
                "subs x4, x4, #256",
                "b.hs 3b",
                "4:",
                "adds x4, x4, #256",
                "b.eq 6f",
                "5:",
                "ldr w8, [x7], #4",
                concat!("add x9, ", $base, ", x8, lsl #6"),
                $($visit,)+
                "subs x4, x4, #64",
                "b.ne 5b",
                "6:",
                "subs x5, x5, #1",
                "b.ne 2b",
                $($done,)*
                "ret",
            )
        }
    };
}
