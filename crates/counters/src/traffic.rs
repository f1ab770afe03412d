//! From two snapshots to bytes: of channels and links, of sockets and nodes. Pure.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{BoxKind, BoxPlace, BoxTraffic, CounterMark, LinkShares, LinkStated, LinkTraffic, Traffic};

use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::zero_counts;

/// Payload bytes that one transfer of a link carries each way: the 10 slots of a line, at 3 in a flit and 5/6 flits in
/// 8 transfers, make 2 bytes a transfer exactly.
const LINK_BYTES: f64 = 2.0;
/// The most that a channel can show of its peak. More is no traffic: boxes that are not there read such numbers
/// (1.8e19 was seen). The 5 % are the clocks' difference and the moments at which the two counters are read.
const MOST_UTILISATION: f64 = 1.05;
/// The most that a box without a clock can carry, in bytes a second: more than HBM3 gives a whole package.
const MOST_RATE: f64 = 5e12;
/// The most that a channel without a clock can carry: more than any DDR memory has.
const MOST_CHANNEL: f64 = 1e11;
/// A counter that was not always on: the kernel's own times of a group differ by less.
const ALWAYS: f64 = 0.999;

/// What one counter counted, with what is wrong with it.
enum Delta {
    Counts(f64, f64),
    Never,
    Back,
}

/// The difference of two readings of a counter.
fn delta(before: &Reading, after: &Reading) -> Delta {
    let most = u64::MAX.checked_shr(u64::BITS - before.bits.clamp(1, u64::BITS)).unwrap_or(u64::MAX);
    let counts = after.count.wrapping_sub(before.count) & most;
    // A counter that wraps has gone less than half of its way: it is read often enough. One that was set back has not.
    if after.count < before.count && counts > most / 2 {
        return Delta::Back;
    }
    let enabled = after.enabled_ns.saturating_sub(before.enabled_ns) as f64;
    let running = after.running_ns.saturating_sub(before.running_ns) as f64;
    match (enabled > 0.0, running > 0.0) {
        (true, false) => Delta::Never,
        // Sources that know no turns.
        (false, _) => Delta::Counts(counts as f64, 1.0),
        (true, true) => {
            let share = (running / enabled).min(1.0);
            Delta::Counts(if share < ALWAYS { counts as f64 / share } else { counts as f64 }, share)
        }
    }
}

/// The traffic between two snapshots of one source.
pub fn traffic(before: &Snapshot, after: &Snapshot) -> Traffic {
    let seconds = after.at.saturating_sub(before.at).as_secs_f64();
    // A file that had no line yet began to count at 0.
    let began = before.readings.is_empty().then(|| after.zero(before.at));
    let before = began.as_ref().unwrap_or(before);
    let mut places: BTreeMap<&BoxPlace, Counted> = BTreeMap::new();
    let ends: BTreeMap<usize, &Reading> = after.readings.iter().map(|reading| (reading.id, reading)).collect();
    for begin in &before.readings {
        let place = begin.place.clone();
        let counted = places.entry(&begin.place).or_default();
        let Some(end) = ends.get(&begin.id) else {
            if !begin.of.is_stated() {
                counted.bad = Some(CounterMark::Lost { place });
            }
            continue;
        };
        match delta(begin, end) {
            Delta::Counts(counts, share) => {
                *counted.bytes.entry(begin.of).or_default() += counts * begin.each;
                counted.ever.extend((end.count > 0).then_some(begin.of));
                counted.least = counted.least.max(end.least);
                counted.share = Some(counted.share.unwrap_or(1.0).min(share));
            }
            Delta::Never => counted.bad = Some(CounterMark::NeverCounted { place }),
            Delta::Back => counted.bad = Some(CounterMark::WentBack { place }),
        }
    }
    for place in before.lost.iter().chain(&after.lost) {
        places.entry(place).or_default().bad = Some(CounterMark::Lost { place: place.clone() });
    }
    zero_counts::mark(&mut places, seconds);
    let mut found = Traffic { seconds, ..Traffic::default() };
    for (place, counted) in places {
        add(&mut found, place, counted);
    }
    found
}

