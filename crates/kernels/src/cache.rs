//! Instructions that flush memory from the caches.

#[cfg(target_arch = "aarch64")]
use crate::arm::cache as arch;
#[cfg(target_arch = "x86_64")]
use crate::x86::cache as arch;

/// No line is shorter on any machine these kernels run on (x86-64: 64; Arm servers: 64, few 128). A line flushed twice
/// costs time, no more.
const LINE: usize = 64;

/// Flushes `bytes` bytes from every cache, dirty lines written back first. Returns when all lines are flushed.
///
/// # Safety
/// `bytes` bytes from `start` on are mapped.
pub unsafe fn flush(start: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        // SAFETY: inside what the caller promises.
        unsafe { arch::flush_line(start.add(offset)) };
    }
    arch::flush_done();
}

/// Waits until all stores before it, non-temporal ones too, have left the core: blocks of stores are not fenced one by
/// one, and what they leave on its way at the end of a visit is its work.
pub fn drain() {
    arch::flush_done();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushing_changes_nothing_that_is_stored() {
        let mut words = vec![0u64; 1000];
        crate::rng::fill_data(&mut words, 3);
        let before = words.clone();
        // SAFETY: the vector's own memory.
        unsafe { flush(words.as_ptr().cast(), words.len() * 8) };
        assert_eq!(words, before);
    }
}
