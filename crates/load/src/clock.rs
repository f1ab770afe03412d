//! The clock of a run in ns, waiting on it, and the cpu time of a thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::fs::Timespec;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};

/// Events that one look takes at most.
const EVENTS: usize = 256;
/// The alarm's token on the epoll; no connection has it.
const ALARM: u64 = u64::MAX;

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

/// What a thread's loop takes its times from and waits on: the system's clock, or in tests one that they advance.
pub(crate) trait Clock {
    /// The time now, ns; never less than before.
    fn now(&self) -> u64;

    /// Waits until a connection on `epoll` has something or `until` has come, whichever is first; with `None` only
    /// looks. Appends the tokens of connections and their events. A signal may end it early.
    ///
    /// # Errors
    /// The system's error of the epoll or the timer.
    fn wait(&mut self, epoll: &OwnedFd, events: &mut Vec<Event>, until: Option<u64>) -> io::Result<()>;
}

/// The token of a connection and its events.
pub(crate) type Event = (u64, epoll::EventFlags);

/// CLOCK_MONOTONIC and a timer on it.
pub(crate) struct Monotonic {
    alarm: Alarm,
}

impl Monotonic {
    /// For waiting on one epoll.
    pub(crate) fn new(epoll: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { alarm: Alarm::new(epoll)? })
    }
}

impl Clock for Monotonic {
    fn now(&self) -> u64 {
        now()
    }

    fn wait(&mut self, epoll: &OwnedFd, events: &mut Vec<Event>, until: Option<u64>) -> io::Result<()> {
        if let Some(until) = until {
            self.alarm.set(until)?;
        }
        let first = events.len();
        look(epoll, events, until.is_some())?;
        if let Some(at) = events[first..].iter().position(|(token, _)| *token == ALARM) {
            events.swap_remove(first + at);
            self.alarm.went_off();
        }
        Ok(())
    }
}

/// Appends what connections have; `waits` until there is something. A signal ends it early, with nothing.
pub(crate) fn look(epoll: &OwnedFd, events: &mut Vec<Event>, waits: bool) -> io::Result<()> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut space = [const { std::mem::MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
    match epoll::wait(epoll, &mut space, (!waits).then_some(&at_once)) {
        Ok((found, _)) => events.extend(found.iter().map(|event| (event.data.u64(), event.flags))),
        Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// A timer that wakes an epoll at an absolute time. Timeouts of `epoll_wait` are whole milliseconds; this is not.
struct Alarm {
    timer: OwnedFd,
    /// For when it is set, ns; 0 while it is not.
    at: u64,
}

impl Alarm {
    /// An alarm that reports as [`ALARM`] on an epoll.
    fn new(epoll: BorrowedFd<'_>) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        // Edge-triggered: a timer that is set anew reports again, so its counter is never read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(epoll, timer.as_fd(), epoll::EventData::new_u64(ALARM), flags)?;
        Ok(Self { timer, at: 0 })
    }

    /// Sets it for a time on the clock of [`now`], ns.
    fn set(&mut self, at: u64) -> io::Result<()> {
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
    fn went_off(&mut self) {
        self.at = 0;
    }
}
