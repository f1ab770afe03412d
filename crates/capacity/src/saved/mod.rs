//! A run on disk while it goes on: a line for everything that is known, so that a killed run is taken up where it was.

mod header;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_history::lines::{Appender, Damaged, Survives};
use tiermark_model::Refusal;
use tiermark_model::capacity::{Answer, CurvePoint, Setting, TrialRecord};
use tiermark_model::messages::capacity as messages;

use crate::scenario::{Scenario, Tier};
use crate::search::Limits;
use crate::trial::Footprint;

use header::SCHEMA;
pub use header::{RunHeader, RunSetup};

/// What of a run is still to be measured.
#[derive(Debug, Clone)]
pub struct Pending<'a> {
    /// The scenario of the run.
    pub scenario: &'a Scenario,
    /// How it is made here.
    pub setup: &'a RunSetup,
    /// Tiers of the searches without an answer.
    pub tiers: Vec<&'a Tier>,
    /// Of servers elsewhere, how many may hold what this run wrote.
    pub reached: usize,
}

impl<'a> Pending<'a> {
    /// All of a run that has not begun.
    pub fn all(scenario: &'a Scenario, setup: &'a RunSetup) -> Self {
        Self { scenario, setup, tiers: scenario.tiers.iter().collect(), reached: 0 }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    RunHeader(Box<RunHeader>),
    Footprint(Option<Footprint>),
    Limits {
        case: usize,
        limits: Limits,
    },
    Settings {
        case: usize,
        settings: Vec<Setting>,
    },
    Reaches(usize),
    #[serde(rename = "probe")]
    Trial {
        case: usize,
        record: Box<TrialRecord>,
        point: Option<CurvePoint>,
    },
    Answer {
        case: usize,
        answer: Answer,
    },
    Refused {
        case: usize,
        refusal: Refusal,
    },
}

/// The saved part of one search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchState {
    /// Where it started and what it may cost; `None` before it began.
    pub limits: Option<Limits>,
    /// Settings of the system when its tier was set up last.
    pub settings: Vec<Setting>,
    /// Trials of the search, in the order in which they were made.
    pub trials: Vec<TrialRecord>,
    /// Points of the curve, of the trials that measured.
    pub curve: Vec<CurvePoint>,
    /// How it ended; `None` while it goes on.
    pub answer: Option<Answer>,
    /// Why the search could not be made; `None` if it could.
    pub refused: Option<Refusal>,
}

impl SearchState {
    /// Whether the search has no answer yet, and can be made.
    pub fn is_open(&self) -> bool {
        self.answer.is_none() && self.refused.is_none()
    }
}

/// What a run knows of the size of a tenant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sizing {
    /// No tenant was sized yet.
    Open,
    /// Tenants run elsewhere, where their memory is not seen.
    Elsewhere,
    /// What one takes.
    Tenant(Footprint),
}

impl Sizing {
    /// What a tenant takes, where that is known.
    pub fn footprint(self) -> Option<Footprint> {
        if let Self::Tenant(footprint) = self { Some(footprint) } else { None }
    }
}

/// A run and the file that it is saved in.
#[derive(Debug)]
pub struct SavedRun {
    /// The first line of the file.
    pub begun: RunHeader,
    /// What a tenant takes.
    pub sizing: Sizing,
    /// Its searches, in the order of [`Scenario::searches`].
    pub cases: Vec<SearchState>,
    /// Of servers elsewhere, how many may hold what this run wrote.
    pub reached: usize,
    path: PathBuf,
    lines: Appender,
}

impl SavedRun {
    /// Begins a file in a directory, which is made where it is not there.
    ///
    /// # Errors
    /// A [`Refusal`] where it cannot be written.
    pub fn create(directory: &Path, id: &str, begun: RunHeader) -> Result<Self, Refusal> {
        let path = directory.join(format!("{id}.jsonl"));
        let head = Line::RunHeader(Box::new(begun.clone()));
        let lines = Appender::create(&path, Survives::PowerLoss, &head).map_err(|why| unwritten(&path, &why))?;
        Ok(Self::nothing_known(begun, path, lines))
    }

    /// Opens a saved run, to resume it. An incomplete last line is ignored, since its writer was killed; any other
    /// damaged line is an error, because the search would take another course without one of its trials.
    ///
    /// The file names programs and commands, which run with the rights of the user who resumes the run. So the file is
    /// accepted only if no user but its reader and root can have written it, unless `trust` says that the reader has
    /// checked it.
    ///
    /// # Errors
    /// A [`Refusal`] where it cannot be read, others could write it, another process writes it, or it makes no sense.
    pub fn open(path: &Path, trust: bool) -> Result<Self, Refusal> {
        let wrong = |why: String| damaged(path, &why);
        let (file, lines) = Appender::open(path, Survives::PowerLoss).map_err(|why| match why.kind() {
            io::ErrorKind::WouldBlock => messages::saved_run_busy(&path.display().to_string()),
            io::ErrorKind::FileTooLarge => wrong(why.to_string()),
            _ => messages::saved_run_missing(&path.display().to_string(), &why.to_string()),
        })?;
        if !trust && !file.is_private().map_err(|why| wrong(why.to_string()))? {
            return Err(messages::saved_run_of_others(&path.display().to_string()));
        }
        let begun = match serde_json::from_slice(lines.head()) {
            Ok(Line::RunHeader(begun)) if begun.schema == SCHEMA => *begun,
            Ok(Line::RunHeader(begun)) => return Err(wrong(format!("its schema '{}' is not known", begun.schema))),
            _ => return Err(wrong("its first line is not the header of a saved run".to_owned())),
        };
        begun.check(&path.display().to_string())?;
        let mut saved = Self::nothing_known(begun, path.to_owned(), file);
        lines.each(Damaged::Ends, |line| saved.take(line)).map_err(|damaged| wrong(damaged.to_string()))?;
        Ok(saved)
    }

