//! Entering the kernel and leaving it.

use std::fs::File;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;

use io_uring::IoUring;
use rustix::event::epoll;
use rustix::fs::{MemfdFlags, Mode, OFlags, RawDir, SeekFrom};
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec};
use tiermark_model::{KIB, MIB, Machine, OsGroup, Refusal, Sweep};
use tiermark_system::os::{GuardedArea, Hole, queue_nop};

use crate::body::{Make, Order, Prepared, Primitive, repeat, repeat_value};
use crate::failure::{Failure, refused_by, unavailable};

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
    row("gettid", "the call itself", |_| repeat_value(rustix::thread::gettid)),
    row(
        "clock_gettime",
        "the monotonic clock through the vDSO: no entry into the kernel where the clock source allows it",
        // One word of it: both words, loaded at once just after they were written apart, would hold the next reading
        // up.
        |_| repeat_value(|| rustix::time::clock_gettime(ClockId::Monotonic).tv_nsec),
    ),
    by_size("read", "from /dev/zero: the kernel writes zeros to the buffer", |order| {
        transfer("read", zeros()?, [bytes(order)], |file, [buffer]| rustix::io::read(file, buffer))
    }),
    by_size("write", "to /dev/null: the kernel reads no byte of the buffer", |order| {
        let file = open_file("/dev/null", true)?;
        transfer("write", file, [bytes(order)], |file, [buffer]| rustix::io::write(file, buffer))
    }),
    by_size("pread", "from a file in memory (memfd): the kernel copies from the page cache", |order| {
        let file = memory_file(bytes(order))?;
        transfer("pread", file, [bytes(order)], |file, [buffer]| rustix::io::pread(file, buffer, 0))
    }),
    by_size("pwrite", "to a file in memory (memfd): the kernel copies to the page cache", |order| {
        let file = memory_file(bytes(order))?;
        transfer("pwrite", file, [bytes(order)], |file, [buffer]| rustix::io::pwrite(file, buffer, 0))
    }),
    row("readv", "4 pieces of 1 KiB from /dev/zero: the kernel writes zeros to each", |_| {
        transfer("readv", zeros()?, [PIECE; 4], |file, pieces| rustix::io::readv(file, &mut slices(pieces)))
    }),
    row("preadv", "4 pieces of 1 KiB from a file in memory", |_| {
        let file = memory_file(4 * PIECE)?;
        transfer("preadv", file, [PIECE; 4], |file, pieces| rustix::io::preadv(file, &mut slices(pieces), 0))
    }),
    row("stat", "of /dev/null, by its path", stat),
    row("open+close", "of /dev/null, by its path", open),
    row(
        "getdents",
        "one reading of the whole root directory: the seek to its start, the call that reads all entries and the call \
that finds no more",
        getdents,
    ),
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
    row("futex wake", "FUTEX_WAKE without a waiting thread", futex_wake),
    row("epoll_wait", "without an event to report, with a timeout of 0", epoll_wait),
    row("io_uring nop", "one no-op submitted, with its completion, in one io_uring_enter", io_uring_nop)
        .unless(no_io_uring),
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
    let made = rustix::fs::memfd_create("tiermark", MemfdFlags::CLOEXEC).and_then(|file| {
        let filled = rustix::io::pwrite(&file, &vec![FILLED; bytes], 0)?;
        if filled == bytes { Ok(File::from(file)) } else { Err(rustix::io::Errno::NOSPC) }
    });
    made.map_err(|error| refused_by("memfd_create", error, "allow more memory or files"))
}

/// Bytes of a piece, where a call is given several.
const PIECE: usize = 1 << 10;

fn zeros() -> Result<File, Refusal> {
    open_file("/dev/zero", false)
}

/// A call that moves all bytes of buffers of so many bytes, to a file or from it. Generic in the call, so that no
/// pointer is followed in the timed loop.
fn transfer<const N: usize, F>(what: &'static str, file: File, sizes: [usize; N], call: F) -> Prepared
where
    F: Fn(&File, &mut [Vec<u8>; N]) -> rustix::io::Result<usize> + Send + 'static,
{
    let mut buffers = sizes.map(|bytes| vec![1u8; bytes]);
    let done = whole(what, sizes.iter().sum());
    repeat(move || done(call(&file, &mut buffers)))
}

fn slices<const N: usize>(pieces: &mut [Vec<u8>; N]) -> [IoSliceMut<'_>; N] {
    pieces.each_mut().map(|piece| IoSliceMut::new(piece))
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

/// What `getdents` reads here; `None` where it may not.
pub(super) fn read_entries() -> Option<String> {
    // With the directory itself and the one above it.
    std::fs::read_dir("/").ok().map(|all| format!("{} entries", all.count() + 2))
}

fn getdents(_: &Order<'_>) -> Prepared {
    let directory = rustix::fs::open(c"/", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| refused_by("getdents", error, "let the root directory be read"))?;
    let mut buffer = vec![MaybeUninit::<u8>::uninit(); 32 << 10];
    repeat(move || {
        rustix::fs::seek(&directory, SeekFrom::Start(0)).map_err(Failure::of("lseek"))?;
        let mut entries = RawDir::new(&directory, &mut buffer);
        while let Some(entry) = entries.next() {
            std::hint::black_box(entry.map_err(Failure::of("getdents"))?.ino());
        }
        Ok(())
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

fn futex_wake(_: &Order<'_>) -> Prepared {
    let word = AtomicU32::new(0);
    repeat(move || futex::wake(&word, futex::Flags::PRIVATE, 1).map(drop).map_err(Failure::of("futex")))
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

fn ring() -> Result<IoUring, Refusal> {
    let cure = "as root: sysctl kernel.io_uring_disabled=0 (in a container: on its host); the container's seccomp \
        profile must allow io_uring_setup";
    IoUring::new(2).map_err(|error| unavailable("io_uring nop", &error.to_string(), cure))
}

fn no_io_uring(_: &Machine) -> Option<Refusal> {
    ring().err()
}

fn io_uring_nop(_: &Order<'_>) -> Prepared {
    let mut ring = ring()?;
    repeat(move || {
        queue_nop(&mut ring)?;
        ring.submit_and_wait(1).map_err(Failure::of("io_uring_enter"))?;
        let done = ring.completion().next().ok_or("io_uring_enter: no completion")?;
        if done.result() < 0 {
            Err(Failure::of("io_uring no-op")(rustix::io::Errno::from_raw_os_error(-done.result())))
        } else {
            Ok(())
        }
    })
}
