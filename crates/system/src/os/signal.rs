//! A signal that a thread sends to itself and catches, and a thread that catches none.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::check;

/// How often the handler ran.
static CAUGHT: AtomicU64 = AtomicU64::new(0);
/// How many hold the signal, and what it did before the first of them.
static HELD: Mutex<(u32, Option<libc::sigaction>)> = Mutex::new((0, None));

extern "C" fn count(_: libc::c_int) {
    CAUGHT.fetch_add(1, Relaxed);
}

/// A late real-time signal: no library sends it to this process. Emulators of user programs keep the last ones for
/// themselves.
fn number() -> libc::c_int {
    const FROM_THE_LAST: libc::c_int = 8;
    libc::SIGRTMAX() - FROM_THE_LAST
}

/// The handler that only counts, as the C library takes it.
fn counting() -> libc::sigaction {
    // SAFETY: all-zero is a valid value: no flags, an empty mask.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
    action
}

/// A signal of this process with a handler that only counts. What the signal did before comes back when the last value
/// is dropped.
#[derive(Debug)]
pub struct CaughtSignal(());

impl CaughtSignal {
    /// Installs the handler.
    ///
    /// # Errors
    /// Those of `sigaction`.
    pub fn new() -> io::Result<Self> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: an action that is complete, and room for the one before.
        check(unsafe { libc::sigaction(number(), &counting(), before.as_mut_ptr()) }.into())?;
        if held.0 == 0 {
            // SAFETY: the call that succeeded has filled it.
            held.1 = Some(unsafe { before.assume_init() });
        }
        held.0 += 1;
        Ok(Self(()))
    }

    /// Installs the handler again, by the C library's `sigaction`.
    ///
    /// # Errors
    /// Those of `sigaction`.
    #[inline]
    pub fn install(&self) -> io::Result<()> {
        // SAFETY: an action that is complete; what it replaces is not asked for.
        check(unsafe { libc::sigaction(number(), &counting(), ptr::null_mut()) }.into()).map(drop)
    }

    /// Sends the signal to the calling thread, so many times. Unless the thread blocks it, the handler has run as often
    /// when this returns.
    ///
    /// # Errors
    /// Those of `tgkill`.
    pub fn raise(&self, times: u64) -> io::Result<()> {
        // SAFETY: take nothing.
        let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
        let signal = number();
        for _ in 0..times {
            // SAFETY: takes numbers only; the signal has a handler.
            check(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) })?;
        }
        Ok(())
    }

    /// How often the handler of this process ran, whoever held it.
    #[inline]
    pub fn caught(&self) -> u64 {
        CAUGHT.load(Relaxed)
    }
}

impl Drop for CaughtSignal {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 -= 1;
        if let (0, Some(before)) = *held {
            // SAFETY: the action that was there before.
            unsafe { libc::sigaction(number(), &raw const before, ptr::null_mut()) };
        }
    }
}

/// Blocks all signals that can be blocked, for this thread and its children: a child that shares its memory must not
/// run a handler in it.
pub fn block_signals() {
    // SAFETY: room for a set of signals, filled before it is read; nothing else is touched.
    unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler() -> usize {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: only asks.
        unsafe {
            libc::sigaction(number(), ptr::null(), now.as_mut_ptr());
            now.assume_init().sa_sigaction
        }
    }

    #[test]
    fn the_handler_runs_each_time_and_what_was_there_before_comes_back() {
        let before = handler();
        let (first, second) = (CaughtSignal::new().unwrap(), CaughtSignal::new().unwrap());
        drop(first);
        let caught = second.caught();
        for _ in 0..5 {
            second.install().unwrap();
            second.raise(2).unwrap();
        }
        assert_eq!(second.caught(), caught + 10);
        assert_ne!(handler(), before);
        drop(second);
        assert_eq!(handler(), before);
    }

    #[test]
    fn signals_of_a_thread_are_blocked() {
        let blocked = std::thread::spawn(|| {
            block_signals();
            std::fs::read_to_string("/proc/thread-self/status").unwrap()
        });
        let status = blocked.join().unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
        let mask = u64::from_str_radix(mask, 16).unwrap();
        // SIGINT, SIGTERM and SIGCHLD: bits from 0.
        assert_eq!(mask & (1 << 1 | 1 << 14 | 1 << 16), 1 << 1 | 1 << 14 | 1 << 16, "{mask:x}");
    }
}
