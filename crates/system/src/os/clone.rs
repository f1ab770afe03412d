//! A child that shares the caller's memory and does nothing but end.

use std::arch::asm;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::{io, ptr};

use super::Child;
use super::child::keep_ended_children;

/// `CLONE_VM | CLONE_VFORK`, and what the parent hears at the end.
const VFORK: usize = (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as usize;

/// As `vfork`: a child in the caller's memory, on the caller's stack; the caller goes on when the child has ended.
///
/// The child is still to be waited for.
///
/// # Errors
/// Those of `clone`.
pub fn vfork_and_end() -> io::Result<Child> {
    keep_ended_children();
    // SAFETY: the caller stands still while the child is there, and the child touches no memory.
    child_of(unsafe { call_and_end_there(libc::SYS_clone, [VFORK, 0]) })
}

fn child_of(answer: isize) -> io::Result<Child> {
    match i32::try_from(answer) {
        Ok(error) if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        Ok(pid) => Child::known(pid),
        Err(_) => Err(io::Error::other("clone returned no process id")),
    }
}

/// A system call that returns twice; where it returns 0, the process ends without touching memory.
///
/// # Safety
/// The call may touch no memory of the caller beyond what its arguments lend it.
#[cfg(target_arch = "x86_64")]
unsafe fn call_and_end_there(call: libc::c_long, arguments: [usize; 2]) -> isize {
    let mut answer = call as isize;
    // SAFETY: only registers change; those that the kernel overwrites are named. The child never leaves the block.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor edi, edi",
            "mov eax, {end}",
            "syscall",
            "ud2",
            "2:",
            end = const libc::SYS_exit_group,
            inlateout("rax") answer,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    answer
}

/// A system call that returns twice; where it returns 0, the process ends without touching memory.
///
/// # Safety
/// The call may touch no memory of the caller beyond what its arguments lend it.
#[cfg(target_arch = "aarch64")]
unsafe fn call_and_end_there(call: libc::c_long, arguments: [usize; 2]) -> isize {
    let mut answer = arguments[0] as isize;
    // SAFETY: only registers change. The child, whose answer is 0 and thereby its exit code, never leaves the block.
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x8, {end}",
            "svc 0",
            "brk 1",
            "2:",
            end = const libc::SYS_exit_group,
            inlateout("x0") answer,
            in("x1") arguments[1],
            in("x2") 0,
            in("x3") 0,
            in("x4") 0,
            in("x8") call,
        );
    }
    answer
}

extern "C" fn nothing(argument: *mut c_void) -> *mut c_void {
    argument
}

/// Makes a thread that ends at once, and waits for its end.
///
/// # Errors
/// Those of `pthread_create`: limits on threads, or memory for its stack.
pub fn thread_and_join() -> io::Result<()> {
    let mut thread = MaybeUninit::uninit();
    // SAFETY: room for a thread's name; the function takes any argument.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), nothing, ptr::null_mut()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: made above, joined once.
    let error = unsafe { libc::pthread_join(thread.assume_init(), ptr::null_mut()) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_on_the_callers_stack_leaves_it_as_it_was() {
        let mut sum = 0;
        for n in 0..100 {
            let child = vfork_and_end().unwrap();
            sum += n;
            assert_eq!(child.wait().unwrap(), 0);
        }
        assert_eq!(sum, 4_950);
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error() {
        // A thread that would not share its parent's memory.
        // SAFETY: refused before any child is made.
        let error = child_of(unsafe { call_and_end_there(libc::SYS_clone, [libc::CLONE_THREAD as usize, 0]) });
        assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
