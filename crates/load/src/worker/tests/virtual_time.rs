//! A virtual clock, and servers that follow it on the other ends of real sockets.
//!
//! Client and servers share a thread. Time stands still while the client works and goes on only when it waits: to what
//! a server does next, or to the end of the wait. How busy the machine is does not show.

use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::commands::command;
use crate::clock::{self, Clock, Event};
use crate::stream::Stream;

/// What a look that finds nothing costs, ns: a client that looks again and again comes to its end.
const GLANCE: u64 = 1_000;
/// Things that servers do within one wait, at most.
const STEPS: usize = 1_000_000;

/// How a server answers a command.
pub(super) struct Reply {
    /// How long it works on it, ns. It does nothing else meanwhile, and reads nothing.
    pub(super) takes: u64,
    /// What it writes then; `None` closes the connection.
    pub(super) bytes: Option<Vec<u8>>,
}

impl Reply {
    /// What Redis answers, after `takes` ns.
    pub(super) fn polite(words: &[Vec<u8>], takes: u64) -> Self {
        let bytes: &[u8] = if words[0] == b"GET" { b"$4\r\nabcd\r\n" } else { b"+OK\r\n" };
        Self { takes, bytes: Some(bytes.to_vec()) }
    }
}

/// Decides the reply to a command, of its number and its words.
type Answer = dyn FnMut(u64, &[Vec<u8>]) -> Reply;

/// A server of one connection.
pub(super) struct Server {
    /// `None` once it has closed it.
    socket: Option<UnixStream>,
    answer: Box<Answer>,
    /// Commands that it has begun.
    begun: u64,
    read: Vec<u8>,
    /// When it is done with the command that it works on, ns, and what it writes then.
    work: Option<(u64, Option<Vec<u8>>)>,
}

impl Server {
    /// A server, and the client's end of its connection. `answer` gets the number of each command, from 1, and its
    /// words.
    pub(super) fn new(answer: impl FnMut(u64, &[Vec<u8>]) -> Reply + 'static) -> (Self, Stream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let answer = Box::new(answer);
        (Self { socket: Some(ours), answer, begun: 0, read: Vec::new(), work: None }, Stream::Unix(theirs))
    }

    /// Does what is due at `now`. Returns when its longer work is done; `None` where it waits for a request.
    fn go_on(&mut self, now: u64) -> Option<u64> {
        loop {
            if let Some((_, bytes)) = self.work.take_if(|(done, _)| *done <= now) {
                self.write(bytes);
            }
            if let Some((done, _)) = &self.work {
                return Some(*done);
            }
            let words = self.next_command()?;
            self.begun += 1;
            let reply = (self.answer)(self.begun, &words);
            self.work = Some((now + reply.takes, reply.bytes));
        }
    }

    fn write(&mut self, bytes: Option<Vec<u8>>) {
        match (bytes, &mut self.socket) {
            // Answers are small: all that are under way find room in the socket. The client may have closed it.
            (Some(bytes), Some(socket)) => {
                assert!(socket.write(&bytes).is_ok_and(|n| n == bytes.len()) || is_closed(socket));
            }
            _ => self.socket = None,
        }
    }

    fn next_command(&mut self) -> Option<Vec<Vec<u8>>> {
        let mut buffer = [0; 64 << 10];
        loop {
            if let Some((words, length)) = command(&self.read) {
                self.read.drain(..length);
                return Some(words);
            }
            match self.socket.as_mut()?.read(&mut buffer) {
                Ok(0) => self.socket = None,
                Ok(n) => self.read.extend_from_slice(&buffer[..n]),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionReset), "{error}");
                    return None;
                }
            }
        }
    }
}

fn is_closed(socket: &mut UnixStream) -> bool {
    matches!(socket.read(&mut [0]), Ok(0))
}

/// The clock, the servers, and when the client does not get to run.
pub(super) struct Virtual {
    pub(super) now: u64,
    pub(super) servers: Vec<Server>,
    /// On the clock, in order.
    pub(super) away: Vec<Range<u64>>,
}

impl Virtual {
    /// Lets time go on to `until`, or to what a server does before.
    fn go_on(&mut self, until: u64) {
        let next = self.serve();
        self.now = next.unwrap_or(until).min(until);
        self.serve();
    }

    /// What servers do now. When the first is done with what takes longer.
    fn serve(&mut self) -> Option<u64> {
        self.servers.iter_mut().filter_map(|server| server.go_on(self.now)).min()
    }
}

impl Clock for Virtual {
    fn now(&self) -> u64 {
        self.now
    }

    fn wait(&mut self, epoll: &OwnedFd, events: &mut Vec<Event>, until: Option<u64>) -> std::io::Result<()> {
        let until = until.unwrap_or(self.now + GLANCE);
        for _ in 0..STEPS {
            if let Some(away) = self.away.iter().find(|away| away.contains(&self.now)).cloned() {
                self.go_on(away.end);
                continue;
            }
            self.serve();
            clock::look(epoll, events, false)?;
            if !events.is_empty() || self.now >= until {
                return Ok(());
            }
            // It does not wake in the middle of being away.
            let absent = self.away.iter().map(|away| away.start).find(|start| *start > self.now);
            self.go_on(until.min(absent.unwrap_or(u64::MAX)));
        }
        panic!("no end of what servers do before {until} ns");
    }
}
