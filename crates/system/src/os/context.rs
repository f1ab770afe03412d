//! Two contexts of one thread that give the cpu to each other without the kernel's scheduler.

#[cfg(target_env = "gnu")]
pub use with_libc::LibcContexts;

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

/// The C library's, where it has them.
#[cfg(target_env = "gnu")]
mod with_libc {
    use std::io;
    use std::mem::zeroed;
    use std::ptr;

    use crate::mem::Mapping;
    use crate::{check, page_bytes};

    /// A stack of 64 KiB between pages that cannot be touched: what grows beyond it ends the process, and damages nothing.
    #[derive(Debug)]
    struct Stack(Mapping);

    impl Stack {
        /// Its bytes; far more than what runs on it needs, also with a signal's frame of all vector registers (11 KiB of
        /// AMX).
        const BYTES: usize = 64 << 10;

        /// Maps one.
        ///
        /// # Errors
        /// Those of `mmap`.
        fn new() -> io::Result<Self> {
            let page = page_bytes().ok_or(io::ErrorKind::Unsupported)? as usize;
            Mapping::reserve(Self::BYTES, page).map(Self)
        }

        /// Its lower end.
        fn start(&self) -> *mut u8 {
            self.0.at(0, Self::BYTES)
        }
    }

    struct Both {
        caller: libc::ucontext_t,
        other: libc::ucontext_t,
        stack: Stack,
        /// How often the other context was entered.
        entered: u64,
    }

    /// Two contexts, switched by `swapcontext`.
    pub struct LibcContexts(*mut Both);

    // SAFETY: the other context uses nothing of the thread it began on, and runs only while `there_and_back` does.
    unsafe impl Send for LibcContexts {}

    impl LibcContexts {
        /// Has a stack for the other context.
        ///
        /// # Errors
        /// Those of `getcontext` and `mmap`.
        pub fn new() -> io::Result<Self> {
            // SAFETY: all-zero is a valid value of these plain structures.
            let (caller, other) = unsafe { (zeroed(), zeroed()) };
            let context = Self(Box::into_raw(Box::new(Both { caller, other, stack: Stack::new()?, entered: 0 })));
            let both = context.0;
            // SAFETY: the contexts stay where they are until the value is dropped, as they point into themselves; the
            // stack is the other's alone. The function gets the two halves of an address as the integers that it takes.
            unsafe {
                check(libc::c_long::from(libc::getcontext(&raw mut (*both).other)))?;
                (*both).other.uc_stack.ss_sp = (*both).stack.start().cast();
                (*both).other.uc_stack.ss_size = Stack::BYTES;
                (*both).other.uc_link = ptr::null_mut();
                let entry: extern "C" fn(u32, u32) -> ! = switch_back;
                let entry = std::mem::transmute::<extern "C" fn(u32, u32) -> !, extern "C" fn()>(entry);
                let address = both as u64;
                libc::makecontext(&raw mut (*both).other, entry, 2, (address >> 32) as u32, address as u32);
            }
            Ok(context)
        }

        /// To the other context and back: two switches.
        ///
        /// # Errors
        /// When the C library fails to switch, or the other context was not entered.
        #[inline]
        pub fn there_and_back(&mut self) -> io::Result<()> {
            // SAFETY: both contexts live as long as this value; the other one is at its own `swapcontext`, or at its
            // beginning.
            unsafe {
                let before = (*self.0).entered;
                check(libc::c_long::from(libc::swapcontext(&raw mut (*self.0).caller, &raw const (*self.0).other)))?;
                if (*self.0).entered == before + 1 { Ok(()) } else { Err(io::Error::other("swapcontext went astray")) }
            }
        }
    }

    impl Drop for LibcContexts {
        fn drop(&mut self) {
            // SAFETY: made by Box::into_raw; the other context rests and holds nothing that must be dropped.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }

    extern "C" fn switch_back(high: u32, low: u32) -> ! {
        let both = (u64::from(high) << 32 | u64::from(low)) as *mut Both;
        loop {
            // SAFETY: the address of the two contexts, of which the caller's rests in its own `swapcontext`.
            unsafe {
                (*both).entered += 1;
                libc::swapcontext(&raw mut (*both).other, &raw const (*both).caller);
            }
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
        fn the_librarys_contexts_come_back() {
            let mut both = LibcContexts::new().unwrap();
            for _ in 0..1_000 {
                both.there_and_back().unwrap();
            }
            std::thread::spawn(move || both.there_and_back().unwrap()).join().unwrap();
        }
    }
}
