//! One tenant's requests: which, and when.

use tiermark_model::Note;
use tiermark_model::load::LoadMix;
use tiermark_model::messages::load as says;
use tiermark_stats::{Rng, split_mix};

use crate::clock::{Clock, SECOND};
use crate::conn::{Conn, Due, Pending};
use crate::histogram::Latencies;
use crate::histogram::record_with_omitted;
use crate::hold::Hold;
use crate::judge::Judge;
use crate::keys::Keys;
use crate::request_spec::RequestSpec;
use crate::resp;
use crate::schedule::{Schedule, Spaced, first_without};
use crate::tally::TenantResult;
use crate::workload::{Pace, draws_set};

/// Most requests that are made for one tenant at once: others are due too, and answers want to be read.
const BATCH: usize = 128;

/// Which requests are made.
#[derive(Debug)]
pub(crate) enum Source {
    /// Drawn from a distribution.
    Drawn { keys: Keys, mix: LoadMix },
    /// A SET of every key, in order.
    Fill { next: u64 },
}

/// A tenant of a thread.
pub(crate) struct Tenant {
    /// Its place among all tenants.
    pub(crate) index: usize,
    pub(crate) conns: Vec<Option<Conn>>,
    pub(crate) source: Source,
    pub(crate) spec: RequestSpec,
    /// Intended starts, in an open loop and in a closed one that keeps to a rate.
    pub(crate) schedule: Option<Schedule>,
    /// The same as far as it is due, where requests are behind it.
    ahead: Option<Schedule>,
    pub(crate) depth: usize,
    /// Requests still to be made; `None` where time ends it.
    pub(crate) left: Option<u64>,
    pub(crate) rng: Rng,
    pub(crate) tally: TenantResult,
    /// Since when requests that are due wait for answers.
    hold: Hold,
    /// Whether it made no request for want of memory: no answer of its own wakes it then.
    pub(crate) starved: bool,
    /// Where the next request goes.
    pub(crate) turn: usize,
    /// The common start, ns on the monotonic clock.
    pub(crate) start: u64,
    key: Vec<u8>,
}

/// Phase after the last due request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// More at this time, ns after the start.
    Due(u64),
    /// An answer has to come first.
    Blocked,
    /// Nothing.
    Finished,
}

impl Tenant {
    pub(crate) fn new(index: usize, conns: Vec<Conn>, source: Source, spec: RequestSpec, pace: TenantPace) -> Self {
        // In a closed loop the two are the same, and one is kept.
        let response = if pace.schedule.is_some() { Latencies::ready() } else { Latencies::new() };
        let mismatches = spec.verify.then_some(0);
        let tally = TenantResult { response, service: Latencies::ready(), mismatches, ..TenantResult::default() };
        Self {
            index,
            conns: conns.into_iter().map(Some).collect(),
            source,
            spec,
            schedule: pace.schedule,
            ahead: None,
            depth: pace.depth,
            left: pace.left,
            rng: pace.rng,
            tally,
            hold: Hold::default(),
            starved: false,
            turn: 0,
            start: 0,
            key: Vec::new(),
        }
    }

    /// Whether it may make another request, time aside.
    pub(crate) fn has_more(&self) -> bool {
        self.left != Some(0) && self.tally.fault.is_none()
    }

    /// Requests made and not answered.
    pub(crate) fn under_way(&self) -> usize {
        self.conns.iter().flatten().map(Conn::under_way).sum()
    }

    /// Period of a closed loop that keeps to a rate, ns; `None` for other loops.
    fn period(&self) -> Option<u64> {
        self.schedule.as_ref()?.period()
    }

    /// Makes the requests that are due by `now`, and before `end`; all three in ns after the start.
    pub(crate) fn make_due(&mut self, now: u64, end: u64) -> Next {
        for _ in 0..BATCH {
            let Some(due) = self.schedule.as_ref().map(Schedule::due) else { return Next::Finished };
            if !self.has_more() || due >= end {
                return Next::Finished;
            }
            if due > now {
                self.hold.caught_up();
                return Next::Due(due);
            }
            let Some(conn) = self.free_conn() else {
                self.found_no_room(self.start + now);
                return Next::Blocked;
            };
            let at = self.start + self.schedule.as_mut().map_or(due, |schedule| schedule.take_at(now));
            self.make(conn, Due { at, excuse: self.hold.excuse(at) });
        }
        // Still behind: at once again, after the others.
        self.schedule.as_ref().map_or(Next::Finished, |schedule| Next::Due(schedule.due()))
    }

