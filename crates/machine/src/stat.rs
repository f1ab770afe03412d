//! `/proc/stat` and `/proc/PID/stat`: use of the cpus, by process.

use crate::Root;
use crate::files::ProcessStat;
use tiermark_model::IdSet;

/// Fields of a line that do not count time twice.
const FIELDS: usize = 8;

/// Time of cpus, in ticks of the system's accounting (100 a second, nearly everywhere).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Nothing to do, or waiting for a device.
    pub idle: u64,
    /// Given by the hypervisor to others.
    pub steal: u64,
    /// Ticks of all kinds together.
    pub total: u64,
    /// Cpus whose time it is.
    pub cpus: u64,
}

/// Shares of the time of some cpus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    /// Not idle, stolen time included.
    pub busy: f64,
    /// Given by the hypervisor to others.
    pub steal: f64,
}

impl CpuTimes {
    /// Of all cpus together, from the text of `/proc/stat`; `None` where it does not say.
    pub fn of_all(text: &str) -> Option<Self> {
        let fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
        let fields: Vec<u64> = fields.take(FIELDS).map_while(|field| field.parse().ok()).collect();
        let is_cpu =
            |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let cpus = text.lines().filter(is_cpu).count() as u64;
        (fields.len() == FIELDS).then(|| Self { cpus, ..Self::default().and(fields.into_iter()) })
    }

    /// With the fields of one line more: user nice system idle iowait irq softirq steal; guest time is already in user.
    fn and(mut self, fields: impl Iterator<Item = u64>) -> Self {
        for (at, value) in fields.take(FIELDS).enumerate() {
            self.total = self.total.saturating_add(value);
            self.idle = self.idle.saturating_add(if at == 3 || at == 4 { value } else { 0 });
            self.steal = self.steal.saturating_add(if at == 7 { value } else { 0 });
        }
        self
    }

    /// The sum over some cpus, from the text of `/proc/stat`.
    pub fn parse(text: &str, cpus: &IdSet) -> Self {
        let mut times = Self::default();
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let cpu = fields.next().and_then(|name| name.strip_prefix("cpu")).and_then(|id| id.parse().ok());
            if !cpu.is_some_and(|cpu| cpus.contains(cpu)) {
                continue;
            }
            let fields: Vec<u64> = fields.take(FIELDS).map_while(|field| field.parse().ok()).collect();
            if fields.len() == FIELDS {
                times = Self { cpus: times.cpus + 1, ..times.and(fields.into_iter()) };
            }
        }
        times
    }

    /// Shares of the seconds since then; `None` where no time passed.
    ///
    /// What is idle and what is stolen is timed, where the tick stops on idle cpus; what is used is only sampled at the
    /// tick in most kernels, so that work which a timer wakes is never met by it, or always. So the shares are of the
    /// time that passed, not of the sum of all fields.
    pub fn since(&self, before: &Self, seconds: f64) -> Option<CpuShares> {
        self.total.checked_sub(before.total).filter(|total| *total > 0)?;
        let all = seconds * self.cpus as f64 * rustix::param::clock_ticks_per_second() as f64;
        let (idle, steal) = (self.idle.checked_sub(before.idle)? as f64, self.steal.checked_sub(before.steal)? as f64);
        let share = |ticks: f64| (ticks / all).clamp(0.0, 1.0);
        (all > 0.0).then(|| CpuShares { busy: 1.0 - share(idle), steal: share(steal) })
    }
}

/// The time a process has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTime {
    /// Process number.
    pub pid: u32,
    /// Its name, as the kernel keeps it.
    pub name: String,
    /// Its state: `R`, `S`, `Z`, …
    pub state: char,
    /// Number of the process that started it, or that took it over.
    pub parent: u32,
    /// Ticks on a cpu, its own and the system's for it.
    pub ticks: u64,
    /// Ticks of its children that ended and were waited for, and of theirs.
    pub waited: u64,
    /// When it started, in ticks since the system did: with the number this names one process for ever.
    pub start_ticks: u64,
    /// Threads that are not gone, with the main thread, which stays until it is waited for.
    pub threads: u64,
    /// Pages that it has in memory; those that it shares are counted in full.
    pub resident_pages: u64,
}

impl ProcessTime {
    /// From the text of `/proc/PID/stat`.
    pub fn parse(text: &str) -> Option<Self> {
        let stat = ProcessStat::parse(text)?;
        // utime and stime are fields 14 and 15 of proc(5), cutime and cstime 16 and 17, num_threads is 20, starttime
        // is 22, rss 24.
        Some(Self {
            pid: stat.pid,
            name: stat.name.to_owned(),
            state: stat.state()?,
            parent: stat.number(4)?.try_into().ok()?,
            ticks: stat.number(14)?.checked_add(stat.number(15)?)?,
            waited: stat.number(16)?.saturating_add(stat.number(17)?),
            start_ticks: stat.number(22)?,
            threads: stat.number(20)?,
            resident_pages: stat.number(24).unwrap_or(0),
        })
    }

