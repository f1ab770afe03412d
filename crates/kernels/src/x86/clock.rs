//! Time stamps and the clock of the core.

use std::arch::asm;

/// Reads the time stamp counter after everything before it has finished and before anything after it starts
/// (Intel SDM volume 2, RDTSC: "LFENCE; RDTSC; LFENCE"; AMD makes `lfence` dispatch-serialising under Linux).
#[inline(always)]
pub(crate) fn stamp() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register; the fences touch no memory. Not `nomem`, so that memory accesses stay on their side.
    unsafe { asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

core_clock!(alu: "add {x}, {y}", mul: "imul {x}, {y}", down: ["dec {n}", "jnz 2b"]);

// The loads lie in different lines and in different words of them: on some cores words of a bank wait for each other.
core_throughput!([
    "add {a}, {y}", "add {b}, {y}", "mov {t}, qword ptr [{p} + 0]",
    "add {c}, {y}", "add {d}, {y}", "mov {t}, qword ptr [{p} + 144]",
    "add {e}, {y}", "add {f}, {y}", "mov {t}, qword ptr [{p} + 288]",
    "add {g}, {y}", "add {h}, {y}", "mov {t}, qword ptr [{p} + 432]",
], down: ["dec {n}", "jnz 2b"]);
