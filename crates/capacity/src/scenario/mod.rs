//! A scenario: the tenants, their load, their memory, and the service level.

mod asked;
mod check;
mod kinds;
mod written;

use std::fmt;

use serde::{Deserialize, Serialize};
use tiermark_config::Mistake;
use tiermark_load::{Arrivals, KeyDist, KeyOrder};

use crate::backend::GuestShape;
use crate::level::Level;
pub use kinds::{Backend, MaxMemory, Pacing, Size, Tier};

/// The built-in scenarios, in the order in which they are listed.
const BUILT_IN: [(&str, &str); 2] =
    [("brief", include_str!("../../scenarios/brief.toml")), ("mini", include_str!("../../scenarios/mini.toml"))];

/// The one that shows how each key is written.
const MODEL: &str = BUILT_IN[1].1;

/// The texts of the built-in scenarios, by name.
#[must_use]
pub fn built_in() -> &'static [(&'static str, &'static str)] {
    &BUILT_IN
}

/// A capacity run as data: tenants, their load, the service level, the tiers to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The name that the command line and documents call the scenario.
    pub name: String,
    /// A summary of one line.
    #[serde(default)]
    pub title: String,
    /// A page of text about the scenario.
    #[serde(default)]
    pub about: String,
    /// How tenants run.
    #[serde(default)]
    pub backend: Backend,
    /// Addresses of tenants that run already (`host:port`), for `external`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Kinds of memory that are compared, each searched by itself.
    pub tiers: Vec<Tier>,
    /// Memory that all tenants together may take.
    pub dram_budget: Size,
    /// Part of the budget that is reserved for the system and the clients.
    #[serde(default = "nothing")]
    pub reserve: Size,
    /// Size of tiers that have none of their own (zram and files); four times the budget where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_size: Option<Size>,
    /// A file of prices, by its path; `None` computes no cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Seed of every random choice; `None`: drawn anew for each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// One tenant: its server and its keys.
    pub tenant: Tenant,
    /// The requests to each tenant.
    pub load: Load,
    /// How long warming up and measuring take.
    #[serde(default)]
    pub time: Times,
    /// The service level.
    pub level: Level,
    /// The most that a search may take.
    #[serde(default)]
    pub limits: SearchLimits,
}

fn nothing() -> Size {
    Size(0)
}

/// Server and data of a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tenant {
    /// The server's program: a name that is looked up, or a path.
    #[serde(default = "redis")]
    pub server: String,
    /// Records it holds.
    #[serde(deserialize_with = "written::count")]
    pub records: u64,
    /// Bytes of a record's value.
    pub value: Size,
    /// Share of a value that compression takes away: 0 is random, 0.5 halves. Decides what zram and zswap hold.
    #[serde(default)]
    pub compressibility: f64,
    /// Whether it drops records when it is full: never.
    #[serde(default)]
    pub maxmemory: MaxMemory,
    /// Memory of its virtual machine, where it has one; enough for its records and a small system where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_memory: Option<Size>,
    /// Cpus of its virtual machine, where it has one; 1 where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_cpus: Option<u32>,
    /// Parameters at the end of its kernel's command line, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_append: Option<String>,
}

/// Most memory of a server for a byte of values: 1.35 was measured for values of 1 KiB, some of it as room between
/// sizes.
const OVERHEAD: f64 = 1.6;
/// Most memory for a record beside its value, bytes: a key, its entry and their room. It decides where values are
/// small.
const ENTRY: u64 = 512;
/// Size of a tier without a size of its own, in budgets of DRAM: the brief had three.
const TIER_BUDGETS: u64 = 4;
/// Memory of a guest's kernel, its files and its client, bytes.
const SYSTEM: u64 = 192 << 20;

fn redis() -> String {
    "redis-server".to_owned()
}

/// The requests to each tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Load {
    /// Requests a second; in a closed loop at most.
    pub rate: f64,
    /// Whether requests are sent at their times, or one at a time.
    #[serde(default)]
    pub pacing: Pacing,
    /// The times at which requests are due.
    #[serde(default)]
    pub arrival: Arrivals,
    /// Percentages of GETs, the rest being SETs; each is searched by itself.
    #[serde(default = "reads")]
    pub mixes: Vec<f64>,
    /// Whether SETs are as many as the brief's comparison made them: one percent of all requests fewer.
    #[serde(default)]
    pub brief_mix: bool,
    /// Distributions of keys; each is searched by itself.
    #[serde(default = "uniform")]
    pub keys: Vec<KeyDist>,
    /// Whether popular keys are neighbours.
    #[serde(default)]
    pub key_order: KeyOrder,
    /// Connections to a tenant.
    #[serde(default = "one")]
    pub connections: u32,
    /// Requests that wait for an answer on a connection, at most; beyond it the tenant is overloaded.
    #[serde(default = "thousand")]
    pub pipeline: u32,
}

fn reads() -> Vec<f64> {
    vec![100.0]
}

fn uniform() -> Vec<KeyDist> {
    vec![KeyDist::Uniform]
}

fn one() -> u32 {
    1
}

fn thousand() -> u32 {
    1000
}

