//! Memory that operations of the kernel allocate themselves, beside a step's regions, and how long that takes:
//! estimates from sizes.

use crate::os::{OsCall, OsGroup};
use crate::page::PageKind;
use crate::plan::Step;
use crate::setup::Role;
use crate::units::Metric;
use crate::units::{Bytes, MIB};

/// Bytes a second at which base pages and huge pages are faulted in and written by one thread (measured on a Zen 5
/// guest: 0.4 to 0.6, 0.8).
const FILL_BASE: f64 = 0.5e9;
const FILL_HUGE: f64 = 0.8e9;
/// Starting another process or thread, and hearing that it is ready (measured: 0.3 to 1 ms).
const PARTNER_SECONDS: f64 = 1e-3;
/// A shot has so many blocks, each of one operation at least, if they take no longer than this.
const BLOCKS: f64 = 5.0;
const SHOT_MOST: f64 = 0.2;
/// Bytes a second at which a parent's pages are written again and its fork copies them (measured: 256 MiB in 44 ms).
const WRITE_AND_FORK: f64 = 6e9;
/// Bytes a second at which a mapping is populated and unmapped (measured: 32 MiB in 18 ms).
const MAP_AND_UNMAP: f64 = 1.8e9;

/// Memory that is faulted in before it is taken away again, at most: 16 MiB of base pages (as much again where they are
/// copied from a file), 32 MiB of huge ones, or one of them where that is larger.
const FAULTED: u64 = 32 * MIB;

/// The call of a step, and its group.
fn call(step: &Step) -> Option<(&OsCall, OsGroup)> {
    let group = OsGroup::ALL.into_iter().find(|group| step.labels.group() == Some(group.name()))?;
    step.setup.threads.iter().find_map(|thread| match &thread.role {
        Role::Os(call) => Some((call, group)),
        _ => None,
    })
}

/// Bytes of the memory that a call's body fills for itself.
fn filled_bytes(call: &OsCall, group: OsGroup, metric: Metric) -> u64 {
    let bytes = call.bytes.unwrap_or(0);
    match group {
        // Both sides have a block; what moves between nodes lies on both for a moment.
        OsGroup::Channels | OsGroup::Numa => 2 * bytes + call.capacity.unwrap_or(0),
        OsGroup::Switches => call.count.unwrap_or(2) * call.working_set.unwrap_or(0),
        // Source and destination of a copy or fill; memory from malloc is never touched.
        OsGroup::Libc if metric == Metric::Bandwidth => 2 * bytes,
        OsGroup::Libc | OsGroup::Arithmetic => 0,
        OsGroup::Syscalls | OsGroup::Processes | OsGroup::Faults => bytes,
    }
}

/// Bytes that its operations bring besides, shot by shot: no time is taken for them beforehand.
fn faulted_bytes(call: &OsCall, group: OsGroup) -> u64 {
    match (group, call.page) {
        (OsGroup::Faults, Some(PageKind::Huge(bytes))) => FAULTED.max(bytes),
        (OsGroup::Faults, _) => FAULTED,
        _ => 0,
    }
}

impl Step {
    /// Memory that its operations make for themselves, about, beside the regions.
    pub fn operation_bytes(&self) -> Bytes {
        Bytes(
            call(self)
                .map_or(0, |(call, group)| filled_bytes(call, group, self.metric).max(faulted_bytes(call, group))),
        )
    }

    /// All memory that it takes, about.
    pub fn held_bytes(&self) -> Bytes {
        Bytes(self.setup.total_bytes().0.saturating_add(self.operation_bytes().0))
    }

    /// Seconds that an allocation takes beside its region and its shots: filling what operations need, and starting
    /// others.
    pub(crate) fn making_seconds(&self) -> f64 {
        let Some((call, group)) = call(self) else { return 0.0 };
        let rate = match call.page {
            Some(page) if page != PageKind::Base => FILL_HUGE,
            // Zeroing is of huge pages.
            None if group == OsGroup::Faults && self.metric == Metric::Bandwidth => FILL_HUGE,
            _ => FILL_BASE,
        };
        // Two sides fill theirs at the same time.
        let sides = if matches!(group, OsGroup::Channels | OsGroup::Switches) { 2.0 } else { 1.0 };
        let filling = filled_bytes(call, group, self.metric) as f64 / rate / sides;
        // Of a ring of processes all but one are started.
        let ring = call.count.filter(|_| group == OsGroup::Switches).map_or(0, |count| count.saturating_sub(1));
        filling + (call.others.len() as u64).max(ring) as f64 * PARTNER_SECONDS
    }

