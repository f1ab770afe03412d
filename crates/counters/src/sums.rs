//! The columns of a table that another program writes, added up line by line.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, Note};

use crate::csv::amount;
use crate::family::Of;
use crate::idle_sockets::IdleSockets;
use crate::snapshot::{Interval, Reading, Snapshot};
use crate::source::Doubt;
use crate::sources::sights;
use crate::zero_counts::IDLE;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Share of a sum that its parts may differ from it: programs take them at different moments.
const DIFFER: f64 = 0.02;
/// Bytes a second that they may differ by rounding: some dozen parts of two decimals of a GB.
const ROUNDED: f64 = 1e8;

/// Whether a unit is memory on the package (MCDRAM, HBM).
pub(crate) fn is_on_package(unit: &str) -> bool {
    unit.starts_with("EDC") || unit.starts_with("HBM")
}

/// A column with traffic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Its place in a line.
    pub(crate) at: usize,
    /// Its name in the header.
    pub(crate) name: String,
    pub(crate) place: BoxPlace,
    pub(crate) of: Of,
    /// Bytes of one unit; of a share of the peak, its share.
    pub(crate) unit: f64,
}

/// Parts of a second in which times are counted.
const PARTS: f64 = 1e6;

impl Column {
    /// Bytes that are rounded to 0: PCM writes two decimals.
    fn least(&self) -> f64 {
        if self.of.is_stated() { 0.0 } else { self.unit / 100.0 }
    }

    /// Its amount in a cell, in bytes, or as a share of the peak: `43%`. A share that is no number is not known, and
    /// does not spoil its line.
    fn amount(&self, cell: &str) -> Option<f64> {
        if self.of.is_stated() {
            let share = amount(cell.trim_end_matches('%').trim_end());
            return Some(share.map_or(f64::NAN, |share| share * self.unit));
        }
        amount(cell).map(|amount| amount * self.unit)
    }

    /// The socket whose memory this column counts, if the column rounds the traffic of an idle socket to 0. In a finer
    /// column a 0 is a fault, and is marked as one.
    fn coarse_socket(&self) -> Option<u32> {
        self.place.socket.filter(|_| self.place.kind != BoxKind::Link && self.least() > IDLE)
    }

    /// Its count.
    fn reading(&self, id: usize, bytes: f64) -> Option<Reading> {
        let own = |count: f64| Reading::of(id, self.place.clone(), self.of, count as u64);
        let counted = if self.of.is_stated() {
            Reading { each: 1.0 / PARTS, ..own(bytes * PARTS) }
        } else {
            Reading { least: self.least(), ..own(bytes) }
        };
        bytes.is_finite().then_some(counted)
    }
}

/// Bytes of each column since the second line, for the first says nothing of its time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    columns: Vec<Column>,
    width: usize,
    last: Option<f64>,
    elapsed: f64,
    bytes: Vec<f64>,
    /// Sums of the machine that the program states itself.
    stated: Vec<Column>,
    /// The first of these that its parts contradict, and what they add up to, in bytes a second.
    differing: Option<(f64, f64)>,
    /// The number of lines without counts, and why the first has none.
    skipped: Option<(u64, Note)>,
    /// The number of lines in a row that are no counts, and why the last is none. `None` after a line of counts.
    unusable: Option<(usize, Note)>,
    /// The number of lines in a row without time since the line before, and whether the last one is older than it.
    timeless: Option<(usize, bool)>,
    /// Sockets that stay at 0.
    idle_sockets: IdleSockets,
    /// Sockets that are left out, for their cells are no numbers: the name of the first such column, and its cell.
    uncounted: BTreeMap<u32, (String, String)>,
}

/// A line: seconds since midnight, the bytes of each column and of each stated sum, and the columns whose cells are no
/// numbers, whose bytes are not known.
struct Line<'a> {
    now: f64,
    bytes: Vec<f64>,
    faults: Vec<(&'a Column, String)>,
}

/// Lines without counts in a row after which the program does not count: a single one may be damaged, or a clock set
/// back.
const MOST_UNUSABLE: usize = 3;

impl Sums {
    /// Takes the columns of a header with so many cells. Others than before begin at 0.
    pub(crate) fn head(&mut self, (stated, columns): (Vec<Column>, Vec<Column>), width: usize) {
        self.stated = stated;
        if columns != self.columns || width != self.width {
            (self.bytes, self.last, self.elapsed) = (vec![0.0; columns.len()], None, 0.0);
            self.idle_sockets = IdleSockets::default();
            self.uncounted = BTreeMap::new();
        }
        (self.columns, self.width) = (columns, width);
    }

    /// Whether a line has as many cells as its header.
    pub(crate) fn is_whole(&self, cells: &[&str]) -> bool {
        cells.len() == self.width
    }

