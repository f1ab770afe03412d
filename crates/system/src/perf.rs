//! Hardware counters: `perf_event_open`, and reading what it opened.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use tiermark_counters::{Backend, GroupCounts, GroupId, PerfEvent};

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

/// Most counters of a group: the largest boxes have 16.
const MOST_MEMBERS: usize = 64;

/// An opened counter. Its descriptor is closed when it is dropped.
#[derive(Debug)]
struct Counter(File);

/// Opens an event of all processes on one cpu.
fn open(event: &PerfEvent, leader: Option<&Counter>) -> io::Result<Counter> {
    let [config, config1, config2, config3] = event.words;
    let attributes = Attributes {
        kind: event.kind,
        size: u32::try_from(size_of::<Attributes>()).map_err(io::Error::other)?,
        config,
        config1,
        config2,
        config3,
        read_format: event.read_format,
        ..Attributes::default()
    };
    let cpu = libc::c_int::try_from(event.cpu).map_err(io::Error::other)?;
    let leader = leader.map_or(-1, |leader| leader.0.as_raw_fd());
    // SAFETY: the kernel reads `size` bytes of the attributes, which are all there, and writes at most `size` back.
    let fd = super::check(unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, cpu, leader, event.flags)
    })?;
    let fd = libc::c_int::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the call has just opened it, and nothing else owns it.
    Ok(Counter(unsafe { OwnedFd::from_raw_fd(fd) }.into()))
}

/// The counters of the kernel.
#[derive(Debug)]
pub struct PerfBackend {
    groups: Vec<Vec<Counter>>,
    from: Instant,
}

impl PerfBackend {
    /// Without counters yet.
    pub fn new() -> Self {
        Self { groups: Vec::new(), from: Instant::now() }
    }
}

impl Default for PerfBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for PerfBackend {
    fn open(&mut self, event: &PerfEvent, group: Option<GroupId>) -> io::Result<GroupId> {
        let Some(GroupId(at)) = group else {
            self.groups.push(vec![open(event, None)?]);
            return Ok(GroupId(self.groups.len() - 1));
        };
        let members = self.groups.get_mut(at).filter(|members| members.len() < MOST_MEMBERS);
        let members = members.ok_or(io::ErrorKind::InvalidInput)?;
        let counter = open(event, members.first())?;
        members.push(counter);
        Ok(GroupId(at))
    }

    fn read(&mut self, group: GroupId) -> io::Result<GroupCounts> {
        let members = self.groups.get_mut(group.0).ok_or(io::ErrorKind::InvalidInput)?;
        let count = members.len();
        let leader = members.first_mut().ok_or(io::ErrorKind::InvalidInput)?;
        // The number of counters, both times, and the counts.
        let mut bytes = vec![0; 8 * (3 + count)];
        leader.0.read_exact(&mut bytes)?;
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
    use tiermark_counters::{OPEN_FLAGS, READ_FORMAT};

    use super::*;

    /// The cpu clock of the kernel's software source (`PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`), on cpu 0.
    const CLOCK: PerfEvent = PerfEvent { kind: 1, words: [0; 4], cpu: 0, read_format: READ_FORMAT, flags: OPEN_FLAGS };

    #[test]
    fn the_attributes_are_those_of_the_kernel() {
        // PERF_ATTR_SIZE_VER8, and the places of config1 and config3.
        assert_eq!(size_of::<Attributes>(), 136);
        assert_eq!(std::mem::offset_of!(Attributes, config1), 56);
        assert_eq!(std::mem::offset_of!(Attributes, config3), 128);
    }

    #[test]
    fn counts_or_says_why_not() {
        let mut backend = PerfBackend::new();
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
        let mut backend = PerfBackend::new();
        let Ok(group) = backend.open(&event, None) else { return };
        let before = backend.read(group).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let after = backend.read(group).unwrap();
        // 5 ms at 100 MHz, the slowest of such counters.
        assert!(after.counts[0] - before.counts[0] > 500_000, "{before:?} {after:?}");
    }

    #[test]
    fn what_the_kernel_lacks_is_an_error() {
        let mut backend = PerfBackend::new();
        let error = backend.open(&PerfEvent { kind: 0xffff, ..CLOCK }, None).unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        assert!(backend.read(GroupId(0)).is_err() && backend.open(&CLOCK, Some(GroupId(3))).is_err());
    }
}
