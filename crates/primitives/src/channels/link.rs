//! The ways from one process to another, each with two ends that send and receive.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::PipeFlags;
use tiermark_model::{Bytes, KIB, Refusal};
use tiermark_system::os::{Buffer, Consumer, Producer, ring};

use crate::failure::{refused_by, unavailable};

/// Default capacity: that of a pipe.
pub(super) const CAPACITY: u64 = 64 * KIB;

/// How long a connection may take to be made.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// How bytes go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `write` and `read`.
    Pipe,
    /// A pair of Unix stream sockets.
    Unix,
    /// A TCP connection over the loopback interface.
    Tcp,
    /// Two UDP sockets, connected to each other over the loopback interface. A datagram that is lost does not come
    /// again.
    Udp,
    /// A ring in shared memory, with futexes.
    Ring,
}

/// One end of a channel that goes both ways.
#[derive(Debug)]
pub(super) struct End {
    pub(super) inlet: Inlet,
    pub(super) outlet: Outlet,
}

/// Where bytes arrive.
#[derive(Debug)]
pub(super) enum Inlet {
    File(Arc<OwnedFd>),
    Ring(Consumer),
}

/// Where a message leaves, again and again.
#[derive(Debug)]
pub(super) struct Outlet {
    way: Way,
    message: Buffer,
}

#[derive(Debug)]
enum Way {
    Write(Arc<OwnedFd>),
    Ring(Producer),
}

/// Opens a channel of so many bytes' capacity (pipes and rings) for messages of so many bytes.
///
/// # Errors
/// A [`Refusal`] when the system has none, or none of that capacity.
pub(super) fn open(kind: Kind, capacity: u64, bytes: u64) -> Result<(End, End), Refusal> {
    let refused = |why: std::io::Error| {
        let (what, cure) = kind.refusal();
        refused_by(what, &why, cure)
    };
    let end = |inlet: Inlet, way: Way| {
        let message = Buffer::map(bytes as usize).map_err(|e| refused(e.into()))?;
        Ok(End { inlet, outlet: Outlet { way, message } })
    };
    let file = |a: Arc<OwnedFd>| end(Inlet::File(Arc::clone(&a)), Way::Write(a));
    match kind {
        Kind::Unix => {
            let (near, far) = UnixStream::pair().map_err(refused)?;
            Ok((file(Arc::new(near.into()))?, file(Arc::new(far.into()))?))
        }
        Kind::Tcp => {
            let (near, far) = loopback().map_err(refused)?;
            // A lone byte must not wait for others (Nagle); a stream keeps the kernel's default.
            near.set_nodelay(bytes == 1).and_then(|()| far.set_nodelay(bytes == 1)).map_err(refused)?;
            Ok((file(Arc::new(near.into()))?, file(Arc::new(far.into()))?))
        }
        Kind::Udp => {
            let (near, far) = datagrams().map_err(refused)?;
            Ok((file(Arc::new(near.into()))?, file(Arc::new(far.into()))?))
        }
        Kind::Ring => {
            let one = || ring(capacity as usize).map_err(|e| refused(e.into()));
            let ((there, at_far), (back, at_near)) = (one()?, one()?);
            Ok((end(Inlet::Ring(at_near), Way::Ring(there))?, end(Inlet::Ring(at_far), Way::Ring(back))?))
        }
        Kind::Pipe => {
            let ((at_far, there), (at_near, back)) = (pipe(capacity)?, pipe(capacity)?);
            let both = |read: OwnedFd, write: OwnedFd| end(Inlet::File(Arc::new(read)), Way::Write(Arc::new(write)));
            Ok((both(at_near, there)?, both(at_far, back)?))
        }
    }
}

impl Kind {
    /// Name of a refused resource, and its cure.
    pub(super) fn refusal(self) -> (&'static str, &'static str) {
        match self {
            Self::Pipe => ("a pipe", "allow more open files (ulimit -n)"),
            Self::Unix => ("Unix stream sockets", "allow socketpair (seccomp profile) and more open files (ulimit -n)"),
            Self::Tcp => ("TCP over the loopback interface", "bring the interface up: ip link set lo up"),
            Self::Udp => ("UDP over the loopback interface", "bring the interface up: ip link set lo up"),
            Self::Ring => {
                ("a ring in shared memory", "allow more memory (ulimit -v); a ring holds a power of two of bytes")
            }
        }
    }
}

