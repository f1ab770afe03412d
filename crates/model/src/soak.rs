//! What a soak of memory found: what was written, read back and compared, and every wrong word.

mod wrong;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::idset::NodeId;
use crate::machine::Machine;
use crate::refusal::Note;
use crate::units::Bytes;
pub use wrong::{Hex, LostPage, WrongKind, WrongWord};

/// How a soak goes about its memory: part of its threads' role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoakRole {
    /// Seconds that each half of the memory rests between writing and reading, to find bits that lose their charge.
    pub rest_seconds: u32,
    /// Bytes of free memory below which it ends: others need them.
    #[serde(default)]
    pub least_free: Bytes,
}

/// What is written into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SoakPattern {
    /// Each word its own place: finds address lines that are shorted.
    Addresses,
    /// Random words of the run's seed.
    Random,
    /// Neighbouring lines, and neighbouring pages, hold each other's inverse.
    Neighbours,
    /// One bit of each word set, another one in each word.
    MovingOnes,
    /// One bit of each word clear.
    MovingZeros,
}

impl fmt::Display for SoakPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Addresses => "addresses",
            Self::Random => "random",
            Self::Neighbours => "inverted neighbours",
            Self::MovingOnes => "moving ones",
            Self::MovingZeros => "moving zeros",
        })
    }
}

/// What happens between writing and reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SoakBetween {
    /// Nothing.
    #[default]
    Nothing,
    /// Half of it is copied over the other half, from node to node where there are several.
    Copied,
    /// Many cpus take turns at writing the same lines.
    Hammered,
    /// Each half in turn rests for some seconds while the other is read.
    Rested,
}

impl fmt::Display for SoakBetween {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nothing => "nothing",
            Self::Copied => "half of it copied",
            Self::Hammered => "lines hammered by all cpus",
            Self::Rested => "each half at rest in turn",
        })
    }
}

/// All that a soak saw.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Soak {
    /// The memory of each node.
    pub memory: Vec<SoakedNode>,
    /// The phases that were run, in the order of their first time.
    pub phases: Vec<SoakPhase>,
    /// Wrong words, each counted each time that it was read.
    pub wrong_words: u64,
    /// Wrong words, one for each place and set of wrong bits: [`Self::MOST_WORDS`] at most.
    pub wrong: Vec<WrongWord>,
    /// Pages that the kernel took away because their contents were lost.
    pub lost: Vec<LostPage>,
    /// Whether a bit that the program itself had flipped was found in the memory of every node: the comparison works.
    /// `None` where it did not come to that.
    pub proven: Option<bool>,
    /// Rates and the machine's state over time.
    pub samples: Vec<SoakSample>,
    /// When reading became slower; `None` if it did not, or with too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<Slowdown>,
    /// Why it ended before its time; `None` where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Note>,
}

impl Soak {
    /// Wrong words that a document keeps: more are of one fault.
    pub const MOST_WORDS: usize = 1000;
    /// Number of kinds of phase: pattern, and what happens between writing and reading.
    pub const KINDS: usize = 8;

    /// Bytes that were read back and compared, each time counted.
    #[must_use]
    pub fn checked(&self) -> u64 {
        self.memory.iter().fold(0, |sum, node| sum.saturating_add(node.checked))
    }

    /// The share of its rate that was lost for good: 0 where it kept it, `None` where the soak was too short to tell.
    #[must_use]
    pub fn slower(&self) -> Option<f64> {
        /// Samples of which a loss would be seen.
        const FEWEST: usize = 20;
        let read = self.samples.iter().filter(|sample| sample.work == SoakWork::Read).count();
        self.slowdown.map(|slow| slow.share()).or_else(|| (read >= FEWEST).then_some(0.0))
    }

    /// Notes a wrong word, and says whether it is new and there is room for it.
    pub fn met(&mut self, word: &WrongWord) -> bool {
        let is_same =
            |known: &&mut WrongWord| (known.node, known.offset, known.bits()) == (word.node, word.offset, word.bits());
        if let Some(known) = self.wrong.iter_mut().find(is_same) {
            known.times += 1;
            return false;
        }
        let has_room = self.wrong.len() < Self::MOST_WORDS;
        self.wrong.extend(has_room.then(|| word.clone()));
        has_room
    }

    /// Wrong words, each counted once: at least so many, where more were read than are kept.
    #[must_use]
    pub fn places(&self) -> u64 {
        let kept: BTreeSet<(NodeId, u64)> = self.wrong.iter().map(|word| (word.node, word.offset)).collect();
        // A word that was read is one, whatever was kept of it.
        (kept.len() as u64).max(self.wrong_words.min(1))
    }

    /// Whether each wrong word that was read is among those that are kept.
    #[must_use]
    pub fn has_all_words(&self) -> bool {
        self.wrong.iter().map(|word| word.times).sum::<u64>() >= self.wrong_words
    }

    /// Kinds of phase that were run on all of the memory. A copy that was not possible is none of them.
    #[must_use]
    pub fn whole_kinds(&self) -> usize {
        let is_kind =
            |phase: &&SoakPhase| (phase.pattern, phase.between) != (SoakPattern::Random, SoakBetween::Nothing);
        self.phases.iter().filter(is_kind).filter(|phase| phase.whole > 0).count()
    }

