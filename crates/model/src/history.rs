//! Saved runs over time: the figures of each, their trends, and where their level changed.

use serde::{Deserialize, Serialize};

use crate::comparison::{CpuPlace, Fact, FactDifference, Obstacle};
use crate::labels::Labels;
use crate::observation::{Interval, PerCycle, Rival};
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::state::StateKind;
use crate::units::Unit;
use crate::verdict::Grade;

/// Schema of a history ([`History`]).
pub const HISTORY_SCHEMA: &str = "tiermark/history/1";

/// Numbers of a run by their grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GradeCounts {
    /// Trusted numbers.
    pub trusted: u32,
    /// Typical numbers of what others use too.
    #[serde(default)]
    pub shared: u32,
    /// Bounds.
    pub bound: u32,
    /// Suspect numbers.
    pub suspect: u32,
    /// Numbers that are withheld or were not measured.
    pub invalid: u32,
}

impl GradeCounts {
    /// Counts grades.
    pub fn of(grades: impl IntoIterator<Item = Grade>) -> Self {
        let mut counts = Self::default();
        for grade in grades {
            *match grade {
                Grade::Trusted => &mut counts.trusted,
                Grade::Shared => &mut counts.shared,
                Grade::Bound => &mut counts.bound,
                Grade::Suspect => &mut counts.suspect,
                Grade::Invalid => &mut counts.invalid,
            } += 1;
        }
        counts
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        [self.trusted, self.shared, self.bound, self.suspect, self.invalid].map(u64::from).iter().sum()
    }
}

/// A number of a run, with everything that decides whether it is comparable with numbers of other runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFigure {
    /// Its coordinates: numbers with the same coordinates describe the same thing.
    pub key: String,
    /// Its name in expectations: `latency.dram`; `None` if it has none.
    pub name: Option<String>,
    /// The probe that measured it.
    pub probe: String,
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// Its labels.
    pub labels: Labels,
    /// Unit of value and interval.
    pub unit: Unit,
    /// Version of the probe's method.
    pub method: u32,
    /// The value, positive.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// The value in cycles of the core, of what the core clocks.
    pub per_cycle: Option<PerCycle>,
    /// Trusted or a bound.
    pub grade: Grade,
    /// Whether it is a bound because its edge is not sharp: the hardware may be better. A bound that is only below the
    /// machine's record is as sharp as a trusted number.
    pub is_open: bool,
    /// Whether it is the middle of its windows; `None` where no step shows it.
    pub is_middle: Option<bool>,
    /// The state of the cpus in which it was measured; `None` if the run saw one state only.
    pub state: Option<StateKind>,
    /// 10th and 90th percentile of the round trips between its cpus, ns; `None` where there were none.
    pub pings: Option<[f64; 2]>,
    /// Where the cpus lie that it was measured on; `None` in a guest, whose cpus a hypervisor moves.
    pub cpus: Option<CpuPlace>,
    /// Other kernels that its run compared with the one that its labels name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Rival>,
}

impl RunFigure {
    /// The kernel that it is of, where its operation says what others do as well.
    pub fn kernel(&self) -> Option<&str> {
        self.labels.kernel().filter(|_| self.labels.op().is_some())
    }

    /// The same by another kernel that its run compared with its own; `None` without a value.
    #[must_use]
    pub fn with_kernel(&self, kernel: &str) -> Option<Self> {
        let rival = self.rivals.iter().find(|rival| &*rival.kernel.0 == kernel)?;
        let value = rival.value.filter(|value| value.is_finite() && *value > 0.0)?;
        let per_cycle = self.per_cycle.map(|of| PerCycle { value: of.value * value / self.value, ..of });
        let labels = self.labels.clone().with_kernel(kernel);
        Some(Self { value, interval: rival.interval, per_cycle, labels, rivals: Vec::new(), ..self.clone() })
    }

    /// Whether it is a figure of a tier: latency, or the rate of an operation. The clock is one as well, which
    /// figures per cycle do not show, and so are interruptions.
    pub fn is_headline(&self) -> bool {
        let is_of_tier = || matches!(self.quantity, Quantity::Latency | Quantity::Bandwidth);
        self.quantity.is_condition() || self.labels.is_for(Purpose::Ladder) && is_of_tier()
    }
}

