//! Errors of memory, throttling of cpus and stops by a cpu quota: counted before a run, and after it.

use std::time::Instant;

use tiermark_machine::{HealthCounts, Root, own_limits};
use tiermark_model::messages::health as says;
use tiermark_model::messages::system::doctor_problem;
use tiermark_model::{
    Bytes, CheckRow, CpuQuota, ErrorKind, HealthCount, Machine, PoisonedMemory, QuotaStops, RunHealth, Share, Warning,
};

/// The counters at the beginning of a run. They are read at both ends and never in between, when that would disturb.
pub struct HealthWatch<'a> {
    root: &'a Root,
    machine: Machine,
    before: HealthCounts,
    quotas: Vec<CpuQuota>,
    began: Instant,
}

impl<'a> HealthWatch<'a> {
    /// Reads the counters for the first time.
    pub fn begin(root: &'a Root, machine: &Machine) -> Self {
        let (before, quotas) = (HealthCounts::read(root, machine), quotas(root));
        Self { root, machine: machine.clone(), before, quotas, began: Instant::now() }
    }

    /// What is known while the run goes on; `None` if the system counts nothing.
    pub fn begun(&self) -> Option<RunHealth> {
        self.with_quota(self.before.run(None, &self.machine), None)
    }

    /// Reads the counters for the second time.
    pub fn ended(&self) -> Option<RunHealth> {
        let counted = self.before.run(Some(&HealthCounts::read(self.root, &self.machine)), &self.machine);
        self.with_quota(counted, Some(&quotas(self.root)))
    }

    /// With the quota that stopped this program most often.
    fn with_quota(&self, counted: Option<RunHealth>, after: Option<&[CpuQuota]>) -> Option<RunHealth> {
        let of_us = after.map(|_| self.began.elapsed().as_micros() as u64);
        let quota = self.quotas.iter().filter_map(|before| stops(before, after, of_us));
        match quota.max_by_key(|stops| stops.times.grew) {
            None => counted,
            quota => Some(RunHealth { quota, ..counted.unwrap_or_default() }),
        }
    }
}

fn quotas(root: &Root) -> Vec<CpuQuota> {
    own_limits(root).map(|limits| limits.cpu_quotas).unwrap_or_default()
}

/// The counters of a quota at both ends; `None` where the system does not count, or the quota was taken away.
fn stops(before: &CpuQuota, after: Option<&[CpuQuota]>, of_us: Option<u64>) -> Option<QuotaStops> {
    let now = match after {
        None => None,
        Some(after) => Some(after.iter().find(|quota| quota.file == before.file)?),
    };
    let count = |field: fn(&CpuQuota) -> Option<u64>| Some(HealthCount::new(field(before)?, now.and_then(field)));
    let (times, us) = (count(|quota| quota.throttled)?, count(|quota| quota.throttled_us));
    Some(QuotaStops { file: before.file.clone(), times, us, of_us })
}

/// The warning of a problem that the check-up finds.
pub(crate) fn problem(row: &CheckRow) -> Warning {
    doctor_problem(&row.name, &row.found(), &row.why, row.cure.as_deref().unwrap_or_default())
}

/// Warnings of what grew during a run, the worst first.
pub fn warnings(health: &RunHealth) -> Vec<Warning> {
    let grown = |kind| health.errors_grown(kind).filter(|errors| *errors > 0);
    let kinds = [
        (ErrorKind::Uncorrected, says::uncorrected_errors_grew as fn(u64, &[String]) -> Warning),
        (ErrorKind::Corrected, says::corrected_errors_grew),
    ];
    let errors = kinds.into_iter().filter_map(|(kind, warn)| Some(warn(grown(kind)?, &health.growing(kind))));
    let poisoned = health.poisoned.as_ref().and_then(poisoned);
    poisoned.into_iter().chain(errors).chain(throttling(health)).chain(health.quota.as_ref().and_then(quota)).collect()
}

fn poisoned(memory: &PoisonedMemory) -> Option<Warning> {
    let (pages, nodes) = memory.pages(|count| count.grew).unzip();
    let bytes = memory.bytes.and_then(|count| count.grew).filter(|bytes| *bytes > 0).map(Bytes);
    let nodes = nodes.unwrap_or_default().to_string();
    (pages > Some(0) || bytes.is_some()).then(|| says::memory_poisoned_during_run(pages, &nodes, bytes))
}

fn quota(stops: &QuotaStops) -> Option<Warning> {
    let times = stops.times.grew.filter(|times| *times > 0)?;
    Some(says::quota_stopped(times, &stops.file, stops.share().map(Share)))
}

fn throttling(health: &RunHealth) -> Option<Warning> {
    let (cores, whole) =
        (health.throttled(|p| p.cores, |count| count.grew), health.throttled(|p| p.whole, |count| count.grew));
    let times = [health.throttled(|p| p.cores_ms, |c| c.grew), health.throttled(|p| p.whole_ms, |c| c.grew)];
    let ms = times.into_iter().flatten().max();
    (cores.max(whole) > Some(0)).then(|| says::throttled(cores, whole, ms, &health.throttled_cpus().to_string()))
}

#[cfg(test)]
mod tests {
    use tiermark_model::{HealthCount, MemoryErrors, PoisonedNode, Throttling};

    use super::*;

