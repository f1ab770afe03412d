//! The results of a step: one observation, with its proof.

mod finding;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::disturbance::Disturbance;
use crate::idset::{IdSet, NodeId};
use crate::kernel::KernelId;
use crate::labels::Labels;
use crate::refusal::{Note, Refusal};
use crate::soak::Soak;
use crate::state::{InState, StateKind};
use crate::traffic::StepTraffic;
use crate::units::{Metric, Unit};
use crate::verdict::Verdict;
use crate::visits::{BlockTimes, Visits};
pub use finding::Finding;

/// An interval around a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level (0.95).
    pub level: f64,
}

impl Interval {
    /// Half of its width, as a share of a value.
    #[must_use]
    pub fn half_of(&self, value: f64) -> f64 {
        (self.high - self.low) / 2.0 / value
    }
}

/// All that was seen of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observation {
    /// Id of the step.
    pub step: String,
    /// The step's labels, and those found by measuring (the kernel that won).
    pub labels: Labels,
    /// Its metric.
    pub metric: Metric,
    /// Unit of `value` and of every number beside it: ns, or bytes per second.
    pub unit: Unit,
    /// The number, of the kind that `kind` says; `None` when invalid or not measured.
    pub value: Option<f64>,
    /// Which statistic of the visits the number is.
    pub kind: ValueKind,
    /// Its interval, bootstrapped over visits.
    pub interval: Option<Interval>,
    /// The value in cycles of the core, of L1 and L2, which run at its clock. `value` is this at the clock of the run
    /// ([`Quantity::CoreClock`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_cycle: Option<PerCycle>,
    /// The power of the core's clock that rates follow, if it is not 0: `value` is given at the clock of the run. 1 is
    /// in proportion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_slope: Option<f64>,
    /// The machine's record of the same figure when the run was measured, at the clock of this run, in the unit of
    /// `value`; `None` without a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<f64>,
    /// What a program got during the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<Typical>,
    /// The best that was sustained: by a tenth of the visits, or over a whole pass. `None` where the number is the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<f64>,
    /// Whole passes over its memory; `None` where none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Passes>,
    /// How sharp the edge is; `None` for medians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<EdgeSeen>,
    /// The state that the value is of; `None` where only one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateKind>,
    /// Its number in each state with enough visits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_states: Vec<InState>,
    /// Values that the clean windows pile up at, where they fall into groups that lie apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// Value of the lowest clean window.
    pub min: Option<f64>,
    /// Value of the highest clean window.
    pub max: Option<f64>,
    /// Relative spread between visits to the same memory (scaled MAD over median): moments that differ.
    pub spread_within: Option<f64>,
    /// Relative spread between the medians of allocations (scaled MAD over median): places that differ.
    pub spread_between: Option<f64>,
    /// Places in memory that are slower than the others for good; `None` where all are alike, or too few visits say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_places: Option<SlowPlaces>,
    /// All visits with their windows, and what the blocks of each came to.
    #[serde(default, skip_serializing_if = "Visits::is_empty")]
    pub visits: Visits,
    /// The time of each block; only with `--json=full`.
    #[serde(default, skip_serializing_if = "BlockTimes::is_empty")]
    pub block_times: BlockTimes,
    /// Useful bytes that its threads moved in all visits; `None` of accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<u64>,
    /// What a soak of memory found; `None` of all other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Box<Soak>>,
    /// The traffic of memory and links during its shots; `None` without counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<StepTraffic>,
    /// Allocations measured.
    pub allocations: u32,
    /// Disturbances of the shots.
    pub disturbance: Disturbance,
    /// Tail of the block durations, for latency.
    pub tail: Option<Tail>,
    /// Where the pages were.
    pub placement: Option<PlacementProof>,
    /// Core clock, by chains of dependent single-cycle operations before and after each shot: the edge of all of them.
    pub core_hz: Option<f64>,
    /// Relative distance of the 5th and the 95th percentile of the chains.
    pub core_hz_spread: Option<f64>,
    /// The number of each named part of the setup, in the order of the setup.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartResult>,
    /// The kernels that do the same job, where there are several: how each compares with the first.
    pub rivals: Vec<Rival>,
    /// A kernel that may be faster than the one that was measured: there was no time to compare them often enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rival_open: Option<KernelId>,
    /// Cost of the borders of blocks as a share of a block, before it was subtracted.
    pub overhead_share: Option<f64>,
    /// Seconds from the start of the run at which the step was first measured.
    pub started_seconds: f64,
    /// Seconds spent on the step.
    pub seconds: f64,
    /// How far the number can be trusted.
    pub verdict: Verdict,
    /// Why there is no number, when the host refused the step.
    pub refusal: Option<Refusal>,
}

impl Observation {
    /// The interval of its value by this run alone: without the scatter between runs.
    #[must_use]
    pub fn within_run(&self) -> Option<Interval> {
        self.edge.and_then(|edge| edge.within).or(self.interval)
    }

    /// A step of which nothing was seen yet.
    pub fn new(step: impl Into<String>, labels: Labels, metric: Metric) -> Self {
        Self {
            step: step.into(),
            labels,
            metric,
            unit: metric.unit(),
            value: None,
            kind: ValueKind::Capability,
            interval: None,
            per_cycle: None,
            clock_slope: None,
            record: None,
            typical: None,
            best: None,
            passes: None,
            edge: None,
            state: None,
            in_states: Vec::new(),
            modes: Vec::new(),
            min: None,
            max: None,
            spread_within: None,
            spread_between: None,
            slow_places: None,
            visits: Visits::default(),
            block_times: BlockTimes::default(),
            moved: None,
            soak: None,
            traffic: None,
            allocations: 0,
            disturbance: Disturbance::default(),
            tail: None,
            placement: None,
            core_hz: None,
            core_hz_spread: None,
            parts: Vec::new(),
            rivals: Vec::new(),
            rival_open: None,
            overhead_share: None,
            started_seconds: 0.0,
            seconds: 0.0,
            verdict: Verdict::trusted(),
            refusal: None,
        }
    }
}

