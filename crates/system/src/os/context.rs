//! Two contexts of one thread that give the cpu to each other without the kernel's scheduler.

use std::arch::naked_asm;
use std::cell::UnsafeCell;
use std::io;

use super::stack::Stack;

/// Two contexts, switched by a few instructions of our own: callee-saved registers and the stack pointer.
///
/// The other context is a loop that only switches back; it touches no memory but its stack and the two places where
/// stack pointers are kept.
#[derive(Debug)]
pub struct OwnContexts {
    /// Stack pointers of the one that rests: the caller's, and the other's.
    rests: Box<UnsafeCell<[usize; 2]>>,
    /// Never touched while the other context exists.
    _stack: Stack,
}

// SAFETY: the other context uses nothing of the thread it began on, and runs only while `there_and_back` does.
unsafe impl Send for OwnContexts {}

impl OwnContexts {
    /// Has a stack for the other context.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn prepare() -> io::Result<Self> {
        let stack = Stack::new()?;
        let rests = Box::new(UnsafeCell::new([0; 2]));
        let caller = rests.get() as usize;
        let frame = first_frame(caller, caller + size_of::<usize>());
        let words = size_of_val(&frame) / size_of::<usize>();
        // SAFETY: the frame lies at the upper end of the stack, aligned to 16 bytes, and no other code has the stack.
        unsafe {
            let top = stack.start().add(Stack::BYTES).cast::<usize>().sub(words);
            top.cast::<Frame>().write(frame);
            (*rests.get())[1] = top as usize;
        }
        Ok(Self { rests, _stack: stack })
    }

    /// To the other context and back: two switches.
    #[inline]
    pub fn there_and_back(&mut self) {
        let rests = self.rests.get().cast::<usize>();
        // SAFETY: the other context's stack pointer was kept by the switch that came from there, or is the first frame.
        unsafe { switch(rests, *rests.add(1)) };
    }
}

#[cfg(target_arch = "x86_64")]
type Frame = [usize; 8];
#[cfg(target_arch = "aarch64")]
type Frame = [usize; 20];

/// What the first switch takes from the stack: where the two stack pointers are kept, and where to go.
#[cfg(target_arch = "x86_64")]
fn first_frame(caller: usize, other: usize) -> Frame {
    // r15, r14, r13, r12, rbx, rbp, the return address, and none above.
    [0, 0, caller, other, 0, 0, switch_back as *const () as usize, 0]
}

/// What the first switch takes from the stack: where the two stack pointers are kept, and where to go.
#[cfg(target_arch = "aarch64")]
fn first_frame(caller: usize, other: usize) -> Frame {
    let mut frame = [0; 20];
    // x19, x20, and the link register.
    (frame[0], frame[1], frame[11]) = (other, caller, switch_back as *const () as usize);
    frame
}

/// Keeps the callee-saved registers on the stack and its pointer in `keep`, and takes those that lie at `to`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(keep: *mut usize, to: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// The other context: switches back for ever. r12: where its own stack pointer is kept; r13: where the caller's is.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn switch_back() {
    naked_asm!("2:", "mov rdi, r12", "mov rsi, [r13]", "call {switch}", "jmp 2b", switch = sym switch)
}

/// Keeps the callee-saved registers on the stack and its pointer in `keep`, and takes those that lie at `to`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(keep: *mut usize, to: usize) {
    naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

/// The other context: switches back for ever. x19: where its own stack pointer is kept; x20: where the caller's is.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn switch_back() {
    naked_asm!("2:", "mov x0, x19", "ldr x1, [x20]", "bl {switch}", "b 2b", switch = sym switch)
}

#[cfg(target_env = "gnu")]
pub use with_libc::LibcContexts;

/// The C library's, where it has them.
#[cfg(target_env = "gnu")]
mod with_libc {
    use std::io;
    use std::mem::zeroed;
    use std::ptr;

    use super::Stack;
    use crate::check;

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
            let made = Self(Box::into_raw(Box::new(Both { caller, other, stack: Stack::new()?, entered: 0 })));
            let both = made.0;
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
            Ok(made)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_come_back_with_everything_as_it_was() {
        let mut own = OwnContexts::prepare().unwrap();
        let mut sums = [1.0f64; 16];
        for n in 0..10_000u64 {
            own.there_and_back();
            // Values that live across the switch, in callee-saved registers where there are some.
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += (n * i as u64) as f64;
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            assert_eq!(*sum, 1.0 + (i as u64 * (10_000 * 9_999 / 2)) as f64);
        }
        // On another thread as well.
        std::thread::spawn(move || own.there_and_back()).join().unwrap();
    }

    #[test]
    fn the_other_context_runs_on_its_own_stack() {
        let mut own = OwnContexts::prepare().unwrap();
        own.there_and_back();
        // SAFETY: nothing else looks at it now.
        let [caller, other] = unsafe { *own.rests.get() };
        let start = own._stack.start() as usize;
        let stack = start..start + Stack::BYTES;
        assert!(stack.contains(&other) && !stack.contains(&caller));
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn the_librarys_contexts_come_back() {
        let mut both = LibcContexts::new().unwrap();
        for _ in 0..1_000 {
            both.there_and_back().unwrap();
        }
        std::thread::spawn(move || both.there_and_back().unwrap()).join().unwrap();
    }
}
