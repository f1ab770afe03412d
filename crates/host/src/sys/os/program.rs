//! This program, run again by a child.

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::ptr;

use super::Child;

/// The child's own program: the same file, also where its name has gone.
const SELF: &CStr = c"/proc/self/exe";

/// This program with one argument and no environment.
#[derive(Debug)]
pub(crate) struct Program {
    argument: CString,
}

/// The arguments of a program, in the kernel's form.
type Arguments = [*const c_char; 3];

impl Program {
    /// With an argument that holds no zero byte.
    ///
    /// # Errors
    /// When it holds one.
    pub(crate) fn itself(argument: &str) -> io::Result<Self> {
        Ok(Self { argument: CString::new(argument)? })
    }

    fn arguments(&self) -> Arguments {
        [SELF.as_ptr(), self.argument.as_ptr(), ptr::null()]
    }

    /// `fork`, and `execve` in the child; 127 is its exit code where that fails.
    ///
    /// # Errors
    /// Those of `fork`.
    pub(crate) fn fork_and_exec(&self) -> io::Result<Child> {
        let arguments = self.arguments();
        let environment: [*const c_char; 1] = [ptr::null()];
        Child::fork(|| {
            // SAFETY: path, arguments and environment live through the call and end with null.
            unsafe { libc::execve(SELF.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
            127
        })
    }

    /// The C library's `posix_spawn`.
    ///
    /// # Errors
    /// Those of `posix_spawn`, and of `execve` in the child.
    pub(crate) fn spawn(&self) -> io::Result<Child> {
        let arguments = self.arguments();
        let environment: [*const c_char; 1] = [ptr::null()];
        let mut pid = 0;
        // SAFETY: as above; no actions and no attributes; both strings of pointers are only read, whatever their type says.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                SELF.as_ptr(),
                ptr::null(),
                ptr::null(),
                arguments.as_ptr().cast(),
                environment.as_ptr().cast(),
            )
        };
        if error == 0 { Child::known(pid) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}