/// Places in memory at which a core's own caches are slower than at the best ones: small pages that crowd a few sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowPlaces {
    /// How many.
    pub slow: u32,
    /// Places with enough visits to judge them.
    pub of: u32,
    /// The speed at the slowest as a share of that at the best.
    pub share: f64,
}

/// Which statistic of the visits a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// What the hardware does when it is left alone: the level that visits reach again and again. Of the caches of a
    /// core.
    #[default]
    Capability,
    /// What a program typically got, less interruptions: the median over visits, each weighted by the time that it
    /// speaks for. Of what cores share, and of what describes a load.
    Typical,
}

/// A number in cycles of the core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerCycle {
    /// Cycles of one access, or useful bytes a cycle of each core.
    pub value: f64,
    /// Unit: `cycles` or `bytes/cycle`.
    pub unit: Unit,
}

/// What a program got during the run: over visits, each weighted by the time that it speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Typical {
    /// The median visit.
    pub median: f64,
    /// The 10th percentile of visits.
    pub p10: f64,
    /// The 90th percentile of visits.
    pub p90: f64,
}

/// Whole passes of streams over their memory, interruptions included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Passes {
    /// Their number.
    pub count: u32,
    /// The rate of the best, bytes per second.
    pub best: f64,
}

/// How sharp an edge is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgeSeen {
    /// Share of the clean windows within 1 % of it (or 0.3 %), where each visit of the state weighs the same.
    pub share: f64,
    /// Clean windows of the state.
    pub windows: u64,
    /// Visits of the state.
    pub visits: u64,
    /// Visits that reached it, each at least a second after the one before.
    pub reached: u64,
    /// Its interval by the windows and allocations of this run alone, which more visits narrow. The interval of the
    /// number also has the scatter between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Interval>,
}

/// A value that windows pile up at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// The middle of the pile.
    pub value: f64,
    /// Share of the clean windows.
    pub share: f64,
}

/// The number of one part of a setup, from the same windows as the whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartResult {
    /// Its name in the setup (`load`, `local`, `remote`).
    pub name: String,
    /// Unit of the numbers: ns an access for chases and turns at a line, useful bytes per second for streams, a ratio
    /// for `evenness`.
    pub unit: Unit,
    /// The median over clean windows of the state that the step's value is of; `None` without any.
    pub value: Option<f64>,
    /// Smallest sample.
    pub min: Option<f64>,
    /// Largest sample.
    pub max: Option<f64>,
}

/// Quantiles of the time of one access, averaged over blocks, disturbed blocks included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tail {
    /// Accesses averaged in one block.
    pub block_accesses: u64,
    /// Blocks counted.
    pub blocks: u64,
    /// Quantiles in ns per access, by name: `p50`, `p90`, `p99`, `p99.9`, `p99.99`, `max`.
    pub quantiles: BTreeMap<String, f64>,
}

/// Where the pages of a setup were, and of what size: the worst of all proofs of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementProof {
    /// How it was proven (`move_pages, 1024 pages of 3 regions, before and after`).
    pub how: Note,
    /// Pages looked at.
    pub pages: u64,
    /// Pages by node.
    pub by_node: BTreeMap<NodeId, u64>,
    /// Share of the pages on the requested nodes; `None` where the nodes could not be read.
    pub on_target: Option<f64>,
    /// Share of the memory backed by pages of the requested size; `None` where the sizes could not be read.
    pub page_share: Option<f64>,
    /// The requested page size, in words.
    pub page: String,
    /// Lowest and highest physical address of the pages of large memory, in bytes, where this process may read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<[u64; 2]>,
    /// Where placement failed, and the fallback (`mbind refused (seccomp): first touch by pinned threads`).
    pub notes: Vec<Note>,
}

impl PlacementProof {
    /// The nodes that hold more than 5 % of the pages; empty if the nodes could not be read.
    pub fn nodes(&self) -> IdSet {
        /// A node with at most one page in this many holds only stray pages.
        const STRAY: u64 = 20;
        let all = crate::units::total(self.by_node.values().copied());
        self.by_node.iter().filter(|(_, pages)| pages.saturating_mul(STRAY) > all).map(|(node, _)| *node).collect()
    }
}

/// A kernel that was compared with the first kernel of the same job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rival {
    /// Id of the compared kernel: `read/avx512`.
    pub kernel: KernelId,
    /// Its rate over that of the first kernel in the same moments, the median of pairs of shots; `None` if none was
    /// undisturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The number that the observation would have with this kernel, in its unit: the value of the kernel that was taken
    /// times the ratio of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Interval of `value` by this run alone: that of the kernel that was taken, and the spread of the pairs' ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

impl Rival {
    /// Scales value and interval by the factor by which the value of the kernel that was taken changed.
    pub fn rescale(&mut self, times: Option<f64>) {
        let times = times.filter(|times| times.is_finite());
        self.value = self.value.zip(times).map(|(value, times)| value * times);
        let scaled = |(of, times): (Interval, f64)| Interval { low: of.low * times, high: of.high * times, ..of };
        self.interval = self.interval.zip(times).map(scaled);
    }
}
