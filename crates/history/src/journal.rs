//! The journal of a run under way: one line a record, each handed to the kernel by one write.
//!
//! The page cache outlives the process, so a record that was written survives SIGKILL. It is not synced to disk: that would
//! disturb the measurement, and a machine that loses power has other worries.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_model::messages::load as says;
use tiermark_model::{Drift, Observation, Plan, Refusal, Request, Run, State, Step};

use crate::save::{create_new, temporary_beside};
use crate::store::Store;

/// A line of a journal behind its header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A probe starts.
    Experiment {
        /// What was asked.
        request: Box<Request>,
        /// Version of the probe's method.
        method: u32,
        /// Its plan.
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
    },
}

/// The open journal of this process. It holds a lock, so that others can tell it from one whose writer died.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole records written.
    length: u64,
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
        let mut line = serde_json::to_vec(&head).map_err(|why| refuse(&store.directory_or_cwd(), &why.to_string()))?;
        line.push(b'\n');
        let mut first: Option<Refusal> = None;
        for (directory, name) in store.places_for(&run.id, "journal") {
            match start(&directory, &name, &line) {
                Ok(file) => {
                    let path = directory.join(name);
                    return Ok(Self { path, file, length: line.len() as u64, broken: false, notice: first });
                }
                Err(why) => first = first.or_else(|| Some(refuse(&directory, &why.to_string()))),
            }
        }
        Err(first.unwrap_or_else(|| refuse(&store.directory_or_cwd(), "no directory to write in is known")))
    }

    /// Where it is.
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
        let result = serde_json::to_vec(record).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            write_once(&mut self.file, &line)?;
            self.length += line.len() as u64;
            Ok(())
        });
        let why = result.err()?;
        self.broken = true;
        // A torn record is ignored on recovery; cutting it off only keeps the file clean.
        let _ = self.file.set_len(self.length);
        Some(says::journal_broken(&self.path.display().to_string(), &why.to_string()))
    }

    /// Removes the journal: the run is saved.
    pub fn finish(self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Journals whose writer is gone: runs that were killed. [`recover`](crate::recover) reads them.
    pub fn orphans(&self) -> Vec<PathBuf> {
        self.files("journal").unwrap_or_default().into_iter().map(|e| e.path).filter(|path| abandoned(path)).collect()
    }
}

/// Whether nobody holds the writer's lock. Where locks do not work nothing is called abandoned.
pub(crate) fn abandoned(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

fn refuse(directory: &Path, why: &str) -> Refusal {
    says::journal_refused(&directory.display().to_string(), why)
}

/// Creates a journal with its first line. It gets its name only when locked and whole, so that nobody takes it for abandoned.
fn start(directory: &Path, name: &str, line: &[u8]) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    let temporary = temporary_beside(directory, name);
    let mut file = create_new(&temporary)?;
    // A filesystem without locks still gets a journal; its orphans are then found by name only.
    let _ = file.try_lock();
    let named = write_once(&mut file, line).and_then(|()| fs::rename(&temporary, directory.join(name)));
    if let Err(why) = named {
        let _ = fs::remove_file(&temporary);
        return Err(why);
    }
    Ok(file)
}

/// Hands all bytes over in one write(2); a short write means the disk is full.
fn write_once(file: &mut File, line: &[u8]) -> io::Result<()> {
    loop {
        match file.write(line) {
            Ok(n) if n == line.len() => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::StorageFull.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_once() {
        // /dev/full answers every write as a full disk does.
        let file = File::options().write(true).open("/dev/full").unwrap();
        let mut journal = Journal { path: "/dev/full".into(), file, length: 0, broken: false, notice: None };
        let refusal = journal.append(&Record::Steps(Vec::new())).expect("the first failure is told");
        assert!(refusal.why.contains("No space left"), "{refusal}");
        assert!(refusal.cure.contains("TIERMARK_HOME"), "{refusal}");
        assert_eq!(journal.append(&Record::Steps(Vec::new())), None);
    }
}
