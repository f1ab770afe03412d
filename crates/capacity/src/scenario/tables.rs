//! The tables of a scenario file.

use tiermark_load::{Arrivals, KEY_FORMS, KeyDist, KeyOrder};

use super::{Backend, Eviction, MaxMemory, Pacing, Size, Tier, written};
use crate::level::Level;
use crate::table::table;

/// The brief distribution maps keys of 31 bits, and the limit applies to every distribution.
const MOST_RECORDS: f64 = ((1u32 << 31) - 1) as f64;
/// The longest string a Redis server takes.
const MOST_VALUE: f64 = (512 << 20) as f64;
/// A Redis server without keys takes 1 MiB by its own count, and the buffers of its clients.
const LEAST_MAXMEMORY: f64 = (4 << 20) as f64;
/// Far beyond what one server answers: a rate above it is a typing error.
const MOST_RATE: f64 = 10e6;
/// Longest phase of a trial: a day.
const DAY: f64 = 86_400.0;
/// Longest trial, fill included, and longest run: a week.
const WEEK: f64 = 7.0 * DAY;
/// The least of a number that must not be 0.
pub(super) const ABOVE_ZERO: f64 = f64::MIN_POSITIVE;
/// The most of a number without one.
pub(super) const ANY: f64 = f64::INFINITY;

table! {
    /// A capacity run as data: tenants, their load, the service level, the tiers to compare.
    Scenario {
        /// The name in documents.
        name: String = "text";
        /// A summary of one line.
        title: String = "text", serde(default);
        /// A page of text about the scenario.
        about: String = "text", serde(default);
        /// Where tenants run: server processes of this machine, virtual machines, or servers that run already.
        backend: Backend = "choice", serde(default);
        /// Servers that run already, for backend = "external"; no other backend has them.
        targets: Vec<String> = "list of host:port, or paths of unix sockets", serde(default, skip_serializing_if = "Vec::is_empty");
        /// Kinds of memory to compare, each searched by itself.
        tiers: Vec<Tier> = "list of dram, swap:PATH, zram[:ALGORITHM], zswap, node:N, demotion:N, or mixes as \
            zram+swap:PATH";
        /// Memory of all tenants together, in place of the server's DRAM.
        dram_budget: Size = "size";
        /// Part of the budget that is reserved for the system and the clients.
        reserve: Size = "size", serde(default = "nothing");
        /// Size of zram devices and of swap files; without it four times the budget.
        tier_size: Option<Size> = "size", serde(default, skip_serializing_if = "Option::is_none");
        /// Price file, to compute the cost of a tenant.
        prices: Option<String> = "path", serde(default, skip_serializing_if = "Option::is_none");
        /// Seed of every random choice; without it drawn anew for each run, and recorded.
        seed: Option<u64> = "number", serde(default, skip_serializing_if = "Option::is_none");
        /// One tenant: its server and its keys.
        tenant: Tenant = "table";
        /// The requests to each tenant.
        load: Load = "table";
        /// How long warming up and measuring take.
        time: Times = "table", serde(default);
        /// The service level.
        level: Level = "table";
        /// The most that a search may take.
        limits: SearchLimits = "table", serde(default);
    }
}

table! {
    /// Server and data of a tenant.
    Tenant {
        /// The server's program, a name that is looked up or a path.
        server: String = "text", serde(default = "redis");
        /// Records that are written to it.
        records: u64 = "number, or as \"75k\"" in 1.0 to MOST_RECORDS, serde(deserialize_with = "written::count");
        /// Size of a record's value.
        value: Size = "size" in 1.0 to MOST_VALUE;
        /// Share of a value that compression removes: 0 is random, 0.5 halves it. It decides what zram and zswap hold.
        // 1 would be nothing but zeros, of which the kernel keeps no copy at all.
        compressibility: f64 = "share" in 0.0 to 0.99, serde(default);
        /// Memory limit at which the server evicts keys, for backend = "process"; "off" or 0 means no limit. With
        /// backend = "external" the server keeps its own setting; this key only states that missing keys are no
        /// failure.
        maxmemory: MaxMemory = "\"off\" or a size" in LEAST_MAXMEMORY to ANY, serde(default);
        /// Which keys the server evicts. A GET of an evicted key counts as answered; the report has the share of GETs
        /// that found their key.
        maxmemory_policy: Eviction = "choice", serde(default);
        /// Memory of each virtual machine, for backend = "qemu"; without it enough for the records and 192 MiB.
        vm_memory: Option<Size> = "size", serde(default, skip_serializing_if = "Option::is_none");
        /// Cpus of each virtual machine, for backend = "qemu"; without it 1.
        vm_cpus: Option<u32> = "number" in 1.0 to 64.0, serde(default, skip_serializing_if = "Option::is_none");
        /// Parameters added to the command line of the virtual machines' kernel.
        vm_append: Option<String> = "text", serde(default, skip_serializing_if = "Option::is_none");
    }
}

