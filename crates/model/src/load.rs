//! The document of `tiermark load`, independent of how it is shown.

mod doubts;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::refusal::{Note, Warning};
use crate::run_labels::{self, RunLabels};
use crate::tool::Tool;

pub use doubts::PUNCTUAL;

/// Schema of the documents this version writes. Adding fields keeps it; changing a meaning makes a new number.
pub const LOAD_SCHEMA: &str = "tiermark/load/1";

/// Everything a run of load saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadRun {
    /// [`LOAD_SCHEMA`].
    pub schema: String,
    /// Id of the run; empty in older documents.
    #[serde(default)]
    pub id: String,
    /// The program.
    pub tool: Tool,
    /// Its command line, without the password.
    pub command: Vec<String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// Whether it ran to its end; otherwise a signal ended it.
    pub complete: bool,
    /// Labels that the user gave (`--label`), by key.
    #[serde(default, skip_serializing_if = "RunLabels::is_empty")]
    pub labels: RunLabels,
    /// Warnings from before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The workload of every tenant.
    pub workload: LoadWorkload,
    /// How the client worked.
    pub client: LoadClient,
    /// Writing all keys; `None` without `--fill`.
    pub fill: Option<LoadPart>,
    /// The results; `None` if the run ended before it measured.
    pub measured: Option<LoadPart>,
    /// What these results show to be wrong with them; empty in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Note>,
}

impl LoadRun {
    /// The name of the client's host, which is the label `host`; `None` without it.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        run_labels::host(&self.labels, None)
    }

    /// How the process that made it ends, unless a signal ended it: a tenant that was given up, or answers that were
    /// refused, missing or wrong, leave the result partial.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let tenants = [&self.fill, &self.measured].into_iter().flatten().flat_map(|part| &part.tenants);
        let is_bad = |t: &LoadTenant| {
            t.fault.is_some() || t.errors > 0 || t.unanswered > 0 || t.mismatches.is_some_and(|wrong| wrong > 0)
        };
        let last = self.measured.as_ref().or(self.fill.as_ref());
        match last {
            Some(part) if part.tenants.iter().all(|tenant| tenant.fault.is_some()) => Exit::Failure,
            _ if tenants.into_iter().any(is_bad) => Exit::Partial,
            _ => Exit::Done,
        }
    }
}

impl LoadWorkload {
    /// Requests of a tenant over the whole run; `None` without a rate or a number.
    #[must_use]
    pub fn planned(&self) -> Option<f64> {
        let timed = || Some(self.requests_per_second? * self.seconds?);
        self.requests.map(|requests| requests as f64).or_else(timed)
    }
}

impl LoadTenant {
    /// Seconds until its last answer, to the end of that second or of the run.
    #[must_use]
    pub fn answered_until(&self) -> f64 {
        let last = self.windows.iter().rposition(|window| window.done > 0);
        last.map_or(0.0, |last| (last + 1) as f64).min(self.seconds)
    }
}

impl LoadPart {
    /// Seconds after which the last tenant was given up; `None` if one ran to the end.
    #[must_use]
    pub fn given_up_after(&self) -> Option<f64> {
        let all_lost = !self.tenants.is_empty() && self.tenants.iter().all(|tenant| tenant.fault.is_some());
        all_lost.then_some(self.all.seconds)
    }

    /// The server whose answers took much longer than those of the others, and than the client was ever late with its
    /// requests: a client that is late at times is not the cause then.
    #[must_use]
    pub fn slow_server(&self) -> Option<SlowServer> {
        let (at, slowest) = self.tenants.iter().enumerate().max_by_key(|(_, tenant)| tenant.service.p99)?;
        let is_other = |tenant: &&LoadTenant| (&tenant.host, &tenant.target) != (&slowest.host, &slowest.target);
        let others = self.tenants.iter().filter(is_other).filter_map(|tenant| tenant.service.p99);
        let (p99_ns, others_ns) = (slowest.service.p99?, others.max()?);
        let least = SLOW.saturating_mul(others_ns.max(slowest.max_late_ns));
        (p99_ns > least).then(|| SlowServer { name: self.names().swap_remove(at), p99_ns, others_ns })
    }

