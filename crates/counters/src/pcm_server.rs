//! A running `pcm-sensor-server`: its page of metrics.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note, Refusal};

use crate::csv::MOST_LINE;
use crate::family::Of;
use crate::http;
use crate::perf::sights;
use crate::snapshot::{Reading, Snapshot};
use crate::source::CounterSource;

/// Where the server listens unless it is told otherwise.
pub const PCM_SERVER: &str = "127.0.0.1:9738";
const PROGRAM: &str = "pcm-sensor-server";
/// The page of metrics.
const METRICS: &str = "/metrics";
/// Counts that are kept: eight sockets have two of memory and six links each.
const MOST_COUNTS: usize = 1024;

/// A count of the page, in bytes since the server began.
#[derive(Debug, Clone, PartialEq)]
pub struct PcmCount {
    /// Whose it is.
    pub place: BoxPlace,
    /// What is counted.
    pub of: Of,
    /// Bytes; `None` of a value that no counter has.
    pub bytes: Option<u64>,
}

/// The counts of memory and links on a page of metrics. Lines of other things count nothing.
pub fn pcm_counts(page: &str) -> Vec<PcmCount> {
    let mut counts: Vec<PcmCount> = Vec::new();
    for line in page.lines().filter(|line| line.len() <= MOST_LINE) {
        if counts.len() >= MOST_COUNTS {
            break;
        }
        let Some(count) = count(line) else { continue };
        if counts.iter().all(|own| (&own.place, own.of) != (&count.place, count.of)) {
            counts.push(count);
        }
    }
    counts
}

/// A line: `DRAM_Reads{socket="0",aggregate="socket",source="uncore"} 123`.
fn count(line: &str) -> Option<PcmCount> {
    let (name, rest) = line.split_once('{')?;
    let (labels, value) = rest.rsplit_once('}')?;
    // What links sent has protocol beside the payload, so that it is left out.
    let (kind, unit, of) = match name.trim() {
        "DRAM_Reads" => (BoxKind::Memory, "Mem".to_owned(), Of::Read),
        "DRAM_Writes" => (BoxKind::Memory, "Mem".to_owned(), Of::Write),
        "Embedded_DRAM_Reads" => (BoxKind::Memory, "EDC".to_owned(), Of::Read),
        "Embedded_DRAM_Writes" => (BoxKind::Memory, "EDC".to_owned(), Of::Write),
        other => {
            let link: u32 = other.strip_prefix("Incoming_Data_Traffic_On_Link_")?.parse().ok()?;
            (BoxKind::Link, format!("UPI{link}"), Of::Received)
        }
    };
    let (mut socket, mut aggregate) = (None, None);
    for (label, value) in labels.split(',').filter_map(|label| label.split_once('=')) {
        let value = value.trim().trim_matches('"');
        match label.trim() {
            "socket" => socket = Some(value.parse().ok()?),
            "aggregate" => aggregate = Some(value),
            // Of a core or of a thread.
            "core" | "thread" => return None,
            _ => {}
        }
    }
    // Sums of the machine are those of its sockets; the links of a socket are among the metrics of the machine.
    if kind == BoxKind::Memory && aggregate.is_some_and(|of| of != "socket") {
        return None;
    }
    let value = value.split_whitespace().next()?;
    let large = || value.parse().ok().filter(|bytes: &f64| (0.0..u64::MAX as f64).contains(bytes));
    let bytes = value.parse().ok().or_else(|| Some(large()? as u64));
    Some(PcmCount { place: BoxPlace { socket: Some(socket?), node: None, kind, unit }, of, bytes })
}

/// The counts of memory: links may be quiet.
fn memory(counts: &[PcmCount]) -> impl Iterator<Item = &PcmCount> {
    counts.iter().filter(|count| count.place.kind == BoxKind::Memory)
}

/// The counts of a server.
pub struct PcmServer {
    address: String,
    /// The counts that were there first. Their places are their numbers.
    known: Vec<(BoxPlace, Of)>,
    from: Instant,
    /// The counts that were read last, and when they changed last.
    last: (Vec<PcmCount>, Duration),
}

