//! Connections to servers, whose every wait has an end: a limit of time, or somebody who wants to stop.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::address::Address;

/// How often a wait looks whether it is to stop.
const SLICE: Duration = Duration::from_millis(250);
/// How often a unix socket is tried whose queue is full: no file tells when it has room.
const RETRY: Duration = Duration::from_millis(5);
/// Longest look-up of a name. The system's resolver asks again 5 s after a question that got lost (resolv.conf), and
/// gives up after 30 s if no name server answers.
pub(crate) const LOOK_UP: Duration = Duration::from_secs(6);

/// A wait that has begun: it ends after some time, or when it is to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait<'a> {
    begun: Instant,
    most: Duration,
    stop: &'a AtomicBool,
}

impl<'a> Wait<'a> {
    pub(crate) fn begin(most: Duration, stop: &'a AtomicBool) -> Self {
        Self { begun: Instant::now(), most, stop }
    }

    /// The time until the next look; at most what is left.
    ///
    /// # Errors
    /// `TimedOut` after its time, and `Interrupted` when it is to stop: signals interrupt nothing else here.
    fn slice(&self) -> io::Result<Duration> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        let left = self.most.saturating_sub(self.begun.elapsed());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.min(SLICE)) }
    }

    /// Waits until a file can be read from or written to, or has failed.
    ///
    /// # Errors
    /// As [`Wait::slice`], and what the system says.
    pub(crate) fn until_ready(&self, file: &impl AsFd, flags: PollFlags) -> io::Result<()> {
        loop {
            let slice = self.slice()?;
            let timeout = Timespec { tv_sec: slice.as_secs() as i64, tv_nsec: i64::from(slice.subsec_nanos()) };
            match poll(&mut [PollFd::new(file, flags)], Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(why) => return Err(why.into()),
            }
        }
    }
}

/// An open connection, whose reads and writes return at once.
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
    /// Connects, to each of a host's addresses in turn; each may take `timeout`.
    pub(crate) fn open(address: &Address, timeout: Duration, stop: &AtomicBool) -> Result<Self, Unopened> {
        match address {
            Address::Unix(path) => Ok(unix(path, &Wait::begin(timeout, stop)).map(Self::Unix)?),
            Address::Tcp(host, port) => {
                let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
                for address in addresses(host, *port, stop).map_err(Unopened::Name)? {
                    match tcp(&address, &Wait::begin(timeout, stop)) {
                        Ok(stream) => return Ok(Self::Tcp(stream)),
                        Err(error) => last = error,
                    }
                }
                Err(last.into())
            }
        }
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Unopened {
    /// The look-up of the host's name: as [`Wait::slice`], and what the system's resolver says.
    Name(io::Error),
    /// The connection: as [`Wait::slice`], and what the system says of the last address.
    Connection(io::Error),
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// The addresses of a host.
fn addresses(host: &str, port: u16, stop: &AtomicBool) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let named = (host.to_owned(), port);
    looked_up(move || Ok(named.to_socket_addrs()?.collect()), &Wait::begin(LOOK_UP, stop))
}

/// What a look-up finds. Nothing interrupts the system's resolver, so it has a thread of its own, which is left alone
/// when the wait ends before it.
///
/// # Errors
/// As [`Wait::slice`], and those of the look-up.
fn looked_up<T: Send + 'static>(
    look_up: impl FnOnce() -> io::Result<T> + Send + 'static,
    wait: &Wait<'_>,
) -> io::Result<T> {
    let (send, found) = mpsc::channel();
    // Nobody receives it once the wait has ended.
    thread::Builder::new().name("look-up".into()).spawn(move || drop(send.send(look_up())))?;
    loop {
        match found.recv_timeout(wait.slice()?) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the look-up of the name ended")),
        }
    }
}

