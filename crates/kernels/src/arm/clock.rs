//! Time stamps and the clock of the core.

use std::arch::asm;

use crate::operands::FACTOR;

/// Reads the virtual counter after loads before it have finished and before anything after it starts.
#[inline(always)]
pub(crate) fn stamp() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter that Linux opens to user space; the barriers have no other effect. Not `nomem`, so that
    // memory accesses stay on their side.
    unsafe {
        asm!("dsb ishld", "isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
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
                    ".p2align 6", "2:", ".rept 128", $instruction, ".endr", "subs {n}, {n}, #1", "b.ne 2b",
                    n = inout(reg) blocks => _, x = inout(reg) 1u64 => _, y = in(reg) FACTOR, options(nomem, nostack)
                );
            }
            blocks * 128
        }
    };
}

chain_fn!(alu_chain, "add {x}, {x}, {y}");
chain_fn!(mul_chain, "mul {x}, {x}, {y}");

/// Counts `n` turns down.
#[inline(always)]
pub(crate) fn spin(n: u64) {
    // SAFETY: only a register.
    unsafe { asm!("2:", "subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) n.max(1) => _, options(nomem, nostack)) };
}
