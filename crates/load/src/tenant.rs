//! One tenant's requests: which, and when.

use tiermark_stats::Rng;

use crate::clock::SECOND;
use crate::conn::{Conn, Pending};
use crate::keys::Keys;
use crate::resp::{self, Reply, shown};
use crate::schedule::Schedule;
use crate::tally::TenantResult;
use crate::values::ValueShape;
use crate::workload::{Mix, Pace};

/// Most requests that are made for one tenant at once: others are due too, and answers want to be read.
const BATCH: usize = 128;

/// Which requests are made.
#[derive(Debug)]
pub(crate) enum Source {
    /// Drawn from a distribution.
    Drawn { keys: Keys, mix: Mix },
    /// A SET of every key, in order.
    Fill { next: u64 },
}

/// How a tenant's requests become bytes, and their answers are judged.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) prefix: Vec<u8>,
    pub(crate) value: ValueShape,
    pub(crate) verify: bool,
    /// Whether the first refusal ends it.
    pub(crate) stops_on_error: bool,
    /// ns.
    pub(crate) late_after: u64,
}

/// A tenant of a thread.
pub(crate) struct Tenant {
    /// Its place among all tenants.
    pub(crate) index: usize,
    pub(crate) conns: Vec<Option<Conn>>,
    pub(crate) source: Source,
    pub(crate) form: Form,
    /// Intended starts, in an open loop.
    pub(crate) schedule: Option<Schedule>,
    pub(crate) depth: usize,
    /// Requests still to be made; `None` where time ends it.
    pub(crate) left: Option<u64>,
    pub(crate) rng: Rng,
    pub(crate) tally: TenantResult,
    /// Whether requests are due that wait for an answer.
    pub(crate) blocked: bool,
    /// Where the next request goes.
    pub(crate) turn: usize,
    /// The common start, ns on the monotonic clock.
    pub(crate) start: u64,
    key: Vec<u8>,
}

