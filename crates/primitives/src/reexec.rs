//! This program as a child of itself: its jobs then, and whether it can be started.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tiermark_model::Refusal;

use super::{mapped, numa_exec};
use crate::failure::unavailable;

/// The argument with which this program ends at once.
pub(super) const END_AT_ONCE: &str = "__end-at-once";

/// Whether this program calls [`reexec`]: one that does not would begin all its own work again in every child.
static ASKS: AtomicBool = AtomicBool::new(false);

/// Serves another process of this program that started this one, by its arguments (the program's name first): ends at
/// once, which is what `fork+exec` and `posix_spawn` run, or becomes a program whose memory lies on given nodes.
/// Returns the exit code, with which the caller has to end; `None` where the arguments start something else.
///
/// A program that measures must call this first in its `main`, as `tiermark_host::reexec` does. Otherwise primitives
/// with processes are refused, since the program would start itself without end.
pub fn reexec(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    ASKS.store(true, Relaxed);
    let mut arguments = arguments.into_iter().skip(1).peekable();
    if arguments.next_if(|argument| argument == numa_exec::PLACE).is_some() {
        return Some(numa_exec::serve(arguments));
    }
    let (Some(argument), None) = (arguments.next(), arguments.next()) else { return None };
    (argument == END_AT_ONCE).then_some(0)
}

/// Whether this program can be started again as a child of itself.
///
/// # Errors
/// A [`Refusal`] where something else would be started, or a program that never calls [`reexec`].
pub fn able(what: &str) -> Result<(), Refusal> {
    if !ASKS.load(Relaxed) {
        let why = "tiermark starts itself again for this, and this program never called reexec";
        return Err(unavailable(what, why, "call tiermark_host::reexec first of all in its main"));
    }
    // A function of this crate, and so in the file of this program.
    let here = mapped::file_at(able as fn(&str) -> Result<(), Refusal> as usize);
    // As the list of mappings writes it (proc_pid_maps(5)).
    let started = fs::read_link("/proc/self/exe").map(|exe| exe.as_os_str().as_bytes().to_vec());
    let started = started.map(|exe| String::from_utf8_lossy(&exe).replace('\n', "\\012"));
    match (here, started) {
        (Some(here), Ok(started)) if here != started => {
            let why = format!(
                "it would be started again for it, but the kernel runs {started}, and this is {here}: it was started \
by its loader, or is a library"
            );
            Err(unavailable(what, &why, "start the program itself by its name"))
        }
        // If /proc does not show the file, starting it fails too, and reports why.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_is_started_for_is_the_only_argument() {
        let arguments = |words: &[&str]| reexec(words.iter().map(OsString::from));
        assert_eq!(arguments(&["tiermark", END_AT_ONCE]), Some(0));
        for words in
            [&[] as &[&str], &["tiermark"], &["tiermark", "os"], &["tiermark", END_AT_ONCE, "os"], &[END_AT_ONCE]]
        {
            assert_eq!(arguments(words), None, "{words:?}");
        }
    }

    #[test]
    fn the_program_of_these_tests_is_able_to() {
        assert_eq!(able("x"), Ok(()));
    }
}
