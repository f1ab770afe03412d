//! Bytes from one process to another.

mod connect;
mod link;
mod partner;
mod work;

use tiermark_model::{KIB, MIB, Machine, OsGroup, Sweep};

use crate::body::{Make, Primitive};
pub(super) use link::loopback;
use link::{CAPACITY, Kind};
use work::{ping_pong, stream};

/// A stream of blocks.
const fn bandwidth(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Channels, id, text, make).bandwidth().over(blocks)
}

/// A byte there and back.
const fn latency(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Channels, id, text, make).over(|_| vec![Sweep::Partner])
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    bandwidth(
        "pipe",
        "a child process writes blocks, and this process reads blocks of the same size. The kernel copies each \
         byte in and out; the byte counts once, when it is read, however many pieces a block arrives in. The \
         capacity of the pipe is set (F_SETPIPE_SZ). Neither side reads the contents. Each side reuses one block, \
         so small blocks stay in the caches of its cpu. If each side waits until the other has finished, the rate \
         is that of wake-ups: an idle cpu of a guest takes tens of µs to wake",
        |order| stream(order, Kind::Pipe),
    )
    .over(pipe_sweeps),
    bandwidth(
        "socketpair",
        "Unix stream sockets (socketpair) with buffers of the default size: like the pipe, through a socket queue",
        |order| stream(order, Kind::Unix),
    ),
    bandwidth(
        "tcp loopback",
        "one TCP connection over the loopback interface, with the kernel's default buffers and Nagle's algorithm: \
            the whole protocol, no network card",
        |order| stream(order, Kind::Tcp),
    ),
    bandwidth(
        "shared memory",
        "a ring in shared memory: one side copies in while the other copies out. Each side publishes its progress \
         at least every eighth of the ring. A side that finds the ring full or empty sleeps on a futex at once, \
         without spinning. While neither side sleeps, there is no system call",
        |order| stream(order, Kind::Ring),
    )
    .over(ring_sweeps),
    latency(
        "pipe ping-pong",
        "a byte to a child process and one back, over two pipes: both ways and both wake-ups count",
        |order| ping_pong(order, Kind::Pipe),
    ),
    latency("socketpair ping-pong", "a byte there and one back over a pair of Unix stream sockets", |order| {
        ping_pong(order, Kind::Unix)
    }),
    latency(
        "tcp loopback ping-pong",
        "a byte there and one back over one TCP connection with TCP_NODELAY, over the loopback interface",
        |order| ping_pong(order, Kind::Tcp),
    ),
    latency(
        "udp loopback ping-pong",
        "a datagram of a byte there and one back, between two UDP sockets that are connected to each other over the \
            loopback interface",
        |order| ping_pong(order, Kind::Udp),
    ),
    latency(
        "tcp loopback connect",
        "one thread connects to a listening socket on the loopback interface, accepts, and closes both ends. The \
         first close is abortive (SO_LINGER of 0, one more call), because connections in TIME_WAIT, thousands a \
         second, would use up all ports",
        connect::connects,
    )
    .over(|_| Vec::new()),
    latency(
        "shared memory ping-pong",
        "a byte there and one back over two rings in shared memory. Both sides sleep on a futex, without spinning; \
         `tiermark c2c` measures cpus that spin",
        |order| ping_pong(order, Kind::Ring),
    ),
];

/// The size at which most pipes are used first.
fn blocks(_: &Machine) -> Vec<Sweep> {
    vec![Sweep::Bytes(vec![64 * KIB, 4 * KIB, MIB]), Sweep::Partner]
}

/// Enough sizes for a knee. A pipe holds at most 1 MiB with the default /proc/sys/fs/pipe-max-size.
fn pipe_sweeps(_: &Machine) -> Vec<Sweep> {
    const USUAL: u64 = 64 * KIB;
    let doubled = std::iter::successors(Some(4 * KIB), |size| Some(2 * size)).take_while(|size| *size <= 128 * MIB);
    let sizes = std::iter::once(USUAL).chain(doubled.filter(|size| *size != USUAL)).collect();
    vec![Sweep::Bytes(sizes), Sweep::Partner, Sweep::Capacity(vec![CAPACITY, 4 * KIB, 256 * KIB, MIB])]
}

fn ring_sweeps(machine: &Machine) -> Vec<Sweep> {
    let mut sweeps = blocks(machine);
    sweeps.push(Sweep::Capacity(vec![CAPACITY, MIB]));
    sweeps
}
