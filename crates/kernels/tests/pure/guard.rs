//! Memory between guard pages: touching a byte beside it ends the test with a fault.

/// A buffer that lies flush against an inaccessible page.
pub(crate) struct Guarded {
    map: *mut libc::c_void,
    map_bytes: usize,
    start: *mut u64,
    words: usize,
}

/// Which side of the buffer touches the guard page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// The byte before the buffer is inaccessible.
    Front,
    /// The byte after it is.
    Back,
}

impl Guarded {
    /// A buffer of `bytes` (a multiple of 8) with guard pages on both sides, zeroed.
    pub(crate) fn new(bytes: usize, flush: Flush) -> Self {
        // 64 KiB is the largest base page in use; guards of that size hold on every kernel.
        let guard = 64 << 10;
        let body = bytes.next_multiple_of(guard);
        let map_bytes = body + 2 * guard;
        // SAFETY: a fresh private mapping; nothing else refers to it.
        let map = unsafe {
            libc::mmap(std::ptr::null_mut(), map_bytes, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        assert_ne!(map, libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
        let inner = map.wrapping_byte_add(guard);
        // SAFETY: the range lies inside the mapping just made.
        let rc = unsafe { libc::mprotect(inner, body, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(rc, 0, "mprotect: {}", std::io::Error::last_os_error());
        let skip = if flush == Flush::Back { body - bytes } else { 0 };
        Self { map, map_bytes, start: inner.wrapping_byte_add(skip).cast(), words: bytes / 8 }
    }

    pub(crate) fn ptr(&mut self) -> *mut u8 {
        self.start.cast()
    }

    pub(crate) fn words(&mut self) -> &mut [u64] {
        // SAFETY: `start` and `words` describe readable and writable memory that this value owns.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.words) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, unmapped once.
        unsafe { libc::munmap(self.map, self.map_bytes) };
    }
}
