//! Which source is opened: the one that the user names, or the first that opens.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use tiermark_history::config::text_of;
use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSourceId, Machine, Refusal};

use crate::cores::Cores;
use crate::family::{Family, families};
use crate::followed::Followed;
use crate::form::form_of;
use crate::likwid::LikwidFile;
use crate::monitored::Monitored;
use crate::pcm::{PCM, PCM_MEMORY, PcmFile};
use crate::perf::PerfSource;
use crate::resctrl::{Resctrl, SystemFiles, examine_resctrl};
use crate::source::{Candidate, Chosen, CounterSource, first_that_opens};
use crate::survey::{System, open_hsmp};

/// A source, with what it is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceChoice {
    /// Event sources of memory controllers.
    Perf,
    /// The management port of EPYC processors.
    Hsmp,
    /// A monitoring group.
    Resctrl,
    /// A file that `pcm-memory -csv=FILE` writes.
    PcmMemory(PathBuf),
    /// A file that `pcm -csv=FILE` writes.
    Pcm(PathBuf),
    /// Outputs of `likwid-perfctr -O -g MEM`.
    Likwid(PathBuf),
    /// Misses of cores.
    Core,
}

impl FromStr for SourceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = text.split_once('=').map_or((text, None), |(name, file)| (name, Some(PathBuf::from(file))));
        let file = file.filter(|file| !file.as_os_str().is_empty());
        // `perf=` names no file, and is refused for its sign.
        match (name, file, text.contains('=')) {
            ("perf", _, false) => Ok(Self::Perf),
            ("hsmp", _, false) => Ok(Self::Hsmp),
            ("resctrl", _, false) => Ok(Self::Resctrl),
            ("core", _, false) => Ok(Self::Core),
            ("pcm-memory", Some(file), _) => Ok(Self::PcmMemory(file)),
            ("pcm", Some(file), _) => Ok(Self::Pcm(file)),
            ("likwid", Some(file), _) => Ok(Self::Likwid(file)),
            _ => Err("use perf, hsmp, resctrl, core, pcm-memory=FILE, pcm=FILE or likwid=FILE".to_owned()),
        }
    }
}

/// The measurement that the counters accompany.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Shots of some milliseconds, which only counters that are read on the spot resolve.
    Shots,
    /// Samples of a second or so.
    Samples,
}

/// The sources that are tried, in order. A monitoring group changes the system, so it is tried only if counters are
/// required. So is `core` beside shots, because it is only a lower bound.
fn ladder(required: bool, beside: Beside) -> Vec<SourceChoice> {
    match (required, beside) {
        (true, Beside::Shots) => vec![SourceChoice::Perf, SourceChoice::Resctrl, SourceChoice::Core],
        (false, Beside::Shots) => vec![SourceChoice::Perf],
        (true, Beside::Samples) => {
            vec![SourceChoice::Perf, SourceChoice::Hsmp, SourceChoice::Resctrl, SourceChoice::Core]
        }
        (false, Beside::Samples) => vec![SourceChoice::Perf, SourceChoice::Hsmp, SourceChoice::Core],
    }
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
    /// The system calls.
    pub system: &'a dyn System,
}

/// Opens the named source, else the first that opens; `Null` if no source opens. For a captured machine only files that
/// other programs write can be opened.
#[must_use]
pub fn open_source(named: Option<&SourceChoice>, required: bool, beside: Beside, place: Place<'_>) -> Chosen {
    let choices = named.map_or_else(|| ladder(required, beside), |named| vec![named.clone()]);
    let candidates = choices.iter().map(|choice| Candidate { id: choice.id(), open: Box::new(|| choice.open(place)) });
    first_that_opens(candidates.collect())
}

/// The events of processor families, those of a user's file first.
///
/// # Errors
/// The mistakes of the file, a sentence each that names it.
pub fn families_with(file: Option<&Path>) -> Result<Vec<Family>, Vec<String>> {
    let Some(path) = file else { return Ok(families()) };
    let name = path.display();
    let text = text_of(path).map_err(|error| vec![format!("--events {name}: {error}")])?;
    let own = Family::read(&text)
        .map_err(|all| all.into_iter().map(|mistake| format!("--events {name}, {mistake}")).collect::<Vec<_>>())?;
    Ok(std::iter::once(own).chain(families()).collect())
}

/// What opening a source gives.
type Opened = Result<Box<dyn CounterSource>, Refusal>;

