//! The windows of a step, kept compactly, so that every estimate can be made again from a saved run; and what its
//! blocks came to.

mod blocks;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

pub use blocks::{BlockTimes, BlockValues, Blocks};

/// Step of the logarithms in which values are kept: 0.002 % of a value.
const STEP: f64 = 2e-5;
/// Code of a value that is missing, and the largest code of a value.
const MISSING: u32 = (1 << 24) - 1;
/// Codes begin at e^ORIGIN: the range ends at e^315, so that every positive double above 1e-9 has a code.
const ORIGIN: f64 = -20.0;
/// Encoding of ln(thread's value / window's value): the step, the code of ratio 1, and the code of a missing value.
/// Ratios from 1/26 to 26 have a code of their own.
const THREAD_STEP: f64 = 1e-4;
const THREAD_ORIGIN: f64 = 32_768.0;
const THREAD_MISSING: u16 = u16::MAX;
/// Encoding of ln(clock / 1 GHz): the step, and the code of 1 GHz. The code is doubled, and its lowest bit says that
/// the clock moved during the window. Clocks from 40 MHz to 26 GHz have a code of their own.
const CLOCK_STEP: f64 = 2e-4;
const CLOCK_ORIGIN: f64 = 16_384.0;
const CLOCK_MISSING: u16 = u16::MAX;
/// Unit of times in the encoding, seconds.
const TICK: f64 = 1e-4;
/// Threads whose own values are kept; of more, only the sum.
pub const THREADS_KEPT: usize = 8;

/// One short stay at a step: a shot on one of its allocations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Visit {
    /// When it was, seconds from the start of the run.
    pub at: f64,
    /// Number of the allocation, from 0.
    pub allocation: u32,
    /// Round trips between pairs of the threads' cpus before the shot, ns; empty where none were made.
    pub before: Vec<f64>,
    /// The same after the shot.
    pub after: Vec<f64>,
    /// Its windows, in order.
    pub windows: Vec<Window>,
    /// The blocks of each counted thread (of more than [`THREADS_KEPT`], of all together); empty where none were seen.
    pub blocks: Vec<Blocks>,
}

/// A window of a visit: a piece of the shot common to all threads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// Whether every thread ran through it without a gap.
    pub clean: bool,
    /// The value, then each named part of the setup, then each thread (of two to [`THREADS_KEPT`]); `None` where it has
    /// none.
    pub values: Vec<Option<f64>>,
    /// The core clock of each counted thread (of more than [`THREADS_KEPT`], one for all); `None` where it is not
    /// known.
    pub clocks: Vec<Option<CoreClock>>,
}

/// The clock of a core during a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreClock {
    /// Cycles per second.
    pub hz: f64,
    /// Whether it was the same before and after the window.
    pub is_steady: bool,
}

impl Window {
    /// The value of the step in this window.
    pub fn value(&self) -> Option<f64> {
        self.values.first().copied().flatten()
    }
}

/// All visits to a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Encoded", into = "Encoded")]
#[cfg_attr(feature = "schema", schemars(with = "Encoded"))]
pub struct Visits {
    /// Named parts that each window has values of.
    pub parts: u8,
    /// Threads that each window has values of; 0 where only their sum is kept.
    pub threads: u8,
    /// Clocks that each window has.
    pub clocks: u8,
    /// The visits, in time order.
    pub list: Vec<Visit>,
}

