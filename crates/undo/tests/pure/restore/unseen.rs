//! What cannot be seen is not taken for gone: as long as it may be there, nothing is taken away from it, and its note
//! stays.

use std::fs::{self, File};

use tiermark_model::messages::undo::codes;
use tiermark_model::{ChangeOutcome, ChangeRow};
use tiermark_undo::{Asked, Change, Restored, SystemWriter, pending, restore_all};

use super::*;
use crate::common::{BOOT, Fake, GROUP, NO_SWAPS, TENANT};

/// The run of a tenant, without the process that was noted by its number.
fn run() -> Vec<Change> {
    let mut changes = run_of_a_tenant();
    changes.pop();
    changes
}

/// The system in the middle of that run, with no process in its groups.
fn without_processes() -> Fake {
    let fake = in_the_middle();
    fake.put(&format!("{TENANT}/cgroup.procs"), "");
    fake
}

/// Rows of changes that stay.
fn kept(restored: &Restored) -> Vec<&ChangeRow> {
    let is_kept = |row: &&ChangeRow| matches!(row.outcome, ChangeOutcome::Left | ChangeOutcome::Failed);
    restored.rows.iter().filter(is_kept).collect()
}

/// Its main thread has ended, which makes it a zombie for /proc; the others hold its memory.
#[test]
fn a_process_without_its_main_thread_is_stopped_before_anything_is_taken_away() {
    for stubborn in [false, true] {
        let mut fake = in_the_middle();
        fake.shown(70, 700, 'Z', 3);
        fake.shown(71, 710, 'Z', 2);
        fake.stubborn.extend(stubborn.then_some(71));
        leave(&fake, run_of_a_tenant());
        let restored = take_back(&mut fake);
        assert!(!restored.incomplete(), "{restored:?}");
        let last = fake.log.iter().rposition(|done| done.starts_with("term") || done.starts_with("kill"));
        let first = fake.log.iter().position(|done| done.contains("memory."));
        assert!(fake.log.contains(&"term 71".to_owned()) && last < first, "{:?}", fake.log);
        assert_eq!(fake.log.contains(&"kill 71".to_owned()), stubborn);
    }
}

/// One that ended and was not waited for is listed by /proc, and not by its group any more.
#[test]
fn a_zombie_keeps_nothing() {
    let mut fake = without_processes();
    fake.shown(70, 700, 'Z', 1);
    leave(&fake, run_of_a_tenant());
    assert!(!take_back(&mut fake).incomplete());
    assert!(fake.log.iter().all(|done| !done.ends_with(" 70")), "{:?}", fake.log);
}

/// 0 stands for a process of another PID namespace; 73 is hidden by the options of /proc.
#[test]
fn members_that_proc_does_not_show_survive_and_get_no_signal() {
    let mut fake = without_processes();
    fake.member(0, TENANT);
    fake.member(73, TENANT);
    leave(&fake, run());
    let restored = force_back(&mut fake);
    assert!(fake.log.is_empty(), "{:?}", fake.log);
    assert_eq!(kept(&restored).len(), names(&run()), "{restored:?}");
    let tenant = restored.rows.iter().find(|row| row.what.ends_with("t0")).unwrap();
    let why = tenant.why.as_ref().unwrap();
    assert_eq!((code(tenant), &why.data["processes"]), (codes::members_survive, &serde_json::json!([0, 73])));
    // The kernel can kill the whole group, whoever is in it.
    fake.put(&format!("{GROUP}/cgroup.kill"), "");
    assert!(!take_back(&mut fake).incomplete());
    assert_eq!(fake.log[0], format!("{GROUP}/cgroup.kill = 1"));
    assert_eq!(fake.journals(), 0);
}

#[test]
fn a_group_whose_processes_cannot_be_read_keeps_everything_and_is_named() {
    let mut fake = without_processes();
    let procs = format!("{TENANT}/cgroup.procs");
    File::create(fake.dir.path().join(&procs)).unwrap().set_len(64 << 20).unwrap();
    leave(&fake, run());
    let restored = force_back(&mut fake);
    assert!(fake.log.is_empty(), "{:?}", fake.log);
    assert_eq!(kept(&restored).len(), names(&run()), "{restored:?}");
    let row = restored.rows.iter().find(|row| row.what.ends_with("t0")).unwrap();
    assert_eq!((code(row), &row.why.as_ref().unwrap().data["group"]), (codes::group_unreadable, &TENANT.into()));
    fake.put(&procs, "");
    assert!(!take_back(&mut fake).incomplete());
}

