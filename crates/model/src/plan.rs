//! Requests and plans: the user's request, and the steps that answer it.

use serde::{Deserialize, Serialize};

use crate::file_memory::FileMemory;
use crate::idset::{IdSet, NodeId};
use crate::labels::Labels;
use crate::page::PageKind;
use crate::refusal::{Note, Refusal};
use crate::setup::Setup;
use crate::units::{Bytes, Metric};

/// A user's request to one probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// Id of the probe (`latency`, `bandwidth`).
    pub probe: String,
    /// Where it may run.
    pub scope: Scope,
    /// How far to go.
    pub effort: Effort,
    /// When a number is good enough; `None` takes the probe's own.
    pub precision: Option<f64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The probe's own parameters; each probe documents them.
    pub params: serde_json::Value,
    /// The experiment of a plan file that makes this request; `None` for a command of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PlanPart>,
}

/// An experiment of a plan, as the plan words it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanPart {
    /// The command it stands for (`latency --cpus 1`).
    pub command: String,
    /// Its purpose, in words.
    pub note: Option<String>,
}

/// The descriptive part of a plan file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanPage {
    /// One line.
    pub title: String,
    /// Paragraphs for readers: the question, and what to look for in the results.
    pub about: String,
    /// Whether the report shows the machine before the numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub machine: bool,
    /// Published figures, which the report shows beside those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// Figures that others published.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// The machine that they were measured on.
    pub machine: String,
    /// The figures.
    pub figures: Vec<PublishedFigure>,
}

/// A published figure, or a curve of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedFigure {
    /// Its name.
    pub name: String,
    /// Latency or bandwidth.
    pub metric: Metric,
    /// Labels of the number of a run that is shown beside it.
    pub labels: Labels,
    /// The label in which the points of a curve differ; `None` for a single figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether it counts whole lines, of which the work may use a part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lines: bool,
    /// The points of the curve, or the single figure.
    pub points: Vec<PublishedPoint>,
}

/// One published number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedPoint {
    /// The value of the label `by` of the curve; `None` for a single figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The number in the base unit of the metric.
    pub value: f64,
}

/// Where a probe may run and what it may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scope {
    /// Cpus to use; `None` means all allowed ones.
    pub cpus: Option<IdSet>,
    /// Node to take memory from; `None` means the node of each thread's cpu.
    pub mem_node: Option<NodeId>,
    /// The file whose pages are the memory; `None` means memory of the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<FileMemory>,
    /// Page size to request; `None` means transparent huge pages where the system has them.
    pub page: Option<PageKind>,
    /// Most memory to use, bytes; `None` means half of the free memory on the node and in the cgroup.
    pub max_mem: Option<Bytes>,
    /// Most seconds to take; `None` means the effort's own.
    pub max_seconds: Option<f64>,
    /// Seconds of shots of each step; `None` means as many as its stop rule needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_seconds: Option<f64>,
}

/// How far a probe goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// The points of the ladder, few visits.
    Quick,
    /// The default.
    Standard,
    /// Dense curves, every kernel.
    Full,
}

impl Effort {
    /// The value of this effort, of those from the least effort to the most.
    pub fn choose<T>(self, [quick, standard, full]: [T; 3]) -> T {
        match self {
            Self::Quick => quick,
            Self::Standard => standard,
            Self::Full => full,
        }
    }
}

/// A probe's answer to a request on a machine: steps, in the order of the plan (the engine interleaves them).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Steps, in the order of the probe; the engine interleaves their visits.
    pub steps: Vec<Step>,
    /// Rules applied and their inputs, for people (`buffer 128 MiB = 4 x (32 MiB L3), …`).
    pub rules: Vec<Note>,
    /// Parts of the request that cannot be measured here.
    pub refused: Vec<Refusal>,
    /// Most seconds the whole plan may take.
    pub max_seconds: f64,
    /// Seconds that steps added later are expected to take, where the plan knows how many there will be.
    #[serde(default)]
    pub later_seconds: f64,
    /// What those steps measure, as far as it is known before the results that they follow from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Note>,
    /// How many of the steps, the last ones, followed from results while the plan ran.
    #[serde(default, skip_serializing_if = "crate::disturbance::is_zero")]
    pub added: u64,
    /// Seconds after the visits, in which numbers run once more beside counters that count in intervals of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub counting_seconds: f64,
}

/// Whether no time is needed.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// The phase of steps that wait until the figures have their first values: curves, and whatever takes long.
pub const AFTER_FIGURES: u8 = u8::MAX;

/// One measurement of a plan: a cell of a matrix, a point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Unique within the plan, and stable between runs of the same request.
    pub id: String,
    /// What it stands for.
    pub labels: Labels,
    /// Steps of a lower phase get their fewest visits before those of a higher one begin, in case the time is too
    /// short; those of the last ([`AFTER_FIGURES`]) wait for figures that follow from results, too.
    #[serde(default)]
    pub phase: u8,
    /// Its metric.
    pub metric: Metric,
    /// Memory, threads, work.
    pub setup: Setup,
    /// When it is measured well enough.
    pub stop: StopRule,
}

/// When a step is measured well enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopRule {
    /// Wanted relative half-width of the 95 % interval of the value (0.01 = ±1 %).
    pub precision: f64,
    /// Allocations kept side by side, and visited in turn.
    pub allocations: u32,
    /// Fewest visits.
    pub min_visits: u32,
    /// Most visits.
    pub max_visits: u32,
    /// Length of the shot of a visit, seconds.
    pub shot_seconds: f64,
}

impl Plan {
    /// Adds steps that follow from results.
    pub fn add(&mut self, steps: Vec<Step>) {
        self.added += steps.len() as u64;
        self.steps.extend(steps);
    }

    /// Whether a step followed from results, and is no step that was planned before them.
    pub fn is_added(&self, step: &str) -> bool {
        let first = self.steps.len().saturating_sub(self.added as usize);
        self.steps[first..].iter().any(|added| added.id == step)
    }

    /// The most memory any step holds at once.
    pub fn peak_bytes(&self) -> Bytes {
        self.steps.iter().map(Step::held_bytes).max().unwrap_or_default()
    }

    /// The cpus used by any step.
    pub fn cpus(&self) -> IdSet {
        self.steps.iter().fold(IdSet::new(), |set, step| set.union(&step.setup.cpus()))
    }
}
