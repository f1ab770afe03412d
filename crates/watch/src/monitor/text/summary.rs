//! The samples over the life of a command.

use std::collections::BTreeSet;

use tiermark_model::messages::curve_profile as says;
use tiermark_model::{Rate, RateUnit, Share, WatchKind, WatchLife, WatchLifeFigure};
use tiermark_page::{ABSENT, Ink, Page, Table, Text, paragraph, seconds, simulated};

use super::active::time;
use super::short;

/// A row: its words, its number in a sample, and what that measures.
type Row = (&'static str, &'static str, WatchKind);

/// Where the numbers of a row come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Counts of the kernel.
    Kernel,
    /// Counters of memory controllers.
    Counters,
    /// Visits of `--active`.
    Visits,
}

impl Source {
    /// Of the prefixes of bytes: rates of memory are decimal everywhere, sizes of what is swapped are not.
    fn base(self) -> f64 {
        if self == Self::Counters { 1000.0 } else { 1024.0 }
    }
}

/// The numbers of traffic, which few systems count: the first rows where they are counted.
const TRAFFIC: [Row; 4] = [
    ("memory read", "traffic.read_bytes", WatchKind::BytesPerSecond),
    ("memory written", "traffic.write_bytes", WatchKind::BytesPerSecond),
    ("memory traffic", "traffic.total_bytes", WatchKind::BytesPerSecond),
    ("busiest channel", "traffic.busiest_channel", WatchKind::Share),
];

/// The same of each socket, where there are several: its memory, and its links to the others.
const OF_SOCKET: [Row; 8] = [
    ("read", "read_bytes", WatchKind::BytesPerSecond),
    ("written", "write_bytes", WatchKind::BytesPerSecond),
    ("links received", "received_bytes", WatchKind::BytesPerSecond),
    ("links received, of peak", "received_share", WatchKind::Share),
    ("links sent", "sent_bytes", WatchKind::BytesPerSecond),
    ("links sent, of peak", "sent_share", WatchKind::Share),
    ("links sent + overhead", "sent_all_bytes", WatchKind::BytesPerSecond),
    ("links + overhead, of peak", "sent_all_share", WatchKind::Share),
];

/// The numbers of a summary in the order of its rows.
const ROWS: [Row; 20] = [
    ("memory stalls, some tasks", "psi.memory.some.now", WatchKind::Percent),
    ("memory stalls, all tasks", "psi.memory.full.now", WatchKind::Percent),
    ("io stalls, some tasks", "psi.io.some.now", WatchKind::Percent),
    ("cpu stalls, some tasks", "psi.cpu.some.now", WatchKind::Percent),
    ("cpus busy", "cpu.busy", WatchKind::Share),
    ("steal", "cpu.steal", WatchKind::Share),
    ("available memory", "memory.available_bytes", WatchKind::Bytes),
    ("page faults", "vm.faults", WatchKind::PerSecond),
    ("major faults", "vm.major_faults", WatchKind::PerSecond),
    ("swap in", "vm.swap_in_bytes", WatchKind::BytesPerSecond),
    ("swap out", "vm.swap_out_bytes", WatchKind::BytesPerSecond),
    ("zswap in", "vm.zswap_in_bytes", WatchKind::BytesPerSecond),
    ("zswap out", "vm.zswap_out_bytes", WatchKind::BytesPerSecond),
    ("refaults", "vm.refaults", WatchKind::PerSecond),
    ("direct reclaim, pages", "vm.reclaimed_direct", WatchKind::PerSecond),
    ("migrated pages", "vm.migrated", WatchKind::PerSecond),
    ("promoted pages", "vm.promoted", WatchKind::PerSecond),
    ("demoted pages", "vm.demoted", WatchKind::PerSecond),
    ("huge pages at faults", "vm.thp_faults", WatchKind::PerSecond),
    ("processes killed (OOM)", "vm.oom_kills", WatchKind::PerSecond),
];