/// Visits as a document holds them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Encoded {
    /// How many visits.
    pub count: u64,
    /// Named parts that each window has values of, after the value itself.
    pub parts: u8,
    /// Threads that each window has values of, after the parts.
    pub threads: u8,
    /// Core clocks that each window has, after the threads.
    pub clocks: u8,
    /// Base64 of the visits, one after the other, little endian. A visit: time in 0.1 ms (4 bytes), allocation (2),
    /// pings before (1, their number) and after (1), windows (2), the pings, one bit a window that is 1 where it is
    /// clean (whole bytes), the windows' values. A ping, value or part v is 3 bytes: round((ln v + 20) / 0.00002),
    /// 0xffffff where it is missing. A thread's t is 2 bytes: round(ln(t / v) / 0.0001) + 32768 by the window's value
    /// v, 0xffff where it is missing. A clock h in Hz is 2 bytes: 2 * (round(ln(h / 1e9) / 0.0002) + 16384), plus 1 if
    /// it moved during the window; 0xffff where it is missing.
    pub base64: String,
    /// Base64 of the blocks of each visit: how many threads (1 byte), then for each thread: how many blocks; how many
    /// were left out; the share of its time that these took, in 0.0001; the share of the time of the blocks that count
    /// that was subtracted, in 0.0001; the mean of the blocks that count, as a value v; unless that is missing, their
    /// median, 10th and 90th percentile, as threads' values by v. Numbers and shares are 7 bits a byte, the lowest
    /// first; the highest bit of a byte says that another one follows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub blocks: String,
}

/// A value as it comes back from a document: within 0.001 % of itself.
pub fn kept(value: f64) -> Option<f64> {
    decode(encode(Some(value)))
}

fn encode(value: Option<f64>) -> u32 {
    match value {
        Some(value) if value.is_finite() && value > 0.0 => {
            (((value.ln() - ORIGIN) / STEP).round().clamp(0.0, f64::from(MISSING - 1))) as u32
        }
        _ => MISSING,
    }
}

fn decode(code: u32) -> Option<f64> {
    (code != MISSING).then(|| (f64::from(code) * STEP + ORIGIN).exp())
}

fn encode_thread(thread: Option<f64>, value: Option<f64>) -> u16 {
    let code = |(thread, value): (f64, f64)| {
        let code = ((thread / value).ln() / THREAD_STEP + THREAD_ORIGIN).round();
        // One that hardly ran stays the slowest: without it, its thread would look less disturbed.
        code.is_finite().then(|| code.clamp(0.0, f64::from(THREAD_MISSING - 1)) as u16)
    };
    thread.zip(value).and_then(code).unwrap_or(THREAD_MISSING)
}

fn decode_thread(code: u16, value: Option<f64>) -> Option<f64> {
    value
        .filter(|_| code != THREAD_MISSING)
        .map(|value| value * ((f64::from(code) - THREAD_ORIGIN) * THREAD_STEP).exp())
}

fn encode_clock(clock: Option<CoreClock>) -> u16 {
    let code = |clock: CoreClock| {
        let code = ((clock.hz / 1e9).ln() / CLOCK_STEP).round() + CLOCK_ORIGIN;
        let most = f64::from(CLOCK_MISSING / 2 - 1);
        code.is_finite().then(|| 2 * code.clamp(0.0, most) as u16 + u16::from(!clock.is_steady))
    };
    clock.and_then(code).unwrap_or(CLOCK_MISSING)
}

fn decode_clock(code: u16) -> Option<CoreClock> {
    let hz = || 1e9 * ((f64::from(code / 2) - CLOCK_ORIGIN) * CLOCK_STEP).exp();
    (code != CLOCK_MISSING).then(|| CoreClock { hz: hz(), is_steady: code.is_multiple_of(2) })
}

impl Visits {
    /// No visits yet, of windows with so many parts and threads.
    pub fn new(parts: usize, threads: usize) -> Self {
        let clocks = if threads > THREADS_KEPT { 1 } else { threads as u8 };
        let threads = if (2..=THREADS_KEPT).contains(&threads) { threads as u8 } else { 0 };
        Self { parts: parts as u8, threads, clocks, list: Vec::new() }
    }