/// A pipe that holds so many bytes, no more and no less: its reading and its writing end.
fn pipe(capacity: u64) -> Result<(OwnedFd, OwnedFd), Refusal> {
    let what = || format!("a pipe that holds {}", Bytes(capacity));
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
        .map_err(|e| refused_by("a pipe", e, "allow more open files (ulimit -n)"))?;
    let set = rustix::pipe::fcntl_setpipe_size(&write, capacity as usize);
    let holds = set.and_then(|_| rustix::pipe::fcntl_getpipe_size(&write));
    match holds {
        Ok(holds) if holds as u64 == capacity => Ok((read, write)),
        Ok(holds) => {
            let why = format!("the kernel made it {}: whole pages, a power of two of them", Bytes(holds as u64));
            Err(unavailable(&what(), &why, "use another capacity"))
        }
        Err(error) => {
            let why = format!("F_SETPIPE_SZ: {error}");
            let cure =
                "raise /proc/sys/fs/pipe-max-size, or pipe-user-pages-soft where the user's other pipes hold that much";
            Err(unavailable(&what(), &why, cure))
        }
    }
}

/// Any free port of the loopback interface.
fn anywhere() -> [SocketAddr; 2] {
    [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()]
}

/// A socket that listens on the loopback interface.
pub(super) fn listener() -> std::io::Result<TcpListener> {
    TcpListener::bind(&anywhere()[..])
}

/// Two UDP sockets of which each takes datagrams of the other only. Who waits for one looks up after a second.
fn datagrams() -> std::io::Result<(UdpSocket, UdpSocket)> {
    let (near, far) = (UdpSocket::bind(&anywhere()[..])?, UdpSocket::bind(&anywhere()[..])?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    }
    Ok((near, far))
}

/// Both ends of a TCP connection over the loopback interface.
pub(crate) fn loopback() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = listener()?;
    let near = TcpStream::connect_timeout(&listener.local_addr()?, LIMIT)?;
    let own = near.local_addr()?;
    // The other end's connection is in the queue, or will be as soon as its last packet is processed; other connections
    // are refused.
    listener.set_nonblocking(true)?;
    let soon = Timespec { tv_sec: LIMIT.as_secs().cast_signed(), tv_nsec: 0 };
    loop {
        if retry_on_intr(|| poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&soon)))? == 0 {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let (far, from) = listener.accept()?;
        if from == own {
            far.set_nonblocking(false)?;
            return Ok((near, far));
        }
    }
}

impl Inlet {
    /// Receives some bytes: none when the other side has closed.
    ///
    /// # Errors
    /// `ETIMEDOUT` after a second without a byte, from a ring or a socket for datagrams.
    pub(super) fn receive(&mut self, into: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            // Only a socket with a limit says that there is nothing yet.
            Self::File(file) => rustix::io::read(&**file, into).map_err(|error| match error {
                Errno::AGAIN => Errno::TIMEDOUT,
                error => error,
            }),
            Self::Ring(ring) => ring.pull(into),
        }
    }
}

impl Outlet {
    /// Writes the message: `mark` in the first byte, and another one in the last. Called on the sender's cpu, so that
    /// the pages are near it.
    pub(super) fn fill(&mut self, mark: u8) {
        write_message(&mut self.message, mark);
    }

