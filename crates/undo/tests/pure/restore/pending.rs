//! What is absent is pending and not done; what is of others stays as it is.

use tiermark_model::ChangeOutcome;
use tiermark_model::messages::undo::codes;
use tiermark_undo::{Asked, Change, SystemWriter, is_noted, pending, restore_all};

use super::*;
use crate::common::{BOOT, Fake, GROUP};

const FILE: &str = "mnt/data/tiermark-7.swap";

/// A file system that is not mounted has no directory, or another file system below the same name.
#[test]
fn a_file_on_a_file_system_that_is_not_mounted_is_pending() {
    for boot in ["boot-1", "boot-2"] {
        let mut fake = Fake::new(&[(FILE, "swap")]);
        let of = |file_system: &str| Change::Swap {
            path: FILE.into(),
            remove_file: true,
            file_system: Some(file_system.to_owned()),
        };
        let Change::Swap { file_system: Some(here), .. } = Change::swap_file(FILE, fake.root()) else {
            panic!("the file system of a temporary directory has an id")
        };
        leave(&fake, vec![of("another"), swap_file("mnt/gone/tiermark-7.swap"), of(&here)]);
        fake.put(BOOT, boot);
        let found = take_back(&mut fake);
        assert_eq!(outcomes(&found.rows), [ChangeOutcome::Done, ChangeOutcome::Left, ChangeOutcome::Left], "{found:?}");
        assert!(found.incomplete() && found.rows[1..].iter().all(|row| code(row) == codes::file_system_absent));
        assert!(!fake.there(FILE));
        let held = pending(&fake.state(), fake.root());
        assert_eq!(held[0].changes.len(), 2, "shown by doctor: {held:?}");
        // It was mounted again, and the file is on it.
        fake.put("mnt/gone/tiermark-7.swap", "swap");
        assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Done, ChangeOutcome::Left]);
        // It never comes back.
        let forget = Asked { forget: vec![format!("/{FILE}")], ..Asked::default() };
        assert!(is_noted(&fake.state(), &forget.forget[0]) && !is_noted(&fake.state(), "/mnt/gone/tiermark-7.swap"));
        let found = restore_all(&fake.state(), &mut fake, &forget).unwrap();
        assert_eq!((outcomes(&found.rows), code(&found.rows[0])), (vec![ChangeOutcome::Gone], codes::note_ended));
        assert_eq!(fake.journals(), 0);
    }
}

#[test]
fn a_disk_is_found_under_another_name_and_pending_while_it_is_not_there() {
    for boot in ["boot-1", "boot-2"] {
        let mut fake = Fake::new(&[
            ("dev/sdb", "short"),
            ("sys/class/block/sdb/wwid", "naa.2"),
            ("dev/sdc", &swap_area()),
            ("sys/class/block/sdc/wwid", "naa.1"),
        ]);
        let noted = Change::SwapHeader { path: "dev/sdb".into(), uuid: UUID.into(), device: Some("naa.1".into()) };
        leave(&fake, vec![noted.clone()]);
        fake.put(BOOT, boot);
        let found = take_back(&mut fake);
        assert_eq!((outcomes(&found.rows), code(&found.rows[0])), (vec![ChangeOutcome::Done], codes::device_renamed));
        assert!(!fake.get("dev/sdc").unwrap().contains("SWAP"));
        // Wiped already: the disk is there without the header.
        leave(&fake, vec![noted.clone()]);
        fake.put(BOOT, boot);
        assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Already]);
        // The disk is not there; another one has its name.
        std::fs::remove_dir_all(fake.dir.path().join("sys/class/block/sdc")).unwrap();
        leave(&fake, vec![noted.clone(), header("dev/sdx", UUID)]);
        let found = take_back(&mut fake);
        assert_eq!(outcomes(&found.rows), [ChangeOutcome::Left, ChangeOutcome::Left], "{found:?}");
        assert!(found.rows.iter().all(|row| code(row) == codes::device_absent));
        assert_eq!(fake.get("dev/sdb").as_deref(), Some("short"));
    }
}

/// A disk elsewhere may not answer.
#[test]
fn no_other_disk_is_read_where_it_is_known_which_it_is() {
    let mut fake = Fake::new(&[
        ("dev/sdb", "short"),
        ("sys/class/block/sdb/wwid", "naa.1"),
        ("dev/sdc", "short"),
        ("sys/class/block/sdc/wwid", "naa.2"),
    ]);
    let noted = Change::SwapHeader { path: "dev/sdb".into(), uuid: UUID.into(), device: Some("naa.1".into()) };
    leave(&fake, vec![noted]);
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Already]);
    assert!(fake.looked.borrow().iter().all(|path| path == "dev/sdb"), "{:?}", fake.looked);
}

