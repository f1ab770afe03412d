//! The process that holds the memory of primitives that make children, or a worker that is a process, where it does not
//! answer.

use super::rows::messages;
use super::setup::FILTERED;
use crate::Bytes;

const WHAT: &str = "a process that holds the memory";
/// Cure if memory was short.
const MORE_MEMORY: &str = "the kernel kills processes when memory is short (see `dmesg`): use less with --max-mem, or \
raise the memory limit of the control group";
/// Cure if the machine was busy.
const QUIETER: &str = "measure again on a quiet machine; if it fails again, please report it with the command line";
/// Cure for a defect.
const REPORT: &str = "unless a user or the system ended it, please report this with the command line and its output";

messages! {
    Refusal subprocess_request_unwritable(error: &str): { WHAT }, "the request cannot be written: {error}", { REPORT };

    Refusal subprocess_answer_unreadable(error: &str): { WHAT }, "its answer cannot be read: {error}", { REPORT };

    Refusal subprocess_answer_too_long(most: Bytes): { WHAT }, "its answer is longer than {most}", { REPORT };

    Refusal subprocess_run_stopped(): { WHAT }, "the run was stopped", "let it run to its end";

    /// A process that takes no cpu time; `state`: the letter that the kernel has for what it does (proc_pid_stat(5)).
    Refusal subprocess_hangs(seconds: f64, state: Option<char>):
        { WHAT }, { killed(&format!("made no progress for {} s", seconds.round()), state) }, { QUIETER };

    Refusal subprocess_late(seconds: f64, state: Option<char>):
        { WHAT }, { killed(&format!("had not answered after {} s", seconds.round()), state) }, { QUIETER };

    Refusal subprocess_reads_nothing(state: Option<char>): { WHAT }, { killed("does not read requests", state) }, { QUIETER };

    /// A process that ended; `signal`: the number of that which ended it.
    Refusal subprocess_ended(status: &str, signal: Option<i32>)
        options (if signal == Some(SIGKILL) { vec!["--max-mem"] } else { vec![] }):
        { WHAT }, "it ended before it had answered ({status})",
        {
            match signal {
                Some(SIGKILL) => MORE_MEMORY,
                Some(SIGSYS) => FILTERED,
                _ => REPORT,
            }
        };

    Refusal subprocess_hung_up(error: &str): { WHAT }, "it still runs, but its socket is closed ({error})", { REPORT };

    Refusal subprocess_without_kernels(kernel: &str): "kernel {kernel}", "the process that makes children runs no \
        kernels", "";
}

/// Numbers of signals, which are the same on every processor that this program is for.
const SIGKILL: i32 = 9;
const SIGSYS: i32 = 31;

/// What a process did not do, and in which state it was killed.
fn killed(what: &str, state: Option<char>) -> String {
    let state = state.map_or_else(String::new, |state| format!(", while it was {}", words(state)));
    format!("it {what}{state}, and was killed with its children")
}

/// A state of a process in words.
fn words(state: char) -> &'static str {
    match state {
        'R' => "ready to run or running",
        'S' => "sleeping, perhaps waiting for a child",
        'D' => "waiting for a device or for memory",
        'T' | 't' => "stopped by a signal",
        'Z' | 'X' => "ending",
        _ => "in an unknown state",
    }
}
