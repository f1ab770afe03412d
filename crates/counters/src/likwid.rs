//! The output of `likwid-perfctr -O -g MEM`, once the program has ended.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note, Refusal};

use crate::csv::{Growing, MOST_LINE, Pieces, amount, cells};
use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::source::CounterSource;

/// Lines of one output: a group has about 20 metrics, and a program may measure several groups.
const MOST_LINES: usize = 10_000;
/// Metrics of one group: the largest has about 20.
const MOST_METRICS: usize = 1000;
/// The metric of reads and writes together. Those of a part of the channels, as of the groups MEM1 and MEM2 of EPYC, have other names.
const BOTH: &str = "Memory data volume [GBytes]";
/// The metrics of reads and of writes.
const READ: &str = "Memory read data volume [GBytes]";
const WRITE: &str = "Memory write data volume [GBytes]";
/// The metrics without which nothing is counted.
const VOLUMES: [&str; 3] = [READ, WRITE, BOTH];
/// Groups of an output that are remembered.
const MOST_GROUPS: usize = 8;
/// Bytes of a gigabyte, as likwid counts them.
const GB: f64 = 1e9;

/// What likwid counted during the life of a program.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Likwid {
    /// Seconds that it ran.
    pub seconds: f64,
    /// Bytes that memory moved.
    pub volume: Volume,
}

/// Bytes that memory moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Volume {
    /// Read and written apart.
    Split {
        /// Bytes read.
        read: f64,
        /// Bytes written.
        write: f64,
    },
    /// Read and written together: the group does not separate them.
    Both(f64),
}

impl Default for Volume {
    fn default() -> Self {
        Self::Split { read: 0.0, write: 0.0 }
    }
}

impl Volume {
    /// The bytes of each thing that is counted.
    fn bytes(&self) -> Vec<(Of, f64)> {
        match *self {
            Self::Split { read, write } => vec![(Of::Read, read), (Of::Write, write)],
            Self::Both(both) => vec![(Of::Both, both)],
        }
    }
}

impl Likwid {
    /// The counts before and after, of the whole machine: likwid does not say on which socket a thread is.
    pub fn snapshots(&self) -> (Snapshot, Snapshot) {
        let place = BoxPlace { socket: None, node: None, kind: BoxKind::Memory, unit: "MEM".to_owned() };
        let bytes = self.volume.bytes();
        let reading = |(id, (of, bytes)): (usize, &(Of, f64))| Reading::of(id, place.clone(), *of, *bytes);
        let before: Vec<(Of, f64)> = bytes.iter().map(|(of, _)| (*of, 0.0)).collect();
        let at = |all: &[(Of, f64)]| all.iter().enumerate().map(reading).collect();
        let end = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        (
            Snapshot { at: Duration::ZERO, readings: at(&before), ..Snapshot::default() },
            Snapshot { at: end, readings: at(&bytes), ..Snapshot::default() },
        )
    }

    /// Adds another output. One of another group than the first has other counts, which do not go together.
    fn add(&mut self, more: &Self) {
        match (&mut self.volume, more.volume) {
            (_, volume) if self.seconds == 0.0 => self.volume = volume,
            (Volume::Split { read, write }, Volume::Split { read: more_read, write: more_write }) => {
                *read += more_read;
                *write += more_write;
            }
            (Volume::Both(both), Volume::Both(more)) => *both += more,
            _ => return,
        }
        self.seconds += more.seconds;
    }
}

/// A metric of memory whose value is no number: likwid could not count on all channels.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Uncounted {
    group: String,
    metric: String,
    cell: String,
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
    /// The first metric of memory of the last output that has no number.
    uncounted: Option<Uncounted>,
    /// Groups of this output whose metrics were read and that count no memory.
    others: Vec<String>,
    /// Names of the groups of the last complete output; empty if one of them counts memory traffic.
    without: Vec<String>,
}

