//! One connection: bytes to write, and requests under way, in order.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

use tiermark_model::Note;
use tiermark_model::messages::load as says;

use crate::buffers::{Part, Share};
use crate::clock::Clock;
use crate::resp::{Parser, Reply};
use crate::stream::Stream;

/// Bytes of requests that the socket has not taken yet, above which no other is made: as much as sockets usually
/// buffer, so that a server that reads never waits for the client.
pub(crate) const MOST_UNWRITTEN: usize = 1 << 20;

/// A request that was made and not yet answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    /// When it was due, ns on the monotonic clock; 0 in a closed loop: when it is sent.
    pub(crate) due: u64,
    /// Time after that during which the connection had no room because the server had not answered, ns.
    pub(crate) excuse: u64,
    /// When a write was first tried, though the socket may have taken nothing; 0 before.
    pub(crate) tried: u64,
    /// When the write that took its first byte began; 0 before.
    pub(crate) sent: u64,
    /// Where in the stream of bytes it begins.
    begins: u64,
    /// Whether it is a SET.
    pub(crate) is_set: bool,
    /// Its key.
    pub(crate) key: u64,
}

impl Pending {
    /// One that was due and sent at a time on the clock.
    #[cfg(test)]
    pub(crate) fn sent(at: u64) -> Self {
        Self { due: at, excuse: 0, tried: at, sent: at, begins: 0, is_set: true, key: 0 }
    }

    /// By how much the client was late to try it, ns; `now` is taken where it has not tried at all.
    pub(crate) fn late(&self, now: u64) -> u64 {
        let tried = if self.tried > 0 { self.tried } else { now };
        tried.saturating_sub(self.due.saturating_add(self.excuse))
    }
}

/// When a request of an open loop is due.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Due {
    /// See [`Pending::due`].
    pub(crate) at: u64,
    /// See [`Pending::excuse`].
    pub(crate) excuse: u64,
}

/// A connection and its queue. Replies belong to requests in the order in which those were made: the protocol says so.
#[derive(Debug)]
pub(crate) struct Conn {
    stream: Stream,
    parser: Parser,
    pending: VecDeque<Pending>,
    /// Requests at the end of `pending` that are not on their way yet.
    unsent: usize,
    out: Vec<u8>,
    /// What `out` takes of the memory of all connections.
    share: Share,
    /// Bytes of `out` that were written.
    written: usize,
    /// Bytes that were written before those of `out`.
    before: u64,
    /// Whether the epoll reports when more can be written.
    pub(crate) waits_to_write: bool,
}

/// How a write went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// Everything.
    All,
    /// The socket takes no more for now.
    Part,
}

/// The outcome of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Took {
    /// Nothing for now.
    Nothing,
    /// Bytes; the clock when they were there.
    Bytes { at: u64 },
    /// The end of the stream.
    End,
}

impl Conn {
    /// A connection that keeps at most so many bytes of each value that comes back, and whose requests take memory of
    /// its tenant's part.
    pub(crate) fn new(stream: Stream, keep: usize, memory: &Part) -> Self {
        Self {
            stream,
            parser: Parser::new(keep),
            pending: VecDeque::new(),
            unsent: 0,
            out: Vec::new(),
            share: memory.share(),
            written: 0,
            before: 0,
            waits_to_write: false,
        }
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Requests that were made and not answered.
    pub(crate) fn under_way(&self) -> usize {
        self.pending.len()
    }

    /// The request that is to be answered next.
    pub(crate) fn oldest(&self) -> Option<&Pending> {
        self.pending.front()
    }

    /// Requests that were made and not answered, oldest first.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter()
    }

    /// Whether a queue of at most `depth` requests takes another one, in number and in bytes.
    pub(crate) fn has_room(&self, depth: usize) -> bool {
        self.has_own_room(depth) && !self.share.is_barred(self.out.len(), self.out.capacity())
    }

    /// The same, were it the only connection. One that has no room all the same waits for others.
    pub(crate) fn has_own_room(&self, depth: usize) -> bool {
        self.pending.len() < depth && self.out.len() - self.written < MOST_UNWRITTEN
    }

    /// The part of its tenant in the memory of all connections.
    pub(crate) fn memory(&self) -> &Part {
        self.share.part()
    }

    /// Whether there is something to write.
    pub(crate) fn is_dirty(&self) -> bool {
        self.written < self.out.len()
    }

    /// Adds a request, whose bytes `encode` appends. Nothing is sent yet.
    pub(crate) fn make(&mut self, of: Due, key: u64, is_set: bool, encode: impl FnOnce(&mut Vec<u8>)) {
        let begins = self.before + self.out.len() as u64;
        encode(&mut self.out);
        self.share.holds(self.out.capacity());
        let Due { at: due, excuse } = of;
        self.pending.push_back(Pending { due, excuse, tried: 0, sent: 0, begins, is_set, key });
        self.unsent += 1;
    }

    /// Writes as much as the socket takes; `left` is called with every request that goes out now.
    pub(crate) fn write(&mut self, clock: &impl Clock, mut left: impl FnMut(&mut Pending)) -> io::Result<Wrote> {
        while self.is_dirty() {
            let now = clock.now();
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let first = self.pending.len() - self.unsent;
                    let untried = self.pending.range_mut(first..).rev().take_while(|pending| pending.tried == 0);
                    untried.for_each(|pending| pending.tried = now);
                    self.compact();
                    return Ok(Wrote::Part);
                }
                Err(error) => return Err(error),
            }
            let reached = self.before + self.written as u64;
            let first = self.pending.len() - self.unsent;
            for pending in self.pending.range_mut(first..) {
                if pending.begins >= reached {
                    break;
                }
                pending.sent = now;
                pending.tried = if pending.tried > 0 { pending.tried } else { now };
                self.unsent -= 1;
                left(pending);
            }
        }
        self.before += self.out.len() as u64;
        self.out.clear();
        self.written = 0;
        if self.share.is_wanted() {
            self.out = Vec::new();
            self.share.holds(0);
        }
        Ok(Wrote::All)
    }

    /// Drops the written bytes, so that the buffer does not grow with a socket that always takes only a part.
    fn compact(&mut self) {
        if self.written > self.out.len() / 2 {
            self.before += self.written as u64;
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// Reads once, and calls `answered` with every request that this answers, the answer and the time.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        clock: &impl Clock,
        mut answered: impl FnMut(Pending, Reply<'_>, u64),
    ) -> Result<Took, Note> {
        let n = match self.stream.read(buffer) {
            Ok(0) => return Ok(Took::End),
            Ok(n) => n,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(Took::Nothing);
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(Took::End),
            Err(error) => return Err(says::reading_failed(&error.to_string())),
        };
        let at = clock.now();
        let (pending, sent) = (&mut self.pending, self.unsent);
        let mut unasked = false;
        let fed = self.parser.feed(&buffer[..n], |reply| {
            // A request that was not sent cannot be answered.
            match if pending.len() > sent { pending.pop_front() } else { None } {
                Some(request) => answered(request, reply, at),
                None => unasked = true,
            }
        });
        match fed {
            Err(garbage) => Err(says::tenant_unreadable(&garbage.to_string())),
            Ok(()) if unasked => Err(says::tenant_unasked()),
            Ok(()) => Ok(Took::Bytes { at }),
        }
    }
}
