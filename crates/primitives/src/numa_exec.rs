//! Starting a program whose memory lies on some nodes: this program does it to itself, and becomes the other.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use tiermark_model::IdSet;
use tiermark_system::PageRule;

/// The argument behind which stand nodes (`1`, `0,2-3`), a program and its arguments.
pub const PLACE: &str = "__place";
/// Codes of shells for a program that cannot be run, and for one that is not there.
const CANNOT: u8 = 126;
const NOT_THERE: u8 = 127;
/// Code of bad usage.
const USAGE: u8 = 2;

/// Takes memory from those nodes only from now on, and becomes the program. Where it cannot it says why on standard
/// error, and with which code to end.
pub(super) fn serve(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let nodes = arguments.next().and_then(|nodes| nodes.to_str()?.parse::<IdSet>().ok());
    let (Some(nodes), Some(program)) = (nodes.filter(|nodes| !nodes.is_empty()), arguments.next()) else {
        return fail(USAGE, format_args!("{PLACE} needs nodes and a program; it is for internal use only"));
    };
    if let Err(error) = PageRule::among(&nodes).apply() {
        return fail(CANNOT, format_args!("memory cannot be taken from nodes {nodes} only: {error}"));
    }
    let error = Command::new(&program).args(arguments).exec();
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_THERE } else { CANNOT };
    fail(code, format_args!("{}: {error}", program.display()))
}

/// A line on standard error; where that is closed, the code has to do.
fn fail(code: u8, why: fmt::Arguments<'_>) -> u8 {
    let _ = writeln!(io::stderr(), "{why}");
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(words: &[&str]) -> u8 {
        serve(words.iter().map(OsString::from))
    }

    #[test]
    fn what_cannot_be_started_ends_with_a_shell_s_codes() {
        assert_eq!((code(&[]), code(&["x", "true"]), code(&["0"])), (USAGE, USAGE, USAGE));
        assert_eq!(code(&["", "true"]), USAGE);
        // On a thread of its own: the rule it takes memory by stays changed.
        let placed = std::thread::spawn(|| code(&["0", "/nonexistent/program"])).join().unwrap();
        assert!(placed == NOT_THERE || placed == CANNOT, "{placed}: CANNOT where memory policies are forbidden");
    }
}
