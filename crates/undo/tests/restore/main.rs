//! Whatever was noted is taken back, in an order that kills nobody, from whatever state a killed program left.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;

use common::{BOOT, Fake};
use proptest::prelude::*;
use tiermark_model::messages::undo::codes;
use tiermark_model::{ChangeOutcome, ChangeRow, Code};
use tiermark_undo::{Change, Journal, Syntax, pending, restore_all, restore_those};

const GROUP: &str = "sys/fs/cgroup/tiermark-7";
const TENANT: &str = "sys/fs/cgroup/tiermark-7/t0";

const UUID: &str = "00000000-0000-0000-0000-000000000000";

/// A zram device of which only the number is known.
fn expected(number: u32) -> Change {
    Change::Zram { number, sure: false, size: None, sequence: None }
}

/// One of 1 GiB that was made.
fn made(number: u32, sequence: Option<u64>) -> Change {
    Change::Zram { number, sure: true, size: Some(1 << 30), sequence }
}

/// A swap area of 3 MiB that was used, without a label, whose UUID is all zeros.
fn swap_area() -> String {
    let page = rustix::param::page_size();
    format!("{}SWAPSPACE2{}", "\0".repeat(page - 10), "x".repeat((3 << 20) - page))
}

fn knob(path: &str, old: &str, new: &str) -> Change {
    Change::Knob { path: path.into(), syntax: Syntax::Number, old: old.into(), new: new.into() }
}

/// What a capacity run with one tenant on zram and a swap file changes, in the order in which it does.
fn run_of_a_tenant() -> Vec<Change> {
    vec![
        knob("proc/sys/vm/page-cluster", "3", "0"),
        Change::Cgroup { path: GROUP.into() },
        Change::Cgroup { path: TENANT.into() },
        expected(1),
        made(1, Some(7)),
        Change::Swap { path: "dev/zram1".into(), remove_file: false },
        Change::SwapHeader { path: "dev/sdb".into(), uuid: UUID.into() },
        Change::Swap { path: "dev/sdb".into(), remove_file: false },
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
            "Filename Type Size Used Priority\n/dev/zram1 partition 1 1 9\n/var/tmp/tiermark-7.swap file 1 1 5\n/dev/sdb partition 1 1 4\n/dev/sda2 partition 1 1 1\n",
        ),
        ("sys/block/zram0/disksize", "0\n"),
        ("sys/block/zram1/disksize", "1073741824\n"),
        ("sys/block/zram1/diskseq", "7\n"),
        ("dev/sdb", &swap_area()),
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

/// Why a change is as it is.
fn code(row: &ChangeRow) -> Code {
    row.why.as_ref().map(|why| why.code.clone()).unwrap_or_default()
}

fn outcomes(rows: &[ChangeRow]) -> Vec<ChangeOutcome> {
    rows.iter().map(|row| row.outcome).collect()
}

#[test]
fn a_killed_run_is_taken_back_whole_and_in_order() {
    let mut fake = in_the_middle();
    fake.stubborn.insert(71);
    leave(&fake, run_of_a_tenant());
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
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
        step("wipe dev/sdb"),
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
    // Again: nothing is noted any more.
    assert!(restore_all(&fake.state(), &mut fake, false).unwrap().rows.is_empty());
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
    let failed: Vec<&ChangeRow> = restored.rows.iter().filter(|row| row.outcome == ChangeOutcome::Failed).collect();
    assert!(failed.iter().all(|row| row.why.is_some()) && failed.iter().any(|row| code(row) == codes::swapoff_failed));
    let held = pending(&fake.state(), tiermark_undo::SystemWriter::root(&fake));
    assert_eq!(held.len(), 1);
    assert!(held[0].changes.iter().all(|change| change.contains("zram1") || change.contains("swap")), "{held:?}");
    assert!(held[0].swaps.contains(&"/dev/zram1".to_owned()), "{held:?}");
    fake.no_room = false;
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
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
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Already, ChangeOutcome::Already]);
    assert!(fake.there("proc/70") && fake.there("sys/block/zram1"));
    // Added, and its maker killed before it could set it up or note it: empty, and of the number expected.
    fake.put("sys/block/zram1/disksize", "0\n");
    fake.put("proc/swaps", "");
    leave(&fake, vec![expected(1)]);
    assert_eq!(outcomes(&restore_all(&fake.state(), &mut fake, false).unwrap().rows), [ChangeOutcome::Done]);
    assert!(!fake.there("sys/block/zram1"));
}

