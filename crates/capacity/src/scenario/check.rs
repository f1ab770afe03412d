//! Mistakes of a scenario.

use tiermark_history::config::Problem;
use tiermark_load::Address;
use tiermark_model::messages::{files, scenario as says};
use tiermark_model::{Bytes, Note};
use tiermark_stats::{BEYOND, quantile_ranks};

use super::reference::range;
use super::{Backend, Eviction, MaxMemory, Requests, Scenario, Tier};
use crate::level::{EVALUATIONS, Quantity};
use crate::trial::LONGER;

/// Bytes of kernel parameters: the kernel takes 2,048 in all (COMMAND_LINE_SIZE of x86).
const MOST_APPENDED: usize = 1024;
/// Collects problems.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn unless(&mut self, right: bool, key: &str, fault: impl FnOnce() -> Note) {
        if !right {
            self.0.push(Problem::new(key, fault()));
        }
    }

    /// Notes a mistake at a key and at the keys that it contradicts.
    fn unless_beside(&mut self, right: bool, key: &str, beside: &[&'static str], fault: impl FnOnce() -> Note) {
        if !right {
            self.0.push(Problem::new(key, fault()).beside(beside));
        }
    }

    /// Notes a number outside of the range that the definition of its key has.
    fn within(&mut self, key: &str, value: f64) {
        self.within_or(key, value, |least, most| files::number_out_of_range(value, least, most));
    }

    /// The same with a sentence of its own, made of the ends of the range.
    fn within_or(&mut self, key: &str, value: f64, fault: impl FnOnce(f64, f64) -> Note) {
        let (least, most) = range(key);
        // NaN lies in no range.
        self.unless((least..=most).contains(&value), key, || fault(least, most));
    }
}

