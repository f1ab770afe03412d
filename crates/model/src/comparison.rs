//! Saved runs compared: number by number, each with a verdict, and the facts of the machines that differ.

mod condition;
mod verdict;

use serde::{Deserialize, Serialize};

use crate::labels::Labels;
use crate::observation::Interval;
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::run::Run;
use crate::state::StateKind;
use crate::units::{Bytes, Unit};
use crate::verdict::Grade;

pub use condition::{Condition, ConditionDifference};
pub use verdict::{ChangeVerdict, CpuPlace, Doubt, Obstacle, SeenState};

/// Schema of a comparison ([`Comparison`]).
pub const COMPARE_SCHEMA: &str = "tiermark/compare/1";

/// Runs compared with the first of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Relative change up to which two numbers are the same in practice: 0.03 is 3 %.
    pub threshold: f64,
    /// Probability that two runs of an unchanged machine have any number that is called better or worse.
    pub level: f64,
    /// Whether different machines are compared: tiers by their role, whatever their sizes.
    pub by_role: bool,
    /// The run that all others are compared with.
    pub first: ComparedRun,
    /// Further runs of the same baseline: the values that others are compared with are means over `first` and these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_first: Vec<ComparedRun>,
    /// The other runs, in the order given.
    pub others: Vec<Against>,
}

/// A run that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// Its name on the command line.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its command, or its plan.
    pub title: String,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Name of the host, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Name of the processor, where known.
    pub cpu: Option<String>,
    /// Whether everything planned was measured.
    pub complete: bool,
    /// Whether its machine was simulated.
    pub simulated: bool,
    /// Whether its machine is a guest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guest: bool,
}

impl ComparedRun {
    /// A run under the name that its user gave.
    pub fn of(name: &str, run: &Run) -> Self {
        Self {
            name: name.to_owned(),
            id: run.id.clone(),
            title: run.title.clone(),
            started: run.started.clone(),
            host: run.host().map(str::to_owned),
            cpu: run.machine.cpu_model.name.clone(),
            complete: run.complete,
            simulated: run.simulated.is_some(),
            guest: run.machine.system.hypervisor.is_some(),
        }
    }
}

/// A run compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// The run.
    pub run: ComparedRun,
    /// Facts of machine and program that differ.
    pub facts: Vec<FactDifference>,
    /// The numbers of both runs, those of the first in its order, then those of this one alone.
    pub figures: Vec<ComparedFigure>,
    /// Families of at least two tested numbers: the rates, or the latencies, of a tier.
    #[serde(default)]
    pub families: Vec<ComparedFamily>,
    /// The scatter between runs of an unchanged machine that the tests assume, for each family of the tested numbers.
    #[serde(default)]
    pub scatter: Vec<RunScatter>,
}

/// The numbers of one quantity and one tier, judged by the mean of their changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedFamily {
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// The tier.
    pub tier: String,
    /// Conditions of the measurement that differ in all of its numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<ConditionDifference>,
    /// How many numbers were tested.
    pub figures: u64,
    /// Geometric mean of their changes: 0.1 is 10 % more than in the first run.
    pub change: f64,
    /// Its interval, with the scatter between runs.
    pub interval: Interval,
    /// p-value, with Holm's correction for all tests of the two runs.
    pub p_value: f64,
    /// The conclusion: better, worse, same or unsure.
    #[serde(flatten)]
    pub verdict: ChangeVerdict,
}

impl ComparedFamily {
    /// How much it lost, relative to the first run; `None` unless it is worse.
    pub fn loss(&self) -> Option<f64> {
        (self.verdict == ChangeVerdict::Worse).then_some(self.change.abs())
    }
}

/// How much the values of a family differ between runs of an unchanged machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunScatter {
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// The tier; empty for numbers without one.
    pub tier: String,
    /// Relative standard deviation of one number from run to run: 0.01 is 1 %.
    pub sd: f64,
    /// The part of it that all numbers of the family share in a run, as a relative standard deviation.
    pub common: f64,
    /// Runs that it was estimated from; 0 for the default.
    pub runs: u64,
}

