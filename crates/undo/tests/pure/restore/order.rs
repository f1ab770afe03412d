//! What is taken back, what before what, and what stays.

use tiermark_model::messages::undo::codes;
use tiermark_model::{ChangeOutcome, ChangeRow};
use tiermark_undo::{Change, Syntax, pending};

use super::*;
use crate::common::{BOOT, Fake, GROUP, NO_SWAPS, TENANT};

#[test]
fn a_killed_run_is_taken_back_whole_and_in_order() {
    let mut fake = in_the_middle();
    fake.stubborn.insert(71);
    leave(&fake, run_of_a_tenant());
    let restored = take_back(&mut fake);
    assert!(!restored.incomplete(), "{:?}", restored.rows);
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
        step("wipe dev/sdb"),
    ];
    assert!(order.is_sorted(), "{order:?}: {:?}", fake.log);
    assert_eq!(fake.get("proc/sys/vm/page-cluster").as_deref(), Some("3"));
    for gone in [GROUP, "sys/block/zram1", "var/tmp/tiermark-7.swap", "proc/70", "proc/71"] {
        assert!(!fake.there(gone), "{gone}");
    }
    let wiped = fake.get("dev/sdb").unwrap();
    let ends = "\0".repeat(1 << 20);
    assert!(wiped == format!("{ends}{}{ends}", "x".repeat(1 << 20)), "both ends are zeros again");
    for others in ["sys/block/zram0", "proc/72"] {
        assert!(fake.there(others), "{others}");
    }
    assert!(
        fake.get("proc/swaps").unwrap().contains("/dev/sda2") && !fake.log.iter().any(|done| done.contains("sda2"))
    );
    assert_eq!(fake.journals(), 0);
    // Noted before it was made and after, and one device all the same.
    assert_eq!(restored.rows.iter().filter(|row| row.what == "device zram1").count(), 1, "{:?}", restored.rows);
    // Again: nothing is noted any more.
    assert!(take_back(&mut fake).rows.is_empty());
}

/// A supervisor in the group starts a process again that was stopped; it may be in a group below.
#[test]
fn no_limit_is_lifted_before_the_last_process_is_gone() {
    for (restarts, below) in [(0, false), (7, false), (3, true)] {
        let mut fake = in_the_middle();
        fake.restarts = restarts;
        if below {
            fake.process(900, 9000, Some(&format!("{TENANT}/below")));
        }
        leave(&fake, run_of_a_tenant());
        let restored = take_back(&mut fake);
        assert!(!restored.incomplete(), "{restarts}: {:?}", restored.rows);
        let last = fake.log.iter().rposition(|done| done.starts_with("term") || done.starts_with("kill")).unwrap();
        let first = fake.log.iter().position(|done| done.contains("memory.")).unwrap();
        assert!(last < first && fake.restarts == 0, "{:?}", fake.log);
        assert!(!fake.there(GROUP));
    }
}

#[test]
fn while_a_process_survives_nothing_is_taken_away_from_it() {
    let mut fake = in_the_middle();
    fake.restarts = u32::MAX;
    leave(&fake, run_of_a_tenant());
    let restored = force_back(&mut fake);
    let touched = |done: &&String| !done.starts_with("term") && !done.starts_with("kill");
    assert_eq!(fake.log.iter().find(touched), None, "neither limits nor swap nor knobs");
    let failed: Vec<&ChangeRow> = restored.rows.iter().filter(|row| row.outcome == ChangeOutcome::Failed).collect();
    assert_eq!(failed.len(), 2, "{:?}", restored.rows);
    assert!(failed.iter().all(|row| code(row) == codes::members_survive && row.what.contains("tiermark-7")));
    let left = restored.rows.iter().filter(|row| code(row) == codes::left_to_survivors);
    assert_eq!(left.count(), names(&run_of_a_tenant()) - 3, "{:?}", restored.rows);
    // The supervisor ends at last.
    fake.restarts = 0;
    assert!(!take_back(&mut fake).incomplete());
    assert!(!fake.there(GROUP) && fake.journals() == 0);
}

#[test]
fn the_kernel_kills_a_whole_group_where_it_can() {
    let mut fake = in_the_middle();
    fake.put(&format!("{GROUP}/cgroup.kill"), "");
    fake.restarts = u32::MAX;
    leave(&fake, run_of_a_tenant());
    let restored = take_back(&mut fake);
    assert!(!restored.incomplete(), "{:?}", restored.rows);
    assert!(fake.log.contains(&format!("{GROUP}/cgroup.kill = 1")), "{:?}", fake.log);
}

