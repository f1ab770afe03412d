//! The traffic of memory and of links between sockets, as counters of the hardware see it.
//!
//! What is not counted is `None`, which is not 0.

mod link;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counters::{CounterSight, LinkCheck};
use crate::idset::NodeId;
pub use link::{LinkShares, LinkStated, LinkTraffic};

/// Bytes that one transfer of a memory channel carries: 64 data bits. A tick of its clock has two transfers, so that a
/// line of 64 bytes takes four ticks.
pub const CHANNEL_BYTES: f64 = 8.0;

/// What a box is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BoxKind {
    /// One memory channel.
    Channel,
    /// A controller of several channels, or all memory of a socket.
    Memory,
    /// A link to other sockets.
    Link,
    /// A last-level cache whose traffic to memory is counted.
    Cache,
}

/// Whose traffic a count is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoxPlace {
    /// The socket; `None` if the source does not name it.
    pub socket: Option<u32>,
    /// The NUMA node; `None` if the socket has several and the source does not say whose a box is.
    pub node: Option<NodeId>,
    /// What the box is.
    pub kind: BoxKind,
    /// Its name in the source: `uncore_imc_0`.
    pub unit: String,
}

/// What is wrong with the counts of a box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CounterMark {
    /// The counters took turns, and the counts were scaled from this share of the time.
    Multiplexed {
        /// The box.
        place: BoxPlace,
        /// Share of the time that was counted.
        share: f64,
    },
    /// The counters never had their turn.
    NeverCounted {
        /// The box.
        place: BoxPlace,
    },
    /// The box was counted before and is no longer: its cpu went offline, or its source no longer has it.
    Lost {
        /// The box.
        place: BoxPlace,
    },
    /// The count went back: something else set the counter.
    WentBack {
        /// The box.
        place: BoxPlace,
    },
    /// More than the box can carry; left out of all sums.
    Impossible {
        /// The box.
        place: BoxPlace,
        /// Bytes a second.
        rate: f64,
    },
    /// What it counts is 0, from the beginning or from some time on, while other traffic shows that this cannot be;
    /// left out of all sums.
    Silent {
        /// The box.
        place: BoxPlace,
        /// Its counts that are 0: reads, writes, or both together.
        counts: CounterSight,
        /// Bytes a second that the memory of the machine moved meanwhile, as far as it was counted.
        beside: f64,
    },
    /// It counts reads or writes only; left out of all sums.
    Partial {
        /// The box.
        place: BoxPlace,
        /// What it counts.
        counts: CounterSight,
    },
}

impl CounterMark {
    /// The box that it is about.
    pub fn place(&self) -> &BoxPlace {
        match self {
            Self::Multiplexed { place, .. }
            | Self::NeverCounted { place }
            | Self::Lost { place }
            | Self::WentBack { place }
            | Self::Impossible { place, .. }
            | Self::Silent { place, .. }
            | Self::Partial { place, .. } => place,
        }
    }

    /// Whether another says the same of the same box.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.place() == other.place()
    }
}

/// Bytes of a sum. `None` is not counted, which is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrafficSum {
    /// Bytes read.
    pub read: Option<f64>,
    /// Bytes written.
    pub write: Option<f64>,
    /// Bytes read and written.
    pub total: Option<f64>,
}

impl TrafficSum {
    /// Share of the bytes that was read; `None` if reads and writes are not both counted, or nothing moved.
    pub fn read_share(&self) -> Option<f64> {
        let (read, write) = (self.read?, self.write?);
        (read + write > 0.0).then(|| read / (read + write))
    }

    /// Bytes written for each byte read; `None` if the two are not counted separately, or nothing was read.
    pub fn writes_per_read(&self) -> Option<f64> {
        Some(self.write? / self.read.filter(|read| *read > 0.0)?)
    }
}

/// The traffic of a box of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoxTraffic {
    /// The box.
    pub place: BoxPlace,
    /// Bytes read; `None` if reads are not counted separately.
    pub read: Option<f64>,
    /// Bytes written; `None` if writes are not counted separately.
    pub write: Option<f64>,
    /// Bytes read and written; of a source that counts reads only, a lower bound of both: the reads.
    pub total: f64,
    /// Bytes of `total` that belong to memory of the same node; `None` if that is not counted.
    pub local: Option<f64>,
    /// Transfers that the channel could have made; `None` if its clock is not counted.
    pub transfers: Option<f64>,
}

