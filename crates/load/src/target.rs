//! Servers: their addresses, connections to them, and the first words on each.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tiermark_model::Refusal;
use tiermark_model::messages::load as says;

use crate::resp::{self, Parser, Reply, shown};

/// Redis's default port.
const PORT: u16 = 6379;

/// Bytes of an answer to a single command that are kept: the longest, that of INFO, has some thousand.
const LONGEST_ANSWER: usize = 1 << 20;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// A unix socket.
    Unix(PathBuf),
}

/// A server: one tenant.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// The name to authenticate with, of servers that have several (Redis 6 and later).
    pub user: Option<String>,
    /// The password to authenticate with.
    pub password: Option<String>,
    /// Its number among all tenants of an experiment, from which its keys and values are drawn; `None`: its place in the list. Tenants
    /// that are filled in separate calls need one, or they hold the same values.
    pub number: Option<u64>,
}

impl Target {
    /// A server that wants no password.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self { address, user: None, password: None, number: None }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A printed target must not show its password.
        let password = self.password.as_ref().map(|_| "…");
        f.debug_struct("Target")
            .field("address", &self.address)
            .field("user", &self.user)
            .field("password", &password)
            .field("number", &self.number)
            .finish()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_prefix("unix:").or_else(|| text.starts_with('/').then_some(text));
        if let Some(path) = path {
            return if path.is_empty() {
                Err("the path of the socket is missing".into())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or("after ] comes :PORT")?)),
            // More than one colon without brackets is an IPv6 address alone.
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() || host.contains(['[', ']', '/']) {
            return Err("use host:port, [IPv6]:port, a path or unix:path".into());
        }
        let port = match port {
            None => PORT,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| format!("'{port}' is no port; use a number from 1 to 65535"))?,
        };
        Ok(Self::Tcp(host.to_owned(), port))
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Stream {
    fn open(address: &Address, timeout: Duration) -> io::Result<Self> {
        match address {
            Address::Unix(path) => unix(path, timeout).map(Self::Unix),
            Address::Tcp(host, port) => {
                let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, timeout) {
                        Ok(stream) => {
                            // A small command must not wait for the answer to the one before (Nagle's algorithm).
                            stream.set_nodelay(true)?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
            Self::Unix(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
        }
    }

    /// Makes reads and writes return at once.
    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
        }
    }
}

/// Connects to a unix socket. A blocking call would wait without a limit for a server that accepts nothing and whose queue is full.
fn unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    const POLL: Duration = Duration::from_millis(5);
    let asked = Instant::now();
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if asked.elapsed() < timeout => thread::sleep(POLL),
            Err(Errno::AGAIN) => return Err(ErrorKind::TimedOut.into()),
            Err(why) => return Err(why.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// A connection for single commands, each waited for.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    address: Address,
    timeout: Duration,
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

impl Client {
    /// Connects, authenticates and makes sure that a Redis server answers. No step takes longer than `timeout`.
    ///
    /// # Errors
    /// A [`Refusal`]: no server listens, wrong password, no Redis server, no answer, or still loading.
    pub fn connect(target: &Target, timeout: Duration) -> Result<Self, Refusal> {
        let address = target.address.clone();
        let stream = Stream::open(&address, timeout).map_err(|error| unreachable_server(&address, &error))?;
        stream.set_timeout(Some(timeout)).map_err(|error| broken(&address, &error))?;
        let mut client = Self { stream, address, timeout };
        if let Some(password) = &target.password {
            let mut words: Vec<&[u8]> = vec![b"AUTH"];
            words.extend(target.user.as_ref().map(String::as_bytes));
            words.push(password.as_bytes());
            if let Answer::Error(text) = client.ask(&words)? {
                return Err(client.refused(says::password_refused, &text));
            }
        }
        match client.ask(&[b"PING"])? {
            Answer::Text(text) if text.eq_ignore_ascii_case(b"PONG") => Ok(client),
            Answer::Error(text) if text.starts_with("NOAUTH") => Err(client.refused(says::password_missing, &text)),
            Answer::Error(text) if text.starts_with("LOADING") => Err(client.refused(says::server_loading, &text)),
            Answer::Error(text) => Err(client.refused(says::server_refuses, &text)),
            other => Err(client.refused(says::server_of_another_kind, &format!("{other:?}"))),
        }
    }

    /// Sends one command and waits for its answer.
    ///
    /// # Errors
    /// A [`Refusal`] when the connection breaks, nothing comes in time, or what comes is not the protocol.
    pub fn ask(&mut self, words: &[&[u8]]) -> Result<Answer, Refusal> {
        self.stream.write_all(&resp::request(words)).map_err(|error| broken(&self.address, &error))?;
        let (mut parser, mut answer) = (Parser::new(LONGEST_ANSWER), None);
        let mut buffer = [0u8; 4096];
        let asked = Instant::now();
        while answer.is_none() {
            // A server that sends a byte now and then never lets a single read time out.
            if asked.elapsed() > self.timeout {
                return Err(broken(&self.address, &ErrorKind::TimedOut.into()));
            }
            let n = match self.stream.read(&mut buffer) {
                Ok(0) => return Err(broken(&self.address, &ErrorKind::UnexpectedEof.into())),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(&self.address, &error)),
            };
            parser
                .feed(&buffer[..n], |reply| answer = Some(owned(reply)))
                .map_err(|garbage| says::answer_unreadable(&self.address.to_string(), &garbage.to_string()))?;
        }
        answer.ok_or_else(|| broken(&self.address, &ErrorKind::UnexpectedEof.into()))
    }

    /// The connection, for many commands at once.
    pub(crate) fn into_stream(self) -> io::Result<Stream> {
        self.stream.set_timeout(None)?;
        self.stream.set_nonblocking()?;
        Ok(self.stream)
    }

    fn refused(&self, message: fn(&str, &str) -> Refusal, answer: &str) -> Refusal {
        message(&self.address.to_string(), &shown(answer.as_bytes()))
    }
}

fn owned(reply: Reply<'_>) -> Answer {
    match reply {
        Reply::Simple(text) | Reply::Bulk(text) => Answer::Text(text.to_vec()),
        Reply::Integer(number) => Answer::Integer(number),
        Reply::Nil => Answer::Nil,
        Reply::Error(text) => Answer::Error(shown(text)),
    }
}

fn unreachable_server(address: &Address, error: &io::Error) -> Refusal {
    let address = address.to_string();
    match error.kind() {
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
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => says::server_hung_up(&address),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => says::server_answers_nothing(&address),
        _ => says::connection_failed(&address, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let tcp = |host: &str, port| Ok(Address::Tcp(host.into(), port));
        for (text, expected) in [
            ("localhost", tcp("localhost", 6379)),
            ("10.0.0.1:7000", tcp("10.0.0.1", 7000)),
            ("[::1]:7000", tcp("::1", 7000)),
            ("[::1]", tcp("::1", 6379)),
            ("fe80::1", tcp("fe80::1", 6379)),
            ("/run/redis.sock", Ok(Address::Unix("/run/redis.sock".into()))),
            ("unix:here.sock", Ok(Address::Unix("here.sock".into()))),
        ] {
            assert_eq!(text.parse::<Address>(), expected, "{text}");
        }
        for bad in ["", ":6379", "host:", "host:0", "host:65536", "host:x", "unix:", "[::1]x"] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_server_that_accepts_nothing_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full");
        // Its queue takes one connection more than its length.
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        let first = unix(&path, Duration::from_secs(600)).unwrap();
        let late = unix(&path, Duration::from_millis(50)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        drop((first, socket));
        assert_eq!(unix(&path, Duration::from_secs(600)).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_password_is_never_shown() {
        let target = Target { password: Some("secret".into()), ..Target::new(Address::Tcp("h".into(), 1)) };
        assert!(!format!("{target:?}").contains("secret"));
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_back(text in ".{0,30}") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
            }
        }
    }
}
