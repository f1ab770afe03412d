//! The loops around the bodies of `kernels/*.kernel`: passes around an unrolled loop, and a loop for the rest.
//! `build.rs` writes the calls of these macros.

/// Counts a register down: turns of `$turn` while there are so many, then what is left, one line (or `$step`) at a time.
macro_rules! counted {
    ($count:literal by $turn:expr, [$($body:expr),* $(,)?], [$($tail:expr),* $(,)?]) => {
        counted!($count by $turn, [$($body),*], rest ["5:", $($tail,)* concat!("subs ", $count, ", ", $count, ", #64"),
                                                      "b.ne 5b"])
    };
    ($count:literal by $turn:expr, [$($body:expr),* $(,)?], rest [$($rest:expr),* $(,)?]) => {
        concat!(
            "subs ", $count, ", ", $count, ", ", $turn, "\nb.lo 4f\n.p2align 6\n3:\n", $($body, "\n",)*
            "subs ", $count, ", ", $count, ", ", $turn, "\nb.hs 3b\n4:\nadds ", $count, ", ", $count, ", ", $turn,
            "\nb.eq 6f\n", $($rest, "\n",)* "6:\n"
        )
    };
}

/// A naked function that repeats its passes, which x5 counts down: `$init` sets it. Inside, x0 points to the arguments.
macro_rules! passes_fn {
    ($name:ident, init [$($init:expr),* $(,)?], pass [$($pass:expr),+ $(,)?], done [$($done:expr),* $(,)?]) => {
        naked_fn!($name(*const $crate::StreamArgs) -> u64, [
            $($init,)*
            "2:",
            $($pass,)+
            "subs x5, x5, #1",
            "b.ne 2b",
            $($done,)*
            "ret",
        ]);
    };
}

/// A naked function around a loop body: x1, x2 and x3 walk `dst`, `src` and `src2`, x4 counts bytes down. The body
/// covers `$unroll` bytes of each stream, the tail covers 64.
macro_rules! stream_fn {
    ($name:ident, unroll $unroll:literal, walks [$($ptr:literal),*], init [$($init:expr),*],
     body [$($body:expr),*], tail [$($tail:expr),*], done $done:tt) => {
        passes_fn!($name, init [$($init,)* "ldr x5, [x0, #32]"], pass [
            "ldp x1, x2, [x0]",
            "ldp x3, x4, [x0, #16]",
            counted!("x4" by concat!("#", $unroll),
                     [$($body,)* $(concat!("add ", $ptr, ", ", $ptr, ", #", $unroll)),*],
                     [$($tail,)* $(concat!("add ", $ptr, ", ", $ptr, ", #64")),*]),
        ], done $done);
    };
}

/// As [`stream_fn`] with vectors of any length: the body covers eight of them, the rest goes one predicated vector at a
/// time (x8 is the element index, p1 has the elements that remain). p0 is all true.
macro_rules! scalable_fn {
    ($name:ident, walks [$($ptr:literal),*], init [$($init:expr),*], body [$($body:expr),*], tail [$($tail:expr),*],
     done [$($done:expr),* $(,)?]) => {
        passes_fn!($name, init [
            ".arch_extension sve",
            "ptrue p0.d",
            "cntb x6, all, mul #8",
            $($init,)*
            "ldr x5, [x0, #32]",
        ], pass [
            "ldp x1, x2, [x0]",
            "ldp x3, x4, [x0, #16]",
            counted!("x4" by "x6", [$($body,)* $(concat!("add ", $ptr, ", ", $ptr, ", x6")),*], rest [
                "lsr x7, x4, #3",
                "mov x8, xzr",
                "whilelo p1.d, x8, x7",
                "5:",
                $($tail,)*
                "incd x8",
                "whilelo p1.d, x8, x7",
                "b.first 5b"
            ]),
        ], done [$($done,)* ".arch_extension nosve"]);
    };
}

/// A naked function that visits lines in the order of an array of 4-byte line numbers, four lines an iteration; nothing
/// is drawn inside the timed loop. For each line, x9 holds its address; `$base` is the register of the array visited,
/// x6 holds the value, and x10 is free for a sum.
macro_rules! random_fn {
    ($name:ident, base $base:literal, init [$($init:expr),*], visit [$($visit:expr),+], done $done:tt) => {
        passes_fn!($name, init [$($init,)* "ldp x1, x2, [x0]", "ldp x5, x6, [x0, #32]"], pass [
            "ldr x4, [x0, #24]",
            "ldr x7, [x0, #48]",
            counted!("x4" by "#256", [
                concat!(".irp n,0,4,8,12\nldr w8, [x7, #\\n]\nadd x9, ", $base, ", x8, lsl #6\n", $($visit, "\n",)+
                        ".endr"),
                "add x7, x7, #16"
            ], ["ldr w8, [x7], #4", concat!("add x9, ", $base, ", x8, lsl #6"), $($visit),+]),
        ], done $done);
    };
}
