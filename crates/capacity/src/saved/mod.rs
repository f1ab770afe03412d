//! A run on disk while it goes on: a line for everything that is known, so that a killed run is taken up where it was.

mod header;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_lines::{Appender, Survives};
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
    #[must_use]
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

/// A run and the file that it is saved in.
#[derive(Debug)]
pub struct SavedRun {
    /// The first line of the file.
    pub begun: RunHeader,
    /// What a tenant takes; `None` before that was found out.
    pub footprint: Option<Option<Footprint>>,
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

    /// Opens a saved run, to resume it. An incomplete last line is ignored, since its writer was killed; any other damaged line is an
    /// error, because the search would take another course without one of its trials.
    ///
    /// The file names programs and commands, which run with the rights of the user who resumes the run. So the file is accepted only if
    /// no user but its reader and root can have written it, unless `trust` says that the reader has checked it.
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
        for (number, line) in lines.rest() {
            let line = line.map_err(|why| wrong(format!("line {number}: {why}")))?;
            saved.take(line).map_err(wrong)?;
        }
        Ok(saved)
    }

    fn nothing_known(begun: RunHeader, path: PathBuf, lines: Appender) -> Self {
        let cases = vec![SearchState::default(); begun.scenario.searches().len()];
        Self { begun, footprint: None, cases, reached: 0, path, lines }
    }

    fn take(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::RunHeader(_) => return Err("it has two first lines".to_owned()),
            Line::Footprint(footprint) => self.footprint = Some(footprint),
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
    #[must_use]
    pub fn pending(&self) -> Pending<'_> {
        let searches = self.begun.scenario.searches();
        let open = searches.iter().zip(&self.cases).filter(|(_, case)| case.answer.is_none() && case.refused.is_none());
        let mut tiers: Vec<&Tier> = Vec::new();
        for (case, _) in open {
            if !tiers.contains(&case.tier) {
                tiers.push(case.tier);
            }
        }
        Pending { scenario: &self.begun.scenario, setup: &self.begun.setup, tiers, reached: self.reached }
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file of a run that found out nothing.
    pub fn discard(self) {
        // What cannot be removed is a run that can be gone on with.
        let _ = fs::remove_file(&self.path);
    }

    /// Whether every search has an answer, or cannot be made.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.cases.iter().all(|case| case.answer.is_some() || case.refused.is_some())
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
mod tests {
    use tiermark_model::capacity::{Outcome, Phase};

    use tiermark_model::messages::trials as says;

    use super::*;
    use crate::budget::Budgets;
    use crate::scenario::built_in;

    fn begun() -> RunHeader {
        let text = built_in().iter().find(|(name, _)| *name == "mini").unwrap().1;
        let setup = RunSetup { timeout_seconds: 10.0, threads: 1, ..RunSetup::default() };
        RunHeader::new("2026-11-21T00:00:00Z", 7, Scenario::read(text).unwrap(), setup)
    }

    fn record(number: u32) -> TrialRecord {
        TrialRecord {
            number,
            tenants: 1,
            phase: Phase::Baseline,
            fresh: true,
            why: says::one_tenant_first(),
            outcome: Outcome::Pass,
            decided_by: says::nothing_measured(),
            ended_by: None,
            evidence: None,
        }
    }

    fn limits() -> Limits {
        let budgets = Budgets {
            dram: 512 << 20,
            reserve: 0,
            footprint: 100 << 20,
            tier: 0,
            ratio: 1.0,
            cpus: 2.0,
            cpu_per_tenant: None,
        };
        Limits { arithmetic: budgets.arithmetic(), most_tenants: 12, only: None, most_trials: 24 }
    }

    fn write_all(directory: &Path) -> PathBuf {
        let mut saved = SavedRun::create(directory, "x", begun()).unwrap();
        saved.footprint_is(Some(Footprint { bytes: 100 << 20, cpus: Some(0.1) })).unwrap();
        saved.limits_are(0, limits()).unwrap();
        saved.reaches(2).unwrap();
        saved.reaches(1).unwrap();
        saved.trial_ended(0, record(1), None).unwrap();
        assert_eq!(saved.pending().tiers, [&Tier::Dram, &Tier::Zram(None)]);
        saved.answered(0, Answer::AtLeast { tenants: 3 }).unwrap();
        assert_eq!(saved.pending().tiers, [&Tier::Zram(None)]);
        saved.refused(1, tiermark_model::messages::tiers::zram_missing("sys")).unwrap();
        assert!(saved.is_whole());
        let twice = SavedRun::open(saved.path(), false).unwrap_err();
        assert_eq!(twice.code, messages::codes::saved_run_busy);
        saved.path().to_owned()
    }

    #[test]
    fn what_was_saved_is_read_back_whole_and_after_any_loss_of_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_all(dir.path());
        let whole = SavedRun::open(&path, false).unwrap();
        assert_eq!((whole.begun.clone(), whole.cases[0].trials.len(), whole.is_whole()), (begun(), 1, true));
        assert_eq!((whole.cases[0].limits, whole.reached), (Some(limits()), 2));
        drop(whole);
        let bytes = fs::read(&path).unwrap();
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        for length in (first + 1..bytes.len() - 1).step_by(7) {
            fs::write(&path, &bytes[..length]).unwrap();
            let mut cut = SavedRun::open(&path, false).unwrap_or_else(|refusal| panic!("{length}: {refusal}"));
            assert!(!cut.is_whole());
            // What is written behind a half line is read again.
            cut.answered(1, Answer::AtLeast { tenants: 9 }).unwrap();
            drop(cut);
            let again = SavedRun::open(&path, false).unwrap();
            assert_eq!(again.cases[1].answer, Some(Answer::AtLeast { tenants: 9 }), "{length}");
        }
    }

    /// A file names programs that run with the rights of the user who resumes it.
    #[test]
    fn a_file_that_others_can_write_needs_trust() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_all(dir.path());
        for mode in [0o664, 0o646] {
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(
                SavedRun::open(&path, false).unwrap_err().code,
                messages::codes::saved_run_of_others,
                "{mode:o}"
            );
            assert!(SavedRun::open(&path, true).is_ok());
            assert!(unfinished(dir.path()).is_err(), "nor is it found by itself");
        }
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(4711), None).unwrap();
            assert_eq!(SavedRun::open(&path, false).unwrap_err().code, messages::codes::saved_run_of_others);
        }
    }

    /// What was right when it was written may have been changed since.
    #[test]
    fn what_a_file_asks_for_is_checked_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_all(dir.path());
        let text = fs::read_to_string(&path).unwrap();
        for (good, bad, said) in [
            ("\"timeout_seconds\":10.0", "\"timeout_seconds\":1e300", "timeout_seconds"),
            ("\"timeout_seconds\":10.0", "\"timeout_seconds\":-1", "timeout_seconds"),
            ("\"started\":\"2", "\"started\":\"µ", "started"),
            ("\"threads\":1", "\"threads\":99999999", "threads"),
            ("\"cpus\":[]", "\"cpus\":[99999999]", "cpus"),
            ("\"measure\":2.0", "\"measure\":1e300", "measure"),
        ] {
            let changed = text.replacen(good, bad, 1);
            assert_ne!(changed, text, "{good}");
            fs::write(&path, changed).unwrap();
            let refused = SavedRun::open(&path, true).unwrap_err();
            assert!(
                refused.code == messages::codes::saved_run_damaged && refused.to_string().contains(said),
                "{refused}"
            );
        }
    }

    /// Two bytes of one letter, of which the second was not written any more.
    #[test]
    fn a_file_that_ends_within_a_letter_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_all(dir.path());
        let whole = fs::read(&path).unwrap();
        let torn = [whole.as_slice(), "{\"refused\":\"µ".as_bytes()].concat();
        fs::write(&path, &torn[..torn.len() - 1]).unwrap();
        assert!(String::from_utf8(fs::read(&path).unwrap()).is_err());
        assert!(SavedRun::open(&path, false).unwrap().is_whole());
    }

    #[test]
    fn runs_of_versions_that_called_a_trial_a_probe_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = write_all(dir.path());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("{\"probe\":{\"case\":0") && text.contains("\"most_probes\":24"), "{text}");
        let older = text.replace("most-trials", "most-probes").replace("trial-seconds", "probe-seconds");
        assert_ne!(older, text);
        fs::write(&path, older).unwrap();
        let saved = SavedRun::open(&path, false).unwrap();
        assert_eq!((saved.begun.clone(), saved.cases[0].trials.len()), (begun(), 1));
    }

    #[test]
    fn files_that_are_none_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        for text in ["", "x\n", "{}\n", "{\"footprint\":null}\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(SavedRun::open(&path, false).unwrap_err().code, messages::codes::saved_run_damaged, "{text}");
        }
        assert_eq!(
            SavedRun::open(&dir.path().join("none"), false).unwrap_err().code,
            messages::codes::saved_run_missing
        );
        let whole = write_all(&dir.path().join("sub"));
        let text = fs::read_to_string(&whole).unwrap();
        fs::write(&whole, text.replacen("{\"limits\"", "{\"limits", 1)).unwrap();
        assert_eq!(
            SavedRun::open(&whole, false).unwrap_err().code,
            messages::codes::saved_run_damaged,
            "a line in the middle"
        );
        let blocked = SavedRun::create(&path, "x", begun()).unwrap_err();
        assert_eq!(blocked.code, messages::codes::run_not_saved);
    }
}