    /// Fills a connection of a closed loop up to its depth, once nothing is under way on it: a batch whose answers came
    /// in two pieces would else go on as two batches, then three, until every request is written and served by itself.
    /// A single connection goes on at half its depth, since the server would have nothing to do meanwhile.
    pub(crate) fn refill(&mut self, place: usize) {
        let under_way = self.conns[place].as_ref().map_or(0, Conn::under_way);
        let goes_on = if self.conns.len() > 1 { 0 } else { self.depth / 2 };
        if under_way > goes_on {
            return;
        }
        for _ in under_way..self.depth {
            let Some(conn) = self.conns[place].as_ref().filter(|_| self.has_more()) else { return };
            if !conn.has_room(self.depth) {
                self.starved |= conn.has_own_room(self.depth);
                return;
            }
            self.make(place, Due::default());
        }
    }

    /// Takes down whom requests wait for that are due and found no room, at `now` on the clock.
    fn found_no_room(&mut self, now: u64) {
        let has_used_up = |conn: &Conn| conn.memory().is_used_up();
        if self.starve() && !self.conns.iter().flatten().any(has_used_up) {
            self.hold.lacks_memory();
            self.tally.starved += 1;
        } else {
            self.hold.found_no_room(now);
            // A closed loop waits for each answer anyhow.
            self.tally.overloads += u64::from(self.period().is_none());
        }
    }

    /// Whether it is memory that is missing, and not room on its connections; what it waits for is taken down.
    fn starve(&mut self) -> bool {
        let starves = self.conns.iter().flatten().any(|conn| conn.has_own_room(self.depth));
        self.starved |= starves;
        starves
    }

    /// Whether there still is no memory for the requests of one that is starved.
    pub(crate) fn lacks_memory(&self) -> bool {
        self.conns.iter().flatten().next().is_some_and(|conn| conn.memory().is_full())
    }

    /// The next connection in turn that has room.
    fn free_conn(&mut self) -> Option<usize> {
        let n = self.conns.len();
        let has_room = |at: &usize| self.conns[*at].as_ref().is_some_and(|conn| conn.has_room(self.depth));
        let found = (0..n).map(|i| (self.turn + i) % n).find(has_room)?;
        self.turn = (found + 1) % n;
        Some(found)
    }

    fn make(&mut self, conn: usize, due: Due) {
        let (key, is_set) = match &mut self.source {
            Source::Drawn { keys, mix } => (keys.draw(&mut self.rng), draws_set(*mix, &mut self.rng)),
            Source::Fill { next } => (std::mem::replace(next, *next + 1), true),
        };
        let nonce = if is_set { self.rng.next_u64() } else { 0 };
        self.left = self.left.map(|left| left - 1);
        self.key.clear();
        self.key.extend_from_slice(&self.spec.prefix);
        resp::decimal(key, self.spec.digits, &mut self.key);
        let (text, value) = (&self.key, &self.spec.value);
        let Some(conn) = &mut self.conns[conn] else { return };
        conn.make(due, key, is_set, |out| {
            if is_set {
                resp::set(text, value.bytes(key, nonce), |out| value.append(key, nonce, out), out);
            } else {
                resp::get(text, out);
            }
        });
    }

    /// Writes a connection's requests, and keeps when they went.
    pub(crate) fn write(&mut self, conn: usize, clock: &impl Clock) -> std::io::Result<crate::conn::Wrote> {
        let (tally, late_after) = (&mut self.tally, self.spec.late_after);
        let Some(conn) = &mut self.conns[conn] else { return Ok(crate::conn::Wrote::All) };
        conn.write(clock, |request| {
            tally.sent += 1;
            if request.due == 0 {
                request.due = request.sent;
                return;
            }
            let late = request.late(request.sent);
            tally.came_late(late, late_after);
            tally.held += u64::from(request.sent.saturating_sub(request.due).saturating_sub(late) > late_after);
        })
    }