    /// Seconds since midnight, and the bytes of each column and of each stated sum, in a line that `program` wrote.
    /// `None` before a header, and of a line that is no counts; `counts` reports why.
    pub(crate) fn line(&mut self, cells: &[&str], program: &str) -> Option<(f64, Vec<f64>)> {
        // A line of one cell is no row.
        if self.columns.is_empty() || cells.len() < 2 {
            return None;
        }
        let counted = self.counts_of(cells, program).and_then(|line| {
            let without = self.without_uncounted(&line, program)?;
            Ok((line.now, line.bytes, without))
        });
        match counted {
            Ok((now, mut bytes, uncounted)) => {
                for (column, bytes) in self.columns.iter().zip(&mut bytes) {
                    if column.place.socket.is_some_and(|socket| uncounted.contains_key(&socket)) {
                        *bytes = f64::NAN;
                    }
                }
                (self.unusable, self.uncounted) = (None, uncounted);
                Some((now, bytes))
            }
            Err(note) => {
                let lines = self.unusable.as_ref().map_or(0, |(lines, _)| *lines);
                self.skipped.get_or_insert_with(|| (0, note.clone())).0 += 1;
                self.unusable = Some((lines + 1, note));
                None
            }
        }
    }

    /// The sockets without counts from this line on: those whose cells are no numbers in the first lines, or later in so
    /// many in a row that it is no damage of one. Once bytes are counted they stay so, for their sums have a gap.
    fn without_uncounted(&self, line: &Line<'_>, program: &str) -> Result<BTreeMap<u32, (String, String)>, Note> {
        let mut uncounted = self.uncounted.clone();
        if self.elapsed == 0.0 {
            uncounted.retain(|socket, _| line.faults.iter().any(|(column, _)| column.place.socket == Some(*socket)));
        }
        let is_new = |(column, _): &&(&Column, String)| {
            column.place.socket.is_none_or(|socket| !uncounted.contains_key(&socket))
        };
        let new: Vec<&(&Column, String)> = line.faults.iter().filter(is_new).collect();
        let Some((column, cell)) = new.first() else { return Ok(uncounted) };
        let lines = 1 + self.unusable.as_ref().map_or(0, |(lines, _)| *lines);
        for (column, cell) in &new {
            let Some(socket) = column.place.socket else { continue };
            uncounted.entry(socket).or_insert_with(|| (column.name.clone(), cell.clone()));
        }
        let counts = |column: &Column| column.place.socket.is_some_and(|socket| !uncounted.contains_key(&socket));
        let lasts = self.last.is_none() || lines >= MOST_UNUSABLE;
        match lasts && self.columns.iter().any(counts) {
            true => Ok(uncounted),
            false => Err(says::no_number(&column.name, cell, program)),
        }
    }

