//! Servers: their addresses, and the first words on each connection.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::event::PollFlags;
use tiermark_model::Refusal;
use tiermark_model::messages::load as says;

use crate::address::Address;
use crate::resp::{self, Parser, Reply, shown};
use crate::stream::{LOOK_UP, Stream, Unopened, Wait};

/// Bytes of an answer to a single command that are kept: the longest, that of INFO, has some thousand.
const LONGEST_ANSWER: usize = 1 << 20;

/// A server: one tenant.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// The name of its host in an inventory.
    pub host: Option<String>,
    /// The name to authenticate with, of servers that have several (Redis 6 and later).
    pub user: Option<String>,
    /// The password to authenticate with.
    pub password: Option<String>,
    /// Its number among all tenants of an experiment, from which its keys and values are drawn; `None`: its place in
    /// the list. Tenants that are filled in separate calls need one, or they hold the same values.
    pub number: Option<u64>,
}

impl Target {
    /// A server that wants no password.
    pub fn new(address: Address) -> Self {
        Self { address, host: None, user: None, password: None, number: None }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A printed target must not show its password.
        let password = self.password.as_ref().map(|_| "…");
        f.debug_struct("Target")
            .field("address", &self.address)
            .field("host", &self.host)
            .field("user", &self.user)
            .field("password", &password)
            .field("number", &self.number)
            .finish()
    }
}

/// A connection for single commands, each waited for.
#[derive(Debug)]
pub struct Client<'a> {
    stream: Stream,
    address: Address,
    timeout: Duration,
    stop: &'a AtomicBool,
}

/// The answer to a single command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Text: a simple string, or a string of bytes.
    Text(Vec<u8>),
    /// A whole number.
    Integer(i64),
    /// No such key.
    Nil,
    /// The server refuses, in its own words.
    Error(String),
}

impl<'a> Client<'a> {
    /// Connects, authenticates and makes sure that a Redis server answers. No step takes longer than `timeout`; all of
    /// them end within a quarter of a second once `stop` is set. The look-up of a host's name takes 6 s at most.
    ///
    /// # Errors
    /// A [`Refusal`] that tells which: no address of this name, nobody listens, wrong password, no Redis server, no
    /// answer, still loading, stopped.
    pub fn connect(target: &Target, timeout: Duration, stop: &'a AtomicBool) -> Result<Self, Refusal> {
        let address = target.address.clone();
        let stream = Stream::open(&address, timeout, stop).map_err(|error| unreachable_server(&address, &error))?;
        let mut client = Self { stream, address, timeout, stop };
        if let Some(password) = &target.password {
            let mut words: Vec<&[u8]> = vec![b"AUTH"];
            words.extend(target.user.as_ref().map(String::as_bytes));
            words.push(password.as_bytes());
            match client.ask(&words)? {
                // A server in protected mode, and one with too many clients, refuse whatever they are asked.
                Answer::Error(text) if is_error(&text, "DENIED") || text.starts_with("ERR max number of clients") => {
                    return Err(client.refused(says::server_refuses, &text));
                }
                Answer::Error(text) => return Err(client.refused(says::password_refused, &text)),
                _ => {}
            }
        }
        match client.ask(&[b"PING"])? {
            Answer::Text(text) if text.eq_ignore_ascii_case(b"PONG") => Ok(client),
            Answer::Error(text) if is_error(&text, "NOAUTH") => Err(client.refused(says::password_missing, &text)),
            Answer::Error(text) => Err(client.refused(says::server_refuses, &text)),
            other => Err(client.refused(says::server_of_another_kind, &format!("{other:?}"))),
        }
    }

