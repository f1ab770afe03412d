//! One thread's event loop over its tenants.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll::{self, EventData, EventFlags};
use tiermark_model::Note;
use tiermark_model::load::Spin;
use tiermark_model::messages::load as says;

use crate::clock::{self, Clock, Event, Monotonic};
use crate::conn::{Took, Wrote};
use crate::live::{Live, TenantNow};
use crate::spin::Spinner;
use crate::tally::TenantResult;
use crate::tenant::{Next, Tenant};

/// How often a thread notes how its tenants do and looks for those that do not answer, ns.
const TICK: u64 = 100_000_000;
/// Tenants whose requests are made between two looks at what came in.
const VISITS: usize = 64;
/// Bytes that one read takes at most.
const BUFFER: usize = 64 << 10;

/// Data that all threads of a run share.
pub(crate) struct Shared<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) live: &'a Live,
    pub(crate) spin: Spin,
    /// Longest wait for an answer, ns.
    pub(crate) timeout: u64,
}

/// Cpu time and wall time of one thread, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadUse {
    pub(crate) cpu: u64,
    pub(crate) wall: u64,
}

/// A thread's tenants and its timer.
pub(crate) struct Worker<'a, C> {
    number: usize,
    shared: &'a Shared<'a>,
    tenants: Vec<Tenant>,
    epoll: OwnedFd,
    clock: C,
    /// When each tenant's next request is due, ns after the start, soonest first. A closed loop has none, nor has a
    /// tenant that waits for an answer.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    start: u64,
    /// When making requests ends, ns after the start.
    end: u64,
    /// Whether one of the tenants waits until there is memory for its requests.
    starved: bool,
    spinner: Spinner,
    /// When it last looked for answers, ns on the monotonic clock.
    looked: u64,
    next_tick: u64,
    buffer: Vec<u8>,
    /// Events of the epoll; kept between calls to reuse the allocation.
    events: Vec<Event>,
}

impl<'a> Worker<'a, Monotonic> {
    /// A worker for these tenants, whose connections it begins to watch.
    pub(crate) fn new(number: usize, shared: &'a Shared<'a>, tenants: Vec<Tenant>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let clock = Monotonic::new(epoll.as_fd())?;
        Self::on(clock, epoll, number, shared, tenants)
    }
}

impl<'a, C: Clock> Worker<'a, C> {
    /// A worker whose times are those of `clock`.
    fn on(clock: C, epoll: OwnedFd, number: usize, shared: &'a Shared<'a>, tenants: Vec<Tenant>) -> io::Result<Self> {
        for (slot, tenant) in tenants.iter().enumerate() {
            for (place, conn) in tenant.conns.iter().enumerate() {
                let Some(conn) = conn else { continue };
                epoll::add(&epoll, conn.stream(), EventData::new_u64(token(slot, place)), EventFlags::IN)?;
            }
        }
        let spinner = Spinner::new(shared.spin, tenants.iter().all(|tenant| tenant.schedule.is_none()));
        Ok(Self {
            number,
            shared,
            tenants,
            epoll,
            clock,
            due: BinaryHeap::new(),
            start: 0,
            end: 0,
            starved: false,
            spinner,
            looked: 0,
            next_tick: 0,
            buffer: vec![0; BUFFER],
            events: Vec::new(),
        })
    }

    /// Runs from `start` on the monotonic clock until `end` ns after it, or until all requests are answered.
    pub(crate) fn run(mut self, start: u64, end: u64) -> io::Result<(Vec<(usize, TenantResult)>, ThreadUse)> {
        (self.start, self.end) = (start, end);
        self.sleep_until(start)?;
        let cpu = clock::thread_cpu();
        let began = self.clock.now();
        self.looked = began;
        self.begin()?;
        while !self.is_over() {
            self.make_due()?;
            self.tick();
            self.wait()?;
            self.resume()?;
        }
        let now = self.clock.now();
        self.shared.live.beat(self.number, 0);
        let used = ThreadUse { cpu: clock::thread_cpu() - cpu, wall: now - began };
        let end = self.end.min(now.saturating_sub(self.start));
        Ok((self.tenants.into_iter().map(|tenant| tenant.finish(end, now)).collect(), used))
    }