/// A number in two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// The probe that measured it.
    pub probe: String,
    /// The quantity.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// Its labels in the first run that has it.
    pub labels: Labels,
    /// Its name in expectations, such as `read.l2.one`; absent if it has no name there. Several figures may have one
    /// name: those of other nodes, cpus or pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Unit of both values.
    pub unit: Unit,
    /// The number in the first run.
    pub first: Option<ComparedNumber>,
    /// The number in the other run.
    pub other: Option<ComparedNumber>,
    /// The kernel that both numbers are of, where the runs chose different ones: one that both compared with theirs.
    /// `None` where each is of the kernel that its run chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Conditions of the measurement that differ: the numbers are of one role and size, and are judged as usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<ConditionDifference>,
    /// Relative change of the value: 0.1 is 10 % more than in the first run. `None` where it means nothing.
    pub change: Option<f64>,
    /// Whether change, interval and verdict are of what one core gets: between machines with different numbers of
    /// cores, of caches that each core has for itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_per_core: bool,
    /// Relative change of the value that the core clock explains, where change, interval and verdict are per cycle of
    /// the core; `None` where they are of the value itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_change: Option<f64>,
    /// Relative change of the rate by cores in use; only between machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_per_core: Option<f64>,
    /// Relative change of the rate by sockets in use; only between machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_per_socket: Option<f64>,
    /// Whether the test against the other numbers of its family decided. Then `interval` is of the change less the part
    /// that the family shares.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_against_family: bool,
    /// Interval of the change, with the scatter between runs.
    pub interval: Option<Interval>,
    /// p-value: how often a difference this large or larger would occur by chance if the hardware had not changed.
    /// Holm's correction for the number of tests of the two runs is applied. `None` if this number was not tested.
    pub p_value: Option<f64>,
    /// The conclusion.
    #[serde(flatten)]
    pub verdict: ChangeVerdict,
}

impl ComparedFigure {
    /// Whether less of it is better; `None` where neither more nor less is.
    pub fn less_is_better(&self) -> Option<bool> {
        self.quantity.less_is_better(self.unit)
    }

    /// Whether it describes conditions during a run and not the hardware: its quantity does, or it is a cold latency.
    pub fn is_of_the_hour(&self) -> bool {
        self.quantity.is_of_the_hour() || self.labels.is_for(Purpose::Cold)
    }

    /// How much it lost, relative to the first run; `None` unless it is worse.
    pub fn loss(&self) -> Option<f64> {
        (self.verdict == ChangeVerdict::Worse).then_some(self.change?.abs())
    }

    /// How much it seems to have lost, where that is not sure; `None` if it is, or if it did not. Conditions change by
    /// themselves: only what is sure counts.
    pub fn unsure_loss(&self) -> Option<f64> {
        let is_unsure = matches!(self.verdict, ChangeVerdict::Unsure(_)) && !self.quantity.is_condition();
        let change = self.change.filter(|_| is_unsure)?;
        let is_worse = (change > 0.0) == self.less_is_better()?;
        (is_worse && change != 0.0).then_some(change.abs())
    }
}

/// Family-wise p-value up to which a loss that is not shown keeps a gate from judging: of unchanged machines, chance
/// alone reaches it in at most one of 20 pairs of runs, and a loss in half of these.
const DOUBTFUL: f64 = 0.05;
/// Half of an interval, in limits of a gate, from which on the runs are too uncertain to judge a loss: numbers of a
/// machine whose allocations scatter by 2 % have up to 5.2 %, and can be judged at 5 %; those of a guest by the default
/// scatter have 7.7 %, and cannot.
const TOO_WIDE: f64 = 1.5;

impl ComparedFigure {
    /// Whether it seems worse by more than `limit` in a way that chance does not explain well, or that the runs are too
    /// uncertain to judge.
    pub fn blocks_gate(&self, limit: f64) -> bool {
        let Some(loss) = self.unsure_loss() else { return false };
        let half = self.interval.map(|interval| (interval.high - interval.low) / 2.0);
        let is_doubtful = self.p_value.is_none_or(|p| p <= DOUBTFUL) || half.is_none_or(|half| half > TOO_WIDE * limit);
        loss > limit && is_doubtful
    }
}

