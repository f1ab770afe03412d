//! Flushing lines.

use std::arch::asm;

/// Writes the line at an address back and drops it from every cache.
///
/// # Safety
/// The address is mapped.
pub(crate) unsafe fn flush_line(line: *const u8) {
    // SAFETY: changes no data; part of SSE2. The caller promises the mapping.
    unsafe { asm!("clflush [{}]", in(reg) line, options(nostack, preserves_flags)) };
}

/// Waits until lines flushed before are out of the caches, and stores before it out of the core.
pub(crate) fn flush_done() {
    // SAFETY: orders memory accesses, nothing else.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) };
}
