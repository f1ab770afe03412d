//! The clock of the cores as the kernel sets it: governors, and limits below the highest clock.

use std::collections::BTreeMap;

use tiermark_model::{ClockLimit, IdSet};

use crate::reader::{CPU_DIR, Reader};

/// Different governors at most: six are known.
const MOST_GOVERNORS: usize = 64;
/// Clocks this near are one: drivers round.
const SAME: f64 = 0.995;

/// A frequency domain: its directory, and its cpus.
type Domain = (String, IdSet);

fn domains(reader: &Reader<'_>, online: &IdSet) -> Vec<Domain> {
    let policies = reader.numbered(&format!("{CPU_DIR}/cpufreq"), "policy");
    if policies.is_empty() {
        let cpu_domain = |cpu| (format!("{CPU_DIR}/cpu{cpu}/cpufreq"), IdSet::from_iter([cpu]));
        return online.iter().map(cpu_domain).collect();
    }
    let policy_domain = |policy: u32| {
        let dir = format!("{CPU_DIR}/cpufreq/policy{policy}");
        let listed = reader.word(&format!("{dir}/affected_cpus")).unwrap_or_default();
        let cpus: IdSet = listed.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect();
        let cpus = if cpus.is_empty() { IdSet::from_iter([policy]) } else { cpus };
        (dir, cpus)
    };
    policies.into_iter().map(policy_domain).collect()
}

/// The governor of all frequency domains, or those in use with their cpus.
pub(crate) fn governor(reader: &Reader<'_>, online: &IdSet) -> Option<String> {
    let mut governors: BTreeMap<String, IdSet> = BTreeMap::new();
    for (dir, cpus) in domains(reader, online) {
        let Some(name) = reader.word(&format!("{dir}/scaling_governor")) else { continue };
        if governors.len() < MOST_GOVERNORS || governors.contains_key(&name) {
            let of_name = governors.entry(name).or_default();
            *of_name = of_name.union(&cpus);
        }
    }
    match governors.len() {
        0 => None,
        1 => governors.into_keys().next(),
        _ => Some(governors.iter().map(|(name, cpus)| format!("{name} (cpus {cpus})")).collect::<Vec<_>>().join(", ")),
    }
}

/// The clocks of a frequency domain, kHz.
struct Clocks {
    set: u32,
    highest: u32,
    /// The highest that can be set: drivers with a table of steps may reach boost clocks beyond the highest step
    /// (`acpi-cpufreq` states them as `cpuinfo_max_freq` since Linux 5.16), and the highest step then allows boost.
    settable: u32,
    /// What the firmware allows, where that is less.
    bios: Option<u32>,
}

impl Clocks {
    fn read(reader: &Reader<'_>, dir: &str) -> Option<Self> {
        let at = |name: &str| format!("{dir}/{name}");
        let khz = |name: &str| reader.number::<u32>(&at(name)).filter(|khz| *khz > 0);
        let (set, highest) = (khz("scaling_max_freq")?, khz("cpuinfo_max_freq")?);
        let steps = ["scaling_available_frequencies", "scaling_boost_frequencies"].map(|name| reader.word(&at(name)));
        let steps = steps.iter().flatten().flat_map(|list| list.split_whitespace());
        let top = steps.filter_map(|step| step.parse().ok()).max();
        let settable = top.filter(|top| (1..highest).contains(top)).unwrap_or(highest);
        Some(Self { set, highest, settable, bios: khz("bios_limit").filter(|bios| *bios < settable) })
    }

    /// What may be used of the highest clock.
    fn share(&self) -> f64 {
        if self.set >= self.settable { 1.0 } else { f64::from(self.set) / f64::from(self.highest) }
    }
}

