//! The output of `pcm -csv`, read while the program writes it.

use std::io::{self, Read};

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note};

use crate::csv::{Growing, Pieces, cells, groups};
use crate::family::Of;
use crate::snapshot::Snapshot;
use crate::source::CounterSource;
use crate::sums::{Column, Sums};

/// Bytes of a unit of memory traffic, as PCM counts it.
const GB: f64 = 1e9;
/// Bytes of a unit of link traffic.
const MB: f64 = 1e6;

/// Reads the lines of one file. Names of columns repeat, so that a column is known by its name and the group above it.
/// Cells are bytes of the time since the line before.
#[derive(Debug, Clone, Default)]
pub struct PcmCsv {
    groups: Vec<String>,
    pieces: Pieces,
    sums: Sums,
    rows: usize,
    /// Columns of memory that is not DRAM.
    left_out: Vec<String>,
}

impl PcmCsv {
    /// Takes more of the file. Returns the lines with numbers so far.
    pub fn feed(&mut self, text: &str) -> usize {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.take(text, |line| {
            self.line(line);
        });
        // PCM ends a line only when it begins the next, and each with a separator: with all its cells it is whole.
        pieces.end_if(|line| line.ends_with([',', ';']) && self.sums.is_whole(&cells(line)) && self.line(line));
        self.pieces = pieces;
        self.rows
    }

    /// The counts so far: bytes since the second line, for the first says nothing of its time.
    pub fn snapshot(&self) -> Snapshot {
        self.sums.snapshot()
    }

    /// Takes a line; whether it has numbers.
    fn line(&mut self, line: &str) -> bool {
        let cells = cells(line);
        if cells[0].starts_with("System") {
            self.groups = groups(&cells);
            return false;
        }
        if cells[0] == "Date" {
            let group = |at: usize| self.groups.get(at).map_or("", String::as_str);
            let all = cells.iter().enumerate().filter_map(|(at, name)| column(at, group(at), name));
            let columns = all.partition(|column| column.place.socket.is_none());
            self.left_out = cells.iter().filter(|name| name.starts_with("PMM")).map(ToString::to_string).collect();
            self.left_out.dedup();
            self.sums.head(columns, cells.len());
            return false;
        }
        let Some((now, bytes)) = self.sums.line(&cells, "pcm") else {
            self.sums.skip(&cells);
            return false;
        };
        self.sums.add(now, |_| bytes.clone());
        self.rows += 1;
        true
    }
}

/// What a column counts; `None` for those of other things. What a link sent has protocol beside the payload.
fn column(at: usize, group: &str, name: &str) -> Option<Column> {
    let place = |socket: &str, kind, unit: &str| {
        let socket = socket.trim().parse().ok()?;
        Some(BoxPlace { socket: Some(socket), node: None, kind, unit: unit.to_owned() })
    };
    let called = || format!("{group} {name}");
    if let Some(socket) = group.strip_prefix("Socket") {
        let (unit, of) = match name {
            "READ" => ("Mem", Of::Read),
            "WRITE" => ("Mem", Of::Write),
            "HBM_READ" => ("HBM", Of::Read),
            "HBM_WRITE" => ("HBM", Of::Write),
            _ => return None,
        };
        return Some(Column { at, name: called(), place: place(socket, BoxKind::Memory, unit)?, of, unit: GB });
    }
    if group == "System" && ["READ", "WRITE"].contains(&name) {
        let place = BoxPlace { socket: None, node: None, kind: BoxKind::Memory, unit: group.to_owned() };
        let of = if name == "READ" { Of::Read } else { Of::Write };
        return Some(Column { at, name: called(), place, of, unit: GB });
    }
    let socket = group.strip_prefix("SKT")?.strip_suffix("dataIn")?;
    let is_link = name.starts_with("UPI") || name.starts_with("QPI");
    let place = place(socket, BoxKind::Link, name).filter(|_| is_link)?;
    Some(Column { at, name: called(), place, of: Of::Received, unit: MB })
}

/// A file that `pcm -csv=FILE` writes.
pub struct PcmCsvFile<R> {
    file: Growing<R>,
    csv: PcmCsv,
}

impl<R: Read> PcmCsvFile<R> {
    /// Reads a file from its beginning.
    pub fn new(file: R) -> Self {
        Self { file: Growing::new(file), csv: PcmCsv::default() }
    }
}

impl<R: Read> CounterSource for PcmCsvFile<R> {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Pcm
    }

    fn sees(&self) -> Vec<CounterSight> {
        let all = || vec![CounterSight::Reads, CounterSight::Writes, CounterSight::LinkReceived];
        self.csv.sums.sees().unwrap_or_else(all)
    }

    fn notes(&self) -> Vec<Note> {
        let left_out = &self.csv.left_out;
        let other = (!left_out.is_empty()).then(|| says::other_memory_left_out(left_out));
        let known = [Some(says::counts_come_late("pcm")), other].into_iter().flatten();
        known.chain(self.csv.sums.notes("pcm")).collect()
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let csv = &mut self.csv;
        self.file.each(|text| {
            csv.feed(text);
        })?;
        self.csv.sums.counts()
    }
}
