//! The journal of a run under way: the run's head, then one line a record.
//!
//! A record survives SIGKILL. It is not synced to disk: that would disturb the measurement, and a machine that loses
//! power has other worries.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_model::messages::load as says;
use tiermark_model::{
    CoreThroughput, Drift, Interrupted, Observation, Plan, Refusal, Request, Run, State, Step, TimeSpent,
};

use crate::lines::{Appender, Survives, temporary_beside};
use crate::store::Store;

/// A line of a journal behind its header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A probe starts.
    Experiment {
        /// The request of the experiment.
        request: Box<Request>,
        /// Version of the probe's method.
        method: u32,
        /// The plan of the experiment.
        plan: Plan,
    },
    /// The probe added steps.
    Steps(Vec<Step>),
    /// All that is known of a step; a later record of the same step replaces it.
    Observation(Box<Observation>),
    /// The probe is done.
    Done {
        /// The states that the machine was in meanwhile.
        states: Vec<State>,
        /// Its changes meanwhile.
        drift: Vec<Drift>,
        /// What interrupted its cpus meanwhile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        interruptions: Vec<Interrupted>,
        /// What its cores did in a cycle.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        throughputs: Vec<CoreThroughput>,
        /// What its time went into.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time: Option<TimeSpent>,
    },
}

/// The open journal of this process. It holds a lock, which distinguishes it from the journal of a process that died.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    records: Appender,
    /// Set once a write failed; nothing is written from then on.
    broken: bool,
    notice: Option<Refusal>,
}

impl Journal {
    /// Starts a journal with a run's head: in the store, else where [`Store::save`] would go.
    ///
    /// # Errors
    /// A [`Refusal`] when no place took it: a reason for a warning, not for ending the run.
    pub fn create(store: &Store, run: &Run) -> Result<Self, Refusal> {
        let head = Run { complete: false, experiments: Vec::new(), ..run.clone() };
        let mut first: Option<Refusal> = None;
        for (directory, name) in store.places_for(&run.id, "journal") {
            match start(&directory, &name, &head) {
                Ok(records) => {
                    return Ok(Self { path: directory.join(name), records, broken: false, notice: first });
                }
                Err(why) => first = first.or_else(|| Some(refuse(&directory, &why.to_string()))),
            }
        }
        Err(first.unwrap_or_else(|| refuse(&store.directory_or_cwd(), "no directory to write in is known")))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it is not in the store, when it is elsewhere: to be shown once.
    pub fn notice(&self) -> Option<&Refusal> {
        self.notice.as_ref()
    }

    /// Adds a record. The first failure is returned, to be shown; after it the journal is silent and the run goes on.
    pub fn append(&mut self, record: &Record) -> Option<Refusal> {
        if self.broken {
            return None;
        }
        let why = self.records.append(&[record]).err()?;
        self.broken = true;
        Some(says::journal_broken(&self.path.display().to_string(), &why.to_string()))
    }

    /// Removes the journal: the run is saved.
    pub fn finish(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether no process holds the writer's lock. On file systems without locks, no journal counts as abandoned.
pub fn is_abandoned(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

fn refuse(directory: &Path, why: &str) -> Refusal {
    says::journal_refused(&directory.display().to_string(), why)
}

/// Creates a journal with its head. It gets its name only when it is locked and complete, so that no process takes it
/// for abandoned.
fn start(directory: &Path, name: &str, head: &Run) -> io::Result<Appender> {
    let temporary = temporary_beside(directory, name);
    let records = Appender::create(&temporary, Survives::Kill, head)?;
    fs::rename(&temporary, directory.join(name)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })?;
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_once() {
        // /dev/full answers every write as a full disk does.
        let file = File::options().write(true).open("/dev/full").unwrap();
        let records = Appender::new(file, Survives::Kill);
        let mut journal = Journal { path: "/dev/full".into(), records, broken: false, notice: None };
        let refusal = journal.append(&Record::Steps(Vec::new())).expect("the first failure is told");
        assert_eq!(refusal.code, says::codes::journal_broken);
        assert_eq!(refusal.text("path"), Some("/dev/full"));
        assert_eq!(journal.append(&Record::Steps(Vec::new())), None);
    }
}
