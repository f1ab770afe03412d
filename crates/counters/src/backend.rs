//! The system call that opens counters, as a trait: tests have a stand-in that records what the kernel would get.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use tiermark_model::CpuId;

use crate::format::Words;

/// `PERF_FLAG_FD_CLOEXEC`: programs that are started do not inherit counters.
pub const OPEN_FLAGS: u64 = 8;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | GROUP`: whether a counter had its turn all the time, and all
/// counters of a group at one moment.
pub const READ_FORMAT: u64 = 1 | 2 | 8;

/// An event as `perf_event_open` takes it: of all processes (`pid` is -1), on one cpu, without sampling, and without
/// any of the `exclude_*` bits, which uncore PMUs refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerfEvent {
    /// Number of the type of the event source.
    pub kind: u32,
    /// `config`, `config1`, `config2`, `config3`.
    pub words: Words,
    /// The cpu, which also says which socket's box is meant.
    pub cpu: CpuId,
    /// [`READ_FORMAT`].
    pub read_format: u64,
    /// [`OPEN_FLAGS`].
    pub flags: u64,
}

/// A group of opened counters, by its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub usize);

/// The counts of a group at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupCounts {
    /// Time since the group was opened, in nanoseconds.
    pub enabled_ns: u64,
    /// Time during which its counters counted, in nanoseconds. Less where the box has fewer counters than were asked
    /// for.
    pub running_ns: u64,
    /// A count for each event, in the order in which they were opened.
    pub counts: Vec<u64>,
}

/// Opens counters and reads them.
pub trait Backend {
    /// Opens an event, which counts from now on: as the leader of a new group, or as one more of a group.
    ///
    /// # Errors
    /// The kernel's answer. A group to which the event could not be added stays as it was.
    fn open(&mut self, event: &PerfEvent, group: Option<GroupId>) -> io::Result<GroupId>;

    /// The counts of a group.
    ///
    /// # Errors
    /// The kernel's answer; `UnexpectedEof` if the kernel no longer counts the group.
    fn read(&mut self, group: GroupId) -> io::Result<GroupCounts>;

    /// Time since any fixed moment.
    fn now(&self) -> Duration;
}

/// Opens an event of all processes on a cpu, in the group of another or as the leader of a new one.
pub type OpenEvent = fn(&PerfEvent, Option<BorrowedFd<'_>>) -> io::Result<OwnedFd>;

/// Most counters of a group: the largest boxes have 16.
const MOST_MEMBERS: usize = 64;

/// The counters of the kernel, by a function that makes the system call.
#[derive(Debug)]
pub struct KernelCounters {
    open: OpenEvent,
    groups: Vec<Vec<File>>,
    from: Instant,
}

impl KernelCounters {
    /// Without counters yet.
    pub fn new(open: OpenEvent) -> Self {
        Self { open, groups: Vec::new(), from: Instant::now() }
    }
}

impl Backend for KernelCounters {
    fn open(&mut self, event: &PerfEvent, group: Option<GroupId>) -> io::Result<GroupId> {
        let Some(GroupId(at)) = group else {
            self.groups.push(vec![(self.open)(event, None)?.into()]);
            return Ok(GroupId(self.groups.len() - 1));
        };
        let members = self.groups.get_mut(at).filter(|members| members.len() < MOST_MEMBERS);
        let members = members.ok_or(io::ErrorKind::InvalidInput)?;
        let counter = (self.open)(event, members.first().map(File::as_fd))?;
        members.push(counter.into());
        Ok(GroupId(at))
    }

    fn read(&mut self, group: GroupId) -> io::Result<GroupCounts> {
        let members = self.groups.get_mut(group.0).ok_or(io::ErrorKind::InvalidInput)?;
        let count = members.len();
        let leader = members.first_mut().ok_or(io::ErrorKind::InvalidInput)?;
        // The number of counters, both times, and the counts.
        let mut bytes = vec![0; 8 * (3 + count)];
        leader.read_exact(&mut bytes)?;
        let words: Vec<u64> =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect();
        if words[0] != count as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(GroupCounts { enabled_ns: words[1], running_ns: words[2], counts: words[3..].to_vec() })
    }

    fn now(&self) -> Duration {
        self.from.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cpu clock of the kernel's software source (`PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`), on cpu 0.
    const CLOCK: PerfEvent = PerfEvent { kind: 1, words: [0; 4], cpu: 0, read_format: READ_FORMAT, flags: OPEN_FLAGS };

    fn kernel() -> KernelCounters {
        KernelCounters::new(|event, leader| {
            let PerfEvent { kind, words, cpu, read_format, flags } = *event;
            tiermark_system::open_perf_event(kind, words, read_format, cpu, leader, flags)
        })
    }

    #[test]
    fn counts_or_says_why_not() {
        let mut backend = kernel();
        let group = match backend.open(&CLOCK, None) {
            Ok(group) => group,
            // Not allowed here, or there is no such call.
            Err(error) => {
                assert!(error.raw_os_error().is_some(), "{error}");
                return;
            }
        };
        assert_eq!(backend.open(&CLOCK, Some(group)).unwrap(), group);
        let before = backend.read(group).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let after = backend.read(group).unwrap();
        assert_eq!(after.counts.len(), 2);
        assert!(after.enabled_ns > before.enabled_ns && after.running_ns <= after.enabled_ns, "{before:?} {after:?}");
        assert!(after.counts.iter().zip(&before.counts).all(|(after, before)| after > before));
    }

    /// An event source that the kernel numbers at boot: the time-stamp counter of `msr`, which guests have too.
    #[test]
    fn a_source_numbered_by_the_kernel_counts() {
        let source = "/sys/bus/event_source/devices/msr";
        let text = |file: &str| std::fs::read_to_string(format!("{source}/{file}")).ok();
        let (Some(kind), Some("event=0x00")) = (text("type"), text("events/tsc").as_deref().map(str::trim)) else {
            return;
        };
        let event = PerfEvent { kind: kind.trim().parse().unwrap(), ..CLOCK };
        let mut backend = kernel();
        let Ok(group) = backend.open(&event, None) else { return };
        let before = backend.read(group).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let after = backend.read(group).unwrap();
        // 5 ms at 100 MHz, the slowest of such counters.
        assert!(after.counts[0] - before.counts[0] > 500_000, "{before:?} {after:?}");
    }

    #[test]
    fn what_the_kernel_lacks_is_an_error() {
        let mut backend = kernel();
        let error = backend.open(&PerfEvent { kind: 0xffff, ..CLOCK }, None).unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        assert!(backend.read(GroupId(0)).is_err() && backend.open(&CLOCK, Some(GroupId(3))).is_err());
    }
}
