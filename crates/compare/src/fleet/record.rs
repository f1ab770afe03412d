//! What is kept of the run of a host.

use std::collections::BTreeMap;

use tiermark_model::{FigureName, HOST_LABEL, Run, RunFigure};

use crate::figures::{named_figures, shared_cache_sizes};
use crate::fleet::facts::{HostFact, facts};

/// What is no name: systems have it before anybody names them, or it was taken out.
const NO_NAMES: [&str; 4] = ["localhost", "localhost.localdomain", "(none)", "(redacted)"];

/// Labels that are kept: rows have them with each figure.
const LABELS: usize = 64;

/// Hosts with the same identity ought to be alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) product: Option<String>,
    pub(crate) cpu: Option<String>,
    /// Family and model of the processor.
    model: [Option<u32>; 2],
    is_guest: bool,
}

/// What is judged of the run of a host.
#[derive(Debug, Clone)]
pub struct HostRecord {
    pub(crate) host: String,
    pub(crate) file: String,
    /// The name of its file without folder and ending.
    pub(crate) stem: String,
    pub(crate) run: String,
    pub(crate) started: String,
    /// Its start in days; `None` if the document does not have it.
    pub(crate) day: Option<f64>,
    /// How long the run took.
    seconds: f64,
    pub(crate) complete: bool,
    pub(crate) is_simulated: bool,
    /// Whether it only soaked memory: it says nothing of the speed of the host, and is no newer one of its surveys.
    pub(crate) is_soak: bool,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) identity: Identity,
    pub(crate) facts: Vec<HostFact>,
    pub(crate) figures: Vec<(Option<FigureName>, RunFigure)>,
}

impl HostRecord {
    /// The record of a run. `file`: where its document is; `stem`: the name of that file without folder and ending, for
    /// a document that does not name its host; `day`: when it was started, in days from any moment.
    #[must_use]
    pub fn of(file: &str, stem: &str, day: Option<f64>, run: &Run) -> Self {
        let system = &run.machine.system;
        let own = run.host().filter(|name| !name.is_empty() && !NO_NAMES.contains(name));
        let cpu = &run.machine.cpu_model;
        Self {
            host: printable(own.unwrap_or(stem)),
            file: printable(file),
            stem: printable(stem),
            run: printable(&run.id),
            started: printable(&run.started),
            day,
            seconds: run.seconds,
            complete: run.complete,
            is_simulated: run.simulated.is_some(),
            is_soak: !run.experiments.is_empty() && run.experiments.iter().all(|of| of.request.probe == "soak"),
            labels: run.labels.iter().take(LABELS).map(|(key, value)| (printable(key), printable(value))).collect(),
            identity: Identity {
                product: system.product.as_deref().map(printable),
                cpu: cpu.name.as_deref().or(cpu.vendor.as_deref()).map(printable),
                model: [cpu.family, cpu.model],
                is_guest: system.hypervisor.is_some(),
            },
            facts: facts(run),
            figures: named_figures(run).into_iter().chain(shared_cache_sizes(run)).collect(),
        }
    }
}

impl HostRecord {
    /// Whether its user named its host.
    pub(crate) fn is_labelled(&self) -> bool {
        self.labels.contains_key(HOST_LABEL)
    }

    /// Whether a document with the same name of a host is of another host: clones of one image have one name, and their
    /// files have names of their own. Files of saved runs are called by their runs.
    pub(crate) fn is_other_host(&self, other: &Self) -> bool {
        let is_own = |record: &Self| !record.is_labelled() && record.stem != record.run;
        self.stem != other.stem && is_own(self) && is_own(other)
    }

    /// Whether two documents with one label of a host are of two: of other hardware, or measured at the same time.
    pub(crate) fn is_mislabelled(&self, other: &Self) -> bool {
        let apart = self.day.zip(other.day).map(|(a, b)| (a - b).abs() * 86_400.0);
        let is_same_time = self.run != other.run && apart.is_some_and(|apart| apart < self.seconds.min(other.seconds));
        self.is_labelled() && other.is_labelled() && (self.identity != other.identity || is_same_time)
    }
}

impl Identity {
    pub(crate) fn is_guest(&self) -> bool {
        self.is_guest
    }
}

/// A name from a document, fit for a line of a table: no control characters, not endless.
pub(crate) fn printable(text: &str) -> String {
    const LONGEST: usize = 255;
    text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
