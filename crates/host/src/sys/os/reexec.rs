//! The program of the tests does what the real one is started again for: children start this file, and wait for what the real one would do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Called before `main`, and so before the tests' own program has looked at its arguments or started a thread.
#[used]
// SAFETY: the section holds pointers to functions that take nothing they need and return nothing.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    // The standard library may not know them yet.
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    if let Some(code) = crate::reexec(line.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()))) {
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(code.into()) };
    }
}
