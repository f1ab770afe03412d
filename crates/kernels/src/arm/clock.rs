//! Time stamps and the clock of the core.

use std::arch::asm;

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

core_clock!(alu: "add {x}, {x}, {y}", mul: "mul {x}, {x}, {y}", down: ["subs {n}, {n}, #1", "b.ne 2b"]);
