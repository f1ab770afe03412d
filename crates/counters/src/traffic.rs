//! From two snapshots to bytes: of channels and links, of sockets and nodes. Pure.

use std::collections::BTreeMap;

use tiermark_model::NodeId;

use crate::family::{Of, UnitKind};
use crate::snapshot::{Place, Reading, Snapshot};

/// Bytes that one transfer of a memory channel carries: 64 data bits. A tick of its clock has two transfers, so that a
/// line of 64 bytes takes four ticks.
const CHANNEL_BYTES: f64 = 8.0;
/// Payload bytes that one transfer of a link carries each way: the 10 slots of a line, at 3 in a flit and 5/6 flits in
/// 8 transfers, make 2 bytes a transfer exactly.
const LINK_BYTES: f64 = 2.0;
/// The most that a channel can show of its peak. More is no traffic: boxes that are not there read such numbers
/// (1.8e19 was seen). The 5 % are the clocks' difference and the moments at which the two counters are read.
const MOST_UTILISATION: f64 = 1.05;
/// The most that a box without a clock can carry, in bytes a second: more than HBM3 gives a whole package.
const MOST_RATE: f64 = 5e12;
/// A counter that was not always on: the kernel's own times of a group differ by less.
const ALWAYS: f64 = 0.999;

/// What is wrong with the counts of a box.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// The counters took turns, and the counts were scaled from this share of the time.
    Multiplexed {
        /// The box.
        place: Place,
        /// Share of the time that was counted.
        share: f64,
    },
    /// The counters never had their turn.
    NeverCounted {
        /// The box.
        place: Place,
    },
    /// The box was counted at the beginning and not at the end: its cpu went offline.
    Lost {
        /// The box.
        place: Place,
    },
    /// The count went back: something else set the counter.
    WentBack {
        /// The box.
        place: Place,
    },
    /// More than the box can carry; left out of all sums.
    Impossible {
        /// The box.
        place: Place,
        /// Bytes a second.
        rate: f64,
    },
}

/// Bytes of a sum. `None` is not counted, which is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// Bytes read.
    pub read: Option<f64>,
    /// Bytes written.
    pub write: Option<f64>,
    /// Bytes read and written.
    pub total: Option<f64>,
}

impl Sum {
    /// Bytes written for each byte read; `None` if the two are not counted separately, or nothing was read.
    pub fn writes_per_read(&self) -> Option<f64> {
        Some(self.write? / self.read.filter(|read| *read > 0.0)?)
    }
}

/// The traffic of a box of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxTraffic {
    /// The box.
    pub place: Place,
    /// Bytes read; `None` if reads are not counted separately.
    pub read: Option<f64>,
    /// Bytes written; `None` if writes are not counted separately.
    pub write: Option<f64>,
    /// Bytes read and written.
    pub total: f64,
    /// Bytes of `total` that belong to memory of the same node; `None` if that is not counted.
    pub local: Option<f64>,
    /// Transfers that the channel could have made; `None` if its clock is not counted.
    pub transfers: Option<f64>,
}

impl BoxTraffic {
    /// Share of its peak that the channel carried; `None` without a clock that ticks.
    pub fn utilisation(&self) -> Option<f64> {
        Some(self.total / (self.transfers.filter(|transfers| *transfers > 0.0)? * CHANNEL_BYTES))
    }
}

/// The traffic of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkTraffic {
    /// The link, as the socket sees it.
    pub place: Place,
    /// Payload bytes that the socket sent; `None` if they are not counted.
    pub sent: Option<f64>,
    /// Payload bytes that the socket received; `None` if they are not counted.
    pub received: Option<f64>,
    /// Payload bytes that the link could have carried each way; `None` if its clock is not counted or does not tick, as in
    /// a link without a partner.
    pub most: Option<f64>,
}

impl LinkTraffic {
    /// Shares of its peak that the link carried: sent and received.
    pub fn utilisation(&self) -> (Option<f64>, Option<f64>) {
        let share = |bytes: Option<f64>| Some(bytes? / self.most?);
        (share(self.sent), share(self.received))
    }
}

/// The traffic between two snapshots.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traffic {
    /// Seconds between the two.
    pub seconds: f64,
    /// Boxes of memory.
    pub boxes: Vec<BoxTraffic>,
    /// Links.
    pub links: Vec<LinkTraffic>,
    /// What is wrong with the counts.
    pub marks: Vec<Mark>,
}

impl Traffic {
    /// The sum of the boxes that fit; nothing is 0 unless it was counted.
    pub fn sum(&self, fits: impl Fn(&Place) -> bool) -> Sum {
        let boxes = || self.boxes.iter().filter(|own| fits(&own.place));
        let all = |of: fn(&BoxTraffic) -> Option<f64>| -> Option<f64> {
            let bytes: Vec<f64> = boxes().map(of).collect::<Option<_>>()?;
            (!bytes.is_empty()).then(|| bytes.iter().sum())
        };
        Sum { read: all(|own| own.read), write: all(|own| own.write), total: all(|own| Some(own.total)) }
    }

