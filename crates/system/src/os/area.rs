//! Mappings of every kind that faults are counted in. Nothing points into them: their memory is only touched through
//! methods.

use std::ffi::c_void;
use std::fs::File;
use std::ptr;

use rustix::io::{self, Errno};
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

/// What a mapping shows.
#[derive(Debug, Clone, Copy)]
pub enum Shows<'a> {
    /// Zeros of its own.
    Private,
    /// The same, and every page is there before the call returns.
    Populated,
    /// Zeros that children would share.
    Shared,
    /// Reserved huge pages of so many bytes.
    Huge(usize),
    /// A file that belongs to the process alone, to be read.
    FileRead(&'a File),
    /// The same, to be written.
    FileWrite(&'a File),
    /// The same, of which every page that is written becomes a copy.
    FileCopy(&'a File),
}

/// Advice to the kernel on a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Back it with transparent huge pages.
    HugePages,
    /// Never do that, of any size.
    BasePages,
    /// It is touched in no order: read nothing ahead.
    Random,
    /// Leave it out of core dumps: keeps the kernel from joining it to a neighbour.
    Apart,
    /// Take the pages away; those of a file stay in the page cache.
    Forget,
    /// Take the pages away, and out of what shows them.
    Remove,
    /// Bring all pages, ready to be written.
    Populate,
    /// Write the pages to swap.
    PageOut,
}

impl Tell {
    fn advice(self) -> Advice {
        match self {
            Self::HugePages => Advice::LinuxHugepage,
            Self::BasePages => Advice::LinuxNoHugepage,
            Self::Random => Advice::Random,
            Self::Apart => Advice::LinuxDontDump,
            Self::Forget => Advice::LinuxDontNeed,
            Self::Remove => Advice::LinuxRemove,
            Self::Populate => Advice::LinuxPopulateWrite,
            Self::PageOut => Advice::LinuxPageOut,
        }
    }
}

/// A mapping, unmapped when it is dropped.
#[derive(Debug)]
pub struct Area {
    start: *mut c_void,
    bytes: usize,
    /// Of each so many bytes, only the first `open` can be touched.
    stride: usize,
    open: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to this value alone, and any thread may touch or unmap it.
unsafe impl Send for Area {}

impl Area {
    /// Maps so many bytes wherever the kernel likes.
    pub fn map(shows: Shows<'_>, bytes: usize) -> io::Result<Self> {
        let huge = |page: usize| MapFlags::from_bits_retain(page.trailing_zeros() << libc::MAP_HUGE_SHIFT);
        let (flags, file, writable) = match shows {
            Shows::Private => (MapFlags::PRIVATE, None, true),
            Shows::Populated => (MapFlags::PRIVATE | MapFlags::POPULATE, None, true),
            Shows::Shared => (MapFlags::SHARED, None, true),
            Shows::Huge(page) => (MapFlags::PRIVATE | MapFlags::HUGETLB | huge(page), None, true),
            Shows::FileRead(file) => (MapFlags::SHARED, Some(file), false),
            Shows::FileWrite(file) => (MapFlags::SHARED, Some(file), true),
            Shows::FileCopy(file) => (MapFlags::PRIVATE, Some(file), true),
        };
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let start = match file {
            // SAFETY: a new mapping wherever the kernel likes overlaps nothing.
            None => unsafe { mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags) },
            // SAFETY: as above; what it shows is only looked at by volatile accesses, so that another may change it.
            Some(file) => unsafe { mm::mmap(ptr::null_mut(), bytes, protection, flags, file, 0) },
        }?;
        Ok(Self { start, bytes, stride: bytes, open: bytes, writable })
    }

    /// Maps private zeros that begin at a multiple of `align`, a power of two.
    pub fn aligned(bytes: usize, align: usize) -> io::Result<Self> {
        let outer = bytes.checked_add(align).ok_or(Errno::INVAL)?;
        let mut area = Self::map(Shows::Private, outer)?;
        area.narrow(bytes, align)?;
        Ok(area)
    }

    /// Leaves only so many bytes of it that begin at a multiple of `align`, a power of two and at most what is to
    /// spare.
    pub fn narrow(&mut self, bytes: usize, align: usize) -> io::Result<()> {
        assert!(bytes + align <= self.bytes, "{bytes} at {align} in {}", self.bytes);
        self.cut(self.start.addr().next_multiple_of(align) - self.start.addr(), bytes)
    }

    /// Maps pieces of private zeros, each alone in a kernel area that is just as long and begins at a multiple of its
    /// length: no page larger than a piece fits. The distance between two is twice their length.
    pub fn pieces(piece: usize, count: usize) -> io::Result<Self> {
        let mut area = Self::aligned(2 * piece * count, 2 * piece)?;
        for index in 0..count {
            let rest = area.start.wrapping_byte_add((2 * index + 1) * piece);
            // SAFETY: the second half of each stride, inside the mapping; nothing has touched it, and nothing will.
            unsafe { mm::mprotect(rest, piece, MprotectFlags::empty()) }?;
        }
        (area.stride, area.open) = (2 * piece, piece);
        Ok(area)
    }

    /// Leaves only `bytes` bytes from `before` on.
    fn cut(&mut self, before: usize, bytes: usize) -> io::Result<()> {
        let (end, behind) = (before + bytes, self.bytes - before - bytes);
        if behind > 0 {
            // SAFETY: the end of this mapping, which nothing points into.
            unsafe { mm::munmap(self.start.wrapping_byte_add(end), behind) }?;
            self.bytes = end;
        }
        if before > 0 {
            // SAFETY: the beginning of this mapping.
            unsafe { mm::munmap(self.start, before) }?;
            (self.start, self.bytes) = (self.start.wrapping_byte_add(before), bytes);
        }
        (self.stride, self.open) = (bytes, bytes);
        Ok(())
    }

    /// Bytes mapped.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// First address.
    #[inline]
    pub fn address(&self) -> usize {
        self.start.addr()
    }

    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        let open = self.open == self.bytes || offset % self.stride + bytes <= self.open;
        assert!(inside && open, "{offset}+{bytes} of {}", self.bytes);
        self.start.cast::<u8>().wrapping_add(offset)
    }

    /// Writes a byte.
    #[inline]
    pub fn write(&mut self, offset: usize) {
        assert!(self.writable, "an area that may not be written");
        // SAFETY: inside the mapping, which is writable there and has no other user.
        unsafe { self.at(offset, 1).write_volatile(1) };
    }

    /// Writes words from `offset` on, a multiple of their size.
    #[inline]
    pub fn write_words(&mut self, offset: usize, words: &[u64]) {
        assert!(
            self.writable && offset.is_multiple_of(size_of::<u64>()),
            "an area that may not be written at {offset}"
        );
        let target = self.at(offset, size_of_val(words)).cast::<u64>();
        for (index, word) in words.iter().enumerate() {
            // SAFETY: inside the mapping, which is page-aligned, writable there and has no other user.
            unsafe { target.add(index).write_volatile(*word) };
        }
    }

    /// Reads a byte.
    #[inline]
    pub fn read(&self, offset: usize) -> u8 {
        // SAFETY: inside the mapping, which is readable there.
        unsafe { self.at(offset, 1).read_volatile() }
    }

    /// Has the kernel write at `offset`. Where no page can be had, a store of our own would raise SIGBUS; this fails
    /// with EFAULT.
    #[inline]
    pub fn write_by_kernel(&mut self, offset: usize) -> io::Result<()> {
        let target = self.at(offset, size_of::<libc::timespec>());
        // SAFETY: the target has room for a timespec, and no other thread touches it.
        match unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, target) } {
            0 => Ok(()),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::FAULT)),
        }
    }

    /// Advises the kernel on the mapping (madvise).
    #[inline]
    pub fn tell(&mut self, what: Tell) -> io::Result<()> {
        // SAFETY: no reference into the mapping exists, so no code sees the contents change.
        unsafe { mm::madvise(self.start, self.bytes, what.advice()) }
    }

    /// How many base pages of it are in memory, or in the page cache of what it shows.
    pub fn resident(&self, page_bytes: usize) -> std::io::Result<usize> {
        let mut pages = vec![0u8; self.bytes.div_ceil(page_bytes)];
        // SAFETY: the whole mapping, and a byte for each of its pages.
        let done = unsafe { libc::mincore(self.start, self.bytes, pages.as_mut_ptr()) };
        crate::check(done.into())?;
        Ok(pages.iter().filter(|page| **page & 1 != 0).count())
    }

    /// Unmaps it.
    ///
    /// # Errors
    /// Those of munmap.
    pub fn unmap(self) -> io::Result<()> {
        let area = std::mem::ManuallyDrop::new(self);
        // SAFETY: the mapping that was made, once, and nothing points into it.
        unsafe { mm::munmap(area.start, area.bytes) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made, once, and nothing points into it. It cannot fail for a whole mapping.
        let _ = unsafe { mm::munmap(self.start, self.bytes) };
    }
}

/// Keeps every mapping of the process from transparent huge pages, as long as it lives.
#[derive(Debug)]
pub struct BasePagesOnly {
    before: libc::c_int,
}

impl BasePagesOnly {
    /// From now on.
    ///
    /// # Errors
    /// Those of `prctl`.
    pub fn new() -> std::io::Result<Self> {
        // SAFETY: takes numbers only.
        let before = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) };
        set_thp_disable(1)?;
        Ok(Self { before: before.clamp(0, 1) })
    }
}

impl Drop for BasePagesOnly {
    fn drop(&mut self) {
        let _ = set_thp_disable(self.before);
    }
}

fn set_thp_disable(value: libc::c_int) -> std::io::Result<()> {
    // SAFETY: takes numbers only.
    crate::check(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, value, 0, 0, 0) }.into()).map(drop)
}