    /// What each tenant is called: its host, and its address if it has no host or if its host has several tenants.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut of_host: BTreeMap<&str, usize> = BTreeMap::new();
        self.tenants.iter().filter_map(|tenant| tenant.host.as_deref()).for_each(|host| {
            *of_host.entry(host).or_default() += 1;
        });
        let name = |tenant: &LoadTenant| match &tenant.host {
            None => tenant.target.clone(),
            Some(host) if of_host.get(host.as_str()) == Some(&1) => host.clone(),
            Some(host) => format!("{host} {}", tenant.target),
        };
        self.tenants.iter().map(name).collect()
    }
}

/// A server is slow if the P99 of its answers is more than so many times that of the others, and than the client was
/// late at most: by less, the client may be the cause.
const SLOW: u64 = 5;

/// A server that was slow where others were not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowServer {
    /// As in [`LoadPart::names`].
    pub name: String,
    /// P99 from the send to the answer, ns.
    pub p99_ns: u64,
    /// The highest of the other servers, ns.
    pub others_ns: u64,
}

/// The workload of every tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadWorkload {
    /// `open`: at a rate, whatever the server does; `closed`: the next request follows an answer; `paced`: it follows
    /// the answer and not before a period of the rate is over.
    #[serde(rename = "loop")]
    pub pacing: LoadLoop,
    /// How the requests of an open loop are spread in time: `constant` or `poisson`.
    pub arrivals: Option<String>,
    /// Requests a second of each tenant, of a loop that has a rate.
    pub requests_per_second: Option<f64>,
    /// Length in seconds; `None` if the run was limited by requests.
    pub seconds: Option<f64>,
    /// Requests of each tenant; `None` if the run was limited by time.
    pub requests: Option<u64>,
    /// Seconds of the same load before anything counts.
    pub warmup_seconds: f64,
    /// Connections to each tenant.
    pub connections: usize,
    /// Most requests under way on a connection.
    pub pipeline_depth: usize,
    /// Number of keys of each tenant.
    pub keys: u64,
    /// The number that is the first key; the others follow.
    #[serde(default)]
    pub first_key: u64,
    /// Text in front of the number of each key.
    pub key_prefix: String,
    /// Least number of digits of a key's number, padded with zeros.
    pub key_digits: usize,
    /// Distribution of requests over keys: `uniform`, `zipf:0.99`, `sequential`.
    pub key_dist: String,
    /// Whether equally popular keys are neighbours: `clustered` or `scrambled`.
    pub key_order: String,
    /// Share of GETs among the requests.
    pub mix: LoadMix,
    /// Size of each value, bytes; the largest where there are several.
    pub value_bytes: usize,
    /// Sizes with their weights, bytes: `1024`, `32-4096`, `64:80,1024:20`. `None` in documents of programs that had
    /// one size.
    #[serde(default)]
    pub value_sizes: Option<String>,
    /// Mean size, bytes; `None` as for `value_sizes`.
    #[serde(default)]
    pub value_mean_bytes: Option<f64>,
    /// Which value has which of several sizes: `random` or `rising`; `None` as for `value_sizes`.
    #[serde(default)]
    pub value_order: Option<String>,
    /// Share of each value that compression removes.
    pub value_compressible: f64,
    /// Whether values were checked.
    pub verify: bool,
    /// Seed of every random choice; of several clients that of the first.
    pub seed: u64,
}

/// What makes a request due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoadLoop {
    /// Its time.
    Open,
    /// An answer.
    Closed,
    /// An answer, and its time if that is later.
    Paced,
}

/// How many of the requests write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadMix {
    /// Percent of the requests that are GETs; the others are SETs.
    pub get_percent: f64,
    /// Whether they are drawn as the published swap-tier test does: a SET where a number of 0..=99 is *above* the
    /// percentage, which makes one percent of the requests fewer SETs (70 gives 29 %).
    pub brief: bool,
}

/// When a client looks again and again instead of sleeping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Spin {
    /// After an answer of a closed loop, as long as further answers come soon.
    #[default]
    Auto,
    /// After every answer, and shortly before a request is due.
    Always,
    /// Never: it sleeps whenever there is nothing to do.
    Never,
}

