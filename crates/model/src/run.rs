//! The run document: everything about one run, in one versioned file.

use serde::{Deserialize, Serialize};

use crate::checkup::CheckRow;
use crate::counters::RunCounters;
use crate::health::RunHealth;
use crate::interruptions::Interrupted;
use crate::kernel::KernelInfo;
use crate::machine::Machine;
use crate::observation::{Finding, Observation};
use crate::os::PrimitiveInfo;
use crate::plan::{AFTER_FIGURES, Plan, PlanPage, Request, Step};
use crate::purpose::Purpose;
use crate::refusal::{Refusal, Warning};
use crate::run_labels::{self, RunLabels};
use crate::state::{Drift, State};
use crate::throughput::CoreThroughput;
use crate::time_spent::TimeSpent;
use crate::tool::Tool;
use crate::traffic::Traffic;
use crate::verdict::Grade;

/// Schema of the documents this version writes. Adding fields keeps it; changing a meaning makes a new number.
pub const RUN_SCHEMA: &str = "tiermark/run/4";

/// One run of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// Unique id: time and a random part.
    pub id: String,
    /// The command (`survey`, `latency`, `bandwidth`).
    pub title: String,
    /// The program.
    pub tool: Tool,
    /// The command line.
    pub command: Vec<String>,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether the run reached its end and every number that was planned is in it.
    pub complete: bool,
    /// Whether a signal or a crash ended it early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Seed of every random choice.
    pub seed: u64,
    /// Labels that the user gave (`--label`), by key.
    #[serde(default, skip_serializing_if = "RunLabels::is_empty")]
    pub labels: RunLabels,
    /// The plan whose experiments these are; `None` for a command by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanPage>,
    /// Name of the simulated machine; `None` on a real one.
    pub simulated: Option<String>,
    /// Description of the machine, as it was discovered before the run.
    pub machine: Machine,
    /// Errors of memory and throttling of cpus, as the system counted them before and after the run; `None` if it
    /// reports neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<RunHealth>,
    /// Problems of the machine that the check-up (`tiermark doctor`) finds when the run begins; `None` in documents of
    /// versions that made no check-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<CheckRow>>,
    /// The counters of memory and link traffic beside the run; `None` if none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<RunCounters>,
    /// Clock, kernels and cost of measuring on this machine.
    pub bench: Bench,
    /// The experiments, in the order in which they were done.
    pub experiments: Vec<Experiment>,
    /// Warnings for the reader, with cures.
    pub warnings: Vec<Warning>,
}

impl Default for Run {
    /// A complete run of nothing, with the schema of this version.
    fn default() -> Self {
        Self {
            schema: RUN_SCHEMA.to_owned(),
            id: String::new(),
            title: String::new(),
            tool: Tool::default(),
            command: Vec::new(),
            started: String::new(),
            seconds: 0.0,
            complete: true,
            stopped: false,
            seed: 0,
            labels: RunLabels::new(),
            plan: None,
            simulated: None,
            machine: Machine::default(),
            health: None,
            problems: None,
            counters: None,
            bench: Bench::default(),
            experiments: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The measuring instruments of a host: kernels, clock, own cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bench {
    /// Kernels that can run here.
    pub kernels: Vec<KernelInfo>,
    /// Source, rate and resolution of the clock.
    pub clock: ClockInfo,
    /// Cost of stamps, gate and calls.
    pub overheads: Overheads,
    /// What memory and links carry while nothing is measured; `None` without counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_traffic: Option<Traffic>,
    /// Watts of all processors and their memory meanwhile (RAPL); `None` where they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_watts: Option<f64>,
    /// Primitives of the operating system that can be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primitives: Vec<PrimitiveInfo>,
}

impl Bench {
    /// The kernel of this id; `None` if it cannot run here.
    pub fn kernel(&self, id: &str) -> Option<&KernelInfo> {
        self.kernels.iter().find(|kernel| *kernel.id.0 == *id)
    }
}

/// The clock that stamps blocks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockInfo {
    /// `tsc`, `cntvct`, `clock_monotonic_raw` or `simulated`.
    pub source: String,
    /// Ticks per second.
    pub hz: f64,
    /// Smallest step seen between two stamps, ns.
    pub resolution_ns: f64,
    /// How the rate was found, and how far it agrees with the system's raw clock.
    pub how: String,
    /// Timer ticks of the kernel a second, on cpus that have them; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_hz: Option<f64>,
}

/// The cost of measuring itself, measured at the start of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overheads {
    /// One clock stamp with its store, ns: subtracted from blocks whose border was not measured.
    pub stamp_ns: f64,
    /// From the gate's opening to the last worker's first stamp, ns; outside every window. `None` where no thread could
    /// be started.
    #[serde(default)]
    pub gate_ns: Option<f64>,
    /// Calling a kernel for one block without work, ns; `None` where no kernel could be called.
    #[serde(default)]
    pub loop_ns: Option<f64>,
    /// Core clock by a dependent chain, cycles per second.
    pub core_hz: Option<f64>,
}

/// One request to a probe, and its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiment {
    /// The user's request.
    pub request: Request,
    /// Version of the probe's method: numbers of different versions are not compared silently.
    pub method: u32,
    /// The plan, with the steps that were added while it ran.
    pub plan: Plan,
    /// The results of the steps, in plan order.
    pub observations: Vec<Observation>,
    /// States of the machine during the experiment, those of cpus first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<State>,
    /// Changes of the machine meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
    /// What interrupted the threads on each cpu that measured; empty where it was not watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interruptions: Vec<Interrupted>,
    /// What the cores did in a cycle, by kind of core; empty where it was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throughputs: Vec<CoreThroughput>,
    /// What its time went into; `None` where it did not reach its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeSpent>,
    /// Conclusions of the probe.
    pub findings: Vec<Finding>,
}

