//! Threads: where they run and what the system did to them.

use std::io;
use std::mem::MaybeUninit;

use tiermark_model::{CpuId, IdSet, NodeId};

use crate::check;

/// Nodes of a mask that the kernel fills: more than any is built for, and it refuses masks shorter than its own with
/// EINVAL.
const MOST_NODES: usize = 1024;

/// What the system counted for the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
}

/// The cpus the calling thread may run on, however many the kernel knows.
pub fn affinity() -> io::Result<IdSet> {
    // 1,024 cpus at first, like the C library; the kernel refuses masks shorter than its own with EINVAL.
    let mut words = vec![0u64; 16];
    loop {
        // SAFETY: the mask has the length given.
        let got = check(unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words.len() * 8, words.as_mut_ptr()) });
        match got {
            Ok(bytes) => return Ok(IdSet::from_words(&words[..(bytes as usize).div_ceil(8)])),
            // 2^20 cpus: more than any kernel is built for.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words.len() < 1 << 14 => {
                words = vec![0; words.len() * 2];
            }
            Err(error) => return Err(error),
        }
    }
}

/// The nodes the calling thread may take memory from.
pub fn allowed_nodes() -> io::Result<IdSet> {
    // MPOL_F_MEMS_ALLOWED is 1 << 2.
    let mut words = [0u64; MOST_NODES / 64];
    let none = std::ptr::null_mut::<libc::c_int>();
    let no_address = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the mask has the length given; with this flag and no address the call only fills the mask.
    check(unsafe {
        libc::syscall(libc::SYS_get_mempolicy, none, words.as_mut_ptr(), words.len() * 64, no_address, 1 << 2)
    })?;
    Ok(IdSet::from_words(&words))
}

/// Pins the calling thread to a cpu.
pub fn pin(cpu: CpuId) -> io::Result<()> {
    let mask = IdSet::from_iter([cpu]);
    let words = mask.words();
    // SAFETY: the mask has the length given.
    check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(words.as_slice()), words.as_ptr()) })
        .map(drop)
}

/// The rule by which a thread takes new pages: one it inherited (numactl sets one), or one node only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRule {
    /// With its flags.
    mode: libc::c_int,
    /// Nodes, whole words; empty where the mode has none.
    nodes: Vec<u64>,
}

impl PageRule {
    /// That of the calling thread.
    pub fn now() -> io::Result<Self> {
        let (mut mode, mut nodes) = (libc::MPOL_DEFAULT, [0u64; MOST_NODES / 64]);
        let no_address = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: room for a mode, and the mask has the length given; without flags and address the call only fills
        // both.
        check(unsafe {
            libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, nodes.as_mut_ptr(), MOST_NODES, no_address, 0)
        })?;
        let used = nodes.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        Ok(Self { mode, nodes: nodes[..used].to_vec() })
    }

    /// From one node only.
    pub fn only(node: NodeId) -> Self {
        Self::among(&IdSet::from_iter([node]))
    }

    /// From these nodes only.
    pub fn among(nodes: &IdSet) -> Self {
        Self { mode: libc::MPOL_BIND, nodes: nodes.words() }
    }

    /// Page by page over one node: a rule that only tests use.
    #[cfg(any(test, feature = "testing"))]
    pub fn interleaved(node: NodeId) -> Self {
        Self { mode: libc::MPOL_INTERLEAVE, ..Self::only(node) }
    }

    /// Makes it that of the calling thread.
    pub fn apply(&self) -> io::Result<()> {
        // The kernel reads one bit less than it is given (set_mempolicy(2), "maxnode"), hence the + 1. An empty mask
        // has to be a null pointer: 0 bits less one would be too many.
        let (mask, bits) = match self.nodes.len() {
            0 => (std::ptr::null(), 0),
            words => (self.nodes.as_ptr(), words * 64 + 1),
        };
        // SAFETY: the mask has `bits - 1` bits, or is null.
        check(unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode, mask, bits) }).map(drop)
    }
}

/// The cpu the calling thread is on.
#[inline]
pub fn cpu_now() -> Option<CpuId> {
    // SAFETY: takes nothing.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Yields the cpu to other threads that are ready to run.
pub fn yield_now() {
    std::thread::yield_now();
}

/// A pause inside a spin loop.
#[inline]
pub fn relax() {
    std::hint::spin_loop();
}

/// What the system counted for the calling thread so far.
pub fn thread_usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: room for one rusage; all-zero is a valid one, should the call fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    Usage {
        involuntary_switches: count(usage.ru_nivcsw),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    }
}

/// Cpu time of the calling thread, ns.
pub fn thread_cpu_ns() -> f64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Cpu time of all threads of this process, ns.
pub fn process_cpu_ns() -> f64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The system's raw monotonic clock (never slewed), ns.
pub(crate) fn raw_clock_ns() -> f64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

fn clock_ns(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for one timespec. Both clocks exist on every Linux since 2.6.28; a failure would leave zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_a_thread_can_be_changed_and_put_back() {
        let Some(node) = allowed_nodes().ok().and_then(|nodes| nodes.first()) else { return };
        // A container may forbid it; nothing else may be wrong with the calls.
        let refused =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported);
        let before = match PageRule::now() {
            Ok(rule) => rule,
            Err(error) => return assert!(refused(&error), "{error}"),
        };
        for rule in [PageRule::only(node), PageRule::interleaved(node), before] {
            match rule.apply() {
                Ok(()) => assert_eq!(PageRule::now().unwrap(), rule),
                Err(error) => assert!(refused(&error), "{error}"),
            }
        }
    }
}
