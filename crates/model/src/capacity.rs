//! How many tenants a server holds: the document of a capacity run, independent of how it is shown.

mod answer;
mod evidence;
mod missed;
mod points;
mod tenant_counts;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::health::RunHealth;
use crate::refusal::{Note, Warning};
use crate::run_labels::{self, RunLabels};
use crate::tool::Tool;
use crate::{Machine, Refusal};

pub use answer::{Answer, Votes};
pub use evidence::{Evidence, OTHERS_DECIDE, QuotaUse};
pub use missed::{LimitOf, MissedLimit, TimeLimit, TimeStatistic};
pub use points::{CurvePoint, Setting, TenantTimes, WithOmitted};
pub use tenant_counts::{TenantCount, TrialKind};

/// Schema of the documents this version writes. Adding fields keeps it; changing a meaning makes a new number.
pub const CAPACITY_SCHEMA: &str = "tiermark/capacity/1";

/// So many tenants, in words: `1 tenant`, `2 tenants`.
#[must_use]
pub fn tenants(count: u32) -> String {
    if count == 1 { "1 tenant".to_owned() } else { format!("{count} tenants") }
}

/// Everything a capacity run found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// [`CAPACITY_SCHEMA`].
    pub schema: String,
    /// Id of the run; empty in older documents.
    #[serde(default)]
    pub id: String,
    /// The program that measured.
    pub tool: Tool,
    /// When it began, RFC 3339.
    pub started: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Labels that the user gave (`--label`), by key.
    #[serde(default, skip_serializing_if = "RunLabels::is_empty")]
    pub labels: RunLabels,
    /// The machine that measured: with servers elsewhere the client's alone.
    pub machine: Machine,
    /// Errors of memory and throttling of cpus, as the system counted them before and after; `None` if it reports
    /// neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<RunHealth>,
    /// Name of the scenario.
    pub scenario: String,
    /// The tenant and its workload, in one line.
    pub workload: String,
    /// The service level, in the words of its definition: `average < 50 µs, P99 < 300 µs of every tenant`.
    pub level: String,
    /// Limits of response times in it; empty in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<TimeLimit>,
    /// The most tenants that the run would try; `None` in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_tenants: Option<u32>,
    /// One search each: a tier under one load.
    pub cases: Vec<Case>,
    /// Costs of tenants; `None` without a price file.
    pub cost: Option<CostTable>,
    /// Searches that could not be made here, and why.
    #[serde(default)]
    pub refused: Vec<Refusal>,
    /// Warnings for the reader, with cures.
    pub warnings: Vec<Warning>,
}

impl Capacity {
    /// The host's name: the label `host`, else the name that the machine reported; `None` if neither is there.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        run_labels::host(&self.labels, Some(&self.machine))
    }

    /// Whether the run was stopped before each search had an answer; it can be resumed where its journal is.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.warnings.iter().any(|warning| warning.code == crate::messages::capacity::codes::unfinished)
    }
}

/// One search: how many tenants fit with one kind of memory, under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Case {
    /// The tier that extends the server's memory: `dram` (none), `swap:/dev/…`, `zram:lz4`, …
    pub tier: String,
    /// The load's mix and keys: `100 % GET, brief:10`.
    pub load: String,
    /// How many tenants.
    pub answer: Answer,
    /// Tenants over those of `dram` under the same load; `None` where either is not a single number.
    pub over_dram: Option<f64>,
    /// Why no more tenants fit: the resource that ran out first, in words; `None` if none did.
    pub ended_by: Option<Ended>,
    /// Settings of the system while the tier was set up, and those of its devices, in the order of `tiermark tune`.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Results of each trial, by rising number of tenants; several trials of one number stand one after another.
    pub curve: Vec<CurvePoint>,
    /// Every trial, in the order in which they were made.
    #[serde(rename = "probes")]
    pub trials: Vec<TrialRecord>,
}

/// Purpose of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The one number of tenants that was asked for.
    Fixed,
    /// One tenant alone: whether the service level can be met at all.
    Baseline,
    /// The number that the budgets allow by arithmetic.
    Start,
    /// Upwards, adding tenants to those that run.
    Ramp,
    /// Between the last pass and the first failure, each from a fresh fill.
    Bisection,
    /// Again, to be sure.
    Verification,
}

impl Phase {
    /// Whether a trial is measured in full, with all iterations; on the way up a short measurement is enough.
    #[must_use]
    pub fn is_full(self) -> bool {
        matches!(self, Self::Fixed | Self::Bisection | Self::Verification)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fixed => "fixed",
            Self::Baseline => "baseline",
            Self::Start => "start",
            Self::Ramp => "ramp",
            Self::Bisection => "bisection",
            Self::Verification => "verification",
        })
    }
}

/// Outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Within the service level.
    Pass,
    /// Outside of it, or ended by a guard.
    Fail,
    /// Neither a pass nor a failure: the interval of a percentile straddles its limit, the client was at its own, other
    /// programs used the cpus up, the machine stood still for another reason than memory, or the time of a trial was
    /// over.
    Unclear,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unclear => "unclear",
        })
    }
}

/// A trial as it was made: saved at once, and enough to take a search up again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialRecord {
    /// Its number, from 1.
    pub number: u32,
    /// Number of tenants, from 1.
    pub tenants: u32,
    /// Its purpose.
    pub phase: Phase,
    /// Whether all tenants were made anew, or added to those that ran.
    pub fresh: bool,
    /// Why it was made.
    pub why: Note,
    /// Its outcome.
    pub outcome: Outcome,
    /// The reason of the outcome: a limit, a tenant, a guard.
    pub decided_by: Note,
    /// The resource that ran out; `None` if the trial passed, or no counter shows it.
    pub ended_by: Option<Ended>,
    /// Counters of the system during the measurement; `None` if the trial ended before it measured.
    #[serde(default)]
    pub evidence: Option<Evidence>,
}

impl TrialRecord {
    /// Why the outcome is what it is. A limit that was missed says nothing if the trial is unclear, so what spoilt the
    /// trial stands before the limit.
    #[must_use]
    pub fn reason(&self) -> String {
        match (self.outcome, &self.ended_by) {
            (Outcome::Unclear, Some(ended)) => format!("{}; {}", ended.why, self.decided_by),
            _ => self.decided_by.to_string(),
        }
    }
}

/// The resource that ends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// The resource that ran out.
    pub resource: Resource,
    /// How that is known, with the figures.
    pub why: Note,
}

/// Resource that may run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Memory, or the tier behind it: room, bandwidth or latency.
    MemoryTier,
    /// Processors of the server.
    Cpu,
    /// The network between client and server.
    Link,
    /// The load generator: its numbers are not the server's.
    Client,
    /// `maxmemory` of the servers: they evict keys that do not fit, and GETs miss them.
    Maxmemory,
    /// The cpu quota of the control group that this program was started in.
    Quota,
    /// Cpus that other programs used: what tenants miss beside them is not the server's limit.
    Others,
}

impl Resource {
    /// Whether its end is the limit of the server, and not of what measures it or runs beside it.
    #[must_use]
    pub fn is_of_server(self) -> bool {
        !matches!(self, Self::Client | Self::Quota | Self::Others)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::MemoryTier => "memory tier",
            Self::Cpu => "cpu",
            Self::Link => "link",
            Self::Client => "client",
            Self::Maxmemory => "maxmemory",
            Self::Quota => "cpu quota",
            Self::Others => "other programs",
        })
    }
}

/// Cost of tenants with each configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostTable {
    /// Currency of every amount.
    pub currency: String,
    /// Day of the prices, `2018-04-30`.
    pub date: String,
    /// Where they are from.
    pub source: String,
    /// Months of running that are counted.
    pub months: f64,
    /// Target saving per tenant against DRAM alone, as a share; `None` if the prices set none.
    #[serde(default)]
    pub saving_wanted: Option<f64>,
    /// One configuration each, that of `dram` first.
    pub rows: Vec<CostRow>,
    /// Notes for the reader, such as that prices are old.
    pub remarks: Vec<Note>,
}

/// Cost of tenants with one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostRow {
    /// The tier as the scenario names it: `dram`, `zram:lz4`.
    pub tier: String,
    /// Mix and key distribution, in one line.
    pub load: String,
    /// Tenants that fit.
    pub tenants: u32,
    /// Cost of the server and of running it, in all.
    pub total: f64,
    /// The same, divided by the tenants.
    pub per_tenant: f64,
    /// Against the first row; `None` for that itself.
    pub against: Option<CostAgainst>,
}

/// One configuration against another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostAgainst {
    /// Tenants over the other's: 3.484 is three and a half times as many.
    pub ratio: f64,
    /// Additional cost as a share of the other's: 0.394 is 39.4 % more.
    pub upgrade: f64,
    /// Saving per tenant, as a share: 0.6 is 60 % less; negative where a tenant costs more.
    pub saving: f64,
    /// Additional cost, as a share, at which a tenant costs the same.
    pub break_even: f64,
    /// Additional cost, as a share, at which a tenant costs as much less as was wanted; below zero where that cannot be
    /// had even for nothing, `None` where nothing was wanted.
    #[serde(default)]
    pub affordable: Option<f64>,
}
