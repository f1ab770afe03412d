//! The output of `likwid-perfctr -O -g MEM`, once the program has ended.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Machine, Note, Refusal};

use crate::csv::{Growing, Pieces, amount, cells};
use crate::family::Of;
use crate::monitored::{empty_or_refused, file};
use crate::snapshot::{Reading, Snapshot};
use crate::source::{CounterSource, Doubt, FileForm, Opened, Reads, SourceKind};

/// Metrics of one group: the largest has about 20.
const MOST_METRICS: usize = 1000;
/// The metric of reads and writes together. Those of a part of the channels, as of the groups MEM1 and MEM2 of EPYC,
/// have other names.
const BOTH: &str = "Memory data volume [GBytes]";
/// The metrics of reads and of writes.
const READ: &str = "Memory read data volume [GBytes]";
const WRITE: &str = "Memory write data volume [GBytes]";
/// The metric of the time.
const TIME: &str = "Runtime (RDTSC) [s]";
/// The metrics without which nothing is counted.
const NEEDED: [&str; 4] = [TIME, READ, WRITE, BOTH];
/// The program.
const PROGRAM: &str = "likwid-perfctr";
/// Groups of an output that are remembered.
const MOST_GROUPS: usize = 8;
/// Bytes of a gigabyte, as likwid counts them.
const GB: f64 = 1e9;

/// `likwid-perfctr -O`.
pub(super) static KIND: SourceKind = SourceKind {
    id: CounterSourceId::Likwid,
    reads: Reads::File(FileForm {
        program: PROGRAM,
        file: "has outputs of `likwid-perfctr -O -g MEM -S 1s`, one after the other",
        sees: &[CounterSight::Reads, CounterSight::Writes],
        grows: false,
        has,
        open,
    }),
};

/// Whether a text has a table of likwid, with counts or without.
fn has(text: &str) -> bool {
    let mut file = LikwidFile::new(text.as_bytes(), BTreeMap::new());
    let _ = file.read();
    file.has_tables()
}

/// Opens a file, which may be empty: likwid writes an output when its program ends.
fn open(path: &Path, machine: &Machine) -> Opened {
    let name = path.display().to_string();
    let sockets = machine.cpus.iter().map(|cpu| (cpu.id, cpu.socket)).collect();
    let mut source = LikwidFile::new(file(path)?, sockets);
    let read = source.read();
    // A refusal by the tables comes before a read error: it names the cause.
    if let Some(refusal) = source.refusal(&name) {
        return Err(refusal);
    }
    read.map_err(|error| says::counts_unreadable(&name, &error.to_string()))?;
    if source.has_tables() { Ok(Box::new(source)) } else { empty_or_refused(path, source) }
}

/// What likwid counted during the life of a program.
#[derive(Debug, Clone, PartialEq, Default)]
struct Likwid {
    /// Seconds that it ran.
    seconds: f64,
    /// Bytes that the memory of each socket moved. The socket is `None` for a sum over the machine, if the sockets of
    /// the threads are not known.
    bytes: BTreeMap<(Option<u32>, Of), f64>,
}

impl Likwid {
    /// The counts at the end, which began at 0.
    fn snapshot(&self) -> Snapshot {
        let place = |socket| BoxPlace { socket, node: None, kind: BoxKind::Memory, unit: "MEM".to_owned() };
        let counts = self.bytes.iter().enumerate();
        let readings =
            counts.map(|(id, (&(socket, of), bytes))| Reading::of(id, place(socket), of, *bytes as u64)).collect();
        let at = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        Snapshot { at, readings, ..Snapshot::default() }
    }

    /// Adds another output. One of another group than the first, or of other threads, has other counts, which do not go
    /// together.
    fn add(&mut self, more: &Self) {
        if self.seconds == 0.0 {
            self.bytes.clone_from(&more.bytes);
        } else if self.bytes.keys().eq(more.bytes.keys()) {
            self.bytes.values_mut().zip(more.bytes.values()).for_each(|(own, more)| *own += more);
        } else {
            return;
        }
        self.seconds += more.seconds;
    }
}

