//! Processes of our own: made, waited for, and ended by their own number, never by any other's.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitStatus};
use std::ptr;
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, getpid, getppid, kill_process, waitid, waitpid,
};

use crate::check;

/// A child that was killed is gone within this time, unless a device does not answer it.
const GONE: Duration = Duration::from_secs(2);
/// What a child ends with whose body panicked: as a program of Rust's does.
const PANICKED: i32 = 101;

/// Makes the kernel keep ended children until they are waited for. The parent of this process may have told it to
/// forget them at once (`trap '' CHLD`, which programs inherit): then no child could be waited for, and its number may
/// be another's by the time it is to be killed.
pub(super) fn keep_ended_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: room for what is set now; all-zero is a valid value of it, should the call fail. Set is what was
        // there, but for what is inherited as "ignore" or "forget": no handler is taken away and none is put in.
        unsafe {
            libc::sigaction(libc::SIGCHLD, ptr::null(), action.as_mut_ptr());
            let mut action = action.assume_init();
            if action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0 {
                if action.sa_sigaction == libc::SIG_IGN {
                    action.sa_sigaction = libc::SIG_DFL;
                }
                action.sa_flags &= !libc::SA_NOCLDWAIT;
                libc::sigaction(libc::SIGCHLD, &raw const action, ptr::null_mut());
            }
        }
    });
}

/// A child process. It is killed and waited for when it is dropped, so that none remains.
#[derive(Debug)]
pub struct Child {
    pid: Pid,
    reaped: bool,
}

impl Child {
    /// Makes a child that runs `body` and exits with what it returns; it is killed when the calling thread ends,
    /// however that does.
    ///
    /// # Safety
    /// The child has one thread, whatever the process had: a lock that another thread held is never free again. So
    /// `body` may only do what is allowed in a signal handler (signal-safety(7)): system calls, and work on memory that
    /// was there before. What it owns may be given back, since both C libraries take the allocator's locks around
    /// `fork`.
    ///
    /// # Errors
    /// Those of `fork`: limits on processes (`ulimit -u`, `pids.max`), or memory.
    pub unsafe fn fork(body: impl FnOnce() -> i32) -> io::Result<Self> {
        keep_ended_children();
        let parent = getpid();
        // SAFETY: the child only runs `body`, which the caller vouches for, and leaves by `_exit` without running
        // anything of the parent's.
        let pid = check(unsafe { libc::fork() }.into())?;
        if pid == 0 {
            // SAFETY: takes numbers only.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            // A parent that ended before that was said would never be heard of.
            let code = match getppid() {
                // A panic must not go on into the frames of the parent that this child has copies of.
                Some(now) if now == parent => catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED),
                _ => 1,
            };
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        Self::known(pid as i32)
    }

    /// Makes a child that sleeps until it is killed.
    ///
    /// # Errors
    /// As for [`Child::fork`].
    pub fn asleep() -> io::Result<Self> {
        // SAFETY: system calls only.
        unsafe {
            Self::fork(|| {
                loop {
                    let _ = rustix::thread::nanosleep(&rustix::time::Timespec { tv_sec: 60, tv_nsec: 0 });
                }
            })
        }
    }

    /// Makes a child that ends with a code at once.
    ///
    /// # Errors
    /// As for [`Child::fork`].
    pub fn ending(code: i32) -> io::Result<Self> {
        // SAFETY: nothing is done.
        unsafe { Self::fork(move || code) }
    }

