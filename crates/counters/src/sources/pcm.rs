//! The tables that `pcm-memory -csv` and `pcm -csv` write, read while the programs write them.

use std::io::{self, Read};

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note};

use crate::csv::{Growing, Pieces, cells, groups};
use crate::family::Of;
use crate::monitored::{counting, file};
use crate::snapshot::{Interval, Snapshot};
use crate::source::{CounterSource, Doubt, FileForm, Reads, SourceKind};
use crate::sums::{Column, Sums};

/// Bytes of a megabyte, as PCM counts them.
const MB: f64 = 1e6;
/// Bytes of a gigabyte.
const GB: f64 = 1e9;
/// A percent of the time, as a share.
const PERCENT: f64 = 0.01;

/// The table that a program writes.
#[derive(Debug, PartialEq)]
pub struct PcmLayout {
    id: CounterSourceId,
    columns: &'static [Pattern],
    /// Whether cells are amounts a second; else they are amounts since the line before.
    has_rates: bool,
    /// What is counted where the header is not known yet.
    sees: &'static [CounterSight],
}

/// `pcm-memory -csv`.
pub(super) static MEMORY_KIND: SourceKind = SourceKind {
    id: CounterSourceId::PcmMemory,
    reads: Reads::File(FileForm {
        program: "pcm-memory",
        file: "is the file that the running `pcm-memory -csv=FILE` writes",
        sees: PCM_MEMORY.sees,
        grows: true,
        has: |text| PCM_MEMORY.has(text),
        open: |path, _| counting(path, PcmFile::new(file(path)?, &PCM_MEMORY)),
    }),
};

/// `pcm -csv`.
pub(super) static KIND: SourceKind = SourceKind {
    id: CounterSourceId::Pcm,
    reads: Reads::File(FileForm {
        program: "pcm",
        file: "is the file that the running `pcm -csv=FILE` writes",
        sees: PCM.sees,
        grows: true,
        has: |text| PCM.has(text),
        open: |path, _| counting(path, PcmFile::new(file(path)?, &PCM)),
    }),
};

/// Columns with traffic. In names, `#` stands for a number and `*` for any text.
#[derive(Debug, PartialEq)]
struct Pattern {
    /// The groups above the columns; their number is that of the socket.
    groups: &'static [&'static str],
    name: &'static str,
    kind: BoxKind,
    /// The name of the box: the part of the column's name that the mark in `name` stands for replaces the mark in it.
    unit: &'static str,
    of: Of,
    /// Bytes of one unit; of a share of the peak, its share.
    bytes: f64,
}

const fn columns(
    groups: &'static [&'static str],
    name: &'static str,
    (kind, unit, of, bytes): (BoxKind, &'static str, Of, f64),
) -> Pattern {
    Pattern { groups, name, kind, unit, of, bytes }
}

const SOCKET: &[&str] = &["SKT#", "NODE#"];
const MACHINE: &[&str] = &["System"];

/// `pcm-memory -csv`.
pub static PCM_MEMORY: PcmLayout = PcmLayout {
    id: CounterSourceId::PcmMemory,
    has_rates: true,
    sees: &[CounterSight::Reads, CounterSight::Writes, CounterSight::Channels],
    columns: &[
        columns(SOCKET, "Ch#Read", (BoxKind::Channel, "Ch#", Of::Read, MB)),
        columns(SOCKET, "Ch#Write", (BoxKind::Channel, "Ch#", Of::Write, MB)),
        columns(SOCKET, "EDC_Ch#Read", (BoxKind::Channel, "EDC_Ch#", Of::Read, MB)),
        columns(SOCKET, "EDC_Ch#Write", (BoxKind::Channel, "EDC_Ch#", Of::Write, MB)),
        columns(SOCKET, "Mem Read (MB/s)", (BoxKind::Memory, "Mem", Of::Read, MB)),
        columns(SOCKET, "Mem Write (MB/s)", (BoxKind::Memory, "Mem", Of::Write, MB)),
        columns(SOCKET, "Mem Read (GB/s)", (BoxKind::Memory, "Mem", Of::Read, GB)),
        columns(SOCKET, "Mem Write (GB/s)", (BoxKind::Memory, "Mem", Of::Write, GB)),
        columns(MACHINE, "Read", (BoxKind::Memory, "System", Of::Read, MB)),
        columns(MACHINE, "Write", (BoxKind::Memory, "System", Of::Write, MB)),
    ],
};

