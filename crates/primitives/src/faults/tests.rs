use rustix::process::{WaitId, WaitIdOptions, waitid};
use tiermark_model::{Cache, CpuModel, HugePool, KIB, MIB, Node, OsCall, Swap, System, testing};
use tiermark_system::testing::{gives_back, held, in_own_process};
use tiermark_system::{Clock, thread_usage};

use super::*;
use crate::OsWork;
use crate::body::Prepared;

/// The machine that the tests run on, as far as this group reads it.
fn machine() -> Machine {
    let huge = "/sys/kernel/mm/transparent_hugepage";
    let word = |path: String| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.split('[').nth(1)?.split(']').next()?.to_owned())
    };
    let names = std::fs::read_dir(huge).into_iter().flatten().flatten();
    let sizes = names.filter_map(|entry| {
        let kib = entry.file_name().to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?;
        Some((kib << 10, word(format!("{huge}/hugepages-{kib}kB/enabled"))?))
    });
    let pools = std::fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let pools = pools.filter_map(|entry| {
        let kib = entry.file_name().to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?;
        let free = std::fs::read_to_string(entry.path().join("free_hugepages")).ok()?.trim().parse().ok()?;
        Some(HugePool { page_bytes: kib << 10, total: free, free, ..HugePool::default() })
    });
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let swaps = swaps.lines().skip(1).map(|line| Swap { path: line.to_owned(), ..Swap::default() });
    let system = System {
        thp: word(format!("{huge}/enabled")),
        thp_bytes: std::fs::read_to_string(format!("{huge}/hpage_pmd_size")).ok().and_then(|s| s.trim().parse().ok()),
        mthp: sizes.collect(),
        swaps: swaps.collect(),
        ..System::default()
    };
    Machine { nodes: vec![Node { huge_pages: pools.collect(), ..Node::default() }], system, ..Machine::default() }
}

fn with_order<T>(call: &OsCall, job: impl FnOnce(&Order<'_>) -> T) -> T {
    let (clock, _) = Clock::choose(&CpuModel::default(), &System::default());
    let cpu = tiermark_system::affinity().unwrap().first().unwrap();
    job(&Order { call, cpu, clock: &clock })
}

fn row_of(id: &str) -> &'static Primitive {
    PRIMITIVES.iter().find(|row| row.id == id).unwrap()
}

/// Every point that the tests' machine has of a row, first values of everything but what is named.
fn calls(row: &Primitive, machine: &Machine) -> Vec<OsCall> {
    let cpus: Vec<u32> = tiermark_system::affinity().unwrap().iter().collect();
    let mut calls = vec![OsCall::new(row.id.into())];
    for sweep in (row.sweeps)(machine) {
        calls = calls.into_iter().flat_map(|call| with(&call, &sweep, &cpus)).collect();
    }
    calls
}

fn with(call: &OsCall, sweep: &Sweep, cpus: &[u32]) -> Vec<OsCall> {
    let call = || call.clone();
    match sweep {
        Sweep::Bytes(all) => all.iter().map(|bytes| OsCall { bytes: Some(*bytes), ..call() }).collect(),
        Sweep::Pages(all) => all.iter().map(|page| OsCall { page: Some(*page), ..call() }).collect(),
        Sweep::Bystanders => vec![call(), OsCall { others: cpus[1..].to_vec(), ..call() }],
        Sweep::Partner => {
            vec![OsCall { others: vec![cpus[cpus.len() - 1]], ..call() }, OsCall { others: vec![cpus[0]], ..call() }]
        }
        other => panic!("no such points: {other:?}"),
    }
}

#[test]
fn everything_is_given_back() {
    if !in_own_process("faults::tests::everything_is_given_back") {
        return;
    }
    let machine = machine();
    let mut ran = 0;
    for row in PRIMITIVES.iter().filter(|row| (row.refuse)(&machine).is_none()) {
        for call in calls(row, &machine) {
            let free = held();
            gives_back(row.id, || {
                with_order(&call, |order| {
                    let mut body = (row.make)(order).unwrap_or_else(|why| panic!("{call:?}: {why}"));
                    let least = body.least();
                    for times in [1, 5, 40] {
                        match body.run(times * least) {
                            // Other programs had the cpu of a thread beside it.
                            Ok(_) | Err(Failure::Starved { .. }) => {}
                            Err(why) => panic!("{call:?}: {why}"),
                        }
                    }
                    let children = if row.id == "copy-on-write" { 1 } else { 0 };
                    assert_eq!(held()[2] - free[2], children, "{call:?}");
                });
            });
            ran += 1;
        }
    }
    assert!(ran >= 12, "only {ran} points");
}

