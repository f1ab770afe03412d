//! The best that this machine has shown, cell by cell, in one small file beside the runs.

mod cell;
mod compare;
mod throughput;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_model::messages::{documents, load as says};
use tiermark_model::{
    Bytes, CoreKind, Experiment, Grade, KernelId, Machine, Observation, PerCycle, Reason, ReasonCode, Refusal, Run,
    Step, Unit, ValueKind,
};

use crate::lines::write_whole;
use crate::store::Store;
pub use cell::MachineKey;
pub use compare::hold_again;

const NAME: &str = "record.json";
/// Where a damaged record is moved; the last one is kept for inspection.
const SET_ASIDE: &str = "record.json.damaged";
const SCHEMA: &str = "tiermark/record/1";
/// Schemas of this and of later versions begin so.
const FAMILY: &str = "tiermark/record/";
/// Every release of a kernel makes another machine: those of the last updates.
const MOST_MACHINES: usize = 8;
/// A survey has about a hundred cells; all plans in all variants fit.
const MOST_CELLS: usize = 2000;
/// Three times what the most machines with the most cells take, of about 300 bytes each.
const MOST_BYTES: u64 = 16 << 20;

/// The best proven figure of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The figure, in its unit.
    pub value: f64,
    /// Unit of the figure.
    pub unit: Unit,
    /// The figure per cycle of the core, of what the core clocks: such figures are compared by it, so that a faster
    /// clock is no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_cycle: Option<PerCycle>,
    /// The core's clock in its visits, cycles per second; `None` where it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_hz: Option<f64>,
    /// Start of the run that measured it, RFC 3339.
    pub date: String,
    /// Id of the run that it was measured in.
    pub run: String,
    /// The boot id (`boot_id`) of the measurement, which separates figures of different boots.
    pub boot: String,
}

/// The record of a machine, as the file holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    key: MachineKey,
    cells: BTreeMap<String, Best>,
    /// The kernel that was chosen for a cell, where the run had time for enough comparisons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    kernels: BTreeMap<String, KernelId>,
    /// What the cores do in a cycle, by kind of core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    throughputs: Vec<throughput::Reached>,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Book {
    schema: String,
    machines: Vec<MachineRecord>,
}

impl Default for Book {
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), machines: Vec::new() }
    }
}

/// Why the file gives nothing.
enum Unread {
    /// It is not what this program writes.
    Damaged(String),
    /// It is there and is not to be touched: a later version's, or the system does not let it be read.
    Closed(String),
}

impl MachineRecord {
    /// What the store knows of a machine: nothing yet where there is no file. A damaged file is set aside, where the
    /// store may be written to, and said in the notice.
    pub fn open(store: &Store, key: MachineKey, may_write: bool) -> (Self, Option<Refusal>) {
        let Some(path) = path(store) else { return (Self::empty(key), None) };
        match read(&path) {
            Ok(book) => {
                (book.machines.into_iter().find(|own| own.key == key).unwrap_or_else(|| Self::empty(key)), None)
            }
            Err(unread) => (Self::empty(key), Some(unusable(&path, unread, may_write))),
        }
    }

    fn empty(key: MachineKey) -> Self {
        Self { key, cells: BTreeMap::new(), kernels: BTreeMap::new(), throughputs: Vec::new() }
    }

    /// Operations in a cycle that cores of a kind reached; `None` if no run counted them.
    pub fn throughput(&self, kind: Option<CoreKind>) -> Option<f64> {
        throughput::known(&self.throughputs, kind)
    }

    /// The best figure of what a step measured.
    pub fn best(&self, experiment: &Experiment, seen: &Observation, machine: &Machine) -> Option<&Best> {
        self.cells.get(&cell_of(experiment, seen, machine)?).filter(|best| best.unit == seen.unit)
    }

    /// The best figure of a step of a probe, by its method, in this unit.
    pub fn best_of_step(&self, probe: &str, method: u32, step: &Step, unit: Unit, machine: &Machine) -> Option<&Best> {
        self.cells.get(&cell::name(probe, method, step, machine)?).filter(|best| best.unit == unit)
    }

    /// The kernel that was chosen last for a step of a probe, by its method.
    pub fn kernel(&self, probe: &str, method: u32, step: &Step, machine: &Machine) -> Option<&KernelId> {
        self.kernels.get(&cell::name(probe, method, step, machine)?)
    }

