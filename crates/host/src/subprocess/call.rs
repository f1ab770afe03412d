//! Requests to a process and its answers, as lines, with the reason when it fails to answer.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tiermark_primitives::FILTERED;
use tiermark_system::os::Child;

/// Looks at it in the time in which it may do nothing.
const LOOKS: u32 = 40;
/// How long one that has let go of its socket has to end.
const ENDING: Duration = Duration::from_secs(2);
/// Bytes of an answer at most: a shot with as many stamps as there may be takes a third.
const LONGEST: usize = 64 << 20;

/// Cure if memory was short.
const MORE_MEMORY: &str = "the kernel kills processes when memory is short (see `dmesg`): use less with --max-mem, or raise memory.max of the \
control group";
/// Cure if the machine was busy.
const QUIETER: &str = "measure again on a quiet machine; if it fails again, please report it with the command line";
/// Cure for a defect.
const REPORT: &str = "unless a user or the system ended it, please report this with the command line and its output";

/// Why the process does not answer, and what would help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) why: String,
    pub(super) cure: &'static str,
}

/// How long is waited for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// While nothing is done for it.
    pub(super) still: Duration,
    /// Whatever is done for it.
    pub(super) whole: Duration,
}

/// The process. It is killed when it is dropped, with all its children.
#[derive(Debug)]
pub(super) struct Subprocess {
    pub(super) child: Child,
    pub(super) link: BufReader<UnixStream>,
    stopped: Arc<AtomicBool>,
    limits: Limits,
    look: Duration,
    /// Why it gets no more requests: after one missing answer, the next line could be the answer to an old request.
    lost: Option<Lost>,
}

impl Subprocess {
    /// Starts it, with a socket for its standard input, and this for its standard output.
    ///
    /// # Errors
    /// Errors of making a socket or a process.
    pub(super) fn start(
        command: &mut Command,
        output: Stdio,
        stopped: Arc<AtomicBool>,
        limits: Limits,
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let look = limits.still / LOOKS;
        ours.set_read_timeout(Some(look))?;
        ours.set_write_timeout(Some(limits.still))?;
        // A process group of its own: a process that hangs can be killed with all its children at once.
        command.stdin(OwnedFd::from(theirs)).stdout(output).process_group(0);
        let child = Child::of_program(command)?;
        // The command has the other end still: it would never be heard that the process has ended.
        command.stdin(Stdio::null());
        Ok(Self { child, link: BufReader::new(ours), stopped, limits, look, lost: None })
    }

    /// Sends a request, and waits for the answer. A process that once fails to answer is killed with its children, and
    /// gets no more requests.
    ///
    /// # Errors
    /// Why there is no answer to this or an earlier request.
    pub(super) fn ask<A: DeserializeOwned>(&mut self, what: &impl Serialize) -> Result<A, Lost> {
        self.tell(what)?;
        self.answer(&|| true)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Why it was not sent, or an earlier one not answered.
    pub(super) fn tell(&mut self, what: &impl Serialize) -> Result<(), Lost> {
        let sent = |this: &mut Self| {
            let mut line =
                serde_json::to_vec(what).map_err(|error| unclear("the request cannot be written", &error))?;
            line.push(b'\n');
            this.link.get_mut().write_all(&line).map_err(|error| this.gone(&error))
        };
        self.attempt(sent)
    }

    /// Waits for the answer to a request, as long as `goes_on` says so.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn answer<A: DeserializeOwned>(&mut self, goes_on: &dyn Fn() -> bool) -> Result<A, Lost> {
        self.attempt(|this| {
            let answer = this.hear(goes_on)?;
            serde_json::from_slice(&answer).map_err(|error| unclear("its answer cannot be read", &error))
        })
    }

    /// Whether it has ended, by itself or not.
    pub(super) fn has_ended(&self) -> bool {
        self.child.seen_to_end(Duration::from_millis(1)).is_some()
    }

