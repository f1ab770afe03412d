//! Sources of counters of memory traffic, and how far the counts of a run can be trusted.

use serde::{Deserialize, Serialize};

use crate::{Note, Refusal};

/// A source of counters, in the order in which they are preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CounterSourceId {
    /// Event sources of memory controllers and links, through the kernel (`perf_event_open`).
    Perf,
    /// Rates of the firmware of EPYC processors, through the driver `amd_hsmp`.
    Hsmp,
    /// Memory bandwidth monitoring, through `resctrl`.
    Resctrl,
    /// The output of `pcm-memory -csv`.
    PcmMemory,
    /// The output of `pcm -csv`.
    Pcm,
    /// The output of `likwid-perfctr -O`.
    Likwid,
    /// Lines that cores missed in the last-level cache: at least so much was read.
    Core,
    /// The scripted traffic of a simulated machine.
    Simulated,
    /// No counters.
    None,
}

impl CounterSourceId {
    /// The name, as in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::Hsmp => "hsmp",
            Self::Resctrl => "resctrl",
            Self::PcmMemory => "pcm-memory",
            Self::Pcm => "pcm",
            Self::Likwid => "likwid",
            Self::Core => "core",
            Self::Simulated => "simulated",
            Self::None => "none",
        }
    }

    /// Whether it counts in intervals of its own, of about a second: shots of milliseconds cannot be told apart in its
    /// counts.
    pub fn has_intervals(self) -> bool {
        matches!(self, Self::Hsmp | Self::PcmMemory | Self::Pcm | Self::Likwid)
    }
}

/// Something that a source sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CounterSight {
    /// Bytes read from memory.
    Reads,
    /// Bytes written to memory.
    Writes,
    /// Bytes read and written, not separated.
    Total,
    /// Each channel by itself.
    Channels,
    /// Share of a channel's peak.
    Utilisation,
    /// Payload that a socket sent to others.
    LinkSent,
    /// Payload that a socket received from others.
    LinkReceived,
    /// Share of the traffic that went to memory of the same node.
    LocalShare,
    /// Reads only in part: counts are a lower bound.
    LowerBound,
}

impl CounterSight {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Reads,
        Self::Writes,
        Self::Total,
        Self::Channels,
        Self::Utilisation,
        Self::LinkSent,
        Self::LinkReceived,
        Self::LocalShare,
        Self::LowerBound,
    ];

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Total => "reads and writes together",
            Self::Channels => "each channel",
            Self::Utilisation => "share of peak",
            Self::LinkSent => "link sent",
            Self::LinkReceived => "link received",
            Self::LocalShare => "local share",
            Self::LowerBound => "lower bound only",
        }
    }
}

/// A source of counters, and whether it can be opened here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterSourceInfo {
    /// Which source it is.
    pub source: CounterSourceId,
    /// Whether it opened; `None` if that was not tried, as on a captured machine.
    pub opens: Option<bool>,
    /// What it sees here; for a source that does not open, what it would see. Empty if that is not known.
    pub sees: Vec<CounterSight>,
    /// Boxes that it counts, each with the sockets that it is counted on.
    pub boxes: Vec<CounterBox>,
    /// Why it does not open, or was not tried.
    pub refused: Option<Refusal>,
    /// What was found on the way.
    pub notes: Vec<Note>,
}

/// A box that is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterBox {
    /// Its name in the kernel.
    pub name: String,
    /// Sockets that it is counted on.
    pub sockets: Vec<u32>,
}

/// The counters of a run: who counted, and how far the counts can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCounters {
    /// The source; `none` if none opened.
    pub source: CounterSourceId,
    /// What it sees. It sees nothing else.
    pub sees: Vec<CounterSight>,
    /// Sources that are preferred and did not open.
    pub passed_over: Vec<PassedOver>,
    /// Counts compared with a stream of known bytes; `None` if that was not done.
    pub check: Option<CounterCheck>,
    /// What was found on the way.
    pub notes: Vec<Note>,
}

impl RunCounters {
    /// Whether figures may rest on the counts: a known stream was counted as it was, and by more than a lower bound.
    pub fn can_be_trusted(&self) -> bool {
        let agrees = self.check.as_ref().is_some_and(|check| check.faults.is_empty());
        agrees && !self.sees.contains(&CounterSight::LowerBound)
    }
}

/// A source that did not open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassedOver {
    /// Which it is.
    pub source: CounterSourceId,
    /// Why.
    pub refusal: Refusal,
}

/// Counts beside a stream whose bytes are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterCheck {
    /// Bytes that the stream read and wrote; only those that it read, if the source counts reads only.
    pub known: f64,
    /// Bytes that were counted meanwhile, without those of the idle machine; `None` if no box counted.
    pub counted: Option<f64>,
    /// What is wrong. Empty: the counts can be trusted.
    pub faults: Vec<Note>,
    /// Links beside streams between sockets; `None` if no link is counted, or there are not exactly two sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkCheck>,
}

/// Counts of links beside streams of each of two sockets through the memory of the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCheck {
    /// What sockets sent; `None` if that is not counted.
    pub sent: Option<WayCheck>,
    /// What sockets received; `None` if that is not counted.
    pub received: Option<WayCheck>,
}

impl LinkCheck {
    /// Whether what a source sees was not found wrong here.
    pub fn has_right(&self, sight: CounterSight) -> bool {
        let way = match sight {
            CounterSight::LinkSent => &self.sent,
            CounterSight::LinkReceived => &self.received,
            _ => return true,
        };
        way.as_ref().is_none_or(|way| way.fault.is_none())
    }
}

/// One direction over links, beside a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WayCheck {
    /// Bytes counted for each byte of the stream, of the socket where they are furthest from 1.
    pub ratio: f64,
    /// What is wrong. Then this direction is left out of the run.
    pub fault: Option<Note>,
}