    /// Seconds of a shot of operations that are long; 0 for others.
    pub(crate) fn operation_seconds(&self) -> f64 {
        let Some((call, group)) = call(self) else { return 0.0 };
        let bytes = call.bytes.unwrap_or(0) as f64;
        let operation = match group {
            OsGroup::Processes => bytes / WRITE_AND_FORK,
            OsGroup::Faults if self.metric == Metric::Latency => bytes / MAP_AND_UNMAP,
            _ => 0.0,
        };
        (BLOCKS * operation).min(SHOT_MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::plan::StopRule;
    use crate::setup::{Layout, Setup, ThreadSetup};
    use crate::testing;

    fn step(group: OsGroup, metric: Metric, change: impl FnOnce(&mut OsCall)) -> Step {
        let mut call = OsCall::new("x".into());
        change(&mut call);
        let region = testing::region(4096, PageKind::Base, Layout::Data);
        let stop = StopRule { precision: 0.05, allocations: 3, min_visits: 3, max_visits: 6, shot_seconds: 0.016 };
        let threads = vec![ThreadSetup::new(0, Role::Os(call), 0)];
        let labels = Labels::new().with_group(group);
        let setup = Setup { regions: vec![region], threads, seed: 0 };
        Step { labels, setup, stop, ..testing::step("a", metric) }
    }

    /// One allocation and two shots on it, as these were timed.
    fn allocation_seconds(step: &Step) -> f64 {
        step.prepare_seconds() + 2.0 * step.visit_seconds()
    }

    #[test]
    fn a_large_block_is_on_both_sides_and_takes_its_time_to_be_made() {
        let small = step(OsGroup::Channels, Metric::Bandwidth, |call| call.bytes = Some(4096));
        let large = step(OsGroup::Channels, Metric::Bandwidth, |call| {
            (call.bytes, call.capacity, call.others) = (Some(128 * MIB), Some(65_536), vec![1]);
        });
        assert_eq!(large.operation_bytes(), Bytes(256 * MIB + 65_536));
        assert_eq!(large.held_bytes(), Bytes(256 * MIB + 65_536 + 4096));
        // Measured: 0.32 s an allocation, 0.07 s of it shots, which here are shorter.
        let more = allocation_seconds(&large) - allocation_seconds(&small);
        assert!((0.2..0.4).contains(&more), "{more}");
    }

    #[test]
    fn operations_longer_than_a_shot_make_it_longer() {
        // Measured: 0.82 and 0.23 s.
        for (mib, least, most) in [(256, 0.6, 1.2), (64, 0.18, 0.35)] {
            let step = step(OsGroup::Processes, Metric::Latency, |call| call.bytes = Some(mib * MIB));
            assert!((least..most).contains(&allocation_seconds(&step)), "{mib}: {}", allocation_seconds(&step));
        }
        // Measured: 0.18 s.
        let munmap = step(OsGroup::Faults, Metric::Latency, |call| call.bytes = Some(32 * MIB));
        assert!((0.12..0.3).contains(&allocation_seconds(&munmap)), "{}", allocation_seconds(&munmap));
    }

    #[test]
    fn faults_hold_a_round_of_pages_whose_time_is_the_shots() {
        let made = |change: &dyn Fn(&mut OsCall)| {
            step(OsGroup::Faults, Metric::Latency, |call| change(call)).operation_bytes()
        };
        // A primitive without a sweep over sizes takes memory too.
        assert_eq!(made(&|_| ()), Bytes(32 * MIB));
        assert_eq!(made(&|call| call.bytes = Some(4096)), Bytes(32 * MIB));
        assert_eq!(made(&|call| call.bytes = Some(512 * MIB)), Bytes(512 * MIB));
        assert_eq!(made(&|call| call.page = Some(PageKind::Huge(1 << 30))), Bytes(1 << 30));
        assert_eq!(step(OsGroup::Faults, Metric::Latency, |_| ()).making_seconds(), 0.0);
        assert_eq!(step(OsGroup::Syscalls, Metric::Latency, |_| ()).operation_bytes(), Bytes(0));
    }

    #[test]
    fn what_nobody_touches_takes_nothing() {
        let malloc = step(OsGroup::Libc, Metric::Latency, |call| call.bytes = Some(64 * MIB));
        assert_eq!((malloc.operation_bytes(), malloc.making_seconds()), (Bytes(0), 0.0));
        let memcpy = step(OsGroup::Libc, Metric::Bandwidth, |call| call.bytes = Some(64 * MIB));
        assert_eq!(memcpy.operation_bytes(), Bytes(128 * MIB));
    }
}