#[test]
fn a_device_that_others_made_meanwhile_stays() {
    for (changed, text, ours) in
        [("sys/block/zram1/diskseq", "8\n", made(1, Some(7))), ("sys/block/zram1/disksize", "4096\n", made(1, None))]
    {
        let mut fake = in_the_middle();
        fake.put("proc/swaps", "");
        fake.put(changed, text);
        leave(&fake, vec![expected(1), ours]);
        let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
        assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Already, ChangeOutcome::Already], "{changed}");
        assert!(fake.there("sys/block/zram1") && fake.log.is_empty(), "{:?}", fake.log);
    }
    // With another size it is ours all the same, where the kernel says that it is the same disk.
    let mut fake = in_the_middle();
    fake.put("proc/swaps", "");
    fake.put("sys/block/zram1/disksize", "0\n");
    leave(&fake, vec![expected(1), made(1, Some(7))]);
    assert!(!restore_all(&fake.state(), &mut fake, false).unwrap().incomplete());
    assert!(!fake.there("sys/block/zram1"));
    // A header with another UUID is that of an area that somebody made.
    let other = "10000000-0000-0000-0000-000000000000";
    leave(&fake, vec![Change::SwapHeader { path: "dev/sdb".into(), uuid: other.into() }]);
    assert_eq!(outcomes(&restore_all(&fake.state(), &mut fake, false).unwrap().rows), [ChangeOutcome::Already]);
    assert!(fake.get("dev/sdb").unwrap().contains("SWAP"));
}

#[test]
fn after_a_reboot_only_files_are_left_to_remove() {
    let mut fake = in_the_middle();
    leave(&fake, run_of_a_tenant());
    fake.put(BOOT, "boot-2\n");
    fake.put("proc/swaps", "");
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert!(!restored.incomplete());
    let done = ["rm var/tmp/tiermark-7.swap", "wipe dev/sdb"];
    assert_eq!(fake.log, done, "whatever bears those names now is somebody else's");
    assert!(!fake.get("dev/sdb").unwrap().contains("SWAP"), "disks keep what is on them");
    assert_eq!(restored.rows.iter().filter(|row| row.outcome == ChangeOutcome::Gone).count(), 8);
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
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Gone, ChangeOutcome::Left, ChangeOutcome::Done]);
    assert!(restored.incomplete() && code(&restored.rows[1]) == codes::value_of_others);
    assert_eq!((fake.get("proc/sys/vm/stat_interval").as_deref(), fake.journals()), (Some("7"), 1));
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Done], "what was taken back is not taken back again");
    assert_eq!((fake.get("proc/sys/vm/stat_interval").as_deref(), fake.journals()), (Some("1"), 0));
}

#[test]
fn several_journals_go_back_to_the_first_value() {
    let mut fake = Fake::new(&[("proc/sys/vm/swappiness", "133\n")]);
    let path = "proc/sys/vm/swappiness";
    for (started, old, new) in [("2026-11-21T12:00:00Z", "60", "10"), ("2026-11-21T12:00:01Z", "10", "133")] {
        let head = tiermark_undo::JournalHeader { started: started.into(), ..fake.head() };
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
        Change::SwapHeader { path: "home/user/notes".into(), uuid: UUID.into() },
        Change::SwapHeader { path: "dev/sdb".into(), uuid: "x".into() },
        knob("etc/passwd", "a", "b"),
        knob("/proc/sys/vm/swappiness", "1", "2"),
    ] {
        let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
        let refused = journal.note(vec![change]).unwrap_err();
        assert_eq!(refused.code, codes::change_forbidden);
        journal.keep();
    }
    assert_eq!(fake.journals(), 0);
    // Neither from a journal that somebody else wrote.
    let head = serde_json::to_string(&fake.head()).unwrap();
    let evil = format!("{head}\n{{\"change\":{{\"kind\":\"cgroup\",\"path\":\"sys/fs/cgroup/system.slice\"}}}}\n");
    std::fs::write(fake.state.path().join("x.changes"), evil).unwrap();
    let mut fake = fake;
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert!(restored.rows.is_empty() && restored.refused.len() == 1 && fake.log.is_empty());
}

