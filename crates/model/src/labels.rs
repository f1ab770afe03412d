//! Named values that distinguish one measurement from another.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::idset::NodeId;
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
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, Label>);

/// The keys of labels: a constant for each, and the list of all.
macro_rules! keys {
    ($($(#[doc = $doc:literal])+ $constant:ident = $key:literal;)+) => {
        impl Labels {
            $($(#[doc = $doc])+ pub const $constant: &'static str = $key;)+

            /// Every key in use, with what its label says.
            pub const KEYS: &'static [(&'static str, &'static str)] = &[$(($key, concat!($($doc),+))),+];
        }
    };
}

keys! {
    /// Purpose of the step in the plan: the name of a [`Purpose`].
    PURPOSE = "purpose";
    /// The tier it stands for: `L1`, `L2`, `L3`, `DRAM`.
    TIER = "tier";
    /// Footprint of one thread in bytes.
    SIZE = "size";
    /// The operation: `read`, `write`, `copy`, … (for the ladder: the job, whatever kernel does it).
    OP = "op";
    /// The chain layout.
    LAYOUT = "layout";
    /// The requested page size.
    PAGE = "page";
    /// How many threads.
    THREADS = "threads";
    /// `one` or `all`: the role of the thread count in the ladder.
    SPAN = "span";
    /// The cpus, in list format.
    CPUS = "cpus";
    /// The memory node.
    NODE = "node";
    /// Chains followed at once.
    CHAINS = "chains";
    /// The kernel that did it.
    KERNEL = "kernel";
    /// Contents of the memory, if not incompressible data: `zeros`.
    DATA = "data";
    /// The traffic of a load: `read`, `3:1`, `write.nt`, …
    MIX = "mix";
    /// Share of a load's useful bytes that are read, in percent.
    READS = "reads";
    /// Where memory lies, seen from the threads: `local`, `remote`, `far`.
    PLACE = "place";
    /// Time between two pieces of a load, ns.
    PAUSE = "pause";
    /// The limit of a rate: `core`, `memory`, `link`; or of what a cache holds: `partition`, `contention`, `reuse` (it
    /// keeps lines only once they are used again), `none`, `unclear`.
    LIMIT = "limit";
    /// Where it begins: the cpus of a row of the matrix as a selector (`node:0`, `socket:1`, `llc:3`, `all`), or the
    /// first cpu of a pair.
    FROM = "from";
    /// Nodes that pages are spread over, in list format.
    NODES = "nodes";
    /// How pages are spread, where they are not bound to one node: `interleave`, `weighted`, `kernel weights`, `mixed`,
    /// `local`.
    POLICY = "policy";
    /// Pages of each node in a round: `0:3,1:1`.
    WEIGHTS = "weights";
    /// Percent of the threads whose memory is remote.
    REMOTE = "remote";
    /// Whose the memory of several threads is, where not each has its own: `shared`.
    BUFFER = "buffer";
    /// Useful bytes after which a step ends.
    TOTAL = "total";
    /// The part of a setup: `local`, `remote`.
    PART = "part";
    /// The other side of a comparison.
    AGAINST = "against";
    /// Which statistic a finding is (`p99`, `plateau`, …).
    STATISTIC = "statistic";
    /// The value that the system declares.
    DECLARED = "declared";
    /// How two cpus are related, by what they share: `core`, `L2`, `L3`, … for caches; `SMT`, `cluster`, `LLC`, `die`,
    /// `socket`, `remote` for pairs.
    RELATION = "relation";
    /// The kinds of a pair's cores on a hybrid machine, the larger first: `P-P`, `P-E`, `E-E`, `P-LP`.
    KINDS = "kinds";
    /// The load beside the measurement.
    BESIDE = "beside";
    /// How many nodes a chain has.
    LENGTH = "length";
    /// Time since the accessed lines were touched, ns.
    WAIT = "wait";
    /// Bytes of other memory that were read before.
    AFTER = "after";
    /// How often the accessed lines were used before the wait: `once` (after a flush) or `again` (three times in a
    /// row).
    USED = "used";
    /// The cpu that answers.
    TO = "to";
    /// Whose memory shared lines are in: `first`, `second` (of the pair's cpus) or `third`.
    HOME = "home";
    /// The state of lines before they were fetched: `clean`, `dirty`.
    STATE = "state";
    /// Group of a primitive of the operating system.
    GROUP = "group";
    /// Resident memory of the process, bytes.
    RESIDENT = "resident";
    /// Bytes a channel holds.
    CAPACITY = "capacity";
    /// Bytes each side works on between two operations.
    WORKING_SET = "working set";
    /// How many take part in an operation of the system: descriptors, processes.
    COUNT = "count";
    /// Number of the piece of memory that a scan looks at, from 0.
    REGION = "region";
    /// The requests that tenants get: mix, and distribution of keys.
    WORKLOAD = "workload";
    /// Number of tenants.
    TENANTS = "tenants";
    /// The address of one tenant of several.
    TENANT = "tenant";
    /// Number of a trial of tenants in its search.
    TRIAL = "trial";
    /// Purpose of a trial: `ramp`, `verification`, …
    PHASE = "phase";
    /// Outcome of a trial: `pass`, `fail`, `unclear`.
    OUTCOME = "outcome";
    /// The resource that ended a search of tenants: `memory tier`, `cpu`, …
    ENDED_BY = "ended_by";
    /// Pairs of cpus behind a number.
    PAIRS = "pairs";
    /// How many there are of which some were measured.
    OF = "pairs.all";
}

impl Labels {
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

    /// With a node, if one is given.
    #[must_use]
    pub fn node(self, node: Option<NodeId>) -> Self {
        match node {
            Some(node) => self.whole(Self::NODE, u64::from(node)),
            None => self,
        }
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

    /// Adds the purpose of the step.
    #[must_use]
    pub fn purpose(self, purpose: Purpose) -> Self {
        self.text(Self::PURPOSE, purpose)
    }

    /// Purpose of the step; `None` without one, or one that this version does not know.
    pub fn its_purpose(&self) -> Option<Purpose> {
        let name = self.get(Self::PURPOSE)?;
        Purpose::ALL.iter().copied().find(|purpose| purpose.name() == name)
    }

    /// Whether that is what the step is for.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.is(Self::PURPOSE, purpose.name())
    }

    /// Whether a chase takes its lines in the order that is usual for them: at random, or, of a tier of memory, in
    /// groups, with translations at hand. True of what has no layout.
    pub fn has_usual_layout(&self) -> bool {
        match self.get(Self::LAYOUT) {
            None | Some("random") => true,
            Some("groups") => self.get(Self::TIER).is_some(),
            Some(_) => false,
        }
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

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Labels {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let label = generator.subschema_for::<Label>();
        let keys: Vec<&str> = Self::KEYS.iter().map(|(key, _)| *key).collect();
        let about = |(key, about): &(&str, &str)| {
            let mut schema = label.clone();
            schema.insert("description".to_owned(), about.trim().into());
            ((*key).to_owned(), schema.to_value())
        };
        let properties: serde_json::Map<String, serde_json::Value> = Self::KEYS.iter().map(about).collect();
        schemars::json_schema!({
            "description": "Keys that distinguish one measurement from another. Documents of other versions may have \
                other keys.",
            "type": "object",
            "properties": properties,
            "propertyNames": { "enum": keys },
        })
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
