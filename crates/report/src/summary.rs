//! A run in a few words, for lists of runs.

use tiermark_model::{Grade, GradeCounts, Run};

use crate::run::numbers;

/// A run in a few words.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// What was run.
    pub title: String,
    /// `None` where the document does not say.
    pub seconds: Option<f64>,
    /// Trusted numbers of all; `None` of kinds of runs without grades.
    pub trusted: Option<(usize, usize)>,
    /// Name of the host, where known.
    pub host: Option<String>,
    /// The processor, and what keeps the run from being a complete one of a real machine.
    pub machine: String,
}

impl RunSummary {
    /// The summary of a run.
    pub fn of(run: &Run) -> Self {
        let numbers = numbers(run);
        let name = run.machine.cpu_model.name.as_deref().unwrap_or("unknown processor");
        let simulated = if run.simulated.is_some() { ", simulated" } else { "" };
        let incomplete = if run.complete { "" } else { ", incomplete" };
        Self {
            title: run.title.clone(),
            seconds: Some(run.seconds),
            trusted: Some((numbers.iter().filter(|f| f.verdict.grade == Grade::Trusted).count(), numbers.len())),
            host: run.host().map(str::to_owned),
            machine: format!("{name}{simulated}{incomplete}"),
        }
    }

    /// The summary of a run without a document; `what`: its command, and what of it.
    pub fn without_document(what: &str, is_running: bool) -> Self {
        let state = if is_running { "running" } else { "killed, no document" };
        Self { title: format!("{what}: {state}"), seconds: None, trusted: None, host: None, machine: String::new() }
    }
}

/// The numbers of a run that reports show, by their grades.
pub fn shown_grades(run: &Run) -> GradeCounts {
    GradeCounts::of(numbers(run).iter().map(|finding| finding.verdict.grade))
}
