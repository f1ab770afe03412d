//! The program of the tests does what the real one is started again for: children start this file, and wait for what
//! the real one would do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Has the test program call a function of its arguments (as `tiermark_host::reexec`) before `main`, and so before the
/// tests' own program has looked at its arguments or started a thread. A code that the function returns ends the
/// process.
#[macro_export]
macro_rules! before_main {
    ($reexec:path) => {
        #[used]
        // SAFETY: the section holds pointers to functions that take nothing they need and return nothing.
        #[unsafe(link_section = ".init_array")]
        static BEFORE_MAIN: extern "C" fn() = {
            extern "C" fn before_main() {
                $crate::testing::end_with($reexec($crate::testing::arguments()));
            }
            before_main
        };
    };
}

/// The arguments of this process, before the standard library knows them.
pub fn arguments() -> Vec<OsString> {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// Ends the process at once, where there is a code to end it with.
pub fn end_with(code: Option<u8>) {
    if let Some(code) = code {
        // SAFETY: ends the process; nothing of it runs any more.
        unsafe { libc::_exit(code.into()) };
    }
}
