//! Opens the counters of memory traffic: the source that the user names, or the first that opens.

use std::fs::File;
use std::path::Path;

use tiermark_counters::{
    Candidate, Chosen, CounterSource, Family, LikwidFile, PcmFile, PerfSource, Resctrl, SystemFiles, families,
    first_that_opens,
};
use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSourceId, Machine, Refusal};
use tiermark_system::PerfBackend;

use crate::args::{CounterArgs, CountersFrom};
use crate::output::Failure;

/// What opening a source gives.
type Opened = Result<Box<dyn CounterSource>, Refusal>;

/// Opens the source that the user names, else the first that opens; `Null` if none does. The sources of a captured
/// machine cannot be opened, but for what other programs write.
///
/// # Errors
/// A [`Failure`] if the file of events has mistakes.
pub(crate) fn open_counters(root: &Root, machine: &Machine, args: &CounterArgs) -> Result<Chosen, Failure> {
    let families = events(args)?;
    let ladder = match &args.counters_from {
        Some(named) => vec![named.clone()],
        None => vec![CountersFrom::Perf, CountersFrom::Resctrl],
    };
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
            Self::Resctrl => CounterSourceId::Resctrl,
            Self::Pcm(_) => CounterSourceId::PcmMemory,
            Self::Likwid(_) => CounterSourceId::Likwid,
        }
    }

    /// Whether it is read from this system, which a captured machine is not.
    fn is_of_the_system(&self) -> bool {
        matches!(self, Self::Perf | Self::Resctrl)
    }
}

fn open(from: &CountersFrom, root: &Root, machine: &Machine, families: &[Family]) -> Opened {
    if from.is_of_the_system() && !root.is_live() {
        return Err(says::not_this_machine(from.id().name()));
    }
    match from {
        CountersFrom::Perf => boxed(PerfSource::open(root, machine, families, Box::new(PerfBackend::new()))),
        CountersFrom::Resctrl => {
            tiermark_counters::examine_resctrl(root, machine)?;
            let cpus = machine.cpus.iter().map(|cpu| cpu.id).collect();
            boxed(Resctrl::open(SystemFiles, root, std::process::id(), &cpus, machine))
        }
        CountersFrom::Pcm(path) => boxed(file(path).map(PcmFile::new)),
        CountersFrom::Likwid(path) => boxed(file(path).map(LikwidFile::new)),
    }
}

fn boxed(source: Result<impl CounterSource + 'static, Refusal>) -> Opened {
    Ok(Box::new(source?))
}

/// Opens a file that another program writes.
fn file(path: &Path) -> Result<File, Refusal> {
    File::open(path).map_err(|error| says::counts_unreadable(&path.display().to_string(), &error.to_string()))
}
