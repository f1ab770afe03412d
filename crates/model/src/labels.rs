//! What a number is of: the labels of a step, an observation or a finding, with a typed accessor for each.

mod set;
mod table;
mod words;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::idset::{CpuId, NodeId};
use crate::purpose::Purpose;
use crate::tier::Tier;
use crate::units::Bytes;

pub use set::LabelSet;
pub use words::milliseconds;

pub(crate) use table::Key;

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

impl Label {
    fn word(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Whole(_) => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(*number),
            Self::Text(_) => None,
        }
    }
}

/// What a number is of. Each label has an accessor and a builder (`threads`, `with_threads`); its key is a word of
/// documents only.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(BTreeMap<String, Label>);

impl Labels {
    /// An empty set of labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// The label under a key.
    #[must_use]
    pub(crate) fn label(&self, key: Key) -> Option<&Label> {
        self.0.get(key.name())
    }

    /// The word under a key.
    #[must_use]
    pub(crate) fn word(&self, key: Key) -> Option<&str> {
        self.label(key)?.word()
    }

    /// The number under a key.
    #[must_use]
    pub(crate) fn number(&self, key: Key) -> Option<u64> {
        self.label(key)?.number()
    }

    /// Whether there is a label under a key.
    #[must_use]
    pub(crate) fn has(&self, key: Key) -> bool {
        self.label(key).is_some()
    }

    /// Whether there is no label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number under a name of documents.
    #[must_use]
    pub fn number_named(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.number()
    }

