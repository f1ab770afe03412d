//! Opens the counters of memory traffic: the source that the user names, or the first that opens.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tiermark_counters::{
    Backend, Candidate, Chosen, Cores, CounterSource, Family, Followed, KernelCounters, LikwidFile, Mailbox, Monitored,
    PCM, PCM_MEMORY, PcmFile, PerfEvent, PerfSource, Resctrl, System, SystemFiles, families, first_that_opens, form_of,
    open_hsmp,
};
use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSourceId, Machine, Refusal};
use tiermark_system::HsmpDevice;

use crate::args::{CounterArgs, CounterUse, CountersFrom, CountingArgs};
use crate::output::Failure;

/// What opening a source gives.
type Opened = Result<Box<dyn CounterSource>, Refusal>;

/// What is counted beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Shots of some milliseconds, which only counters that are read on the spot resolve.
    Shots,
    /// Samples of a second or so.
    Samples,
}

/// The sources that are tried, in order. Only who requires counters gets a monitoring group, which changes the system,
/// and beside shots a lower bound.
fn ladder(when: CounterUse, beside: Beside) -> Vec<CountersFrom> {
    match (when, beside) {
        (CounterUse::Require, Beside::Shots) => vec![CountersFrom::Perf, CountersFrom::Resctrl, CountersFrom::Core],
        (_, Beside::Shots) => vec![CountersFrom::Perf],
        (CounterUse::Require, Beside::Samples) => {
            vec![CountersFrom::Perf, CountersFrom::Hsmp, CountersFrom::Resctrl, CountersFrom::Core]
        }
        (_, Beside::Samples) => vec![CountersFrom::Perf, CountersFrom::Hsmp, CountersFrom::Core],
    }
}

/// Opens the source that the user names, else the first that opens; `Null` if none does. The sources of a captured
/// machine cannot be opened, but for what other programs write.
///
/// # Errors
/// A [`Failure`] if the file of events has mistakes.
pub(crate) fn open_counters(
    root: &Root,
    machine: &Machine,
    args: &CountingArgs,
    beside: Beside,
) -> Result<Chosen, Failure> {
    let families = events(&args.source)?;
    let named = args.source.counters_from.clone();
    let ladder = named.map_or_else(|| ladder(args.when, beside), |named| vec![named]);
    let candidates =
        ladder.iter().map(|from| Candidate { id: from.id(), open: Box::new(|| open(from, root, machine, &families)) });
    Ok(first_that_opens(candidates.collect()))
}

/// The events of processor families, those of the user first.
///
/// # Errors
/// A [`Failure`] that names the mistakes of the user's file.
pub(crate) fn events(args: &CounterArgs) -> Result<Vec<Family>, Failure> {
    let Some(path) = &args.events else { return Ok(families()) };
    let name = path.display();
    let text = tiermark_config::text_of(path).map_err(|error| Failure::usage(format!("--events {name}: {error}")))?;
    let said = |mistake: tiermark_config::Mistake| format!("--events {name}, {mistake}");
    let own = Family::read(&text).map_err(|all| Failure::Mistakes(all.into_iter().map(said).collect()))?;
    Ok(std::iter::once(own).chain(families()).collect())
}

impl CountersFrom {
    /// Which source it is.
    pub(crate) fn id(&self) -> CounterSourceId {
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

    /// Whether it is read from this system, which a captured machine is not.
    fn is_of_the_system(&self) -> bool {
        !matches!(self, Self::PcmMemory(_) | Self::Pcm(_) | Self::Likwid(_))
    }
}

/// This system.
pub(crate) struct ThisSystem;

impl System for ThisSystem {
    fn perf(&self) -> Box<dyn Backend> {
        Box::new(KernelCounters::new(|event, leader| {
            let PerfEvent { kind, words, cpu, read_format, flags } = *event;
            tiermark_system::open_perf_event(kind, words, read_format, cpu, leader, flags)
        }))
    }