    fn nothing_known(begun: RunHeader, path: PathBuf, lines: Appender) -> Self {
        let cases = vec![SearchState::default(); begun.scenario.searches().len()];
        Self { begun, sizing: Sizing::Open, cases, reached: 0, path, lines }
    }

    fn take(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::RunHeader(_) => return Err("it has two first lines".to_owned()),
            Line::Footprint(footprint) => self.sizing = footprint.map_or(Sizing::Elsewhere, Sizing::Tenant),
            Line::Reaches(count) => self.reached = self.reached.max(count),
            Line::Settings { case, settings } => self.known(case)?.settings = settings,
            Line::Limits { case, limits } => self.known(case)?.limits = Some(limits),
            Line::Trial { case, record, point } => {
                let known = self.known(case)?;
                known.trials.push(*record);
                known.curve.extend(point);
            }
            Line::Answer { case, answer } => self.known(case)?.answer = Some(answer),
            Line::Refused { case, refusal } => self.known(case)?.refused = Some(refusal),
        }
        Ok(())
    }

    fn known(&mut self, case: usize) -> Result<&mut SearchState, String> {
        let count = self.cases.len();
        self.cases
            .get_mut(case)
            .ok_or_else(|| format!("it has a search number {case}, counted from 0, of only {count}"))
    }

    /// The searches that have no answer yet.
    pub fn pending(&self) -> Pending<'_> {
        let searches = self.begun.scenario.searches();
        let open = searches.iter().zip(&self.cases).filter(|(_, case)| case.is_open());
        let mut tiers: Vec<&Tier> = Vec::new();
        for (case, _) in open {
            if !tiers.contains(&case.tier) {
                tiers.push(case.tier);
            }
        }
        Pending { scenario: &self.begun.scenario, setup: &self.begun.setup, tiers, reached: self.reached }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file of a run that found out nothing.
    pub fn discard(self) {
        // What cannot be removed is a run that can be gone on with.
        let _ = fs::remove_file(&self.path);
    }

    /// Whether every search has an answer, or cannot be made.
    pub fn is_whole(&self) -> bool {
        !self.cases.iter().any(SearchState::is_open)
    }

    pub(crate) fn footprint_is(&mut self, footprint: Option<Footprint>) -> Result<(), Refusal> {
        self.keep(Line::Footprint(footprint))
    }

    /// So many servers elsewhere are about to be written to.
    pub(crate) fn reaches(&mut self, count: usize) -> Result<(), Refusal> {
        if count > self.reached { self.keep(Line::Reaches(count)) } else { Ok(()) }
    }

    pub(crate) fn limits_are(&mut self, case: usize, limits: Limits) -> Result<(), Refusal> {
        self.keep(Line::Limits { case, limits })
    }

    pub(crate) fn settings_are(&mut self, case: usize, settings: Vec<Setting>) -> Result<(), Refusal> {
        if settings == self.cases.get(case).map_or(&[][..], |known| &known.settings) {
            return Ok(());
        }
        self.keep(Line::Settings { case, settings })
    }

    pub(crate) fn trial_ended(
        &mut self,
        case: usize,
        record: TrialRecord,
        point: Option<CurvePoint>,
    ) -> Result<(), Refusal> {
        self.keep(Line::Trial { case, record: Box::new(record), point })
    }

    pub(crate) fn answered(&mut self, case: usize, answer: Answer) -> Result<(), Refusal> {
        self.keep(Line::Answer { case, answer })
    }

    pub(crate) fn refused(&mut self, case: usize, refusal: Refusal) -> Result<(), Refusal> {
        self.keep(Line::Refused { case, refusal })
    }

    /// Writes a line, and then knows what it says.
    fn keep(&mut self, line: Line) -> Result<(), Refusal> {
        self.lines.append(&[&line]).map_err(|why| unwritten(&self.path, &why))?;
        self.take(line).map_err(|why| damaged(&self.path, &why))
    }
}

/// The newest unfinished run of a directory, or the run with this path.
///
/// # Errors
/// A [`Refusal`] if the directory has no unfinished run.
pub fn unfinished(directory: &Path) -> Result<PathBuf, Refusal> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<PathBuf> = names.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    // Names begin with the time.
    runs.sort_unstable();
    let open = runs.into_iter().rev().find(|path| SavedRun::open(path, false).is_ok_and(|saved| !saved.is_whole()));
    open.ok_or_else(|| messages::nothing_to_resume(&directory.display().to_string()))
}

fn unwritten(path: &Path, why: &io::Error) -> Refusal {
    messages::run_not_saved(&path.display().to_string(), &why.to_string())
}

fn damaged(path: &Path, why: &str) -> Refusal {
    messages::saved_run_damaged(&path.display().to_string(), why)
}

#[cfg(test)]
mod tests;