#[test]
fn what_cannot_be_taken_back_stays_noted() {
    let mut fake = in_the_middle();
    fake.no_room = true;
    leave(&fake, run_of_a_tenant());
    let restored = take_back(&mut fake);
    assert!(restored.incomplete());
    // A device in use is not reset: that would lose pages.
    assert!(fake.there("sys/block/zram1") && !fake.log.iter().any(|done| done.contains("reset")));
    let failed: Vec<&ChangeRow> = restored.rows.iter().filter(|row| row.outcome == ChangeOutcome::Failed).collect();
    assert!(failed.iter().all(|row| row.why.is_some()) && failed.iter().any(|row| code(row) == codes::swapoff_failed));
    let held = pending(&fake.state(), tiermark_undo::SystemWriter::root(&fake));
    assert_eq!(held.len(), 1);
    assert!(held[0].changes.iter().all(|change| change.contains("zram1") || change.contains("swap")), "{held:?}");
    assert_eq!(held[0].changes.iter().filter(|change| *change == "device zram1").count(), 1, "{held:?}");
    assert!(held[0].swaps.contains(&"/dev/zram1".to_owned()), "{held:?}");
    fake.no_room = false;
    let restored = take_back(&mut fake);
    assert!(!restored.incomplete(), "{:?}", restored.rows);
    assert_eq!(fake.journals(), 0);
}

#[test]
fn numbers_of_others_are_left_alone() {
    let mut fake = in_the_middle();
    // The process ended and its number went to another; the zram number that was expected went to somebody else.
    fake.process(70, 701, None);
    fake.put("sys/fs/cgroup/tiermark-7/t0/cgroup.procs", "");
    leave(&fake, vec![expected(1), run_of_a_tenant().pop().unwrap()]);
    let restored = take_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Already, ChangeOutcome::Already]);
    assert!(fake.there("proc/70") && fake.there("sys/block/zram1"));
    // Added, and its maker killed before it could set it up or note it: empty, and of the number expected.
    fake.put("sys/block/zram1/disksize", "0\n");
    fake.put("proc/swaps", NO_SWAPS);
    leave(&fake, vec![expected(1)]);
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Done]);
    assert!(!fake.there("sys/block/zram1"));
}

#[test]
fn a_device_that_others_made_meanwhile_stays() {
    for (changed, text, ours) in
        [("sys/block/zram1/diskseq", "8\n", made(1, Some(7))), ("sys/block/zram1/disksize", "4096\n", made(1, None))]
    {
        let mut fake = in_the_middle();
        fake.put("proc/swaps", NO_SWAPS);
        fake.put(changed, text);
        leave(&fake, vec![expected(1), ours]);
        let restored = take_back(&mut fake);
        assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Already], "{changed}");
        assert!(fake.there("sys/block/zram1") && fake.log.is_empty(), "{:?}", fake.log);
    }
    // With another size it is ours all the same, where the kernel says that it is the same disk.
    let mut fake = in_the_middle();
    fake.put("proc/swaps", NO_SWAPS);
    fake.put("sys/block/zram1/disksize", "0\n");
    leave(&fake, vec![expected(1), made(1, Some(7))]);
    assert!(!take_back(&mut fake).incomplete());
    assert!(!fake.there("sys/block/zram1"));
    // A header with another UUID is that of an area that somebody made.
    let other = "10000000-0000-0000-0000-000000000000";
    fake.put("sys/class/block/sdb/size", "6144\n");
    leave(&fake, vec![Change::swap_header("dev/sdb", other, tiermark_undo::SystemWriter::root(&fake))]);
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Already]);
    assert!(fake.get("dev/sdb").unwrap().contains("SWAP"));
}

#[test]
fn after_a_reboot_only_files_are_left_to_remove() {
    let mut fake = in_the_middle();
    leave(&fake, run_of_a_tenant());
    fake.put(BOOT, "boot-2\n");
    fake.put("proc/swaps", NO_SWAPS);
    let restored = take_back(&mut fake);
    assert!(!restored.incomplete());
    let done = ["rm var/tmp/tiermark-7.swap", "wipe dev/sdb"];
    assert_eq!(fake.log, done, "whatever bears those names now is somebody else's");
    assert!(!fake.get("dev/sdb").unwrap().contains("SWAP"), "disks keep what is on them");
    assert_eq!(restored.rows.iter().filter(|row| row.outcome == ChangeOutcome::Gone).count(), 7);
    assert!(fake.there("proc/70") && fake.there(GROUP));
    assert_eq!((fake.get("proc/sys/vm/page-cluster").as_deref(), fake.journals()), (Some("0"), 0));
}

