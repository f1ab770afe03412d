//! Runs that were killed: their journals become documents.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tiermark_engine::{Lab, Record, conclude};
use tiermark_history::{Store, recover};
use tiermark_model::{Refusal, Run};

use crate::reanalysis::{reconcile, study};
use crate::record::OwnRecord;

/// Whether a run was read from a journal, which holds no findings.
fn is_unfinished(run: &Run) -> bool {
    run.stopped && run.findings().next().is_none()
}

/// Holds a run that was recovered from its journal against the machine's record and derives its findings; other runs
/// stay as they are. It raises no record, as no run does that was stopped. With a notice where the record cannot be
/// read.
pub fn concluded(mut run: Run, store: &Store) -> (Run, Option<Refusal>) {
    if !is_unfinished(&run) {
        return (run, None);
    }
    let lab = Lab::new(run.machine.clone(), run.bench.clone());
    let (record, notice) = OwnRecord::of_killed(store, &run, &lab.machine);
    let experiments = std::mem::take(&mut run.experiments).into_iter().map(|mut experiment| {
        // The observations of a probe that this version does not know stay as they are.
        if tiermark_probes::find(&experiment.request.probe).is_none() {
            return experiment;
        }
        record.hold(&mut experiment);
        match study(&experiment, &lab) {
            Some(study) => conclude(study.as_ref(), experiment),
            None => experiment,
        }
    });
    run.experiments = experiments.collect();
    reconcile(&mut run.experiments, &lab);
    (run, notice)
}

/// What became of the journal of a killed run.
#[derive(Debug)]
pub enum Adopted {
    /// A document.
    Saved {
        /// Id of the run.
        id: String,
        /// That the machine's record could not be read.
        notice: Option<Refusal>,
    },
    /// Nothing.
    Unused {
        /// The journal, which stays.
        journal: PathBuf,
        /// Why it was not used.
        why: String,
        /// That the machine's record could not be read.
        notice: Option<Refusal>,
    },
}

/// Makes documents of the journals of killed runs.
pub fn adopt(store: &Store) -> Vec<Adopted> {
    let one = |journal: PathBuf| {
        let (run, notice) = match recover(&journal) {
            Ok(run) => concluded(run, store),
            Err(why) => return Adopted::Unused { journal, why: why.to_string(), notice: None },
        };
        match save(store, &run, &journal) {
            Ok(()) => Adopted::Saved { id: run.id, notice },
            Err(why) => Adopted::Unused { journal, why, notice },
        }
    };
    store.orphans().into_iter().map(one).collect()
}

/// Saves a journal's run in the store, with the journal's age, and removes the journal.
fn save(store: &Store, run: &Run, journal: &Path) -> Result<(), String> {
    let directory = store.directory().ok_or("there is no store")?;
    // Beside its journal or not at all.
    let saved = Store::at(directory).save(run).map_err(|e| e.to_string())?;
    let age = fs::metadata(journal).and_then(|m| m.modified());
    // `last` goes by age; a document that seems newer than it is does little harm.
    let _ = age.and_then(|age| File::options().append(true).open(&saved.path)?.set_modified(age));
    fs::remove_file(journal).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_history::{Journal, MachineKey, MachineRecord, Record};
    use tiermark_machine::Root;
    use tiermark_model::{ReasonCode, Verdict};

    /// A run on this machine with trusted numbers, as it ends.
    fn run() -> Run {
        let bytes = include_bytes!("../../history/tests/fixtures/run-4.json");
        let mut run = tiermark_history::parse(bytes, "a document").expect("a document");
        (run.simulated, run.machine.system.hostname) = (None, None);
        for experiment in &mut run.experiments {
            experiment.request.probe = "latency".into();
            for seen in &mut experiment.observations {
                (seen.verdict, seen.refusal) = (Verdict::trusted(), None);
            }
        }
        run
    }

    fn record(store: &Store, run: &Run) -> MachineRecord {
        MachineRecord::open(store, MachineKey::of(&run.machine, &crate::record::machine_id(&Root::live())), true).0
    }

    /// The document of a run that was killed after this change, with its numbers half as good as the record.
    fn killed(change: impl FnOnce(&mut Run)) -> Run {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::at(home.path().join("runs"));
        let mut run = run();
        record(&store, &run).improve(&store, &run, "boot").expect("it can be written");
        let book = || fs::read(home.path().join("record.json")).expect("a record");
        let before = book();
        change(&mut run);
        let mut journal = Journal::create(&store, &run).expect("a journal");
        for experiment in &run.experiments {
            let tiermark_model::Experiment { request, method, plan, .. } = experiment.clone();
            journal.append(&Record::Experiment { request: Box::new(request), method, plan });
            for seen in &experiment.observations {
                let worse = if seen.unit == tiermark_model::Unit::Ns { 2.0 } else { 0.5 };
                let mut seen = seen.clone();
                seen.value = seen.value.map(|value| value * worse);
                journal.append(&Record::Observation(Box::new(seen)));
            }
        }
        drop(journal);
        adopt(&store);
        assert!(store.orphans().is_empty(), "it is a document now");
        assert_eq!(book(), before, "a killed run raises no record");
        store.load("last").expect("the document")
    }

    fn below(run: &Run) -> usize {
        run.observations().filter(|seen| seen.verdict.has(ReasonCode::BelowRecord)).count()
    }

    #[test]
    fn a_killed_run_is_held_against_the_record_of_its_machine() {
        let run = killed(|_| ());
        assert!(!run.complete);
        assert_eq!(below(&run), 2, "{:?}", run.experiments[0].observations);
        assert!(run.findings().any(|f| f.verdict.has(ReasonCode::BelowRecord)), "derived after it was held");
        assert_eq!(run.experiments[0].method, 1, "the method is that of the numbers");
    }

    #[test]
    fn a_killed_run_is_held_only_as_it_would_have_been() {
        assert_eq!(below(&killed(|run| run.command.push("--no-record".into()))), 0);
        assert_eq!(below(&killed(|run| run.simulated = Some("synth:".into()))), 0);
        assert_eq!(below(&killed(|run| run.machine.system.kernel = Some("another".into()))), 0);
        let elsewhere = |run: &mut Run| run.machine.system.hostname = Some("another host, as no host is called".into());
        assert_eq!(below(&killed(elsewhere)), 0);
    }
}
