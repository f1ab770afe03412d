//! Whatever was noted is taken back, in an order that kills nobody, from whatever state a killed program left.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use common::{BOOT, Fake};
use proptest::prelude::*;
use tiermark_model::{Deed, Fate};
use tiermark_tune::{Change, Journal, Syntax, pending, restore_all};

const GROUP: &str = "sys/fs/cgroup/tiermark-7";
const TENANT: &str = "sys/fs/cgroup/tiermark-7/t0";

fn knob(path: &str, old: &str, new: &str) -> Change {
    Change::Knob { path: path.into(), syntax: Syntax::Number, old: old.into(), new: new.into() }
}

/// What a capacity run with one tenant on zram and a swap file changes, in the order in which it does.
fn run_of_a_tenant() -> Vec<Change> {
    vec![
        knob("proc/sys/vm/page-cluster", "3", "0"),
        Change::Cgroup { path: GROUP.into() },
        Change::Cgroup { path: TENANT.into() },
        Change::Zram { number: 1, sure: false },
        Change::Zram { number: 1, sure: true },
        Change::Swap { path: "dev/zram1".into(), remove_file: false },
        Change::Swap { path: "var/tmp/tiermark-7.swap".into(), remove_file: true },
        Change::Process { pid: 70, start_ticks: 700, what: "redis-server".into() },
    ]
}

/// The system after all of that was done.
fn in_the_middle() -> Fake {
    let fake = Fake::new(&[
        ("proc/sys/vm/page-cluster", "0\n"),
        (
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/zram1 partition 1 1 9\n/var/tmp/tiermark-7.swap file 1 1 5\n/dev/sda2 partition 1 1 1\n",
        ),
        ("sys/block/zram0/disksize", "0\n"),
        ("sys/block/zram1/disksize", "1073741824\n"),
        ("sys/block/zram1/reset", ""),
        ("sys/class/zram-control/hot_remove", ""),
        ("var/tmp/tiermark-7.swap", "SWAPSPACE2"),
        ("sys/fs/cgroup/tiermark-7/memory.limit_in_bytes", "1"),
        ("sys/fs/cgroup/tiermark-7/memory.memsw.limit_in_bytes", "1"),
        ("sys/fs/cgroup/tiermark-7/cgroup.procs", ""),
        ("sys/fs/cgroup/tiermark-7/t0/memory.max", "1"),
        ("sys/fs/cgroup/tiermark-7/t0/cgroup.procs", ""),
    ]);
    fake.process(70, 700, Some(TENANT));
    // Started inside the group and killed before it could be noted.
    fake.process(71, 710, Some(TENANT));
    fake.process(72, 720, None);
    fake
}

/// Notes changes as a program does that is then killed.
fn leave(fake: &Fake, changes: Vec<Change>) {
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    journal.note(changes).unwrap();
    journal.keep();
}

fn fates(deeds: &[Deed]) -> Vec<Fate> {
    deeds.iter().map(|deed| deed.fate).collect()
}

#[test]
fn a_killed_run_is_taken_back_whole_and_in_order() {
    let mut fake = in_the_middle();
    fake.stubborn.insert(71);
    leave(&fake, run_of_a_tenant());
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert!(!restored.incomplete(), "{:?}", restored.deeds);
    let step = |what: &str| {
        fake.log.iter().position(|done| done.starts_with(what)).unwrap_or_else(|| panic!("{what}: {:?}", fake.log))
    };
    let order = [
        step("term 70"),
        step("kill 71"),
        step("sys/fs/cgroup/tiermark-7/memory.memsw.limit_in_bytes = -1"),
        step("sys/fs/cgroup/tiermark-7/memory.limit_in_bytes = -1"),
        step("sys/fs/cgroup/tiermark-7/t0/memory.max = max"),
        step("swapoff var/tmp"),
        step("swapoff dev/zram1"),
        step("sys/block/zram1/reset = 1"),
        step("sys/class/zram-control/hot_remove = 1"),
        step("proc/sys/vm/page-cluster = 3"),
        step("rmdir sys/fs/cgroup/tiermark-7/t0"),
    ];
    assert!(order.is_sorted(), "{order:?}: {:?}", fake.log);
    assert_eq!(fake.get("proc/sys/vm/page-cluster").as_deref(), Some("3"));
    for gone in [GROUP, "sys/block/zram1", "var/tmp/tiermark-7.swap", "proc/70", "proc/71"] {
        assert!(!fake.there(gone), "{gone}");
    }
    for others in ["sys/block/zram0", "proc/72"] {
        assert!(fake.there(others), "{others}");
    }
    assert!(
        fake.get("proc/swaps").unwrap().contains("/dev/sda2") && !fake.log.iter().any(|done| done.contains("sda2"))
    );
    assert_eq!(fake.journals(), 0);
    // Again: nothing is noted any more.
    assert!(restore_all(&fake.state(), &mut fake, false).unwrap().deeds.is_empty());
}

