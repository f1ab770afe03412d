//! Requests to a process and its answers, as lines, with the reason when it fails to answer.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tiermark_model::messages::subprocess as says;
use tiermark_model::{Bytes, Refusal};
use tiermark_system::os::Child;

/// Looks at it in the time in which it may do nothing.
const LOOKS: u32 = 40;
/// How long one that has let go of its socket has to end.
const ENDING: Duration = Duration::from_secs(2);
/// Bytes of an answer at most: a shot with as many stamps as there may be takes a third.
const LONGEST: usize = 64 << 20;

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
    lost: Option<Refusal>,
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
    pub(super) fn ask<A: DeserializeOwned>(&mut self, what: &impl Serialize) -> Result<A, Refusal> {
        self.tell(what)?;
        self.answer(&|| ())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Why it was not sent, or an earlier one not answered.
    pub(super) fn tell(&mut self, what: &impl Serialize) -> Result<(), Refusal> {
        self.attempt(|this| {
            let mut line =
                serde_json::to_vec(what).map_err(|error| says::subprocess_request_unwritable(&error.to_string()))?;
            line.push(b'\n');
            this.link.get_mut().write_all(&line).map_err(|error| this.gone(&error))
        })
    }

    /// Waits for the answer to a request, and calls `meanwhile` now and then.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn answer<A: DeserializeOwned>(&mut self, meanwhile: &dyn Fn()) -> Result<A, Refusal> {
        self.attempt(|this| {
            let answer = this.hear(meanwhile)?;
            serde_json::from_slice(&answer).map_err(|error| says::subprocess_answer_unreadable(&error.to_string()))
        })
    }

    /// Whether it has ended, by itself or not.
    pub(super) fn has_ended(&self) -> bool {
        self.child.seen_to_end(Duration::from_millis(1)).is_some()
    }

    /// Does a part of a request, unless an earlier one failed; kills the process if this one fails.
    fn attempt<A>(&mut self, part: impl FnOnce(&mut Self) -> Result<A, Refusal>) -> Result<A, Refusal> {
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
    fn hear(&mut self, meanwhile: &dyn Fn()) -> Result<Vec<u8>, Refusal> {
        let (mut line, mut spent, mut still) = (Vec::new(), None, 0);
        // Reads are counted, not time: while this process is stopped, the limit must not run out.
        let most = (self.limits.whole.as_secs_f64() / self.look.as_secs_f64()) as u64;
        for _ in 0..most {
            let room = LONGEST.saturating_sub(line.len());
            match Read::by_ref(&mut self.link).take(room as u64).read_until(b'\n', &mut line) {
                Ok(_) if line.last() == Some(&b'\n') => return Ok(line),
                Ok(_) if line.len() >= LONGEST => {
                    return Err(says::subprocess_answer_too_long(Bytes(LONGEST as u64)));
                }
                Ok(_) => return Err(self.gone(&ErrorKind::UnexpectedEof.into())),
                Err(error) if !is_timeout(&error) => return Err(self.gone(&error)),
                Err(_) if self.stopped.load(Relaxed) => return Err(says::subprocess_run_stopped()),
                Err(_) => meanwhile(),
            }
            // Filling much memory takes cpu time; a process that waits for a child that hangs takes none.
            let now = doing(&self.child).map(|(_, time)| time);
            still = if spent == Some(now) { still + 1 } else { 0 };
            spent = Some(now);
            if still >= LOOKS {
                return Err(says::subprocess_hangs(self.limits.still.as_secs_f64(), self.state()));
            }
        }
        Err(says::subprocess_late(self.limits.whole.as_secs_f64(), self.state()))
    }

    /// The error for a process whose socket is closed.
    fn gone(&self, error: &io::Error) -> Refusal {
        if is_timeout(error) {
            return says::subprocess_reads_nothing(self.state());
        }
        match self.child.seen_to_end(ENDING) {
            Some(status) => says::subprocess_ended(&status.to_string(), status.signal()),
            None => says::subprocess_hung_up(&error.to_string()),
        }
    }

    /// What it does, as the kernel writes it.
    fn state(&self) -> Option<char> {
        doing(&self.child).map(|(state, _)| state)
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        self.child.kill_group();
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The state of a process, and the ticks of the processor that it has taken, in user mode and in the kernel's, as the
/// kernel writes them (proc_pid_stat(5)).
fn doing(child: &Child) -> Option<(char, [u64; 2])> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.pid().as_raw_nonzero())).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split_whitespace().skip(11);
    Some((fields.chars().next()?, [times.next()?.parse().ok()?, times.next()?.parse().ok()?]))
}
