//! The states of a machine during a run, and its changes.

use serde::{Deserialize, Serialize};

/// A state that a shared machine moves in and out of. All states are inferred: a hypervisor reports none of them to its
/// guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum StateKind {
    /// All pairs of the threads' cpus answer each other as fast as any pair was seen to: they share a last-level cache.
    Near,
    /// Of the pairs of the threads' cpus that were looked at, so many lie further apart than cpus of one last-level
    /// cache.
    Apart {
        /// Pairs that lie apart.
        apart: u32,
        /// Pairs looked at.
        of: u32,
    },
    /// All pairs of cpus answered each other alike during the whole run: the cpus stayed in one placement, which
    /// nothing names, since there is no other to compare with.
    Unmoved,
    /// The threads' cpus are hardware threads of one core: what both do at once nearly halves.
    OneCore,
    /// No two of the pinged cpus share a core. Used for threads with a private cache each, because no other property of
    /// the placement affects their rates.
    OwnCores,
    /// Something else runs on the other hardware thread of a core.
    Sibling,
    /// Others use the same cache or memory.
    Shared,
}

impl StateKind {
    /// The state in words, as the rest of a sentence that begins with "while".
    pub fn words(self) -> String {
        match self {
            Self::Near => "the cpus probably shared one last-level cache".to_owned(),
            Self::Apart { apart, of } if apart == of => "the cpus probably had different last-level caches".to_owned(),
            Self::Apart { apart, of } => {
                format!("{apart} of {of} pairs of cpus probably had different last-level caches")
            }
            Self::Unmoved => "the cpus probably stayed in one placement".to_owned(),
            Self::OneCore => "the cpus were probably on one core".to_owned(),
            Self::OwnCores => "the cpus were probably on different cores".to_owned(),
            Self::Sibling => "a neighbour was probably on the other hardware thread".to_owned(),
            Self::Shared => "others used the same cache or memory".to_owned(),
        }
    }
}

/// A state, how often it was seen, and for how long at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// Kind of state.
    #[serde(flatten)]
    pub state: StateKind,
    /// Share of the time between the first and the last visit that could see it.
    pub share: f64,
    /// Visits that could see it.
    pub visits: u64,
    /// How long it lasted, seconds: the 10th and 90th percentile; `None` where it never ended or too little of it was
    /// seen.
    pub lasts: Option<[f64; 2]>,
    /// The median round trip between cpus in this state, ns; `None` for states that pings do not identify.
    pub ping_ns: Option<f64>,
}

/// The number of a step in one state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InState {
    /// Kind of state.
    #[serde(flatten)]
    pub state: StateKind,
    /// The edge of its windows in it, in the observation's unit.
    pub value: f64,
    /// Share of the windows near the edge.
    pub share: f64,
    /// Clean windows.
    pub windows: u64,
    /// Visits of the step in this state.
    pub visits: u64,
}

/// A change of the machine while it was measured, as a step that is revisited all the time has shown it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Id of the step whose figure changed.
    pub step: String,
    /// When it changed, seconds from the start of the run; `None` in documents that only measured at both ends.
    pub at_seconds: Option<f64>,
    /// The relative change of its level.
    pub change: f64,
    /// How likely visits without a change look like this; `None` in documents that only measured at both ends.
    pub p_value: Option<f64>,
}
