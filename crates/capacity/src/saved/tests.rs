use tiermark_model::capacity::{Outcome, Phase};
use tiermark_model::testing;

use super::*;
use crate::budget::Budgets;
use crate::scenario::built_in;

fn begun() -> RunHeader {
    let text = built_in().iter().find(|(name, _)| *name == "mini").unwrap().1;
    let setup = RunSetup { timeout_seconds: 10.0, threads: 1, ..RunSetup::default() };
    RunHeader::new("2026-11-21T00:00:00Z", 7, Scenario::read(text).unwrap(), setup)
}

fn record(number: u32) -> TrialRecord {
    testing::trial(number, 1, Phase::Baseline, Outcome::Pass)
}

fn limits() -> Limits {
    let budgets = Budgets {
        dram: 512 << 20,
        reserve: 0,
        footprint: 100 << 20,
        tier: 0,
        ratio: 1.0,
        cpus: 2.0,
        cpu_per_tenant: None,
    };
    Limits { arithmetic: budgets.arithmetic(), most_tenants: 12, only: None, most_trials: 24 }
}

fn write_all(directory: &Path) -> PathBuf {
    let mut saved = SavedRun::create(directory, "x", begun()).unwrap();
    saved.footprint_is(Some(Footprint { bytes: 100 << 20, cpus: Some(0.1) })).unwrap();
    saved.limits_are(0, limits()).unwrap();
    saved.reaches(2).unwrap();
    saved.reaches(1).unwrap();
    saved.trial_ended(0, record(1), None).unwrap();
    assert_eq!(saved.pending().tiers, [&Tier::Dram, &Tier::Zram(None)]);
    saved.answered(0, Answer::AtLeast { tenants: 3 }).unwrap();
    assert_eq!(saved.pending().tiers, [&Tier::Zram(None)]);
    saved.refused(1, tiermark_model::messages::tiers::zram_missing("sys")).unwrap();
    assert!(saved.is_whole());
    let twice = SavedRun::open(saved.path(), false).unwrap_err();
    assert_eq!(twice.code, messages::codes::saved_run_busy);
    saved.path().to_owned()
}

#[test]
fn what_was_saved_is_read_back_whole_and_after_any_loss_of_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_all(dir.path());
    let whole = SavedRun::open(&path, false).unwrap();
    assert_eq!((whole.begun.clone(), whole.cases[0].trials.len(), whole.is_whole()), (begun(), 1, true));
    assert_eq!((whole.cases[0].limits, whole.reached), (Some(limits()), 2));
    drop(whole);
    let bytes = fs::read(&path).unwrap();
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for length in (first + 1..bytes.len() - 1).step_by(7) {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut cut = SavedRun::open(&path, false).unwrap_or_else(|refusal| panic!("{length}: {refusal}"));
        assert!(!cut.is_whole());
        // What is written behind a half line is read again.
        cut.answered(1, Answer::AtLeast { tenants: 9 }).unwrap();
        drop(cut);
        let again = SavedRun::open(&path, false).unwrap();
        assert_eq!(again.cases[1].answer, Some(Answer::AtLeast { tenants: 9 }), "{length}");
    }
}

/// A file names programs that run with the rights of the user who resumes it.
#[test]
fn a_file_that_others_can_write_needs_trust() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_all(dir.path());
    for mode in [0o664, 0o646] {
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(SavedRun::open(&path, false).unwrap_err().code, messages::codes::saved_run_of_others, "{mode:o}");
        assert!(SavedRun::open(&path, true).is_ok());
        assert!(unfinished(dir.path()).is_err(), "nor is it found by itself");
    }
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(4711), None).unwrap();
        assert_eq!(SavedRun::open(&path, false).unwrap_err().code, messages::codes::saved_run_of_others);
    }
}

/// What was right when it was written may have been changed since.
#[test]
fn what_a_file_asks_for_is_checked_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_all(dir.path());
    let text = fs::read_to_string(&path).unwrap();
    for (good, bad, said) in [
        ("\"timeout_seconds\":10.0", "\"timeout_seconds\":1e300", "timeout_seconds"),
        ("\"timeout_seconds\":10.0", "\"timeout_seconds\":-1", "timeout_seconds"),
        ("\"started\":\"2", "\"started\":\"µ", "started"),
        ("\"threads\":1", "\"threads\":99999999", "threads"),
        ("\"cpus\":[]", "\"cpus\":[99999999]", "cpus"),
        ("\"measure\":2.0", "\"measure\":1e300", "measure"),
    ] {
        let changed = text.replacen(good, bad, 1);
        assert_ne!(changed, text, "{good}");
        fs::write(&path, changed).unwrap();
        let refused = SavedRun::open(&path, true).unwrap_err();
        assert!(refused.code == messages::codes::saved_run_damaged && refused.to_string().contains(said), "{refused}");
    }
}

/// Two bytes of one letter, of which the second was not written any more.
#[test]
fn a_file_that_ends_within_a_letter_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_all(dir.path());
    let whole = fs::read(&path).unwrap();
    let torn = [whole.as_slice(), "{\"refused\":\"µ".as_bytes()].concat();
    fs::write(&path, &torn[..torn.len() - 1]).unwrap();
    assert!(String::from_utf8(fs::read(&path).unwrap()).is_err());
    assert!(SavedRun::open(&path, false).unwrap().is_whole());
}

#[test]
fn files_that_are_none_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    for text in ["", "x\n", "{}\n", "{\"footprint\":null}\n"] {
        fs::write(&path, text).unwrap();
        assert_eq!(SavedRun::open(&path, false).unwrap_err().code, messages::codes::saved_run_damaged, "{text}");
    }
    assert_eq!(SavedRun::open(&dir.path().join("none"), false).unwrap_err().code, messages::codes::saved_run_missing);
    let whole = write_all(&dir.path().join("sub"));
    let text = fs::read_to_string(&whole).unwrap();
    fs::write(&whole, text.replacen("{\"limits\"", "{\"limits", 1)).unwrap();
    assert_eq!(
        SavedRun::open(&whole, false).unwrap_err().code,
        messages::codes::saved_run_damaged,
        "a line in the middle"
    );
    let blocked = SavedRun::create(&path, "x", begun()).unwrap_err();
    assert_eq!(blocked.code, messages::codes::run_not_saved);
}