    fn sleep_until(&mut self, time: u64) -> io::Result<()> {
        let mut events = Vec::new();
        while self.clock.now() < time {
            events.clear();
            // A server that says something unasked would keep this awake, for a moment; it is found out right after.
            self.clock.wait(&self.epoll, &mut events, Some(time))?;
        }
        Ok(())
    }

    /// The first requests of a closed loop; the first times of an open one.
    fn begin(&mut self) -> io::Result<()> {
        for slot in 0..self.tenants.len() {
            let tenant = &mut self.tenants[slot];
            tenant.start = self.start;
            if let Some(schedule) = &tenant.schedule {
                self.due.push(Reverse((schedule.due(), slot)));
                continue;
            }
            self.refill(slot)?;
        }
        Ok(())
    }

    /// Makes the next requests of a closed loop on all connections of a tenant.
    fn refill(&mut self, slot: usize) -> io::Result<()> {
        for place in 0..self.tenants[slot].conns.len() {
            self.tenants[slot].refill(place);
            self.write(slot, place)?;
        }
        Ok(())
    }

    /// Goes on with the tenants that waited for memory, once there is some.
    fn resume(&mut self) -> io::Result<()> {
        if !self.starved || self.elapsed() >= self.end {
            return Ok(());
        }
        self.starved = false;
        let now = self.clock.now();
        for slot in 0..self.tenants.len() {
            let tenant = &mut self.tenants[slot];
            if !tenant.starved || tenant.lacks_memory() {
                self.starved |= tenant.starved;
                continue;
            }
            tenant.starved = false;
            if tenant.schedule.is_none() {
                self.refill(slot)?;
            } else if let Some(due) = tenant.unblock(now) {
                self.due.push(Reverse((due, slot)));
            }
            self.starved |= self.tenants[slot].starved;
        }
        Ok(())
    }

    /// Ns since the start.
    fn elapsed(&self) -> u64 {
        self.clock.now().saturating_sub(self.start)
    }

    fn is_over(&mut self) -> bool {
        if self.shared.stop.load(Ordering::Relaxed) {
            // Requests under way are not waited for: a server that stalls would delay the end.
            self.end = self.end.min(self.elapsed());
            return true;
        }
        // A request that was due before the end is sent even if the thread is late; one without an answer by then is
        // not waited for.
        let is_due = self.due.peek().is_some_and(|next| next.0.0 < self.end);
        let makes_more = is_due || self.tenants.iter().any(Tenant::has_more) && self.elapsed() < self.end;
        !makes_more && self.tenants.iter().all(|tenant| tenant.under_way() == 0)
    }

    /// Makes and sends the requests that are due, tenant after tenant.
    fn make_due(&mut self) -> io::Result<()> {
        for _ in 0..VISITS {
            let (now, end) = (self.elapsed(), self.end);
            let Some(mut next) = self.due.peek_mut().filter(|next| next.0.0 <= now && next.0.0 < end) else {
                return Ok(());
            };
            let slot = next.0.1;
            match self.tenants[slot].make_due(now, end) {
                Next::Due(due) => {
                    *next = Reverse((due, slot));
                    drop(next);
                }
                Next::Blocked | Next::Finished => drop(PeekMut::pop(next)),
            }
            for place in 0..self.tenants[slot].conns.len() {
                self.write(slot, place)?;
            }
        }
        Ok(())
    }