    /// Puts its record beside each observation, and makes a bound of one that falls short of it. An observation that was
    /// held against a record before stays as it is.
    pub fn hold(&self, experiment: &mut Experiment, machine: &Machine) {
        let mut observations = std::mem::take(&mut experiment.observations);
        let is_new = |seen: &&mut Observation| seen.record.is_none() && !seen.verdict.has(ReasonCode::BelowRecord);
        for seen in observations.iter_mut().filter(is_new) {
            let best = self.best(experiment, seen, machine);
            if let Some((best, record)) = best.and_then(|best| Some((best, compare::record_for(best, seen)?))) {
                seen.record = Some(record);
                // What a program typically gets of what others use differs from hour to hour.
                if seen.kind == ValueKind::Capability {
                    compare::hold(seen, record, &best.date, compare::clocks(best, seen, record));
                }
            }
        }
        experiment.observations = observations;
    }

    /// Writes the figures of a run that are better than what the file holds by now, whole or not at all. A simulated or
    /// stopped run does not change the file.
    ///
    /// # Errors
    /// A [`Refusal`] if the file cannot be written.
    pub fn improve(&mut self, store: &Store, run: &Run, boot: &str) -> Result<(), Refusal> {
        let Some(path) = path(store).filter(|_| !run.stopped && run.simulated.is_none()) else { return Ok(()) };
        let (shown, chosen) = (proven(run, boot), chosen(run));
        let counts_throughput = run.experiments.iter().any(|one| !one.throughputs.is_empty());
        if shown.is_empty() && chosen.is_empty() && !counts_throughput {
            return Ok(());
        }
        // Another run may have written meanwhile. Between reading and writing it still may: one figure is lost then,
        // and shown again.
        let mut book = match read(&path) {
            Ok(book) => book,
            Err(unread @ Unread::Closed(_)) => return Err(unusable(&path, unread, false)),
            Err(unread @ Unread::Damaged(_)) => {
                unusable(&path, unread, true);
                Book::default()
            }
        };
        let at = book.machines.iter().position(|page| page.key == self.key);
        *self = at.map_or_else(|| Self::empty(self.key.clone()), |at| book.machines.remove(at));
        let improved = merge(&mut self.cells, shown);
        limit(&mut self.cells);
        let known = self.kernels.clone();
        self.kernels.extend(chosen);
        while self.kernels.len() > MOST_CELLS {
            self.kernels.pop_first();
        }
        let is_higher = throughput::raise(&mut self.throughputs, run);
        if !improved && self.kernels == known && !is_higher {
            return Ok(());
        }
        // Newest first: those at the end have not been met for longest.
        book.machines.insert(0, self.clone());
        book.machines.truncate(MOST_MACHINES);
        write(&path, &book).map_err(|why| says::record_unwritable(&path.display().to_string(), &why.to_string()))
    }
}

fn path(store: &Store) -> Option<PathBuf> {
    store.directory().and_then(Path::parent).map(|beside| beside.join(NAME))
}

fn cell_of(experiment: &Experiment, seen: &Observation, machine: &Machine) -> Option<String> {
    // A median describes a load, not the capability of the hardware.
    seen.edge?;
    let step = experiment.plan.steps.iter().find(|step| step.id == seen.step)?;
    cell::name(&experiment.request.probe, experiment.method, step, machine)
}

/// Whether the hardware was seen to do as much, again and again: a trusted figure, or a bound that enough visits
/// reached.
fn is_proven(seen: &Observation) -> bool {
    let seldom = |reason: &Reason| {
        use ReasonCode::{Contradicted, NotReproduced, NotSettled, TooFew};
        matches!(reason.code(), TooFew | NotReproduced | NotSettled | Contradicted)
    };
    match seen.verdict.grade {
        Grade::Trusted => true,
        Grade::Shared => false,
        Grade::Bound => !seen.verdict.reasons.iter().any(seldom),
        _ => false,
    }
}

