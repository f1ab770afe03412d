//! Files of other programs, which end when these do.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSight, CounterSourceId, Note, Refusal};

use crate::followed::Followed;
use crate::snapshot::{Interval, Snapshot};
use crate::source::{CounterSource, Doubt, FileForm, Opened};
use crate::sources::form_of;

/// If a file gets no new line for so long, its program has probably ended: monitors write a line every second by
/// default, and users rarely choose more than ten seconds.
const IDLE: Duration = Duration::from_secs(60);

/// A source that is a file of another program, and that says so when the file no longer grows.
pub struct Monitored<'a> {
    form: &'static FileForm,
    source: Box<dyn CounterSource + 'a>,
    file: String,
    /// That the file was old when it was opened.
    old: Option<Note>,
    began: Instant,
    /// The time of the last line, and when it was first seen.
    last: (Duration, Duration),
}

impl<'a> Monitored<'a> {
    /// A file that was last written so long ago; `None` if that is not known.
    pub fn new(
        form: &'static FileForm,
        source: Box<dyn CounterSource + 'a>,
        file: &str,
        age: Option<Duration>,
    ) -> Self {
        let old = age.filter(|age| *age > IDLE).map(|age| says::file_is_old(file, age.as_secs(), form.program));
        let (file, last) = (file.to_owned(), (Duration::MAX, Duration::ZERO));
        Self { form, source, file, old, began: Instant::now(), last }
    }

    /// A file of a path. The age of an empty file is not reported.
    pub(crate) fn open(form: &'static FileForm, path: &Path, source: Box<dyn CounterSource + 'a>) -> Self {
        let written = path.metadata().ok().filter(|file| file.len() > 0).and_then(|file| file.modified().ok());
        let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
        Self::new(form, source, &path.display().to_string(), age)
    }

    /// The counts at a time since the source was opened.
    ///
    /// # Errors
    /// What keeps the file from being read; that all its counts are 0; that it has not grown for a minute.
    pub fn read_at(&mut self, now: Duration) -> io::Result<Snapshot> {
        let snapshot = self.source.read()?;
        self.look(&snapshot, now).map(|()| snapshot)
    }

    /// Looks at the newest counts.
    fn look(&mut self, snapshot: &Snapshot, now: Duration) -> io::Result<()> {
        // The counts of a file begin at 0 with its first line.
        if snapshot.counted_nothing() {
            return Err(io::Error::other(says::all_zero(self.form.program).text));
        }
        let (line, since) = self.last;
        let idle = now.saturating_sub(since);
        if line != snapshot.at {
            self.last = (snapshot.at, now);
        } else if idle > IDLE && self.form.grows {
            let note = says::file_does_not_grow(&self.file, idle.as_secs(), self.form.program);
            return Err(io::Error::new(io::ErrorKind::TimedOut, note.text));
        }
        Ok(())
    }
}

impl CounterSource for Monitored<'_> {
    fn id(&self) -> CounterSourceId {
        self.source.id()
    }

    fn sees(&self) -> Vec<CounterSight> {
        self.source.sees()
    }

    fn doubts(&self) -> Vec<(Doubt, Note)> {
        let old = self.old.clone().map(|note| (Doubt::Source, note));
        self.source.doubts().into_iter().chain(old).collect()
    }

    fn is_immediate(&self) -> bool {
        self.source.is_immediate()
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        self.read_at(self.began.elapsed())
    }

    fn intervals(&mut self) -> io::Result<Vec<Interval>> {
        let all = self.source.intervals()?;
        let now = self.began.elapsed();
        all.last().map_or(Ok(()), |last| self.look(&last.counts, now)).map(|()| all)
    }
}

/// Opens a file that another program writes.
pub(crate) fn file(path: &Path) -> Result<Followed, Refusal> {
    Followed::open(path).map_err(|error| says::counts_unreadable(&path.display().to_string(), &error.to_string()))
}

/// A source that reads a file. A file that has text but no counts is refused.
pub(crate) fn counting(path: &Path, mut source: impl CounterSource + 'static) -> Opened {
    let name = path.display().to_string();
    let first = source.read().map_err(|error| says::counts_unreadable(&name, &error.to_string()))?;
    if first.readings.is_empty() { empty_or_refused(path, source) } else { Ok(Box::new(source)) }
}

/// A source without counts, if its file is empty.
///
/// # Errors
/// What the file is instead.
pub(crate) fn empty_or_refused(path: &Path, source: impl CounterSource + 'static) -> Opened {
    if path.metadata().is_ok_and(|file| file.len() == 0) {
        return Ok(Box::new(source));
    }
    let (name, form) = (path.display().to_string(), source.id().name());
    Err(match form_of(&beginning(path)) {
        Some(found) if found.id != source.id() => says::counts_of_another_program(&name, form, found.id.name()),
        _ => says::counts_unreadable(&name, &format!("it has no counts in the form of {form}")),
    })
}

/// The first lines of a file: the form of a file shows in them.
fn beginning(path: &Path) -> String {
    /// A header of pcm-memory has 8 KiB at most, a first output of likwid less than 100 KiB on a large server.
    const MOST: u64 = 1 << 18;
    let mut bytes = Vec::new();
    // What cannot be read has no form.
    let _ = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