    /// All labels by name; documents of other versions have names that this one does not know.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Label)> {
        self.0.iter().map(|(name, label)| (name.as_str(), label))
    }

    /// All labels, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Label> {
        self.0.values_mut()
    }

    fn with(self, key: Key, label: Label) -> Self {
        self.with_named(key.name(), label)
    }

    /// With a label by its name in documents, which this version may not know.
    #[must_use]
    pub fn with_named(mut self, name: &str, label: Label) -> Self {
        self.0.insert(name.to_owned(), label);
        self
    }

    /// Without some labels.
    #[must_use]
    pub fn without(self, labels: LabelSet) -> Self {
        self.filtered(|name| !labels.has_name(name))
    }

    /// Only some labels.
    #[must_use]
    pub fn only(self, labels: LabelSet) -> Self {
        self.filtered(|name| labels.has_name(name))
    }

    /// Only the labels whose name fits.
    #[must_use]
    pub fn filtered(mut self, fits: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|name, _| fits(name));
        self
    }

    /// With all labels of others, which replace its own.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Whether something of these labels is the same as of others: `are_alike(other, |of| (of.op(), of.page()))`.
    #[must_use]
    pub fn are_alike<'a, T: PartialEq>(&'a self, other: &'a Self, what: impl Fn(&'a Self) -> T) -> bool {
        what(self) == what(other)
    }

    /// Whether it has all labels of another.
    #[must_use]
    pub fn include(&self, other: &Self) -> bool {
        other.0.iter().all(|(name, label)| self.0.get(name) == Some(label))
    }

    /// Purpose of the step; `None` without one, or one that this version does not know.
    #[must_use]
    pub fn purpose(&self) -> Option<Purpose> {
        let name = self.word(Key::Purpose)?;
        Purpose::ALL.iter().copied().find(|purpose| purpose.name() == name)
    }

    /// With the purpose of the step.
    #[must_use]
    pub fn with_purpose(self, purpose: Purpose) -> Self {
        self.with(Key::Purpose, Label::Text(purpose.to_string()))
    }

    /// Whether that is what the step is for.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.word(Key::Purpose) == Some(purpose.name())
    }

    /// Whether it is a point that only draws a shape ([`Purpose::is_point`]).
    pub fn is_point(&self) -> bool {
        self.purpose().is_some_and(Purpose::is_point)
    }

    /// The tier; `None` without one, or one that this version does not know.
    #[must_use]
    pub fn tier(&self) -> Option<Tier> {
        self.tier_name()?.parse().ok()
    }

    /// The word of the tier, which may be of another version, or of a scenario of tenants.
    #[must_use]
    pub fn tier_name(&self) -> Option<&str> {
        self.word(Key::Tier)
    }

    /// With the tier.
    #[must_use]
    pub fn with_tier(self, tier: Tier) -> Self {
        self.with(Key::Tier, Label::Text(tier.to_string()))
    }

    /// With a tier by its word: one of a scenario of tenants, or of another version.
    #[must_use]
    pub fn with_tier_name(self, tier: impl fmt::Display) -> Self {
        self.with(Key::Tier, Label::Text(tier.to_string()))
    }

    /// The footprint of one thread.
    #[must_use]
    pub fn size(&self) -> Option<Bytes> {
        self.bytes().map(Bytes)
    }

    /// The footprint of one thread in bytes.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.number(Key::Size)
    }

    /// With the footprint of one thread in bytes.
    #[must_use]
    pub fn with_size(self, size: u64) -> Self {
        self.with(Key::Size, Label::Whole(size))
    }

    /// Whether the word of the tier says the node too.
    #[must_use]
    pub fn tier_says_node(&self) -> bool {
        let says = |(tier, node): (&str, NodeId)| {
            tier.strip_suffix(&node.to_string()).is_some_and(|rest| rest.ends_with(" node "))
        };
        self.tier_name().zip(self.node()).is_some_and(says)
    }

    /// The memory node.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        self.number(Key::Node)?.try_into().ok()
    }

    /// With the memory node.
    #[must_use]
    pub fn with_node(self, node: NodeId) -> Self {
        self.with(Key::Node, Label::Whole(node.into()))
    }

    /// With the memory node, if one is given.
    #[must_use]
    pub fn with_node_if(self, node: Option<NodeId>) -> Self {
        node.into_iter().fold(self, Self::with_node)
    }

    /// The word of the place, which may be of another version.
    #[must_use]
    pub fn place_name(&self) -> Option<&str> {
        self.word(Key::Place)
    }

    /// The node whose cpus a row of the matrix begins at; `None` where it begins at other cpus.
    #[must_use]
    pub fn from_node(&self) -> Option<NodeId> {
        self.from()?.strip_prefix("node:")?.parse().ok()
    }

    /// The first cpu of a pair.
    #[must_use]
    pub fn from_cpu(&self) -> Option<CpuId> {
        self.number(Key::From)?.try_into().ok()
    }

    /// The cpu of a pair that answers.
    #[must_use]
    pub fn to_cpu(&self) -> Option<CpuId> {
        self.number(Key::To)?.try_into().ok()
    }

    /// With the first cpu of a pair.
    #[must_use]
    pub fn with_from_cpu(self, cpu: CpuId) -> Self {
        self.with(Key::From, Label::Whole(cpu.into()))
    }

    /// With the cpu of a pair that answers.
    #[must_use]
    pub fn with_to_cpu(self, cpu: CpuId) -> Self {
        self.with(Key::To, Label::Whole(cpu.into()))
    }

    /// The number that the system declares.
    #[must_use]
    pub fn declared_number(&self) -> Option<u64> {
        self.number(Key::Declared)
    }

    /// With the number that the system declares.
    #[must_use]
    pub fn with_declared_number(self, declared: u64) -> Self {
        self.with(Key::Declared, Label::Whole(declared))
    }

    /// Whether it is of accesses alone: no mix or part of them, nothing beside them, data as usual, no statistic.
    pub fn is_of_plain_accesses(&self) -> bool {
        let others = [Key::Mix, Key::Beside, Key::Data, Key::Statistic, Key::Part, Key::Against];
        !others.iter().any(|key| self.has(*key))
    }

    /// Whether a chase takes its lines in the order that is usual for them: at random, or, of a tier of memory, in
    /// groups, with translations at hand. True of what has no layout.
    pub fn has_usual_layout(&self) -> bool {
        match self.layout() {
            None | Some("random") => true,
            Some("groups") => self.has(Key::Tier),
            Some(_) => false,
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Labels {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let label = generator.subschema_for::<Label>();
        let about = |key: &Key| {
            let mut schema = label.clone();
            schema.insert("description".to_owned(), key.about().trim().into());
            (key.name().to_owned(), schema.to_value())
        };
        let properties: serde_json::Map<String, serde_json::Value> = Key::ALL.iter().map(about).collect();
        schemars::json_schema!({
            "description": "Keys that distinguish one measurement from another. Documents of other versions may have \
                other keys.",
            "type": "object",
            "properties": properties,
            "propertyNames": { "enum": Self::NAMES },
        })
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, label)) in self.0.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            match label {
                Label::Text(text) => write!(f, "{space}{key}={text}")?,
                Label::Whole(n) if key == Key::Size.name() => write!(f, "{space}{key}={}", Bytes(*n))?,
                Label::Whole(n) => write!(f, "{space}{key}={n}")?,
            }
        }
        Ok(())
    }
}