/// Killed while it took an area back: its swapoff goes on without it.
#[test]
fn an_area_that_is_being_given_back_already_is_waited_for() {
    let mut fake = in_the_middle();
    (fake.no_room, fake.swapped_off_meanwhile) = (true, Some("dev/zram1".to_owned()));
    fake.put("proc/swaps", &format!("{NO_SWAPS}/dev/zram1 partition 1 0 9\n"));
    leave(&fake, vec![Change::swap_device("dev/zram1")]);
    let restored = take_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Done], "{restored:?}");
}

/// Killed while its swapon was in the kernel: the area comes on after it was looked for.
#[test]
fn an_area_that_comes_on_late_is_turned_off_the_next_time() {
    let mut fake = in_the_middle();
    fake.put("proc/swaps", NO_SWAPS);
    fake.refuse.insert("dev/sdb".to_owned());
    leave(&fake, vec![header("dev/sdb", UUID), Change::swap_device("dev/sdb")]);
    assert!(take_back(&mut fake).incomplete());
    fake.refuse.clear();
    fake.put("proc/swaps", &format!("{NO_SWAPS}/dev/sdb partition 1 0 9\n"));
    assert!(!take_back(&mut fake).incomplete());
    assert_eq!(fake.log.last().map(String::as_str), Some("wipe dev/sdb"), "{:?}", fake.log);
    assert!(fake.log.contains(&"swapoff dev/sdb".to_owned()) && !fake.get("dev/sdb").unwrap().contains("SWAP"));
    assert_eq!(fake.journals(), 0);
}

/// A journal that was begun where the kernel's id of the boot is hidden.
#[test]
fn a_journal_without_a_boot_is_of_this_one() {
    let mut fake = Fake::new(&[("proc/sys/vm/page-cluster", "0\n")]);
    fake.take_away(BOOT);
    leave(&fake, vec![knob("proc/sys/vm/page-cluster", "3", "0")]);
    fake.put(BOOT, "boot-1\n");
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Done]);
    assert_eq!(fake.get("proc/sys/vm/page-cluster").as_deref(), Some("3"));
}

/// Killed, cleaned up by hand, and then the system's own swap came to the same name.
#[test]
fn an_area_that_is_another_s_by_now_stays_in_use() {
    let mut fake = in_the_middle();
    fake.put("sys/block/zram1/diskseq", "9\n");
    let zram = Change::Zram { number: 1, sure: true, size: Some(1 << 30), sequence: Some(4) };
    leave(&fake, vec![zram, Change::swap_device("dev/zram1")]);
    let restored = force_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Already, ChangeOutcome::Already], "{restored:?}");
    assert!(restored.rows.iter().all(|row| [codes::area_of_others, codes::device_of_others].contains(&code(row))));
    assert!(fake.log.is_empty() && fake.get("proc/swaps").unwrap().contains("/dev/zram1"), "{:?}", fake.log);
}

#[test]
fn the_next_zram_is_the_lowest_that_is_free() {
    let fake = Fake::new(&[("sys/block/zram0/x", ""), ("sys/block/zram2/x", "")]);
    assert_eq!(Change::next_zram(tiermark_undo::SystemWriter::root(&fake)), 1);
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
    let restored = take_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Gone, ChangeOutcome::Left, ChangeOutcome::Done]);
    assert!(restored.incomplete() && code(&restored.rows[1]) == codes::value_of_others);
    assert_eq!((fake.get("proc/sys/vm/stat_interval").as_deref(), fake.journals()), (Some("7"), 1));
    let restored = force_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Done], "what was taken back is not taken back again");
    assert_eq!((fake.get("proc/sys/vm/stat_interval").as_deref(), fake.journals()), (Some("1"), 0));
}

#[test]
fn a_queue_gets_its_length_back_although_its_scheduler_changes_it() {
    let (scheduler, length) = ("sys/block/vda/queue/scheduler", "sys/block/vda/queue/nr_requests");
    let mut fake = Fake::new(&[(scheduler, "mq-deadline\n"), (length, "64\n")]);
    let first =
        Change::Knob { path: scheduler.into(), syntax: Syntax::Choice, old: "none".into(), new: "mq-deadline".into() };
    leave(&fake, vec![first, knob(length, "512", "64")]);
    assert!(!take_back(&mut fake).incomplete());
    assert_eq!((fake.get(scheduler).as_deref(), fake.get(length).as_deref()), (Some("none"), Some("512")));
}
