//! What a simulated kernel takes for its primitives. Round figures of servers of the 2020s: shapes, not claims.

use tiermark_model::{Metric, OsCall, OsGroup, PageKind, PrimitiveInfo, Setup};

/// An operation of each group, ns, whatever its parameters.
fn base_ns(group: OsGroup) -> f64 {
    match group {
        OsGroup::Syscalls => 100.0,
        OsGroup::Processes => 60_000.0,
        OsGroup::Switches => 1_500.0,
        OsGroup::Channels => 1_000.0,
        OsGroup::Faults => 500.0,
        OsGroup::Numa => 1_000.0,
        OsGroup::Libc => 10.0,
    }
}

/// What a kernel copies, bytes a ns.
const COPY: f64 = 8.0;
/// What a page of the process's own adds to making a child, ns.
const PAGE_NS: f64 = 40.0;
/// What each other cpu that the process runs on adds, ns.
const OTHER_NS: f64 = 200.0;

/// Work per ns of a call: operations, or useful bytes.
pub(super) fn pace(call: &OsCall, info: &PrimitiveInfo, setup: &Setup, region: usize) -> f64 {
    let bytes = call.bytes.unwrap_or(0) as f64;
    let pages = setup.regions.get(region).map_or(0.0, |r| match r.page {
        PageKind::Base => r.bytes.0 as f64 / 4096.0,
        PageKind::Thp => r.bytes.0 as f64 / f64::from(2 << 20),
        PageKind::Huge(page) => r.bytes.0 as f64 / page as f64,
    });
    let held = if info.group == OsGroup::Processes { pages * PAGE_NS } else { 0.0 };
    let ns = base_ns(info.group) + bytes / COPY + held + call.others.len() as f64 * OTHER_NS;
    match info.metric {
        Metric::Latency => 1.0 / ns,
        Metric::Bandwidth => bytes.max(1.0) / ns,
    }
}
