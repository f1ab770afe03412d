//! A scenario: the tenants, their load, their memory, and the service level.

mod check;
mod kinds;
mod reference;
mod tables;
mod written;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use tiermark_history::config::{Mistake, text_of};
use tiermark_load::{KeyDist, Length, Pace, ValueShape, Workload};
use tiermark_model::load::LoadMix;
use tiermark_model::nearest;
use toml::{Table, Value};

pub use crate::table::Key;
pub(crate) use kinds::SERVER_OPTIONS;
pub use kinds::{Backend, Eviction, GuestShape, MaxMemory, MemoryLimit, Pacing, Size, Tier};
pub use reference::{KeyRow, Unnamed, reference};
pub use tables::{Load, Scenario, SearchLimits, Tenant, Times};

/// The built-in scenarios, in the order in which they are listed.
const BUILT_IN: [(&str, &str); 3] = [
    ("brief", include_str!("../../scenarios/brief.toml")),
    ("mini", include_str!("../../scenarios/mini.toml")),
    ("cache", include_str!("../../scenarios/cache.toml")),
];

/// The one that shows how each key is written.
const MODEL: &str = BUILT_IN[1].1;

/// The texts of the built-in scenarios, by name.
pub fn built_in() -> &'static [(&'static str, &'static str)] {
    &BUILT_IN
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

impl Tenant {
    /// Bytes of values that a tenant holds at most.
    pub fn held(&self) -> u64 {
        let values = self.records.saturating_mul(self.value.0);
        match self.maxmemory {
            MaxMemory::Off => values,
            MaxMemory::At(size) => values.min(size.0),
        }
    }

    /// When its server evicts keys, and which.
    pub fn memory_limit(&self) -> MemoryLimit {
        match self.maxmemory {
            MaxMemory::Off => MemoryLimit::default(),
            MaxMemory::At(size) => MemoryLimit { bytes: size.0, policy: self.maxmemory_policy },
        }
    }
}

