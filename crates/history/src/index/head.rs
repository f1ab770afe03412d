//! The lines of the index.

use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use tiermark_model::{GradeCounts, Run, RunFigures};

use crate::record::MachineKey;
use crate::store::Entry;

/// Characters of a text of a document that are kept: a document from elsewhere may hold any.
const LONGEST: usize = 100;

/// The state of a document's file when it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stamp {
    /// Name of the file.
    pub(crate) file: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its time of modification, ns since 1970; 0 if the system does not report it.
    pub(crate) modified: u64,
}

impl Stamp {
    pub(super) fn of(entry: &Entry) -> Self {
        let file = entry.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let since = entry.saved.and_then(|saved| saved.duration_since(UNIX_EPOCH).ok());
        Self { file, bytes: entry.bytes, modified: since.map_or(0, |since| since.as_nanos() as u64) }
    }
}

/// Bytes of the file of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// What a list shows of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunHead {
    pub(crate) stamp: Stamp,
    /// Where its figures are; `None` where they were not written.
    pub(crate) place: Option<Place>,
    /// Its id.
    pub id: String,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Its command, or its plan.
    pub title: String,
    /// Whether everything planned was measured.
    pub complete: bool,
    /// Name of the simulated machine; `None` on a real one.
    pub simulated: Option<String>,
    /// The computer, by its host name, because documents do not hold the machine's id; `None` if the document has no
    /// host name or cannot be read.
    pub computer: Option<MachineKey>,
    /// Name of the host, by its label or as its machine reports it; `None` if neither is there.
    pub host: Option<String>,
    /// Name of the processor, where known.
    pub cpu: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Its numbers by their grades.
    pub grades: GradeCounts,
    /// Figures of tiers that it has.
    pub headlines: u32,
    /// Why the document cannot be read.
    pub problem: Option<String>,
}

impl RunHead {
    pub(super) fn of(stamp: Stamp, run: &Run, grades: GradeCounts, about: &RunFigures) -> Self {
        let machine = &run.machine;
        let named = machine.system.hostname.as_deref().filter(|name| !name.is_empty());
        let computer = named.map(|name| {
            let key = MachineKey::of(machine, name);
            MachineKey { cpu: short(&key.cpu), kernel: short(&key.kernel), ..key }
        });
        Self {
            stamp,
            place: None,
            id: short(&run.id),
            started: short(&run.started),
            seconds: if run.seconds.is_finite() { run.seconds } else { 0.0 },
            title: short(&run.title),
            complete: run.complete,
            simulated: run.simulated.as_deref().map(short),
            computer,
            host: run.host().map(short),
            cpu: machine.cpu_model.name.as_deref().map(short),
            version: short(&run.tool.version),
            grades,
            headlines: about.figures.iter().filter(|figure| figure.is_headline()).count() as u32,
            problem: None,
        }
    }

    pub(super) fn unreadable(stamp: Stamp, id: String, problem: String) -> Self {
        Self { stamp, id, problem: Some(problem), ..Self::default() }
    }

    pub(super) fn is_of(&self, stamp: &Stamp) -> bool {
        self.stamp == *stamp
    }
}

/// Figures and facts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Details {
    pub(crate) stamp: Stamp,
    pub(crate) about: RunFigures,
}

/// The beginning of a text.
pub(super) fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
