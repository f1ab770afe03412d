//! Time stamps and the clock of the core.

use std::arch::asm;

use crate::operands::FACTOR;

/// Reads the time stamp counter after everything before it has finished and before anything after it starts
/// (Intel SDM volume 2, RDTSC: "LFENCE; RDTSC; LFENCE"; AMD makes `lfence` dispatch-serialising under Linux).
#[inline(always)]
pub(crate) fn stamp() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register; the fences touch no memory. Not `nomem`, so that memory accesses stay on their side.
    unsafe { asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// A chain of at least `n` of an instruction, which depend on each other. Returns how many it ran.
macro_rules! chain_fn {
    ($name:ident, $instruction:literal) => {
        #[inline(always)]
        pub(crate) fn $name(n: u64) -> u64 {
            let blocks = n.div_ceil(128).max(1);
            // SAFETY: only registers.
            unsafe {
                asm!(
                    ".p2align 6", "2:", ".rept 128", $instruction, ".endr", "dec {n}", "jnz 2b",
                    n = inout(reg) blocks => _, x = inout(reg) 1u64 => _, y = in(reg) FACTOR, options(nomem, nostack)
                );
            }
            blocks * 128
        }
    };
}

chain_fn!(alu_chain, "add {x}, {y}");
chain_fn!(mul_chain, "imul {x}, {y}");

/// Counts `n` turns down.
#[inline(always)]
pub(crate) fn spin(n: u64) {
    // SAFETY: only a register.
    unsafe { asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) n.max(1) => _, options(nomem, nostack)) };
}