#[test]
fn what_cannot_be_taken_back_stays_noted() {
    let mut fake = in_the_middle();
    fake.no_room = true;
    leave(&fake, run_of_a_tenant());
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert!(restored.incomplete());
    // A device in use is not reset: that would lose pages.
    assert!(fake.there("sys/block/zram1") && !fake.log.iter().any(|done| done.contains("reset")));
    let failed: Vec<&Deed> = restored.deeds.iter().filter(|deed| deed.fate == Fate::Failed).collect();
    assert!(
        failed.iter().all(|deed| deed.why.is_some())
            && failed.iter().any(|d| d.why.as_deref().unwrap().contains("Cannot allocate"))
    );
    let held = pending(&fake.state(), tiermark_tune::Hands::root(&fake));
    assert_eq!(held.len(), 1);
    assert!(held[0].changes.iter().all(|change| change.contains("zram1") || change.contains("swap")), "{held:?}");
    fake.no_room = false;
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert!(!restored.incomplete(), "{:?}", restored.deeds);
    assert_eq!(fake.journals(), 0);
}

#[test]
fn numbers_of_others_are_left_alone() {
    let mut fake = in_the_middle();
    // The process ended and its number went to another; the zram number that was expected went to somebody else.
    fake.process(70, 701, None);
    fake.put("sys/fs/cgroup/tiermark-7/t0/cgroup.procs", "");
    leave(&fake, vec![Change::Zram { number: 1, sure: false }, run_of_a_tenant().pop().unwrap()]);
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert_eq!(fates(&restored.deeds), [Fate::Already, Fate::Already]);
    assert!(fake.there("proc/70") && fake.there("sys/block/zram1"));
    // Added, and its maker killed before it could set it up or note it: empty, and of the number expected.
    fake.put("sys/block/zram1/disksize", "0\n");
    fake.put("proc/swaps", "");
    leave(&fake, vec![Change::Zram { number: 1, sure: false }]);
    assert_eq!(fates(&restore_all(&fake.state(), &mut fake, false).unwrap().deeds), [Fate::Done]);
    assert!(!fake.there("sys/block/zram1"));
}

#[test]
fn after_a_reboot_only_files_are_left_to_remove() {
    let mut fake = in_the_middle();
    leave(&fake, run_of_a_tenant());
    fake.put(BOOT, "boot-2\n");
    fake.put("proc/swaps", "");
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert!(!restored.incomplete());
    assert_eq!(fake.log, ["rm var/tmp/tiermark-7.swap"], "whatever bears those names now is somebody else's");
    assert_eq!(restored.deeds.iter().filter(|deed| deed.fate == Fate::Gone).count(), 7);
    assert!(fake.there("proc/70") && fake.there(GROUP));
    assert_eq!((fake.get("proc/sys/vm/page-cluster").as_deref(), fake.journals()), (Some("0"), 0));
}

#[test]
fn values_that_others_wrote_stay_unless_forced() {
    let mut fake = Fake::new(&[("proc/sys/vm/page-cluster", "0\n"), ("proc/sys/vm/stat_interval", "7\n")]);
    leave(
        &fake,
        vec![
            knob("proc/sys/vm/page-cluster", "3", "0"),
            knob("proc/sys/vm/stat_interval", "1", "10"),
            knob("sys/absent", "1", "2"),
        ],
    );
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert_eq!(fates(&restored.deeds), [Fate::Gone, Fate::Left, Fate::Done]);
    assert!(restored.incomplete() && restored.deeds[1].why.as_deref().unwrap().contains("--force"));
    assert_eq!((fake.get("proc/sys/vm/stat_interval").as_deref(), fake.journals()), (Some("7"), 1));
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert_eq!(fates(&restored.deeds), [Fate::Done], "what was taken back is not taken back again");
    assert_eq!((fake.get("proc/sys/vm/stat_interval").as_deref(), fake.journals()), (Some("1"), 0));
}