/// What comes after the requests that are due.
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
    pub(crate) fn new(index: usize, conns: Vec<Conn>, source: Source, form: Form, pace: TenantPace) -> Self {
        let tally = TenantResult { mismatches: form.verify.then_some(0), ..TenantResult::default() };
        Self {
            index,
            conns: conns.into_iter().map(Some).collect(),
            source,
            form,
            schedule: pace.schedule,
            depth: pace.depth,
            left: pace.left,
            rng: pace.rng,
            tally,
            blocked: false,
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

    /// Makes the requests that are due by `now`, and before `end`; all three in ns after the start.
    pub(crate) fn make_due(&mut self, now: u64, end: u64) -> Next {
        for _ in 0..BATCH {
            let Some(due) = self.schedule.as_ref().map(Schedule::due) else { return Next::Finished };
            if !self.has_more() || due >= end {
                return Next::Finished;
            }
            if due > now {
                return Next::Due(due);
            }
            let Some(conn) = self.free_conn() else {
                self.blocked = true;
                self.tally.overloads += 1;
                return Next::Blocked;
            };
            let due = self.schedule.as_mut().map_or(due, Schedule::take);
            self.make(conn, self.start + due);
        }
        // Still behind: at once again, after the others.
        self.schedule.as_ref().map_or(Next::Finished, |schedule| Next::Due(schedule.due()))
    }

    /// Fills a connection of a closed loop up to its depth, once no more than half of it is under way: a batch whose answers came in two
    /// pieces would else go on as two batches, then three, until every request is written and served by itself.
    pub(crate) fn refill(&mut self, place: usize) {
        let under_way = self.conns[place].as_ref().map_or(0, Conn::under_way);
        if under_way > self.depth / 2 {
            return;
        }
        for _ in under_way..self.depth {
            if !self.has_more() {
                return;
            }
            self.make(place, 0);
        }
    }

    /// The next connection in turn that has room.
    fn free_conn(&mut self) -> Option<usize> {
        let n = self.conns.len();
        let has_room = |at: &usize| self.conns[*at].as_ref().is_some_and(|c| c.under_way() < self.depth);
        let found = (0..n).map(|i| (self.turn + i) % n).find(has_room)?;
        self.turn = (found + 1) % n;
        Some(found)
    }

    fn make(&mut self, conn: usize, due: u64) {
        let (key, is_set) = match &mut self.source {
            Source::Drawn { keys, mix } => (keys.draw(&mut self.rng), mix.draws_set(&mut self.rng)),
            Source::Fill { next } => (std::mem::replace(next, *next + 1), true),
        };
        let nonce = if is_set { self.rng.next_u64() } else { 0 };
        self.left = self.left.map(|left| left - 1);
        self.key.clear();
        self.key.extend_from_slice(&self.form.prefix);
        resp::decimal(key, &mut self.key);
        let (text, value) = (&self.key, self.form.value);
        let Some(conn) = &mut self.conns[conn] else { return };
        conn.make(due, key, is_set, |out| {
            if is_set {
                resp::set(text, value.bytes, |out| value.append(key, nonce, out), out);
            } else {
                resp::get(text, out);
            }
        });
    }

    /// Writes a connection's requests, and keeps when they went.
    pub(crate) fn write(&mut self, conn: usize) -> std::io::Result<crate::conn::Wrote> {
        let (tally, late_after) = (&mut self.tally, self.form.late_after);
        let Some(conn) = &mut self.conns[conn] else { return Ok(crate::conn::Wrote::All) };
        conn.write(|request| {
            tally.sent += 1;
            if request.due == 0 {
                request.due = request.sent;
                return;
            }
            let late = request.sent.saturating_sub(request.due);
            tally.late += u64::from(late > late_after);
            tally.max_late_ns = tally.max_late_ns.max(late);
        })
    }

    /// Reads a connection's answers. `end` is that of the run, in ns after the start.
    pub(crate) fn read(&mut self, conn: usize, buffer: &mut [u8], end: u64) -> Result<crate::conn::Took, String> {
        let judge = Judge { form: &self.form, start: self.start, end, is_open: self.schedule.is_some() };
        let tally = &mut self.tally;
        let Some(conn) = &mut self.conns[conn] else { return Ok(crate::conn::Took::Nothing) };
        let took = conn.read(buffer, |request, reply, at| judge.answer(tally, request, reply, at))?;
        match &self.tally.first_error {
            Some(error) if self.form.stops_on_error => Err(format!("it refuses: {error}")),
            _ => Ok(took),
        }
    }

    /// Gives the tenant up.
    pub(crate) fn give_up(&mut self, why: String) {
        self.tally.unanswered += self.under_way() as u64;
        self.tally.fault.get_or_insert(why);
        // Closing a connection takes it out of the epoll.
        self.conns.iter_mut().for_each(|conn| *conn = None);
    }

    /// The longest that an answer has been waited for, ns.
    pub(crate) fn longest_wait(&self, now: u64) -> u64 {
        let oldest = self.conns.iter().flatten().filter_map(Conn::oldest);
        // What the socket does not take waits as well, from when it was due.
        let since = |p: &Pending| if p.sent > 0 { Some(p.sent) } else { (p.due > 0).then_some(p.due) };
        oldest.filter_map(since).map(|since| now.saturating_sub(since)).max().unwrap_or(0)
    }

    /// How far its requests are behind their times, ns.
    pub(crate) fn behind(&self, now: u64) -> u64 {
        let due = self.schedule.as_ref().filter(|_| self.has_more()).map(|schedule| self.start + schedule.due());
        due.map_or(0, |due| now.saturating_sub(due))
    }

    /// Ends the run that lasted until `end` ns after the start and was left at `now` on the clock.
    pub(crate) fn finish(mut self, end: u64, now: u64) -> (usize, TenantResult) {
        let waiting: Vec<u64> = self.conns.iter().flatten().flat_map(Conn::unanswered).map(|p| p.due).collect();
        self.tally.unanswered += waiting.len() as u64;
        self.tally.seconds = end as f64 / SECOND as f64;
        self.tally.windows.truncate(end.div_ceil(SECOND) as usize);
        if self.schedule.is_none() {
            self.tally.scheduled = self.tally.sent;
            self.tally.response = self.tally.service.clone();
            return (self.index, self.tally);
        }
        waiting.iter().for_each(|due| self.tally.response.record(now.saturating_sub(*due)));
        // A tenant that was given up has no users any more; its fault is the result.
        while self.has_more() && self.schedule.as_ref().is_some_and(|schedule| schedule.due() < end) {
            let due = self.schedule.as_mut().map_or(0, Schedule::take);
            self.left = self.left.map(|left| left - 1);
            self.tally.unsent += 1;
            self.tally.response.record(now.saturating_sub(self.start + due));
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
            Pace::Open { arrivals, rate } => Some(Schedule::new(arrivals, rate, stagger, crate::seed::mix(seed))),
        };
        Self { schedule, depth, left, rng: Rng::new(seed) }
    }
}

/// Turns answers into numbers.
struct Judge<'a> {
    form: &'a Form,
    start: u64,
    end: u64,
    is_open: bool,
}

impl Judge<'_> {
    fn answer(&self, tally: &mut TenantResult, request: Pending, reply: Reply<'_>, at: u64) {
        tally.done += 1;
        let since_start = at.saturating_sub(self.start);
        *(if request.is_set { &mut tally.sets } else { &mut tally.gets }) += 1;
        match reply {
            Reply::Error(text) => {
                tally.errors += 1;
                tally.first_error.get_or_insert_with(|| shown(text));
                return;
            }
            Reply::Nil if !request.is_set => tally.misses += 1,
            Reply::Bulk(value) if self.form.verify && !request.is_set => {
                let is_right = self.form.value.is_for(request.key, value);
                tally.mismatches = tally.mismatches.map(|wrong| wrong + u64::from(!is_right));
            }
            _ => {}
        }
        tally.done_in_time += u64::from(since_start <= self.end);
        let response = at.saturating_sub(request.due);
        tally.service.record(at.saturating_sub(request.sent));
        if self.is_open {
            tally.response.record(response);
        }
        tally.answered(since_start, response);
    }
}
