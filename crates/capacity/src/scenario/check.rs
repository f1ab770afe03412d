//! Mistakes of a scenario.

use tiermark_config::Problem;
use tiermark_load::Address;
use tiermark_stats::{BEYOND, quantile_ranks};

use super::{Backend, Requests, Scenario, Tier};
use crate::level::{EVALUATIONS, Quantity};
use crate::trial::LONGER;

/// The brief distribution maps keys of 31 bits, and the limit applies to every distribution.
const MOST_RECORDS: u64 = (1 << 31) - 1;
/// The longest string a Redis server takes.
const MOST_VALUE: u64 = 512 << 20;
/// Bytes of kernel parameters: the kernel takes 2,048 in all (COMMAND_LINE_SIZE of x86).
const MOST_APPENDED: usize = 1024;
/// Far beyond what one server answers: a rate above it is a typing error.
const MOST_RATE: f64 = 10e6;
/// Longest phase of a trial: a day.
const MOST_SECONDS: f64 = 86_400.0;
/// Longest trial, fill included, and longest run: a week.
const MOST_TOTAL: f64 = 7.0 * MOST_SECONDS;

/// Collects problems.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn unless(&mut self, right: bool, key: &str, text: impl FnOnce() -> String) {
        if !right {
            self.0.push(Problem::new(key, text()));
        }
    }

    /// Notes a mistake at a key and at the keys that it contradicts.
    fn unless_beside(&mut self, right: bool, key: &str, beside: &[&'static str], text: impl FnOnce() -> String) {
        if !right {
            self.0.push(Problem::new(key, text()).beside(beside));
        }
    }

    fn within(&mut self, key: &str, value: f64, range: std::ops::RangeInclusive<f64>) {
        // NaN lies in no range.
        let said = || format!("{value} is out of range: write {} to {}", range.start(), range.end());
        self.unless(range.contains(&value), key, said);
    }
}