    /// Writes the queued bytes of a connection, and registers for the event when the rest can be written.
    fn write(&mut self, slot: usize, place: usize) -> io::Result<()> {
        let tenant = &mut self.tenants[slot];
        self.starved |= tenant.starved;
        let Some(conn) = &tenant.conns[place] else { return Ok(()) };
        if !conn.is_dirty() {
            return Ok(());
        }
        let waits = match tenant.write(place, &self.clock) {
            Ok(wrote) => wrote == Wrote::Part,
            Err(error) => {
                tenant.give_up(closed(&error), self.clock.now());
                return Ok(());
            }
        };
        let Some(conn) = &mut tenant.conns[place] else { return Ok(()) };
        if waits != conn.waits_to_write {
            conn.waits_to_write = waits;
            let flags = if waits { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(&self.epoll, conn.stream(), EventData::new_u64(token(slot, place)), flags)?;
        }
        Ok(())
    }

    /// Ten times a second: notes how tenants do, and gives up those that do not answer.
    fn tick(&mut self) {
        let now = self.clock.now();
        if now < self.next_tick {
            return;
        }
        // A thread that did not get to run finds answers on its sockets first: they were not missing.
        let was_away = self.next_tick > 0 && now - self.next_tick > TICK;
        self.next_tick = now + TICK;
        let elapsed = now.saturating_sub(self.start).min(self.end);
        for tenant in &mut self.tenants {
            let waiting = tenant.longest_wait(now);
            if waiting > self.shared.timeout && !was_away {
                let why = says::tenant_answers_nothing(waiting as f64 / clock::SECOND as f64);
                tenant.give_up(why, now);
            }
            let seen = TenantNow {
                scheduled: tenant.scheduled(elapsed),
                sent: tenant.tally.sent,
                done: tenant.tally.done,
                errors: tenant.tally.errors,
                gets: tenant.tally.gets,
                misses: tenant.tally.misses,
                response_sum_ns: tenant.tally.response.sum_ns(),
                response_squares: tenant.tally.response_squares,
                behind_ns: tenant.behind(now.min(self.start.saturating_add(self.end))),
                waiting_ns: waiting,
                is_lost: tenant.tally.fault.is_some(),
            };
            self.shared.live.note(tenant.index, seen);
        }
        self.shared.live.beat(self.number, now);
    }

    /// Waits for answers, the next request or the next tick, and takes what came.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let ends = self.start.saturating_add(self.end);
        let due = self.due.peek().map(|Reverse((due, _))| self.start + due).filter(|due| *due < ends);
        let mut wake = self.next_tick.min(due.unwrap_or(u64::MAX));
        if now < ends {
            wake = wake.min(ends);
        }
        if due == Some(wake) {
            wake -= self.spinner.early().min(wake);
        }
        // Without a due request, the thread waits for an answer.
        let looks = due.is_none() && self.spinner.looks(now);
        let sleeps = wake > now && !looks;
        let mut events = std::mem::take(&mut self.events);
        self.clock.wait(&self.epoll, &mut events, sleeps.then_some(wake))?;
        // An event that came during the sleep woke it; otherwise it came after the last check.
        let since = if sleeps { self.clock.now() } else { self.looked };
        self.looked = if sleeps { since } else { now };
        if !events.is_empty() {
            self.spinner.came();
        }
        for (token, flags) in events.drain(..) {
            let (slot, place) = ((token >> 32) as usize, (token & 0xffff_ffff) as usize);
            if flags.contains(EventFlags::OUT) {
                self.write(slot, place)?;
                // A request that was not sent because the socket was full.
                let now = self.clock.now();
                if now.saturating_sub(self.start) < self.end
                    && let Some(due) = self.tenants[slot].unblock(now)
                {
                    self.due.push(Reverse((due, slot)));
                }
            }
            if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
                self.read(slot, place, since)?;
            }
        }
        self.events = events;
        Ok(())
    }

    /// Reads a connection whose answers came after `since` on the clock.
    fn read(&mut self, slot: usize, place: usize, since: u64) -> io::Result<()> {
        let tenant = &mut self.tenants[slot];
        match tenant.read(place, &mut self.buffer, self.end, since, &self.clock) {
            Ok(Took::Nothing) => return Ok(()),
            Ok(Took::Bytes { at }) => {
                if tenant.schedule.is_none() && at.saturating_sub(self.start) < self.end {
                    tenant.refill(place);
                    return self.write(slot, place);
                }
                if at.saturating_sub(self.start) < self.end
                    && let Some(due) = tenant.unblock(at)
                {
                    self.due.push(Reverse((due, slot)));
                }
            }
            Ok(Took::End) => tenant.give_up(says::tenant_hung_up(), self.clock.now()),
            Err(why) => tenant.give_up(why, self.clock.now()),
        }
        Ok(())
    }
}

fn token(slot: usize, place: usize) -> u64 {
    (slot as u64) << 32 | place as u64
}

fn closed(error: &io::Error) -> Note {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => says::tenant_hung_up(),
        _ => says::writing_failed(&error.to_string()),
    }
}

#[cfg(test)]
mod tests;