/// `pcm -csv`. What a link sent has protocol beside the payload, so that it is no payload sent.
pub static PCM: PcmLayout = PcmLayout {
    id: CounterSourceId::Pcm,
    has_rates: false,
    sees: &[CounterSight::Reads, CounterSight::Writes, CounterSight::LinkReceived],
    columns: &[
        columns(&["Socket#"], "READ", (BoxKind::Memory, "Mem", Of::Read, GB)),
        columns(&["Socket#"], "WRITE", (BoxKind::Memory, "Mem", Of::Write, GB)),
        columns(&["Socket#"], "HBM_READ", (BoxKind::Memory, "HBM", Of::Read, GB)),
        columns(&["Socket#"], "HBM_WRITE", (BoxKind::Memory, "HBM", Of::Write, GB)),
        columns(MACHINE, "READ", (BoxKind::Memory, "System", Of::Read, GB)),
        columns(MACHINE, "WRITE", (BoxKind::Memory, "System", Of::Write, GB)),
        columns(&["SKT#dataIn"], "UPI*", (BoxKind::Link, "UPI*", Of::Received, MB)),
        columns(&["SKT#dataIn"], "QPI*", (BoxKind::Link, "QPI*", Of::Received, MB)),
        columns(&["SKT#dataIn (percent)"], "UPI*", (BoxKind::Link, "UPI*", Of::ReceivedSeconds, PERCENT)),
        columns(&["SKT#dataIn (percent)"], "QPI*", (BoxKind::Link, "QPI*", Of::ReceivedSeconds, PERCENT)),
        columns(&["SKT#trafficOut"], "UPI*", (BoxKind::Link, "UPI*", Of::SentAll, MB)),
        columns(&["SKT#trafficOut"], "QPI*", (BoxKind::Link, "QPI*", Of::SentAll, MB)),
        columns(&["SKT#trafficOut (percent)"], "UPI*", (BoxKind::Link, "UPI*", Of::SentAllSeconds, PERCENT)),
        columns(&["SKT#trafficOut (percent)"], "QPI*", (BoxKind::Link, "QPI*", Of::SentAllSeconds, PERCENT)),
    ],
};

impl PcmLayout {
    /// Whether a text has counts in this layout.
    fn has(&'static self, text: &str) -> bool {
        let mut table = PcmTable::new(self);
        table.feed(text);
        !table.snapshot().readings.is_empty()
    }

    /// What a column counts; `None` for those of other things.
    fn column(&self, at: usize, group: &str, name: &str) -> Option<Column> {
        self.columns.iter().find_map(|pattern| {
            let mark = filled(pattern.name, name)?;
            let socket = pattern.groups.iter().find_map(|groups| filled(groups, group))?;
            let unit = pattern.unit.replace(['#', '*'], mark);
            let place = BoxPlace { socket: socket.parse().ok(), node: None, kind: pattern.kind, unit };
            Some(Column { at, name: format!("{group} {name}"), place, of: pattern.of, unit: pattern.bytes })
        })
    }

    /// Whether a cell names the group of a column.
    fn is_group(&self, cell: &str) -> bool {
        self.columns.iter().flat_map(|pattern| pattern.groups).any(|group| filled(group, cell).is_some())
    }
}

/// The text in the place of a pattern's mark, empty if it has no mark; `None` if the pattern does not fit.
fn filled<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.split_once(['#', '*']) else { return (pattern == text).then_some("") };
    let mark = text.strip_prefix(before)?.strip_suffix(after)?.trim();
    let is_number = !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_digit());
    (is_number || pattern.contains('*')).then_some(mark)
}

/// Reads the lines of one table. Names of columns repeat, so that a column is known by its name and the group above it.
#[derive(Debug, Clone)]
pub struct PcmTable {
    layout: &'static PcmLayout,
    groups: Vec<String>,
    pieces: Pieces,
    sums: Sums,
    /// Columns of memory that is not DRAM.
    left_out: Vec<String>,
}

impl PcmTable {
    /// A table of which nothing was read.
    pub fn new(layout: &'static PcmLayout) -> Self {
        let (groups, left_out) = (Vec::new(), Vec::new());
        Self { layout, groups, pieces: Pieces::default(), sums: Sums::default(), left_out }
    }

