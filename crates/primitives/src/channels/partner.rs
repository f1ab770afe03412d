//! The other side: a child process on a cpu of its own, under watch.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, Refusal};
use tiermark_system::os::Child;
use tiermark_system::{cpu_now, pin};

use crate::body::Order;
use crate::failure::{no_more, unavailable};
use crate::watch::Watch;

/// A message of the other side: its subject, and a number.
const NEWS: usize = 5;
/// Ready, on the cpu of that number.
const READY: u8 = b'r';
/// Could not be pinned, for that error.
const PIN: u8 = b'p';
/// Could not go on, for that error.
const FAILED: u8 = b'f';

/// A child that takes part until it is dropped.
#[derive(Debug)]
pub(super) struct Partner {
    // Ended first: the watch has nothing to watch then.
    child: Child,
    watch: Watch,
    news: OwnedFd,
}

/// The channel of the child's messages.
pub(super) struct Home(OwnedFd);

impl Home {
    /// Says that everything is made: the time of the other side may begin.
    pub(super) fn ready(&self) -> rustix::io::Result<()> {
        self.tell(READY, cpu_now().unwrap_or(CpuId::MAX))
    }

    fn tell(&self, what: u8, number: u32) -> rustix::io::Result<()> {
        let [a, b, c, d] = number.to_ne_bytes();
        rustix::io::write(&self.0, &[what, a, b, c, d]).map(drop)
    }
}

impl Partner {
    /// Starts `body` in a child on the cpu that the call names, and waits until it is ready. It gets on until an error
    /// ends it, or the caller does.
    ///
    /// # Errors
    /// A [`Refusal`] without a process, a cpu, or what `body` needs.
    pub(super) fn start(
        order: &Order<'_>,
        body: impl FnOnce(&Home) -> rustix::io::Result<Infallible>,
    ) -> Result<Self, Refusal> {
        let cpu = *order.call.others.first().ok_or_else(|| {
            unavailable(order.call.primitive.0.as_str(), "no cpu is named for the other side", "name one in the plan")
        })?;
        let refused = |error: &io::Error| no_more("a child process", error);
        let (news, home) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|e| refused(&e.into()))?;
        let home = Home(home);
        let life = move || {
            if let Err(error) = pin(cpu) {
                let _ = home.tell(PIN, error.raw_os_error().unwrap_or(0) as u32);
                return 1;
            }
            let Err(error) = body(&home);
            let _ = home.tell(FAILED, error.raw_os_error() as u32);
            1
        };
        // SAFETY: system calls, as every body here makes them, and writing to buffers that are there already.
        #[allow(unsafe_code, reason = "a fork")]
        let child = unsafe { Child::fork(life) };
        let child = child.map_err(|e| refused(&e))?;
        let watch = Watch::over(child.pid()).map_err(|e| refused(&e))?;
        let partner = Self { child, watch, news };
        match partner.hear() {
            Some((READY, on)) if on == cpu => Ok(partner),
            Some((READY, on)) => Err(says::pin_refused(cpu, &format!("it runs on cpu {on}"))),
            Some((PIN, error)) => Err(says::pin_refused(cpu, &io::Error::from_raw_os_error(error as i32).to_string())),
            Some((_, error)) => Err(refused(&io::Error::from_raw_os_error(error as i32))),
            None => {
                let why = "it ended before it was ready, or was killed after 10 s without a word";
                Err(refused(&io::Error::other(why)))
            }
        }
    }

    /// Its next message; `None` if it has ended.
    fn hear(&self) -> Option<(u8, u32)> {
        let mut news = [0u8; NEWS];
        let read = loop {
            match rustix::io::read(&self.news, &mut news) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        let [what, number @ ..] = news;
        (read == Ok(NEWS)).then(|| (what, u32::from_ne_bytes(number)))
    }

    /// Its number.
    #[cfg(test)]
    pub(super) fn pid(&self) -> rustix::process::Pid {
        self.child.pid()
    }

    /// Something got on: it is not killed.
    pub(super) fn moved(&self) {
        self.watch.moved();
    }

    /// Whether the child has ended.
    pub(super) fn gone(&mut self) -> bool {
        self.child.ended_within(Duration::from_millis(1))
    }

    /// Why it has ended, in words.
    pub(super) fn why(&mut self) -> String {
        // Its last message arrives before its end; a partner that still runs would keep the reader waiting.
        if !self.child.ended_within(Duration::from_secs(1)) {
            return "the other side closed the channel".to_owned();
        }
        match self.hear() {
            Some((_, error)) => format!("the other side: {}", io::Error::from_raw_os_error(error as i32)),
            None => {
                "the other side was killed: by its watch, after 10 s without progress, or by someone else".to_owned()
            }
        }
    }
}
