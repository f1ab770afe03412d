//! The loops around the bodies of `kernels/*.kernel`: passes around an unrolled loop, and a loop of single lines for
//! the rest. `build.rs` writes the calls of these macros.

/// Counts a register down: turns of `$turn` while there are so many, then what is left, one `$step` at a time.
macro_rules! counted {
    ($count:literal by $turn:expr, [$($body:expr),* $(,)?], $step:literal, [$($tail:expr),* $(,)?]) => {
        concat!(
            "sub ", $count, ", ", $turn, "\njb 4f\n.p2align 6\n3:\n", $($body, "\n",)*
            "sub ", $count, ", ", $turn, "\njae 3b\n4:\nadd ", $count, ", ", $turn, "\njz 6f\n5:\n", $($tail, "\n",)*
            $step, "\njnz 5b\n6:\n"
        )
    };
}

/// A naked function that repeats its passes, which rcx counts down. Inside, rdi points to the arguments.
macro_rules! passes_fn {
    ($name:ident, init [$($init:expr),* $(,)?], pass [$($pass:expr),+ $(,)?], done [$($done:expr),* $(,)?]) => {
        naked_fn!($name(*const $crate::StreamArgs) -> u64, [
            $($init,)*
            "mov rcx, [rdi + 32]",
            "2:",
            $($pass,)+
            "dec rcx",
            "jnz 2b",
            $($done,)*
            "ret",
        ]);
    };
}

/// A naked function around a loop body: r8, r9 and r10 walk `dst`, `src` and `src2`, rdx counts bytes down. The body
/// covers `$unroll` bytes of each stream, the tail covers 64.
macro_rules! stream_fn {
    ($name:ident, unroll $unroll:literal, walks [$($ptr:literal),*], init $init:tt,
     body [$($body:expr),*], tail [$($tail:expr),*], done $done:tt) => {
        passes_fn!($name, init $init, pass [
            "mov r8, [rdi]",
            "mov r9, [rdi + 8]",
            "mov r10, [rdi + 16]",
            "mov rdx, [rdi + 24]",
            counted!("rdx" by $unroll, [$($body,)* $(concat!("add ", $ptr, ", ", $unroll)),*],
                     "sub rdx, 64", [$($tail,)* $(concat!("add ", $ptr, ", 64")),*]),
        ], done $done);
    };
}

/// As [`stream_fn`], over two pages at a time: the body covers `$step` bytes at `ptr` and `$step` at `ptr + 4096`.
/// The remainder after the last pair of pages goes line by line.
macro_rules! two_pages_fn {
    ($name:ident, step $step:literal, walks [$($ptr:literal),*], init $init:tt,
     body [$($body:expr),*], tail [$($tail:expr),*], done $done:tt) => {
        passes_fn!($name, init $init, pass [
            "mov r8, [rdi]",
            "mov r9, [rdi + 8]",
            "mov r10, [rdi + 16]",
            "mov rdx, [rdi + 24]",
            counted!("rdx" by 8192, [
                concat!("mov esi, 4096/", $step),
                ".p2align 6",
                "7:",
                $($body,)*
                $(concat!("add ", $ptr, ", ", $step),)*
                "dec esi",
                "jnz 7b",
                $(concat!("add ", $ptr, ", 4096")),*
            ], "sub rdx, 64", [$($tail,)* $(concat!("add ", $ptr, ", 64")),*]),
        ], done $done);
    };
}

/// As [`stream_fn`] for readers, over both halves of the span at once: the body covers `$step` bytes at r9 and `$step`
/// at r10. What the halves leave goes line by line.
macro_rules! two_halves_fn {
    ($name:ident, step $step:literal, init $init:tt, body [$($body:expr),*], tail [$($tail:expr),*], done $done:tt) => {
        passes_fn!($name, init $init, pass [
            "mov r9, [rdi + 8]",
            "mov rdx, [rdi + 24]",
            "mov rsi, rdx",
            "shr rsi, 1",
            concat!("and rsi, -", $step),
            "lea r10, [r9 + rsi]",
            "sub rdx, rsi",
            "sub rdx, rsi",
            concat!("sub rsi, ", $step),
            "jb 4f",
            ".p2align 6",
            "3:",
            $($body,)*
            concat!("add r9, ", $step),
            concat!("add r10, ", $step),
            concat!("sub rsi, ", $step),
            "jae 3b",
            "4:",
            "test rdx, rdx",
            "jz 6f",
            "mov r9, r10",
            "5:",
            $($tail,)*
            "add r9, 64",
            "sub rdx, 64",
            "jnz 5b",
            "6:",
        ], done $done);
    };
}

/// A naked function that visits lines in the order of an array of 4-byte line numbers, four lines an iteration; nothing
/// is drawn inside the timed loop. For each line, rax holds the byte offset; r8 and r9 hold `dst` and `src`, r10 the
/// value, and rsi is free for a sum.
macro_rules! random_fn {
    ($name:ident, init [$($init:expr),*], visit [$($visit:expr),+], done $done:tt) => {
        passes_fn!($name, init [$($init,)* "mov r8, [rdi]", "mov r9, [rdi + 8]", "mov r10, [rdi + 40]"], pass [
            "mov r11, [rdi + 48]",
            "mov rdx, [rdi + 24]",
            counted!("rdx" by 256, [
                concat!(".irp n,0,4,8,12\nmov eax, dword ptr [r11 + \\n]\nshl rax, 6\n", $($visit, "\n",)+ ".endr"),
                "add r11, 16"
            ], "sub rdx, 64", ["mov eax, dword ptr [r11]", "shl rax, 6", $($visit,)+ "add r11, 4"]),
        ], done $done);
    };
}