impl BoxTraffic {
    /// Share of its peak that the channel carried; `None` without a clock that ticks.
    pub fn utilisation(&self) -> Option<f64> {
        Some(self.total / self.most().filter(|most| *most > 0.0)?)
    }

    /// Bytes that the channel could have carried; `None` if its clock is not counted.
    pub fn most(&self) -> Option<f64> {
        Some(self.transfers? * CHANNEL_BYTES)
    }
}

/// The traffic between two snapshots.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traffic {
    /// Seconds between the two.
    pub seconds: f64,
    /// Boxes of memory.
    pub boxes: Vec<BoxTraffic>,
    /// Links.
    pub links: Vec<LinkTraffic>,
    /// What is wrong with the counts.
    pub marks: Vec<CounterMark>,
    /// Boxes and links that the source has and that were not counted: a sum without them is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<BoxPlace>,
}

impl Traffic {
    /// The sum of the boxes that fit; nothing is 0 unless it was counted.
    pub fn sum(&self, fits: impl Fn(&BoxPlace) -> bool) -> TrafficSum {
        let boxes = || self.boxes.iter().filter(|own| fits(&own.place));
        let all = |field: fn(&BoxTraffic) -> Option<f64>| -> Option<f64> {
            let bytes: Vec<f64> = boxes().map(field).collect::<Option<_>>()?;
            let is_whole = !self.missing.iter().any(|place| place.kind != BoxKind::Link && fits(place));
            (is_whole && !bytes.is_empty()).then(|| bytes.iter().sum())
        };
        TrafficSum { read: all(|own| own.read), write: all(|own| own.write), total: all(|own| Some(own.total)) }
    }

    /// The sum of the machine.
    pub fn whole(&self) -> TrafficSum {
        self.sum(|_| true)
    }

    /// Sums by socket.
    pub fn sockets(&self) -> BTreeMap<u32, TrafficSum> {
        let sockets = self.boxes.iter().filter_map(|own| own.place.socket);
        sockets.map(|socket| (socket, self.sum(|place| place.socket == Some(socket)))).collect()
    }

    /// Sums by node; without the boxes whose node is not known.
    pub fn nodes(&self) -> BTreeMap<NodeId, TrafficSum> {
        let nodes = self.boxes.iter().filter_map(|own| own.place.node);
        nodes.map(|node| (node, self.sum(|place| place.node == Some(node)))).collect()
    }

    /// The bytes that a socket sent, or those that it received, over all its links: `way` takes one of the two from a
    /// link. `None` if a link was not counted, or the socket has none.
    pub fn over_links(&self, socket: u32, way: impl Fn(&LinkTraffic) -> Option<f64>) -> Option<f64> {
        let is_here = |place: &BoxPlace| place.kind == BoxKind::Link && place.socket == Some(socket);
        let is_whole = !self.missing.iter().any(is_here);
        let links: Vec<f64> = self.links.iter().filter(|link| is_here(&link.place)).map(way).collect::<Option<_>>()?;
        (is_whole && !links.is_empty()).then(|| links.iter().sum())
    }

