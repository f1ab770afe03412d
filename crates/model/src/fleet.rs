//! Many hosts judged by their peers, as data.

mod failed;
mod family;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::comparison::Fact;
use crate::explanation::Confidence;
use crate::labels::Labels;
use crate::quantity::Quantity;
use crate::refusal::{Note, Refusal};
use crate::units::Unit;
use crate::words::shell_word;
pub use failed::{FAILED_HOST_SCHEMA, FailedHost, HostFailure};
pub use family::family_words;

/// Schema of hosts judged by their peers ([`Fleet`]).
pub const FLEET_SCHEMA: &str = "tiermark/fleet/1";

/// Hosts judged by their peers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    /// Relative difference up to which a host is like its peers in practice: 0.03 is 3 %.
    pub threshold: f64,
    /// Expected share of false ones among the hosts that are odd by their figures.
    pub level: f64,
    /// Whether each host is compared with itself before a change: medians and differences are then of the changes.
    pub is_change: bool,
    /// The kinds of hosts, that with the most hosts first.
    pub kinds: Vec<HostKind>,
    /// All hosts, the odd ones first, by how much they differ.
    pub hosts: Vec<FleetHost>,
    /// Families in which the median host of a kind is worse than before; empty without documents from before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<FleetLoss>,
    /// Names that several hosts have: each counts under the name of its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_names: Vec<String>,
    /// Files that are no document of a host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Refusal>,
    /// What is to be known of the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// A family of figures in which the median host of a kind is worse than before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetLoss {
    /// The place of the kind in the list.
    pub kind: u64,
    /// The family.
    pub family: String,
    /// The median change, as a share: -0.2 of a bandwidth is a fifth less.
    pub change: f64,
    /// Number of hosts that are worse by more than 3 %, and number of hosts with a figure of the family.
    pub hosts: [u64; 2],
    /// Facts of which most hosts have another value than before, in one way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<ChangedFact>,
    /// The documents, from before and from now, of the host whose change is nearest to the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<[String; 2]>,
}

impl FleetLoss {
    /// The command that shows the loss on one host; `None` if its documents are not known.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let [before, now] = self.documents.as_ref()?.each_ref().map(|file| shell_word(file));
        Some(format!("tiermark compare {before} {now}"))
    }
}

/// A fact of which hosts of a kind have another value than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFact {
    /// Which.
    pub fact: Fact,
    /// What they had before.
    pub before: String,
    /// What they have now.
    pub now: String,
    /// Number of hosts with this change, and number of hosts that report the fact before and now.
    #[serde(default)]
    pub hosts: [u64; 2],
}

/// Hosts that ought to be alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostKind {
    /// Vendor and name of the product; `None` where not reported.
    pub product: Option<String>,
    /// Name of the processor.
    pub cpu: Option<String>,
    /// Sockets with a processor.
    pub sockets: u64,
    /// Hosts of the kind with a document.
    pub hosts: u64,
    /// The figures that enough hosts have.
    pub figures: Vec<KindFigure>,
    /// The facts that are known of some host.
    pub facts: Vec<KindFact>,
    /// Facts of which hosts have another value than before, the change of the most hosts first; empty without documents
    /// from before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedFact>,
    /// How large a loss of one host must be to be found, for each family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visible: Vec<VisibleLoss>,
    /// Hosts whose table of memory modules was not read: only root can. 0 of guests, whose hypervisor makes it up.
    #[serde(default)]
    pub modules_unread: u64,
    /// Whether they are virtual machines: their modules, memory errors and throttling cannot be seen in them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guest: bool,
}

/// A loss of one host in a family that would be found in 95 of 100 cases; smaller ones may not be seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisibleLoss {
    /// The family.
    pub family: String,
    /// The loss as a share: 0.1 is 10 %.
    pub loss: f64,
}

/// A figure of the hosts of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindFigure {
    /// Its name in expectations, such as `read.dram.all`; `None` if it has none there.
    pub name: Option<String>,
    /// The family that it is judged with, such as `dram.bandwidth`.
    pub family: String,
    /// The probe that measured it.
    pub probe: String,
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// Its labels.
    pub labels: Labels,
    /// Unit of its values: of L1 and L2, per cycle of the core.
    pub unit: Unit,
    /// Median over the hosts, without those far from most others; of a change, the ratio of after to before.
    pub median: f64,
    /// Relative standard deviation between the hosts that count for the median, weighted with that of one machine.
    pub sd: f64,
    /// Hosts with a sharp value.
    pub hosts: u64,
}