#[test]
fn a_device_is_known_by_what_the_kernel_says_of_it() {
    let fake = Fake::new(&[
        ("dev/sdb", ""),
        ("dev/sdb1", ""),
        ("dev/vda", ""),
        ("sys/class/block/sdb/device/wwid", "naa.1"),
        ("sys/block/sdb/sdb1/partition", "1"),
        ("sys/class/block/sdb1/partition", "1"),
        ("sys/class/block/vda/size", "1"),
    ]);
    let device = |path: &str| match Change::swap_header(path, UUID, fake.root()) {
        Change::SwapHeader { device, .. } => device,
        other => panic!("{other}"),
    };
    assert_eq!(device("dev/sdb").as_deref(), Some("naa.1"));
    assert_eq!(device("dev/sdb1").as_deref(), Some("naa.1, partition 1"));
    assert_eq!((device("dev/vda").as_deref(), device("dev/none")), (Some("vda of 1 sectors"), None));
}

/// In one boot a device keeps its name. After a reboot another disk of the same size may have it.
#[test]
fn a_disk_that_only_name_and_size_describe_is_the_same_one_until_a_reboot() {
    for (boot, outcome) in [("boot-1", ChangeOutcome::Already), ("boot-2", ChangeOutcome::Left)] {
        let mut fake = Fake::new(&[("dev/vda", "short"), ("sys/class/block/vda/size", "8")]);
        leave(&fake, vec![Change::swap_header("dev/vda", UUID, fake.root())]);
        fake.put(BOOT, boot);
        let found = take_back(&mut fake);
        assert_eq!(outcomes(&found.rows), [outcome], "{boot}: {found:?}");
    }
}

/// Pages of others that come back from swap count against the limits of their groups.
#[test]
fn swap_is_not_taken_away_from_a_group_whose_limit_has_no_room_for_it() {
    const V2: [&str; 3] = ["memory.max", "memory.current", "memory.swap.current"];
    const V1: [&str; 3] = ["memory.limit_in_bytes", "memory.usage_in_bytes", "memory.memsw.usage_in_bytes"];
    for (top, files, numbers, fits) in [
        ("sys/fs/cgroup", V2, ["100", "60", "41"], false),
        ("sys/fs/cgroup", V2, ["100", "60", "40"], true),
        ("sys/fs/cgroup", V2, ["max", "60", "4000"], true),
        ("sys/fs/cgroup/memory", V1, ["100", "60", "101"], false),
        ("sys/fs/cgroup/memory", V1, ["100", "60", "100"], true),
        // Swap that is not counted may be all of it.
        ("sys/fs/cgroup/memory", V1, ["100", "60", ""], false),
        ("sys/fs/cgroup", V2, ["100", "60", ""], false),
        ("sys/fs/cgroup/memory", V1, ["9223372036854771712", "60", ""], true),
    ] {
        let mut fake = in_the_middle();
        for (file, number) in files.iter().zip(numbers).filter(|(_, number)| !number.is_empty()) {
            fake.put(&format!("{top}/db.slice/one/{file}"), number);
            // Those of the run itself are lifted.
            fake.put(&format!("{GROUP}/{file}"), ["1", "1", "9"][files.iter().position(|f| f == file).unwrap()]);
        }
        leave(&fake, vec![group(&fake, GROUP), Change::swap_device("dev/zram1")]);
        let found = take_back(&mut fake);
        let refused = found.rows.iter().find(|row| row.what.contains("zram1")).unwrap();
        assert_eq!(refused.outcome == ChangeOutcome::Done, fits, "{numbers:?}: {found:?}");
        assert_eq!(code(refused) == codes::limit_of_others, !fits, "{found:?}");
        assert_eq!(fake.log.iter().any(|done| done.starts_with("swapoff")), fits);
        if !fits {
            assert!(!force_back(&mut fake).incomplete());
        }
    }
    // The kernel drops pages of files to make room, and no more pages come back than the area holds.
    for (stat, area) in [("inactive_file 1\nactive_file 1\n", 1), ("inactive_file 0\nactive_file 0\n", 0)] {
        let mut fake = in_the_middle();
        let db = "sys/fs/cgroup/db";
        V2.iter().zip(["100", "60", "41"]).for_each(|(file, number)| fake.put(&format!("{db}/{file}"), number));
        fake.put(&format!("{db}/memory.stat"), stat);
        fake.put("proc/swaps", &format!("Filename Type Size Used Priority\n/dev/zram1 partition 1 {area} 9\n"));
        leave(&fake, vec![group(&fake, GROUP), Change::swap_device("dev/zram1")]);
        assert!(!take_back(&mut fake).incomplete(), "{stat}");
    }
}