    /// Adds a visit, with values as a document gives them back.
    pub fn push(&mut self, mut visit: Visit) {
        visit.at = (visit.at / TICK).round().clamp(0.0, f64::from(u32::MAX)) * TICK;
        let pings = visit.before.iter_mut().chain(&mut visit.after);
        pings.for_each(|ping| *ping = kept(*ping).unwrap_or_default());
        visit.before.retain(|ping| *ping > 0.0);
        visit.after.retain(|ping| *ping > 0.0);
        visit.before.truncate(usize::from(u8::MAX));
        visit.after.truncate(usize::from(u8::MAX));
        visit.windows.truncate(usize::from(u16::MAX));
        let columns = self.columns();
        for window in &mut visit.windows {
            window.values.resize(columns, None);
            let (exact, threads) = window.values.split_at_mut(1 + usize::from(self.parts));
            exact.iter_mut().for_each(|value| *value = value.and_then(kept));
            threads.iter_mut().for_each(|thread| *thread = decode_thread(encode_thread(*thread, exact[0]), exact[0]));
            window.clocks.resize(usize::from(self.clocks), None);
            window.clocks.iter_mut().for_each(|clock| *clock = decode_clock(encode_clock(*clock)));
        }
        visit.blocks.truncate(usize::from(u8::MAX));
        visit.blocks.iter_mut().for_each(|blocks| *blocks = blocks.kept());
        self.list.push(visit);
    }

    /// Visits of one window each, without times and clocks: (allocation, value).
    pub fn of_samples(samples: impl Iterator<Item = (u32, f64)>) -> Self {
        let mut visits = Self::default();
        for (allocation, value) in samples {
            let windows = vec![Window { clean: true, values: vec![Some(value)], ..Window::default() }];
            visits.push(Visit { allocation, windows, ..Visit::default() });
        }
        visits
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The windows of all visits, in order of time.
    pub fn windows(&self) -> impl Iterator<Item = &Window> {
        self.list.iter().flat_map(|visit| &visit.windows)
    }

    fn columns(&self) -> usize {
        1 + usize::from(self.parts) + usize::from(self.threads)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for visit in &self.list {
            out.extend_from_slice(&((visit.at / TICK).round() as u32).to_le_bytes());
            out.extend_from_slice(&(visit.allocation.min(u32::from(u16::MAX)) as u16).to_le_bytes());
            out.extend_from_slice(&[visit.before.len() as u8, visit.after.len() as u8]);
            out.extend_from_slice(&(visit.windows.len() as u16).to_le_bytes());
            let put = |value: Option<f64>, out: &mut Vec<u8>| out.extend_from_slice(&encode(value).to_le_bytes()[..3]);
            visit.before.iter().chain(&visit.after).for_each(|ping| put(Some(*ping), &mut out));
            for eight in visit.windows.chunks(8) {
                out.push(eight.iter().enumerate().fold(0, |bits, (at, w)| bits | u8::from(w.clean) << at));
            }
            for window in &visit.windows {
                let (exact, threads) = window.values.split_at(1 + usize::from(self.parts));
                exact.iter().for_each(|value| put(*value, &mut out));
                out.extend(threads.iter().flat_map(|thread| encode_thread(*thread, exact[0]).to_le_bytes()));
                out.extend(window.clocks.iter().flat_map(|clock| encode_clock(*clock).to_le_bytes()));
            }
        }
        out
    }

    /// The blocks of the visits; nothing if none has any.
    fn bytes_of_blocks(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.list.iter().all(|visit| visit.blocks.is_empty()) {
            return out;
        }
        for visit in &self.list {
            out.push(visit.blocks.len() as u8);
            visit.blocks.iter().for_each(|blocks| blocks.put(&mut out));
        }
        out
    }
}

impl From<Visits> for Encoded {
    fn from(visits: Visits) -> Self {
        let Visits { parts, threads, clocks, .. } = visits;
        let (base64, blocks) = (STANDARD.encode(visits.bytes()), STANDARD.encode(visits.bytes_of_blocks()));
        Self { count: visits.list.len() as u64, parts, threads, clocks, base64, blocks }
    }
}

/// Why encoded visits cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitsError(&'static str);

const NOT_BASE64: VisitsError = VisitsError("they are not base64");
const CUT_SHORT: VisitsError = VisitsError("they are cut short");
const OTHER_NUMBER: VisitsError = VisitsError("their number differs from the document's count");

impl fmt::Display for VisitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the visits of a step cannot be read: {}", self.0)
    }
}

impl TryFrom<Encoded> for Visits {
    type Error = VisitsError;