#[test]
fn several_journals_go_back_to_the_first_value() {
    let mut fake = Fake::new(&[("proc/sys/vm/swappiness", "133\n")]);
    let path = "proc/sys/vm/swappiness";
    for (started, old, new) in [("2026-11-21T12:00:00Z", "60", "10"), ("2026-11-21T12:00:01Z", "10", "133")] {
        let head = tiermark_tune::Head { started: started.into(), ..fake.head() };
        let mut journal = Journal::create(&fake.state(), head).unwrap();
        journal.note(vec![knob(path, old, new)]).unwrap();
        journal.keep();
    }
    assert!(!restore_all(&fake.state(), &mut fake, false).unwrap().incomplete());
    assert_eq!((fake.get(path).as_deref(), fake.journals()), (Some("60"), 0));
}

#[test]
fn a_queue_gets_its_length_back_although_its_scheduler_changes_it() {
    let (scheduler, length) = ("sys/block/vda/queue/scheduler", "sys/block/vda/queue/nr_requests");
    let mut fake = Fake::new(&[(scheduler, "mq-deadline\n"), (length, "64\n")]);
    let first =
        Change::Knob { path: scheduler.into(), syntax: Syntax::Choice, old: "none".into(), new: "mq-deadline".into() };
    leave(&fake, vec![first, knob(length, "512", "64")]);
    assert!(!restore_all(&fake.state(), &mut fake, false).unwrap().incomplete());
    assert_eq!((fake.get(scheduler).as_deref(), fake.get(length).as_deref()), (Some("none"), Some("512")));
}

#[test]
fn nothing_that_this_program_did_not_make_is_noted_or_removed() {
    let fake = in_the_middle();
    for change in [
        Change::Cgroup { path: "sys/fs/cgroup/system.slice".into() },
        Change::Cgroup { path: "sys/fs/cgroup/tiermark/../system.slice".into() },
        Change::Swap { path: "home/user/notes".into(), remove_file: true },
        knob("etc/passwd", "a", "b"),
        knob("/proc/sys/vm/swappiness", "1", "2"),
    ] {
        let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
        let refused = journal.note(vec![change]).unwrap_err();
        assert!(refused.why.contains("tiermark"), "{refused}");
        journal.keep();
    }
    assert_eq!(fake.journals(), 0);
    // Neither from a journal that somebody else wrote.
    let head = serde_json::to_string(&fake.head()).unwrap();
    let evil = format!("{head}\n{{\"change\":{{\"kind\":\"cgroup\",\"path\":\"sys/fs/cgroup/system.slice\"}}}}\n");
    std::fs::write(fake.state.path().join("x.changes"), evil).unwrap();
    let mut fake = fake;
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert!(restored.deeds.is_empty() && restored.refused.len() == 1 && fake.log.is_empty());
}

#[test]
fn the_next_zram_is_the_lowest_that_is_free() {
    let fake = Fake::new(&[("sys/block/zram0/x", ""), ("sys/block/zram2/x", "")]);
    assert_eq!(Change::next_zram(tiermark_tune::Hands::root(&fake)), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A program dies after any byte of its journal, having made any part of the changes that are whole in it.
    #[test]
    fn wherever_the_writer_died(share in 0.0f64..=1.0, made in prop::collection::vec(any::<bool>(), 3)) {
        let files = ["proc/sys/vm/page-cluster", "proc/sys/vm/swappiness", "proc/sys/vm/stat_interval"];
        let mut fake = Fake::new(&files.map(|file| (file, "1\n")));
        leave(&fake, files.map(|file| knob(file, "1", "2")).to_vec());
        let path = std::fs::read_dir(fake.state.path()).unwrap().flatten().map(|e| e.path()).find(|p| p.extension().is_some()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let cut = (bytes.len() as f64 * share) as usize;
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count().saturating_sub(1);
        for (file, made) in files.iter().zip(&made).take(whole) {
            fake.put(file, if *made { "2\n" } else { "1\n" });
        }
        let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
        prop_assert!(!restored.incomplete(), "{restored:?}");
        for file in files {
            prop_assert_eq!(fake.get(file), Some("1".to_owned()));
        }
        prop_assert_eq!(fake.journals(), 0);
    }

    /// Whatever a file of the state directory holds, nothing panics and nothing is written.
    #[test]
    fn any_journal(bytes in prop::collection::vec(any::<u8>(), 0..300), with_head in any::<bool>()) {
        let mut fake = Fake::new(&[]);
        let head = serde_json::to_string(&fake.head()).unwrap() + "\n";
        let text = [if with_head { head.as_bytes() } else { b"" }, &bytes].concat();
        std::fs::write(fake.state.path().join("x.changes"), text).unwrap();
        let _ = pending(&fake.state(), tiermark_tune::Hands::root(&fake));
        let _ = restore_all(&fake.state(), &mut fake, true);
        prop_assert!(fake.log.is_empty());
    }
}