    /// The share of a machine's memory that was compared; `None` where the system does not say what each node has.
    #[must_use]
    pub fn share_covered(&self, machine: &Machine) -> Option<f64> {
        let nodes = machine.memory_nodes();
        let of = |id: NodeId| machine.memory_of(machine.node(id)?);
        let all: u64 = nodes.iter().map(of).sum::<Option<u64>>()?;
        let covered: u64 = self.memory.iter().map(|node| node.covered.0).sum();
        (all > 0).then(|| covered as f64 / all as f64)
    }

    /// How often memory was written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.times)).sum()
    }

    /// The rates of a node, by its index in [`Self::memory`], in the samples of a work: of those at the level that it
    /// fell to, where it became slower.
    pub fn rates(&self, node: usize, work: SoakWork) -> impl Iterator<Item = f64> {
        let is_of = move |sample: &&SoakSample| sample.work == work;
        let after = self.slowdown.map(|slow| slow.from);
        // Where it fell near the end there may be none at that level.
        let after = after.filter(|from| self.samples.iter().filter(is_of).any(|sample| sample.at > *from));
        let of_work = self.samples.iter().filter(is_of).filter(move |sample| after.is_none_or(|from| sample.at > from));
        of_work.filter_map(move |sample| sample.rates.get(node).copied()).filter(|rate| *rate > 0.0)
    }

    /// Whether all memory that was planned was compared at least once.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        /// Less than this share that is missing is a rounding.
        const ROUNDING: f64 = 0.01;
        self.memory.iter().all(|node| node.covered.0 as f64 >= (1.0 - ROUNDING) * node.planned.0 as f64)
    }

    /// Whether a word was wrong, or a page lost.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.wrong_words > 0 || !self.lost.is_empty()
    }
}

/// The memory of one node in a soak.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoakedNode {
    /// The node.
    pub node: NodeId,
    /// Bytes that were to be held.
    pub planned: Bytes,
    /// Bytes that were held.
    pub held: Bytes,
    /// Bytes that the node has; `None` where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Bytes>,
    /// Bytes of it that were compared at least once.
    pub covered: Bytes,
    /// Bytes that were compared, each time counted.
    pub checked: u64,
    /// Useful bytes per second while it was read by its own cpus: the median of the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
    /// The same while it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<f64>,
}

impl SoakedNode {
    /// How often each byte that was covered was compared, on average.
    #[must_use]
    pub fn times(&self) -> f64 {
        self.checked as f64 / (self.covered.0 as f64).max(1.0)
    }
}

/// One phase of a soak: memory is written, something happens, and it is read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoakPhase {
    /// What was written.
    pub pattern: SoakPattern,
    /// What happened before it was read.
    pub between: SoakBetween,
    /// How often the phase was run.
    pub times: u32,
    /// How often on all of the memory.
    pub whole: u32,
    /// Bytes read and compared.
    pub checked: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Wrong words.
    pub wrong_words: u64,
}

/// The state of the machine at one moment of a soak, and its rates since the moment before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoakSample {
    /// Seconds since the soak began.
    pub at: f64,
    /// Seconds that the rates are over.
    pub seconds: f64,
    /// What was done meanwhile.
    pub work: SoakWork,
    /// Useful bytes per second of each node's memory, in the order of [`Soak::memory`].
    pub rates: Vec<f64>,
    /// The machine at the end of the sample.
    #[serde(flatten)]
    pub state: SoakState,
}

impl SoakSample {
    /// Bytes per second of all nodes.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// What the threads of a soak do at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SoakWork {
    /// They take memory from the system and write it for the first time.
    #[default]
    Take,
    /// They write.
    Write,
    /// They read what another cpu of the node wrote, and compare.
    Read,
    /// They read what a cpu far away wrote, and compare.
    ReadFar,
    /// They copy.
    Copy,
    /// They write the same lines in turn.
    Hammer,
}

/// What the system tells of the machine's state.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoakState {
    /// Mean clock of the cpus, Hz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_hz: Option<f64>,
    /// The hottest sensor of the processors, °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_celsius: Option<f64>,
    /// The hottest sensor of the memory modules, °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_celsius: Option<f64>,
    /// Times that cores and packages were throttled since the soak began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// Errors that memory controllers corrected since the soak began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<u64>,
    /// Memory that is free for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Bytes>,
    /// Interrupts of the cpus a second, since they were looked at last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<f64>,
}

/// A level that a soak fell to and stayed at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slowdown {
    /// From this second on.
    pub from: f64,
    /// Bytes per second read before it.
    pub before: f64,
    /// Bytes per second read from then on.
    pub after: f64,
    /// Times that cores and packages were throttled from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
}

impl Slowdown {
    /// The share of the rate that is lost: 0.11 is 11 %.
    #[must_use]
    pub fn share(&self) -> f64 {
        1.0 - self.after / self.before
    }

    /// When it began, in words: `second 17`, `minute 14`.
    #[must_use]
    pub fn since(&self) -> String {
        /// Seconds from which minutes are said.
        const MINUTES: f64 = 120.0;
        if self.from < MINUTES { format!("second {:.0}", self.from) } else { format!("minute {:.0}", self.from / 60.0) }
    }
}
