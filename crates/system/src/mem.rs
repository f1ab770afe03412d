//! Memory: mapped, advised, bound, looked at.

mod file;
mod holds;
mod read;

pub use file::{nameless_file, shared_file};
pub(super) use read::touch_pieces;

use std::fmt::Debug;
use std::io;
use std::panic::RefUnwindSafe;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use tiermark_kernels::layout::{self, Proof, ProofError};
use tiermark_model::{ChainLayout, IdSet, MemPolicy};

use super::check;

/// Not in libc yet on every target: the encoding of the huge page size in mmap's flags (mmap(2)).
const MAP_HUGE_SHIFT: u32 = 26;

/// Not in libc yet on every target: madvise(2), Linux 6.1.
const MADV_COLLAPSE: libc::c_int = 25;

/// Not in libc yet: set_mempolicy(2), Linux 6.9.
const MPOL_WEIGHTED_INTERLEAVE: libc::c_int = 6;

/// Advice to the kernel on a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Back it with transparent huge pages.
    HugePage,
    /// Never back it with transparent huge pages, of any size.
    NoHugePage,
    /// Keep the same-page merger away from it.
    Unmergeable,
}

/// The use of a mapping's memory at the moment, from which follows which code may touch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Anything: pages may be touched, words written.
    Anything,
    /// Data that so many calls may read, or a single call may write, at any time.
    Data { readers: usize, writers: usize },
    /// Words that so many holders use with atomic operations only.
    Shared { users: usize },
    /// A proven chain of so many places, which no code writes any more.
    Chain { layout: ChainLayout, places: usize },
}

/// Takes back memory that is no longer used.
pub trait Keeper: Debug + Send + Sync + RefUnwindSafe {
    /// Takes it, and drops it if it is not worth keeping.
    fn keep(&self, mapping: Mapping, is_spoilt: bool);
}

/// Memory that belongs to this process alone: anonymous, or of a file that only this process writes to. On drop it goes
/// back to its keeper, where it has one, or is unmapped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
    outer: NonNull<u8>,
    outer_len: usize,
    /// Locked while the memory is written, so that there is never more than one writable slice.
    holds: Mutex<Holds>,
    keeper: Option<Weak<dyn Keeper>>,
    /// Not worth keeping.
    is_spoilt: AtomicBool,
    /// No code may write to it.
    is_read_only: AtomicBool,
}

