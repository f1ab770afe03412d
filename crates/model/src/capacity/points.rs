//! Results of trials, of all tenants together and of each, and the settings under which they were had.

use serde::{Deserialize, Serialize};

use super::Outcome;

/// Results of one trial. Times are response times, from the moment when a request was due; all tenants' requests
/// together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// Number of tenants, from 1.
    pub tenants: u32,
    /// Number of the trial.
    #[serde(rename = "probe")]
    pub trial: u32,
    /// Requests answered.
    pub requests: u64,
    /// Mean response time, ns.
    pub average_ns: f64,
    /// Smallest in ns; `None` in older documents.
    #[serde(default)]
    pub min_ns: Option<f64>,
    /// Median in ns.
    pub p50_ns: f64,
    /// 90th percentile in ns.
    pub p90_ns: f64,
    /// 95th percentile in ns; `None` in older documents.
    #[serde(default)]
    pub p95_ns: Option<f64>,
    /// 99th percentile in ns.
    pub p99_ns: f64,
    /// 99.9th percentile in ns.
    pub p99_9_ns: f64,
    /// Largest in ns.
    pub max_ns: f64,
    /// Mean over the tenants of their 99th percentiles, in ns: the brief's figure, and no percentile of anything.
    pub brief_p99_ns: f64,
    /// Requests answered over requests due by the schedule.
    pub achieved: f64,
    /// Major page faults a request; `None` where they are not counted.
    pub faults_per_request: Option<f64>,
    /// Outcome of the trial.
    pub outcome: Outcome,
    /// Whether a guard ended the trial: the times are those until then, of its warm-up if it got no further.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_early: bool,
    /// The same times with the requests that a closed loop left out while it waited; `None` for an open loop, which
    /// leaves out none.
    #[serde(default)]
    pub with_omitted: Option<WithOmitted>,
    /// Times of each tenant, in their order; empty in older documents.
    #[serde(default)]
    pub each: Vec<TenantTimes>,
}

/// Response times of all tenants together, with the requests that a closed loop left out while it waited (coordinated
/// omission): an estimate of what an open loop would have measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithOmitted {
    /// Requests, those that were left out among them.
    pub requests: u64,
    /// Mean response time, ns.
    pub average_ns: f64,
    /// 99th percentile in ns.
    pub p99_ns: f64,
}

/// Response times of one tenant in a trial, ns. A tenant that answered nothing has zeros and no requests.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TenantTimes {
    /// Requests answered.
    pub requests: u64,
    /// Mean.
    pub average_ns: f64,
    /// Smallest.
    pub min_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 95th percentile.
    pub p95_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Largest.
    pub max_ns: f64,
}

/// One setting of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name, as in `tiermark tune`: `vm.page-cluster`.
    pub name: String,
    /// The device, cpus or nodes that it is of; `None` for the whole system.
    pub on: Option<String>,
    /// Its value.
    pub value: String,
}
