//! The system call that opens counters, as a trait: tests have a stand-in that records what the kernel would get.

use std::io;
use std::time::Duration;

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