impl SourceChoice {
    /// Which source it is.
    #[must_use]
    pub fn id(&self) -> CounterSourceId {
        match self {
            Self::Perf => CounterSourceId::Perf,
            Self::Hsmp => CounterSourceId::Hsmp,
            Self::Resctrl => CounterSourceId::Resctrl,
            Self::PcmMemory(_) => CounterSourceId::PcmMemory,
            Self::Pcm(_) => CounterSourceId::Pcm,
            Self::Likwid(_) => CounterSourceId::Likwid,
            Self::Core => CounterSourceId::Core,
        }
    }

    /// The file of another program that it is read from; `None` if it is read from this system, which a captured
    /// machine is not.
    fn file(&self) -> Option<&Path> {
        match self {
            Self::PcmMemory(path) | Self::Pcm(path) | Self::Likwid(path) => Some(path.as_path()),
            Self::Perf | Self::Hsmp | Self::Resctrl | Self::Core => None,
        }
    }

    fn open(&self, Place { root, machine, families, system }: Place<'_>) -> Opened {
        if self.file().is_none() && !root.is_live() {
            return Err(says::not_this_machine(self.id().name()));
        }
        match self {
            Self::Perf => boxed(PerfSource::open(root, machine, families, system.perf())),
            Self::Hsmp => open_hsmp(machine, system),
            Self::Resctrl => {
                examine_resctrl(root, machine)?;
                let cpus = machine.cpus.iter().map(|cpu| cpu.id).collect();
                boxed(Resctrl::open(SystemFiles, root, std::process::id(), &cpus, machine))
            }
            Self::PcmMemory(path) => boxed(monitored(path, counting(path, PcmFile::new(file(path)?, &PCM_MEMORY))?)),
            Self::Pcm(path) => boxed(monitored(path, counting(path, PcmFile::new(file(path)?, &PCM))?)),
            Self::Likwid(path) => boxed(monitored(path, likwid(path, machine)?)),
            Self::Core => boxed(Cores::open(root, machine, system.perf())),
        }
    }
}

fn boxed(source: Result<impl CounterSource + 'static, Refusal>) -> Opened {
    Ok(Box::new(source?))
}

/// Adds a check to a source that reads a file: it reports when the file no longer grows. The age of an empty file is
/// not reported.
fn monitored<S: CounterSource>(path: &Path, source: S) -> Result<Monitored<S>, Refusal> {
    let written = path.metadata().ok().filter(|file| file.len() > 0).and_then(|file| file.modified().ok());
    let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    Ok(Monitored::new(source, &path.display().to_string(), age))
}

/// A source that reads a file. A file that has text but no counts is refused.
fn counting<S: CounterSource>(path: &Path, mut source: S) -> Result<S, Refusal> {
    let name = path.display().to_string();
    let first = source.read().map_err(|error| says::counts_unreadable(&name, &error.to_string()))?;
    if first.readings.is_empty() { empty_or_refused(path, source) } else { Ok(source) }
}

/// A file of likwid's outputs. It may be empty: likwid writes an output when its program ends.
fn likwid(path: &Path, machine: &Machine) -> Result<LikwidFile<Followed>, Refusal> {
    let name = path.display().to_string();
    let sockets = machine.cpus.iter().map(|cpu| (cpu.id, cpu.socket)).collect();
    let mut source = LikwidFile::new(file(path)?, sockets);
    let read = source.read();
    // A refusal by the tables comes before a read error: it names the cause.
    if let Some(refusal) = source.refusal(&name) {
        return Err(refusal);
    }
    read.map_err(|error| says::counts_unreadable(&name, &error.to_string()))?;
    if source.has_tables() { Ok(source) } else { empty_or_refused(path, source) }
}

/// A source without counts, if its file is empty.
///
/// # Errors
/// What the file is instead.
fn empty_or_refused<S: CounterSource>(path: &Path, source: S) -> Result<S, Refusal> {
    if path.metadata().is_ok_and(|file| file.len() == 0) {
        return Ok(source);
    }
    let (name, form) = (path.display().to_string(), source.id().name());
    Err(match form_of(&beginning(path)) {
        Some(found) if found != source.id() => says::counts_of_another_program(&name, form, found.name()),
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

/// Opens a file that another program writes.
fn file(path: &Path) -> Result<Followed, Refusal> {
    Followed::open(path).map_err(|error| says::counts_unreadable(&path.display().to_string(), &error.to_string()))
}