/// The same of `--active`.
const ACTIVE_ROWS: [Row; 10] = [
    ("clock", "active.clock.now", WatchKind::Hertz),
    ("L1 latency", "active.l1.latency.now", WatchKind::Nanoseconds),
    ("L1 bandwidth", "active.l1.bandwidth.now", WatchKind::BytesPerSecond),
    ("L2 latency", "active.l2.latency.now", WatchKind::Nanoseconds),
    ("L3 latency", "active.l3.latency.now", WatchKind::Nanoseconds),
    ("L3 keeps of a range", "active.l3.kept.now", WatchKind::Share),
    ("L3 lasts", "active.l3.lasts.now", WatchKind::Seconds),
    ("DRAM latency", "active.dram.latency.now", WatchKind::Nanoseconds),
    ("DRAM bandwidth", "active.dram.bandwidth.now", WatchKind::BytesPerSecond),
    ("cost of measuring", "active.cost_share", WatchKind::Share),
];

/// What is known of a command that was watched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchedCommand<'a> {
    /// The command as one types it.
    pub command: &'a str,
    /// Name of the simulated machine that it ran beside; `None` on a real one.
    pub simulated: Option<&'a str>,
    /// Seconds from its start to its end.
    pub seconds: f64,
    /// Cpu time that it and its children used, in seconds; `None` if unknown.
    pub cpu_seconds: Option<f64>,
    /// Samples taken.
    pub samples: u64,
}