impl Groups {
    /// Takes a line. What the output counted, on the line after which that is known.
    fn line(&mut self, line: &str) -> Option<Likwid> {
        let cells = cells(line);
        if begins_table(line) {
            // The line `STRUCT,Info` begins each output.
            if cells.get(1) == Some(&"Info") {
                self.without = std::mem::take(&mut self.others);
                (self.counted, self.uncounted) = (None, None);
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
            return None;
        }
        let (counted, is_region) = (&self.counted, self.is_region);
        let is_open = |group: &str| counted.as_ref().is_none_or(|counted| is_region && counted == group);
        let (group, rows) = self.group.as_mut().filter(|(group, _)| is_open(group))?;
        if self.metrics.len() >= MOST_METRICS {
            return None;
        }
        *rows = rows.saturating_sub(usize::from(cells[0] != "Metric"));
        // Lines are padded with commas to the width of the widest.
        let mut values = cells[1..].iter().filter(|cell| !cell.is_empty());
        match values.clone().map(|cell| amount(cell)).collect::<Option<_>>() {
            Some(values) => drop(self.metrics.insert(cells[0].to_owned(), values)),
            None if VOLUMES.contains(&cells[0]) && self.uncounted.is_none() => {
                let cell = values.find(|cell| amount(cell).is_none()).copied().unwrap_or_default().to_owned();
                let metric = cells[0].to_owned();
                self.uncounted = Some(Uncounted { group: group.clone(), metric, cell });
            }
            None => {}
        }
        let Some(found) = whole(&self.metrics, cells[0]) else {
            if *rows == 0 && !self.others.contains(group) && self.others.len() < MOST_GROUPS {
                self.others.push(group.clone());
            }
            return None;
        };
        self.others.clear();
        self.uncounted = None;
        self.counted = Some(group.clone());
        // The next region's metrics begin with a table of their own.
        self.group = None;
        Some(found)
    }
}

/// The first group of an output that counts memory traffic, of all regions of the program; `None` if no group does.
pub fn likwid_of(text: &str) -> Option<Likwid> {
    let mut groups = Groups::default();
    let lines = text.lines().take(MOST_LINES).filter(|line| line.len() <= MOST_LINE);
    lines.filter_map(|line| groups.line(line)).reduce(|mut sum, more| {
        sum.add(&more);
        sum
    })
}

/// A file with outputs, one after the other: those of `likwid-perfctr -O -g MEM -S 1s` in a loop.
pub struct LikwidFile<R> {
    file: Growing<R>,
    pieces: Pieces,
    groups: Groups,
    sum: Likwid,
    /// Whether a table of likwid was read.
    has_tables: bool,
}

impl<R: Read> LikwidFile<R> {
    /// Reads a file from its beginning.
    pub fn new(file: R) -> Self {
        Self {
            file: Growing::new(file),
            pieces: Pieces::default(),
            groups: Groups::default(),
            sum: Likwid::default(),
            has_tables: false,
        }
    }

    /// Whether a table of likwid was read so far: files of other programs contain no such table.
    pub fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// Why a file with tables has counted nothing so far; `None` if it has counted, or its first output is not complete.
    pub fn refusal(&self, file: &str) -> Option<Refusal> {
        match &self.groups.uncounted {
            Some(found) if self.sum.seconds == 0.0 => {
                Some(says::likwid_uncounted(file, &found.metric, &found.group, &found.cell))
            }
            _ => self.groups_without_memory().map(|groups| says::likwid_without_memory(file, &groups)),
        }
    }

    /// The names of the groups in the file, if none of them counts memory traffic; `None` if one does, or the file is empty.
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
        match self.sum.volume {
            Volume::Split { .. } => vec![CounterSight::Reads, CounterSight::Writes],
            Volume::Both(_) => vec![CounterSight::Total],
        }
    }

    fn notes(&self) -> Vec<Note> {
        vec![says::counts_come_late("likwid-perfctr")]
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
        if let (0.0, Some(found)) = (self.sum.seconds, &self.groups.uncounted) {
            return Err(io::Error::other(says::no_number(&found.metric, &found.cell, "likwid-perfctr").text));
        }
        // A whole output was read: that which follows it has begun.
        if let (0.0, false) = (self.sum.seconds, self.groups.without.is_empty()) {
            return Err(io::Error::other(says::no_memory_group(&self.groups.without.join(", ")).text));
        }
        Ok(self.sum.snapshots().1)
    }
}

/// Whether a line begins a part of an output: likwid names it in the cells behind.
fn begins_table(line: &str) -> bool {
    let cells = cells(line);
    matches!(cells[0], "TABLE" | "STRUCT") && cells.len() > 1
}

