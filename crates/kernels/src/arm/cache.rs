//! Flushing lines.

use std::arch::asm;

/// Writes the line at an address back and drops it from every cache down to the point of coherency.
///
/// # Safety
/// The address is mapped.
pub(crate) unsafe fn flush_line(line: *const u8) {
    // SAFETY: changes no data; Linux opens it to user space (SCTLR_EL1.UCI). The caller promises the mapping.
    unsafe { asm!("dc civac, {}", in(reg) line, options(nostack, preserves_flags)) };
}

/// Waits until lines flushed before are out of the caches, and stores before it out of the core.
pub(crate) fn flush_done() {
    // SAFETY: orders memory accesses, nothing else.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
}
