//! Files of other programs, which end when these do.

use std::io;
use std::time::{Duration, Instant};

use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSight, CounterSourceId, Note};

use crate::snapshot::Snapshot;
use crate::source::CounterSource;

/// If a file gets no new line for so long, its program has probably ended: monitors write a line every second by
/// default, and users rarely choose more than ten seconds.
const QUIET: Duration = Duration::from_secs(60);

/// A source that is a file of another program, and that says so when the file no longer grows.
pub struct Monitored<S> {
    source: S,
    file: String,
    /// What was found when the file was opened.
    found: Option<Note>,
    began: Instant,
    /// The time of the last line, and when it was first seen.
    last: (Duration, Duration),
}

impl<S: CounterSource> Monitored<S> {
    /// A file that was last written so long ago; `None` if that is not known.
    pub fn new(source: S, file: &str, age: Option<Duration>) -> Self {
        let old = age.filter(|age| *age > QUIET);
        let found = old.map(|age| says::file_is_old(file, age.as_secs(), program(source.id())));
        let (file, last) = (file.to_owned(), (Duration::MAX, Duration::ZERO));
        Self { source, file, found, began: Instant::now(), last }
    }

    /// The counts at a time since the source was opened.
    ///
    /// # Errors
    /// What keeps the file from being read; that all its counts are 0; that it has not grown for a minute.
    pub fn read_at(&mut self, now: Duration) -> io::Result<Snapshot> {
        let snapshot = self.source.read()?;
        // The counts of a file begin at 0 with its first line.
        if snapshot.counted_nothing() {
            return Err(io::Error::other(says::all_zero(program(self.source.id())).text));
        }
        let (line, since) = self.last;
        let quiet = now.saturating_sub(since);
        if line != snapshot.at {
            self.last = (snapshot.at, now);
        } else if quiet > QUIET && self.source.id() != CounterSourceId::Likwid {
            // The output of likwid comes when its program ends.
            let note = says::file_does_not_grow(&self.file, quiet.as_secs(), program(self.source.id()));
            return Err(io::Error::new(io::ErrorKind::TimedOut, note.text));
        }
        Ok(snapshot)
    }
}

/// The program that writes the files of a source.
fn program(id: CounterSourceId) -> &'static str {
    if id == CounterSourceId::Likwid { "likwid-perfctr" } else { id.name() }
}

impl<S: CounterSource> CounterSource for Monitored<S> {
    fn id(&self) -> CounterSourceId {
        self.source.id()
    }

    fn sees(&self) -> Vec<CounterSight> {
        self.source.sees()
    }

    fn notes(&self) -> Vec<Note> {
        self.source.notes().into_iter().chain(self.found.clone()).collect()
    }

    fn is_immediate(&self) -> bool {
        self.source.is_immediate()
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        self.read_at(self.began.elapsed())
    }
}
