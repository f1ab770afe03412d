//! What this program does inside a tenant's virtual machine: it is the first process there, runs the server and loads
//! it, and talks to the host over a serial port.

mod agent;
pub mod protocol;

use std::ffi::OsString;
use std::process;

/// The argument with which this program is the first process of a guest.
pub const ARGUMENT: &str = "__guest";
/// The name of the serial port that leads to the host.
pub const PORT: &str = "tiermark.agent";
/// Where the server's program is in a guest.
pub const SERVER: &str = "/bin/tenant-server";
/// Directory of the kernel modules in a guest.
pub const MODULES: &str = "/modules";
/// The file beside them that names them in the order in which they are loaded, one in each line.
pub const ORDER: &str = "order";

/// Whether this process was started as the first one of a guest, by the arguments it has (its own name before them):
/// then the guest's work is done and its power off when this returns. In any other process the argument means nothing.
pub fn reexec(arguments: impl IntoIterator<Item = OsString>) -> bool {
    let mut arguments = arguments.into_iter().skip(1);
    let asked = arguments.next().is_some_and(|argument| argument == ARGUMENT) && arguments.next().is_none();
    if !asked || process::id() != 1 {
        return false;
    }
    agent::serve();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_process_is_a_guest() {
        // Elsewhere it would turn the machine off.
        assert!(!reexec(["tiermark", ARGUMENT].map(OsString::from)));
        assert!(!reexec(["tiermark"].map(OsString::from)));
    }
}
