//! Starting a program whose memory lies on one node: this program does it to itself, and becomes the other.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

use crate::sys::PageRule;

/// The argument behind which stand a node's number, a program and its arguments.
pub const PLACE: &str = "__place";
/// The exit code where that could not be done; what shells use for a program that cannot be run.
const CANNOT: i32 = 126;

/// Takes memory from that node only from now on, and becomes the program; ends with a word on standard output where it cannot.
pub(super) fn serve(mut arguments: impl Iterator<Item = OsString>) -> ! {
    let node = arguments.next().and_then(|node| node.to_str()?.parse().ok());
    let (Some(node), Some(program)) = (node, arguments.next()) else {
        println!("{PLACE} wants a node and a program; it is for this program's own use");
        exit(2);
    };
    if let Err(error) = PageRule::only(node).apply() {
        println!("memory cannot be taken from node {node} only: {error}");
        exit(CANNOT);
    }
    let error = Command::new(&program).args(arguments).exec();
    println!("{}: {error}", program.display());
    exit(CANNOT + i32::from(error.kind() == std::io::ErrorKind::NotFound));
}