    /// Takes more of the file. Returns the number of lines that count. The last line counts once it is whole.
    pub fn feed(&mut self, text: &str) -> usize {
        let mut lines = 0;
        self.feed_each(text, |_| lines += 1);
        lines
    }

    /// The same, with a look at the counts after each line that counts.
    fn feed_each(&mut self, text: &str, mut each: impl FnMut(&Sums)) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.take(text, |line| {
            if self.line(line) {
                each(&self.sums);
            }
        });
        // `pcm` ends a line only when it begins the next, and each with a separator: with all its cells it is whole.
        let is_cut = |line: &str| self.layout.has_rates || !line.ends_with([',', ';']);
        pieces.end_if(|line| {
            let is_whole = !is_cut(line) && self.sums.is_whole(&cells(line)) && self.line(line);
            if is_whole {
                each(&self.sums);
            }
            is_whole
        });
        self.pieces = pieces;
    }

    /// The counts so far: bytes since the second line, for the first says nothing of its time.
    pub fn snapshot(&self) -> Snapshot {
        self.sums.snapshot()
    }

    /// Takes a line; whether it counts.
    fn line(&mut self, line: &str) -> bool {
        let cells = cells(line);
        if cells[0] == "Date" {
            self.header(&cells);
        } else if cells.iter().any(|cell| self.layout.is_group(cell)) {
            self.groups = groups(&cells);
        } else if let Some((now, amounts)) = self.sums.line(&cells, self.layout.id.name()) {
            self.sums.add(now, amounts, self.layout.has_rates);
            return true;
        } else if !self.layout.has_rates {
            self.sums.skip(&cells);
        }
        false
    }

    /// Takes the names of the columns, which count with the group above them.
    fn header(&mut self, names: &[&str]) {
        let group = |at: usize| self.groups.get(at).map_or("", String::as_str);
        let all = names.iter().enumerate();
        let mut columns: Vec<Column> = all.filter_map(|(at, name)| self.layout.column(at, group(at), name)).collect();
        // Columns of channels name no unit: theirs is that of the sums beside them.
        if names.iter().any(|name| name.ends_with("(GB/s)")) {
            columns.iter_mut().for_each(|column| column.unit = GB);
        }
        let stated: Vec<Column> = columns.extract_if(.., |column| column.place.socket.is_none()).collect();
        // Sums of sockets count only in files without channels (-nc).
        if columns.iter().any(|column| column.place.kind == BoxKind::Channel) {
            columns.retain(|column| column.place.kind == BoxKind::Channel);
        }
        let is_other = |name: &&&str| ["PMM", "CXL"].iter().any(|kind| name.contains(kind));
        self.left_out = names.iter().filter(is_other).map(ToString::to_string).collect();
        self.left_out.dedup();
        self.sums.head((stated, columns), names.len());
    }
}

/// A file with a table.
pub struct PcmFile<R> {
    file: Growing<R>,
    table: PcmTable,
}

impl<R: Read> PcmFile<R> {
    /// Reads a file from its beginning.
    pub fn new(file: R, layout: &'static PcmLayout) -> Self {
        Self { file: Growing::new(file), table: PcmTable::new(layout) }
    }
}

impl<R: Read> CounterSource for PcmFile<R> {
    fn id(&self) -> CounterSourceId {
        self.table.layout.id
    }

    fn sees(&self) -> Vec<CounterSight> {
        self.table.sums.sees().unwrap_or_else(|| self.table.layout.sees.to_vec())
    }

    fn doubts(&self) -> Vec<(Doubt, Note)> {
        let (left_out, program) = (&self.table.left_out, self.id().name());
        let other = (!left_out.is_empty()).then(|| says::other_memory_left_out(left_out));
        let source = [Some(says::counts_come_late(program)), other].into_iter().flatten();
        source.map(|note| (Doubt::Source, note)).chain(self.table.sums.doubts(program)).collect()
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let table = &mut self.table;
        self.file.each(|text| {
            table.feed(text);
        })?;
        self.table.sums.counts()
    }

    fn intervals(&mut self) -> io::Result<Vec<Interval>> {
        let (table, mut all) = (&mut self.table, Vec::new());
        self.file.each(|text| table.feed_each(text, |sums| all.extend(sums.interval())))?;
        self.table.sums.counts().map(|_| all)
    }
}
