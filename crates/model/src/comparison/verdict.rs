//! The verdict of a compared number: better, worse or the same, or why that is not sure or not asked.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::idset::IdSet;
use crate::machine::CoreKind;
use crate::state::StateKind;
use crate::units::Bytes;

/// The conclusion on a number of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub enum ChangeVerdict {
    /// Better by more than the threshold, beyond chance.
    Better,
    /// Worse by more than the threshold, beyond chance.
    Worse,
    /// The two values, with the intervals of their visits, lie within the threshold.
    Same,
    /// Neither a change nor its absence is shown.
    Unsure(Doubt),
    /// The two do not describe one thing, or one of them is not to be trusted.
    NotComparable(Obstacle),
}

impl ChangeVerdict {
    /// The verdict in a word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unsure(_) => "unsure",
            Self::NotComparable(_) => "not comparable",
        }
    }

    /// Whether it is better or worse.
    pub fn has_moved(&self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }
}

/// Why neither a change nor its absence is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The change exceeds the threshold, but may be chance.
    MayBeChance,
    /// The interval of the change reaches beyond the threshold.
    WideInterval,
    /// Both are bounds.
    BothBounds,
    /// One is a bound, which the other does not contradict.
    OpenBound,
    /// One has no interval.
    NoInterval,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MayBeChance => {
                "changed by more than the threshold, but runs of an unchanged machine may differ as much"
            }
            Self::WideInterval => "the interval of the change reaches beyond the threshold",
            Self::BothBounds => "both are bounds",
            Self::OpenBound => "one is a bound that the other does not contradict",
            Self::NoInterval => "at least one has no interval",
        })
    }
}

/// Why two numbers are not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "obstacle")]
pub enum Obstacle {
    /// Only the first run has it.
    OnlyInFirst,
    /// Only the other run has it.
    OnlyInOther,
    /// Different probes measured them.
    Probe {
        /// That of the first run.
        first: String,
        /// That of the other run.
        other: String,
    },
    /// The methods of the probe differ.
    Method {
        /// Version in the first run.
        first: u32,
        /// Version in the other run.
        other: u32,
    },
    /// The other machine was measured over other ranges, since its last-level cache has another size.
    Ranges,
    /// The footprints of the tier differ.
    WorkingSet {
        /// In the first run.
        first: Option<Bytes>,
        /// In the other run.
        other: Option<Bytes>,
    },
    /// The runs chose different kernels, and no kernel has a value in both.
    Kernels {
        /// That of the first run.
        first: String,
        /// That of the other run.
        other: String,
    },
    /// The numbers are of different states of the cpus.
    State {
        /// In the first run.
        first: SeenState,
        /// In the other run.
        other: SeenState,
    },
    /// The numbers are of cpus of different nodes or kinds.
    Cpus {
        /// Those of the first run.
        first: CpuPlace,
        /// Those of the other run.
        other: CpuPlace,
    },
    /// At least one is suspect.
    Suspect,
    /// At least one was withheld or not measured.
    Missing,
    /// One is a middle and the other an edge.
    Estimate,
    /// Tails of blocks, disturbed ones included, what caches held, and cold latency: they describe conditions during
    /// the run.
    OfTheHour,
    /// The same name may be another piece of the machine in each run: a region of a scan, a cpu of a guest.
    Place,
    /// Shares of the time of fewer than 20 interruptions in both runs.
    FewEvents,
    /// Sizes, counts and shares: neither more nor less is better.
    NoDirection,
}

/// The state of the cpus that a number is of, as far as its run shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeenState {
    /// The state; `None` where the run saw one state only, which nothing names.
    pub state: Option<StateKind>,
    /// The typical round trip between the cpus, ns, where it tells which state this was.
    pub round_trip_ns: Option<f64>,
}

impl fmt::Display for SeenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.state, self.round_trip_ns) {
            // Tens of ns: states are further apart, and steps of one state are not.
            (None, Some(ns)) => {
                write!(f, "a round trip between cpus took about {:.0} ns", (ns / 10.0).round().max(1.0) * 10.0)
            }
            (state, _) => f.write_str(&state.unwrap_or(StateKind::Unmoved).words()),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: &Option<Bytes>| bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string());
        match self {
            Self::OnlyInFirst => write!(f, "only the first run has them"),
            Self::OnlyInOther => write!(f, "only the other run has them"),
            Self::Probe { first, other } => write!(f, "of different probes: {first} against {other}"),
            Self::Method { first, other } => {
                write!(f, "measured by an older method: not comparable (version {first} against {other})")
            }
            Self::Ranges => write!(f, "measured over different ranges, because the last-level caches differ in size"),
            // Sizes that differ by less than they are rounded to.
            Self::WorkingSet { first: Some(first), other: Some(other) } if first.to_string() == other.to_string() => {
                write!(f, "working set of a thread {} B against {} B", first.0, other.0)
            }
            Self::WorkingSet { first, other } => {
                write!(f, "working set of a thread {} against {}", size(first), size(other))
            }
            Self::Kernels { first, other } => write!(f, "of different kernels, {first} against {other}"),
            Self::Cpus { first, other } => write!(f, "{first} against {other}"),
            Self::State { first, other } => {
                write!(f, "of different states: {first} in the first run, and {other} in the other")
            }
            Self::Suspect => write!(f, "suspect in at least one run"),
            Self::Missing => write!(f, "withheld or not measured in at least one run"),
            Self::Estimate => write!(f, "a capability against a typical value"),
            Self::OfTheHour => {
                write!(
                    f,
                    "tails, what caches held, cold latency: they describe conditions during the run, not the hardware"
                )
            }
            Self::Place => write!(f, "of one region or one pair of cpus, which may be others in each run"),
            Self::FewEvents => write!(f, "of fewer than {} interruptions in both runs", crate::FEWEST_JUDGED),
            Self::NoDirection => write!(f, "sizes, counts and shares, of which neither more nor less is better"),
        }
    }
}

/// Where the cpus of a run lie that were asked for: those of other nodes or of another kind have other figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CpuPlace {
    /// Their nodes.
    pub nodes: IdSet,
    /// Their kinds, where the machine has several.
    pub kinds: BTreeSet<CoreKind>,
}

impl fmt::Display for CpuPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |kind: &CoreKind| match kind {
            CoreKind::Performance => "performance cores",
            CoreKind::Efficiency => "efficiency cores",
            CoreKind::LowPower => "low-power cores",
        };
        let kinds = self.kinds.iter().map(kind).collect::<Vec<_>>().join(" and ");
        match (self.nodes.is_empty(), kinds.is_empty()) {
            (true, true) => f.write_str("cpus without a node"),
            (true, false) => f.write_str(&kinds),
            (false, true) => write!(f, "cpus of nodes {}", self.nodes),
            (false, false) => write!(f, "{kinds} of nodes {}", self.nodes),
        }
    }
}