/// Renders the summary of a command's life: what the whole system did meanwhile. Numbers that were always 0 are named
/// in one line.
pub fn watch_summary(watched: &WatchedCommand<'_>, life: &WatchLife) -> Page {
    let cpu = watched.cpu_seconds.map_or_else(String::new, |used| format!(", {} of cpu time", seconds(used)));
    let head =
        format!("{}: {}{cpu}, {} samples of the system", watched.command, seconds(watched.seconds), watched.samples);
    let (mut seen, mut zero, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let counted = TRAFFIC.into_iter().filter(|(_, name, _)| life.of(name).is_some());
    let measured = if life.of("active.visits").is_some() { &ACTIVE_ROWS[..] } else { &[] };
    let fixed = |source| move |(words, name, kind): Row| (words.to_owned(), name.to_owned(), kind, source);
    let counted = counted.map(fixed(Source::Counters)).chain(sockets(life));
    let rows = counted.chain(ROWS.into_iter().map(fixed(Source::Kernel)));
    let measured = measured.iter().copied().map(fixed(Source::Visits)).chain(pings(life));
    for (words, name, kind, source) in rows.chain(measured) {
        match life.of(&name).filter(|figure| figure.mean().is_some()) {
            None => unknown.push(words),
            Some(figure) if figure.most == 0.0 => zero.push(words),
            Some(figure) => seen.push(SummaryRow { words, kind, source, figure }),
        }
    }
    let table = Table::of(&seen).texts("", |row| &row.words);
    let mean = |row: &SummaryRow| row.figure.mean().map_or_else(|| ABSENT.into(), |mean| row.shown(mean));
    let table = table.numbers("mean", mean).numbers("lowest", |row| row.shown(row.figure.least));
    let table = table.numbers("highest", |row| row.shown(row.figure.most)).numbers("total", SummaryRow::total);
    let simulated = watched.simulated.map_or_else(Page::new, simulated);
    let mut out = simulated + paragraph("", &head, Ink::Head) + table.table();
    if life.of("traffic.total_bytes").is_some() {
        let note = format!("Memory traffic: {}", says::watch_counts_unchecked());
        out += paragraph("", &note, Ink::Dim);
    }
    for (what, words) in [("Always 0", zero), ("Not reported by this system", unknown)] {
        if !words.is_empty() {
            out += paragraph("", format!("{what}: {}", words.join("; ")), Ink::Dim);
        }
    }
    out
}

/// The rows of each socket; empty on a machine with one socket, where they would repeat those of the machine.
fn sockets(life: &WatchLife) -> Vec<(String, String, WatchKind, Source)> {
    let number = |name: &str| name.strip_prefix("traffic_sockets.")?.split('.').next()?.parse::<u32>().ok();
    let numbers: BTreeSet<u32> = life.all().filter_map(|(name, _)| number(name)).collect();
    let row = |socket: u32, (words, name, kind): Row| {
        let name = format!("traffic_sockets.{socket}.{name}");
        life.of(&name).map(|_| (format!("socket {socket}: {words}"), name, kind, Source::Counters))
    };
    let several = numbers.iter().filter(|_| numbers.len() > 1);
    several.flat_map(|socket| OF_SOCKET.into_iter().filter_map(move |own| row(*socket, own))).collect()
}

/// Rows of the pairs of cpus that answered each other fastest and slowest: a move of cpus lies between both.
fn pings(life: &WatchLife) -> Vec<(String, String, WatchKind, Source)> {
    let pair = |name: &str| name.strip_prefix("active.pings.")?.strip_suffix(".now").map(str::to_owned);
    let pairs = life.all().filter_map(|(name, figure)| Some((figure.mean()?, pair(name)?)));
    let mut pairs: Vec<(f64, String)> = pairs.collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends = match &pairs[..] {
        [] => Vec::new(),
        [only] => vec![only],
        [first, .., last] => vec![first, last],
    };
    let row = |(_, pair): &(f64, String)| {
        let name = format!("active.pings.{pair}.now");
        (format!("ping of cpus {pair}"), name, WatchKind::Nanoseconds, Source::Visits)
    };
    ends.into_iter().map(row).collect()
}

/// A number over the life of a command.
struct SummaryRow {
    words: String,
    kind: WatchKind,
    source: Source,
    figure: WatchLifeFigure,
}

impl SummaryRow {
    fn shown(&self, value: f64) -> Text {
        let words = match self.kind {
            WatchKind::BytesPerSecond => return self.shown_rate(value),
            WatchKind::Percent => format!("{value:.1} %"),
            WatchKind::Share => format!("{:.1}", Share(value)),
            WatchKind::Bytes => amount(value, 1024.0),
            WatchKind::Nanoseconds => format!("{} ns", tiermark_model::format_ns(value)),
            WatchKind::Hertz => format!("{:.2} GHz", value / 1e9),
            WatchKind::Seconds => {
                let (number, unit) = time(value);
                format!("{number} {unit}")
            }
            WatchKind::PerSecond | WatchKind::Count => format!("{}/s", short(value, 1000.0)),
        };
        words.into()
    }

    /// A rate in the unit of the reader, where it is not so small that GB/s would hide it.
    fn shown_rate(&self, value: f64) -> Text {
        let small = format!("{}/s", amount(value, self.source.base()));
        if !self.is_measured() && value < 1e9 {
            return small.into();
        }
        Text::sentence(|unit| match unit {
            RateUnit::Si if !self.is_measured() => small.clone(),
            unit => Rate::from(value).in_unit(unit).to_string(),
        })
    }

    /// Whether it is measured now and then, so that there is no total.
    fn is_measured(&self) -> bool {
        self.source == Source::Visits
    }

    fn total(&self) -> String {
        match self.kind {
            WatchKind::BytesPerSecond if !self.is_measured() => amount(self.figure.total(), self.source.base()),
            WatchKind::PerSecond => short(self.figure.total().round(), 1000.0),
            _ => ABSENT.to_owned(),
        }
    }
}

/// Bytes with their unit: `22.4 GiB` by powers of 1024, `25 GB` by powers of 1000.
fn amount(bytes: f64, base: f64) -> String {
    let text = short(bytes, base);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let prefix = &text[digits.len()..];
    let binary = if base == 1024.0 && !prefix.is_empty() { "i" } else { "" };
    // kilo is written small.
    let prefix = if base == 1000.0 && prefix == "K" { "k" } else { prefix };
    format!("{digits} {prefix}{binary}B")
}
