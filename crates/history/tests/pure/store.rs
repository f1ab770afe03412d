//! Saving, finding and the journal, on a real filesystem.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tiermark_history::{Journal, Places, Record, Store, recover};
use tiermark_model::messages::documents::codes as documents;
use tiermark_model::messages::load::codes;
use tiermark_model::{Plan, Run};

fn run(id: &str) -> Run {
    Run { id: id.into(), ..crate::common::example_run() }
}

#[test]
fn the_environment_chooses_the_directory() {
    let path = |p: &str| Some(PathBuf::from(p));
    let mut places = Places { home: path("/home/u"), ..Places::default() };
    assert_eq!(Store::new(&places).directory(), Some(Path::new("/home/u/.local/share/tiermark/runs")));
    places.xdg_data_home = path("data");
    assert_eq!(Store::new(&places).directory(), Some(Path::new("/home/u/.local/share/tiermark/runs")), "relative");
    places.xdg_data_home = path("/data");
    assert_eq!(Store::new(&places).directory(), Some(Path::new("/data/tiermark/runs")));
    places.tiermark_home = path("/t");
    assert_eq!(Store::new(&places).directory(), Some(Path::new("/t/runs")));
    places.tiermark_home = path("");
    assert_eq!(Store::new(&places).directory(), Some(Path::new("/data/tiermark/runs")));
    assert_eq!(Store::new(&Places::default()).directory(), None);
}

#[test]
fn saved_runs_are_found_by_path_id_prefix_and_last() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path().join("deep/runs"));
    assert_eq!(store.load("last").unwrap_err().code, documents::no_last_run);
    let first = store.save(&run("20260101T000000Z-aa")).unwrap();
    assert_eq!(first.notice, None);
    store.save(&run("20260102T000000Z-bb")).unwrap();
    assert_eq!(store.list().unwrap().len(), 2);
    assert_eq!(store.load("last").unwrap().id, "20260102T000000Z-bb");
    assert_eq!(store.load("20260101T000000Z-aa").unwrap(), run("20260101T000000Z-aa"));
    assert_eq!(store.load("20260101").unwrap().id, "20260101T000000Z-aa");
    assert_eq!(store.load(first.path.to_str().unwrap()).unwrap().id, "20260101T000000Z-aa");
    let refusal = store.load("2026").unwrap_err();
    let ids = serde_json::json!(["20260101T000000Z-aa", "20260102T000000Z-bb"]);
    assert_eq!((&refusal.code, &refusal.data["ids"]), (&documents::run_ambiguous, &ids));
    let refusal = store.load("1999").unwrap_err();
    let newest = serde_json::json!(["20260102T000000Z-bb", "20260101T000000Z-aa"]);
    assert_eq!((&refusal.code, &refusal.data["newest"]), (&documents::run_unknown, &newest));
    assert_eq!(store.load("").unwrap_err().code, documents::run_unknown);
    assert_eq!(store.load("./none.json").unwrap_err().code, documents::document_unreadable);
    let runs = store.directory().unwrap();
    let newest = serde_json::json!(runs.join("20260102T000000Z-bb.json"));
    for (directory, newest) in [(runs, newest), (dir.path(), serde_json::Value::Null)] {
        let refusal = store.load(directory.to_str().unwrap()).unwrap_err();
        assert_eq!((&refusal.code, &refusal.data["newest"]), (&documents::document_is_directory, &newest));
    }
}

#[test]
fn of_runs_that_began_within_one_second_the_last_is_the_one_saved_last() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    for (id, saved) in [("20260101T000000-ff", 1), ("20260101T000000-aa", 2)] {
        let path = store.save(&run(id)).unwrap().path;
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(saved)).unwrap();
    }
    assert_eq!(store.load("last").unwrap().id, "20260101T000000-aa");
    assert_eq!(store.list().unwrap().last().unwrap().id, "20260101T000000-aa");
}