impl Scenario {
    /// All mistakes of the scenario; empty if it can be run. Checked again after options of the command line have
    /// changed it.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Problems::default();
        found.unless(!self.name.trim().is_empty(), "name", || "is empty".into());
        self.check_tiers(&mut found);
        self.check_tenant(&mut found);
        self.check_load(&mut found);
        self.check_times(&mut found);
        self.check_level(&mut found);
        found.0
    }

    fn check_tiers(&self, found: &mut Problems) {
        found.unless(!self.tiers.is_empty(), "tiers", || "is empty: name one at least, such as \"dram\"".into());
        for (at, tier) in self.tiers.iter().enumerate() {
            found.unless(!self.tiers[..at].contains(tier), "tiers", || format!("{tier} is listed twice"));
        }
        let external = self.backend == Backend::External;
        found.unless_beside(external || self.targets.is_empty(), "targets", &["backend"], || {
            "are only for backend = \"external\"; the other backends start their own servers".into()
        });
        found.unless_beside(!external || !self.targets.is_empty(), "backend", &["targets"], || {
            "\"external\" needs targets = [\"host:port\", ...]".into()
        });
        found.unless_beside(!external || self.tiers == [Tier::Dram], "tiers", &["backend"], || {
            "cannot be set up on external servers: write tiers = [\"dram\"], and run once for each tier".into()
        });
        for (at, target) in self.targets.iter().enumerate() {
            let read = target.parse::<Address>();
            found.unless(read.is_ok(), "targets", || {
                format!("'{target}': {}", read.as_ref().err().map_or("", String::as_str))
            });
            // Two tenants that are one would be filled over each other, and count twice.
            found.unless(!self.targets[..at].contains(target), "targets", || format!("{target} is listed twice"));
        }
        found.unless(self.prices.as_ref().is_none_or(|path| !path.trim().is_empty()), "prices", || "is empty".into());
    }

    fn check_tenant(&self, found: &mut Problems) {
        let (tenant, budget, reserve) = (&self.tenant, self.dram_budget, self.reserve);
        found.unless(!tenant.server.trim().is_empty(), "tenant.server", || "is empty".into());
        found.unless((1..=MOST_RECORDS).contains(&tenant.records), "tenant.records", || {
            format!("{} is out of range: write 1 to {MOST_RECORDS}", tenant.records)
        });
        found.unless((1..=MOST_VALUE).contains(&tenant.value.0), "tenant.value", || {
            format!("{} is out of range: write 1 byte to 512 MiB, the longest value of a server", tenant.value)
        });
        // 1 would be nothing but zeros, of which the kernel keeps no copy at all.
        found.within("tenant.compressibility", tenant.compressibility, 0.0..=0.99);
        found.unless_beside(reserve < budget, "reserve", &["dram-budget"], || {
            format!("{reserve} uses up the dram-budget of {budget}")
        });
        let data = tenant.records.saturating_mul(tenant.value.0);
        let of_machines = tenant.vm_memory.is_none() || self.backend == Backend::Qemu;
        found.unless_beside(of_machines, "tenant.vm-memory", &["backend"], || {
            "is only for backend = \"qemu\"; the other backends start no virtual machine".into()
        });
        let shaped = [("tenant.vm-cpus", tenant.vm_cpus.is_some()), ("tenant.vm-append", tenant.vm_append.is_some())];
        for (key, given) in shaped {
            found.unless_beside(!given || self.backend == Backend::Qemu, key, &["backend"], || {
                "is only for backend = \"qemu\"; the other backends start no virtual machine".into()
            });
        }
        if let Some(cpus) = tenant.vm_cpus {
            found.within("tenant.vm-cpus", f64::from(cpus), 1.0..=64.0);
        }
        if let Some(line) = &tenant.vm_append {
            let ends = line.split_whitespace().any(|word| word == "--");
            let right = line.len() <= MOST_APPENDED && !line.chars().any(char::is_control) && !ends;
            found.unless(right, "tenant.vm-append", || {
                format!("write parameters of the kernel in one line, at most {MOST_APPENDED} bytes, without --")
            });
        }
        let holds = tenant.vm_memory.is_none_or(|memory| memory.0 > data);
        found.unless_beside(holds, "tenant.vm-memory", &["tenant.records", "tenant.value"], || {
            format!("is too small for the values, which take {}", tiermark_model::Bytes(data))
        });
        let room = budget.0.saturating_sub(reserve.0);
        let alone = self.tiers.iter().all(|tier| *tier == Tier::Dram);
        let beside = ["reserve", "tiers", "tenant.records", "tenant.value"];
        found.unless_beside(!alone || reserve >= budget || data <= room, "dram-budget", &beside, || {
            let data = tiermark_model::Bytes(data);
            format!("is too small for one tenant: its values alone take {data} of {}", tiermark_model::Bytes(room))
        });
    }

    fn check_load(&self, found: &mut Problems) {
        let load = &self.load;
        found.unless(load.rate > 0.0 && load.rate <= MOST_RATE, "load.rate", || {
            format!("{} is out of range: write requests a second, above 0 and up to {MOST_RATE}", load.rate)
        });
        found.unless(!load.mixes.is_empty(), "load.mixes", || "is empty: write [100.0] for GETs alone".into());
        load.mixes.iter().for_each(|mix| found.within("load.mixes", *mix, 0.0..=100.0));
        found.unless(!load.keys.is_empty(), "load.keys", || "is empty: write [\"uniform\"]".into());
        found.within("load.connections", f64::from(load.connections), 1.0..=1000.0);
        found.within("load.pipeline", f64::from(load.pipeline), 1.0..=100_000.0);
        // Mistakes that only the load generator finds.
        if found.0.is_empty() {
            let refused =
                load.keys.iter().filter_map(|keys| self.asked(Requests { gets: 100.0, keys: *keys }, 0).check().err());
            let problem = |refusal: tiermark_model::Refusal| Problem::new("load", refusal.to_string());
            // Any part of it may be what is refused.
            let beside = ["load.rate", "load.keys", "tenant.records", "tenant.value", "time.measure"];
            found.0.extend(refused.map(|refusal| problem(refusal).beside(&beside)));
        }
    }

    fn check_times(&self, found: &mut Problems) {
        let (time, limits) = (&self.time, &self.limits);
        found.within("time.warm-up", time.warm_up, 0.0..=MOST_SECONDS);
        found.within("time.settle", time.settle, 0.0..=MOST_SECONDS);
        found.within("time.measure", time.measure, 0.1..=MOST_SECONDS);
        found.within("time.iterations", f64::from(time.iterations), 1.0..=100.0);
        found.within("limits.most-tenants", f64::from(limits.most_tenants), 1.0..=100_000.0);
        if let Some(tenants) = limits.tenants {
            found.within("limits.tenants", f64::from(tenants), 1.0..=100_000.0);
            let servers = self.targets.len();
            let enough = self.backend != Backend::External || tenants as usize <= servers;
            found.unless_beside(enough, "limits.tenants", &["targets"], || {
                format!("{tenants} tenants need as many targets; there are {servers}")
            });
        }
        found.within("limits.most-trials", f64::from(limits.most_trials), 1.0..=1000.0);
        found.within("limits.trial-seconds", limits.trial_seconds, 1.0..=MOST_TOTAL);
        if let Some(total) = limits.total_seconds {
            found.within("limits.total-seconds", total, 1.0..=MOST_TOTAL);
        }
        let needed = time.warm_up + time.settle + time.measure * f64::from(time.iterations.saturating_mul(LONGER));
        let enough = needed.is_nan() || limits.trial_seconds.is_nan() || needed <= limits.trial_seconds;
        found.unless_beside(enough, "limits.trial-seconds", &["time"], || {
            format!(
                "{} is too short: warm-up, settling and iterations take up to {needed} s, since an unclear trial is measured {LONGER} times as long",
                limits.trial_seconds
            )
        });
    }

    fn check_level(&self, found: &mut Problems) {
        found.unless(!self.level.limits.is_empty(), "level.limits", || {
            "is empty: write a limit such as \"p99 < 300us\"".into()
        });
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
                format!("{limit} cannot be judged from {requests} requests of a tenant: {}", self.suffices(percent))
            });
        }
    }

    /// How many requests show a percentile, and what makes so many.
    fn suffices(&self, percent: f64) -> String {
        let (rate, iterations) = (self.load.rate, f64::from(self.time.iterations));
        let Some(needed) = needed(percent) else {
            return "no number of requests is enough; choose a lower percentile".to_owned();
        };
        // To tenths of a second, upwards.
        let measure = (needed as f64 / (rate * iterations) * 10.0).ceil() / 10.0;
        match measure {
            measure if measure <= MOST_SECONDS => format!(
                "{needed} are needed, as with measure = {measure} at {rate} requests/s in {iterations} iterations; or activate rate or iterations"
            ),
            _ => format!("{needed} are needed: activate rate, measure or iterations"),
        }
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
