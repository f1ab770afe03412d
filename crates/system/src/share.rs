//! Memory that several threads write at the same time.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{How, Mapping};

/// The right to use a mapping's words atomically. Each holder has entered the mapping, and as long as one exists, no
/// code can touch the memory in any other way.
#[derive(Debug)]
pub struct SharedLines {
    mapping: Arc<Mapping>,
    bytes: usize,
}

impl SharedLines {
    /// Enters the first `bytes` bytes of a mapping.
    ///
    /// # Errors
    /// A message: when it is shorter, holds a chain, or kernels work on it.
    pub fn new(mapping: &Arc<Mapping>, bytes: usize) -> Result<Self, String> {
        if bytes > mapping.bytes() {
            return Err(format!("{bytes} bytes of lines in {}", mapping.bytes()));
        }
        mapping.enter(How::Shares)?;
        Ok(Self { mapping: Arc::clone(mapping), bytes })
    }

    /// Bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The word at an offset.
    ///
    /// # Panics
    /// When it is not whole and inside the mapping.
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: inside the mapping, aligned, initialised (anonymous memory), and alive as long as `self`; all holders
        // use atomic operations only, and no other code touches the memory.
        unsafe { AtomicU64::from_ptr(self.mapping.at(offset, 8).cast()) }
    }

    /// Drops the line at an offset from every cache.
    #[inline]
    pub fn flush(&self, offset: usize) {
        // SAFETY: one byte inside the mapping; what is stored stays as it is.
        unsafe { tiermark_kernels::cache::flush(self.mapping.at(offset, 1), 1) }
    }
}

impl Drop for SharedLines {
    fn drop(&mut self) {
        self.mapping.leave(How::Shares);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn atomics_and_all_else_exclude_each_other() {
        let mapping = Arc::new(Mapping::reserve(8192, 4096).unwrap());
        let enter = || SharedLines::new(&mapping, 8192);
        let (first, second) = (enter().unwrap(), enter().unwrap());
        first.word(128).store(7, Ordering::Relaxed);
        second.flush(128);
        assert_eq!(second.word(128).load(Ordering::Relaxed), 7);
        assert!(mapping.enter(How::Reads).unwrap_err().contains("shared"));
        let filling = std::panic::catch_unwind(|| mapping.fill(0, 64, |words| words.fill(1)));
        assert!(filling.is_err());
        drop(first);
        assert!(mapping.enter(How::Writes).is_err());
        drop(second);
        mapping.enter(How::Writes).unwrap();
        assert!(enter().is_err() && SharedLines::new(&mapping, 8193).is_err());
        mapping.leave(How::Writes);
        mapping.fill(128, 8, |words| assert_eq!(words, [7]));
    }

    #[test]
    #[should_panic(expected = "8192+8 of 8192")]
    fn no_word_lies_outside() {
        let mapping = Arc::new(Mapping::reserve(8192, 4096).unwrap());
        SharedLines::new(&mapping, 8192).unwrap().word(8192);
    }
}