#[test]
fn a_store_that_cannot_be_written_falls_back_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let mut places = Places { tiermark_home: Some(blocked.clone()), ..Places::default() };
    let refusal = Store::new(&places).save(&run("a")).unwrap_err();
    assert_eq!((&refusal.code, refusal.data["attempts"].as_array().unwrap().len()), (&documents::no_place_for_run, 1));

    places.current = Some("/proc/self".into());
    places.temporary = Some(dir.path().join("tmp"));
    let saved = Store::new(&places).save(&run("a")).unwrap();
    assert_eq!(saved.path, dir.path().join("tmp/tiermark-a.json"));
    let notice = saved.notice.unwrap();
    assert_eq!(notice.code, codes::saved_elsewhere);
    assert_eq!(notice.text("directory"), blocked.join("runs").to_str());
    assert_eq!(notice.text("path"), saved.path.to_str());
    assert_eq!(Store::at("/nonexistent").load(saved.path.to_str().unwrap()).unwrap().id, "a");
    let left: Vec<_> = fs::read_dir(dir.path().join("tmp")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn an_id_cannot_leave_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let saved = Store::at(dir.path()).save(&run("../../etc/passwd")).unwrap();
    assert_eq!(saved.path, dir.path().join("------etc-passwd.json"));
}

#[test]
fn numbers_that_json_cannot_hold_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let mut broken = run("nan");
    broken.bench.clock.hz = f64::NAN;
    let saved = Store::at(dir.path()).save(&broken).unwrap();
    assert!(saved.path.exists());
    assert_eq!(saved.notice.unwrap().code, codes::saved_unreadable);
}

fn records(run: &Run) -> Vec<Record> {
    let experiment = &run.experiments[0];
    let (first, rest) = experiment.plan.steps.split_at(1);
    let mut rough = experiment.observations[1].clone();
    rough.value = None;
    vec![
        Record::Experiment {
            request: Box::new(experiment.request.clone()),
            method: experiment.method,
            plan: Plan { steps: first.to_vec(), added: 0, ..experiment.plan.clone() },
        },
        Record::Steps(rest.to_vec()),
        Record::Observation(Box::new(rough)),
        Record::Observation(Box::new(experiment.observations[0].clone())),
        Record::Observation(Box::new(experiment.observations[1].clone())),
        Record::Done {
            states: experiment.states.clone(),
            drift: experiment.drift.clone(),
            interruptions: experiment.interruptions.clone(),
            throughputs: experiment.throughputs.clone(),
            time: experiment.time,
        },
    ]
}

/// What a journal of the whole run gives back: everything but the findings.
fn without_findings(mut run: Run) -> Run {
    (run.complete, run.stopped) = (false, true);
    run.experiments[0].findings.clear();
    run
}

#[test]
fn a_journal_gives_back_everything_but_the_findings() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let run = run("a");
    let mut journal = Journal::create(&store, &run).unwrap();
    for record in records(&run) {
        assert_eq!(journal.append(&record), None);
    }
    assert_eq!(recover(journal.path()).unwrap(), without_findings(run.clone()));
    assert_eq!(store.orphans(), Vec::<PathBuf>::new(), "its writer lives");
    assert_eq!(store.load("a").unwrap(), without_findings(run), "a run that has only a journal is shown from it");
    journal.finish();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_dead_writers_journal_is_an_orphan() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let journal = Journal::create(&store, &run("a")).unwrap();
    let path = journal.path().to_owned();
    // Dropping closes the file and with it the lock, as the kernel does for a killed process; the file stays.
    drop(journal);
    assert_eq!(store.orphans(), [path]);
}

