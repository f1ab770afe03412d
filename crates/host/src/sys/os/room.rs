//! A private anonymous mapping that nobody else knows of.

use std::ffi::c_void;
use std::ptr;

use rustix::io;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

/// A mapping, unmapped when it is dropped. Nothing points into it: its memory is only touched through its methods.
#[derive(Debug)]
pub(crate) struct Room {
    start: *mut c_void,
    bytes: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to this value alone, and any thread may touch or unmap it.
unsafe impl Send for Room {}

impl Room {
    /// Maps so many bytes; no page of them is there yet.
    pub(crate) fn map(bytes: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping wherever the kernel likes overlaps nothing.
        let start = unsafe { mm::mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) }?;
        Ok(Self { start, bytes, writable: true })
    }

    /// Writes one byte to every page.
    pub(crate) fn touch(&mut self, page_bytes: usize) {
        assert!(self.writable, "a room that may not be written");
        for at in (0..self.bytes).step_by(page_bytes.max(1)) {
            // SAFETY: inside the mapping, which is writable and nobody else's.
            unsafe { self.start.cast::<u8>().add(at).write_volatile(1) };
        }
    }

    /// Lets it be written, or only read.
    pub(crate) fn protect(&mut self, writable: bool) -> io::Result<()> {
        let flags = if writable { MprotectFlags::READ | MprotectFlags::WRITE } else { MprotectFlags::READ };
        // SAFETY: the whole mapping and nothing else; no reference into it exists.
        unsafe { mm::mprotect(self.start, self.bytes, flags) }?;
        self.writable = writable;
        Ok(())
    }

    /// Gives the pages back: they will be zeros when they are next touched.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        // SAFETY: no reference into the mapping exists, so that nobody sees the contents change.
        unsafe { mm::madvise(self.start, self.bytes, Advice::LinuxDontNeed) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made, once, and nothing points into it. It cannot fail for a whole mapping.
        let _ = unsafe { mm::munmap(self.start, self.bytes) };
    }
}