    /// An answer came, the socket took more, or others left memory, at `at` on the clock. When the next request is due,
    /// ns after the start, if it waited for room and has it now.
    pub(crate) fn unblock(&mut self, at: u64) -> Option<u64> {
        let due = self.schedule.as_ref()?.due();
        if !self.conns.iter().flatten().any(|conn| conn.has_room(self.depth)) {
            self.starve();
            return None;
        }
        self.hold.found_room(at).then_some(due)
    }

    /// Reads a connection's answers, which came after `looked` on the clock. `end` is that of the run, in ns after the
    /// start.
    pub(crate) fn read(
        &mut self,
        conn: usize,
        buffer: &mut [u8],
        end: u64,
        looked: u64,
        clock: &impl Clock,
    ) -> Result<crate::conn::Took, Note> {
        let (is_open, period) = (self.schedule.is_some(), self.period());
        let judge = Judge { spec: &self.spec, start: self.start, end, is_open, period, looked };
        let tally = &mut self.tally;
        let Some(conn) = &mut self.conns[conn] else { return Ok(crate::conn::Took::Nothing) };
        let took = conn.read(buffer, clock, |request, reply, at| judge.answer(tally, request, reply, at))?;
        match &self.tally.first_error {
            Some(error) if self.spec.stops_on_error => Err(says::tenant_refuses(error)),
            _ => Ok(took),
        }
    }

    /// Counts requests that were made and will not be answered, as of `now`; in an open loop with the time that they
    /// have waited by then.
    fn leave(&mut self, waiting: &[Pending], now: u64) {
        for pending in waiting {
            let waited = now.saturating_sub(pending.due);
            match self.period() {
                Some(period) => record_with_omitted(&mut self.tally.response, waited, period),
                None if self.schedule.is_some() => self.tally.response.record(waited),
                None => {}
            }
            if pending.sent > 0 || pending.due == 0 {
                self.tally.unanswered += 1;
            } else {
                self.unsent(pending.due, pending.late(now), now);
            }
        }
    }

    /// Counts a request that was due at `due` and is never sent, to which the client was `late` ns late.
    fn unsent(&mut self, due: u64, late: u64, now: u64) {
        self.tally.unsent += 1;
        self.tally.came_late(late, self.spec.late_after);
        self.tally.held += u64::from(now.saturating_sub(due).saturating_sub(late) > self.spec.late_after);
    }

    /// Counts requests that are never sent, as of `until` on the clock. There may be 10¹⁰ of them.
    fn never_sent(&mut self, due: &Spaced, until: u64, is_lost: bool) {
        let (count, after) = (due.count(), self.spec.late_after);
        let at = |number| self.start + due.due(number);
        let waited = |number| until.saturating_sub(at(number));
        let late = |number| if is_lost { 0 } else { self.hold.late(at(number), until) };
        let tally = &mut self.tally;
        tally.response.record_falling(count, waited);
        tally.unsent += count;
        // What is due later has waited less, for the client and for the server.
        tally.late += first_without(0..count, |number| late(number) > after);
        tally.held += first_without(0..count, |number| waited(number).saturating_sub(late(number)) > after);
        tally.max_late_ns = tally.max_late_ns.max(late(0));
        let bends = self.hold.bends().map(|time| first_without(0..count, |number| at(number) < time));
        for (from, to) in [(0, bends[0]), (bends[0], bends[1]), (bends[1], count)] {
            if from < to {
                let sum = (u128::from(late(from)) + u128::from(late(to - 1))) * u128::from(to - from) / 2;
                tally.late_sum_ns = tally.late_sum_ns.saturating_add(u64::try_from(sum).unwrap_or(u64::MAX));
            }
        }
    }

    /// Gives the tenant up, at `now` on the clock.
    pub(crate) fn give_up(&mut self, why: Note, now: u64) {
        let waiting: Vec<Pending> = self.conns.iter().flatten().flat_map(Conn::unanswered).copied().collect();
        self.leave(&waiting, now);
        self.tally.fault.get_or_insert(why);
        // Closing a connection takes it out of the epoll.
        self.conns.iter_mut().for_each(|conn| *conn = None);
    }

