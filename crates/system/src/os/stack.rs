//! Stacks of contexts and children, and what keeps a program from changing them.

use std::io;

use crate::mem::Mapping;
use crate::page_bytes;

/// A stack of 64 KiB between pages that cannot be touched: what grows beyond it ends the process, and damages nothing.
#[derive(Debug)]
pub(super) struct Stack(Mapping);

impl Stack {
    /// Its bytes; far more than what runs on it needs, also with a signal's frame of all vector registers (11 KiB of
    /// AMX).
    pub(super) const BYTES: usize = 64 << 10;

    /// Maps one.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub(super) fn new() -> io::Result<Self> {
        let page = page_bytes().ok_or(io::ErrorKind::Unsupported)? as usize;
        Mapping::reserve(Self::BYTES, page).map(Self)
    }

    /// Its lower end.
    pub(super) fn start(&self) -> *mut u8 {
        self.0.at(0, Self::BYTES)
    }
}

/// Whether the processor keeps return addresses on a stack of its own (x86: shadow stacks, arm64: guarded control
/// stacks) and compares them: a switch between contexts that does not switch those too ends the process.
#[cfg(target_arch = "x86_64")]
pub fn has_shadow_stack() -> bool {
    /// From the kernel's `asm/prctl.h`; the bit says that they are on.
    const ARCH_SHSTK_STATUS: usize = 0x5005;
    const ARCH_SHSTK_SHSTK: u64 = 1;
    let mut features = 0u64;
    // SAFETY: the kernel writes a word to the address, or refuses what it does not know.
    let answer = unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_SHSTK_STATUS, &raw mut features) };
    answer == 0 && features & ARCH_SHSTK_SHSTK != 0
}

/// Whether the processor keeps return addresses on a stack of its own (x86: shadow stacks, arm64: guarded control
/// stacks) and compares them: a switch between contexts that does not switch those too ends the process.
#[cfg(target_arch = "aarch64")]
pub fn has_shadow_stack() -> bool {
    /// From the kernel's `linux/prctl.h`; the bit says that they are on.
    const PR_GET_SHADOW_STACK_STATUS: libc::c_int = 74;
    const PR_SHADOW_STACK_ENABLE: u64 = 1;
    let mut mode = 0u64;
    // SAFETY: the kernel writes a word to the address, or refuses what it does not know.
    let answer = unsafe { libc::prctl(PR_GET_SHADOW_STACK_STATUS, &raw mut mode, 0, 0, 0) };
    answer == 0 && mode & PR_SHADOW_STACK_ENABLE != 0
}

/// Blocks all signals that can be blocked, for this thread and its children: a child that shares its memory must not
/// run a handler in it.
pub fn block_signals() {
    // SAFETY: room for a set of signals, filled before it is read; nothing else is touched.
    unsafe {
        let mut all = std::mem::MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_stack_are_closed() {
        let stack = Stack::new().unwrap();
        let (start, maps) = (stack.start() as usize, std::fs::read_to_string("/proc/self/maps").unwrap());
        let end = start + Stack::BYTES;
        let closed = |edge: &str| maps.lines().any(|line| line.contains(edge) && line.contains(" ---p "));
        assert!(closed(&format!("-{start:x} ")) && closed(&format!("{end:x}-")), "{start:x}-{end:x} in\n{maps}");
    }

    #[test]
    fn signals_of_a_thread_are_blocked() {
        let blocked = std::thread::spawn(|| {
            block_signals();
            std::fs::read_to_string("/proc/thread-self/status").unwrap()
        });
        let status = blocked.join().unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
        let mask = u64::from_str_radix(mask, 16).unwrap();
        // SIGINT, SIGTERM and SIGCHLD: bits from 0.
        assert_eq!(mask & (1 << 1 | 1 << 14 | 1 << 16), 1 << 1 | 1 << 14 | 1 << 16, "{mask:x}");
    }
}
