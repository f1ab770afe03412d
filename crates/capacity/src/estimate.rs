//! Estimates how long searches take before any of them begins, by the trials that the search itself would make.

use std::fmt;

use tiermark_model::capacity::Outcome;

use crate::budget::{Arithmetic, Budgets};
use crate::scenario::{Backend, MaxMemory, Scenario, SearchLimits, Tier};
use crate::search::{Limits, Search, Step, TrialRequest};
use crate::steady::WINDOWS;
use crate::trial::SIZING;

/// Memory of a server for a value of 1 KiB, over its bytes: measured with Redis 7.
const OVERHEAD: f64 = 1.3;
/// Memory for a record however small, bytes.
const ENTRY: f64 = 80.0;
/// Records that a thread of the client writes a second, and their bytes: two thirds of the rate measured with Redis 7
/// on one cpu of 2024.
const RECORDS: f64 = 100_000.0;
const BYTES: f64 = 100e6;
/// Seconds until a server answers, and until a virtual machine does.
const STARTS: f64 = 0.05;
const BOOTS: f64 = 5.0;
/// Seconds in which tenants are ended, counters read and a tier is made.
const AROUND: f64 = 0.3;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;

/// A time that something takes, from the least that is likely to the most, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeRange {
    /// Where systems are steady as soon as that can be seen.
    pub least: f64,
    /// Where each trial waits for it for as long as it may.
    pub most: f64,
}

impl TimeRange {
    fn both(seconds: f64) -> Self {
        Self { least: seconds, most: seconds }
    }

    /// Both, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self { least: self.least + other.least, most: self.most + other.most }
    }

    pub(crate) fn at_most(self, seconds: f64) -> Self {
        Self { least: self.least.min(seconds), most: self.most.min(seconds) }
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (spoken(self.least), spoken(self.most));
        if least == most { write!(f, "about {most}") } else { write!(f, "about {least} to {most}") }
    }
}

/// A time in two numbers at most: `50 s`, `12 min`, `3 h 20 min`, `4 days`.
pub fn spoken(seconds: f64) -> String {
    match seconds {
        s if s < 1.5 * MINUTE => format!("{s:.0} s"),
        s if s < 1.5 * HOUR => format!("{:.0} min", s / MINUTE),
        s if s < 48.0 * HOUR => {
            let minutes = (s / MINUTE / 10.0).round() * 10.0;
            let (hours, rest) = ((minutes / 60.0).floor(), minutes % 60.0);
            if rest < 1.0 { format!("{hours:.0} h") } else { format!("{hours:.0} h {rest:.0} min") }
        }
        s => format!("{:.1} days", s / 24.0 / HOUR),
    }
}

/// One search, as it is likely to go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Tenants that are reckoned with.
    pub tenants: u32,
    /// Whether `most-tenants` allows fewer than memory would hold: the search then ends with "or more".
    pub is_capped: bool,
    /// Trials that a search takes.
    pub trials: u32,
    /// Time that the whole search takes.
    pub about: TimeRange,
}

impl Scenario {
    /// How a search of a tier with so much room is likely to go, by a client with so many threads. What ends it is
    /// taken to be memory: where the service level ends it before, it is shorter.
    pub fn estimate(&self, tier: &Tier, room: Option<u64>, threads: usize) -> Estimate {
        let most_tenants = match self.backend {
            Backend::External => self.most_tenants().min(self.targets.len() as u32),
            _ => self.most_tenants(),
        };
        let SearchLimits { most_trials, tenants: only, .. } = self.limits;
        let limits = Limits { arithmetic: self.arithmetic(room), most_tenants, only, most_trials };
        let wanted = only.unwrap_or_else(|| self.edge(tier, &limits.arithmetic));
        let edge = wanted.min(most_tenants);
        let mut search = Search::new(limits);
        let (mut about, mut before) = (TimeRange::both(AROUND), 0);
        while let Step::Trial(ask) = search.next_step() {
            about = about.and(self.trial_takes(&ask, before, threads));
            before = ask.tenants;
            search.record(&ask, if ask.tenants <= edge { Outcome::Pass } else { Outcome::Fail });
        }
        Estimate { tenants: edge, is_capped: wanted > most_tenants, trials: search.trials(), about }
    }

    /// The step before all searches: one tenant is started to measure its memory.
    pub fn sizing_takes(&self, threads: usize) -> TimeRange {
        match self.backend {
            Backend::External => TimeRange::default(),
            _ => TimeRange::both(SIZING.as_secs_f64() + AROUND + self.fill_takes(1, threads)),
        }
    }

    fn trial_takes(&self, ask: &TrialRequest, before: u32, threads: usize) -> TimeRange {
        let time = &self.time;
        let new = if ask.fresh { ask.tenants } else { ask.tenants.saturating_sub(before) };
        let measured = time.measure * if ask.full { f64::from(time.iterations) } else { 1.0 };
        let same = AROUND + self.fill_takes(new, threads) + time.warm_up + measured;
        let rest = TimeRange { least: time.settle.min(WINDOWS as f64), most: time.settle };
        TimeRange::both(same).and(rest).at_most(self.limits.trial_seconds)
    }