/// The most that a box without a clock can carry, in bytes a second.
fn most_of(kind: BoxKind) -> f64 {
    if kind == BoxKind::Channel { MOST_CHANNEL } else { MOST_RATE }
}

/// Adds a box or a link, unless its counts are of no use.
fn add(found: &mut Traffic, place: &BoxPlace, counted: Counted) {
    let place = place.clone();
    if let Some(bad) = counted.bad {
        found.marks.push(bad);
        if !counted.is_empty {
            found.missing.push(place);
        }
        return;
    }
    let bytes = |of: Of| counted.bytes.get(&of).copied();
    if place.kind == BoxKind::Link {
        let most = bytes(Of::Clock).map(|transfers| transfers * LINK_BYTES).filter(|most| *most > 0.0);
        let stated = LinkStated {
            sent_all: bytes(Of::SentAll),
            sent_all_seconds: bytes(Of::SentAllSeconds),
            received_seconds: bytes(Of::ReceivedSeconds),
        };
        let (sent, received) = (bytes(Of::Sent), bytes(Of::Received));
        let own = LinkTraffic { place: place.clone(), sent, received, most, stated };
        // Of counts only: shares that a program states need a time.
        let LinkShares { sent, received, .. } = own.shares(0.0);
        let busiest = own.sent.unwrap_or(0.0).max(own.received.unwrap_or(0.0));
        let rate = if found.seconds > 0.0 { busiest / found.seconds } else { 0.0 };
        if sent.into_iter().chain(received).any(|share| share > MOST_UTILISATION) || rate > MOST_RATE {
            found.marks.push(CounterMark::Impossible { place: place.clone(), rate });
            found.missing.push(place);
            return;
        }
        found.links.push(own);
    } else {
        let (read, write) = (bytes(Of::Read), bytes(Of::Write));
        // A source that counts reads only gives a lower bound of both.
        let sum = read.zip(write).map(|(read, write)| read + write);
        let Some(total) = bytes(Of::Both).or(sum).or(read) else { return };
        let own = BoxTraffic {
            place: place.clone(),
            read,
            write,
            total,
            local: bytes(Of::Local),
            transfers: bytes(Of::Clock),
        };
        let rate = if found.seconds > 0.0 { total / found.seconds } else { 0.0 };
        if own.utilisation().map_or(rate > most_of(place.kind), |share| share > MOST_UTILISATION) || rate > MOST_RATE {
            found.marks.push(CounterMark::Impossible { place: place.clone(), rate });
            if is_there(own.transfers, found.seconds) {
                found.missing.push(place);
            }
            return;
        }
        found.boxes.push(own);
    }
    if let Some(share) = counted.share.filter(|share| *share < ALWAYS) {
        found.marks.push(CounterMark::Multiplexed { place, share });
    }
}

/// The most transfers of a channel in a second: more than any DDR and LPDDR memory has.
const MOST_TRANSFERS: f64 = 2e10;

/// What a box counted.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) bytes: BTreeMap<Of, f64>,
    /// What has counted anything since its counters began.
    pub(crate) ever: BTreeSet<Of>,
    /// Bytes a second that its source rounds to 0.
    pub(crate) least: f64,
    pub(crate) share: Option<f64>,
    pub(crate) bad: Option<CounterMark>,
    /// Whether a sum is whole without it.
    pub(crate) is_empty: bool,
}

/// Whether a box can have memory. The clock of a box without modules stands still or is impossible, and its counts can
/// be anything: such a box is no part of a sum. Sources without clocks do not list such boxes, so all their boxes
/// belong to sums.
pub(crate) fn is_there(transfers: Option<f64>, seconds: f64) -> bool {
    transfers.is_none_or(|transfers| transfers > 0.0 && transfers <= MOST_TRANSFERS * seconds)
}
