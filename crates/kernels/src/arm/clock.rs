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

// As on x86-64.
core_throughput!([
    "add {a}, {a}, {y}", "add {b}, {b}, {y}", "ldr {t}, [{p}, #0]",
    "add {c}, {c}, {y}", "add {d}, {d}, {y}", "ldr {t}, [{p}, #144]",
    "add {e}, {e}, {y}", "add {f}, {f}, {y}", "ldr {t}, [{p}, #288]",
    "add {g}, {g}, {y}", "add {h}, {h}, {y}", "ldr {t}, [{p}, #432]",
], down: ["subs {n}, {n}, #1", "b.ne 2b"]);