/// The kernels that a run chose after enough comparisons, by cell.
fn chosen(run: &Run) -> BTreeMap<String, KernelId> {
    let mut chosen = BTreeMap::new();
    for experiment in &run.experiments {
        for seen in experiment.observations.iter().filter(|seen| !seen.rivals.is_empty() && seen.rival_open.is_none()) {
            let step = experiment.plan.steps.iter().find(|step| step.id == seen.step);
            let cell =
                step.and_then(|step| cell::name(&experiment.request.probe, experiment.method, step, &run.machine));
            chosen.extend(cell.zip(seen.labels.kernel().map(KernelId::from)));
        }
    }
    chosen
}

/// Proven figures of a run by cell, the best of each.
fn proven(run: &Run, boot: &str) -> BTreeMap<String, Best> {
    let mut shown = BTreeMap::new();
    for experiment in &run.experiments {
        for seen in experiment.observations.iter().filter(|seen| is_proven(seen)) {
            let value = seen.value.filter(|value| value.is_finite() && *value > 0.0);
            if let (Some(value), Some(cell)) = (value, cell_of(experiment, seen, &run.machine)) {
                let (date, run, boot) = (run.started.clone(), run.id.clone(), boot.to_owned());
                let per_cycle = seen.per_cycle.filter(compare::is_sound);
                let core_hz = seen.core_hz.filter(|hz| hz.is_finite() && *hz > 0.0);
                merge(&mut shown, [(cell, Best { value, unit: seen.unit, per_cycle, core_hz, date, run, boot })]);
            }
        }
    }
    shown
}

/// Keeps the better figures; returns whether any was better.
fn merge(cells: &mut BTreeMap<String, Best>, shown: impl IntoIterator<Item = (String, Best)>) -> bool {
    let mut improved = false;
    for (cell, best) in shown {
        let known = cells.get(&cell).filter(|known| known.unit == best.unit);
        if known.is_none_or(|known| compare::replaces(&best, known)) {
            cells.insert(cell, best);
            improved = true;
        }
    }
    improved
}

/// Drops the oldest figures beyond the most that are kept.
fn limit(cells: &mut BTreeMap<String, Best>) {
    if cells.len() > MOST_CELLS {
        let mut dates: Vec<String> = cells.values().map(|best| best.date.clone()).collect();
        dates.sort_unstable();
        let oldest = dates[dates.len() - MOST_CELLS].clone();
        cells.retain(|_, best| best.date >= oldest);
        while cells.len() > MOST_CELLS {
            cells.pop_last();
        }
    }
}

fn read(path: &Path) -> Result<Book, Unread> {
    let mut bytes = Vec::new();
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Book::default()),
        opened => opened.map_err(|error| Unread::Closed(error.to_string()))?,
    };
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| Unread::Closed(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Unread::Damaged(documents::record_too_large(Bytes(MOST_BYTES)).text));
    }
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<Book, Unread> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| Unread::Damaged(error.to_string()))?;
    let schema = value["schema"].as_str().unwrap_or_default();
    if schema != SCHEMA && schema.starts_with(FAMILY) {
        return Err(Unread::Closed(documents::record_of_another_version(schema).text));
    }
    let mut book: Book = serde_json::from_value(value).map_err(|error| Unread::Damaged(error.to_string()))?;
    if book.schema != SCHEMA {
        return Err(Unread::Damaged(documents::record_schema_unknown(&book.schema).text));
    }
    for page in &mut book.machines {
        let is_sound = |best: &Best| {
            best.value.is_finite() && best.value > 0.0 && best.per_cycle.as_ref().is_none_or(compare::is_sound)
        };
        page.cells.retain(|_, best| is_sound(best));
    }
    Ok(book)
}

/// Says why the file gives nothing, after it was set aside where that may be.
fn unusable(path: &Path, unread: Unread, may_write: bool) -> Refusal {
    let record = path.display().to_string();
    match unread {
        Unread::Closed(why) => says::record_closed(&record, &why.to_string()),
        Unread::Damaged(why) => {
            let aside = path.with_file_name(SET_ASIDE);
            let moved = may_write && fs::rename(path, &aside).is_ok();
            let aside = aside.display().to_string();
            says::record_damaged(&record, &why.to_string(), moved.then_some(aside.as_str()))
        }
    }
}

fn write(path: &Path, book: &Book) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    let bytes = tiermark_model::indented(book).map_err(io::Error::other)?;
    write_whole(directory, NAME, |file| file.write_all(bytes.as_bytes()).and_then(|()| file.write_all(b"\n"))).map(drop)
}

#[cfg(test)]
mod tests;
