//! A running `pcm-sensor-server`: its page of metrics.

use std::io::{self, ErrorKind};
use std::time::Instant;

use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Note, Refusal};

use crate::csv::MOST_LINE;
use crate::family::Of;
use crate::http;
use crate::snapshot::{Reading, Snapshot};
use crate::source::CounterSource;

/// Where the server listens unless it is told otherwise.
pub const PCM_SERVER: &str = "127.0.0.1:9738";
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
    /// Bytes.
    pub bytes: u64,
}

/// The counts of memory and links on a page of metrics. Lines of other things, and those that make no sense, count nothing.
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
    let large = || value.parse().ok().filter(|bytes: &f64| bytes.is_finite() && *bytes >= 0.0);
    let bytes = value.parse().ok().or_else(|| Some(large()? as u64))?;
    Some(PcmCount { place: BoxPlace { socket: Some(socket?), node: None, kind, unit }, of, bytes })
}

/// The counts of a server.
pub struct PcmServer {
    address: String,
    /// The counts that were there first. Their places are their numbers.
    known: Vec<(BoxPlace, Of)>,
    from: Instant,
}

impl PcmServer {
    /// Reads the page once.
    ///
    /// # Errors
    /// A [`Refusal`] if no server answers at `host:port`, or its page has no counts of memory.
    pub fn open(address: &str) -> Result<Self, Refusal> {
        let counts = http::get(address, METRICS).map(|page| pcm_counts(&page));
        let counts = counts.map_err(|error| says::pcm_server_refused(address, &error.to_string()))?;
        if counts.iter().all(|count| count.place.kind == BoxKind::Link) {
            return Err(says::pcm_server_refused(address, "its page of metrics has no traffic of memory"));
        }
        if counts.iter().all(|count| count.bytes == 0) {
            return Err(says::pcm_server_refused(address, &says::all_zero("pcm-sensor-server").text));
        }
        let known = counts.into_iter().map(|count| (count.place, count.of)).collect();
        Ok(Self { address: address.to_owned(), known, from: Instant::now() })
    }
}

impl CounterSource for PcmServer {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::PcmServer
    }

    fn sees(&self) -> Vec<CounterSight> {
        let links = self.known.iter().any(|(place, _)| place.kind == BoxKind::Link);
        let sees = [CounterSight::Reads, CounterSight::Writes];
        sees.into_iter().chain(links.then_some(CounterSight::LinkReceived)).collect()
    }

    fn notes(&self) -> Vec<Note> {
        vec![says::counts_come_late("pcm-sensor-server")]
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let counts = pcm_counts(&http::get(&self.address, METRICS)?);
        let at = self.from.elapsed();
        let number =
            |count: &PcmCount| self.known.iter().position(|(place, of)| (place, *of) == (&count.place, count.of));
        let reading = |count: PcmCount| {
            let reading = Reading::of(number(&count)?, count.place, count.of, 0.0);
            Some(Reading { count: count.bytes, ..reading })
        };
        let readings: Vec<Reading> = counts.into_iter().filter_map(reading).collect();
        if readings.is_empty() {
            Err(ErrorKind::InvalidData.into())
        } else {
            Ok(Snapshot { at, readings, ..Snapshot::default() })
        }
    }
}