/// Why a group that should count memory does not.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// The value of a metric is no number: likwid could not count on all channels.
    NoNumber { group: String, metric: String, cell: String },
    /// A metric has not one value for each thread.
    Width { metric: String, values: usize, threads: usize },
    /// The measured time is 0.
    NoTime { group: String },
}

impl Fault {
    fn refusal(&self, file: &str) -> Refusal {
        match self {
            Self::NoNumber { group, metric, cell } => says::likwid_uncounted(file, metric, group, cell),
            Self::Width { metric, values, threads } => says::likwid_row_width(file, metric, *values, *threads),
            Self::NoTime { group } => says::likwid_no_time(file, group),
        }
    }

    /// The same of an output that came later.
    fn text(&self) -> String {
        match self {
            Self::NoNumber { metric, cell, .. } => says::no_number(metric, cell, PROGRAM).text,
            _ => self.refusal(PROGRAM).why,
        }
    }
}

/// Reads the lines of one output after the other.
#[derive(Debug, Clone, Default)]
struct Groups {
    metrics: BTreeMap<String, Vec<f64>>,
    /// The group whose metrics are read, and how many of them are to come.
    group: Option<(String, usize)>,
    /// Whether the table belongs to a region of the program (marker API), of which each is counted.
    is_region: bool,
    /// The group by which the output that is read was counted: others are of other things, or of the same traffic.
    counted: Option<String>,
    /// The sockets of the machine's cpus.
    sockets: BTreeMap<u32, u32>,
    /// The sockets of the threads that have a value of each metric, where the table names the threads.
    threads: Option<Vec<Option<u32>>>,
    /// Threads that counted memory, and all, where their sockets are not known and only some did.
    some_count: Option<(usize, usize)>,
    /// The first fault of the last output.
    fault: Option<Fault>,
    /// Whether a needed metric of the table has a fault: the others do not count without it.
    is_faulty: bool,
    /// Groups of this output whose metrics were read and that count no memory.
    others: Vec<String>,
    /// Names of the groups of the last complete output; empty if one of them counts memory traffic.
    without: Vec<String>,
}

impl Groups {
    /// Remembers a group whose metrics were read without a volume of memory.
    fn counts_no_memory(&mut self, group: String) {
        if !self.is_faulty && !self.others.contains(&group) && self.others.len() < MOST_GROUPS {
            self.others.push(group);
        }
    }

    /// Takes a line. What the output counted, on the line after which that is known.
    fn line(&mut self, line: &str) -> Option<Likwid> {
        let cells = cells(line);
        if begins_table(line) {
            // A table that ended before its number of metrics, which some versions count with the line of names.
            let has = |metric: &str| self.metrics.contains_key(metric);
            let is_of_others = has(TIME) && ![READ, WRITE, BOTH].into_iter().any(has);
            if let Some((group, _)) = self.group.take().filter(|_| is_of_others) {
                self.counts_no_memory(group);
            }
            // The line `STRUCT,Info` begins each output.
            if cells.get(1) == Some(&"Info") {
                self.without = std::mem::take(&mut self.others);
                (self.counted, self.fault) = (None, None);
            }
            // With the marker API (`-m`), the name of the region comes first.
            self.is_region = cells[1].starts_with("Region ");
            let cells = &cells[usize::from(self.is_region)..];
            // `STAT` tables repeat the sums of some metrics; threads are added up here.
            let is_metrics = cells.get(1).is_some_and(|title| title.ends_with(" Metric"));
            let named = || cells.get(2).copied().unwrap_or_default().to_owned();
            let rows = cells.get(3).and_then(|rows| rows.parse().ok()).unwrap_or(usize::MAX);
            self.group = is_metrics.then(|| (named(), rows));
            self.metrics.clear();
            (self.threads, self.is_faulty) = (None, false);
            return None;
        }
        let (counted, is_region) = (&self.counted, self.is_region);
        let is_open = |group: &str| counted.as_ref().is_none_or(|counted| is_region && counted == group);
        let (group, rows) = self.group.as_mut().filter(|(group, _)| is_open(group))?;
        if self.metrics.len() >= MOST_METRICS {
            return None;
        }
        // Lines are padded with commas to the width of the widest.
        let values: Vec<&str> = cells[1..].iter().copied().filter(|cell| !cell.is_empty()).collect();
        if cells[0] == "Metric" {
            self.threads = Some(sockets_of(&values, &self.sockets));
            return None;
        }
        *rows = rows.saturating_sub(1);
        match values_of(cells[0], &values, self.threads.as_ref().map(Vec::len), group) {
            Ok(values) => drop(self.metrics.insert(cells[0].to_owned(), values)),
            Err(fault) if NEEDED.contains(&cells[0]) => {
                self.is_faulty = true;
                self.fault.get_or_insert(fault);
            }
            Err(_) => {}
        }
        let found = whole(&self.metrics, cells[0], self.threads.as_deref()).filter(|_| !self.is_faulty);
        let Some(found) = found else {
            if *rows == 0 {
                let group = group.clone();
                self.counts_no_memory(group);
            }
            return None;
        };
        // The next region's metrics begin with a table of their own.
        let (group, _) = self.group.take()?;
        if found.seconds == 0.0 {
            self.fault.get_or_insert(Fault::NoTime { group });
            return None;
        }
        self.some_count = self.some_count.or_else(|| some_count(&self.metrics, self.threads.as_deref()));
        self.others.clear();
        self.fault = None;
        self.counted = Some(group);
        Some(found)
    }
}

