//! Sources of counters of memory traffic.

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
    /// A running `pcm-sensor-server`.
    PcmServer,
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
            Self::PcmServer => "pcm-server",
            Self::PcmMemory => "pcm-memory",
            Self::Pcm => "pcm",
            Self::Likwid => "likwid",
            Self::Core => "core",
            Self::Simulated => "simulated",
            Self::None => "none",
        }
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