    /// Makes a child that calls `body` and nothing else, neither before nor after: what is done for it beside forking
    /// would be measured.
    ///
    /// # Safety
    /// `body` may only make calls that are allowed in a signal handler (signal-safety(7)), and must not panic.
    ///
    /// # Errors
    /// Those of `fork`.
    #[inline]
    pub(super) unsafe fn bare(body: impl FnOnce() -> i32) -> io::Result<Self> {
        keep_ended_children();
        // SAFETY: the child only runs `body`, which the caller vouches for, and leaves by `_exit`.
        let pid = check(unsafe { libc::fork() }.into())?;
        if pid == 0 {
            let code = body();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) };
        }
        Self::known(pid as i32)
    }

    /// Makes a child that ends at once, with nothing done beside.
    ///
    /// # Errors
    /// Those of `fork`.
    pub fn fork_and_end() -> io::Result<Self> {
        // SAFETY: the child does nothing.
        unsafe { Self::bare(|| 0) }
    }

    /// Makes a child that runs the program of a standard-library command.
    ///
    /// # Errors
    /// Those of `fork` and `execve`.
    pub fn of_program(command: &mut Command) -> io::Result<Self> {
        keep_ended_children();
        Self::known(command.spawn()?.id() as i32)
    }

    /// How it ended, once it has, for which it has so long; it is not waited for, so that its number stays its own.
    pub fn seen_to_end(&self, limit: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while !self.reaped && began.elapsed() < limit {
            let code_of = |seen: &WaitIdStatus| seen.exit_status().map(|code| (code & 0xff) << 8);
            match waitid(WaitId::Pid(self.pid), look) {
                Ok(Some(seen)) => return code_of(&seen).or(seen.terminating_signal()).map(ExitStatus::from_raw),
                Ok(None) | Err(Errno::INTR) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
        }
        None
    }

    /// Kills all processes of its group, if it was made as the first of one.
    pub fn kill_group(&self) {
        if !self.reaped {
            // Not waited for yet, so that the number is still its group's.
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// A child that was just made by other means, and was not waited for yet.
    pub(super) fn known(pid: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process id was returned"))?;
        Ok(Self { pid, reaped: false })
    }

    /// Its number, for a watch that may have to kill it.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for its end; its exit code. The wait has no limit of its own, since a measured one costs nothing but the
    /// call: it is for children that only end, made by a process that somebody kills if it stays away too long.
    ///
    /// # Errors
    /// When it was killed, or cannot be waited for.
    pub fn wait(mut self) -> io::Result<i32> {
        self.reap()
    }

    fn reap(&mut self) -> io::Result<i32> {
        let ended = retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()));
        // A child that other code has waited for is gone as well: its number may be another's, which must not be
        // killed.
        self.reaped = matches!(ended, Ok(_) | Err(Errno::CHILD));
        match ended?.and_then(|(_, status)| status.exit_status()) {
            Some(code) => Ok(code),
            None => Err(io::Error::other("the child was killed")),
        }
    }

    /// Waits so long for its end.
    pub fn ended_within(&mut self, limit: Duration) -> bool {
        let began = Instant::now();
        while !self.reaped && began.elapsed() < limit {
            match waitpid(Some(self.pid), WaitOptions::NOHANG) {
                Ok(None) | Err(Errno::INTR) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(Errno::CHILD) => self.reaped = true,
                // It cannot be waited for: it still exists.
                Err(_) => break,
            }
        }
        self.reaped
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            // Not waited for yet, so that the number is still its own. After SIGKILL every wait of it ends, except for
            // a device that does not answer (state D): such a child is abandoned.
            let _ = kill_process(self.pid, Signal::KILL);
            let _ = self.ended_within(GONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_panics_ends_there() {
        // Without the hook of panics: another thread may hold its locks at the fork, and the child would wait for it
        // for ever. SAFETY: a panic is caught and forgotten.
        let child =
            unsafe { Child::fork(|| std::panic::resume_unwind(Box::new("in a child, as it should be"))) }.unwrap();
        assert_eq!(child.wait().unwrap(), PANICKED);
    }

    #[test]
    fn one_that_somebody_else_has_waited_for_is_not_killed_any_more() {
        let mut known = Child::ending(0).unwrap();
        waitpid(Some(known.pid), WaitOptions::empty()).unwrap();
        assert_eq!(known.reap().unwrap_err().raw_os_error(), Some(libc::ECHILD));
        assert!(known.reaped, "its number may be another's");
        let mut asked = Child::ending(0).unwrap();
        waitpid(Some(asked.pid), WaitOptions::empty()).unwrap();
        assert!(asked.ended_within(Duration::from_secs(20)));
    }

    #[test]
    fn how_it_ended_is_seen_and_its_number_kept() {
        let ended = |body: fn() -> i32| {
            // SAFETY: both bodies make a system call at most.
            let child = unsafe { Child::fork(body) }.unwrap();
            let seen = child.seen_to_end(Duration::from_secs(20)).unwrap();
            assert_eq!(child.seen_to_end(Duration::from_secs(20)), Some(seen), "it is still there");
            seen
        };
        assert_eq!(ended(|| 3).code(), Some(3));
        let killed = ended(|| {
            let _ = kill_process(getpid(), Signal::KILL);
            0
        });
        assert_eq!((killed.signal(), killed.code()), (Some(libc::SIGKILL), None));
        assert_eq!(Child::asleep().unwrap().seen_to_end(Duration::from_millis(20)), None);
    }

    #[test]
    fn a_bare_child_ends_with_what_it_says() {
        assert_eq!(Child::fork_and_end().unwrap().wait().unwrap(), 0);
        // SAFETY: it only returns a number.
        assert_eq!(unsafe { Child::bare(|| 9) }.unwrap().wait().unwrap(), 9);
    }

    #[test]
    fn a_child_whose_parent_has_ended_is_killed() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let life = || {
            let Ok(grandchild) = Child::asleep() else { return 1 };
            let number = grandchild.pid().as_raw_nonzero().get().to_ne_bytes();
            // Only the kernel kills it.
            std::mem::forget(grandchild);
            i32::from(rustix::io::write(&write, &number) != Ok(number.len()))
        };
        // SAFETY: system calls only.
        let child = unsafe { Child::fork(life) };
        assert_eq!(child.unwrap().wait().unwrap(), 0);
        let mut number = [0u8; 4];
        assert_eq!(rustix::io::read(&read, &mut number), Ok(4));
        let stat = format!("/proc/{}/stat", i32::from_ne_bytes(number));
        // Gone, or dead and not yet waited for by its new parent.
        let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let began = Instant::now();
        while lives() {
            assert!(began.elapsed() < Duration::from_secs(30), "it lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