/// A file with outputs, one after the other: those of `likwid-perfctr -O -g MEM -S 1s` in a loop.
///
/// A socket counts with one of its threads; the others have 0.
pub struct LikwidFile<R> {
    file: Growing<R>,
    pieces: Pieces,
    groups: Groups,
    sum: Likwid,
    /// Whether a table of likwid was read.
    has_tables: bool,
}

impl<R: Read> LikwidFile<R> {
    /// Reads a file from its beginning. Where the sockets of all its threads are known, each socket is a box.
    pub fn new(file: R, sockets: BTreeMap<u32, u32>) -> Self {
        Self {
            file: Growing::new(file),
            pieces: Pieces::default(),
            groups: Groups { sockets, ..Groups::default() },
            sum: Likwid::default(),
            has_tables: false,
        }
    }

    /// Whether a table of likwid was read so far: files of other programs contain no such table.
    fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// Why a file with tables has counted nothing so far; `None` if it has counted, or its first output is not
    /// complete.
    pub fn refusal(&self, file: &str) -> Option<Refusal> {
        match &self.groups.fault {
            Some(fault) if self.sum.seconds == 0.0 => Some(fault.refusal(file)),
            _ => self.groups_without_memory().map(|groups| says::likwid_without_memory(file, &groups)),
        }
    }

    /// The names of the groups in the file, if none of them counts memory traffic; `None` if one does, or the file is
    /// empty.
    pub fn groups_without_memory(&self) -> Option<String> {
        let groups = if self.groups.others.is_empty() { &self.groups.without } else { &self.groups.others };
        (self.sum.seconds == 0.0 && !groups.is_empty()).then(|| groups.join(", "))
    }
}

impl<R: Read> CounterSource for LikwidFile<R> {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Likwid
    }

    fn sees(&self) -> Vec<CounterSight> {
        let is_total = self.sum.bytes.keys().any(|(_, of)| *of == Of::Both);
        if is_total { vec![CounterSight::Total] } else { vec![CounterSight::Reads, CounterSight::Writes] }
    }

    fn doubts(&self) -> Vec<(Doubt, Note)> {
        let pending = match (self.has_tables, self.sum.seconds > 0.0) {
            (false, _) => Some(says::file_is_empty(PROGRAM)),
            (true, false) => Some(says::no_counts_yet(PROGRAM)),
            (true, true) => None,
        };
        let unknown = self.groups.some_count;
        let unknown = unknown.map(|(some, all)| says::likwid_sockets_unknown(some as u64, all as u64));
        let late = (Doubt::Source, says::counts_come_late(PROGRAM));
        let pending = pending.map(|note| (Doubt::Pending, note));
        std::iter::once(late).chain(pending).chain(unknown.map(|note| (Doubt::Counts, note))).collect()
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let Self { file, pieces, groups, sum, has_tables } = self;
        file.each(|text| {
            pieces.take(text, |line| {
                *has_tables |= begins_table(line);
                if let Some(more) = groups.line(line) {
                    sum.add(&more);
                }
            });
        })?;
        // Other regions of the output may have counted.
        if let (None, Some(fault)) = (&self.groups.counted, &self.groups.fault) {
            return Err(io::Error::other(fault.text()));
        }
        // A whole output was read: that which follows it has begun.
        if self.sum.seconds == 0.0 && !self.groups.without.is_empty() {
            return Err(io::Error::other(says::no_memory_group(&self.groups.without.join(", ")).text));
        }
        Ok(self.sum.snapshot())
    }
}

