//! Whether counters are plausible: their bytes beside those of a stream whose bytes are known.

use crate::family::Of;
use tiermark_model::messages::counters as says;
use tiermark_model::{
    BoxKind, BoxPlace, BoxTraffic, CounterMark, CounterSight, LinkCheck, Note, Traffic, TrafficSum, WayCheck,
    amplification,
};
use tiermark_stats::upper_median;

/// Factors by which counters are wrong for a known reason: events of one of two sub-channels or of one of three message
/// classes, a burst of half a line, two sources or two sockets added.
const FACTORS: [f64; 4] = [1.0 / 3.0, 0.5, 2.0, 3.0];
/// How far a ratio may be from a factor. Honest counters read 1 to 1.1 times the bytes of a local stream (page walks,
/// prefetches that are not used); the factors are 1.5 apart and more.
const NEAR: f64 = 0.2;
/// The least ratio that is right: a channel of eight that counts nothing is below. What caches keep of a stream is
/// less.
const LEAST: f64 = 0.9;
/// Least and most of the median of a socket's active channels: a stream over many pages is spread evenly, so a channel
/// beyond carries something else.
const EVEN: (f64, f64) = (0.5, 2.0);
/// A box that carries less than this share of the median is silent: the background of an idle machine is above 0.
const SILENT: f64 = 0.01;

/// A stream, by what it makes the memory of one socket carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownStream {
    /// The socket with the memory.
    pub socket: u32,
    /// Bytes that the memory is read, with lines that ordinary stores read before they write.
    pub read: f64,
    /// Bytes that are written to the memory.
    pub write: f64,
    /// Channels with modules; `None` if that is not known.
    pub channels: Option<usize>,
}

/// A stream of one socket through the memory of the only other one, by what the links between them carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownCrossing {
    /// The socket with the memory, which sends.
    pub from: u32,
    /// The socket that reads.
    pub to: u32,
    /// Bytes that it reads.
    pub bytes: f64,
}

/// What is wrong with counters.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// They count a multiple or a part of the reads, of the writes, or, where the two are not separated, of both.
    Factor {
        /// What is counted so.
        of: Of,
        /// 1/3, 1/2, 2 or 3.
        factor: f64,
        /// Bytes counted for each byte of the stream.
        ratio: f64,
    },
    /// They count something else, by no factor with a known reason.
    Off {
        /// What is counted so.
        of: Of,
        /// Bytes counted for each byte of the stream.
        ratio: f64,
    },
    /// No box of the socket counted.
    Nothing,
    /// A box counts nothing although its channel has a clock, or modules.
    Silent {
        /// The box.
        place: BoxPlace,
    },
    /// Fewer boxes count than channels have modules, and no clock says which of the others is silent.
    FewBoxes {
        /// Boxes that count.
        boxes: usize,
        /// Channels with modules.
        channels: usize,
    },
    /// A box did not count all the time: its counters took turns, or something else set or stopped them.
    Interrupted {
        /// The box.
        place: BoxPlace,
    },
    /// A box counts what its channel cannot carry, or what the stream did not cause.
    Phantom {
        /// The box.
        place: BoxPlace,
    },
}

impl Fault {
    /// The sentence for it.
    pub fn note(&self) -> Note {
        match self {
            Self::Factor { of, factor, ratio } => says::counts_by_factor(bytes_of(*of), *factor, *ratio),
            Self::Off { of, ratio } => says::counts_off(bytes_of(*of), *ratio),
            Self::Nothing => says::nothing_counted(),
            Self::Silent { place } => says::box_silent(&place.unit, place.socket),
            Self::FewBoxes { boxes, channels } => says::few_boxes(*boxes as u64, *channels as u64),
            Self::Phantom { place } => says::box_phantom(&place.unit, place.socket),
            Self::Interrupted { place } => says::box_interrupted(&place.unit, place.socket),
        }
    }
}

/// The words for the bytes of a stream.
fn bytes_of(of: Of) -> &'static str {
    match of {
        Of::Read => "bytes read",
        Of::Write => "bytes written",
        Of::Sent => "bytes sent over links",
        Of::Received => "bytes received over links",
        _ => "bytes read and written",
    }
}

impl KnownStream {
    /// Whether a box may carry it.
    fn is_on(&self, place: &BoxPlace) -> bool {
        place.socket.is_none_or(|socket| socket == self.socket)
    }

    /// The bytes that these counters can have seen: those read only, if they see no others.
    pub fn seen_by(&self, traffic: &Traffic) -> f64 {
        self.beside(&traffic.sum(|place| self.is_on(place))).iter().map(|(.., known)| known).sum()
    }

    /// What was counted, beside what is known of the same.
    fn beside(&self, sum: &TrafficSum) -> Vec<(Of, f64, f64)> {
        match (sum.read, sum.write) {
            (Some(read), Some(write)) => vec![(Of::Read, read, self.read), (Of::Write, write, self.write)],
            (Some(read), None) => vec![(Of::Read, read, self.read)],
            _ => vec![(Of::Both, sum.total.unwrap_or(0.0), self.read + self.write)],
        }
    }
}