    /// Every process of the system; one that ends meanwhile is skipped.
    pub fn all(root: &Root) -> Vec<Self> {
        root.numbered("proc", "").unwrap_or_default().into_iter().filter_map(|pid| Self::of(root, pid)).collect()
    }

    fn of(root: &Root, pid: u32) -> Option<Self> {
        Self::parse(&root.text(&format!("proc/{pid}/stat"))?)
    }

    /// Whether any thread runs: the state is that of the main thread, which may have ended before the others.
    fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X') || self.threads > 1
    }
}

/// When a process started, in ticks since the system started; `None` if no such process runs.
pub fn start_ticks(root: &Root, pid: u32) -> Option<u64> {
    ProcessTime::of(root, pid).filter(ProcessTime::runs).map(|process| process.start_ticks)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn time_of_the_cpus_in_scope() {
        let text = "cpu  9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 9 9\ncpu1 100 0 0 0 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(CpuTimes::parse(text, &"0".parse().unwrap()), CpuTimes { idle: 45, steal: 8, total: 72, cpus: 1 });
        let both = CpuTimes::parse(text, &"0-1".parse().unwrap());
        assert_eq!(both, CpuTimes { idle: 45, steal: 8, total: 172, cpus: 2 });
        assert_eq!(CpuTimes::parse("garbage\ncpu0 x", &"0".parse().unwrap()), CpuTimes::default());
        let all = CpuTimes::of_all("cpu  10 0 5 70 5 0 7 3 1 0\ncpu0 1\n");
        assert_eq!(all, Some(CpuTimes { idle: 75, steal: 3, total: 100, cpus: 1 }));
        assert_eq!(
            [CpuTimes::of_all("cpu0 1 2 3 4 5 6 7 8"), CpuTimes::of_all("cpu  1 2"), CpuTimes::of_all("")],
            [None; 3]
        );
        // Half a second of two cpus is a hundred ticks.
        let later = CpuTimes { idle: 45 + 50, steal: 8 + 10, total: 272, cpus: 2 };
        assert_eq!(later.since(&both, 0.5), Some(CpuShares { busy: 0.5, steal: 0.1 }));
        assert_eq!(both.since(&later, 0.5), None, "counters that went back tell nothing");
        assert_eq!((both.since(&both, 0.5), later.since(&both, 0.0)), (None, None));
    }

    #[test]
    fn what_the_tick_does_not_meet_is_busy_all_the_same() {
        // A tenth of a second of work, of which the tick met nothing, or of whose moments it met each.
        let before = CpuTimes { idle: 1000, steal: 0, total: 2000, cpus: 1 };
        for sampled in [0, 50] {
            let later = CpuTimes { idle: 1090, total: 2090 + sampled, ..before };
            let shares = later.since(&before, 1.0).unwrap();
            assert!((shares.busy - 0.1).abs() < 1e-9, "{shares:?}");
        }
    }

    #[test]
    fn names_may_hold_anything() {
        let text = "30783 (a) b (c) R 30773 30773 5228 0 -1 4194304 2853 6598 0 0 3 4 4 2 20 0 1 0 4688660 16961536\n";
        let process = ProcessTime::parse(text).unwrap();
        assert_eq!((process.pid, process.name.as_str(), process.state), (30783, "a) b (c", 'R'));
        assert_eq!((process.ticks, process.start_ticks, process.parent, process.waited), (7, 4_688_660, 30773, 6));
        let root = Root::live();
        let own = start_ticks(&root, std::process::id()).unwrap();
        assert!(own > 0 && ProcessTime::all(&root).iter().any(|p| p.start_ticks == own));
    }

    /// The main thread may end before the others; its state says nothing about them.
    #[test]
    fn a_process_runs_as_long_as_one_of_its_threads() {
        let started = |state: char, threads: u32| {
            let text = format!("7 (x) {state} {}{threads} 0 9 0\n", "0 ".repeat(16));
            start_ticks(&Root::from_files("test", [("proc/7/stat", text)]), 7)
        };
        assert_eq!([started('S', 1), started('Z', 3)], [Some(9), Some(9)]);
        assert_eq!([started('Z', 1), started('X', 0)], [None, None]);
    }

    proptest! {
        #[test]
        fn any_text(text in any::<String>(), numbers in prop::collection::vec(any::<u64>(), 0..25)) {
            let _ = ProcessTime::parse(&text);
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let _ = ProcessTime::parse(&format!("1 ({text}) S {}", numbers.join(" ")));
            let line = format!("cpu0 {}", numbers.join(" "));
            let times = CpuTimes::parse(&line, &"0".parse().unwrap());
            if let Some(shares) = times.since(&CpuTimes::default(), 1.0) {
                prop_assert!((0.0..=1.0).contains(&shares.busy) && (0.0..=1.0).contains(&shares.steal));
            }
        }
    }
}
