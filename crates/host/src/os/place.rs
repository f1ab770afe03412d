//! Starting a program whose memory lies on one node: this program does it to itself, and becomes the other.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

use crate::sys::PageRule;

/// The argument behind which stand a node's number, a program and its arguments.
pub const PLACE: &str = "__place";
/// The exit code where that could not be done; what shells use for a program that cannot be run.
const CANNOT: i32 = 126;

/// Takes memory from that node only from now on, and becomes the program; ends with a line on standard error where it cannot.
pub(super) fn serve(mut arguments: impl Iterator<Item = OsString>) -> ! {
    let node = arguments.next().and_then(|node| node.to_str()?.parse().ok());
    let (Some(node), Some(program)) = (node, arguments.next()) else {
        leave(2, format_args!("{PLACE} wants a node and a program; it is for this program's own use"));
    };
    if let Err(error) = PageRule::only(node).apply() {
        leave(CANNOT, format_args!("memory cannot be taken from node {node} only: {error}"));
    }
    let error = Command::new(&program).args(arguments).exec();
    let code = CANNOT + i32::from(error.kind() == io::ErrorKind::NotFound);
    leave(code, format_args!("{}: {error}", program.display()));
}

/// Ends with a line on standard error; where that is closed, the code has to do.
fn leave(code: i32, why: fmt::Arguments<'_>) -> ! {
    let _ = writeln!(io::stderr(), "{why}");
    exit(code)
}
