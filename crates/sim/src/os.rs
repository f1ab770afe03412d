//! Times of a simulated kernel's primitives. Round figures of servers of the 2020s: shapes, not claims.

use tiermark_model::{Metric, OsCall, OsGroup, PageKind, PrimitiveInfo, Setup, ThreadSetup};

/// Time of an operation, and what it depends on.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Whatever its parameters, ns.
    ns: f64,
    /// Each byte, ns.
    byte: f64,
    /// Each page table entry of the memory that the process holds, or that it has written, ns.
    page: f64,
    /// Each byte of the page that it makes, ns.
    page_byte: f64,
    /// Each other cpu that takes part or looks on, ns.
    other: f64,
}

const fn fixed(ns: f64) -> Cost {
    Cost { ns, byte: 0.0, page: 0.0, page_byte: 0.0, other: 0.0 }
}

/// Time of a kernel to copy or zero, ns a byte.
const COPY: f64 = 1.0 / 8.0;
/// Another cpu, woken.
const WAKE: f64 = 2_000.0;

/// By the beginning of the name, the first that fits; else by group. Sleeps: the delay beyond the requested time, slack
/// and wake-up.
const NAMED: [(&str, Cost); 29] = [
    ("clock_gettime", fixed(20.0)),
    ("mmap+munmap", fixed(600.0)),
    ("open+close", fixed(500.0)),
    ("sleep 50us", fixed(54_000.0)),
    ("sleep 1ms", fixed(60_000.0)),
    ("fork+exit written", Cost { byte: 60.0 / 4096.0, ..fixed(60_000.0) }),
    ("fork+exit", Cost { page: 40.0, ..fixed(60_000.0) }),
    ("fork+exec tiny", fixed(250_000.0)),
    ("fork+exec", Cost { page: 40.0, ..fixed(500_000.0) }),
    ("posix_spawn", fixed(400_000.0)),
    ("vfork", fixed(30_000.0)),
    ("thread create", fixed(15_000.0)),
    ("swapcontext", fixed(400.0)),
    // Pages are freed, and all cpus of the process flush their TLBs.
    ("munmap", Cost { byte: 30.0 / 4096.0, other: 300.0, ..fixed(700.0) }),
    ("zeroing", Cost { byte: COPY, ..fixed(500.0) }),
    ("fault mTHP", Cost { byte: COPY, ..fixed(500.0) }),
    // Of a huge page only the base page that is written is copied.
    ("copy-on-write", fixed(1_000.0)),
    ("major fault", fixed(80_000.0)),
    ("swap-in", fixed(50_000.0)),
    ("userfaultfd", Cost { other: WAKE, ..fixed(5_000.0) }),
    ("malloc", fixed(20.0)),
    ("getpid by libc", fixed(60.0)),
    ("sigaction", fixed(150.0)),
    ("signal to itself", fixed(800.0)),
    ("file create", Cost { byte: COPY, ..fixed(3_000.0) }),
    ("file delete", fixed(2_000.0)),
    ("shell", fixed(900_000.0)),
    ("mmap read", Cost { byte: 60.0 / 4096.0, ..fixed(1_500.0) }),
    ("tcp loopback connect", fixed(20_000.0)),
];

/// Time of an operation of a group that has no entry of its own.
fn of_group(group: OsGroup) -> Cost {
    match group {
        OsGroup::Syscalls => Cost { byte: COPY, ..fixed(100.0) },
        OsGroup::Processes => fixed(40_000.0),
        OsGroup::Switches => Cost { other: WAKE, ..fixed(1_500.0) },
        OsGroup::Channels => Cost { byte: COPY, other: WAKE, ..fixed(1_000.0) },
        OsGroup::Faults => Cost { page_byte: COPY, ..fixed(500.0) },
        OsGroup::Numa => Cost { byte: COPY, ..fixed(1_000.0) },
        OsGroup::Libc => Cost { byte: 1.0 / 20.0, ..fixed(10.0) },
        OsGroup::Arithmetic => fixed(1.0),
    }
}

