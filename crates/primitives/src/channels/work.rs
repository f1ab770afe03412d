//! The work over a channel: bytes in a stream, a byte there and back.

use rustix::io::Errno;
use tiermark_model::{KIB, MIB, Refusal};
use tiermark_system::os::Buffer;

use super::link::{self, CAPACITY, Inlet, Kind, Outlet, is_message};
use super::partner::Partner;
use crate::body::{Body, Order, Prepared};
use crate::failure::{Failure, refused_by};

/// First byte of what the caller sends, and of what the other side sends: a byte of one's own that came back would
/// show.
const THERE: u8 = 0x31;
const BACK: u8 = 0x72;

/// The error of a body about a partner or a call.
type Worded = Result<(), Failure>;

/// Large messages are counted in parts of so many bytes, that a shot need not be as long as several of them.
const PART: u64 = 4 * MIB;

/// The other side writes on and on, the caller reads. Bytes are counted once, when they are there.
struct Stream {
    inlet: Inlet,
    into: Buffer,
    partner: Partner,
    /// Bytes of an operation: the message, or one of its equal parts.
    part: usize,
    /// Bytes of the message that have come.
    done: usize,
    least: u64,
}

/// A byte to the other side, which answers with another one.
struct PingPong {
    inlet: Inlet,
    outlet: Outlet,
    partner: Partner,
}

/// A stream over a channel.
pub(super) fn stream(order: &Order<'_>, kind: Kind) -> Prepared {
    let (bytes, capacity) = (order.call.bytes.unwrap_or(CAPACITY), order.call.capacity.unwrap_or(CAPACITY));
    let (near, far) = link::open(kind, capacity, bytes)?;
    let (inlet, mut outlet) = (near.inlet, far.outlet);
    // One way only: what the other one held is closed on both sides.
    drop((near.outlet, far.inlet));
    let mut into = buffer(bytes)?;
    let partner = Partner::start(order, move |home| {
        outlet.fill(BACK);
        home.ready()?;
        loop {
            outlet.send()?;
        }
    })?;
    // Its pages are there before the clock runs, and are not shared with the child.
    into.fill(1);
    let part = if bytes > PART && bytes.is_multiple_of(PART) { PART } else { bytes };
    // A full channel is emptied in one go and filled in one go: a block has several of both.
    let least = (4 * held(kind, capacity)).div_ceil(part);
    tried(Stream { inlet, into, partner, part: part as usize, done: 0, least }, kind)
}

/// A body that has done its operation once: what the system forbids the other side shows then.
fn tried(mut body: impl Body + 'static, kind: Kind) -> Prepared {
    let (what, cure) = kind.refusal();
    body.run(1).map_err(|failure| refused_by(what, failure, cure))?;
    Ok(Box::new(body))
}

/// About what a channel holds, bytes.
fn held(kind: Kind, capacity: u64) -> u64 {
    match kind {
        Kind::Pipe | Kind::Ring => capacity,
        // The default of net.core.wmem_default.
        Kind::Unix => 208 * KIB,
        // Its buffers grow as it goes.
        Kind::Tcp => MIB,
        // Nothing streams over it: a datagram is dropped where a stream would wait.
        Kind::Udp => 0,
    }
}

/// A byte there and back.
pub(super) fn ping_pong(order: &Order<'_>, kind: Kind) -> Prepared {
    let (near, far) = link::open(kind, CAPACITY, 1)?;
    let partner = Partner::start(order, move |home| {
        let (mut inlet, mut outlet) = (far.inlet, far.outlet);
        outlet.fill(BACK);
        home.ready()?;
        loop {
            let mut got = [0u8; 1];
            match inlet.receive(&mut got) {
                Ok(1) if got == [THERE] => outlet.send()?,
                Ok(0) => return Err(Errno::PIPE),
                Ok(_) => return Err(Errno::BADMSG),
                Err(Errno::INTR | Errno::TIMEDOUT) => {}
                Err(error) => return Err(error),
            }
        }
    })?;
    let (inlet, mut outlet) = (near.inlet, near.outlet);
    outlet.fill(THERE);
    tried(PingPong { inlet, outlet, partner }, kind)
}

fn buffer(bytes: u64) -> Result<Buffer, Refusal> {
    Buffer::map(bytes as usize).map_err(|e| refused_by("memory for a message", e, "allow more (ulimit -v)"))
}

/// Receives so many bytes, in as many pieces as they come.
fn all(inlet: &mut Inlet, into: &mut [u8], partner: &mut Partner) -> Worded {
    let mut done = 0;
    while done < into.len() {
        match inlet.receive(&mut into[done..]) {
            Ok(0) => return Err(partner.why().into()),
            Ok(n) => done += n,
            Err(Errno::INTR) => {}
            Err(Errno::TIMEDOUT) if !partner.gone() => {}
            Err(Errno::TIMEDOUT) => return Err(partner.why().into()),
            Err(error) => return Err(Failure::of("read")(error)),
        }
    }
    Ok(())
}

/// Checks that a message is the other side's, from its beginning to its end.
fn checked(message: &[u8]) -> Worded {
    if is_message(message, BACK) { Ok(()) } else { Err("the received bytes differ from the sent bytes".into()) }
}

impl Body for Stream {
    fn least(&self) -> u64 {
        self.least
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.part as u64)
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        for _ in 0..times {
            let part = &mut self.into[self.done..self.done + self.part];
            all(&mut self.inlet, part, &mut self.partner)?;
            self.done += self.part;
            if self.done == self.into.len() {
                checked(&self.into)?;
                self.done = 0;
            }
        }
        self.partner.moved();
        Ok(0)
    }
}

impl Body for PingPong {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        for _ in 0..times {
            if let Err(error) = self.outlet.send() {
                return Err(if self.partner.gone() { self.partner.why().into() } else { Failure::of("write")(error) });
            }
            let mut got = [0u8; 1];
            all(&mut self.inlet, &mut got, &mut self.partner)?;
            checked(&got)?;
        }
        self.partner.moved();
        Ok(0)
    }
}

#[cfg(test)]
mod tests;