table! {
    /// The requests to each tenant.
    Load {
        /// Requests a second of each tenant; in a closed loop at most.
        rate: f64 = "requests/s" in ABOVE_ZERO to MOST_RATE;
        /// Whether requests are sent at their times (open loop), or one at a time (closed loop).
        pacing: Pacing = "choice", serde(default);
        /// How the times of requests are spread.
        arrival: Arrivals = "choice", serde(default);
        /// Percentages of GETs (0, or 1 to 100), the others are SETs; each is searched by itself.
        mixes: Vec<f64> = "list of percentages" in 0.0 to 100.0, serde(default = "reads");
        /// Draw GETs and SETs as the published test does: one percent of all requests fewer are SETs.
        brief_mix: bool = "true or false", serde(default);
        /// Distributions of the requested keys; each is searched by itself.
        keys: Vec<KeyDist> = KEY_FORMS, serde(default = "uniform");
        /// Whether popular keys are neighbours.
        key_order: KeyOrder = "choice", serde(default);
        /// Connections to each tenant.
        connections: u32 = "number" in 1.0 to 1000.0, serde(default = "one");
        /// Most requests under way on a connection; beyond it the tenant is overloaded.
        pipeline: u32 = "number" in 1.0 to 100_000.0, serde(default = "thousand");
    }
}

table! {
    /// How long warming up and measuring take.
    Times, derive(Copy), serde(default) {
        /// Load before anything counts, with keys of its own.
        warm_up: f64 = "seconds, or as \"2m\"" in 0.0 to DAY, serde(deserialize_with = "written::seconds");
        /// Longest wait after the warm-up until the system is steady; 0 does not wait.
        settle: f64 = "seconds, or as \"2m\"" in 0.0 to DAY, serde(deserialize_with = "written::seconds");
        /// Length of one iteration.
        measure: f64 = "seconds, or as \"2m\"" in 0.1 to DAY, serde(deserialize_with = "written::seconds");
        /// Iterations of a full trial.
        iterations: u32 = "number" in 1.0 to 100.0;
    }
}

table! {
    /// Limits of a search.
    SearchLimits, derive(Copy), serde(default) {
        /// The only number of tenants to try on each tier; without it the number is searched for.
        tenants: Option<u32> = "number" in 1.0 to 100_000.0, serde(skip_serializing_if = "Option::is_none");
        /// Most tenants of a trial.
        most_tenants: u32 = "number" in 1.0 to 100_000.0;
        /// Most trials of one search.
        most_trials: u32 = "number" in 1.0 to 1000.0;
        /// Longest time of one trial, its fill included. If the level is not clearly kept or missed by then, the trial
        /// is unclear.
        trial_seconds: f64 = "seconds, or as \"2h\"" in 1.0 to WEEK, serde(deserialize_with = "written::seconds");
        /// Longest time of the whole run, in equal parts for its searches; without it no limit.
        total_seconds: Option<f64> = "seconds, or as \"2h\"" in 1.0 to WEEK, serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::some_seconds");
        /// Memory of the machine that must stay available: a trial fails as soon as less is available.
        memory_floor: Size = "size";
    }
}

fn nothing() -> Size {
    Size(0)
}

fn redis() -> String {
    "redis-server".to_owned()
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

impl Default for Times {
    fn default() -> Self {
        // Percentiles of 60 s at a few thousand requests a second are known to some percent.
        Self { warm_up: 30.0, settle: 120.0, measure: 60.0, iterations: 3 }
    }
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