    /// Seconds in which so many tenants are started and filled.
    fn fill_takes(&self, tenants: u32, threads: usize) -> f64 {
        let (value, records) = (self.tenant.value.0 as f64, self.tenant.records as f64);
        let rate = RECORDS.min(BYTES / value.max(1.0));
        let (starts, clients) = match self.backend {
            // Each fills itself, one after another's boot.
            Backend::Qemu => (BOOTS, 1.0),
            Backend::Process | Backend::External => (STARTS, threads.max(1) as f64),
        };
        f64::from(tenants) * (starts + records / rate / clients)
    }

    /// Likely memory of one tenant, bytes.
    fn likely_bytes(&self) -> u64 {
        match self.backend {
            Backend::Qemu => self.vm_memory(),
            _ => {
                let records = (self.tenant.records as f64 * (self.tenant.value.0 as f64 * OVERHEAD + ENTRY)) as u64;
                match self.tenant.maxmemory {
                    MaxMemory::Off => records,
                    MaxMemory::At(size) => records.min((size.0 as f64 * OVERHEAD) as u64),
                }
            }
        }
    }

    fn arithmetic(&self, room: Option<u64>) -> Arithmetic {
        Budgets {
            dram: self.dram_budget.0,
            reserve: self.reserve.0,
            footprint: self.likely_bytes(),
            tier: room.unwrap_or(0),
            ratio: 1.0,
            cpus: 1.0,
            cpu_per_tenant: None,
        }
        .arithmetic()
    }

    /// Tenants beyond which memory is used up.
    fn edge(&self, tier: &Tier, arithmetic: &Arithmetic) -> u32 {
        if self.backend == Backend::External {
            return u32::MAX;
        }
        let compressed = |part: &Tier| matches!(part, Tier::Zram(_) | Tier::Zswap);
        let alone = tier.parts().iter().all(compressed);
        // Compressed memory takes its share of the same DRAM.
        let squeezed = f64::from(arithmetic.memory) / (1.0 - self.tenant.compressibility).max(0.01);
        if alone { arithmetic.total.min(squeezed as u32) } else { arithmetic.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Size, built_in};

    fn read(name: &str) -> Scenario {
        Scenario::read(built_in().iter().find(|(known, _)| *known == name).unwrap().1).unwrap()
    }

    #[test]
    fn the_small_scenario_takes_the_minutes_that_it_took() {
        let mini = read("mini");
        let dram = mini.estimate(&Tier::Dram, None, 1);
        assert!(dram.tenants == 5 && (6..=10).contains(&dram.trials), "{dram:?}");
        let zram = mini.estimate(&Tier::Zram(None), Some(mini.tier_bytes()), 1);
        assert!(zram.tenants == 10 && (7..=12).contains(&zram.trials), "{zram:?}");
        let all = mini.sizing_takes(1).and(dram.about).and(zram.about);
        // Measured: two minutes.
        assert!((60.0..240.0).contains(&all.most) && all.least == all.most, "{all:?}");
        let huge = Size(1 << 50);
        let many = Scenario { dram_budget: huge, ..mini.clone() }.estimate(&Tier::Dram, None, 1);
        assert_eq!(many.tenants, mini.limits.most_tenants, "no more are ever started");
    }

    #[test]
    fn waiting_for_rest_and_limits_show_in_the_time() {
        let mut mini = read("mini");
        let before = mini.estimate(&Tier::Dram, None, 1);
        mini.time.settle = 20.0;
        let after = mini.estimate(&Tier::Dram, None, 1);
        let trials = f64::from(before.trials);
        assert!((after.about.most - before.about.most - 20.0 * trials).abs() < 1e-6);
        assert!((after.about.least - before.about.least - 10.0 * trials).abs() < 1e-6);
        mini.limits.trial_seconds = 1.0;
        assert!(mini.estimate(&Tier::Dram, None, 1).about.most <= trials + AROUND);
    }

    #[test]
    fn servers_elsewhere_are_not_more_than_there_are() {
        let mut mini = read("mini");
        (mini.backend, mini.targets) = (Backend::External, vec!["a:1".to_owned(), "a:2".to_owned()]);
        assert_eq!(mini.estimate(&Tier::Dram, None, 1).tenants, 2);
        assert_eq!(mini.sizing_takes(1), TimeRange::default());
    }

    #[test]
    fn times_are_spoken_as_people_plan() {
        let said = |least: f64, most: f64| TimeRange { least, most }.to_string();
        assert_eq!(said(50.0, 50.4), "about 50 s");
        assert_eq!(said(100.0, 3600.0), "about 2 min to 60 min");
        assert_eq!(said(7100.0, 25_300.0), "about 2 h to 7 h");
        assert_eq!(said(12_000.0, 200_000.0), "about 3 h 20 min to 2.3 days");
    }
}