    /// Does a part of a request, unless an earlier one failed; kills the process if this one fails.
    fn attempt<A>(&mut self, part: impl FnOnce(&mut Self) -> Result<A, Lost>) -> Result<A, Lost> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let done = part(self);
        if let Err(lost) = &done {
            self.child.kill_group();
            self.lost = Some(lost.clone());
        }
        done
    }

    /// The next line that it says.
    fn hear(&mut self, goes_on: &dyn Fn() -> bool) -> Result<Vec<u8>, Lost> {
        let (mut line, mut spent, mut still) = (Vec::new(), None, 0);
        // Reads are counted, not time: while this process is stopped, the limit must not run out.
        let most = (self.limits.whole.as_secs_f64() / self.look.as_secs_f64()) as u64;
        for _ in 0..most {
            let room = LONGEST.saturating_sub(line.len());
            match Read::by_ref(&mut self.link).take(room as u64).read_until(b'\n', &mut line) {
                Ok(_) if line.last() == Some(&b'\n') => return Ok(line),
                Ok(_) if line.len() >= LONGEST => {
                    return Err(Lost { why: format!("its answer is longer than {} MiB", LONGEST >> 20), cure: REPORT });
                }
                Ok(_) => return Err(self.gone(&ErrorKind::UnexpectedEof.into())),
                Err(error) if !is_timeout(&error) => return Err(self.gone(&error)),
                Err(_) if self.stopped.load(Relaxed) => {
                    return Err(Lost { why: "the run was stopped".to_owned(), cure: "let it run to its end" });
                }
                Err(_) if !goes_on() => {
                    return Err(Lost { why: "another worker's process ended".to_owned(), cure: MORE_MEMORY });
                }
                Err(_) => {}
            }
            // Filling much memory takes cpu time; a process that waits for a child that hangs takes none.
            let now = doing(&self.child).map(|(_, time)| time);
            still = if spent == Some(now) { still + 1 } else { 0 };
            spent = Some(now);
            if still >= LOOKS {
                return Err(self.late(&format!("made no progress for {} s", self.limits.still.as_secs_f64().round())));
            }
        }
        Err(self.late(&format!("had not answered after {} s", self.limits.whole.as_secs_f64().round())))
    }

    /// The error for a process whose socket is closed.
    fn gone(&self, error: &io::Error) -> Lost {
        if is_timeout(error) {
            return self.late("does not read requests");
        }
        match self.child.seen_to_end(ENDING) {
            Some(status) => Lost { why: format!("it ended before it had answered ({status})"), cure: cure_of(status) },
            None => Lost { why: format!("it still runs, but its socket is closed ({error})"), cure: REPORT },
        }
    }

    /// The error for a process that takes too long.
    fn late(&self, what: &str) -> Lost {
        let state = doing(&self.child).map_or(String::new(), |(state, _)| format!(", while it was {}", words(state)));
        Lost { why: format!("it {what}{state}, and was killed with its children"), cure: QUIETER }
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        self.child.kill_group();
    }
}

/// A request or an answer that cannot be put into words.
fn unclear(what: &str, error: &serde_json::Error) -> Lost {
    Lost { why: format!("{what}: {error}"), cure: REPORT }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The cure for such an end.
fn cure_of(status: ExitStatus) -> &'static str {
    let by = |signal: Signal| status.signal() == Some(signal.as_raw());
    if by(Signal::KILL) {
        MORE_MEMORY
    } else if by(Signal::SYS) {
        FILTERED
    } else {
        REPORT
    }
}

/// The state of a process, and the ticks of the processor that it has taken, in user mode and in the kernel's, as the kernel writes them
/// (proc_pid_stat(5)).
fn doing(child: &Child) -> Option<(char, [u64; 2])> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.pid().as_raw_nonzero())).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split_whitespace().skip(11);
    Some((fields.chars().next()?, [times.next()?.parse().ok()?, times.next()?.parse().ok()?]))
}

/// A state in words.
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