/// The lowest limit of the clock below the highest that the cores have.
pub(crate) fn clock_limit(reader: &Reader<'_>, online: &IdSet) -> Option<ClockLimit> {
    const PERCENT: &str = "intel_pstate/max_perf_pct";
    let mut limits = Vec::new();
    if let Some(percent) = reader.number::<u32>(&format!("{CPU_DIR}/{PERCENT}")) {
        limits.push(ClockLimit {
            share: f64::from(percent) / 100.0,
            files: format!("/{CPU_DIR}/{PERCENT}"),
            full: "100".to_owned(),
            by_firmware: false,
        });
    }
    let clocks: Vec<Clocks> = domains(reader, online).iter().filter_map(|(dir, _)| Clocks::read(reader, dir)).collect();
    // The kernel lowers what is written to the highest clock of each core.
    let full = clocks.iter().map(|clocks| clocks.settable).max();
    if let Some((full, lowest)) = full.zip(clocks.iter().min_by(|a, b| a.share().total_cmp(&b.share()))) {
        limits.push(ClockLimit {
            share: lowest.share(),
            files: format!("/{CPU_DIR}/cpu*/cpufreq/scaling_max_freq"),
            full: full.to_string(),
            by_firmware: lowest.bios.is_some_and(|bios| bios <= lowest.set),
        });
    }
    limits.into_iter().filter(|limit| limit.share < SAME).min_by(|a, b| a.share.total_cmp(&b.share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    fn of(files: &[(&str, &str)]) -> (Option<String>, Option<(f64, String)>) {
        let files = files.iter().map(|(path, text)| (format!("{CPU_DIR}/{path}"), format!("{text}\n")));
        let root = Root::from_files("test", files);
        let (reader, online) = (Reader::new(&root), (0..4).collect());
        let limit = clock_limit(&reader, &online).map(|limit| (limit.share, limit.cure()));
        (governor(&reader, &online), limit)
    }

    #[test]
    fn governors_that_differ_are_named_with_their_cpus() {
        let one = [("cpu0/cpufreq/scaling_governor", "performance"), ("cpu1/cpufreq/scaling_governor", "performance")];
        assert_eq!(of(&one).0.as_deref(), Some("performance"));
        let two = [
            ("cpufreq/policy0/scaling_governor", "powersave"),
            ("cpufreq/policy0/affected_cpus", "0 1"),
            ("cpufreq/policy2/scaling_governor", "performance"),
            ("cpufreq/policy2/affected_cpus", "2 3"),
        ];
        assert_eq!(of(&two).0.as_deref(), Some("performance (cpus 2-3), powersave (cpus 0-1)"));
        assert_eq!(of(&[]), (None, None));
    }

    #[test]
    fn the_highest_step_of_a_table_is_no_limit_where_boost_is_beyond_it() {
        let policy = |set: &'static str, steps: &'static str| {
            let files = [("cpuinfo_max_freq", "3737890"), ("scaling_available_frequencies", steps)];
            let files = files.into_iter().chain([("scaling_max_freq", set), ("affected_cpus", "0 1")]);
            let files: Vec<_> = files.map(|(name, text)| (format!("cpufreq/policy0/{name}"), text)).collect();
            of(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()).1
        };
        let steps = "2800000 2100000 1500000";
        assert_eq!((policy("2800000", steps), policy("3737890", steps)), (None, None));
        let (share, command) = policy("1500000", steps).unwrap();
        assert_eq!(share, 1_500_000.0 / 3_737_890.0);
        assert_eq!(command, "echo 2800000 | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq");
        let bios = |limit| {
            let files = [("scaling_max_freq", "2000000"), ("cpuinfo_max_freq", "4000000"), ("bios_limit", limit)];
            let files: Vec<_> = files.map(|(name, text)| (format!("cpu0/cpufreq/{name}"), text)).to_vec();
            of(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()).1.unwrap().1
        };
        assert!(bios("2000000").contains("bios_limit") && bios("4000000").starts_with("echo"));
        // A table that reaches the highest clock, and a damaged one.
        assert_eq!(policy("2800000", "3737890 2800000").unwrap().0, 2_800_000.0 / 3_737_890.0);
        assert!(policy("2800000", "0 x").is_some());
    }

    #[test]
    fn the_lowest_limit_of_the_clock_counts() {
        let clock = |set| [("cpu1/cpufreq/scaling_max_freq", set), ("cpu1/cpufreq/cpuinfo_max_freq", "4000000")];
        assert_eq!(of(&clock("4000000")).1, None);
        let (share, command) = of(&clock("2000000")).1.unwrap();
        assert_eq!(share, 0.5);
        assert_eq!(command, "echo 4000000 | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq");
        let [set, most] = clock("3600000");
        let (share, command) = of(&[set, most, ("intel_pstate/max_perf_pct", "40")]).1.unwrap();
        assert_eq!(
            (share, command.as_str()),
            (0.4, "echo 100 | tee /sys/devices/system/cpu/intel_pstate/max_perf_pct")
        );
    }
}