/// Killed while it took an area back: its swapoff goes on without it.
#[test]
fn an_area_that_is_being_given_back_already_is_waited_for() {
    let mut fake = in_the_middle();
    (fake.no_room, fake.swapped_off_meanwhile) = (true, Some("dev/zram1".to_owned()));
    leave(&fake, vec![Change::Swap { path: "dev/zram1".into(), remove_file: false }]);
    let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Done], "{restored:?}");
}

/// Killed, cleaned up by hand, and then the system's own swap came to the same name.
#[test]
fn an_area_that_is_another_s_by_now_stays_in_use() {
    let mut fake = in_the_middle();
    fake.put("sys/block/zram1/diskseq", "9\n");
    let zram = Change::Zram { number: 1, sure: true, size: Some(1 << 30), sequence: Some(4) };
    leave(&fake, vec![zram, Change::Swap { path: "dev/zram1".into(), remove_file: false }]);
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Already, ChangeOutcome::Already], "{restored:?}");
    assert!(restored.rows.iter().all(|row| [codes::area_of_others, codes::device_of_others].contains(&code(row))));
    assert!(fake.log.is_empty() && fake.get("proc/swaps").unwrap().contains("/dev/zram1"), "{:?}", fake.log);
}

#[test]
fn the_next_zram_is_the_lowest_that_is_free() {
    let fake = Fake::new(&[("sys/block/zram0/x", ""), ("sys/block/zram2/x", "")]);
    assert_eq!(Change::next_zram(tiermark_undo::SystemWriter::root(&fake)), 1);
}

fn started(number: u32) -> Change {
    Change::Command { stop: format!("virsh destroy vm{number}"), what: format!("tenant {number}") }
}

#[test]
fn what_commands_started_is_stopped_by_theirs_also_after_a_reboot() {
    for boot in ["boot-1", "boot-2"] {
        let mut fake = Fake::new(&[]);
        fake.fails.insert("virsh destroy vm2".to_owned());
        leave(&fake, vec![started(1), started(2)]);
        fake.put(BOOT, boot);
        let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
        assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Failed, ChangeOutcome::Done], "{boot}");
        assert_eq!(restored.rows[0].why.as_ref().unwrap().data["error"], "no such machine");
        // What failed is tried again, and given up where that is asked for.
        fake.log.clear();
        assert!(restore_all(&fake.state(), &mut fake, false).unwrap().incomplete());
        assert_eq!((fake.log.as_slice(), fake.journals()), (["run virsh destroy vm2".to_owned()].as_slice(), 1));
        assert!(!restore_all(&fake.state(), &mut fake, true).unwrap().incomplete());
        assert_eq!(fake.journals(), 0);
    }
}