    /// The longest that an answer has been waited for, ns.
    pub(crate) fn longest_wait(&self, now: u64) -> u64 {
        let oldest = self.conns.iter().flatten().filter_map(Conn::oldest);
        // A request that the socket does not take waits too, from when it was due.
        let since = |p: &Pending| if p.sent > 0 { Some(p.sent) } else { (p.due > 0).then_some(p.due) };
        oldest.filter_map(since).map(|since| now.saturating_sub(since)).max().unwrap_or(0)
    }

    /// Requests that were due before `now`, ns after the start; in a closed loop those that were sent.
    pub(crate) fn scheduled(&mut self, now: u64) -> u64 {
        let schedule = self.schedule.as_ref().filter(|schedule| schedule.period().is_none());
        let Some(schedule) = schedule else { return self.tally.sent };
        let is_stale = self.ahead.as_ref().is_none_or(|ahead| ahead.taken() < schedule.taken());
        if is_stale {
            self.ahead = Some(schedule.clone());
        }
        let due = self.ahead.as_mut().map_or(0, |ahead| ahead.due_before(now));
        self.left.map_or(due, |left| due.min(schedule.taken() + left))
    }

    /// How far its requests are behind their times, ns.
    pub(crate) fn behind(&self, now: u64) -> u64 {
        // A closed loop is never behind: it puts its schedule off.
        let open = self.schedule.as_ref().filter(|schedule| self.has_more() && schedule.period().is_none());
        let due = open.map(|schedule| self.start + schedule.due());
        due.map_or(0, |due| now.saturating_sub(due))
    }

    /// Ends the run, which lasted until `end` ns after the start and stopped at `now` on the clock.
    pub(crate) fn finish(mut self, end: u64, now: u64) -> (usize, TenantResult) {
        let waiting: Vec<Pending> = self.conns.iter().flatten().flat_map(Conn::unanswered).copied().collect();
        self.leave(&waiting, now);
        // One that had all its requests answered was done then, whatever others of its thread still did.
        let is_through = self.left == Some(0) && waiting.is_empty() && self.tally.fault.is_none();
        let lasted = if is_through { self.tally.last_ns.clamp(1, end.max(1)) } else { end };
        self.tally.seconds = lasted as f64 / SECOND as f64;
        self.tally.windows.truncate(end.div_ceil(SECOND) as usize);
        if self.schedule.is_none() {
            self.tally.scheduled = self.tally.sent;
            self.tally.response = self.tally.service.clone();
            return (self.index, self.tally);
        }
        if let Some(period) = self.period() {
            // What the rate promised; a request or two that the wake-ups cost are missing then too.
            self.tally.scheduled = self.tally.sent.max(lasted / period.max(1));
            return (self.index, self.tally);
        }
        // Users of a tenant that failed keep sending requests, which stay unanswered. If the tenant has answered all
        // that was sent, requests due later do not count.
        let until = if waiting.is_empty() { now.min(self.start.saturating_add(end)) } else { now };
        let is_lost = self.tally.fault.is_some();
        let rest = |tenant: &mut Self| {
            let left = tenant.left.unwrap_or(u64::MAX);
            tenant.schedule.as_mut().and_then(|schedule| schedule.take_before(end, left))
        };
        while let Some(due) = rest(&mut self) {
            self.left = self.left.map(|left| left - due.count());
            self.never_sent(&due, until, is_lost);
        }
        self.tally.scheduled = self.tally.sent + self.tally.unsent;
        (self.index, self.tally)
    }
}

/// When a tenant's requests are made.
pub(crate) struct TenantPace {
    pub(crate) schedule: Option<Schedule>,
    pub(crate) depth: usize,
    pub(crate) left: Option<u64>,
    pub(crate) rng: Rng,
}

impl TenantPace {
    /// That of one of several tenants: `stagger` is its place among them, 0 to 1.
    pub(crate) fn new(pace: Pace, depth: usize, left: Option<u64>, stagger: f64, seed: u64) -> Self {
        let schedule = match pace {
            Pace::Closed => None,
            Pace::Paced { rate } => Some(Schedule::paced(rate, stagger)),
            Pace::Open { arrivals, rate } => Some(Schedule::new(arrivals, rate, stagger, split_mix(seed))),
        };
        let depth = if matches!(pace, Pace::Paced { .. }) { 1 } else { depth };
        Self { schedule, depth, left, rng: Rng::new(seed) }
    }
}

#[cfg(test)]
mod tests;