    fn counts_of(&self, cells: &[&str], program: &str) -> Result<Line<'_>, Note> {
        if !self.is_whole(cells) {
            return Err(says::row_width(cells.len(), self.width, program));
        }
        let now = time_of_day(cells[1]).ok_or_else(|| says::no_time_of_day(cells[1], program))?;
        let mut counted = self.columns.iter().filter_map(|column| cells.get(column.at));
        if counted.all(|cell| cell.is_empty()) {
            return Err(says::cells_empty(program));
        }
        let cell_of = |column: &Column| cells.get(column.at).copied().unwrap_or_default();
        let amounts: Vec<Option<f64>> = self.columns.iter().map(|column| column.amount(cell_of(column))).collect();
        let faults = self.columns.iter().zip(&amounts).filter(|(_, amount)| amount.is_none());
        let faults = faults.map(|(column, _)| (column, cell_of(column).to_owned())).collect();
        let stated = self.stated.iter().map(|sum| sum.amount(cell_of(sum)));
        let bytes = amounts.iter().copied().chain(stated).map(|amount| amount.unwrap_or(f64::NAN)).collect();
        Ok(Line { now, bytes, faults })
    }

    /// The counts so far.
    ///
    /// # Errors
    /// Why lines are no counts, if no line counted, or the last ones did not.
    pub(crate) fn counts(&self) -> io::Result<Snapshot> {
        match &self.unusable {
            Some((lines, note)) if self.last.is_none() || *lines >= MOST_UNUSABLE => {
                Err(io::Error::other(note.text.clone()))
            }
            _ => match self.timeless {
                Some((lines, is_older)) if lines >= MOST_UNUSABLE => {
                    Err(io::Error::other(says::time_of_lines(is_older).text))
                }
                _ => Ok(self.snapshot()),
            },
        }
    }

    /// Passes over the time of a line that is no counts: the next one's bytes are of the time behind it. Where its time
    /// is not known either, the next line says nothing of its time.
    pub(crate) fn skip(&mut self, cells: &[&str]) {
        if self.last.is_some() && cells.len() > 1 {
            self.last = cells.get(1).and_then(|cell| time_of_day(cell));
        }
    }

    /// Compares the sum that a line states with its parts. Memory on the package has columns and sums of its own; some
    /// versions add it to the sum of all.
    fn compare(&mut self, bytes: &[f64], passed: f64) {
        let (parts, stated) = bytes.split_at(self.columns.len().min(bytes.len()));
        let stated: f64 = stated.iter().sum();
        let of_memory = self.columns.iter().zip(parts).filter(|(column, _)| column.place.kind != BoxKind::Link);
        let (on_package, in_modules): (Vec<_>, Vec<_>) =
            of_memory.partition(|(column, _)| is_on_package(&column.place.unit));
        let sum = |parts: &[(&Column, &f64)]| parts.iter().map(|(_, bytes)| **bytes).sum::<f64>();
        let (modules, all) = (sum(&in_modules), sum(&in_modules) + sum(&on_package));
        let differs = |parts: f64| (parts - stated).abs() > DIFFER * parts.max(stated) + ROUNDED * passed.max(1.0);
        if !self.stated.is_empty() && differs(modules) && differs(all) {
            let nearer = if (all - stated).abs() < (modules - stated).abs() { all } else { modules };
            self.differing.get_or_insert((stated / passed, nearer / passed));
        }
    }

    /// The bytes of memory of each socket in a line.
    fn of_coarse_sockets(&self, bytes: &[f64]) -> BTreeMap<u32, f64> {
        let mut sockets = BTreeMap::new();
        let known = self.columns.iter().zip(bytes).filter(|(_, bytes)| bytes.is_finite());
        for (socket, bytes) in known.filter_map(|(c, bytes)| Some((c.coarse_socket()?, bytes))) {
            *sockets.entry(socket).or_default() += bytes;
        }
        sockets
    }

    /// What a user should know of a file that `program` writes.
    pub(crate) fn doubts(&self, program: &str) -> impl Iterator<Item = (Doubt, Note)> {
        let skipped = self.skipped.as_ref().map(|(lines, first)| says::lines_skipped(*lines, program, &first.text));
        let differing = self.differing.map(|(stated, parts)| says::sums_differ(program, stated.into(), parts.into()));
        let left_out = |(socket, (column, cell)): (&u32, &(String, String))| {
            says::socket_left_out(*socket, &says::no_number(column, cell, program).text)
        };
        let left_out: Vec<Note> = self.uncounted.iter().map(left_out).collect();
        let counts = differing.into_iter().chain(left_out).chain(self.idle_sockets.notes(program));
        let counts = counts.map(|note| (Doubt::Counts, note));
        let pending = self.pending(program).map(|note| (Doubt::Pending, note));
        pending.into_iter().chain(counts).chain(skipped.map(|note| (Doubt::Whole, note)))
    }

    /// The note on a file that has not counted yet.
    fn pending(&self, program: &str) -> Option<Note> {
        match (self.columns.is_empty(), self.elapsed > 0.0) {
            (true, _) => Some(says::file_is_empty(program)),
            (false, false) => Some(says::no_counts_yet(program)),
            (false, true) => None,
        }
    }

    /// Adds a line: its time of the day in seconds, and its bytes, or bytes a second since the line before.
    pub(crate) fn add(&mut self, now: f64, amounts: Vec<f64>, are_rates: bool) {
        if let Some(last) = self.last.replace(now) {
            // Over midnight; a clock that was set back gives no time, and so no bytes.
            let passed = if last - now > DAY / 2.0 { now + DAY - last } else { now - last };
            let lines = self.timeless.map_or(0, |(lines, _)| lines);
            self.timeless = (passed <= 0.0).then_some((lines + 1, passed < 0.0));
            if passed < 0.0 {
                return;
            }
            // A second line of one moment has amounts of its own, and no rate.
            self.elapsed += passed;
            let is_over_time =
                |at: usize| are_rates || self.columns.get(at).is_some_and(|column| column.of.is_stated());
            let of_a_unit = |at: usize| if is_over_time(at) { passed } else { 1.0 };
            let bytes: Vec<f64> = amounts.into_iter().enumerate().map(|(at, own)| own * of_a_unit(at)).collect();
            if passed > 0.0 {
                self.compare(&bytes, passed);
                self.idle_sockets.take(now, &self.of_coarse_sockets(&bytes));
            }
            self.bytes.iter_mut().zip(bytes).for_each(|(sum, more)| *sum += more);
        }
    }

    /// What the columns of the header count; `None` before a header.
    pub(crate) fn sees(&self) -> Option<Vec<CounterSight>> {
        let counts = || self.columns.iter().map(|column| (&column.place, column.of));
        (!self.columns.is_empty()).then(|| sights(counts()))
    }

    /// The interval that ended with the last line.
    pub(crate) fn interval(&self) -> Option<Interval> {
        Some(Interval { of_day: Some(self.last?), counts: self.snapshot() })
    }

    /// The counts so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let counts = self.columns.iter().zip(&self.bytes).enumerate();
        let readings = counts.filter_map(|(id, (column, bytes))| column.reading(id, *bytes));
        Snapshot {
            at: Duration::try_from_secs_f64(self.elapsed).unwrap_or_default(),
            readings: readings.collect(),
            ..Snapshot::default()
        }
    }
}

/// `03:04:05.123` as seconds since midnight; the decimal sign may be a comma.
pub(crate) fn time_of_day(text: &str) -> Option<f64> {
    let text = text.replacen(',', ".", 1);
    let mut parts = text.split(':');
    let mut next = |most: f64| parts.next()?.parse().ok().filter(|part: &f64| (0.0..most).contains(part));
    let (hours, minutes, seconds) = (next(24.0)?, next(60.0)?, next(61.0)?);
    parts.next().is_none().then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}