/// Time after which counts that do not change are those of a server that does not count: each of its intervals takes
/// about a second.
const STILL: Duration = Duration::from_secs(10);

impl PcmServer {
    /// Reads the page once.
    ///
    /// # Errors
    /// A [`Refusal`] if no server answers at `host:port`, or its page has no counts of memory.
    pub fn open(address: &str) -> Result<Self, Refusal> {
        let page = http::get(address, METRICS).map_err(|error| unanswered(address, &error))?;
        let counts = pcm_counts(&page);
        if counts.iter().all(|count| count.place.kind == BoxKind::Link) {
            let is_html = page.trim_start().starts_with('<');
            let why = if is_html { "the page is HTML, and no metrics" } else { "its page has no traffic of memory" };
            return Err(says::pcm_server_is_another(address, why));
        }
        if counts.iter().all(|count| count.bytes == Some(0)) {
            return Err(says::pcm_server_counts_nothing(address, &says::all_zero(PROGRAM).text));
        }
        if counts.iter().all(|count| count.bytes.is_none()) {
            return Err(says::pcm_server_counts_nothing(
                address,
                "its counts of memory are values that no counter has",
            ));
        }
        let known = counts.iter().map(|count| (count.place.clone(), count.of)).collect();
        Ok(Self { address: address.to_owned(), known, from: Instant::now(), last: (counts, Duration::ZERO) })
    }

    /// The counts at a time since the source was opened. Their time is that at which they changed last: where none
    /// does, no time has passed for them, and they are not 0.
    ///
    /// # Errors
    /// That the server does not answer, has no counts, or its counts have not changed for too long.
    pub fn read_at(&mut self, now: Duration) -> io::Result<Snapshot> {
        let counts = pcm_counts(&http::get(&self.address, METRICS)?);
        let still = now.saturating_sub(self.last.1);
        if !memory(&counts).eq(memory(&self.last.0)) {
            self.last = (counts.clone(), now);
        } else if still > STILL {
            let note = says::counts_stand_still(PROGRAM, still.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, note.text));
        }
        let number =
            |count: &PcmCount| self.known.iter().position(|(place, of)| (place, *of) == (&count.place, count.of));
        let mut snapshot = Snapshot { at: self.last.1, ..Snapshot::default() };
        for count in counts {
            match (number(&count), count.bytes) {
                (None, _) | (_, None) => {}
                (Some(id), Some(bytes)) => {
                    let reading = Reading::of(id, count.place, count.of, 0.0);
                    snapshot.readings.push(Reading { count: bytes, ..reading });
                }
            }
        }
        if snapshot.readings.is_empty() {
            let why = "the page no longer has any of the counts that it had at the start";
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        // What is no longer on the page: sums that need it are left out.
        let is_read = |id: usize| snapshot.readings.iter().any(|reading| reading.id == id);
        let gone = self.known.iter().enumerate().filter(|(id, _)| !is_read(*id)).map(|(_, (place, _))| place.clone());
        snapshot.lost = gone.collect();
        Ok(snapshot)
    }
}

/// Why there is no page.
fn unanswered(address: &str, error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::TimedOut => says::pcm_server_failed(address, "no answer within 3 s"),
        ErrorKind::InvalidData | ErrorKind::FileTooLarge => says::pcm_server_failed(address, &error.to_string()),
        _ => says::pcm_server_refused(address, &error.to_string()),
    }
}

impl CounterSource for PcmServer {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::PcmServer
    }

    fn sees(&self) -> Vec<CounterSight> {
        sights(self.known.iter().map(|(place, of)| (place, *of)))
    }

    fn notes(&self) -> Vec<Note> {
        let unusable = self.last.0.iter().filter(|count| count.bytes.is_none()).map(|count| &count.place);
        let unusable = unusable.collect::<BTreeSet<_>>().into_iter();
        let unusable = unusable.map(|place| says::count_unusable(&place.unit, place.socket, PROGRAM));
        std::iter::once(says::counts_come_late(PROGRAM)).chain(unusable).collect()
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        self.read_at(self.from.elapsed())
    }
}