/// A fact of the hosts of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindFact {
    /// The fact.
    pub fact: Fact,
    /// The commonest value: `hosts` says whether it is that of most.
    pub value: String,
    /// The value as a number; `None` if it is none. Memory: bytes. Caches: bytes of the smallest L3. Module speed: MT/s
    /// that the slowest module is set to (`None` in a guest). Cpus: number of their cores. Others: the count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
    /// The number of which the amount is a part: all slots of modules, all channels; `None` of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<f64>,
    /// Hosts that have it.
    pub hosts: u64,
    /// How many of them are odd by their own figures.
    #[serde(default)]
    pub odd: u64,
    /// What others have.
    pub others: Vec<OtherValue>,
}

/// A fact that some hosts differ in from their peers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherValue {
    /// What they have.
    pub value: String,
    /// Their names.
    pub hosts: Vec<String>,
    /// How many of them are odd by their own figures.
    pub odd: u64,
    /// p-value of "odd hosts have it as often as the others" (Fisher); `None` where no host is odd by its figures.
    pub p_value: Option<f64>,
    /// The least p-value of "these hosts are no worse, in a family, than those with the commonest value" over all tests
    /// (false discovery rate); `None` where that is not beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_p_value: Option<f64>,
    /// The highest confidence that the fact is a cause on a host with this value; `None` if it is no cause on any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Confidence>,
}

/// Share of the hosts with a value that must be odd for the value to be blamed.
const NEARLY_ALL: f64 = 0.8;
/// p-value up to which a blamed value is no chance.
const BEYOND_CHANCE: f64 = 0.01;

/// How surely a value of a fact explains odd hosts: `odd` of its `holders` are odd by their figures, `p_value` as in
/// [`OtherValue`]. `None` if it does not: too few of them are odd.
pub fn explains(odd: u64, holders: u64, p_value: Option<f64>) -> Option<Confidence> {
    let is_blamed = odd > 0 && odd as f64 >= NEARLY_ALL * holders as f64;
    let is_sure = holders > 1 && p_value.is_some_and(|p| p <= BEYOND_CHANCE);
    is_blamed.then_some(if is_sure { Confidence::Measured } else { Confidence::Hint })
}

/// How a host stands among its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It differs by trusted figures, or by a fact that costs performance.
    Odd,
    /// It could not be measured.
    Failed,
    /// It was expected, and there is no document of it.
    Missing,
    /// Its figures could not be judged.
    NotJudged,
    /// It is like its peers.
    Alike,
}

impl HostState {
    /// Every state, in the order in which hosts are listed.
    pub const ALL: [Self; 5] = [Self::Odd, Self::Failed, Self::Missing, Self::NotJudged, Self::Alike];

    /// Its name in rows and gauges.
    pub fn name(self) -> &'static str {
        match self {
            Self::Odd => "odd",
            Self::Failed => "failed",
            Self::Missing => "missing",
            Self::NotJudged => "not_judged",
            Self::Alike => "alike",
        }
    }
}

/// A host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetHost {
    /// Its name.
    pub host: String,
    /// How it stands.
    pub state: HostState,
    /// The place of its kind in the list; `None` without a document.
    pub kind: Option<u64>,
    /// The file of its document; `None` without one.
    pub file: Option<String>,
    /// The id of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// When it was measured, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Labels that its user gave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Why it differs, the likeliest cause first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<HostCause>,
    /// Whether it is odd, and better than its peers in all that makes it odd.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_better: bool,
    /// Why it is not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Note>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailedHost>,
    /// p-value of its figures together, corrected for the number of its tests and for all hosts (false discovery rate);
    /// `None` if no figure was tested.
    pub p_value: Option<f64>,
    /// Families of figures, each judged by the mean of its differences.
    pub families: Vec<HostFamily>,
    /// Its figures, in the order of those of its kind.
    pub figures: Vec<HostFigure>,
}

impl FleetHost {
    /// Whether it is odd, and not only better than its peers.
    pub fn is_worse(&self) -> bool {
        self.state == HostState::Odd && !self.is_better
    }

    /// Whether a cause for which it is worse is sure: the system reports it, or the hosts that have it are odd beyond
    /// chance.
    pub fn is_sure(&self) -> bool {
        self.causes.iter().any(|cause| cause.confidence != Confidence::Hint && cause.is_worse != Some(false))
    }

    /// The largest difference of a family that is not like its peers', without sign.
    pub fn damage(&self) -> f64 {
        let odd = self.families.iter().filter(|family| family.is_odd).map(|family| family.deviation.abs());
        odd.chain(self.figures.iter().filter(|figure| figure.is_odd).map(|figure| figure.deviation.abs()))
            .fold(0.0, f64::max)
    }
}

