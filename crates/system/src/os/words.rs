//! Words that a process shares with its children.

use std::sync::atomic::AtomicU32;

use rustix::io;
use rustix::mm::MapFlags;

use super::mapped::Mapped;

/// Bytes from one word to the next: two lines, since some cpus fetch lines in pairs.
const APART: usize = 128;
/// How many there are.
const WORDS: usize = 8;

/// A few words, zero at first, each on a line of its own; children made later share them.
#[derive(Debug)]
pub struct SharedWords(Mapped);

// SAFETY: the memory is only used by atomic operations, and lives until drop.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps them.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn map() -> io::Result<Self> {
        Mapped::open(APART * WORDS, MapFlags::SHARED).map(Self)
    }

    /// One of them.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < WORDS, "there are {WORDS} words");
        // SAFETY: inside the mapping, aligned, and only ever used as an atomic.
        unsafe { AtomicU32::from_ptr(self.0.start.cast::<u8>().add(index * APART).cast()) }
    }
}
