//! Which journals are obeyed, in which order, and what damage they survive.

use proptest::prelude::*;
use tiermark_model::messages::undo::codes;
use tiermark_undo::{Journal, pending};

use super::*;
use crate::common::Fake;

/// They are ordered by their number: the clock may have been set back between the two.
#[test]
fn several_journals_go_back_to_the_first_value() {
    let path = "proc/sys/vm/swappiness";
    for second in ["2026-11-21T12:00:01Z", "2001-01-01T00:00:00Z"] {
        let mut fake = Fake::new(&[(path, "133\n")]);
        for (started, old, new) in [("2026-11-21T12:00:00Z", "60", "10"), (second, "10", "133")] {
            let head = tiermark_undo::JournalHeader { started: started.into(), ..fake.head() };
            let mut journal = Journal::create(&fake.state(), head).unwrap();
            journal.note(vec![knob(path, old, new)]).unwrap();
            journal.keep();
        }
        assert!(!take_back(&mut fake).incomplete(), "{second}");
        assert_eq!((fake.get(path).as_deref(), fake.journals()), (Some("60"), 0), "{second}");
    }
}

#[test]
fn nothing_that_this_program_did_not_make_is_noted_or_removed() {
    let fake = in_the_middle();
    for change in [
        group_by_path("sys/fs/cgroup/system.slice"),
        group_by_path("sys/fs/cgroup/tiermark/../system.slice"),
        swap_file("home/user/notes"),
        header("home/user/notes", UUID),
        header("dev/sdb", "x"),
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
    let restored = force_back(&mut fake);
    assert!(restored.rows.is_empty() && restored.refused.len() == 1 && fake.log.is_empty());
}

#[test]
fn a_journal_that_others_can_write_to_is_not_obeyed() {
    let mut fake = Fake::new(&[]);
    leave(&fake, vec![knob("proc/sys/vm/page-cluster", "3", "0")]);
    let mut journals = std::fs::read_dir(fake.state.path()).unwrap().flatten().map(|entry| entry.path());
    let journal = journals.find(|path| path.extension().is_some()).unwrap();
    std::fs::set_permissions(&journal, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let restored = force_back(&mut fake);
    assert!(restored.refused[0].code == codes::journal_of_others && fake.log.is_empty(), "{restored:?}");
}

#[test]
fn a_journal_whose_writer_is_at_work_is_left_alone() {
    let mut fake = Fake::new(&[("proc/sys/vm/page-cluster", "0")]);
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    journal.note(vec![knob("proc/sys/vm/page-cluster", "3", "0")]).unwrap();
    // Who shares the directory and not the lock, as another container may.
    std::fs::remove_file(fake.state.path().join("lock")).unwrap();
    let restored = force_back(&mut fake);
    assert!(restored.refused[0].code == codes::journal_in_use && fake.log.is_empty(), "{restored:?}");
    journal.keep();
    assert!(!take_back(&mut fake).incomplete());
}

#[test]
fn a_journal_of_another_machine_is_refused_and_stays() {
    let mut fake = Fake::new(&[("etc/machine-id", "one\n"), ("proc/sys/vm/page-cluster", "0")]);
    leave(&fake, vec![knob("proc/sys/vm/page-cluster", "3", "0")]);
    fake.put("etc/machine-id", "two\n");
    // Another machine has another boot too, after which nothing of it would be left.
    fake.put(crate::common::BOOT, "boot-9");
    let found = force_back(&mut fake);
    assert!(found.incomplete() && found.rows.is_empty());
    assert_eq!(found.refused[0].code, codes::journal_of_another_machine);
    assert!(fake.journals() == 1 && pending(&fake.state(), tiermark_undo::SystemWriter::root(&fake)).len() == 1);
    // One without an id is another too, as a container on the same directory may be.
    fake.take_away("etc/machine-id");
    assert_eq!(take_back(&mut fake).refused[0].code, codes::journal_of_another_machine);
    assert_eq!((fake.journals(), fake.log.len()), (1, 0));
    // A journal from where there was none says nothing.
    leave(&fake, vec![knob("proc/sys/vm/swappiness", "3", "0")]);
    fake.put("etc/machine-id", "one\n");
    assert!(!take_back(&mut fake).incomplete());
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
        let first = take_back(&mut fake);
        prop_assert!(first.refused.is_empty(), "{first:?}");
        fake.refuse.clear();
        let restored = take_back(&mut fake);
        prop_assert!(!restored.incomplete(), "{restored:?}");
        for file in files {
            prop_assert_eq!(fake.get(file), Some("1".to_owned()));
        }
        prop_assert_eq!(fake.journals(), 0);
    }

    /// A file of the state directory that is no journal is refused and stays as it is, a journal of no changes goes,
    /// and nothing is written.
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
        let restored = force_back(&mut fake);
        let refused: Vec<_> = restored.refused.iter().map(|refusal| refusal.code.clone()).collect();
        prop_assert_eq!(refused, if damaged { vec![codes::journal_malformed] } else { vec![] });
        prop_assert_eq!(std::fs::read(&path).ok(), damaged.then_some(text));
        prop_assert!(fake.log.is_empty() && restored.rows.is_empty());
    }
}
