//! Calls that need no state.

/// The parent's process id, from the kernel.
pub(crate) fn getppid() -> i64 {
    // SAFETY: takes nothing, and cannot fail.
    unsafe { libc::syscall(libc::SYS_getppid) }
}