impl Scenario {
    /// The built-in scenario of a name, or that of a file, with other values of some keys (`load.rate`): TOML, or a
    /// text without quotes. With such values, what its keys are together ([`Scenario::problems`]) is left to the
    /// caller: more may change.
    ///
    /// # Errors
    /// Every mistake, a sentence each that names the scenario or the values.
    pub fn named(name: &str, settings: &[(String, String)]) -> Result<Self, Vec<String>> {
        let text = match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => (*text).to_owned(),
            None => text_of(Path::new(name)).map_err(|error| {
                let names = BUILT_IN.map(|(name, _)| name);
                let (near, all) = (nearest(name, &names), names.join(", "));
                vec![format!("'{name}' is neither a scenario ({all}){near} nor a file that can be read: {error}")]
            })?,
        };
        let of_file = |mistake: &Mistake| format!("{name}: {mistake}");
        let whole = Self::read(&text);
        let table: Option<Table> = text.parse().ok();
        let (Some(mut table), false) = (table, settings.is_empty()) else {
            return whole.map_err(|mistakes| mistakes.iter().map(of_file).collect());
        };
        for (key, value) in settings {
            let alone = format!("value = {value}").parse::<Table>().ok().filter(|table| table.len() == 1);
            let read = alone.and_then(|mut table| table.remove("value"));
            set(&mut table, key, read.unwrap_or_else(|| Value::String(value.clone())));
        }
        let before = whole.err().unwrap_or_default();
        // A mistake that the file has without the values has a line there.
        let blamed = |mistake: Mistake| match before.iter().find(|m| m.key == mistake.key && m.fault == mistake.fault) {
            Some(own) => of_file(own),
            None => format!("--set: {}", Mistake { line: 0, ..mistake }),
        };
        let keys = tiermark_history::config::read(&table.to_string(), MODEL, |_: &Self| Vec::new());
        keys.map_err(|mistakes| mistakes.into_iter().map(blamed).collect())
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// Every [`Mistake`], each with line, key and a suggestion.
    pub fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        tiermark_history::config::read(text, MODEL, Self::problems)
    }

    /// The searches: each tier under each mix and distribution of keys, all tiers of one load together and `dram`
    /// first, since the others are held against it.
    pub fn searches(&self) -> Vec<SearchCase<'_>> {
        let mut tiers: Vec<&Tier> = self.tiers.iter().collect();
        tiers.sort_by_key(|tier| **tier != Tier::Dram);
        let all_keys = || self.load.keys.iter().copied();
        let loads = self.load.mixes.iter().flat_map(|gets| all_keys().map(|keys| Requests { gets: *gets, keys }));
        loads.flat_map(|requests| tiers.iter().map(move |tier| SearchCase { tier, requests })).collect()
    }

    /// DRAM that tenants have, and what compresses their memory: the budget less what the system keeps, bytes.
    pub fn tenants_dram(&self) -> u64 {
        self.dram_budget.0.saturating_sub(self.reserve.0)
    }

    /// Size of tiers that have none of their own, bytes.
    pub fn tier_bytes(&self) -> u64 {
        self.tier_size.map_or(self.dram_budget.0.saturating_mul(TIER_BUDGETS), |size| size.0)
    }

    /// The most tenants of a trial.
    pub fn most_tenants(&self) -> u32 {
        self.limits.tenants.unwrap_or(self.limits.most_tenants)
    }

    /// Memory of a tenant's virtual machine, bytes.
    pub fn vm_memory(&self) -> u64 {
        let Tenant { records, value, vm_memory, .. } = &self.tenant;
        let record = ((value.0 as f64 * OVERHEAD) as u64).max(value.0.saturating_add(ENTRY));
        vm_memory.map_or(records.saturating_mul(record).saturating_add(SYSTEM), |size| size.0)
    }

    /// The shape of a tenant's virtual machine.
    pub fn guest(&self) -> GuestShape {
        let Tenant { vm_cpus, vm_append, .. } = &self.tenant;
        let append = vm_append.clone().unwrap_or_default();
        GuestShape { memory: self.vm_memory(), cpus: vm_cpus.unwrap_or(1), append }
    }

    /// Tenant and load in one line.
    pub fn workload(&self) -> String {
        let Tenant { server, records, value, .. } = &self.tenant;
        let pacing = match self.load.pacing {
            Pacing::Open => "",
            Pacing::Closed => " at most (closed loop)",
        };
        let evicts = match self.tenant.maxmemory {
            MaxMemory::Off => String::new(),
            MaxMemory::At(size) => format!(" in at most {size}"),
        };
        let asked = format!("{records} × {value}{evicts}, {} requests/s each{pacing}", self.load.rate);
        match self.backend {
            Backend::External => format!("a server elsewhere of {asked}"),
            _ => format!("{server} of {asked}, in {} of DRAM", self.dram_budget),
        }
    }
}

/// Sets `KEY` or `TABLE.KEY`; what is no table becomes one.
fn set(file: &mut Table, key: &str, value: Value) {
    let Some((table, key)) = key.split_once('.') else {
        file.insert(key.to_owned(), value);
        return;
    };
    let mut within = match file.remove(table) {
        Some(Value::Table(within)) => within,
        _ => Table::new(),
    };
    within.insert(key.to_owned(), value);
    file.insert(table.to_owned(), Value::Table(within));
}

impl Scenario {
    /// The workload of one tenant in the part that is measured.
    pub fn asked(&self, Requests { gets, keys }: Requests, seed: u64) -> Workload {
        let (tenant, load) = (&self.tenant, &self.load);
        Workload {
            pace: match load.pacing {
                Pacing::Open => Pace::Open { arrivals: load.arrival, rate: load.rate },
                Pacing::Closed => Pace::Paced { rate: load.rate },
            },
            length: Length::Time(Duration::from_secs_f64(self.time.measure.clamp(0.0, f64::from(u32::MAX)))),
            connections: load.connections as usize,
            depth: load.pipeline as usize,
            first_key: 0,
            keys: tenant.records,
            key_prefix: String::new(),
            key_digits: 0,
            key_dist: keys,
            key_order: load.key_order,
            mix: LoadMix { get_percent: gets, brief: load.brief_mix },
            value: ValueShape::of(tenant.value.0 as usize, tenant.compressibility),
            verify: false,
            seed,
        }
    }
}

#[cfg(test)]
mod tests;