#[test]
fn each_operation_is_one_fault_by_the_systems_count() {
    // MAP_POPULATE has the whole process without huge pages, and whatever it starts meanwhile.
    if !in_own_process("faults::tests::each_operation_is_one_fault_by_the_systems_count") {
        return;
    }
    let faults = |id: &str, page: PageKind, times: u64| {
        let call = OsCall { page: Some(page), ..OsCall::new(id.into()) };
        with_order(&call, |order| {
            let mut body = (row_of(id).make)(order).unwrap_or_else(|why| panic!("{why}"));
            let before = thread_usage();
            body.run(times).unwrap();
            touch::since(before).minor_faults
        })
    };
    for id in ["fault anonymous", "fault shared", "fault file read", "fault file write", "fault file copy"] {
        // Within one round: nothing but the touches themselves.
        let n = faults(id, PageKind::Base, 200);
        assert!((200..=216).contains(&n), "{id}: {n} faults");
    }
    for id in ["MAP_POPULATE", "MADV_POPULATE_WRITE"] {
        let n = faults(id, PageKind::Base, 1024);
        assert!((1024..=1048).contains(&n), "{id}: {n} faults");
    }
}

#[test]
fn major_faults_that_are_measured_are_told_from_others() {
    if major::no_disk(&Machine::default()).is_some() {
        return;
    }
    with_order(&OsCall::new("major fault".into()), |order| {
        let mut body = major::from_file(order).unwrap();
        let (before, told) = (thread_usage(), body.major_faults());
        body.run(50).unwrap();
        let had = touch::since(before).major_faults;
        assert!(had >= 50 && body.major_faults() - told == had, "{had} major faults, {told} before");
    });
}

/// Touches of 16 pages.
fn touches(order: &Order<'_>, renew: touch::Renew) -> Prepared {
    let mut area = Area::map(tiermark_system::os::Shows::Private, 16 * base_page()).unwrap();
    area.tell(Tell::BasePages).unwrap();
    touch::Touches::start(touch::Ground::written(area, base_page()), renew, order, "none")
}

#[test]
fn touches_that_are_no_faults_are_an_error() {
    with_order(&OsCall::new("fault anonymous".into()), |order| {
        // Pages that are there each time.
        let refusal = touches(order, Box::new(|ground| ground.fill())).err().unwrap();
        assert!(refusal.why.contains("4 touches were 0 minor"), "{refusal}");
    });
}

#[test]
fn a_disturbed_round_is_left_out_and_others_take_its_place() {
    with_order(&OsCall::new("fault anonymous".into()), |order| {
        let mut rounds = 0;
        let renew: touch::Renew = Box::new(move |ground| {
            rounds += 1;
            // Once, they stay: as if the kernel had brought them meanwhile.
            if rounds == 4 { Ok(()) } else { ground.area.tell(Tell::Forget).map_err(Failure::of("madvise")) }
        });
        let mut body = touches(order, renew).unwrap();
        let before = thread_usage();
        // The rest of the second round, the third, the one that is skipped, the fifth.
        for _ in 0..11 {
            body.run(4).unwrap();
        }
        let faults = touch::since(before).minor_faults;
        assert!((44..=50).contains(&faults), "{faults} faults");
    });
}

#[test]
fn smaller_pages_than_asked_for_are_an_error() {
    with_order(&OsCall::new("fault mTHP".into()), |order| {
        let mut area = Area::pieces(64 * KIB as usize, 16).unwrap();
        area.tell(Tell::BasePages).unwrap();
        let ground = touch::Ground { brings: 64 * KIB as usize, ..touch::Ground::written(area, 128 * KIB as usize) };
        let renew: touch::Renew = Box::new(|ground| ground.area.tell(Tell::Forget).map_err(Failure::of("madvise")));
        let refusal = touch::Touches::start(ground, renew, order, "none").err().unwrap();
        assert!(refusal.why.contains("less than 65536"), "{refusal}");
    });
}

