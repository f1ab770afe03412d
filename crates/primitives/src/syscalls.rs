//! Entering the kernel and leaving it.

use std::fs::File;
use std::mem::MaybeUninit;

use rustix::event::epoll;
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::time::{ClockId, Timespec};
use tiermark_model::{KIB, MIB, Machine, OsGroup, Refusal, Sweep};
use tiermark_system::os::{GuardedArea, Hole};

use crate::body::{Make, Order, Prepared, Primitive, repeat, repeat_value};
use crate::failure::{Failure, refused_by};

pub(super) const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Syscalls, id, text, make)
}

const fn by_size(id: &'static str, text: &'static str, make: Make) -> Primitive {
    row(id, text, make).over(sizes)
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row(
        "getppid",
        "the call itself, never a value that the C library caches: the cost of entering and leaving the kernel",
        |_| repeat_value(rustix::process::getppid),
    ),
    row("getpid", "the call itself", |_| repeat_value(rustix::process::getpid)),
    row(
        "getpid by libc",
        "the C library's getpid. glibc before 2.25 answered from memory; later ones and musl make the call each time",
        |_| repeat_value(std::process::id),
    ),
    row(
        "clock_gettime",
        "the monotonic clock through the vDSO: no entry into the kernel where the clock source allows it",
        // One word of it: both words, loaded at once just after they were written apart, would hold the next reading
        // up.
        |_| repeat_value(|| rustix::time::clock_gettime(ClockId::Monotonic).tv_nsec),
    ),
    by_size("read", "from /dev/zero: the kernel writes zeros to the buffer", |order| {
        transfer("read", open_file("/dev/zero", false)?, bytes(order), |file, buffer| rustix::io::read(file, buffer))
    }),
    by_size("write", "to /dev/null: the kernel reads no byte of the buffer", |order| {
        let file = open_file("/dev/null", true)?;
        transfer("write", file, bytes(order), |file, buffer| rustix::io::write(file, buffer))
    }),
    by_size("pread", "from a file in memory (memfd): the kernel copies from the page cache", |order| {
        let file = memory_file(bytes(order))?;
        transfer("pread", file, bytes(order), |file, buffer| rustix::io::pread(file, buffer, 0))
    }),
    by_size("pwrite", "to a file in memory (memfd): the kernel copies to the page cache", |order| {
        let file = memory_file(bytes(order))?;
        transfer("pwrite", file, bytes(order), |file, buffer| rustix::io::pwrite(file, buffer, 0))
    }),
    row("stat", "of /dev/null, by its path", stat),
    row("open+close", "of /dev/null, by its path", open),
    row(
        "mmap+munmap",
        "64 KiB of anonymous memory that is not touched, with no \
neighbouring mapping to merge with",
        mmap,
    ),
    row(
        "mprotect",
        "of one resident base page, to read-only and to writable in turn: each call counts. The page is a separate \
mapping, which is neither split nor merged",
        mprotect,
    ),
    row("madvise", "MADV_DONTNEED of one base page that is not resident", madvise),
    row("epoll_wait", "without an event to report, with a timeout of 0", epoll_wait),
];

fn sizes(_: &Machine) -> Vec<Sweep> {
    vec![Sweep::Bytes(vec![1, 4 * KIB, 64 * KIB, MIB])]
}

fn bytes(order: &Order<'_>) -> usize {
    order.call.bytes.unwrap_or(1) as usize
}

/// Checks the result of a call on so many bytes: with fewer it measured something else.
fn whole(what: &'static str, wanted: usize) -> impl Fn(rustix::io::Result<usize>) -> Result<(), Failure> {
    move |done| match done.map_err(Failure::of(what))? {
        n if n == wanted => Ok(()),
        n => Err(format!("{what}: {n} of {wanted} bytes").into()),
    }
}

fn open_file(path: &'static str, writable: bool) -> Result<File, Refusal> {
    let opened = File::options().read(!writable).write(writable).open(path);
    opened.map_err(|error| refused_by(path, &error, "mount a usual /dev in the container"))
}

/// Every byte of a file in memory.
pub(super) const FILLED: u8 = 0x5a;

/// A file in memory, with so many bytes in it.
pub(super) fn memory_file(bytes: usize) -> Result<File, Refusal> {
    let file = rustix::fs::memfd_create("tiermark", MemfdFlags::CLOEXEC).and_then(|file| {
        let filled = rustix::io::pwrite(&file, &vec![FILLED; bytes], 0)?;
        if filled == bytes { Ok(File::from(file)) } else { Err(rustix::io::Errno::NOSPC) }
    });
    file.map_err(|error| refused_by("memfd_create", error, "allow more memory or files"))
}

/// A call that moves all bytes of a buffer of so many bytes, to a file or from it. Generic in the call, so that no
/// pointer is followed in the timed loop.
fn transfer<F>(what: &'static str, file: File, bytes: usize, call: F) -> Prepared
where
    F: Fn(&File, &mut [u8]) -> rustix::io::Result<usize> + Send + 'static,
{
    let mut buffer = vec![1u8; bytes];
    let done = whole(what, bytes);
    repeat(move || done(call(&file, &mut buffer)))
}

fn stat(_: &Order<'_>) -> Prepared {
    repeat(|| rustix::fs::stat(c"/dev/null").map(drop).map_err(Failure::of("stat")))
}

fn open(_: &Order<'_>) -> Prepared {
    repeat(|| {
        rustix::fs::open(c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map(drop)
            .map_err(Failure::of("open"))
    })
}

fn mmap(_: &Order<'_>) -> Prepared {
    let hole = Hole::new(64 << 10).map_err(no_room("mmap"))?;
    repeat(move || hole.map_and_unmap().map_err(Failure::of("mmap")))
}

fn mprotect(_: &Order<'_>) -> Prepared {
    let mut room = GuardedArea::map(1).map_err(no_room("mprotect"))?;
    room.touch();
    let mut writable = true;
    repeat(move || {
        writable = !writable;
        room.protect(writable).map_err(Failure::of("mprotect"))
    })
}

fn madvise(_: &Order<'_>) -> Prepared {
    let mut room = GuardedArea::map(1).map_err(no_room("madvise"))?;
    repeat(move || room.forget().map_err(Failure::of("madvise")))
}

/// The refusal of memory.
fn no_room(what: &'static str) -> impl Fn(rustix::io::Errno) -> Refusal {
    move |error| refused_by(what, error, "allow more address space (ulimit -v)")
}

fn epoll_wait(_: &Order<'_>) -> Prepared {
    let refused = |error: rustix::io::Errno| refused_by("epoll_wait", error, "allow more open files");
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused)?;
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    repeat(move || {
        // Prepared anew each time, which costs nothing: the kernel writes none.
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); 4];
        epoll::wait(&epoll, &mut events, Some(&now)).map(drop).map_err(Failure::of("epoll_wait"))
    })
}
