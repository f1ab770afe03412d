//! What counts traffic, and the kinds of it.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSight, CounterSourceId, CounterSourceInfo, Machine, Note, Refusal};

use crate::backend::Backend;
use crate::family::Family;
use crate::snapshot::{Interval, Snapshot};
use crate::sources::Mailbox;

/// Something that counts traffic.
pub trait CounterSource {
    /// Which source it is.
    fn id(&self) -> CounterSourceId;

    /// What it sees. It sees nothing else.
    fn sees(&self) -> Vec<CounterSight>;

    /// What a user should know of its counts now, and what each note is of.
    fn doubts(&self) -> Vec<(Doubt, Note)> {
        Vec::new()
    }

    /// The same without what each is of.
    fn notes(&self) -> Vec<Note> {
        self.doubts().into_iter().map(|(_, note)| note).collect()
    }

    /// Whether a snapshot has all that was counted until the call. Other sources are behind by up to an interval of
    /// their own, of about a second: they cannot say what moved in a few milliseconds.
    fn is_immediate(&self) -> bool {
        true
    }

    /// Waits between two readings, where the clock of the source is that of the system.
    fn wait(&self, time: Duration) {
        thread::sleep(time);
    }

    /// The counts now. The time of files that other programs write is that of their last line: bytes belong to that
    /// time, not to the time of the call. A source without readings at first is taken to count from 0 when it has some.
    ///
    /// # Errors
    /// What keeps the source from being read.
    fn read(&mut self) -> io::Result<Snapshot>;

    /// The counts after each interval that ended since the last reading, of sources that keep them apart; else the
    /// counts now.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn intervals(&mut self) -> io::Result<Vec<Interval>> {
        Ok(vec![Interval { of_day: None, counts: self.read()? }])
    }
}

/// What a note on counts is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The source, as it was opened.
    Source,
    /// Counts that have not come so far.
    Pending,
    /// Counts of now: it is reported when it arises.
    Counts,
    /// All counts together: it is reported at the end.
    Whole,
}

/// What opening a source gives.
pub type Opened = Result<Box<dyn CounterSource>, Refusal>;

/// A kind of source: a row of [`SOURCES`](crate::SOURCES).
#[derive(Debug)]
pub struct SourceKind {
    /// Its name, in documents and as a value of `--counters-from`.
    pub id: CounterSourceId,
    /// What it is read from.
    pub reads: Reads,
}

/// What a source is read from.
#[derive(Debug)]
pub enum Reads {
    /// This system.
    System(SystemCounters),
    /// A file that another program writes.
    File(FileForm),
}

/// A source that this system has.
#[derive(Debug)]
pub struct SystemCounters {
    /// When it is tried beside shots, unless the user names a source.
    pub shots: Tried,
    /// When it is tried beside samples, unless the user names a source.
    pub samples: Tried,
    /// Opens it.
    pub open: fn(Place<'_>, &dyn System) -> Opened,
    /// Whether it opens here. What would change the system, or is not there to be opened, is not tried.
    pub examine: fn(Place<'_>) -> CounterSourceInfo,
}

/// When a source is tried that the user does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tried {
    /// In any case.
    Always,
    /// If counters are required: it changes the system, or does not count everything.
    IfRequired,
    /// Never.
    Never,
}

/// The files of a program.
#[derive(Debug)]
pub struct FileForm {
    /// The program that writes them. Programs whose names begin with the same word set counters themselves.
    pub program: &'static str,
    /// What they are, as the predicate of "FILE".
    pub file: &'static str,
    /// What they count as a rule.
    pub sees: &'static [CounterSight],
    /// Whether they grow while the program runs: else they are written at its end.
    pub grows: bool,
    /// Whether a text is of this form.
    pub has: fn(&str) -> bool,
    /// Opens one.
    pub open: fn(&Path, &Machine) -> Opened,
}

/// The measurement that the counters accompany.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Shots of some milliseconds, which only counters that are read on the spot resolve.
    Shots,
    /// Samples of a second or so.
    Samples,
}

/// What the system opens for sources; tests have stand-ins.
pub trait System {
    /// Counters of the kernel.
    fn perf(&self) -> Box<dyn Backend>;

    /// The management port of EPYC processors.
    ///
    /// # Errors
    /// The system's answer.
    fn hsmp(&self) -> io::Result<Box<dyn Mailbox>>;
}

/// Where sources are opened.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The files of the system.
    pub root: &'a Root,
    /// The machine that they describe.
    pub machine: &'a Machine,
    /// The events of processor families.
    pub families: &'a [Family],
    /// The system calls; `None` for a captured machine, where only files of other programs can be opened.
    pub system: Option<&'a dyn System>,
}

impl SourceKind {
    /// The form of its files; `None` if it reads this system.
    #[must_use]
    pub fn file(&self) -> Option<&FileForm> {
        match &self.reads {
            Reads::File(form) => Some(form),
            Reads::System(_) => None,
        }
    }

    /// When it is tried unless the user names a source.
    #[must_use]
    pub fn tried(&self, beside: Beside) -> Tried {
        match (&self.reads, beside) {
            (Reads::System(own), Beside::Shots) => own.shots,
            (Reads::System(own), Beside::Samples) => own.samples,
            (Reads::File(_), _) => Tried::Never,
        }
    }

    /// Whether it opens here. With a system, it is opened and closed again, except where that changes the system.
    pub(crate) fn examine(&self, place: Place<'_>) -> CounterSourceInfo {
        match &self.reads {
            Reads::System(own) => (own.examine)(place),
            Reads::File(form) => CounterSourceInfo {
                opens: None,
                ..refused(self.id, form.sees, says::needs_a_file(form.program, self.id.name()))
            },
        }
    }
}

/// A source that was opened, if there is a system to open it on; `name` is what a refusal calls it.
pub(crate) fn tried(
    opened: Option<Opened>,
    source: CounterSourceId,
    sees: &[CounterSight],
    name: &str,
) -> CounterSourceInfo {
    match opened {
        None => CounterSourceInfo { opens: None, ..refused(source, sees, says::not_this_machine(name)) },
        Some(Err(refusal)) => refused(source, sees, refusal),
        Some(Ok(own)) => CounterSourceInfo {
            source,
            opens: Some(true),
            sees: own.sees(),
            boxes: Vec::new(),
            refused: None,
            notes: own.notes(),
        },
    }
}

/// A source that does not open.
pub(crate) fn refused(source: CounterSourceId, sees: &[CounterSight], why: Refusal) -> CounterSourceInfo {
    let sees = sees.to_vec();
    CounterSourceInfo { source, opens: Some(false), sees, boxes: Vec::new(), refused: Some(why), notes: Vec::new() }
}

/// The source that was chosen, and why those before it were not.
pub struct Chosen {
    /// The first that opened; `None` if none did: no counts are not counts of 0.
    pub source: Option<Box<dyn CounterSource>>,
    /// Those that were tried before it.
    pub refused: Vec<(CounterSourceId, Refusal)>,
}