/// A fact of the machine or the program of a run; `None` where not reported.
pub type FactValue = (Fact, Option<String>);

/// The figures of one run, and the facts to compare at a change of level.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFigures {
    /// The numbers that are comparable with those of other runs.
    pub figures: Vec<RunFigure>,
    /// All facts, in the same order for every run.
    pub facts: Vec<FactValue>,
}

/// Saved runs of one machine, oldest first, and their figures over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Whether the runs are of all machines; then there are no figures.
    pub all_machines: bool,
    /// The host whose runs were asked for by its name; `None` for this machine, or all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The newest runs, as many as asked for, oldest first.
    pub runs: Vec<HistoryRun>,
    /// How many runs match, including those that are not listed.
    pub total: u64,
    /// Saved runs of other machines, which are not listed.
    pub elsewhere: u64,
    /// Saved runs on simulated machines, or on other simulated machines, which are not listed.
    pub simulated: u64,
    /// Saved runs whose documents have no host name, so that their machine is unknown; they are not listed.
    pub unnamed: u64,
    /// All saved runs whose documents cannot be read, whatever machine and time they are of.
    pub unreadable: Vec<HistoryRun>,
    /// The figures. A figure whose values are not all comparable has several entries, first the series of the newest
    /// value.
    pub figures: Vec<FigureHistory>,
}

/// A saved run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryRun {
    /// Its id.
    pub id: String,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Its command, or its plan.
    pub title: String,
    /// Whether everything planned was measured.
    pub complete: bool,
    /// Name of the simulated machine; `None` on a real one.
    pub simulated: Option<String>,
    /// Name of the host, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Name of the processor, where known.
    pub cpu: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Its numbers by their grades.
    pub grades: GradeCounts,
    /// Why its document cannot be read; then all fields except the id are empty.
    pub problem: Option<String>,
}

/// The comparable values of a figure over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureHistory {
    /// Its coordinates: series with the same coordinates are of the same figure.
    pub key: String,
    /// Its name in expectations: `latency.dram`; `None` if it has none.
    pub name: Option<String>,
    /// The probe that measured it.
    pub probe: String,
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// Its labels in the newest run that has it.
    pub labels: Labels,
    /// Unit of the values: cycles, or bytes a cycle of each core, where every run has the figure per cycle.
    pub unit: Unit,
    /// Version of the probe's method.
    pub method: u32,
    /// Its values, oldest first.
    pub points: Vec<FigurePoint>,
    /// The trend since the last change of level; `None` where none is shown.
    pub trend: Option<FigureTrend>,
    /// Where its level changed, oldest first.
    pub changes: Vec<FigureChange>,
    /// Why its values are not compared with the series of the newest value; `None` for that series itself.
    pub apart: Option<Obstacle>,
}

/// A value of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigurePoint {
    /// Id of the run.
    pub run: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Days from the first of the runs to this one; `None` where its start is not known.
    pub day: Option<f64>,
    /// The value in the unit of the figure.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Trusted or a bound.
    pub grade: Grade,
    /// Whether trend and changes use it: it is trusted, or a bound only because it is below the machine's record.
    pub counts: bool,
}

/// A trend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureTrend {
    /// Relative change from the time of the first value to that of the last, computed from the slope: 0.1 is 10 % more.
    pub change: f64,
    /// p-value of "no trend".
    pub p_value: f64,
    /// Id of the first run of the trend.
    pub since: String,
    /// Start of that run.
    pub started: String,
    /// Number of values of the trend.
    pub values: u64,
}

/// A change of level between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureChange {
    /// Id of the last run before the change.
    pub last: String,
    /// Id of the first run after the change.
    pub run: String,
    /// Start of that run.
    pub started: String,
    /// Median before the change.
    pub before: f64,
    /// Median after the change.
    pub after: f64,
    /// Relative change: −0.1 is 10 % less.
    pub change: f64,
    /// p-value of "no change".
    pub p_value: f64,
    /// Facts of machine and program that differ between the two runs.
    pub facts: Vec<FactDifference>,
}

impl FigureHistory {
    /// Whether a lower value is better; `None` if neither is.
    pub fn less_is_better(&self) -> Option<bool> {
        self.quantity.less_is_better(self.unit)
    }
}