    fn hsmp(&self) -> io::Result<Box<dyn Mailbox>> {
        Ok(Box::new(FirmwarePort { device: HsmpDevice::open()?, opened: Instant::now() }))
    }
}

/// The management port of an EPYC processor.
struct FirmwarePort {
    device: HsmpDevice,
    opened: Instant,
}

impl Mailbox for FirmwarePort {
    fn ask(&mut self, socket: u16, message: u32, words: u16) -> io::Result<[u32; 8]> {
        self.device.ask(socket, message, words)
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }
}

fn open(from: &CountersFrom, root: &Root, machine: &Machine, families: &[Family]) -> Opened {
    if from.is_of_the_system() && !root.is_live() {
        return Err(says::not_this_machine(from.id().name()));
    }
    match from {
        CountersFrom::Perf => boxed(PerfSource::open(root, machine, families, ThisSystem.perf())),
        CountersFrom::Hsmp => open_hsmp(machine, &ThisSystem),
        CountersFrom::Resctrl => {
            tiermark_counters::examine_resctrl(root, machine)?;
            let cpus = machine.cpus.iter().map(|cpu| cpu.id).collect();
            boxed(Resctrl::open(SystemFiles, root, std::process::id(), &cpus, machine))
        }
        CountersFrom::PcmMemory(path) => {
            boxed(monitored(path, counting(path, PcmFile::new(file(path)?, &PCM_MEMORY))?))
        }
        CountersFrom::Pcm(path) => boxed(monitored(path, counting(path, PcmFile::new(file(path)?, &PCM))?)),
        CountersFrom::Likwid(path) => boxed(monitored(path, likwid(path, machine)?)),
        CountersFrom::Core => boxed(Cores::open(root, machine, ThisSystem.perf())),
    }
}

fn boxed(source: Result<impl CounterSource + 'static, Refusal>) -> Opened {
    Ok(Box::new(source?))
}

/// A source that is a file, which says so when the file no longer grows. That an empty one has no line yet is no news.
fn monitored<S: CounterSource>(path: &Path, source: S) -> Result<Monitored<S>, Refusal> {
    let written = path.metadata().ok().filter(|file| file.len() > 0).and_then(|file| file.modified().ok());
    let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    Ok(Monitored::new(source, &path.display().to_string(), age))
}

/// A source that is a file, unless the file has text and no count: it is another file then.
fn counting<S: CounterSource>(path: &Path, mut source: S) -> Result<S, Refusal> {
    let name = path.display().to_string();
    let first = source.read().map_err(|error| says::counts_unreadable(&name, &error.to_string()))?;
    if first.readings.is_empty() { known_or_empty(path, source) } else { Ok(source) }
}

/// The outputs of likwid, which come when its program ends, so that an empty file will have some.
fn likwid(path: &Path, machine: &Machine) -> Result<LikwidFile<Followed>, Refusal> {
    let name = path.display().to_string();
    let sockets = machine.cpus.iter().map(|cpu| (cpu.id, cpu.socket)).collect();
    let mut source = LikwidFile::new(file(path)?, sockets);
    let read = source.read();
    // What the tables say is the cause, where they say it.
    if let Some(refusal) = source.refusal(&name) {
        return Err(refusal);
    }
    read.map_err(|error| says::counts_unreadable(&name, &error.to_string()))?;
    if source.has_tables() { Ok(source) } else { known_or_empty(path, source) }
}

/// A source without counts, if its file is empty.
fn known_or_empty<S: CounterSource>(path: &Path, source: S) -> Result<S, Refusal> {
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

/// Refuses `--counters-from` beside `--counters off`.
///
/// # Errors
/// A [`Failure`] of usage that names both options.
pub(crate) fn refuse_contradiction(args: &CountingArgs) -> Result<(), Failure> {
    if args.when == CounterUse::Off && args.source.counters_from.is_some() {
        return Err(Failure::usage(
            "--counters off reads no counters, and --counters-from names some: leave one of them out",
        ));
    }
    Ok(())
}

/// Opens a file that another program writes.
fn file(path: &Path) -> Result<Followed, Refusal> {
    Followed::open(path).map_err(|error| says::counts_unreadable(&path.display().to_string(), &error.to_string()))
}
