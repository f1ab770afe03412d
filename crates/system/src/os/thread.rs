//! A thread as the C library makes it, without what Rust adds.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

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