#[test]
fn pieces_are_apart_and_the_rest_cannot_be_touched() {
    let mut area = Area::pieces(64 * KIB as usize, 4).unwrap();
    assert_eq!((area.bytes(), area.address() % (128 << 10)), (512 << 10, 0));
    area.write(0);
    area.write((128 << 10) + (64 << 10) - 1);
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| area.write(64 << 10)));
    assert!(refused.is_err(), "between two pieces");
    area.write_words(128 << 10, &[u64::from_ne_bytes(*b"8 bytes!"); 2]);
    let read: Vec<u8> = ((128 << 10)..(128 << 10) + 17).map(|at| area.read(at)).collect();
    assert_eq!(read, b"8 bytes!8 bytes!\0");
}

#[test]
fn what_is_off_is_refused_with_the_file_that_turns_it_on() {
    let system = |thp: &str, sizes: &[(u64, &str)]| System {
        thp: Some(thp.to_owned()),
        thp_bytes: Some(2 * MIB),
        mthp: sizes.iter().map(|(bytes, mode)| (*bytes, (*mode).to_owned())).collect(),
        ..System::default()
    };
    let machine = |system| Machine { system, ..Machine::default() };
    let off = machine(system("never", &[(16 * KIB, "inherit"), (64 * KIB, "never"), (2 * MIB, "inherit")]));
    assert!(minor::no_mthp(&off).unwrap().cure.contains("hugepages-64kB/enabled"));
    assert!(no_thp(&off).unwrap().cure.contains("transparent_hugepage/enabled"));
    assert_eq!(pages(&off), [PageKind::Base]);
    let on = machine(system("madvise", &[(16 * KIB, "inherit"), (64 * KIB, "always"), (2 * MIB, "madvise")]));
    assert_eq!(minor::mthp_sizes(&on), [64 * KIB, 16 * KIB]);
    assert_eq!((minor::no_mthp(&on), pages(&on)), (None, vec![PageKind::Base, PageKind::Thp]));
    let pool = |free| HugePool { page_bytes: 2 * MIB, total: 4, free, ..HugePool::default() };
    let with_pool = |free| {
        let node = Node { huge_pages: vec![pool(free)], ..Node::default() };
        Machine { nodes: vec![node.clone(), node], ..Machine::default() }
    };
    assert!(no_pools(&with_pool(0)).unwrap().cure.contains("nr_hugepages"));
    assert_eq!((no_pools(&with_pool(1)), pools(&with_pool(1))), (None, vec![PageKind::Huge(2 * MIB)]));
    assert!(major::no_swap(&Machine::default()).unwrap().why.contains("/proc/swaps"));
}

#[test]
fn a_pool_without_pages_and_calls_that_are_forbidden_are_refusals() {
    if !in_own_process("faults::tests::a_pool_without_pages_and_calls_that_are_forbidden_are_refusals") {
        return;
    }
    // No system has pages of 2 to the 33.
    let call = OsCall { page: Some(PageKind::Huge(1 << 33)), ..OsCall::new("fault hugetlb".into()) };
    let refusal = with_order(&call, |order| minor::hugetlb(order).err().unwrap());
    assert!(refusal.cure.contains("hugepages-8388608kB"), "{refusal}");
    tiermark_system::testing::refuse(&[libc::SYS_userfaultfd, libc::SYS_memfd_create]).unwrap();
    assert!(user::no_userfaultfd(&Machine::default()).unwrap().cure.contains("unprivileged_userfaultfd"));
    for id in ["userfaultfd", "fault file read"] {
        let refusal = with_order(&OsCall::new(id.into()), |order| (row_of(id).make)(order).err().unwrap());
        assert!(refusal.what == id && !refusal.cure.is_empty(), "{refusal}");
    }
}

#[test]
fn a_child_that_ends_under_way_is_an_error() {
    let call = OsCall { page: Some(PageKind::Base), ..OsCall::new("copy-on-write".into()) };
    // In a process of its own: its only child is the one that shares the pages.
    if !in_own_process("faults::tests::a_child_that_ends_under_way_is_an_error") {
        return;
    }
    with_order(&call, |order| {
        let mut body = minor::copy_on_write(order).unwrap();
        let pages = 8 * MIB / base_page() as u64;
        body.run(2 * pages).unwrap();
        let pid = children()[0];
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        // A busy machine may take its time over that.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), ended).unwrap();
        let why = body.run(pages + 1).unwrap_err();
        assert!(why.to_string().contains("has ended"), "{why}");
    });
    assert!(children().is_empty());
}

/// Children of this process.
fn children() -> Vec<rustix::process::Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists: Vec<String> = tasks.map(|t| std::fs::read_to_string(t.path().join("children")).unwrap()).collect();
    let pids = lists.iter().flat_map(|list| list.split_whitespace());
    pids.filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?)).collect()
}

