//! Memory that several threads write at the same time.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::Mapping;

/// The right to use a mapping's words atomically. Whoever holds one has entered the mapping, and as long as anybody does,
/// nothing can touch it in any other way.
#[derive(Debug)]
pub(crate) struct SharedLines {
    mapping: Arc<Mapping>,
}

impl SharedLines {
    /// Enters a mapping.
    ///
    /// # Errors
    /// In words, when it holds a chain or kernels work on it.
    pub(crate) fn new(mapping: &Arc<Mapping>) -> Result<Self, String> {
        mapping.enter_shared()?;
        Ok(Self { mapping: Arc::clone(mapping) })
    }

    /// Bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.mapping.len()
    }

    /// The word at an offset.
    ///
    /// # Panics
    /// When it is not whole and inside the mapping.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: inside the mapping, aligned, initialised (anonymous memory), and alive as long as `self`; all who have
        // entered use atomic operations only, and nobody else touches the memory.
        unsafe { AtomicU64::from_ptr(self.mapping.at(offset, 8).cast()) }
    }

    /// Drops the line at an offset from every cache.
    pub(crate) fn flush(&self, offset: usize) {
        // SAFETY: one byte inside the mapping; what is stored stays as it is.
        unsafe { tiermark_kernels::cache::flush(self.mapping.at(offset, 1), 1) }
    }
}

impl Drop for SharedLines {
    fn drop(&mut self) {
        self.mapping.leave_shared();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn atomics_and_all_else_exclude_each_other() {
        let mapping = Arc::new(Mapping::reserve(8192, 4096).unwrap());
        let (first, second) = (SharedLines::new(&mapping).unwrap(), SharedLines::new(&mapping).unwrap());
        first.word(128).store(7, Ordering::Relaxed);
        second.flush(128);
        assert_eq!(second.word(128).load(Ordering::Relaxed), 7);
        assert!(mapping.enter(false).unwrap_err().contains("shared"));
        let filling = std::panic::catch_unwind(|| mapping.fill(0, 64, |words| words.fill(1)));
        assert!(filling.is_err());
        drop(first);
        assert!(mapping.enter(true).is_err());
        drop(second);
        mapping.enter(true).unwrap();
        assert!(SharedLines::new(&mapping).is_err());
        mapping.leave(true);
        mapping.fill(128, 8, |words| assert_eq!(words, [7]));
    }

    #[test]
    #[should_panic(expected = "8192+8 of 8192")]
    fn no_word_lies_outside() {
        let mapping = Arc::new(Mapping::reserve(8192, 4096).unwrap());
        SharedLines::new(&mapping).unwrap().word(8192);
    }
}
