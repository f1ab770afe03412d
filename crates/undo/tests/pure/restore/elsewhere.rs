//! What commands started elsewhere is stopped by theirs, as long as nobody else can be meant.

use tiermark_model::ChangeOutcome;
use tiermark_model::messages::undo::codes;
use tiermark_undo::{Change, Journal, restore_own, restore_those};

use super::*;
use crate::common::{BOOT, Fake};

/// A tenant that a command started, which `check` says.
fn started(number: u32, check: Option<&str>) -> Change {
    Change::Command {
        stop: format!("virsh destroy vm{number}"),
        what: format!("tenant {number}"),
        check: check.map(str::to_owned),
        own: false,
    }
}

#[test]
fn what_a_command_started_is_stopped_and_tried_again() {
    let mut fake = Fake::new(&[]);
    fake.fails.insert("virsh destroy vm2".to_owned());
    leave(&fake, vec![started(1, None), started(2, None)]);
    let found = take_back(&mut fake);
    assert_eq!(outcomes(&found.rows), [ChangeOutcome::Failed, ChangeOutcome::Done]);
    assert_eq!(found.rows[0].why.as_ref().unwrap().data["error"], "no such machine");
    // What failed is tried again, and given up where that is asked for.
    fake.log.clear();
    assert!(take_back(&mut fake).incomplete());
    assert_eq!((fake.log.as_slice(), fake.journals()), (["run virsh destroy vm2".to_owned()].as_slice(), 1));
    assert!(!force_back(&mut fake).incomplete());
    assert_eq!(fake.journals(), 0);
}

/// By now the name may be that of a machine of somebody else.
#[test]
fn after_a_reboot_no_command_is_run_whoever_asks() {
    let mut fake = Fake::new(&[]);
    leave(&fake, vec![started(1, Some("is vm1 off"))]);
    fake.put(BOOT, "boot-2");
    for found in [take_back(&mut fake), restore_those(&fake.state(), &mut fake, &|_| true).unwrap()] {
        assert_eq!(
            (outcomes(&found.rows), code(&found.rows[0])),
            (vec![ChangeOutcome::Left], codes::started_before_reboot)
        );
        assert!(found.incomplete() && fake.log.is_empty(), "{:?}", fake.log);
    }
    assert_eq!(outcomes(&force_back(&mut fake).rows), [ChangeOutcome::Gone], "it is given up");
    assert!(fake.log.is_empty() && fake.journals() == 0);
    // Nor where the system does not tell one boot from another.
    leave(&fake, vec![started(1, None)]);
    std::fs::remove_file(fake.dir.path().join(BOOT)).unwrap();
    assert_eq!(outcomes(&take_back(&mut fake).rows), [ChangeOutcome::Left]);
    assert!(fake.log.is_empty());
}

/// A name that holds a random word of the run is nobody else's, in any boot.
#[test]
fn what_has_a_name_of_its_own_is_always_removed() {
    for boot in ["boot-1", "boot-2"] {
        let mut fake = Fake::new(&[]);
        let own = Change::Command { stop: "podman rm tiermark-7".into(), what: "it".into(), check: None, own: true };
        leave(&fake, vec![own]);
        fake.put(BOOT, boot);
        assert!(!restore_those(&fake.state(), &mut fake, &|_| true).unwrap().incomplete(), "{boot}");
        assert_eq!(fake.log, ["run podman rm tiermark-7"]);
    }
}

/// The check fails as long as the tenant runs.
#[test]
fn a_check_is_asked_before_anything_is_stopped() {
    let mut fake = Fake::new(&[]);
    leave(&fake, vec![started(1, Some("is vm1 off")), started(2, Some("is vm2 off"))]);
    fake.fails.insert("is vm2 off".to_owned());
    let found = restore_those(&fake.state(), &mut fake, &|_| true).unwrap();
    assert_eq!(outcomes(&found.rows), [ChangeOutcome::Done, ChangeOutcome::Already], "{found:?}");
    assert_eq!(fake.log, ["run is vm2 off", "run virsh destroy vm2", "run is vm1 off"]);
}

/// A run that ends stops what it started, whatever a check says that was meant for the moment before the start.
#[test]
fn who_started_it_does_not_ask_the_check() {
    let mut fake = Fake::new(&[]);
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    journal.note(vec![started(1, Some("is vm1 off")), started(2, Some("is vm2 off"))]).unwrap();
    assert_eq!(outcomes(&journal.stop_commanded(&mut fake)), [ChangeOutcome::Done, ChangeOutcome::Done]);
    assert_eq!(fake.log, ["run virsh destroy vm2", "run virsh destroy vm1"]);
    journal.keep();
}

/// After a panic the program takes back what it changed itself.
#[test]
fn who_started_it_stops_it_after_a_panic() {
    let mut fake = Fake::new(&[]);
    fake.process(std::process::id(), 500, None);
    leave(&fake, vec![started(1, None), started(2, Some("is vm2 off"))]);
    let restored = restore_own(&fake.state(), &mut fake).unwrap();
    assert_eq!(outcomes(&restored.rows), [ChangeOutcome::Done; 2], "{restored:?}");
    assert_eq!(fake.log, ["run virsh destroy vm2", "run virsh destroy vm1"]);
    // What another process of that number left is not its own.
    leave(&fake, vec![started(1, None)]);
    fake.process(std::process::id(), 501, None);
    assert!(restore_own(&fake.state(), &mut fake).unwrap().rows.is_empty() && fake.journals() == 1);
}

#[test]
fn without_a_check_nothing_is_stopped_unless_somebody_asks() {
    let mut fake = Fake::new(&[]);
    leave(&fake, vec![started(1, None)]);
    let found = restore_those(&fake.state(), &mut fake, &|_| true).unwrap();
    assert_eq!((outcomes(&found.rows), code(&found.rows[0])), (vec![ChangeOutcome::Left], codes::nobody_asked));
    assert!(fake.log.is_empty() && fake.journals() == 1);
    assert!(!take_back(&mut fake).incomplete());
    assert_eq!(fake.log, ["run virsh destroy vm1"]);
}
