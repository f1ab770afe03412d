//! Memory: mapped, advised, bound, looked at.

mod file;
mod read;
mod uses;

pub use file::{nameless_file, shared_file};
pub(super) use read::touch_pieces;
pub use uses::How;

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

/// The cycle of a chain.
#[derive(Debug, Clone, Copy)]
pub enum Cycle<'a> {
    /// The place that follows each, as [`layout::cycle`] makes it.
    Made(&'a [u32]),
    /// It is still to be made.
    Seed {
        /// Of its random choices.
        seed: u64,
        /// As [`layout::write_chain`] takes it.
        page_bytes: usize,
    },
}

/// Memory that belongs to this process alone: anonymous, or of a file that only this process writes to; or a part of
/// such memory. It is unmapped when it and all its parts are dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    len: usize,
    /// What the kernel mapped, with guards; nothing of a part.
    outer: NonNull<u8>,
    outer_len: usize,
    /// Unlike that of any other mapping.
    number: u64,
    /// What this is a part of.
    whole: Option<Arc<Mapping>>,
    /// Who uses which part of it, and how; empty of a part, whose uses are those of the whole.
    uses: Mutex<uses::Uses>,
    /// No code may write to it.
    is_read_only: AtomicBool,
}

// SAFETY: the pointers are to memory owned by the mapping or its whole, which lives until drop; `uses` keeps writers
// apart from all others.
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
        static CREATED: AtomicU64 = AtomicU64::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let (uses, is_read_only) = (Mutex::default(), AtomicBool::new(false));
        Self { base, len, outer, outer_len, number, whole: None, uses, is_read_only }
    }

    /// Bytes of a mapping as one of their own: used by others at the same time only where no use forbids another.
    ///
    /// # Panics
    /// When they do not lie inside, or do not begin at a word.
    pub fn part(whole: &Arc<Self>, offset: usize, len: usize) -> Self {
        assert!(offset.is_multiple_of(8), "a part begins at a word");
        let whole = whole.whole.as_ref().unwrap_or(whole);
        let base = NonNull::new(whole.at(offset, len)).unwrap_or(whole.base);
        let mut part = Self::new(base, len, base, 0);
        part.whole = Some(Arc::clone(whole));
        part
    }

    /// What this is a part of, or itself.
    fn root(&self) -> &Self {
        self.whole.as_deref().unwrap_or(self)
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

    /// Has the kernel write into the page at `offset`, which backs it with memory.
    ///
    /// Where no page can be had, a store of our own would raise SIGBUS; the kernel's store makes the call fail with
    /// EFAULT.
    pub fn touch_by_kernel(&self, offset: usize) -> io::Result<()> {
        let _sole = self.writing(offset, size_of::<libc::timespec>());
        let target = self.at(offset, size_of::<libc::timespec>());
        // SAFETY: the target has room for a timespec, is aligned to a page, and no other thread touches it.
        check(unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, target) }).map(drop)
    }

    /// Touches the page at `offset` with a store.
    pub fn touch(&self, offset: usize) {
        let _sole = self.writing(offset, 1);
        // SAFETY: inside the mapping, and no other thread touches it.
        unsafe { ptr::write_volatile(self.at(offset, 1), 1) }
    }

    /// Drops every line of the bytes from `offset` on from every cache.
    pub fn flush_lines(&self, offset: usize, bytes: usize) {
        // SAFETY: inside the mapping; what is stored stays as it is.
        unsafe { tiermark_kernels::cache::flush(self.at(offset, bytes), bytes) }
    }

    /// Lends the bytes from `offset` as words to be written.
    ///
    /// # Panics
    /// When others use these bytes, or they hold a chain.
    pub fn fill<R>(&self, offset: usize, bytes: usize, f: impl FnOnce(&mut [u64]) -> R) -> R {
        let _sole = self.writing(offset, bytes);
        // SAFETY: no other thread touches these bytes as long as the guard lives.
        f(unsafe { std::slice::from_raw_parts_mut(self.words(offset, bytes), bytes / 8) })
    }

    /// Writes a chain into the first `bytes` bytes and proves that it is one cycle. From then on, no code can write to
    /// its words, until another chain takes them or this mapping is dropped. Words that are none of its own stay as
    /// they are.
    ///
    /// # Errors
    /// A layout that does not fit, a stop, or a fault of the chain: then there is none here.
    ///
    /// # Panics
    /// When the memory is used in any way.
    pub fn make_chain(
        &self,
        bytes: usize,
        chain: ChainLayout,
        from: Cycle<'_>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Proof, ProofError> {
        let places = layout::places(chain, bytes / 8 * 8)?;
        let sole = self.writing_chain(bytes, chain).unwrap_or_else(|why| panic!("{why}"));
        let base = self.address() as u64;
        // SAFETY: no other thread touches these bytes as long as the guard lives. Of chains that stay, the layout
        // writes no word.
        let words = unsafe { std::slice::from_raw_parts_mut(self.words(0, bytes), bytes / 8) };
        match from {
            Cycle::Made(next) => layout::write_cycle(words, base, chain, next, stopped)?,
            Cycle::Seed { seed, page_bytes } => layout::write_chain(words, base, chain, page_bytes, seed, stopped)?,
        }
        let proof = layout::prove(words, base, chain, stopped)?;
        self.note_chain(&sole, bytes, chain, places);
        Ok(proof)
    }

    /// Lends the first `bytes` bytes of a chain as words. Any number of callers may read them at once.
    ///
    /// # Panics
    /// When the memory holds no chain.
    pub fn chain_words<R>(&self, bytes: usize, f: impl FnOnce(&[u64]) -> R) -> R {
        let _following = self.using(0, bytes, How::Follows).unwrap_or_else(|why| panic!("{why}"));
        // SAFETY: no code can write to these bytes as long as the guard lives.
        f(unsafe { std::slice::from_raw_parts(self.words(0, bytes), bytes / 8) })
    }

    /// Where the words from `offset` lie: inside the mapping, aligned, initialised (anonymous memory is zero).
    fn words(&self, offset: usize, bytes: usize) -> *mut u64 {
        assert!(offset.is_multiple_of(8));
        self.at(offset, bytes).cast()
    }

    /// Whether a node of its proven chain lies at an address.
    pub(super) fn is_node(&self, address: usize) -> bool {
        let offset = address.checked_sub(self.address());
        self.chain().zip(offset).is_some_and(|(chain, offset)| layout::is_node(chain.layout, chain.places, offset))
    }

    /// Stride and places of its proven chain of bytes.
    pub(super) fn bytes_chain(&self) -> Option<(usize, usize)> {
        let chain = self.chain().filter(|chain| chain.layout.is_of_bytes())?;
        Some((chain.layout.pitch() as usize, chain.places))
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
        self.forget_chain();
        if self.whole.is_none() {
            // SAFETY: the range was mapped by us and nothing refers to it any more: calls and parts hold it in an Arc.
            unsafe { libc::munmap(self.outer.as_ptr().cast(), self.outer_len) };
        }
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