/// Work per ns of a call on a cpu: operations, or useful bytes.
pub(super) fn pace(call: &OsCall, info: &PrimitiveInfo, setup: &Setup, thread: &ThreadSetup) -> f64 {
    let named = NAMED.iter().find(|(beginning, _)| info.id.0.starts_with(beginning));
    let cost = named.map_or_else(|| of_group(info.group), |(_, cost)| *cost);
    let bytes = call.bytes.unwrap_or(0) as f64;
    let entries = setup.regions.get(thread.region).map_or(0.0, |r| r.bytes.0 as f64 / page_bytes(r.page));
    let page = call.page.map_or(0.0, page_bytes);
    let others = call.others.iter().filter(|cpu| **cpu != thread.cpu).count() as f64;
    let ns = cost.ns + bytes * cost.byte + entries * cost.page + page * cost.page_byte + others * cost.other;
    match info.metric {
        Metric::Latency => 1.0 / ns,
        Metric::Bandwidth => bytes.max(1.0) / ns,
    }
}

fn page_bytes(page: PageKind) -> f64 {
    match page {
        PageKind::Base => 4096.0,
        PageKind::Thp => f64::from(2 << 20),
        PageKind::Huge(bytes) => bytes as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Layout, MIB, RegionSetup, Role, testing};

    /// ns of an operation of a process that holds so much memory.
    fn ns(id: &str, group: OsGroup, held: (u64, PageKind), change: impl Fn(&mut OsCall)) -> f64 {
        let mut call = OsCall::new(id.into());
        change(&mut call);
        let info = PrimitiveInfo {
            id: id.into(),
            group,
            metric: Metric::Latency,
            text: String::new(),
            here: None,
            sweeps: Vec::new(),
            refusal: None,
        };
        let region = RegionSetup { nodes: [0].into_iter().collect(), ..testing::region(held.0, held.1, Layout::Data) };
        let thread = ThreadSetup::new(2, Role::Os(call.clone()), 0);
        let setup = Setup { regions: vec![region], threads: vec![thread.clone()], seed: 1 };
        1.0 / pace(&call, &info, &setup, &thread)
    }

    const LITTLE: (u64, PageKind) = (MIB, PageKind::Base);
    const MUCH: (u64, PageKind) = (256 * MIB, PageKind::Base);

    #[test]
    fn only_what_copies_page_tables_depends_on_the_memory_held() {
        let grows = |id: &str| {
            let of = |held| ns(id, OsGroup::Processes, held, |_| {});
            of(MUCH) / of(LITTLE)
        };
        for id in ["fork+exit", "fork+exec"] {
            assert!(grows(id) > 5.0, "{id}");
        }
        for id in ["vfork+exit", "posix_spawn", "thread create+join", "swapcontext pair", "fork+exec tiny"] {
            assert!((grows(id) - 1.0).abs() < 1e-9, "{id}");
        }
        let huge = ns("fork+exit", OsGroup::Processes, (256 * MIB, PageKind::Thp), |_| {});
        assert!(huge < ns("fork+exit", OsGroup::Processes, (4 * MIB, PageKind::Base), |_| {}));
        let written = |mib| ns("fork+exit written", OsGroup::Processes, LITTLE, |call| call.bytes = Some(mib * MIB));
        assert!(written(256) > 5.0 * written(1));
    }

    #[test]
    fn what_is_not_touched_takes_no_time() {
        let of = |id: &str, group, change: &dyn Fn(&mut OsCall)| ns(id, group, LITTLE, change);
        let sized = |id, group, bytes| of(id, group, &|call| call.bytes = Some(bytes));
        assert!((sized("malloc+free", OsGroup::Libc, MIB) - sized("malloc+free", OsGroup::Libc, 64)).abs() < 1e-9);
        // A huge page is zeroed when it is made, and copied by base pages when it is shared.
        let paged = |id: &str, page| of(id, OsGroup::Faults, &|call| call.page = Some(page));
        assert!(paged("fault anonymous", PageKind::Thp) > 100.0 * paged("fault anonymous", PageKind::Base));
        assert!((paged("copy-on-write", PageKind::Thp) - paged("copy-on-write", PageKind::Base)).abs() < 1e-9);
    }

    #[test]
    fn the_own_cpu_is_no_other_that_has_to_be_woken() {
        let with =
            |others: &[u32]| ns("pipe ping-pong", OsGroup::Channels, LITTLE, |call| call.others = others.to_vec());
        assert!((with(&[2]) - with(&[])).abs() < 1e-9);
        assert!(with(&[3]) > with(&[2]));
        let beside = |others: &[u32]| ns("munmap", OsGroup::Faults, LITTLE, |call| call.others = others.to_vec());
        assert!(beside(&[0, 1, 3]) > beside(&[0]));
    }
}
