//! The frame of a sequential kernel: passes around an unrolled loop, and a loop of single lines for the rest.

/// One instruction for each vector register number in `$regs`, on memory at `$ptr + $off + number * $width`.
/// `\r` stands for the number.
macro_rules! each {
    ($regs:literal, $pre:expr, $ptr:literal, $off:literal, $width:literal, $post:expr) => {
        concat!(
            ".irp r,", $regs, "\n", $pre, "[", $ptr, " + ", $off, " + \\r*", $width, "]", $post, "\n.endr"
        )
    };
}

/// A naked function around a loop body.
///
/// Inside, rdi points to the arguments, r8, r9 and r10 walk `dst`, `src` and `src2`, rdx counts bytes down, rcx
/// counts passes down. The body covers `$unroll` bytes of each stream, the tail covers 64.
macro_rules! stream_fn {
    ($name:ident, unroll $unroll:literal, walks [$($ptr:literal),*], init [$($init:expr),*],
     body [$($body:expr),*], tail [$($tail:expr),*], done [$($done:expr),* $(,)?]) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(_args: *const $crate::registry::StreamArgs) -> u64 {
            core::arch::naked_asm!(
                $($init,)*
                "mov rcx, [rdi + 32]",
                "2:",
                "mov r8, [rdi]",
                "mov r9, [rdi + 8]",
                "mov r10, [rdi + 16]",
                "mov rdx, [rdi + 24]",
                concat!("sub rdx, ", $unroll),
                "jb 4f",
                ".p2align 6",
                "3:",
                $($body,)*
                $(concat!("add ", $ptr, ", ", $unroll),)*
                concat!("sub rdx, ", $unroll),
                "jae 3b",
                "4:",
                concat!("add rdx, ", $unroll),
                "jz 6f",
                "5:",
                $($tail,)*
                $(concat!("add ", $ptr, ", 64"),)*
                "sub rdx, 64",
                "jnz 5b",
                "6:",
                "dec rcx",
                "jnz 2b",
                $($done,)*
                "ret",
            )
        }
    };
}