/// The process that the next test starts and kills.
#[test]
#[ignore = "never ends"]
fn a_run_that_never_ends() {
    let run = run("endless");
    let directory = std::env::var_os("TIERMARK_TEST_ENDLESS_RUN").expect("a directory");
    let mut journal = Journal::create(&Store::at(directory), &run).unwrap();
    let records = records(&run);
    assert_eq!(journal.append(&records[0]), None);
    loop {
        records[1..].iter().for_each(|record| assert_eq!(journal.append(record), None));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_killed_process_leaves_a_journal_that_is_the_last_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    store.save(&run("earlier")).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "store::a_run_that_never_ends"])
        .env("TIERMARK_TEST_ENDLESS_RUN", dir.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let path = dir.path().join("endless.journal");
    let both_seen = || recover(&path).is_ok_and(|run| run.observations().count() == 2);
    let mut tries = (0..6000).map(|_| std::thread::sleep(std::time::Duration::from_millis(5)));
    let in_time = tries.any(|()| both_seen());
    let living = store.orphans();
    let last_while_it_runs = store.load("last").unwrap().id;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(in_time, "the run under way wrote no whole journal within 30 seconds");
    assert_eq!(living, Vec::<PathBuf>::new(), "its writer lived");
    assert_eq!(last_while_it_runs, "earlier");
    assert_eq!(store.orphans(), [path]);
    let last = store.load("last").unwrap();
    assert_eq!((last.id.as_str(), last.complete, last.observations().count()), ("endless", false, 2));
}

#[test]
fn a_journal_cut_at_any_byte_gives_the_whole_records_before() {
    let dir = tempfile::tempdir().unwrap();
    let run = run("a");
    let mut journal = Journal::create(&Store::at(dir.path()), &run).unwrap();
    let header = fs::metadata(journal.path()).unwrap().len() as usize;
    let mut ends = Vec::new();
    for record in records(&run) {
        journal.append(&record);
        ends.push(fs::metadata(journal.path()).unwrap().len() as usize);
    }
    let cut = dir.path().join("cut.journal");
    fs::copy(journal.path(), &cut).unwrap();
    let file = fs::File::options().write(true).open(&cut).unwrap();
    for length in (0..=*ends.last().unwrap()).rev() {
        file.set_len(length as u64).unwrap();
        let recovered = recover(&cut);
        if length < header {
            assert!(recovered.is_err(), "{length}");
            continue;
        }
        let recovered = recovered.unwrap();
        let whole = ends.iter().filter(|end| **end <= length).count();
        assert!(!recovered.complete && recovered.warnings == run.warnings);
        assert_eq!(recovered.experiments.len(), usize::from(whole >= 1), "{length}");
        let seen: Vec<_> = recovered.observations().map(|o| (o.step.as_str(), o.value.is_some())).collect();
        let expected: &[(&str, bool)] = match whole {
            0..=2 => &[],
            3 => &[("read/L1/one", false)],
            4 => &[("latency/L1", true), ("read/L1/one", false)],
            _ => &[("latency/L1", true), ("read/L1/one", true)],
        };
        assert_eq!(seen, expected, "{length}");
    }
}

#[test]
fn a_damaged_line_keeps_what_came_before_and_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let run = run("a");
    let mut journal = Journal::create(&Store::at(dir.path()), &run).unwrap();
    for record in records(&run) {
        journal.append(&record);
    }
    let text = fs::read_to_string(journal.path()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4] = "{\"observation\":garbage";
    let path = dir.path().join("damaged.journal");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let recovered = recover(&path).unwrap();
    assert_eq!(recovered.observations().count(), 1);
    let warning = recovered.warnings.last().unwrap();
    assert_eq!(warning.code, "journal_damaged");
    assert_eq!(warning.data["line"], 5);
}

#[test]
fn a_journal_without_a_place_is_refused_with_a_cure() {
    let refusal = Journal::create(&Store::new(&Places::default()), &run("a")).unwrap_err();
    assert_eq!(refusal.code, codes::journal_refused);
    let refusal = Journal::create(&Store::at("/proc/self/x"), &run("a")).unwrap_err();
    assert_eq!(
        (refusal.code.as_str(), refusal.text("directory")),
        (codes::journal_refused.as_str(), Some("/proc/self/x"))
    );
}
