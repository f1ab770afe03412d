//! The monotonic clock in ns, waiting on it, and the cpu time of a thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::fs::Timespec;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

fn nanoseconds(time: Timespec) -> u64 {
    // Neither clock is ever negative.
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC, ns.
pub(crate) fn now() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Cpu time that the calling thread has had, ns.
pub(crate) fn thread_cpu() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// A timer that wakes an epoll at an absolute time. Timeouts of `epoll_wait` are whole milliseconds; this is not.
pub(crate) struct Alarm {
    timer: OwnedFd,
    /// For when it is set, ns; 0 while it is not.
    at: u64,
}

impl Alarm {
    /// An alarm that reports as `token` on an epoll.
    pub(crate) fn new(epoll: BorrowedFd<'_>, token: u64) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // Edge-triggered: setting it anew is all that is needed after it went off, and nobody has to read it.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(epoll, timer.as_fd(), epoll::EventData::new_u64(token), flags)?;
        Ok(Self { timer, at: 0 })
    }

    /// Sets it for a time on the clock of [`now`], ns.
    pub(crate) fn set(&mut self, at: u64) -> io::Result<()> {
        // Zero would disarm it.
        let at = at.max(1);
        if at == self.at {
            return Ok(());
        }
        let time = Timespec { tv_sec: (at / SECOND) as i64, tv_nsec: (at % SECOND) as _ };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: never, it_value: time };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
        self.at = at;
        Ok(())
    }

    /// It went off: the same time can be set again.
    pub(crate) fn went_off(&mut self) {
        self.at = 0;
    }
}