/// A number of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedNumber {
    /// The capability in the base unit; `None` if withheld or not measured.
    pub value: Option<f64>,
    /// How many runs of a baseline `value` and `interval` are the mean of; `None` for one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// How far it can be trusted.
    pub grade: Grade,
    /// Its interval.
    pub interval: Option<Interval>,
    /// The state that it is of; `None` where the run saw one state only.
    pub state: Option<StateKind>,
    /// Footprint of one thread.
    pub size: Option<Bytes>,
    /// The kernel that its run chose.
    pub kernel: Option<String>,
    /// Bytes a second by cores in use; only between machines, for rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_core: Option<f64>,
    /// Bytes a second by sockets in use; only between machines, for rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_socket: Option<f64>,
}

/// A fact of two runs that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactDifference {
    /// The fact.
    pub fact: Fact,
    /// In the first run; `None` where not reported.
    pub first: Option<String>,
    /// In the other run; `None` where not reported.
    pub other: Option<String>,
}

/// The facts: each with its name in reports.
macro_rules! facts {
    ($($(#[$doc:meta])+ $fact:ident = $name:literal,)+) => {
        /// A fact of a machine or of the program that affects numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum Fact {
            $($(#[$doc])+ $fact,)+
        }

        impl Fact {
            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$fact => $name,)+
                }
            }
        }
    };
}

facts! {
    /// Whether the machine is simulated.
    Simulated = "simulated",
    /// Version and revision of tiermark.
    Tiermark = "tiermark",
    /// Target and compiler that tiermark was built with.
    Build = "build",
    /// Name, family, model and stepping of the processor.
    CpuModel = "processor",
    /// Microcode revision.
    Microcode = "microcode",
    /// Cpus that tiermark may use.
    Cpus = "cpus allowed",
    /// State of simultaneous multithreading.
    Smt = "SMT",
    /// Caches of data as the kernel describes them.
    Caches = "caches",
    /// Total memory.
    Memory = "memory",
    /// Memory modules.
    Dimms = "DIMMs",
    /// Nodes that tiermark may use.
    Nodes = "nodes allowed",
    /// Firmware version.
    Firmware = "firmware",
    /// Hypervisor.
    Hypervisor = "hypervisor",
    /// Container runtime.
    Container = "container",
    /// Cpu quota of the control group.
    CpuQuota = "cpu quota",
    /// Distribution.
    Distribution = "distribution",
    /// Kernel release.
    Kernel = "kernel",
    /// Mitigations of vulnerabilities.
    Mitigations = "mitigations",
    /// Frequency governor.
    Governor = "governor",
    /// Driver, governor and states of idle cpus.
    Idle = "idle states",
    /// Timer ticks of the kernel, and cpus without them.
    Tick = "timer ticks",
    /// Transparent huge pages.
    Thp = "THP",
    /// Work done for a transparent huge page.
    ThpDefrag = "THP defrag",
    /// Automatic NUMA balancing.
    NumaBalancing = "NUMA balancing",
    /// Kernel samepage merging.
    Ksm = "KSM",
    /// Clock source.
    Clocksource = "clock source",
    /// Sockets with a processor.
    Sockets = "sockets",
    /// Slots with a memory module, of all slots.
    Slots = "DIMM slots filled",
    /// Memory channels with a module, of all channels.
    Channels = "memory channels filled",
    /// Speed of the memory modules.
    ModuleSpeed = "DIMM speed",
    /// Memory errors that were corrected since the system started; as a number, in a day.
    CorrectedErrors = "corrected memory errors",
    /// Wrong words and lost pages of memory, in soaks.
    WrongMemory = "wrong memory",
    /// What a soak lost of its rate for good; as a number, in percent.
    SlowedDown = "slower in a soak",
    /// Memory errors that could not be corrected since the system started.
    UncorrectedErrors = "uncorrected memory errors",
    /// Times that cpus were throttled for heat during the run.
    Throttling = "times throttled for heat",
    /// How often cores were throttled for heat since the system started; as a number, times a day of a core, of the
    /// processor with the most.
    ThrottledBefore = "throttled for heat since boot",
}