    /// How full the links of a socket were: the mean of the shares of peak that are known; `None` if no share is known.
    pub fn share_of_links(&self, socket: u32, way: impl Fn(LinkShares) -> Option<f64>) -> Option<f64> {
        let own = self.links.iter().filter(|link| link.place.socket == Some(socket));
        let shares: Vec<f64> = own.filter_map(|link| way(link.shares(self.seconds))).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// Removes what links sent, or what they received, where a check found it wrong.
    pub fn remove_wrong(&mut self, check: &LinkCheck) {
        for link in &mut self.links {
            link.sent = link.sent.filter(|_| check.has_right(CounterSight::LinkSent));
            link.received = link.received.filter(|_| check.has_right(CounterSight::LinkReceived));
        }
    }

    /// Adds the traffic of another time. A box that either lacks is left out: its sum would be of a part of the time.
    pub fn add(&mut self, other: &Self) {
        let both = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let first = self.seconds == 0.0 && self.boxes.is_empty() && self.links.is_empty();
        if first {
            self.boxes.clone_from(&other.boxes);
            self.links.clone_from(&other.links);
        } else {
            self.boxes.retain_mut(|own| {
                let Some(more) = other.boxes.iter().find(|more| more.place == own.place) else { return false };
                (own.read, own.write) = (both(own.read, more.read), both(own.write, more.write));
                (own.local, own.transfers) = (both(own.local, more.local), both(own.transfers, more.transfers));
                own.total += more.total;
                true
            });
            self.links.retain_mut(|own| {
                let Some(more) = other.links.iter().find(|more| more.place == own.place) else { return false };
                own.add(more);
                true
            });
        }
        self.seconds += other.seconds;
        self.missing
            .extend(other.missing.iter().filter(|place| !self.missing.contains(place)).cloned().collect::<Vec<_>>());
        self.note(&other.marks);
    }

    /// Adds what is wrong with the counts of another time.
    fn note(&mut self, marks: &[CounterMark]) {
        let new = marks.iter().filter(|mark| !self.marks.iter().any(|own| own.is_like(mark)));
        self.marks.extend(new.cloned().collect::<Vec<_>>());
    }

    /// The same without what an idle machine did, in proportion to the time. No count becomes less than 0.
    #[must_use]
    pub fn minus(&self, idle: &Self) -> Self {
        let scale = if idle.seconds > 0.0 { self.seconds / idle.seconds } else { 0.0 };
        let less =
            |bytes: Option<f64>, idle: Option<f64>| bytes.map(|bytes| (bytes - idle.unwrap_or(0.0) * scale).max(0.0));
        let mut rest = self.clone();
        for own in &mut rest.boxes {
            let Some(baseline) = idle.boxes.iter().find(|other| other.place == own.place) else { continue };
            own.read = less(own.read, baseline.read);
            own.write = less(own.write, baseline.write);
            own.local = less(own.local, baseline.local);
            own.total = less(Some(own.total), Some(baseline.total)).unwrap_or(0.0);
        }
        for own in &mut rest.links {
            let Some(baseline) = idle.links.iter().find(|other| other.place == own.place) else { continue };
            own.sent = less(own.sent, baseline.sent);
            own.received = less(own.received, baseline.received);
        }
        rest
    }
}

/// Bytes on the channels for each useful byte; `None` if they are not counted, or no byte was useful.
pub fn amplification(counted: Option<f64>, useful: f64) -> Option<f64> {
    counted.filter(|_| useful > 0.0).map(|counted| counted / useful)
}

/// The traffic during the shots of a step, beside the useful bytes of its threads in the same time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepTraffic {
    /// Bytes that all streams of the step used, from the opening of the gate on; `None` without streams. A chase beside
    /// them moves a line for each access, which is not among them.
    pub useful: Option<f64>,
    /// What the counters saw, without what the idle machine does. Before and after the shots it also has pings and
    /// wake-ups.
    pub counted: Traffic,
    /// Energy of all processors, and of their memory where the processor reports it, beyond that of the idle machine,
    /// in joules (RAPL); `None` where it cannot be read.
    pub joules: Option<f64>,
}

impl StepTraffic {
    /// Adds the traffic of another shot. One in which a box was not counted, or not all the time, only adds what is
    /// wrong: neither its bytes nor its useful ones count.
    pub fn add(&mut self, other: &Self) {
        let is_wrong = |mark: &CounterMark| mark.place().kind != BoxKind::Link;
        if !other.counted.missing.is_empty() || other.counted.marks.iter().any(is_wrong) {
            self.counted.note(&other.counted.marks);
            return;
        }
        let both = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let first = self.counted.seconds == 0.0;
        self.useful = if first { other.useful } else { both(self.useful, other.useful) };
        self.joules = if first { other.joules } else { both(self.joules, other.joules) };
        self.counted.add(&other.counted);
    }

    /// The same without what the idle machine does, by its traffic and its watts.
    #[must_use]
    pub fn without_idle(&self, idle: Option<&Traffic>, watts: Option<f64>) -> Self {
        let counted = idle.map_or_else(|| self.counted.clone(), |idle| self.counted.minus(idle));
        let joules = self.joules.zip(watts).map(|(joules, watts)| (joules - watts * self.counted.seconds).max(0.0));
        Self { counted, joules, ..self.clone() }
    }

    /// Bytes on the channels for each useful byte, read and written apart.
    pub fn amplifications(&self) -> Option<(f64, f64)> {
        let (useful, whole) = (self.useful.filter(|useful| *useful > 0.0)?, self.counted.whole());
        Some((whole.read? / useful, whole.write? / useful))
    }

    /// Bytes on the channels for each useful byte.
    pub fn amplification(&self) -> Option<f64> {
        amplification(self.counted.whole().total, self.useful?)
    }
}