#[test]
fn groups_are_pending_where_no_hierarchy_is_mounted() {
    let mut fake = without_processes();
    fake.take_away("sys/fs/cgroup");
    leave(&fake, run());
    let restored = force_back(&mut fake);
    assert!(fake.log.is_empty(), "{:?}", fake.log);
    let kept = kept(&restored);
    assert_eq!(kept.len(), names(&run()), "{restored:?}");
    assert!(kept.iter().all(|row| code(row) == codes::hierarchy_absent), "{kept:?}");
    assert_eq!(pending(&fake.state(), fake.root())[0].changes.len(), names(&run()));
    // Its user knows that they are gone.
    let forget = Asked { forget: vec![format!("/{GROUP}"), format!("/{TENANT}")], ..Asked::default() };
    let restored = restore_all(&fake.state(), &mut fake, &forget).unwrap();
    assert!(!restored.incomplete() && fake.journals() == 0, "{restored:?}");
    // Where they can be seen, one that is not there is done with.
    let mut fake = without_processes();
    fake.take_away(GROUP);
    leave(&fake, vec![group(&fake, GROUP), group(&fake, TENANT)]);
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Already; 2]);
}

/// There the same path begins at another group.
#[test]
fn groups_are_pending_in_another_cgroup_namespace() {
    let mut fake = without_processes();
    leave(&fake, vec![group(&fake, GROUP), Change::swap_device("dev/zram1")]);
    let [here, there] = ["sys/fs/cgroup", "sys/fs/host"].map(|path| fake.dir.path().join(path));
    fs::rename(&here, &there).unwrap();
    fake.put("sys/fs/cgroup/cgroup.procs", "");
    let restored = take_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Left; 2], "{restored:?}");
    assert!(restored.rows.iter().all(|row| code(row) == codes::hierarchy_absent) && fake.log.is_empty());
    fs::remove_dir_all(&here).unwrap();
    fs::rename(&there, &here).unwrap();
    assert!(!take_back(&mut fake).incomplete());
}

#[test]
fn devices_and_areas_are_pending_where_the_kernel_does_not_list_them() {
    for absent in ["proc/swaps", "sys/block"] {
        let mut fake = without_processes();
        fake.take_away(absent);
        let changes =
            [expected(1), made(1, Some(7)), Change::swap_device("dev/zram1"), swap_file("var/tmp/tiermark-7.swap")];
        leave(&fake, if absent == "sys/block" { changes[..2].to_vec() } else { changes.to_vec() });
        let restored = force_back(&mut fake);
        assert!(fake.log.is_empty() && fake.there("var/tmp/tiermark-7.swap"), "{absent}: {:?}", fake.log);
        assert_eq!(kept(&restored).len(), restored.rows.len(), "{absent}: {restored:?}");
        assert!(restored.rows.iter().all(|row| code(row) == codes::kernel_files_absent), "{restored:?}");
        assert_eq!(fake.journals(), 1);
        fake.put("proc/swaps", NO_SWAPS);
        fake.put("sys/block/vda/size", "1");
        assert!(!take_back(&mut fake).incomplete(), "{absent}");
    }
    // Nor is a table without its head one of the kernel's, in another boot either.
    let mut fake = without_processes();
    leave(&fake, vec![swap_file("var/tmp/tiermark-7.swap"), header("dev/sdb", UUID)]);
    fake.put("proc/swaps", "");
    fake.put(BOOT, "boot-2");
    let restored = take_back(&mut fake);
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Left; 2], "{restored:?}");
    assert!(fake.log.is_empty(), "{:?}", fake.log);
}

/// As in a chroot.
#[test]
fn nothing_is_done_where_the_file_systems_of_the_kernel_are_absent() {
    for absent in ["proc", "sys"] {
        let mut fake = without_processes();
        leave(&fake, run_of_a_tenant());
        fake.take_away(absent);
        let restored = force_back(&mut fake);
        assert_eq!(kept(&restored).len(), names(&run_of_a_tenant()), "{absent}: {restored:?}");
        assert!(restored.rows.iter().all(|row| code(row) == codes::kernel_files_absent), "{restored:?}");
        assert!(fake.log.is_empty() && fake.journals() == 1);
    }
}

/// A disk without a serial number or any other identity; another one has its name by now.
#[test]
fn a_disk_without_an_identity_is_known_by_its_name_and_size() {
    let noted = |fake: &Fake| Change::swap_header("dev/sdb", UUID, fake.root());
    let mut fake = Fake::new(&[("dev/sdb", &swap_area()), ("sys/class/block/sdb/size", "6144\n")]);
    leave(&fake, vec![noted(&fake)]);
    fake.put("dev/sdb", &"another".repeat(1000));
    fake.put("sys/class/block/sdb/size", "4096\n");
    let restored = take_back(&mut fake);
    assert_eq!((outcomes(&restored.rows), code(&restored.rows[0])), (vec![ChangeOutcome::Left], codes::device_absent));
    // The same size: it is taken for the same, on which somebody wrote over the header.
    fake.put("sys/class/block/sdb/size", "6144\n");
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Already]);
    // Journals of older versions say nothing but the name.
    leave(&fake, vec![header("dev/sdb", UUID)]);
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Left]);
    // That which cannot be read may have it.
    leave(&fake, vec![noted(&fake)]);
    fake.take_away("dev/sdb");
    fs::create_dir(fake.dir.path().join("dev/sdb")).unwrap();
    let restored = take_back(&mut fake);
    assert!(restored.rows.iter().any(|row| row.outcome == ChangeOutcome::Failed), "{restored:?}");
}
