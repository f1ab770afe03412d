//! Processes of our own: made, waited for, and ended by their own number, never by any other's.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use super::super::check;

/// A child process. It is killed and waited for when it is dropped, so that none is left.
#[derive(Debug)]
pub(crate) struct Child {
    pid: Pid,
    reaped: bool,
}

impl Child {
    /// Makes a child that runs `body` and exits with what it returns; it is killed when the calling thread ends.
    ///
    /// The child has one thread, whatever the process had: `body` must not wait for any other, and should only make system
    /// calls on what was there before. Should it hang all the same (on a lock that another thread held), it is killed.
    ///
    /// # Errors
    /// Those of `fork`: limits on processes (`ulimit -u`, `pids.max`), or memory.
    pub(crate) fn fork(body: impl FnOnce() -> i32) -> io::Result<Self> {
        // SAFETY: the child only runs `body` on its copy of memory, and leaves by `_exit` without running anything of the parent's.
        let pid = check(unsafe { libc::fork() }.into())?;
        if pid == 0 {
            // SAFETY: takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let code = body();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        Self::known(pid as i32)
    }

    /// A child that was just made by other means, and that nobody has waited for.
    pub(super) fn known(pid: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process id was returned"))?;
        Ok(Self { pid, reaped: false })
    }

    /// Its number, for a watch that may have to kill it.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for its end; its exit code.
    ///
    /// # Errors
    /// When it was killed, or cannot be waited for.
    pub(crate) fn wait(mut self) -> io::Result<i32> {
        self.reap()
    }

    fn reap(&mut self) -> io::Result<i32> {
        let ended = rustix::process::waitpid(Some(self.pid), WaitOptions::empty())?;
        self.reaped = true;
        match ended.and_then(|(_, status)| status.exit_status()) {
            Some(code) => Ok(code),
            None => Err(io::Error::other("the child was killed")),
        }
    }

    /// Waits so long for its end.
    pub(crate) fn ended_within(&mut self, limit: Duration) -> bool {
        let began = Instant::now();
        while !self.reaped && began.elapsed() < limit {
            match rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG) {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                _ => self.reaped = true,
            }
        }
        self.reaped
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            // Not waited for yet, so that the number is still its own.
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
            let _ = self.reap();
        }
    }
}