fn tcp(address: &SocketAddr, wait: &Wait<'_>) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let stream = TcpStream::from(connected(family, address, wait)?);
    // A small command must not wait for the answer to the one before (Nagle's algorithm).
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn unix(path: &Path, wait: &Wait<'_>) -> io::Result<UnixStream> {
    connected(AddressFamily::UNIX, &SocketAddrUnix::new(path)?, wait).map(UnixStream::from)
}

/// A socket that is connected. A blocking call would wait for minutes, or without a limit for a unix socket whose
/// server accepts nothing.
fn connected(family: AddressFamily, address: &impl SocketAddrArg, wait: &Wait<'_>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    loop {
        wait.slice()?;
        match connect(&socket, address) {
            Ok(()) | Err(Errno::ISCONN) => return Ok(socket),
            Err(Errno::AGAIN) => thread::sleep(RETRY),
            // The attempt goes on, after a signal too.
            Err(Errno::INPROGRESS | Errno::INTR) => break,
            Err(why) => return Err(why.into()),
        }
    }
    wait.until_ready(&socket, PollFlags::OUT)?;
    sockopt::socket_error(&socket)??;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::net::{bind, listen};

    use super::*;

    /// Long enough that a test which waits for it is seen to hang.
    const HOUR: Duration = Duration::from_secs(3600);

    /// A unix socket whose queue holds one connection, and that nobody accepts from.
    fn full(path: &Path) -> OwnedFd {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        listen(&socket, 0).unwrap();
        socket
    }

    #[test]
    fn a_server_that_accepts_nothing_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full");
        let (socket, goes_on) = (full(&path), AtomicBool::new(false));
        let first = unix(&path, &Wait::begin(HOUR, &goes_on)).unwrap();
        let late = unix(&path, &Wait::begin(Duration::from_millis(50), &goes_on)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        drop((first, socket));
        assert_eq!(unix(&path, &Wait::begin(HOUR, &goes_on)).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }

    /// A resolver that says nothing until a test ends.
    fn silent_resolver() -> (mpsc::Sender<()>, impl FnOnce() -> io::Result<u8> + Send + 'static) {
        let (over, waits) = mpsc::channel::<()>();
        let blocks = move || {
            let _ = waits.recv();
            Ok(7)
        };
        (over, blocks)
    }

    #[test]
    fn a_resolver_that_says_nothing_is_not_waited_for() {
        let (goes_on, short) = (AtomicBool::new(false), Duration::from_millis(50));
        let (over, blocks) = silent_resolver();
        assert_eq!(looked_up(blocks, &Wait::begin(short, &goes_on)).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(over);
        let (over, answers) = silent_resolver();
        drop(over);
        assert_eq!(looked_up(answers, &Wait::begin(HOUR, &goes_on)).unwrap(), 7);
        let refuses = || Err::<u8, _>(ErrorKind::NotFound.into());
        assert_eq!(looked_up(refuses, &Wait::begin(HOUR, &goes_on)).unwrap_err().kind(), ErrorKind::NotFound);
        // Numbers need no resolver, so that they are found even by one that is to stop.
        let stopped = AtomicBool::new(true);
        assert_eq!(addresses("::1", 5, &stopped).unwrap(), ["[::1]:5".parse().unwrap()]);
        assert_eq!(addresses("name.invalid", 5, &stopped).unwrap_err().kind(), ErrorKind::Interrupted);
    }

    /// A signal that comes while a server is waited for: the wait of an hour ends, in whatever part of it.
    #[test]
    fn every_wait_ends_when_it_is_to_stop() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full");
        let (_socket, stop) = (full(&path), AtomicBool::new(false));
        let _first = unix(&path, &Wait::begin(HOUR, &stop)).unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = tcp(&silent.local_addr().unwrap(), &Wait::begin(HOUR, &stop)).map(|stream| (stream, silent));
        let (silent, _listener) = silent.unwrap();
        thread::scope(|scope| {
            let (_over, blocks) = silent_resolver();
            let look_up = scope.spawn(|| looked_up(blocks, &Wait::begin(HOUR, &stop)).map(drop));
            let waits = [
                look_up,
                scope.spawn(|| unix(&path, &Wait::begin(HOUR, &stop)).map(drop)),
                scope.spawn(|| Wait::begin(HOUR, &stop).until_ready(&silent, PollFlags::IN)),
            ];
            thread::sleep(Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
            for wait in waits {
                assert_eq!(wait.join().unwrap().unwrap_err().kind(), ErrorKind::Interrupted);
            }
        });
        assert_eq!(unix(&path, &Wait::begin(HOUR, &stop)).unwrap_err().kind(), ErrorKind::Interrupted);
    }
}
