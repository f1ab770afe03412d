//! Bytes on pages of their own, that can be made before a fork and touched first on the other side of it.

use std::ops::{Deref, DerefMut};
use std::ptr;

use rustix::io;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};

/// A private mapping of so many bytes, zeros at first; unmapped when it is dropped. A child has a copy at the same
/// address.
#[derive(Debug)]
pub struct Buffer {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps so many bytes, one at least, on base pages; none of them is there yet.
    pub fn map(bytes: usize) -> io::Result<Self> {
        let buffer = Self::new(bytes)?;
        // A kernel without huge pages does not know this, and gives none.
        let _ = buffer.advise(Advice::LinuxNoHugepage);
        Ok(buffer)
    }

    /// The same on transparent huge pages, as far as they fit and can be had.
    pub fn huge(bytes: usize) -> io::Result<Self> {
        let buffer = Self::new(bytes)?;
        buffer.advise(Advice::LinuxHugepage)?;
        Ok(buffer)
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the whole mapping; what its pages are does not change what they hold.
        unsafe { mm::madvise(self.start.cast(), self.bytes, advice) }
    }

    fn new(bytes: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping wherever the kernel likes overlaps nothing.
        let start = unsafe { mm::mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }?;
        Ok(Self { start: start.cast(), bytes })
    }

    /// Where it starts, for a process that reads another's memory.
    pub fn address(&self) -> usize {
        self.start as usize
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the whole mapping, readable and all of it initialised (zeros); writing needs this value exclusively.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the whole mapping, writable and initialised, and this value is held exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made, once; slices of it have ended. It cannot fail for a whole mapping.
        let _ = unsafe { mm::munmap(self.start.cast(), self.bytes) };
    }
}
