//! The output of `pcm-memory -csv`, read while the program writes it.

use std::io::{self, Read};
use std::time::Duration;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note};

use crate::csv::{Lines, Pieces, amount, cells};
use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::source::CounterSource;

/// Bytes of a megabyte, as PCM counts them.
const MB: f64 = 1e6;

/// A column with traffic.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    at: usize,
    place: BoxPlace,
    of: Of,
}

/// One line: MB/s of each column, over the time since the line before.
#[derive(Debug, Clone, PartialEq)]
pub struct PcmRow {
    /// Seconds since midnight; `None` if the line's time makes no sense.
    pub seconds: Option<f64>,
    /// Bytes a second of each column with traffic.
    pub rates: Vec<f64>,
}

/// Reads the lines of one file.
#[derive(Debug, Clone, Default)]
pub struct PcmMemory {
    groups: Vec<String>,
    columns: Vec<Column>,
    width: usize,
    pieces: Pieces,
    last: Option<f64>,
    elapsed: f64,
    bytes: Vec<f64>,
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
        let reading = |(id, (column, bytes)): (usize, (&Column, &f64))| Reading {
            id,
            place: column.place.clone(),
            of: column.of,
            count: *bytes as u64,
            each: 1.0,
            bits: u64::BITS,
            enabled_ns: 0,
            running_ns: 0,
        };
        let readings = self.columns.iter().zip(&self.bytes).enumerate().map(reading).collect();
        Snapshot { at: Duration::try_from_secs_f64(self.elapsed).unwrap_or_default(), readings }
    }

    fn line(&mut self, line: &str) -> Option<PcmRow> {
        let cells = cells(line);
        if is_groups(&cells) {
            self.groups = cells.iter().map(ToString::to_string).collect();
            return None;
        }
        if cells.first() == Some(&"Date") {
            self.header(&cells);
            return None;
        }
        // A line of another width is half, or of a header that no longer holds.
        if self.columns.is_empty() || cells.len() != self.width {
            return None;
        }
        let rates: Vec<f64> =
            self.columns.iter().map(|column| Some(amount(cells[column.at])? * MB)).collect::<Option<_>>()?;
        let row = PcmRow { seconds: seconds(cells[1]), rates };
        self.add(&row);
        Some(row)
    }

    /// Takes the names of the columns, which count with the group above them.
    fn header(&mut self, names: &[&str]) {
        let group = |at: usize| self.groups.get(at).map_or("", String::as_str);
        let all = names.iter().enumerate().filter_map(|(at, name)| Some((at, column(group(at), name)?)));
        let mut columns: Vec<Column> = all.map(|(at, (place, of))| Column { at, place, of }).collect();
        // Sums of sockets count only in files without channels (-nc).
        if columns.iter().any(|column| column.place.kind == BoxKind::Channel) {
            columns.retain(|column| column.place.kind == BoxKind::Channel);
        }
        if columns != self.columns || names.len() != self.width {
            (self.bytes, self.last, self.elapsed) = (vec![0.0; columns.len()], None, 0.0);
        }
        (self.columns, self.width) = (columns, names.len());
    }

    fn add(&mut self, row: &PcmRow) {
        let Some(now) = row.seconds else { return };
        if let Some(last) = self.last.replace(now) {
            // Over midnight.
            let passed = if now < last { now + DAY - last } else { now - last };
            self.elapsed += passed;
            self.bytes.iter_mut().zip(&row.rates).for_each(|(bytes, rate)| *bytes += rate * passed);
        }
    }
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Whether a line names the groups of the columns.
fn is_groups(cells: &[&str]) -> bool {
    let is_group = |cell: &str| cell.starts_with("SKT") || cell.starts_with("NODE") || cell == "System";
    cells.len() > 2 && cells[0].is_empty() && cells[1].is_empty() && cells[2..].iter().any(|cell| is_group(cell))
}

/// `03:04:05.123` as seconds since midnight.
fn seconds(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let mut next = |most: f64| parts.next()?.parse().ok().filter(|part: &f64| (0.0..most).contains(part));
    let (hours, minutes, seconds) = (next(24.0)?, next(60.0)?, next(61.0)?);
    parts.next().is_none().then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}

/// What a column counts; `None` for those of other things.
fn column(group: &str, name: &str) -> Option<(BoxPlace, Of)> {
    let socket = group.strip_prefix("SKT").or_else(|| group.strip_prefix("NODE"))?.trim().parse().ok()?;
    let place = |kind, unit: &str| BoxPlace { socket: Some(socket), node: None, kind, unit: unit.to_owned() };
    match name {
        "Mem Read (MB/s)" => return Some((place(BoxKind::Memory, "Mem"), Of::Read)),
        "Mem Write (MB/s)" => return Some((place(BoxKind::Memory, "Mem"), Of::Write)),
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
    lines: Lines<R>,
    memory: PcmMemory,
}

impl<R: Read> PcmFile<R> {
    /// Reads a file from its beginning.
    pub fn new(file: R) -> Self {
        Self { lines: Lines::new(file), memory: PcmMemory::default() }
    }
}

impl<R: Read> CounterSource for PcmFile<R> {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::PcmMemory
    }

    fn sees(&self) -> Vec<CounterSight> {
        vec![CounterSight::Reads, CounterSight::Writes, CounterSight::Channels]
    }

    fn notes(&self) -> Vec<Note> {
        vec![says::counts_come_late("pcm-memory")]
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let Self { lines, memory } = self;
        lines.read(|line| {
            memory.line(line);
        })?;
        Ok(self.memory.snapshot())
    }
}