/// What the metrics of a group say, after the line of the last of them. The volume of reads and writes together stands behind both of
/// them where a group has all three.
fn whole(metrics: &BTreeMap<String, Vec<f64>>, last: &str) -> Option<Likwid> {
    let seconds = metrics.get("Runtime (RDTSC) [s]")?.iter().copied().fold(0.0, f64::max);
    // The counters of a socket stand with its first thread, and the other threads have 0.
    let volume = |name: &str| Some(metrics.get(name)?.iter().sum::<f64>() * GB);
    let read = volume(READ);
    let write = volume(WRITE);
    let both = || volume(BOTH).filter(|_| last == BOTH).map(Volume::Both);
    let volume = read.zip(write).map(|(read, write)| Volume::Split { read, write }).or_else(both)?;
    (seconds > 0.0).then_some(Likwid { seconds, volume })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::traffic;

    const OUTPUT: &str = "\
STRUCT,Info,1,,
TABLE,Group 1 Raw,MEM,1,
Event,Counter,HWThread 0,HWThread 36
CAS_COUNT_RD,MBOX0C0,340000000,120000
TABLE,Group 1 Metric,MEM,3,
Metric,HWThread 0,HWThread 36,
Runtime (RDTSC) [s],2.0,2.0,
Memory read data volume [GBytes],21.5,0.5,
Memory write data volume [GBytes],1,0,
TABLE,Group 1 Metric STAT,MEM,1,
Metric,TrafficSum,Min,Max,Avg
";

    #[test]
    fn threads_are_added_and_never_multiplied() {
        assert_eq!(likwid_of(OUTPUT), Some(Likwid { seconds: 2.0, volume: Volume::Split { read: 22e9, write: 1e9 } }));
        let (before, after) = likwid_of(OUTPUT).unwrap().snapshots();
        let sum = traffic(&before, &after).whole();
        assert_eq!((sum.read, sum.write, sum.total), (Some(22e9), Some(1e9), Some(23e9)));
    }

    #[test]
    fn outputs_of_one_file_are_added() {
        let end = OUTPUT.find("Memory write").unwrap();
        // A second output, and a third that is half written.
        let text = format!("{OUTPUT}{OUTPUT}{}", &OUTPUT[..end + 30]);
        let mut file = LikwidFile::new(text.as_bytes());
        let (before, after) = (Likwid::default().snapshots().1, file.read().unwrap());
        let seen = traffic(&before, &after);
        assert_eq!((seen.seconds, seen.whole().read, seen.whole().write), (4.0, Some(44e9), Some(2e9)));
    }

    #[test]
    fn half_an_output_has_no_numbers() {
        let end = OUTPUT.find("Memory write").unwrap();
        assert_eq!(likwid_of(&OUTPUT[..end]), None);
        assert_eq!(likwid_of("TABLE,Group 1 Metric,MEM,3\nRuntime (RDTSC) [s],nan\n"), None);
    }

    /// The output of a group with other metrics of memory.
    fn output(group: &str, volume: &str) -> String {
        let text = OUTPUT
            .replace(",MEM,3", ",MEM,2")
            .replace(",MEM,", &format!(",{group},"))
            .replace("Memory write data volume [GBytes]", volume);
        text.lines().filter(|line| !line.starts_with("Memory read")).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn reads_and_writes_together_count_where_they_are_all() {
        let both = output("MEM", BOTH);
        assert_eq!(likwid_of(&both), Some(Likwid { seconds: 2.0, volume: Volume::Both(1e9) }));
        let text = format!("{both}{both}");
        let mut file = LikwidFile::new(text.as_bytes());
        let snapshot = file.read().unwrap();
        assert_eq!((file.sees(), file.groups_without_memory()), (vec![CounterSight::Total], None));
        let before = Likwid { volume: Volume::Both(0.0), ..Likwid::default() }.snapshots().1;
        assert_eq!(traffic(&before, &snapshot).whole().total, Some(2e9));
        // All three: the total is no third part.
        let all = OUTPUT
            .replace("Memory write", "Memory write data volume [GBytes],1,0,\nMemory data volume [GBytes],23,0\nx");
        assert_eq!(likwid_of(&all), likwid_of(OUTPUT));
    }

    #[test]
    fn groups_without_memory_are_named() {
        // A part of the channels is not the traffic.
        let part = output("MEM1", "Memory data volume (channels 0-3) [GBytes]");
        let mut file = LikwidFile::new(part.as_bytes());
        assert!(file.read().is_ok());
        assert_eq!(file.groups_without_memory().as_deref(), Some("MEM1"));
        // Half a table may go on with more.
        let mut half = LikwidFile::new(&part.as_bytes()[..part.find("Memory data").unwrap()]);
        assert!(half.read().is_ok() && half.groups_without_memory().is_none() && half.has_tables());
        // The next output has begun: that before has no more groups.
        let two = format!("{part}{part}");
        let error = LikwidFile::new(two.as_bytes()).read().unwrap_err().to_string();
        assert!(error.contains("MEM1") && error.contains("-g MEM"), "{error}");
        // Another group of the same output counts it.
        let end = OUTPUT.find("TABLE").unwrap();
        let both = format!("{part}{}{part}", &OUTPUT[end..]);
        let mut file = LikwidFile::new(both.as_bytes());
        assert!(file.read().is_ok());
        assert_eq!(file.groups_without_memory(), None);
    }

    proptest! {
        #[test]
        fn any_text(cut in 0..OUTPUT.len(), text in ".{0,60}") {
            let _ = (likwid_of(&text), likwid_of(&format!("{}{text}", &OUTPUT[..cut])));
        }
    }
}
