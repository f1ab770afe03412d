//! The index: what a list and a trend need of each run document, in two files beside the runs, so that 10,000 runs are
//! listed without reading 10,000 documents.
//!
//! A line of the index holds the name, size and time of its document, and is used only while these are the same. Only
//! readers write the index: a run saves one document and nothing else, so no run is lost if a writer of the index dies.
//! There are two files, because a list needs about 600 bytes of a run and a trend thousands: a line of the first file
//! says where the second has the figures of the run.

mod files;
mod head;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::collections::HashMap;
use std::path::PathBuf;

use tiermark_model::{GradeCounts, Refusal, Run, RunFigures};

use crate::document::read_file;
use crate::store::{Entry, Store};
use files::Writer;
pub use head::RunHead;
use head::{Details, Stamp, short};

/// What the index keeps of a document: its numbers by grade, and its figures.
pub type Describe<'a> = dyn Fn(&Run) -> (GradeCounts, RunFigures) + 'a;

/// Lines of documents that are gone or were changed, beyond the number of documents, from which on the files are
/// written anew.
const MOST_DEAD: usize = 64;

/// The saved runs of a store.
pub struct Index<'a> {
    store: &'a Store,
    /// `None` where no index is kept.
    files: Option<files::Files>,
    describe: &'a Describe<'a>,
    heads: Vec<RunHead>,
}

impl<'a> Index<'a> {
    /// Reads the index, and the documents that are not in it, and adds these to the index if its files can be written.
    /// `progress` gets the number of these documents that are read, and the number of all of them.
    ///
    /// A missing or damaged index, or one of another version, costs time, but is not an error.
    ///
    /// # Errors
    /// A [`Refusal`] if the directory of the runs exists and cannot be read.
    pub fn open(
        store: &'a Store,
        describe: &'a Describe<'a>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Self, Refusal> {
        let entries = store.list()?;
        let files = files::Files::beside(store);
        let (mut known, lines, is_sound) = known(&files, entries.len());
        let unknown = entries.iter().filter(|entry| !is_known(&known, entry)).count();
        let mut writer = None;
        if unknown > 0 || !is_sound {
            writer = files.as_ref().and_then(Writer::open);
            // Another reader may have written what this one would: it had the lock.
            known = self::known(&files, entries.len()).0;
        }
        let mut index = Self { store, files, describe, heads: Vec::with_capacity(entries.len()) };
        let mut read = 0;
        for entry in &entries {
            let head = match known.remove(file_name(entry)).filter(|head| head.is_of(&Stamp::of(entry))) {
                Some(head) => head,
                None => {
                    let head = index.added(entry, Stamp::of(entry), writer.as_mut());
                    read += 1;
                    progress(read, unknown);
                    head
                }
            };
            index.heads.push(head);
        }
        let is_long = lines > index.heads.len() + index.heads.len() / 2 + MOST_DEAD;
        if let Some(writer) = writer.or_else(|| is_long.then(|| index.files.as_ref().and_then(Writer::open)).flatten())
            && (is_long || !is_sound)
        {
            // What cannot be written is read from the documents the next time.
            let _ = writer.replace(&mut index.heads);
        }
        index.sort();
        Ok(index)
    }

    /// The runs in a folder that is no store of this user, and in those directly below it: all are read, and no index
    /// is written. `progress` gets the number of documents that are read, and the number of all of them.
    ///
    /// # Errors
    /// A [`Refusal`] if a folder cannot be read.
    pub fn of_folder(
        store: &'a Store,
        describe: &'a Describe<'a>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Self, Refusal> {
        let entries = store.list_below()?;
        let mut index = Self { store, files: None, describe, heads: Vec::with_capacity(entries.len()) };
        for entry in &entries {
            let below = store.directory().and_then(|directory| entry.path.strip_prefix(directory).ok());
            let file = below.unwrap_or(&entry.path).to_string_lossy().into_owned();
            let head = index.added(entry, Stamp { file, ..Stamp::of(entry) }, None);
            index.heads.push(head);
            progress(index.heads.len(), entries.len());
        }
        index.sort();
        Ok(index)
    }

    /// Starts are RFC 3339 in UTC, whose order is that of their text; those of one second are in the order of their
    /// files' times.
    fn sort(&mut self) {
        self.heads.sort_by(|a, b| (&a.started, a.stamp.modified, &a.id).cmp(&(&b.started, b.stamp.modified, &b.id)));
    }

    /// Deletes the files of the index, so that the next [`Index::open`] builds them from the documents.
    pub fn forget(store: &Store) {
        if let Some(files) = files::Files::beside(store) {
            files.remove();
        }
    }

    /// The runs, oldest first.
    pub fn heads(&self) -> &[RunHead] {
        &self.heads
    }

    /// Figures and facts of a run: from the index, else from its document; empty if the document cannot be read.
    pub fn figures(&self, head: &RunHead) -> RunFigures {
        let kept =
            self.files.as_ref().and_then(|files| files.details(head)).filter(|details| details.stamp == head.stamp);
        kept.map(|details| details.about).or_else(|| self.read_again(head)).unwrap_or_default()
    }

    /// What the file of figures does not hold, or not any more; it is written again, so that the next reader finds it.
    fn read_again(&self, head: &RunHead) -> Option<RunFigures> {
        let run = read_file(&self.path(head)?).ok()?;
        let about = (self.describe)(&run).1;
        let writer = self.files.as_ref().and_then(Writer::open);
        if let Some(mut writer) = writer {
            let details = Details { stamp: head.stamp.clone(), about };
            // The index is a help: what cannot be written is read again.
            let _ = writer.append(&mut head.clone(), &details);
            return Some(details.about);
        }
        Some(about)
    }

    /// The document of a run.
    pub fn path(&self, head: &RunHead) -> Option<PathBuf> {
        self.store.directory().map(|directory| directory.join(&head.stamp.file))
    }

    /// The head of a document, which is read, and written to the index where that is possible.
    fn added(&self, entry: &Entry, stamp: Stamp, writer: Option<&mut Writer>) -> RunHead {
        let (mut head, about) = match read_file(&entry.path) {
            Ok(run) => {
                let (grades, about) = (self.describe)(&run);
                (RunHead::of(stamp, &run, grades, &about), about)
            }
            Err(refusal) => (RunHead::unreadable(stamp, short(&entry.id), short(&refusal.why)), RunFigures::default()),
        };
        if let Some(writer) = writer {
            let details = Details { stamp: head.stamp.clone(), about };
            // The index is a help: what cannot be written is read again.
            let _ = writer.append(&mut head, &details);
        }
        head
    }
}

/// What the file holds by the names of documents, the number of its lines, and whether it is whole.
fn known(files: &Option<files::Files>, documents: usize) -> (HashMap<String, RunHead>, usize, bool) {
    files.as_ref().map_or_else(|| (HashMap::new(), 0, true), |files| files.heads(documents))
}

fn is_known(known: &HashMap<String, RunHead>, entry: &Entry) -> bool {
    known.get(file_name(entry)).is_some_and(|head| head.is_of(&Stamp::of(entry)))
}

fn file_name(entry: &Entry) -> &str {
    entry.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
