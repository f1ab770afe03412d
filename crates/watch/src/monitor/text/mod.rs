//! Samples of `watch` as text: a line each, and a summary.

mod active;
mod summary;

use tiermark_model::{WatchSample, WatchStalls, WatchSwap};
use tiermark_page::{Ink, Style, right};

pub(crate) use active::watch_time;
pub use summary::{WatchedCommand, watch_summary};

/// A column of the text: heading, width, and the value in a sample.
type Column = (&'static str, usize, fn(&WatchSample) -> Option<String>);

/// The columns of the text, which fit 80 with a space between two.
const COLUMNS: [Column; 12] = [
    ("time UTC", 8, |s| Some(s.time.get(11..19).unwrap_or(&s.time).to_owned())),
    ("avail", 5, |s| s.memory?.available_bytes.map(brief)),
    ("swap", 5, swapped),
    (PRESSURE[0], 5, |s| s.psi.memory.as_ref().map(stalled)),
    (PRESSURE[1], 5, |s| s.psi.io.as_ref().map(stalled)),
    (PRESSURE[2], 5, |s| s.psi.cpu.as_ref().map(stalled)),
    ("in/s", 6, |s| s.vm.swap_in_bytes.map(|bytes| short(bytes, 1024.0))),
    ("out/s", 6, |s| s.vm.swap_out_bytes.map(|bytes| short(bytes, 1024.0))),
    ("major", 6, |s| s.vm.major_faults.map(|rate| short(rate, 1000.0))),
    ("migr", 6, |s| s.vm.migrated.map(|rate| short(rate, 1000.0))),
    ("busy", 5, |s| s.cpu?.busy.map(percent)),
    ("steal", 5, |s| s.cpu?.steal.map(percent)),
];

/// Columns of the time in which some tasks waited.
const PRESSURE: [&str; 3] = ["mem", "io", "cpu"];
/// Columns that make room for those of traffic where it is counted.
const REPLACED: [&str; 3] = ["major", "migr", "steal"];

/// The columns for a sample: with counters those of traffic too.
fn columns(sample: &WatchSample) -> Vec<&'static Column> {
    if sample.active.is_some() {
        return active::COLUMNS.iter().collect();
    }
    if sample.counters.is_none() {
        return COLUMNS.iter().collect();
    }
    COLUMNS.iter().filter(|(head, ..)| !REPLACED.contains(head)).chain(&TRAFFIC_COLUMNS).collect()
}

/// The columns that fit. Later ones are left out: a cut number looks like another one.
fn fitting(sample: &WatchSample, style: &Style) -> Vec<&'static Column> {
    let mut used = 0;
    let all = columns(sample).into_iter();
    all.take_while(|(_, width, _)| {
        used += width + usize::from(used > 0);
        used <= style.width
    })
    .collect()
}

/// The heading of the text lines of a sample and those after it. Above the columns of pressure it says of which time
/// they are a share.
pub fn watch_heading(first: &WatchSample, style: &Style) -> String {
    let columns = fitting(first, style);
    let line = columns.iter().map(|(head, width, _)| right(head, *width)).collect::<Vec<_>>().join(" ");
    let width_to = |last: &str| {
        let count = columns.iter().position(|(head, ..)| *head == last)? + 1;
        Some(columns[..count].iter().map(|(_, width, _)| width + 1).sum::<usize>() - 1)
    };
    match width_to(PRESSURE[2]) {
        Some(width) => [right("pressure: some, %", width), line].map(|line| style.paint(Ink::Head, &line)).join("\n"),
        None => style.paint(Ink::Head, &line),
    }
}

/// A sample in one line.
pub fn watch_line(sample: &WatchSample, style: &Style) -> String {
    let cell =
        |(_, width, field): &&Column| right(&field(sample).unwrap_or_else(|| style.glyph("–", "-").to_owned()), *width);
    fitting(sample, style).iter().map(cell).collect::<Vec<_>>().join(" ")
}

/// The stalls since the sample before, or the kernel's mean over 10 s in the first.
fn stalled(stalls: &WatchStalls) -> String {
    format!("{:.1}", stalls.some.now.unwrap_or(stalls.some.avg10))
}

fn swapped(sample: &WatchSample) -> Option<String> {
    let listed = sample.swaps.iter().map(|area: &WatchSwap| area.used_bytes).reduce(u64::saturating_add);
    let memory = sample.memory;
    let counted = memory.and_then(|memory| memory.swap_total_bytes?.checked_sub(memory.swap_free_bytes?));
    listed.or(counted).map(brief)
}

/// A size in at most five characters: `23.5G`.
pub(crate) fn brief(bytes: u64) -> String {
    short(bytes as f64, 1024.0)
}

/// A number in at most five characters, by powers of `base` (1000 or 1024): `12.5K`.
pub(crate) fn short(value: f64, base: f64) -> String {
    let (mut scaled, mut letters) = (value, ["", "K", "M", "G", "T", "P", "E"].into_iter());
    let mut letter = letters.next().unwrap_or_default();
    // 999.5 is rounded to four digits.
    while scaled >= 999.5 {
        let Some(next) = letters.next() else { break };
        (scaled, letter) = (scaled / base, next);
    }
    // A quotient may miss a whole number by its last bit.
    let is_whole = (scaled - scaled.round()).abs() <= scaled.abs() * 4.0 * f64::EPSILON;
    let digits = usize::from(scaled < 99.95 && !is_whole);
    format!("{scaled:.digits$}{letter}")
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// The columns of traffic: of all memory, in bytes a second; the share of reads; the share of its peak that the busiest
/// channel carried.
const TRAFFIC_COLUMNS: [Column; 3] = [
    ("mem/s", 6, |s| Some(short(s.traffic.as_ref()?.rate()?.0, 1000.0))),
    ("read%", 5, |s| s.traffic.as_ref()?.rate()?.1.map(percent)),
    ("chan%", 5, |s| s.traffic.as_ref()?.busiest().map(percent)),
];

#[cfg(test)]
mod tests;