    /// A controller whose counters grew by these numbers, and a package whose cores and whole were throttled so often.
    fn grown(corrected: u64, uncorrected: u64, cores: u64, whole: u64) -> RunHealth {
        let count = |by: u64| Some(HealthCount::new(5, Some(5 + by)));
        let memory = MemoryErrors {
            place: "mc0".to_owned(),
            corrected: count(corrected),
            uncorrected: count(uncorrected),
            ..MemoryErrors::default()
        };
        let cpus = if cores > 0 { "0-1".parse().unwrap() } else { tiermark_model::IdSet::new() };
        let throttling = Throttling { cores: count(cores), whole: count(whole), cpus, ..Throttling::default() };
        RunHealth { memory: Some(vec![memory]), throttling: Some(vec![throttling]), ..RunHealth::default() }
    }

    /// A group of half a cpu, as either version of control groups shows it, after so many stops of 50 ms.
    fn half_a_cpu(directory: &std::path::Path, version: u32, stops: u64) {
        let group = directory.join("sys/fs/cgroup/box");
        let write = |path: std::path::PathBuf, text: String| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let (kind, own, time) = match version {
            2 => ("cgroup2 cgroup2 rw", "0::/box", format!("throttled_usec {}", stops * 50_000)),
            _ => ("cgroup cgroup rw,cpu", "3:cpu:/box", format!("throttled_time {}", stops * 50_000_000)),
        };
        write(directory.join("proc/cpuinfo"), String::new());
        write(directory.join("proc/self/cgroup"), format!("{own}\n"));
        write(directory.join("proc/self/mountinfo"), format!("31 23 0:28 / /sys/fs/cgroup rw - {kind}\n"));
        write(group.join("cpu.stat"), format!("nr_periods 900\nnr_throttled {stops}\n{time}\n"));
        match version {
            2 => write(group.join("cpu.max"), "50000 100000\n".into()),
            _ => {
                write(group.join("cpu.cfs_quota_us"), "50000\n".into());
                write(group.join("cpu.cfs_period_us"), "100000\n".into());
            }
        }
    }

    #[test]
    fn stops_by_a_quota_are_said_once_with_their_share() {
        for version in [1, 2] {
            let directory = tempfile::tempdir().unwrap();
            half_a_cpu(directory.path(), version, 40);
            let root = Root::at(directory.path()).unwrap();
            let watch = HealthWatch::begin(&root, &Machine::default());
            let begun = watch.begun().unwrap().quota.unwrap();
            assert_eq!((begun.times, begun.of_us), (HealthCount::new(40, None), None));
            assert_eq!(warnings(&watch.ended().unwrap()), [], "none during this run");
            half_a_cpu(directory.path(), version, 47);
            let ended = watch.ended().unwrap();
            let stops = ended.quota.as_ref().unwrap();
            assert_eq!((stops.times.grew, stops.us.unwrap().grew), (Some(7), Some(350_000)), "version {version}");
            let stops = QuotaStops { of_us: Some(1_400_000), ..stops.clone() };
            assert_eq!(stops.share(), Some(0.25));
            let said = warnings(&RunHealth { quota: Some(stops), ..RunHealth::default() });
            let file = if version == 2 { "cpu.max" } else { "cpu.cfs_quota_us" };
            let text = format!(
                "a cpu quota stopped this program 7 times during the run, 25 % of the time: /sys/fs/cgroup/box/{file}"
            );
            assert_eq!((said.len(), said[0].state.as_str()), (1, text.as_str()));
        }
    }

    #[test]
    fn what_grew_is_a_warning_that_names_where() {
        let codes = |health: &RunHealth| warnings(health).into_iter().map(|w| w.code).collect::<Vec<_>>();
        assert_eq!(codes(&grown(0, 0, 0, 0)), Vec::<tiermark_model::Code>::new());
        assert_eq!(codes(&RunHealth::default()), Vec::<tiermark_model::Code>::new());
        let all = grown(2, 1, 3, 0);
        let worst_first =
            [says::codes::uncorrected_errors_grew, says::codes::corrected_errors_grew, says::codes::throttled];
        assert_eq!(codes(&all), worst_first);
        let said = warnings(&all);
        assert_eq!(said[1].state, "memory corrected 2 errors during the run: mc0");
        assert_eq!(said[2].state, "heat throttled cores 3 times during the run (cpus 0-1)");
        let node = |node, pages| PoisonedNode { node, pages: HealthCount::new(3, Some(3 + pages)) };
        let poisoned = |grew: [u64; 2], kib: u64| {
            let nodes = vec![node(0, grew[0]), node(1, grew[1])];
            let bytes = Some(HealthCount::new(0, Some(kib << 10)));
            let health = RunHealth { poisoned: Some(PoisonedMemory { bytes, nodes }), ..RunHealth::default() };
            warnings(&health).into_iter().map(|warning| warning.state).collect::<Vec<_>>()
        };
        assert!(poisoned([0, 0], 0).is_empty());
        assert_eq!(
            poisoned([0, 2], 8),
            [
                "the kernel took 2 pages of node 1 out of use after uncorrected memory errors (8 KiB in all) during the run"
            ]
        );
        assert_eq!(poisoned([0, 0], 4), ["the kernel took 4 KiB out of use after memory errors during the run"]);
        assert_eq!(warnings(&grown(0, 0, 0, 1))[0].state, "heat throttled whole processors 1 time during the run");
    }
}
