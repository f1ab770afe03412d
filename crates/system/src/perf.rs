//! Hardware counters: `perf_event_open`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use tiermark_model::CpuId;

/// `struct perf_event_attr` of Linux 6.1 and later, whose last field is `config3`. Older kernels take its first part,
/// and the whole if what they do not know is 0.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    /// Bit fields: none is set, so that the counter counts at once, and none of the `exclude_*` bits is.
    bits: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    /// From `branch_sample_type` to `sig_data`.
    sampling: [u64; 7],
    config3: u64,
}

/// Opens an event of all processes on one cpu, which counts from now on: `words` are `config`, `config1`, `config2` and
/// `config3`. It joins the group of `leader`, or leads a new one.
///
/// # Errors
/// The kernel's answer.
pub fn open_perf_event(
    kind: u32,
    words: [u64; 4],
    read_format: u64,
    cpu: CpuId,
    leader: Option<BorrowedFd<'_>>,
    flags: u64,
) -> io::Result<OwnedFd> {
    let [config, config1, config2, config3] = words;
    let size = u32::try_from(size_of::<Attributes>()).map_err(io::Error::other)?;
    let attributes = Attributes { kind, size, config, config1, config2, config3, read_format, ..Attributes::default() };
    let cpu = libc::c_int::try_from(cpu).map_err(io::Error::other)?;
    let leader = leader.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: the kernel reads `size` bytes of the attributes, which are all there, and writes at most `size` back.
    let fd = super::check(unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, cpu, leader, flags)
    })?;
    let fd = libc::c_int::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the call has just opened it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_are_those_of_the_kernel() {
        // PERF_ATTR_SIZE_VER8, and the places of config1 and config3.
        assert_eq!(size_of::<Attributes>(), 136);
        assert_eq!(std::mem::offset_of!(Attributes, config1), 56);
        assert_eq!(std::mem::offset_of!(Attributes, config3), 128);
    }
}
