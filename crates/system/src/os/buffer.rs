//! Bytes on pages of their own, that can be made before a fork and touched first on the other side of it.

use std::ops::{Deref, DerefMut};

use rustix::io;
use rustix::mm::{self, Advice, MapFlags};

use super::mapped::Mapped;

/// A private mapping of so many bytes, zeros at first; unmapped when it is dropped. A child has a copy at the same
/// address.
#[derive(Debug)]
pub struct Buffer(Mapped);

impl Buffer {
    /// Maps so many bytes, one at least, on base pages; none of them is there yet.
    pub fn map(bytes: usize) -> io::Result<Self> {
        let buffer = Self(Mapped::open(bytes, MapFlags::PRIVATE)?);
        // A kernel without huge pages does not know this, and gives none.
        let _ = buffer.advise(Advice::LinuxNoHugepage);
        Ok(buffer)
    }

    /// The same on transparent huge pages, as far as they fit and can be had.
    pub fn huge(bytes: usize) -> io::Result<Self> {
        let buffer = Self(Mapped::open(bytes, MapFlags::PRIVATE)?);
        buffer.advise(Advice::LinuxHugepage)?;
        Ok(buffer)
    }

    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the whole mapping; what its pages are does not change what they hold.
        unsafe { mm::madvise(self.0.start, self.0.bytes, advice) }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the whole mapping, readable and all of it initialised (zeros); writing needs this value exclusively.
        unsafe { std::slice::from_raw_parts(self.0.start.cast(), self.0.bytes) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the whole mapping, writable and initialised, and this value is held exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.start.cast(), self.0.bytes) }
    }
}
