//! A server that answers at once, for measuring the load generator itself: `instant [PORT | /PATH]` prints the port or
//! the path of the socket it listens on and serves until it is killed. It understands arrays of strings as Redis does,
//! answers GETs with the same 16 bytes and everything else with OK.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, read, write};

const LISTENER: u64 = u64::MAX;

/// A connection and what came of its last command so far.
struct Served {
    socket: OwnedFd,
    held: Vec<u8>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn bind(place: &str) -> io::Result<Self> {
        let listener = if place.starts_with('/') {
            writeln!(io::stdout(), "{place}")?;
            Self::Unix(UnixListener::bind(place)?)
        } else {
            let listener = TcpListener::bind(("127.0.0.1", place.parse().map_err(io::Error::other)?))?;
            writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
            Self::Tcp(listener)
        };
        rustix::io::ioctl_fionbio(&listener, true)?;
        Ok(listener)
    }

    /// A connection that never blocks.
    fn accept(&self) -> io::Result<OwnedFd> {
        let socket: OwnedFd = match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                stream.into()
            }
            Self::Unix(listener) => listener.accept()?.0.into(),
        };
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(socket)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

fn main() -> io::Result<()> {
    let place = std::env::args().nth(1).unwrap_or_else(|| "0".into());
    let listener = Listener::bind(&place)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut served: HashMap<u64, Served> = HashMap::new();
    let (mut number, mut buffer, mut out) = (0, vec![0u8; 1 << 16], Vec::new());
    loop {
        let mut events = Vec::with_capacity(256);
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in events {
            let token = event.data.u64();
            if token == LISTENER {
                while let Ok(socket) = listener.accept() {
                    epoll::add(&epoll, &socket, EventData::new_u64(number), EventFlags::IN)?;
                    served.insert(number, Served { socket, held: Vec::new() });
                    number += 1;
                }
            } else if let Some(one) = served.get_mut(&token)
                && !serve(one, &mut buffer, &mut out)
            {
                served.remove(&token);
            }
        }
    }
}

/// Answers what came; `false` once the other side is gone.
fn serve(one: &mut Served, buffer: &mut [u8], out: &mut Vec<u8>) -> bool {
    let n = match read(&one.socket, &mut *buffer) {
        Ok(0) => return false,
        Ok(n) => n,
        Err(error) => return error == Errno::AGAIN,
    };
    out.clear();
    let whole = if one.held.is_empty() {
        answer(&buffer[..n], out)
    } else {
        one.held.extend_from_slice(&buffer[..n]);
        let whole = answer(&one.held, out);
        one.held.drain(..whole);
        n
    };
    one.held.extend_from_slice(&buffer[whole.min(n)..n]);
    // Its clients read what they asked for, so that the socket has room for all of it or they are gone.
    write(&one.socket, out) == Ok(out.len())
}

/// Appends the answers to all whole commands, and returns how many bytes those took.
fn answer(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some((length, first)) = command(&bytes[at..]) {
        out.extend_from_slice(match first {
            b'G' => b"$16\r\n0123456789abcdef\r\n",
            b'P' => b"+PONG\r\n",
            _ => b"+OK\r\n",
        });
        at += length;
    }
    at
}

/// The length of a whole command and the first letter of its name.
fn command(bytes: &[u8]) -> Option<(usize, u8)> {
    let (words, mut at) = number(bytes, 0)?;
    let mut first = 0;
    for word in 0..words {
        let (length, from) = number(bytes, at)?;
        if word == 0 {
            first = *bytes.get(from)?;
        }
        at = from + length + 2;
    }
    (at <= bytes.len()).then_some((at, first))
}

/// The number of a line that begins at a place with a kind, and where the next line begins.
fn number(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut number = 0;
    for (i, byte) in bytes.get(from + 1..)?.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            _ => return bytes.get(from + i + 2).map(|_| (number, from + i + 3)),
        }
    }
    None
}