    /// Sends the whole message, in as many pieces as the channel takes it.
    pub(super) fn send(&mut self) -> rustix::io::Result<()> {
        let mut done = 0;
        while done < self.message.len() {
            match self.some(done) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(n) => done += n,
                // A ring that stays full: the other side takes its time between two shots.
                Err(Errno::INTR | Errno::TIMEDOUT) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends some of the message, from this byte on.
    fn some(&mut self, from: usize) -> rustix::io::Result<usize> {
        let rest = &self.message[from..];
        match &mut self.way {
            Way::Write(file) => rustix::io::write(&**file, rest),
            Way::Ring(ring) => ring.push(rest),
        }
    }
}

/// Writes a message: every page of it, the mark first, its opposite last.
pub(super) fn write_message(message: &mut [u8], mark: u8) {
    message.fill(0x5a);
    if let [.., last] = message {
        *last = !mark;
    }
    if let [first, ..] = message {
        *first = mark;
    }
}

/// Whether these bytes are one whole message: a stream out of step shows other bytes at the ends.
pub(super) fn is_message(bytes: &[u8], mark: u8) -> bool {
    match bytes {
        [first, .., last] => *first == mark && *last == !mark,
        [only] => *only == mark,
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 4] = [Kind::Pipe, Kind::Unix, Kind::Tcp, Kind::Ring];

    /// What arrives of `times` messages, read in pieces of so many bytes, until the sender has closed.
    fn arrived(kind: Kind, message: &[u8], times: usize, piece: usize) -> Vec<u8> {
        let (near, far) = open(kind, 4096, message.len() as u64).unwrap();
        let (mut inlet, mut outlet) = (near.inlet, far.outlet);
        drop((near.outlet, far.inlet));
        outlet.message.copy_from_slice(message);
        let sender = std::thread::spawn(move || (0..times).for_each(|_| outlet.send().unwrap()));
        let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
        // A ring has no end mark: the sent bytes are counted.
        while all.len() < times * message.len() || kind != Kind::Ring {
            match inlet.receive(&mut buffer) {
                Ok(0) => break,
                Ok(n) => all.extend_from_slice(&buffer[..n]),
                Err(error) => panic!("{kind:?}: {error}"),
            }
        }
        sender.join().unwrap();
        all
    }

    #[test]
    fn messages_larger_than_the_channel_arrive_once_and_in_order() {
        // Larger than a pipe of a page by far, so that writes are partial; no power of two, so that pieces fall across
        // messages.
        let message: Vec<u8> = (0..300_001u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for kind in KINDS {
            let all = arrived(kind, &message, 3, 10_007);
            assert_eq!(all.len(), 3 * message.len(), "{kind:?}");
            assert!(all.chunks(message.len()).all(|got| got == message), "{kind:?}");
        }
    }

    #[test]
    fn a_filled_outlet_sends_messages_that_are_told_from_others() {
        for kind in KINDS {
            let (near, far) = open(kind, 4096, 5_000).unwrap();
            let (mut inlet, mut outlet) = (near.inlet, far.outlet);
            let sender = std::thread::spawn(move || {
                outlet.fill(7);
                outlet.send().unwrap();
            });
            let mut got = vec![0; 5_000];
            let mut done = 0;
            while done < got.len() {
                done += inlet.receive(&mut got[done..]).unwrap();
            }
            sender.join().unwrap();
            assert!(is_message(&got, 7) && !is_message(&got, 8), "{kind:?}");
            got.rotate_left(1);
            assert!(!is_message(&got, 7), "a stream out of step");
        }
    }

    #[test]
    fn a_datagram_comes_over_and_waiting_for_none_ends() {
        let (mut near, mut far) = open(Kind::Udp, 1, 1).unwrap();
        near.outlet.fill(7);
        near.outlet.send().unwrap();
        let mut got = [0u8; 2];
        assert_eq!((far.inlet.receive(&mut got), got), (Ok(1), [7, 0]));
        assert_eq!(far.inlet.receive(&mut got), Err(Errno::TIMEDOUT));
    }

    #[test]
    fn a_pipe_that_cannot_hold_what_is_asked_for_is_refused() {
        let rounded = open(Kind::Pipe, 12 << 10, 1).unwrap_err();
        assert!(rounded.why.contains("power of two"), "{rounded}");
        let large = open(Kind::Pipe, 1 << 40, 1).unwrap_err();
        assert!(large.what.contains("TiB") && large.cure.contains("pipe-max-size"), "{large}");
        assert!(open(Kind::Ring, 12 << 10, 1).unwrap_err().cure.contains("power of two"));
    }
}