impl Scenario {
    /// All mistakes of the scenario; empty if it can be run. Checked again after options of the command line have
    /// changed it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Problems::default();
        found.unless(!self.name.trim().is_empty(), "name", files::text_empty);
        self.check_tiers(&mut found);
        self.check_tenant(&mut found);
        self.check_load(&mut found);
        self.check_times(&mut found);
        self.check_level(&mut found);
        found.0
    }

    fn check_tiers(&self, found: &mut Problems) {
        found.unless(!self.tiers.is_empty(), "tiers", says::no_tier);
        for (at, tier) in self.tiers.iter().enumerate() {
            found.unless(!self.tiers[..at].contains(tier), "tiers", || files::listed_twice(&tier.to_string()));
        }
        let external = self.backend == Backend::External;
        let none = self.targets.is_empty();
        found.unless_beside(external || none, "targets", &["backend"], says::targets_of_another_backend);
        found.unless_beside(!external || !none, "backend", &["targets"], says::targets_missing);
        found.unless_beside(!external || self.tiers == [Tier::Dram], "tiers", &["backend"], says::tiers_elsewhere);
        for (at, target) in self.targets.iter().enumerate() {
            let read = target.parse::<Address>();
            found.unless(read.is_ok(), "targets", || {
                says::address_wrong(target, read.as_ref().err().map_or("", String::as_str))
            });
            // Two tenants that are one would be filled over each other, and count twice.
            found.unless(!self.targets[..at].contains(target), "targets", || files::listed_twice(target));
        }
        found.unless(self.prices.as_ref().is_none_or(|path| !path.trim().is_empty()), "prices", files::text_empty);
    }

    fn check_tenant(&self, found: &mut Problems) {
        let (tenant, budget, reserve) = (&self.tenant, self.dram_budget, self.reserve);
        found.unless(!tenant.server.trim().is_empty(), "tenant.server", files::text_empty);
        found.within_or("tenant.records", tenant.records as f64, |_, most| {
            says::records_out_of_range(tenant.records, most as u64)
        });
        found.within_or("tenant.value", tenant.value.0 as f64, |_, _| says::value_out_of_range(Bytes(tenant.value.0)));
        found.within("tenant.compressibility", tenant.compressibility);
        if let MaxMemory::At(size) = tenant.maxmemory {
            found.within_or("tenant.maxmemory", size.0 as f64, |least, _| {
                says::maxmemory_too_small(Bytes(size.0), Bytes(least as u64))
            });
        }
        found.unless_beside(reserve < budget, "reserve", &["dram-budget"], || {
            says::reserve_too_large(Bytes(reserve.0), Bytes(budget.0))
        });
        let data = tenant.held();
        let evicts = tenant.maxmemory_policy != Eviction::None;
        found.unless_beside(
            evicts || tenant.maxmemory == MaxMemory::Off,
            "tenant.maxmemory",
            &["tenant.maxmemory-policy"],
            says::maxmemory_without_policy,
        );
        found.unless_beside(
            !evicts || tenant.maxmemory != MaxMemory::Off,
            "tenant.maxmemory-policy",
            &["tenant.maxmemory"],
            says::policy_without_maxmemory,
        );
        found.unless_beside(
            !evicts || self.backend != Backend::Qemu,
            "tenant.maxmemory",
            &["backend"],
            says::maxmemory_in_guests,
        );
        let of_guests = [
            ("tenant.vm-memory", tenant.vm_memory.is_some()),
            ("tenant.vm-cpus", tenant.vm_cpus.is_some()),
            ("tenant.vm-append", tenant.vm_append.is_some()),
        ];
        for (key, given) in of_guests {
            let fits = !given || self.backend == Backend::Qemu;
            found.unless_beside(fits, key, &["backend"], says::vm_of_another_backend);
        }
        if let Some(cpus) = tenant.vm_cpus {
            found.within("tenant.vm-cpus", f64::from(cpus));
        }
        if let Some(line) = &tenant.vm_append {
            let ends = line.split_whitespace().any(|word| word == "--");
            let right = line.len() <= MOST_APPENDED && !line.chars().any(char::is_control) && !ends;
            found.unless(right, "tenant.vm-append", || says::vm_append_wrong(Bytes(MOST_APPENDED as u64)));
        }
        let holds = tenant.vm_memory.is_none_or(|memory| memory.0 > data);
        found.unless_beside(holds, "tenant.vm-memory", &["tenant.records", "tenant.value"], || {
            says::vm_memory_too_small(Bytes(data))
        });
        let room = budget.0.saturating_sub(reserve.0);
        let alone = self.tiers.iter().all(|tier| *tier == Tier::Dram);
        let beside = ["reserve", "tiers", "tenant.records", "tenant.value"];
        found.unless_beside(!alone || reserve >= budget || data <= room, "dram-budget", &beside, || {
            says::budget_too_small(Bytes(data), Bytes(room))
        });
    }

    fn check_load(&self, found: &mut Problems) {
        let load = &self.load;
        found.within_or("load.rate", load.rate, |_, most| says::rate_out_of_range(load.rate, most));
        found.unless(!load.mixes.is_empty(), "load.mixes", says::no_mix);
        for mix in &load.mixes {
            found.within("load.mixes", *mix);
            // Less than one GET in a hundred is nobody's load, and a share that is meant as 90 % is often written so.
            found.unless(*mix <= 0.0 || *mix >= 1.0, "load.mixes", || says::mix_is_a_share(*mix));
        }
        found.unless(!load.keys.is_empty(), "load.keys", says::no_keys);
        found.within("load.connections", f64::from(load.connections));
        found.within("load.pipeline", f64::from(load.pipeline));
        // Mistakes that only the load generator finds.
        if found.0.is_empty() {
            let refused =
                load.keys.iter().filter_map(|keys| self.asked(Requests { gets: 100.0, keys: *keys }, 0).check().err());
            let problem =
                |refusal: tiermark_model::Refusal| Problem::new("load", says::load_refused(&refusal.to_string()));
            // Any part of it may be what is refused.
            let beside = ["load.rate", "load.keys", "tenant.records", "tenant.value", "time.measure"];
            found.0.extend(refused.map(|refusal| problem(refusal).beside(&beside)));
        }
    }

    fn check_times(&self, found: &mut Problems) {
        let (time, limits) = (&self.time, &self.limits);
        found.within("time.warm-up", time.warm_up);
        found.within("time.settle", time.settle);
        found.within("time.measure", time.measure);
        found.within("time.iterations", f64::from(time.iterations));
        found.within("limits.most-tenants", f64::from(limits.most_tenants));
        if let Some(tenants) = limits.tenants {
            found.within("limits.tenants", f64::from(tenants));
            let servers = self.targets.len();
            let enough = self.backend != Backend::External || tenants as usize <= servers;
            found.unless_beside(enough, "limits.tenants", &["targets"], || says::targets_too_few(tenants, servers));
        }
        found.within("limits.most-trials", f64::from(limits.most_trials));
        found.within("limits.trial-seconds", limits.trial_seconds);
        if let Some(total) = limits.total_seconds {
            found.within("limits.total-seconds", total);
        }
        let needed = time.warm_up + time.settle + time.measure * f64::from(time.iterations.saturating_mul(LONGER));
        let enough = needed.is_nan() || limits.trial_seconds.is_nan() || needed <= limits.trial_seconds;
        found.unless_beside(enough, "limits.trial-seconds", &["time"], || {
            says::trial_too_short(limits.trial_seconds, needed, LONGER)
        });
    }

    fn check_level(&self, found: &mut Problems) {
        found.unless(!self.level.limits.is_empty(), "level.limits", says::no_limit);
        if let Some(limit) = self.level.limits.iter().find(|limit| limit.of == Quantity::HitRate) {
            let asks = self.load.mixes.iter().all(|gets| *gets != 0.0);
            found.unless_beside(asks, "level.limits", &["load.mixes"], || {
                says::hit_rate_without_gets(&limit.to_string())
            });
        }
        let requests = self.load.rate * self.time.measure * f64::from(self.time.iterations);
        if requests.is_nan() || requests <= 0.0 {
            // A mistake in the counts is reported elsewhere.
            return;
        }
        for limit in &self.level.limits {
            let Quantity::Percentile(percent) = limit.of else { continue };
            // A cast saturates, and makes 0 of NaN.
            let shown = can_show(requests as u64, percent);
            found.unless_beside(shown, "level.limits", &["load.rate", "time.measure", "time.iterations"], || {
                let needed = needed(percent);
                let measure = needed.and_then(|needed| self.suffices(needed));
                let (rate, iterations) = (self.load.rate, self.time.iterations);
                says::limit_not_judged(&limit.to_string(), requests, needed, measure, rate, iterations)
            });
        }
    }

    /// Seconds in which so many requests of a tenant come, to tenths and upwards; `None` if no phase may last so long.
    fn suffices(&self, requests: u64) -> Option<f64> {
        let rate = self.load.rate * f64::from(self.time.iterations);
        let measure = (requests as f64 / rate * 10.0).ceil() / 10.0;
        (measure <= range("time.measure").1).then_some(measure)
    }
}

/// Whether so many requests show that a percentile is below a limit.
fn can_show(requests: u64, percent: f64) -> bool {
    quantile_ranks(requests, percent / 100.0, BEYOND / EVALUATIONS).is_some_and(|ranks| ranks.high.is_some())
}

/// The fewest requests that can show that a percentile is below a limit; `None` above 2³⁹.
fn needed(percent: f64) -> Option<u64> {
    let enough = (0..40).map(|bits| 1u64 << bits).find(|requests| can_show(*requests, percent))?;
    let (mut low, mut high) = (enough / 2, enough);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if can_show(middle, percent) { high = middle } else { low = middle }
    }
    Some(high)
}