#[test]
fn a_bystander_that_cannot_run_is_refused() {
    let call = OsCall { others: vec![100_000], ..OsCall::new("munmap".into()) };
    let refusal = with_order(&call, |order| unmap::munmap(order).err().unwrap());
    assert!(refusal.why.contains("pinned"), "{refusal}");
}

#[test]
fn populated_pages_are_counted_one_by_one() {
    let call = OsCall { page: Some(PageKind::Base), ..OsCall::new("MADV_POPULATE_WRITE".into()) };
    with_order(&call, |order| {
        let work = OsWork::new(order).unwrap();
        assert!(work.per_block() >= 512.0 && work.per_block() % 512.0 == 0.0, "{}", work.per_block());
    });
}

#[test]
fn zeroing_counts_the_pages_that_are_zeroed() {
    let huge = machine().system.thp_bytes.filter(|_| no_thp(&machine()).is_none());
    let Some(huge) = huge else { return };
    // A page and a half are requested: two are zeroed.
    let call = OsCall { bytes: Some(huge + huge / 2), ..OsCall::new("zeroing".into()) };
    with_order(&call, |order| {
        let work = OsWork::new(order).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(work.per_block() % (2 * huge) as f64, 0.0, "{}", work.per_block());
    });
}

#[test]
fn what_is_zeroed_first_is_more_than_caches_keep() {
    let cache = |level, bytes| Cache { line_bytes: None, ..testing::cache(level, bytes, []) };
    let with = |last| Machine { caches: vec![cache(2, MIB), cache(3, last)], ..Machine::default() };
    for (last, first) in [(4 * MIB, 64 * MIB), (36 * MIB, 144 * MIB), (1 << 30, 512 * MIB)] {
        assert_eq!(populate::zeroed_bytes(&with(last)), [first, 2 * MIB]);
    }
    assert_eq!(populate::zeroed_bytes(&Machine::default())[0], 64 * MIB);
}

#[test]
fn a_kernel_that_does_not_know_how_to_populate_is_told_from_a_filter() {
    for (error, cure) in [(libc::EINVAL, "Linux 5.14"), (libc::EPERM, "seccomp")] {
        for id in ["MADV_POPULATE_WRITE", "zeroing"] {
            if (row_of(id).refuse)(&machine()).is_some() {
                continue;
            }
            // A filter is for ever, but for one thread only.
            let confined = move || {
                tiermark_system::testing::refuse_as(error, &[libc::SYS_madvise]).unwrap();
                with_order(&OsCall::new(id.into()), |order| (row_of(id).make)(order).err())
            };
            let refusal = std::thread::spawn(confined).join().unwrap().unwrap();
            assert!(refusal.what == id && refusal.cure.contains(cure), "{refusal}");
        }
    }
}

/// Times that a cpu was interrupted to forget translations; none where that is done otherwise.
fn shot_down(cpu: u32) -> Option<u64> {
    let flags = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let interrupts = std::fs::read_to_string("/proc/interrupts").ok()?;
    let column = interrupts.lines().next()?.split_whitespace().position(|name| name == format!("CPU{cpu}"))?;
    let row = interrupts.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"))?;
    if flags.contains("invlpgb") { None } else { row.split_whitespace().nth(column)?.parse().ok() }
}

#[test]
fn threads_beside_have_to_forget_what_is_unmapped() {
    if !in_own_process("faults::tests::threads_beside_have_to_forget_what_is_unmapped") {
        return;
    }
    let cpus: Vec<u32> = tiermark_system::affinity().unwrap().iter().collect();
    let Some(other) = cpus.get(1).copied().filter(|cpu| shot_down(*cpu).is_some()) else { return };
    let call = OsCall { bytes: Some(4 * KIB), others: vec![other], ..OsCall::new("munmap".into()) };
    with_order(&call, |order| {
        tiermark_system::pin(order.cpu).unwrap();
        let mut body = unmap::munmap(order).unwrap();
        // Others may hold either cpu for a while, and one that runs another process is not interrupted.
        let began = std::time::Instant::now();
        let mut rose = false;
        while !rose && began.elapsed().as_secs() < 30 {
            let before = shot_down(other).unwrap();
            // A body whose bystander was kept from its cpu fails: it is run again.
            let _ = body.run(100);
            rose = shot_down(other).unwrap() - before > 50;
        }
        assert!(rose, "cpu {other} was not interrupted");
    });
}