/// Compares the traffic during a stream, without that of an idle machine, with the stream. Empty: the counters, which
/// see this, can be trusted. Those that see a lower bound only may count any part of the stream, and not more than it.
pub fn check_known(traffic: &Traffic, stream: &KnownStream, sees: &[CounterSight]) -> Vec<Fault> {
    let is_here = |place: &BoxPlace| stream.is_on(place);
    let mut faults: Vec<Fault> = traffic.marks.iter().filter(|mark| is_here(mark.place())).map(of_mark).collect();
    let boxes: Vec<&BoxTraffic> = traffic.boxes.iter().filter(|own| is_here(&own.place)).collect();
    let median = median_of_active(&boxes);
    let Some(median) = median else {
        // What is wrong with its boxes says why none counted.
        if faults.is_empty() {
            faults.push(Fault::Nothing);
        }
        return faults;
    };
    faults.extend(of_boxes(&boxes, median, stream.channels));
    let is_bound = sees.contains(&CounterSight::LowerBound);
    let ratios = stream.beside(&traffic.sum(is_here)).into_iter().filter(|(.., known)| *known > 0.0);
    let ratios = ratios.map(|(of, counted, known)| (of, counted / known));
    faults
        .extend(ratios.filter(|(_, ratio)| !(is_bound && *ratio < 1.0)).filter_map(|(of, ratio)| of_ratio(of, ratio)));
    faults
}

/// Compares the links during streams between two sockets with those streams, each way that is counted. `None` if
/// neither is.
pub fn check_links(streams: &[(Traffic, KnownCrossing)]) -> Option<LinkCheck> {
    // The stream that is counted worst: one socket may count twice, and the other nothing.
    let way = |of: Of, counted: &dyn Fn(&Traffic, &KnownCrossing) -> Option<f64>| -> Option<WayCheck> {
        let ratios = streams.iter().map(|(traffic, stream)| amplification(counted(traffic, stream), stream.bytes));
        let off = |ratio: &f64| (ratio - 1.0).abs();
        let ratio = ratios.collect::<Option<Vec<f64>>>()?.into_iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
        Some(WayCheck { ratio, fault: of_ratio(of, ratio).map(|fault| fault.note()) })
    };
    let sent = way(Of::Sent, &|traffic, stream| traffic.over_links(stream.from, |link| link.sent));
    let received = way(Of::Received, &|traffic, stream| traffic.over_links(stream.to, |link| link.received));
    (sent.is_some() || received.is_some()).then_some(LinkCheck { sent, received })
}

/// A box that counted what it cannot carry, nothing, or not all the time.
fn of_mark(mark: &CounterMark) -> Fault {
    let place = mark.place().clone();
    match mark {
        CounterMark::Impossible { .. } => Fault::Phantom { place },
        CounterMark::Silent { .. } | CounterMark::Partial { .. } => Fault::Silent { place },
        _ => Fault::Interrupted { place },
    }
}

/// The median over the boxes with traffic; `None` if no box has any.
fn median_of_active(boxes: &[&BoxTraffic]) -> Option<f64> {
    let most = boxes.iter().map(|own| own.total).fold(0.0, f64::max);
    upper_median(boxes.iter().map(|own| own.total).filter(|total| *total > SILENT * most).collect())
}

/// Boxes that differ from the others.
fn of_boxes(boxes: &[&BoxTraffic], median: f64, channels: Option<usize>) -> Vec<Fault> {
    let is_active = |own: &&&BoxTraffic| own.total > SILENT * median;
    let active = boxes.iter().filter(is_active).count();
    let mut faults = Vec::new();
    // A clock that stands still in every box is no clock: an event that this processor lacks.
    let has_clock = boxes.iter().any(|own| own.transfers.is_some_and(|transfers| transfers > 0.0));
    for own in boxes {
        let place = own.place.clone();
        let ticks = own.transfers.filter(|_| has_clock).map(|transfers| transfers > 0.0);
        let is_quiet = own.total <= SILENT * median;
        // The clock of a channel without modules stands still.
        if is_quiet && ticks == Some(true) {
            faults.push(Fault::Silent { place });
        } else if !is_quiet && (ticks == Some(false) || own.total > EVEN.1 * median) {
            faults.push(Fault::Phantom { place });
        } else if !is_quiet && own.total < EVEN.0 * median && channels.is_some_and(|channels| active > channels) {
            // Traffic of its own, on one channel more than there are.
            faults.push(Fault::Phantom { place });
        }
    }
    // A controller of several channels is one box.
    let by_channel = boxes.iter().all(|own| own.place.kind == BoxKind::Channel);
    let channels = channels.filter(|channels| by_channel && active < *channels && faults.is_empty());
    faults.extend(channels.map(|channels| Fault::FewBoxes { boxes: active, channels }));
    faults
}

/// What is wrong with a ratio of counted to known bytes; `None` if nothing is.
fn of_ratio(of: Of, ratio: f64) -> Option<Fault> {
    let is_near = |factor: f64| (ratio / factor - 1.0).abs() <= NEAR;
    if is_near(1.0) && ratio >= LEAST {
        return None;
    }
    let factor = FACTORS.into_iter().find(|factor| is_near(*factor));
    Some(factor.map_or(Fault::Off { of, ratio }, |factor| Fault::Factor { of, factor, ratio }))
}