/// A family of figures of a host: the latencies, or the rates, of a tier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFamily {
    /// Its name, such as `dram.bandwidth`.
    pub family: String,
    /// How many figures.
    pub figures: u64,
    /// Mean relative difference from the medians: 0.1 is 10 % more.
    pub deviation: f64,
    /// Whether that is worse; `None` where neither more nor less is.
    pub is_worse: Option<bool>,
    /// p-value of this family alone.
    pub p_value: f64,
    /// Whether it is beyond chance and the threshold.
    pub is_odd: bool,
}

/// A figure of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFigure {
    /// The place of the figure in the list of its kind.
    pub figure: u64,
    /// Its value, in the unit of the figure; of a change, the ratio of after to before.
    pub value: f64,
    /// Relative difference from the median: 0.1 is 10 % more.
    pub deviation: f64,
    /// Whether it is beyond chance and the threshold.
    pub is_odd: bool,
    /// Whether it is a bound, which says on one side only where the figure is: it is shown, and not judged.
    pub is_bound: bool,
}

/// How often something happens in a day, and how often it may.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DailyRate {
    /// Times a day; of throttling, on each core.
    pub a_day: f64,
    /// Times a day that are allowed.
    pub limit: f64,
}

/// A number with two digits or more: `0.3`, `833`.
#[must_use]
pub fn short_number(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// Why a host differs from its peers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCause {
    /// The name of the rule.
    pub rule: String,
    /// The fact that differs; `None` if no recorded fact explains the figures.
    pub fact: Option<Fact>,
    /// What the host has; without a fact, its figure.
    pub value: Option<String>,
    /// What its peers have; of a figure, the median.
    pub peers: Option<String>,
    /// How often it happens; `None` of a fact that is no event, or if no number of it is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<DailyRate>,
    /// Whether the host is worse by it than its peers; `None` of a fact of which neither more nor less is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_worse: Option<bool>,
    /// What it means, in a sentence.
    pub finding: String,
    /// What may be behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What to do next.
    #[serde(rename = "try")]
    pub advice: String,
    /// How sure the cause is.
    pub confidence: Confidence,
}

impl HostCause {
    /// The fact with its rate and the value that its peers have, or what the figures point to, with the figure. "perhaps" stands before a
    /// fact that may be no cause.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Some(value) = self.value.as_deref() else { return self.finding.clone() };
        let Some(fact) = self.fact else {
            return format!("{} ({value}, peers {})", self.finding, self.peers.as_deref().unwrap_or("unknown"));
        };
        let peers = self.peers.as_ref().map_or_else(String::new, |peers| format!(", peers {peers}"));
        let perhaps = if self.confidence == Confidence::Hint { "perhaps " } else { "" };
        let rate = self
            .rate
            .map_or_else(String::new, |rate| format!(" ({} a day, limit {})", short_number(rate.a_day), rate.limit));
        format!("{perhaps}{} {value}{rate}{peers}", fact.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_names_what_the_peers_have() {
        let cause = |fact: Option<Fact>, peers: Option<&str>, confidence| HostCause {
            rule: String::new(),
            fact,
            value: fact.map(|_| "15 of 16".to_owned()),
            peers: peers.map(str::to_owned),
            rate: (fact == Some(Fact::ThrottledBefore)).then_some(DailyRate { a_day: 833.3, limit: 24.0 }),
            is_worse: None,
            finding: "slow".to_owned(),
            hint: None,
            advice: String::new(),
            confidence,
        };
        let of = |fact, peers, confidence| cause(fact, peers, confidence).in_words();
        let slots = Some(Fact::Slots);
        let sure = of(slots, Some("16 of 16"), Confidence::Reported);
        assert_eq!(sure, "DIMM slots filled 15 of 16, peers 16 of 16");
        assert_eq!(of(slots, None, Confidence::Hint), "perhaps DIMM slots filled 15 of 16");
        assert_eq!(of(None, None, Confidence::Hint), "slow");
        let figure = HostCause { value: Some("4 %".to_owned()), ..cause(None, Some("0.03 %"), Confidence::Hint) };
        assert_eq!(figure.in_words(), "slow (4 %, peers 0.03 %)");
        let often = of(Some(Fact::ThrottledBefore), None, Confidence::Reported);
        assert_eq!(often, "throttled for heat since boot 15 of 16 (833 a day, limit 24)");
    }
}
