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

/// The lowest limit of the clock below the highest that the cores have.
pub(crate) fn clock_limit(reader: &Reader<'_>, online: &IdSet) -> Option<ClockLimit> {
    const PERCENT: &str = "intel_pstate/max_perf_pct";
    let mut limits = Vec::new();
    if let Some(percent) = reader.number::<u32>(&format!("{CPU_DIR}/{PERCENT}")) {
        limits.push(ClockLimit {
            share: f64::from(percent) / 100.0,
            files: format!("/{CPU_DIR}/{PERCENT}"),
            full: "100".to_owned(),
        });
    }
    let khz = |dir: &str, name: &str| reader.number::<u32>(&format!("{dir}/{name}")).filter(|khz| *khz > 0);
    let clocks = domains(reader, online).into_iter().filter_map(|(dir, _)| {
        let (set, most) = (khz(&dir, "scaling_max_freq")?, khz(&dir, "cpuinfo_max_freq")?);
        Some((f64::from(set) / f64::from(most), most))
    });
    let clocks: Vec<(f64, u32)> = clocks.collect();
    // The kernel lowers what is written to the highest clock of each core.
    if let Some(full) = clocks.iter().map(|(_, most)| *most).max() {
        limits.push(ClockLimit {
            share: clocks.iter().map(|(share, _)| *share).fold(1.0, f64::min),
            files: format!("/{CPU_DIR}/cpu*/cpufreq/scaling_max_freq"),
            full: full.to_string(),
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
        let limit = clock_limit(&reader, &online).map(|limit| (limit.share, limit.command()));
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