    /// The sum of the machine.
    pub fn whole(&self) -> Sum {
        self.sum(|_| true)
    }

    /// Sums by socket.
    pub fn sockets(&self) -> BTreeMap<u32, Sum> {
        let sockets = self.boxes.iter().filter_map(|own| own.place.socket);
        sockets.map(|socket| (socket, self.sum(|place| place.socket == Some(socket)))).collect()
    }

    /// Sums by node; without the boxes whose node is not known.
    pub fn nodes(&self) -> BTreeMap<NodeId, Sum> {
        let nodes = self.boxes.iter().filter_map(|own| own.place.node);
        nodes.map(|node| (node, self.sum(|place| place.node == Some(node)))).collect()
    }

    /// The same without what an idle machine did, in proportion to the time. No count becomes less than 0.
    #[must_use]
    pub fn minus(&self, idle: &Self) -> Self {
        let scale = if idle.seconds > 0.0 { self.seconds / idle.seconds } else { 0.0 };
        let less =
            |bytes: Option<f64>, idle: Option<f64>| bytes.map(|bytes| (bytes - idle.unwrap_or(0.0) * scale).max(0.0));
        let mut rest = self.clone();
        for own in &mut rest.boxes {
            let Some(quiet) = idle.boxes.iter().find(|other| other.place == own.place) else { continue };
            own.read = less(own.read, quiet.read);
            own.write = less(own.write, quiet.write);
            own.local = less(own.local, quiet.local);
            own.total = less(Some(own.total), Some(quiet.total)).unwrap_or(0.0);
        }
        for own in &mut rest.links {
            let Some(quiet) = idle.links.iter().find(|other| other.place == own.place) else { continue };
            own.sent = less(own.sent, quiet.sent);
            own.received = less(own.received, quiet.received);
        }
        rest
    }
}

/// Bytes on the channels for each useful byte; `None` if they are not counted, or no byte was useful.
pub fn amplification(counted: Option<f64>, useful: f64) -> Option<f64> {
    counted.filter(|_| useful > 0.0).map(|counted| counted / useful)
}

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

/// What a box counted.
#[derive(Default)]
struct Counted {
    bytes: BTreeMap<Of, f64>,
    share: Option<f64>,
    bad: Option<Mark>,
}

/// The traffic between two snapshots of one source.
pub fn traffic(before: &Snapshot, after: &Snapshot) -> Traffic {
    let seconds = after.at.saturating_sub(before.at).as_secs_f64();
    let mut places: BTreeMap<&Place, Counted> = BTreeMap::new();
    let ends: BTreeMap<usize, &Reading> = after.readings.iter().map(|reading| (reading.id, reading)).collect();
    for begin in &before.readings {
        let place = begin.place.clone();
        let counted = places.entry(&begin.place).or_default();
        let Some(end) = ends.get(&begin.id) else {
            counted.bad = Some(Mark::Lost { place });
            continue;
        };
        match delta(begin, end) {
            Delta::Counts(counts, share) => {
                *counted.bytes.entry(begin.of).or_default() += counts * begin.each;
                counted.share = Some(counted.share.unwrap_or(1.0).min(share));
            }
            Delta::Never => counted.bad = Some(Mark::NeverCounted { place }),
            Delta::Back => counted.bad = Some(Mark::WentBack { place }),
        }
    }
    let mut found = Traffic { seconds, ..Traffic::default() };
    for (place, counted) in places {
        add(&mut found, place, counted);
    }
    found
}

/// Adds a box or a link, unless its counts are of no use.
fn add(found: &mut Traffic, place: &Place, counted: Counted) {
    let place = place.clone();
    if let Some(bad) = counted.bad {
        found.marks.push(bad);
        return;
    }
    let bytes = |of: Of| counted.bytes.get(&of).copied();
    if place.kind == UnitKind::Link {
        let most = bytes(Of::Clock).map(|transfers| transfers * LINK_BYTES).filter(|most| *most > 0.0);
        found.links.push(LinkTraffic {
            place: place.clone(),
            sent: bytes(Of::Sent),
            received: bytes(Of::Received),
            most,
        });
    } else {
        let (read, write) = (bytes(Of::Read), bytes(Of::Write));
        let Some(total) = bytes(Of::Both).or(read.zip(write).map(|(read, write)| read + write)) else { return };
        let own = BoxTraffic {
            place: place.clone(),
            read,
            write,
            total,
            local: bytes(Of::Local),
            transfers: bytes(Of::Clock),
        };
        let rate = if found.seconds > 0.0 { total / found.seconds } else { 0.0 };
        if own.utilisation().is_some_and(|share| share > MOST_UTILISATION) || rate > MOST_RATE {
            found.marks.push(Mark::Impossible { place, rate });
            return;
        }
        found.boxes.push(own);
    }
    if let Some(share) = counted.share.filter(|share| *share < ALWAYS) {
        found.marks.push(Mark::Multiplexed { place, share });
    }
}