/// How the client worked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadClient {
    /// Threads, to which tenants are dealt.
    pub threads: usize,
    /// Their cpus; empty where the system puts them.
    pub cpus: Vec<usize>,
    /// When they look again and again instead of sleeping.
    pub spin: Spin,
    /// Longest wait for an answer.
    pub timeout_seconds: f64,
    /// A request that the client tries to send later than this after it could go counts as late.
    pub late_after_seconds: f64,
}

/// One part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadPart {
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// When its first requests were due, RFC 3339 in ms, by the client's clock; of several clients the earliest. `None`
    /// in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Results by tenant, in the order of the targets.
    pub tenants: Vec<LoadTenant>,
    /// All tenants as one: counts added up, latencies merged.
    pub all: LoadTenant,
    /// Cpu time of each of the client's threads.
    pub client_cpu_seconds: Vec<f64>,
    /// Wall time of the longest of them.
    pub client_wall_seconds: f64,
    /// Cpu time of the client for one answer; `None` without an answer.
    pub client_cpu_seconds_per_request: Option<f64>,
}

/// The results of one tenant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadTenant {
    /// Its address; `all` of all together.
    pub target: String,
    /// Name of its host: that of the inventory, or that of the client's document if several were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Why it was given up, where it was.
    pub fault: Option<Note>,
    /// Length of the run.
    pub seconds: f64,
    /// Answers a second.
    pub requests_per_second: f64,
    /// Answers in time over requests that were due; of a tenant that was given up, over all that the run would have
    /// made. `None` where nothing was due.
    pub achieved_share: Option<f64>,
    /// Requests that were due; in a closed loop those that were sent.
    pub scheduled: u64,
    /// Requests sent.
    pub sent: u64,
    /// Answers, errors among them.
    pub done: u64,
    /// Answers that came within the run's time and did not refuse.
    pub done_in_time: u64,
    /// GETs among the answers.
    pub gets: u64,
    /// SETs among the answers.
    pub sets: u64,
    /// Answers that refused.
    pub errors: u64,
    /// The first of them, in the server's words.
    pub first_error: Option<String>,
    /// GETs of keys that are not there.
    pub misses: u64,
    /// GETs with a value that this program did not write for the key; `None` unless values were checked.
    pub mismatches: Option<u64>,
    /// Requests to which the client came too late though there was room for them.
    pub late: u64,
    /// The longest of that in ns.
    pub max_late_ns: u64,
    /// Answers that may have lain in the socket for as long while the client was at work elsewhere.
    #[serde(default)]
    pub late_answers: u64,
    /// Requests sent late because the connection had no room: the server had not answered earlier ones.
    #[serde(default)]
    pub held: u64,
    /// Times that requests were due and as many were under way as are allowed.
    pub overloads: u64,
    /// Times that requests were due and the client had no memory for them, since requests to other servers held it.
    #[serde(default)]
    pub starved: u64,
    /// Requests that were due and not sent before the end.
    pub unsent: u64,
    /// Requests that were sent and never answered.
    pub unanswered: u64,
    /// Each second of the run.
    pub windows: Vec<LoadWindow>,
    /// From when a request was due to its answer; in a closed loop from the send.
    pub response: LoadLatencies,
    /// From the send to the answer.
    pub service: LoadLatencies,
}

/// One second of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadWindow {
    /// Answers that came in it.
    pub done: u64,
    /// Sum of their response times in ns.
    pub response_sum_ns: u64,
    /// The longest of them in ns.
    pub response_max_ns: u64,
}

impl LoadWindow {
    /// Mean response time, ns; `None` in a second without an answer.
    pub fn mean(&self) -> Option<f64> {
        (self.done > 0).then(|| self.response_sum_ns as f64 / self.done as f64)
    }
}

/// Latencies in ns; `None` where there are none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadLatencies {
    /// `ns`.
    pub unit: String,
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// The shortest.
    pub min: Option<u64>,
    /// The longest.
    pub max: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// 99.99th percentile.
    pub p9999: Option<u64>,
    /// All values with their counts; `None` without `--histograms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<LoadHistogram>,
}

/// A distribution, a value to three digits and its count each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadHistogram {
    /// Sum of the recorded values, ns.
    pub sum_ns: u64,
    /// Values in ns, rising, with their counts.
    pub counts: Vec<(u64, u64)>,
}