    fn try_from(encoded: Encoded) -> Result<Self, VisitsError> {
        let mut visits = Self::decoded(&encoded, true)?;
        let bytes = STANDARD.decode(&encoded.blocks).map_err(|_| NOT_BASE64)?;
        let mut reader = Reader { bytes: &bytes, has_windows: true };
        for visit in visits.list.iter_mut().filter(|_| !bytes.is_empty()) {
            let [threads] = reader.take().ok_or(CUT_SHORT)?;
            visit.blocks = (0..threads).map(|_| reader.blocks()).collect::<Option<_>>().ok_or(CUT_SHORT)?;
        }
        if reader.bytes.is_empty() { Ok(visits) } else { Err(OTHER_NUMBER) }
    }
}

/// Visits without their windows and blocks, which are most of a document: the round trips around them.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Encoded")]
pub(crate) struct RoundTrips(pub(crate) Visits);

impl TryFrom<Encoded> for RoundTrips {
    type Error = VisitsError;

    fn try_from(encoded: Encoded) -> Result<Self, VisitsError> {
        Visits::decoded(&encoded, false).map(Self)
    }
}

impl Visits {
    fn decoded(encoded: &Encoded, has_windows: bool) -> Result<Self, VisitsError> {
        let bytes = STANDARD.decode(&encoded.base64).map_err(|_| NOT_BASE64)?;
        let Encoded { parts, threads, clocks, .. } = *encoded;
        let mut visits = Self { parts, threads, clocks, list: Vec::new() };
        let columns = [1 + usize::from(parts), usize::from(threads), usize::from(clocks)];
        let mut reader = Reader { bytes: &bytes, has_windows };
        while !reader.bytes.is_empty() {
            let visit = reader.visit(columns).ok_or(CUT_SHORT)?;
            visits.list.push(visit);
        }
        if visits.list.len() as u64 != encoded.count {
            return Err(OTHER_NUMBER);
        }
        Ok(visits)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// Whether windows are kept.
    has_windows: bool,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*head)
    }

    fn value(&mut self) -> Option<Option<f64>> {
        let [a, b, c] = self.take()?;
        Some(decode(u32::from_le_bytes([a, b, c, 0])))
    }

    fn thread(&mut self, value: Option<f64>) -> Option<Option<f64>> {
        Some(decode_thread(u16::from_le_bytes(self.take()?), value))
    }

    /// A visit of windows with so many exact values, threads and clocks.
    fn visit(&mut self, [exact, threads, clocks]: [usize; 3]) -> Option<Visit> {
        let at = f64::from(u32::from_le_bytes(self.take()?)) * TICK;
        let allocation = u32::from(u16::from_le_bytes(self.take()?));
        let [before, after] = self.take()?;
        let windows = usize::from(u16::from_le_bytes(self.take()?));
        let pings = |count: u8, from: &mut Self| {
            (0..count).map(|_| from.value().map(Option::unwrap_or_default)).collect::<Option<Vec<f64>>>()
        };
        let (before, after) = (pings(before, self)?, pings(after, self)?);
        if !self.has_windows {
            let bytes = windows.div_ceil(8) + windows * (3 * exact + 2 * threads + 2 * clocks);
            self.bytes = self.bytes.get(bytes..)?;
            return Some(Visit { at, allocation, before, after, ..Visit::default() });
        }
        let flags = (0..windows.div_ceil(8)).map(|_| self.take().map(|[byte]| byte)).collect::<Option<Vec<u8>>>()?;
        let mut list = Vec::new();
        for at in 0..windows {
            let mut values = (0..exact).map(|_| self.value()).collect::<Option<Vec<_>>>()?;
            let value = values[0];
            let own = (0..threads).map(|_| self.thread(value));
            values.extend(own.collect::<Option<Vec<_>>>()?);
            let clock = |_| self.take().map(|code| decode_clock(u16::from_le_bytes(code)));
            let clocks = (0..clocks).map(clock).collect::<Option<Vec<_>>>()?;
            list.push(Window { clean: flags[at / 8] >> (at % 8) & 1 == 1, values, clocks });
        }
        Some(Visit { at, allocation, before, after, windows: list, blocks: Vec::new() })
    }
}

#[cfg(test)]
mod tests;