/// Whether a line begins a part of an output: likwid names it in the cells behind.
fn begins_table(line: &str) -> bool {
    let cells = cells(line);
    matches!(cells[0], "TABLE" | "STRUCT") && cells.len() > 1
}

/// The values of a metric, one for each thread.
fn values_of(metric: &str, cells: &[&str], threads: Option<usize>, group: &str) -> Result<Vec<f64>, Fault> {
    let metric = || metric.to_owned();
    if let Some(threads) = threads.filter(|threads| *threads != cells.len()) {
        return Err(Fault::Width { metric: metric(), values: cells.len(), threads });
    }
    let number = |cell: &&str| {
        amount(cell).ok_or_else(|| Fault::NoNumber {
            group: group.to_owned(),
            metric: metric(),
            cell: (*cell).to_owned(),
        })
    };
    cells.iter().map(number).collect()
}

/// The sockets of threads by their names, `HWThread 36`; none is known if one is not.
fn sockets_of(names: &[&str], sockets: &BTreeMap<u32, u32>) -> Vec<Option<u32>> {
    let socket = |name: &&str| sockets.get(&name.rsplit(' ').next()?.parse().ok()?).copied();
    let known: Option<Vec<u32>> = names.iter().map(socket).collect();
    known.map_or_else(|| vec![None; names.len()], |known| known.into_iter().map(Some).collect())
}

/// How many threads have a count of memory, and how many there are, if only some do and their sockets are not known.
fn some_count(metrics: &BTreeMap<String, Vec<f64>>, threads: Option<&[Option<u32>]>) -> Option<(usize, usize)> {
    let all = threads.filter(|threads| threads.iter().any(Option::is_none))?.len();
    let counts = |thread: &usize| {
        let volume = |name: &str| metrics.get(name).and_then(|values| values.get(*thread)).is_some_and(|gb| *gb > 0.0);
        [READ, WRITE, BOTH].into_iter().any(volume)
    };
    let some = (0..all).filter(counts).count();
    (some < all).then_some((some, all))
}

/// What the metrics of a group say, after the line of the last of them. The volume of reads and writes together stands
/// behind both of them where a group has all three.
fn whole(metrics: &BTreeMap<String, Vec<f64>>, last: &str, threads: Option<&[Option<u32>]>) -> Option<Likwid> {
    let seconds = metrics.get(TIME)?.iter().copied().fold(0.0, f64::max);
    let socket = |thread: usize| threads.and_then(|threads| threads.get(thread).copied()).flatten();
    let is_split = metrics.contains_key(READ) && metrics.contains_key(WRITE);
    let counted = match (is_split, last) {
        (true, _) => &[(READ, Of::Read), (WRITE, Of::Write)][..],
        (false, BOTH) => &[(BOTH, Of::Both)],
        (false, _) => return None,
    };
    // The counters of a socket stand with its first thread, and the other threads have 0.
    let mut bytes = BTreeMap::new();
    for (name, of) in counted {
        for (thread, gigabytes) in metrics.get(*name)?.iter().enumerate() {
            *bytes.entry((socket(thread), *of)).or_default() += gigabytes * GB;
        }
    }
    Some(Likwid { seconds, bytes })
}

#[cfg(test)]
mod tests;