    /// Sends one command and waits for its answer.
    ///
    /// # Errors
    /// A [`Refusal`] when the connection breaks, nothing comes in time, what comes is not the protocol, or it is
    /// stopped.
    pub fn ask(&mut self, words: &[&[u8]]) -> Result<Answer, Refusal> {
        // One limit for the whole of it: a server that sends a byte now and then never lets a single read time out.
        let wait = Wait::begin(self.timeout, self.stop);
        self.send(&resp::request(words), &wait).map_err(|error| broken(&self.address, &error))?;
        let (mut parser, mut answer) = (Parser::new(LONGEST_ANSWER), None);
        let mut buffer = [0u8; 4096];
        while answer.is_none() {
            let n = self.receive(&mut buffer, &wait).map_err(|error| broken(&self.address, &error))?;
            parser
                .feed(&buffer[..n], |reply| answer = Some(owned(reply)))
                .map_err(|garbage| says::answer_unreadable(&self.address.to_string(), &garbage.to_string()))?;
        }
        answer.ok_or_else(|| broken(&self.address, &ErrorKind::UnexpectedEof.into()))
    }

    fn send(&mut self, mut bytes: &[u8], wait: &Wait<'_>) -> io::Result<()> {
        while !bytes.is_empty() {
            wait.until_ready(&self.stream, PollFlags::OUT)?;
            match self.stream.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Bytes that came; at least one.
    fn receive(&mut self, buffer: &mut [u8], wait: &Wait<'_>) -> io::Result<usize> {
        loop {
            wait.until_ready(&self.stream, PollFlags::IN)?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if is_passing(&error) => {}
                other => return other,
            }
        }
    }

    /// The connection, for many commands at once; its reads and writes return at once.
    pub(crate) fn into_stream(self) -> Stream {
        self.stream
    }

    fn refused(&self, message: fn(&str, &str) -> Refusal, answer: &str) -> Refusal {
        message(&self.address.to_string(), &shown(answer.as_bytes()))
    }
}

/// Whether an error has this code, its first word.
fn is_error(text: &str, code: &str) -> bool {
    text.split(' ').next() == Some(code)
}

/// Whether a read or write that returned at once may go through the next time.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn owned(reply: Reply<'_>) -> Answer {
    match reply {
        Reply::Simple(text) | Reply::Bulk(text) => Answer::Text(text.to_vec()),
        Reply::Integer(number) => Answer::Integer(number),
        Reply::Nil => Answer::Nil,
        Reply::Error(text) => Answer::Error(shown(text)),
    }
}

fn unreachable_server(address: &Address, error: &Unopened) -> Refusal {
    let address = address.to_string();
    let error = match error {
        Unopened::Name(error) if error.kind() == ErrorKind::TimedOut => {
            return says::name_unanswered(&address, LOOK_UP.as_secs());
        }
        Unopened::Name(error) | Unopened::Connection(error) => error,
    };
    match error.kind() {
        ErrorKind::Interrupted => says::load_stopped(),
        ErrorKind::ConnectionRefused => says::nobody_listens(&address),
        ErrorKind::TimedOut => says::connecting_timed_out(&address),
        ErrorKind::NotFound => says::address_unknown(&address),
        // EMFILE has no kind of its own.
        _ if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            says::open_files_exhausted(&address)
        }
        _ => says::connecting_failed(&address, &error.to_string()),
    }
}

fn broken(address: &Address, error: &io::Error) -> Refusal {
    let address = address.to_string();
    match error.kind() {
        ErrorKind::Interrupted => says::load_stopped(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => says::server_hung_up(&address),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => says::server_answers_nothing(&address),
        _ => says::connection_failed(&address, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolver_that_says_nothing_is_told_from_a_host_that_does_not_answer() {
        use tiermark_model::messages::load::codes;
        let host = Address::Tcp("redis.internal".into(), 6379);
        let code = |error: Unopened| unreachable_server(&host, &error).code;
        assert_eq!(code(Unopened::Name(ErrorKind::TimedOut.into())), codes::name_unanswered);
        assert_eq!(code(Unopened::Connection(ErrorKind::TimedOut.into())), codes::connecting_timed_out);
        assert_eq!(code(Unopened::Name(ErrorKind::Interrupted.into())), codes::load_stopped);
    }

    #[test]
    fn a_password_is_never_shown() {
        let target = Target { password: Some("secret".into()), ..Target::new(Address::Tcp("h".into(), 1)) };
        assert!(!format!("{target:?}").contains("secret"));
    }
}