impl Experiment {
    /// A planned request of which nothing is measured yet.
    pub fn new(request: Request, method: u32, plan: Plan) -> Self {
        let (observations, findings) = (Vec::new(), Vec::new());
        let (states, drift) = (Vec::new(), Vec::new());
        let (interruptions, throughputs) = (Vec::new(), Vec::new());
        Self { request, method, plan, observations, states, drift, interruptions, throughputs, time: None, findings }
    }

    /// Whether a planned number is missing: the step of this observation has no value, although it was possible here. A
    /// point that was added to make a curve denser is not missed; neither is a point of a curve that the machine has no
    /// room for, where the curve ends earlier.
    pub fn lacks(&self, seen: &Observation) -> bool {
        let is_late = |refusal: &Refusal| {
            use crate::messages::run::codes;
            [codes::no_time_left, codes::curve_point_skipped, codes::run_stopped].contains(&refusal.code)
        };
        let purpose = seen.labels.purpose();
        let is_denser = purpose.is_some_and(Purpose::draws_a_curve) && self.plan.is_added(&seen.step);
        let is_impossible = seen.labels.is_point() && seen.refusal.as_ref().is_some_and(|refusal| !is_late(refusal));
        seen.value.is_none() && !is_denser && !is_impossible && !self.ends_a_curve(seen)
    }

    /// Whether a point that waited for the figures was skipped, and its curve has others: it ends earlier, or is less
    /// dense.
    fn ends_a_curve(&self, seen: &Observation) -> bool {
        let is_skipped = |refusal: &Refusal| refusal.code == crate::messages::run::codes::curve_point_skipped;
        let waited = |step: &Step| step.id == seen.step && step.phase == AFTER_FIGURES;
        let (purpose, layout, op) = (seen.labels.purpose(), seen.labels.layout(), seen.labels.op());
        let is_of_curve = |other: &&Observation| {
            let labels = &other.labels;
            (labels.purpose(), labels.layout(), labels.op()) == (purpose, layout, op) && other.value.is_some()
        };
        purpose == Some(Purpose::Curve)
            && seen.refusal.as_ref().is_some_and(is_skipped)
            && self.plan.steps.iter().any(waited)
            && self.observations.iter().any(|other| is_of_curve(&other))
    }
}

impl Run {
    /// All findings of all experiments.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.experiments.iter().flat_map(|e| &e.findings)
    }

    /// All observations of all experiments.
    pub fn observations(&self) -> impl Iterator<Item = &Observation> {
        self.experiments.iter().flat_map(|e| &e.observations)
    }

    /// The host's name: the label `host`, else the name that the machine reported; `None` if neither is there.
    pub fn host(&self) -> Option<&str> {
        run_labels::host(&self.labels, Some(&self.machine))
    }

    /// The worst grade of any finding, `None` without findings.
    pub fn worst_grade(&self) -> Option<Grade> {
        self.findings().map(|f| f.verdict.grade).max()
    }
}