/// For how long it is measured, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Times {
    /// Before it counts, with keys of their own.
    #[serde(deserialize_with = "written::seconds")]
    pub warm_up: f64,
    /// After that, at most, for the system to come to rest; 0 does not wait for it.
    #[serde(deserialize_with = "written::seconds")]
    pub settle: f64,
    /// Length of one iteration, s.
    #[serde(deserialize_with = "written::seconds")]
    pub measure: f64,
    /// Iterations of a full trial.
    pub iterations: u32,
}

impl Default for Times {
    fn default() -> Self {
        // Percentiles of 60 s at a few thousand requests a second are known to some percent.
        Self { warm_up: 30.0, settle: 120.0, measure: 60.0, iterations: 3 }
    }
}

/// Limits of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SearchLimits {
    /// The only number of tenants to try on each tier; `None` searches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<u32>,
    /// Tenants that are never exceeded by a search.
    pub most_tenants: u32,
    /// Trials of one search.
    #[serde(alias = "most-probes")]
    pub most_trials: u32,
    /// Time limit of one trial, seconds, its fill included; a level that is not clear by then stays so.
    #[serde(alias = "probe-seconds", deserialize_with = "written::seconds")]
    pub trial_seconds: f64,
    /// Time limit of the whole run, seconds; the run then reports its results so far. `None`: no limit.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::some_seconds")]
    pub total_seconds: Option<f64>,
    /// Memory of the machine that is never used up: a trial ends that comes near.
    pub memory_floor: Size,
}

impl Default for SearchLimits {
    fn default() -> Self {
        // 40 trials are what 2 log₂ N + 8 allows of 65,536 tenants.
        let memory_floor = Size(512 << 20);
        Self {
            tenants: None,
            most_tenants: 1000,
            most_trials: 40,
            trial_seconds: 3600.0,
            total_seconds: None,
            memory_floor,
        }
    }
}

/// Which operations tenants get, on which keys; shown as `70 % GET, brief:10`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requests {
    /// Percentage of GETs; the others are SETs.
    pub gets: f64,
    /// Distribution of keys.
    pub keys: KeyDist,
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} % GET, {}", self.gets, self.keys)
    }
}

/// One search of a scenario: a tier under one load; shown as `zram (70 % GET, brief:10)`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchCase<'a> {
    /// The tier that extends DRAM.
    pub tier: &'a Tier,
    /// The mix of requests, and the distribution of keys.
    pub requests: Requests,
}

impl fmt::Display for SearchCase<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.tier, self.requests)
    }
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Every [`Mistake`], each with line, key and a suggestion.
    pub fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        tiermark_config::read(text, MODEL, Self::problems)
    }

    /// The searches: each tier under each mix and distribution of keys, all tiers of one load together and `dram` first, since the
    /// others are held against it.
    #[must_use]
    pub fn searches(&self) -> Vec<SearchCase<'_>> {
        let mut tiers: Vec<&Tier> = self.tiers.iter().collect();
        tiers.sort_by_key(|tier| **tier != Tier::Dram);
        let all_keys = || self.load.keys.iter().copied();
        let loads = self.load.mixes.iter().flat_map(|gets| all_keys().map(|keys| Requests { gets: *gets, keys }));
        loads.flat_map(|requests| tiers.iter().map(move |tier| SearchCase { tier, requests })).collect()
    }

    /// DRAM that tenants have, and what compresses their memory: the budget less what the system keeps, bytes.
    #[must_use]
    pub fn tenants_dram(&self) -> u64 {
        self.dram_budget.0.saturating_sub(self.reserve.0)
    }

    /// Size of tiers that have none of their own, bytes.
    #[must_use]
    pub fn tier_bytes(&self) -> u64 {
        self.tier_size.map_or(self.dram_budget.0.saturating_mul(TIER_BUDGETS), |size| size.0)
    }

    /// The most tenants of a trial.
    #[must_use]
    pub fn most_tenants(&self) -> u32 {
        self.limits.tenants.unwrap_or(self.limits.most_tenants)
    }

    /// Memory of a tenant's virtual machine, bytes.
    #[must_use]
    pub fn vm_memory(&self) -> u64 {
        let Tenant { records, value, vm_memory, .. } = &self.tenant;
        let record = ((value.0 as f64 * OVERHEAD) as u64).max(value.0.saturating_add(ENTRY));
        vm_memory.map_or(records.saturating_mul(record).saturating_add(SYSTEM), |size| size.0)
    }

    /// The shape of a tenant's virtual machine.
    #[must_use]
    pub fn guest(&self) -> GuestShape {
        let Tenant { vm_cpus, vm_append, .. } = &self.tenant;
        let append = vm_append.clone().unwrap_or_default();
        GuestShape { memory: self.vm_memory(), cpus: vm_cpus.unwrap_or(1), append }
    }

    /// Tenant and load in one line.
    #[must_use]
    pub fn workload(&self) -> String {
        let Tenant { server, records, value, .. } = &self.tenant;
        let pacing = match self.load.pacing {
            Pacing::Open => "",
            Pacing::Closed => " at most (closed loop)",
        };
        let asked = format!("{records} × {value}, {} requests/s each{pacing}", self.load.rate);
        match self.backend {
            Backend::External => format!("a server elsewhere of {asked}"),
            _ => format!("{server} of {asked}, in {} of DRAM", self.dram_budget),
        }
    }
}

#[cfg(test)]
mod tests;
