//! The output of `pcm-memory -csv`, read while the program writes it.

use std::io::{self, Read};

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note};

use crate::csv::{Growing, Pieces, cells, groups};
use crate::family::Of;
use crate::snapshot::Snapshot;
use crate::source::CounterSource;
use crate::sums::{Column, Sums};

/// Bytes of a megabyte, as PCM counts them.
const MB: f64 = 1e6;
/// Bytes of a gigabyte.
const GB: f64 = 1e9;

/// One line: the rate of each column, over the time since the line before.
#[derive(Debug, Clone, PartialEq)]
pub struct PcmRow {
    /// Seconds since midnight.
    pub seconds: f64,
    /// Bytes a second of each column with traffic.
    pub rates: Vec<f64>,
}

/// Reads the lines of one file.
#[derive(Debug, Clone, Default)]
pub struct PcmMemory {
    groups: Vec<String>,
    pieces: Pieces,
    sums: Sums,
    /// Columns of memory that is not DRAM.
    left_out: Vec<String>,
}

impl PcmMemory {
    /// Takes more of the file. The last line may be half: it counts once it is whole.
    pub fn feed(&mut self, text: &str) -> Vec<PcmRow> {
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut rows = Vec::new();
        pieces.take(text, |line| rows.extend(self.line(line)));
        self.pieces = pieces;
        rows
    }

    /// The counts so far: bytes since the second line, for the first says nothing of its time.
    pub fn snapshot(&self) -> Snapshot {
        self.sums.snapshot()
    }

    fn line(&mut self, line: &str) -> Option<PcmRow> {
        let cells = cells(line);
        if is_groups(&cells) {
            self.groups = groups(&cells);
            return None;
        }
        if cells.first() == Some(&"Date") {
            self.header(&cells);
            return None;
        }
        let (seconds, rates) = self.sums.line(&cells, "pcm-memory")?;
        self.sums.add(seconds, |passed| rates.iter().map(|rate| rate * passed).collect());
        Some(PcmRow { seconds, rates: self.sums.parts(rates) })
    }

    /// Takes the names of the columns, which count with the group above them.
    fn header(&mut self, names: &[&str]) {
        let group = |at: usize| self.groups.get(at).map_or("", String::as_str);
        let all = names.iter().enumerate().filter_map(|(at, name)| Some((at, column(group(at), name)?)));
        // Columns of channels name no unit: theirs is that of the sums beside them.
        let unit = if names.iter().any(|name| name.ends_with("(GB/s)")) { GB } else { MB };
        let column = |(at, (place, of)): (usize, _)| Column {
            at,
            name: format!("{} {}", group(at), names[at]),
            place,
            of,
            unit,
        };
        let mut columns: Vec<Column> = all.map(column).collect();
        let stated: Vec<Column> = columns.extract_if(.., |column| column.place.socket.is_none()).collect();
        // Sums of sockets count only in files without channels (-nc).
        if columns.iter().any(|column| column.place.kind == BoxKind::Channel) {
            columns.retain(|column| column.place.kind == BoxKind::Channel);
        }
        let other = |name: &&&str| ["PMM", "CXL"].iter().any(|kind| name.contains(kind));
        self.left_out = names.iter().filter(other).map(ToString::to_string).collect();
        self.left_out.dedup();
        self.sums.head((stated, columns), names.len());
    }
}

/// Whether a line names the groups of the columns.
fn is_groups(cells: &[&str]) -> bool {
    let is_group = |cell: &str| cell.starts_with("SKT") || cell.starts_with("NODE") || cell == "System";
    cells.len() > 2 && cells[0].is_empty() && cells[1].is_empty() && cells[2..].iter().any(|cell| is_group(cell))
}

/// What a column counts; `None` for those of other things.
fn column(group: &str, name: &str) -> Option<(BoxPlace, Of)> {
    if group == "System" && ["Read", "Write"].contains(&name) {
        let place = BoxPlace { socket: None, node: None, kind: BoxKind::Memory, unit: group.to_owned() };
        return Some((place, if name == "Read" { Of::Read } else { Of::Write }));
    }
    let socket = group.strip_prefix("SKT").or_else(|| group.strip_prefix("NODE"))?.trim().parse().ok()?;
    let place = |kind, unit: &str| BoxPlace { socket: Some(socket), node: None, kind, unit: unit.to_owned() };
    match name {
        "Mem Read (MB/s)" | "Mem Read (GB/s)" => return Some((place(BoxKind::Memory, "Mem"), Of::Read)),
        "Mem Write (MB/s)" | "Mem Write (GB/s)" => return Some((place(BoxKind::Memory, "Mem"), Of::Write)),
        _ => {}
    }
    let (unit, of) = match (name.strip_suffix("Read"), name.strip_suffix("Write")) {
        (Some(unit), _) => (unit, Of::Read),
        (_, Some(unit)) => (unit, Of::Write),
        _ => return None,
    };
    let number = unit.strip_prefix("EDC_").unwrap_or(unit).strip_prefix("Ch")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (place(BoxKind::Channel, unit), of))
}

/// A file that `pcm-memory -csv=FILE` writes.
pub struct PcmFile<R> {
    file: Growing<R>,
    memory: PcmMemory,
}

impl<R: Read> PcmFile<R> {
    /// Reads a file from its beginning.
    pub fn new(file: R) -> Self {
        Self { file: Growing::new(file), memory: PcmMemory::default() }
    }
}

impl<R: Read> CounterSource for PcmFile<R> {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::PcmMemory
    }

    fn sees(&self) -> Vec<CounterSight> {
        let all = || vec![CounterSight::Reads, CounterSight::Writes, CounterSight::Channels];
        self.memory.sums.sees().unwrap_or_else(all)
    }

    fn notes(&self) -> Vec<Note> {
        let left_out = &self.memory.left_out;
        let other = (!left_out.is_empty()).then(|| says::other_memory_left_out(left_out));
        let known = [Some(says::counts_come_late("pcm-memory")), other].into_iter().flatten();
        known.chain(self.memory.sums.notes("pcm-memory")).collect()
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let memory = &mut self.memory;
        self.file.each(|text| {
            memory.feed(text);
        })?;
        self.memory.sums.counts()
    }
}