#[test]
fn a_journal_that_others_can_write_to_is_not_obeyed() {
    let mut fake = Fake::new(&[]);
    leave(&fake, vec![started(1)]);
    let mut journals = std::fs::read_dir(fake.state.path()).unwrap().flatten().map(|entry| entry.path());
    let journal = journals.find(|path| path.extension().is_some()).unwrap();
    std::fs::set_permissions(&journal, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert!(restored.refused[0].code == codes::journal_of_others && fake.log.is_empty(), "{restored:?}");
}

#[test]
fn what_was_started_before_a_reboot_is_left_to_who_asks() {
    let mut fake = Fake::new(&[]);
    leave(&fake, vec![started(1)]);
    fake.put(BOOT, "boot-2");
    let restored = restore_those(&fake.state(), &mut fake, &|_| true).unwrap();
    assert!(outcomes(&restored.rows) == [ChangeOutcome::Left] && fake.log.is_empty(), "{restored:?}");
    assert_eq!(code(&restored.rows[0]), codes::started_before_reboot);
    fake.put(BOOT, "boot-1");
    assert!(!restore_those(&fake.state(), &mut fake, &|_| true).unwrap().incomplete());
    assert_eq!(fake.log, ["run virsh destroy vm1"]);
}

#[test]
fn a_journal_whose_writer_is_at_work_is_left_alone() {
    let mut fake = Fake::new(&[("proc/sys/vm/page-cluster", "0")]);
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    journal.note(vec![knob("proc/sys/vm/page-cluster", "3", "0")]).unwrap();
    // Who shares the directory and not the lock, as another container may.
    std::fs::remove_file(fake.state.path().join("lock")).unwrap();
    let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
    assert!(restored.refused[0].code == codes::journal_in_use && fake.log.is_empty(), "{restored:?}");
    journal.keep();
    assert!(!restore_all(&fake.state(), &mut fake, false).unwrap().incomplete());
}

#[test]
fn several_journals_are_begun_under_one_lock() {
    let fake = Fake::new(&[]);
    let lock = fake.state().hold("a run").unwrap();
    drop(Journal::create_under(&lock, &fake.state(), fake.head()).unwrap());
    let refused = Journal::create(&fake.state(), fake.head()).unwrap_err();
    assert_eq!(refused.code, codes::system_being_changed);
    assert!(refused.text("holder").is_some_and(|who| who.starts_with("a run, process")), "{refused}");
    drop(lock);
    assert!(Journal::create(&fake.state(), fake.head()).is_ok());
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
        // The first attempt fails at every file, and leaves a journal that can still be read.
        fake.refuse.extend(files.map(str::to_owned));
        let first = restore_all(&fake.state(), &mut fake, false).unwrap();
        prop_assert!(first.refused.is_empty(), "{first:?}");
        fake.refuse.clear();
        let restored = restore_all(&fake.state(), &mut fake, false).unwrap();
        prop_assert!(!restored.incomplete(), "{restored:?}");
        for file in files {
            prop_assert_eq!(fake.get(file), Some("1".to_owned()));
        }
        prop_assert_eq!(fake.journals(), 0);
    }

    /// A file of the state directory that is no journal is refused and stays as it is, a journal of no changes goes, and nothing is written.
    #[test]
    fn any_journal(bytes in prop::collection::vec(any::<u8>(), 0..300), with_head in any::<bool>()) {
        let mut fake = Fake::new(&[]);
        let head = serde_json::to_string(&fake.head()).unwrap() + "\n";
        let text = [if with_head { head.as_bytes() } else { b"" }, &bytes].concat();
        let path = fake.state.path().join("x.changes");
        std::fs::write(&path, &text).unwrap();
        let mut whole: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        whole.pop();
        let says_something = whole.iter().filter(|line| !line.trim_ascii().is_empty()).count();
        let damaged = if with_head { says_something > 1 } else { !whole.is_empty() };
        let pending = pending(&fake.state(), tiermark_undo::SystemWriter::root(&fake));
        prop_assert_eq!(pending.len(), usize::from(damaged), "{:?}", pending);
        let restored = restore_all(&fake.state(), &mut fake, true).unwrap();
        let refused: Vec<_> = restored.refused.iter().map(|refusal| refusal.code.clone()).collect();
        prop_assert_eq!(refused, if damaged { vec![codes::journal_malformed] } else { vec![] });
        prop_assert_eq!(std::fs::read(&path).ok(), damaged.then_some(text));
        prop_assert!(fake.log.is_empty() && restored.rows.is_empty());
    }
}
