//! What tells one measurement from another, as named values.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::purpose::Purpose;
use crate::units::Bytes;

/// One label: a word or a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Label {
    /// A whole number (sizes in bytes, counts).
    Whole(u64),
    /// A word.
    Text(String),
}

/// Named labels of a step, an observation or a finding. The keys in use are the constants of this type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, Label>);

impl Labels {
    /// What the step is in the plan for: the name of a [`Purpose`].
    pub const PURPOSE: &'static str = "purpose";
    /// The tier it stands for: `L1`, `L2`, `L3`, `DRAM`.
    pub const TIER: &'static str = "tier";
    /// Footprint of one thread in bytes.
    pub const SIZE: &'static str = "size";
    /// The operation: `read`, `write`, `copy`, … (for the ladder: the job, whatever kernel does it).
    pub const OP: &'static str = "op";
    /// The chain layout.
    pub const LAYOUT: &'static str = "layout";
    /// The page size asked for.
    pub const PAGE: &'static str = "page";
    /// How many threads.
    pub const THREADS: &'static str = "threads";
    /// `one` or `all`: the role of the thread count in the ladder.
    pub const SPAN: &'static str = "span";
    /// The cpus, in list format.
    pub const CPUS: &'static str = "cpus";
    /// The memory node.
    pub const NODE: &'static str = "node";
    /// Chains followed at once.
    pub const CHAINS: &'static str = "chains";
    /// The kernel that did it.
    pub const KERNEL: &'static str = "kernel";
    /// What the memory holds, where that is not incompressible data: `zeros`.
    pub const DATA: &'static str = "data";
    /// The traffic of a load: `read`, `3:1`, `write.nt`, …
    pub const MIX: &'static str = "mix";
    /// Share of a load's useful bytes that are read, in percent.
    pub const READS: &'static str = "reads";
    /// Where memory lies, seen from the threads: `local`, `remote`, `far`.
    pub const PLACE: &'static str = "place";
    /// Time between two pieces of a load, ns.
    pub const PAUSE: &'static str = "pause";
    /// What keeps a rate from rising: `core`, `memory`, `link`; or a cache from holding more: `partition`, `contention`, `none`, `unclear`.
    pub const LIMIT: &'static str = "limit";
    /// Where it begins: the cpus of a row of the matrix as a selector (`node:0`, `socket:1`, `llc:3`, `all`), or the first cpu of a pair.
    pub const FROM: &'static str = "from";
    /// Nodes that pages are spread over, in list format.
    pub const NODES: &'static str = "nodes";
    /// How pages are spread, where they are not bound to one node: `interleave`, `weighted`, `kernel weights`, `mixed`, `local`.
    pub const POLICY: &'static str = "policy";
    /// Pages of each node in a round: `0:3,1:1`.
    pub const WEIGHTS: &'static str = "weights";
    /// Percent of the threads whose memory is remote.
    pub const REMOTE: &'static str = "remote";
    /// The part of a setup: `local`, `remote`.
    pub const PART: &'static str = "part";
    /// What a pair is held against.
    pub const AGAINST: &'static str = "against";
    /// Which statistic a finding is (`p99`, `plateau`, …).
    pub const STATISTIC: &'static str = "statistic";
    /// What the system says of what was measured.
    pub const DECLARED: &'static str = "declared";
    /// How two cpus are related, by what they share: `core`, `L2`, `L3`, … for caches; `SMT`, `cluster`, `LLC`, `die`, `socket`, `remote` for pairs.
    pub const RELATION: &'static str = "relation";
    /// The kinds of a pair's cores on a hybrid machine, the larger first: `P-P`, `P-E`, `E-E`, `P-LP`.
    pub const KINDS: &'static str = "kinds";
    /// What went on beside the measurement.
    pub const BESIDE: &'static str = "beside";
    /// How many nodes a chain has.
    pub const LENGTH: &'static str = "length";

    /// Time since what is accessed was touched, ns.
    pub const WAIT: &'static str = "wait";

    /// The cpu that answers.
    pub const TO: &'static str = "to";
    /// Whose memory shared lines are in: `first`, `second` (of the pair's cpus) or `third`.
    pub const HOME: &'static str = "home";
    /// The state of lines before they were fetched: `clean`, `dirty`.
    pub const STATE: &'static str = "state";

    /// Group of a primitive of the operating system.
    pub const GROUP: &'static str = "group";
    /// Resident memory of the process, bytes.
    pub const RESIDENT: &'static str = "resident";
    /// Bytes a channel holds.
    pub const CAPACITY: &'static str = "capacity";
    /// Bytes each side works on between two operations.
    pub const WORKING_SET: &'static str = "working set";

    /// Pairs of cpus behind a number.
    pub const PAIRS: &'static str = "pairs";
    /// How many there are of which some were measured.
    pub const OF: &'static str = "pairs.all";

    /// An empty set of labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a word.
    #[must_use]
    pub fn text(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.0.insert(key.to_owned(), Label::Text(value.to_string()));
        self
    }

    /// Adds a whole number.
    #[must_use]
    pub fn whole(mut self, key: &str, value: u64) -> Self {
        self.0.insert(key.to_owned(), Label::Whole(value));
        self
    }

    /// The word under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            Label::Text(text) => Some(text),
            Label::Whole(_) => None,
        }
    }

    /// The number under a key.
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.0.get(key)? {
            Label::Whole(n) => Some(*n),
            Label::Text(_) => None,
        }
    }

    /// The footprint, where labelled.
    pub fn size(&self) -> Option<Bytes> {
        self.number(Self::SIZE).map(Bytes)
    }

    /// Adds what the step is in the plan for.
    #[must_use]
    pub fn purpose(self, purpose: Purpose) -> Self {
        self.text(Self::PURPOSE, purpose)
    }

    /// What the step is in the plan for, where labelled with a purpose that this version knows.
    pub fn its_purpose(&self) -> Option<Purpose> {
        let name = self.get(Self::PURPOSE)?;
        Purpose::ALL.iter().copied().find(|purpose| purpose.name() == name)
    }

    /// Whether that is what the step is for.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.is(Self::PURPOSE, purpose.name())
    }

    /// Whether it is a point that only draws a shape ([`Purpose::is_point`]).
    pub fn is_point(&self) -> bool {
        self.its_purpose().is_some_and(Purpose::is_point)
    }

    /// Whether the word under a key is this one.
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.get(key) == Some(value)
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, label)) in self.0.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            match label {
                Label::Text(text) => write!(f, "{space}{key}={text}")?,
                Label::Whole(n) if key == Self::SIZE => write!(f, "{space}{key}={}", Bytes(*n))?,
                Label::Whole(n) => write!(f, "{space}{key}={n}")?,
            }
        }
        Ok(())
    }
}