// SAFETY: the pointers are to memory owned by the mapping, which lives until drop; `holds` keeps writers apart from all
// others.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes aligned to `align` (a power of two), alone in its own kernel area.
    ///
    /// Inaccessible guard pages lie on both sides, so that neighbouring areas never merge and `smaps` speaks of this
    /// one only.
    pub fn reserve(len: usize, align: usize) -> io::Result<Self> {
        let outer_len = align.checked_mul(2).and_then(|a| a.checked_add(len)).ok_or(io::ErrorKind::InvalidInput)?;
        let outer = map(outer_len, libc::PROT_NONE, libc::MAP_NORESERVE)?;
        // At least one page below stays inaccessible: the next boundary strictly above the start.
        let offset = align - outer.as_ptr() as usize % align;
        // SAFETY: offset <= align < outer_len, so the result lies inside the mapping made above.
        let base = unsafe { outer.add(offset) };
        let mapping = Self::new(base, len, outer, outer_len);
        // SAFETY: the range lies inside the mapping made above, page-aligned at its start.
        check(libc::c_long::from(unsafe {
            libc::mprotect(base.as_ptr().cast(), len, libc::PROT_READ | libc::PROT_WRITE)
        }))?;
        Ok(mapping)
    }

    /// Maps `len` bytes (a multiple of `page`) of reserved huge pages of `page` bytes, between guards as
    /// [`Mapping::reserve`] has them.
    ///
    /// # Errors
    /// If the pool has too few free pages, or address space runs out.
    pub fn huge(len: usize, page: usize) -> io::Result<Self> {
        let flags = libc::MAP_HUGETLB | ((page.trailing_zeros() as libc::c_int) << MAP_HUGE_SHIFT);
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Self::reserve(len, page)?.over(libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// Maps something else between the guards.
    fn over(self, access: libc::c_int, flags: libc::c_int, fd: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        let len = self.len;
        // SAFETY: the range is this mapping, without its guards; it was just made, and no other reference to it exists.
        let base = unsafe { libc::mmap(self.base.as_ptr().cast(), len, access, flags | libc::MAP_FIXED, fd, offset) };
        if base == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            // The kernel may have unmapped the range, and another thread may have mapped memory there since: only the
            // guards are ours for sure.
            let (low, high) =
                (self.base.as_ptr() as usize - self.outer.as_ptr() as usize, self.base.as_ptr().wrapping_add(len));
            let rest = self.outer_len - low - len;
            // SAFETY: both are parts of the mapping made above that the failed call did not name.
            unsafe {
                libc::munmap(self.outer.as_ptr().cast(), low);
                libc::munmap(high.cast(), rest);
            }
            std::mem::forget(self);
            return Err(error);
        }
        Ok(self)
    }

    fn new(base: NonNull<u8>, len: usize, outer: NonNull<u8>, outer_len: usize) -> Self {
        let (holds, is_spoilt, is_read_only) =
            (Mutex::new(Holds::Anything), AtomicBool::new(false), AtomicBool::new(false));
        Self { base, len, outer, outer_len, holds, keeper: None, is_spoilt, is_read_only }
    }

    /// Moves the last `len` bytes, with their pages, to a new mapping with its own guard pages, and shortens `self` by
    /// `len`. The memory must not be in use.
    ///
    /// # Errors
    /// If the kernel cannot (EINVAL before Linux 5.7), or address space or the commit limit runs out. `self` is then
    /// unchanged.
    pub fn split_off(&mut self, len: usize, align: usize) -> io::Result<Self> {
        let from = self.at(self.len.checked_sub(len).ok_or(io::ErrorKind::InvalidInput)?, len);
        let mapping = Self::reserve(len, align)?;
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
        // SAFETY: the source is the end of this mapping, which is unused; the target is a mapping just made, replaced
        // within its guards.
        let moved = unsafe { libc::mremap(from.cast(), len, len, flags, mapping.base.as_ptr()) };
        if moved == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            // Flags that it does not know are refused before anything is done.
            if error.raw_os_error() == Some(libc::EINVAL) {
                return Err(error);
            }
            // The kernel may have unmapped the target, and another thread may have mapped memory there since: do not
            // unmap it.
            std::mem::forget(mapping);
            return Err(error);
        }
        self.len -= len;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the source, which is part of this mapping and has no pages any more, becomes a guard. If that fails
        // it stays as it is.
        unsafe { libc::mmap(from.cast(), len, libc::PROT_NONE, flags, -1, 0) };
        Ok(mapping)
    }

    /// Lets the kernel swap the pages out, and charges them to no limit on locked memory.
    pub fn unlock(&self) {
        // SAFETY: the range is this mapping. If it fails, the memory stays locked, as it was.
        unsafe { libc::munlock(self.base.as_ptr().cast(), self.len) };
    }

    /// The memory is unmapped on drop, and not kept for the next region.
    pub fn spoil(&self) {
        self.is_spoilt.store(true, Ordering::Relaxed);
    }

    /// Sets the keeper that gets the memory on drop.
    pub fn kept_by(&mut self, keeper: Weak<dyn Keeper>) {
        self.keeper = Some(keeper);
    }

    /// First address.
    pub fn address(&self) -> usize {
        self.base.as_ptr() as usize
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// The address `offset` bytes in, of which `bytes` bytes are inside the mapping.
    ///
    /// # Panics
    /// When they are not: every caller computes offsets from [`Mapping::len`].
    pub(super) fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.len), "{offset}+{bytes} of {}", self.len);
        self.base.as_ptr().wrapping_add(offset)
    }

    /// Advises the kernel on the memory (madvise).
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        let advice = match advice {
            Advice::HugePage => libc::MADV_HUGEPAGE,
            Advice::NoHugePage => libc::MADV_NOHUGEPAGE,
            Advice::Unmergeable => libc::MADV_UNMERGEABLE,
        };
        // SAFETY: the range is this mapping; none of these advices changes contents.
        check(libc::c_long::from(unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, advice) })).map(drop)
    }

    /// Backs pages with memory, without changing their contents: any number of threads may do so at once.
    ///
    /// # Errors
    /// If the kernel cannot (EINVAL before Linux 5.14), or has no free page.
    pub fn populate(&self, offset: usize, bytes: usize) -> io::Result<()> {
        let from = self.at(offset, bytes);
        // SAFETY: the range is inside this mapping; the advice changes no contents.
        check(libc::c_long::from(unsafe { libc::madvise(from.cast(), bytes, libc::MADV_POPULATE_WRITE) })).map(drop)
    }

    /// Backs a part with transparent huge pages now, also what has base pages already (Linux 6.1). The kernel moves
    /// other pages to get free ones.
    ///
    /// # Errors
    /// The kernel does not know it (EINVAL), or has no free memory in one piece (ENOMEM, EAGAIN).
    pub fn collapse(&self, offset: usize, bytes: usize) -> io::Result<()> {
        let from = self.at(offset, bytes);
        // SAFETY: the range is inside this mapping; the advice changes no contents.
        check(libc::c_long::from(unsafe { libc::madvise(from.cast(), bytes, MADV_COLLAPSE) })).map(drop)
    }

    /// Sets the nodes that pages come from when they are touched.
    pub fn bind(&self, policy: &MemPolicy, nodes: &IdSet) -> io::Result<()> {
        let mode = match policy {
            MemPolicy::Bind => libc::MPOL_BIND,
            // A mapping's policy goes before the one of the thread that touches, which is to say where each page comes
            // from.
            MemPolicy::Weighted(_) | MemPolicy::TouchedBy(_) | MemPolicy::File(_) => return Ok(()),
            MemPolicy::Interleave => libc::MPOL_INTERLEAVE,
            MemPolicy::SystemWeighted => MPOL_WEIGHTED_INTERLEAVE,
        };
        let mask = nodes.words();
        // The kernel reads one bit less than it is given (mbind(2), "maxnode"), hence the + 1.
        let bits = mask.len() * 64 + 1;
        // SAFETY: the range is this mapping, the mask has `bits - 1` bits.
        check(unsafe { libc::syscall(libc::SYS_mbind, self.base.as_ptr(), self.len, mode, mask.as_ptr(), bits, 0) })
            .map(drop)
    }

    /// Keeps the pages from being swapped out, from the moment each is touched.
    pub fn lock_on_fault(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping.
        check(unsafe { libc::syscall(libc::SYS_mlock2, self.base.as_ptr(), self.len, libc::MLOCK_ONFAULT) }).map(drop)
    }

    fn holds(&self) -> MutexGuard<'_, Holds> {
        // What is noted is a plain value: whole also after a panic under the lock.
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to write: as long as the guard lives, no other thread touches the memory.
    ///
    /// # Panics
    /// When calls may touch the memory or it holds a chain: a defect of this crate, never of its caller.
    fn writable(&self) -> MutexGuard<'_, Holds> {
        let holds = self.holds();
        assert!(*holds == Holds::Anything, "memory in use is not written: it holds {:?}", *holds);
        assert!(!self.is_read_only(), "memory to read only is not written");
        holds
    }

    /// Has the kernel write into the page at `offset`, which backs it with memory.
    ///
    /// Where no page can be had, a store of our own would raise SIGBUS; the kernel's store makes the call fail with
    /// EFAULT.
    pub fn touch_by_kernel(&self, offset: usize) -> io::Result<()> {
        let _sole = self.writable();
        let target = self.at(offset, size_of::<libc::timespec>());
        // SAFETY: the target has room for a timespec, is aligned to a page, and no other thread touches it.
        check(unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, target) }).map(drop)
    }

    /// Touches the page at `offset` with a store.
    pub fn touch(&self, offset: usize) {
        let _sole = self.writable();
        // SAFETY: inside the mapping, and no other thread touches it.
        unsafe { ptr::write_volatile(self.at(offset, 1), 1) }
    }

    /// Drops every line of the first `bytes` bytes from every cache.
    pub fn flush_lines(&self, bytes: usize) {
        // SAFETY: inside the mapping; what is stored stays as it is.
        unsafe { tiermark_kernels::cache::flush(self.at(0, bytes), bytes) }
    }

    /// Lends the bytes from `offset` as words to be written. A second caller waits.
    ///
    /// # Panics
    /// When calls may touch the memory or it holds a chain.
    pub fn fill<R>(&self, offset: usize, bytes: usize, f: impl FnOnce(&mut [u64]) -> R) -> R {
        let _sole = self.writable();
        // SAFETY: no other thread touches the memory as long as the guard lives.
        f(unsafe { std::slice::from_raw_parts_mut(self.words(offset, bytes), bytes / 8) })
    }

    /// Proves that the first `bytes` bytes hold one cycle. From then on, no code can write to the memory.
    pub fn prove_chain(
        &self,
        bytes: usize,
        chain: ChainLayout,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Proof, ProofError> {
        let mut holds = self.writable();
        let places = layout::places(chain, bytes / 8 * 8)?;
        // SAFETY: no other thread touches the memory as long as the guard lives.
        let words = unsafe { std::slice::from_raw_parts_mut(self.words(0, bytes), bytes / 8) };
        let proof = layout::prove(words, self.address() as u64, chain, stopped)?;
        *holds = Holds::Chain { layout: chain, places };
        Ok(proof)
    }

    /// Lends the first `bytes` bytes of a chain as words. Any number of callers may read them at once.
    ///
    /// # Panics
    /// When the memory holds no chain.
    pub fn chain_words<R>(&self, bytes: usize, f: impl FnOnce(&[u64]) -> R) -> R {
        assert!(matches!(*self.holds(), Holds::Chain { .. }), "only a chain is never written again");
        // SAFETY: no code can write to a proven chain.
        f(unsafe { std::slice::from_raw_parts(self.words(0, bytes), bytes / 8) })
    }

    /// Where the words from `offset` lie: inside the mapping, aligned, initialised (anonymous memory is zero).
    fn words(&self, offset: usize, bytes: usize) -> *mut u64 {
        assert!(offset.is_multiple_of(8));
        self.at(offset, bytes).cast()
    }

    /// Whether a node of a proven chain lies at an address.
    pub(super) fn is_node(&self, address: usize) -> bool {
        let offset = address.checked_sub(self.address());
        match *self.holds() {
            Holds::Chain { layout, places } => offset.is_some_and(|offset| layout::is_node(layout, places, offset)),
            _ => false,
        }
    }

    /// Stride and places of a proven chain of bytes.
    pub(super) fn bytes_chain(&self) -> Option<(usize, usize)> {
        match *self.holds() {
            Holds::Chain { layout, places } if layout.is_of_bytes() => Some((layout.pitch() as usize, places)),
            _ => None,
        }
    }

    /// The node of the page at each offset; negative numbers are errors (`-ENOENT`: not there). Moves nothing.
    pub fn page_nodes(&self, offsets: &[usize]) -> io::Result<Vec<i32>> {
        let pages: Vec<*mut u8> = offsets.iter().map(|offset| self.at(*offset, 1)).collect();
        let mut nodes = vec![i32::MIN; pages.len()];
        let none = ptr::null::<libc::c_int>();
        // SAFETY: both arrays have `pages.len()` entries; without target nodes the call only looks (move_pages(2)).
        check(unsafe {
            libc::syscall(libc::SYS_move_pages, 0, pages.len(), pages.as_ptr(), none, nodes.as_mut_ptr(), 0)
        })?;
        Ok(nodes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let (base, len, outer, outer_len) = (self.base, self.len, self.outer, self.outer_len);
        if let Some(keeper) = self.keeper.take().and_then(|keeper| keeper.upgrade()) {
            let mapping = Self::new(base, len, outer, outer_len);
            return keeper.keep(mapping, self.is_spoilt.load(Ordering::Relaxed));
        }
        // SAFETY: the range was mapped by us and nothing refers to it any more: calls hold the mapping in an Arc.
        unsafe { libc::munmap(self.outer.as_ptr().cast(), self.outer_len) };
    }
}

/// Maps private anonymous memory.
fn map(len: usize, protection: libc::c_int, flags: libc::c_int) -> io::Result<NonNull<u8>> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
