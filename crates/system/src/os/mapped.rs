//! A mapping that is unmapped when it is dropped.

use std::ffi::c_void;
use std::ptr;

use rustix::io;
use rustix::mm::{self, MapFlags, ProtFlags};

/// Anonymous memory of its own, zeros at first, into which nothing points that outlives it.
#[derive(Debug)]
pub(super) struct Mapped {
    pub(super) start: *mut c_void,
    pub(super) bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and any thread may touch or unmap it.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Memory to read and write, wherever the kernel likes; children share it, or have copies.
    pub(super) fn open(bytes: usize, sharing: MapFlags) -> io::Result<Self> {
        Self::new(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, sharing)
    }

    /// Memory that can neither be read nor written.
    pub(super) fn closed(bytes: usize) -> io::Result<Self> {
        Self::new(ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::PRIVATE)
    }

    /// Where it is wished, if that is free, and wherever the kernel likes otherwise.
    #[inline]
    pub(super) fn new(wish: *mut c_void, bytes: usize, protection: ProtFlags, sharing: MapFlags) -> io::Result<Self> {
        // SAFETY: a new mapping overlaps nothing: the address is a wish only.
        let start = unsafe { mm::mmap_anonymous(wish, bytes, protection, sharing) }?;
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made, once, and nothing points into it. It cannot fail for a whole mapping.
        let _ = unsafe { mm::munmap(self.start, self.bytes) };
    }
}
