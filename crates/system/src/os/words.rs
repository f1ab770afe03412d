//! Words that a process shares with its children.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicU32;

use rustix::io;
use rustix::mm::{self, MapFlags, ProtFlags};

/// Bytes from one word to the next: two lines, since some cpus fetch lines in pairs.
const APART: usize = 128;
/// How many there are.
const WORDS: usize = 8;

/// A few words, zero at first, each on a line of its own; children made later share them.
#[derive(Debug)]
pub struct SharedWords(*mut c_void);

// SAFETY: the memory is only used by atomic operations, and lives until drop.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps them.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn map() -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping wherever the kernel likes overlaps nothing.
        unsafe { mm::mmap_anonymous(ptr::null_mut(), APART * WORDS, protection, MapFlags::SHARED) }.map(Self)
    }

    /// One of them.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < WORDS, "there are {WORDS} words");
        // SAFETY: inside the mapping, aligned, and only ever used as an atomic.
        unsafe { AtomicU32::from_ptr(self.0.cast::<u8>().add(index * APART).cast()) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made, once; no word is borrowed any more.
        let _ = unsafe { mm::munmap(self.0, APART * WORDS) };
    }
}
