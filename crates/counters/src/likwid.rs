//! The output of `likwid-perfctr -O -g MEM`, once the program has ended.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note};

use crate::csv::{Growing, MOST_LINE, Pieces, amount, cells};
use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::source::CounterSource;

/// Lines of one output: a group has about 20 metrics, and a program may measure several groups.
const MOST_LINES: usize = 10_000;
/// Metrics of one group: the largest has about 20.
const MOST_METRICS: usize = 1000;
/// Bytes of a gigabyte, as likwid counts them.
const GB: f64 = 1e9;

/// What likwid counted during the life of a program.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Likwid {
    /// Seconds that it ran.
    pub seconds: f64,
    /// Bytes read from memory.
    pub read: f64,
    /// Bytes written to memory.
    pub write: f64,
}

impl Likwid {
    /// The counts before and after, of the whole machine: likwid does not say on which socket a thread is.
    pub fn snapshots(&self) -> (Snapshot, Snapshot) {
        let place = BoxPlace { socket: None, node: None, kind: BoxKind::Memory, unit: "MEM".to_owned() };
        let at = |read: f64, write: f64| {
            [(Of::Read, read), (Of::Write, write)]
                .into_iter()
                .enumerate()
                .map(|(id, (of, bytes))| Reading::of(id, place.clone(), of, bytes))
                .collect()
        };
        let end = Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        (
            Snapshot { at: Duration::ZERO, readings: at(0.0, 0.0), ..Snapshot::default() },
            Snapshot { at: end, readings: at(self.read, self.write), ..Snapshot::default() },
        )
    }
}

/// Reads the lines of one output after the other.
#[derive(Debug, Clone, Default)]
struct Groups {
    metrics: BTreeMap<String, Vec<f64>>,
    in_metrics: bool,
    /// Whether the output that is read has been counted: its other groups are of other things, or of the same traffic.
    counted: bool,
}

impl Groups {
    /// Takes a line. What the output counted, on the line after which that is known.
    fn line(&mut self, line: &str) -> Option<Likwid> {
        let cells = cells(line);
        if begins_table(line) {
            // The line `STRUCT,Info` begins each output.
            self.counted &= cells.get(1) != Some(&"Info");
            // `STAT` tables repeat the sums of some metrics; threads are added up here.
            self.in_metrics = cells.get(1).is_some_and(|title| title.ends_with(" Metric"));
            self.metrics.clear();
            return None;
        }
        // Lines are padded with commas to the width of the widest.
        let values = cells[1..].iter().filter(|cell| !cell.is_empty()).map(|cell| amount(cell)).collect::<Option<_>>();
        let values = values.filter(|_| self.in_metrics && !self.counted && self.metrics.len() < MOST_METRICS)?;
        self.metrics.insert(cells[0].to_owned(), values);
        let found = whole(&self.metrics)?;
        self.counted = true;
        Some(found)
    }
}

/// The first group of an output that counts memory traffic; `None` if no group does.
pub fn likwid_of(text: &str) -> Option<Likwid> {
    let mut groups = Groups::default();
    text.lines().take(MOST_LINES).filter(|line| line.len() <= MOST_LINE).find_map(|line| groups.line(line))
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
}

impl<R: Read> CounterSource for LikwidFile<R> {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Likwid
    }

    fn sees(&self) -> Vec<CounterSight> {
        vec![CounterSight::Reads, CounterSight::Writes]
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
                    sum.seconds += more.seconds;
                    sum.read += more.read;
                    sum.write += more.write;
                }
            });
        })?;
        Ok(self.sum.snapshots().1)
    }
}

/// Whether a line begins a part of an output: likwid names it in the cells behind.
fn begins_table(line: &str) -> bool {
    let cells = cells(line);
    matches!(cells[0], "TABLE" | "STRUCT") && cells.len() > 1
}

/// What the metrics of a group say, if they are all there.
fn whole(metrics: &BTreeMap<String, Vec<f64>>) -> Option<Likwid> {
    let seconds = metrics.get("Runtime (RDTSC) [s]")?.iter().copied().fold(0.0, f64::max);
    // The counters of a socket stand with its first thread, and the other threads have 0.
    let volume = |name: &str| Some(metrics.get(name)?.iter().sum::<f64>() * GB);
    let read = volume("Memory read data volume [GBytes]")?;
    let write = volume("Memory write data volume [GBytes]")?;
    (seconds > 0.0).then_some(Likwid { seconds, read, write })
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
        assert_eq!(likwid_of(OUTPUT), Some(Likwid { seconds: 2.0, read: 22e9, write: 1e9 }));
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

    proptest! {
        #[test]
        fn any_text(cut in 0..OUTPUT.len(), text in ".{0,60}") {
            let _ = (likwid_of(&text), likwid_of(&format!("{}{text}", &OUTPUT[..cut])));
        }
    }
}
