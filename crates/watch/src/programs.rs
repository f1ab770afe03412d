//! The programs that use most memory, and most time of the cpus.

use std::collections::HashMap;

use rustix::param::{clock_ticks_per_second, page_size};
use tiermark_machine::{ProcessTime, Root};
use tiermark_model::WatchProgram;

/// Seconds between two looks: to read a process takes some 10 µs, and a server has hundreds.
const EVERY: f64 = 5.0;
/// Share of a cpu that looks take at most: where there are thousands of processes, looks become rarer.
const SHARE: f64 = 0.001;

/// The processes of a system.
#[derive(Debug)]
pub(crate) struct Programs {
    root: Root,
    /// Programs of each kind that are shown at most.
    most: usize,
    /// The processes at the look before, and when that was.
    before: Option<(f64, Vec<ProcessTime>)>,
    /// When the next look is due.
    due: f64,
    shown: Vec<WatchProgram>,
}

impl Programs {
    pub(crate) fn new(root: &Root, most: usize) -> Self {
        Self { root: root.clone(), most, before: None, due: f64::NEG_INFINITY, shown: Vec::new() }
    }

    /// The programs that use most, of the newest look; `at` is now, `used` the cpu time of this thread so far, both in
    /// seconds.
    pub(crate) fn read(&mut self, at: f64, used: impl Fn() -> f64) -> Vec<WatchProgram> {
        if at >= self.due {
            let began = used();
            let now = ProcessTime::all(&self.root);
            self.shown = most(self.before.as_ref(), (at, &now), self.most);
            // The first look has no time of the cpus: the next sample looks again, whatever it costs.
            let wait = if self.before.is_some() { EVERY.max((used() - began) / SHARE) } else { 0.0 };
            self.before = Some((at, now));
            self.due = at + wait;
        }
        self.shown.clone()
    }
}

/// The programs with most time of the cpus since the look before, then those with most memory, at most so many of each.
fn most(before: Option<&(f64, Vec<ProcessTime>)>, (at, now): (f64, &[ProcessTime]), most: usize) -> Vec<WatchProgram> {
    let ticks = before.map(|(then, processes)| {
        // The kernel reuses process numbers; the number and the start time together name one process.
        let ticks: HashMap<(u32, u64), u64> = processes.iter().map(|p| ((p.pid, p.start_ticks), p.ticks)).collect();
        (ticks, (at - then) * clock_ticks_per_second() as f64)
    });
    let cpus = |process: &ProcessTime| {
        let (ticks, all) = ticks.as_ref().filter(|(_, all)| *all > 0.0)?;
        // One that is new used all of its time since the look before.
        let earlier = ticks.get(&(process.pid, process.start_ticks)).copied().unwrap_or(0);
        Some(process.ticks.checked_sub(earlier)? as f64 / all)
    };
    let all: Vec<WatchProgram> = now
        .iter()
        .map(|process| WatchProgram {
            pid: process.pid,
            name: process.name.clone(),
            cpus: cpus(process),
            resident_bytes: process.resident_pages.saturating_mul(page_size() as u64),
        })
        .collect();
    let first = |by: fn(&WatchProgram) -> f64| {
        let mut programs: Vec<&WatchProgram> = all.iter().filter(|program| by(program) > 0.0).collect();
        programs.sort_by(|a, b| by(b).total_cmp(&by(a)));
        programs.truncate(most);
        programs
    };
    let (busy, large) = (first(|program| program.cpus.unwrap_or(0.0)), first(|program| program.resident_bytes as f64));
    let others = large.into_iter().filter(|program| !busy.iter().any(|other| other.pid == program.pid));
    busy.iter().copied().chain(others).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process: number, name, ticks, start, resident pages.
    fn process(pid: u32, name: &str, ticks: u64, start: u64, pages: u64) -> ProcessTime {
        let text = format!("{pid} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 1 {pages}");
        ProcessTime::parse(&text).unwrap()
    }

    fn names(programs: &[WatchProgram]) -> Vec<&str> {
        programs.iter().map(|program| program.name.as_str()).collect()
    }

    #[test]
    fn those_with_most_time_come_first_and_then_those_with_most_memory() {
        let second = clock_ticks_per_second();
        let then = vec![process(1, "idle", 50, 1, 10), process(2, "busy", 0, 2, 5), process(3, "large", 0, 3, 900)];
        let now = [
            process(1, "idle", 50, 1, 10),
            process(2, "busy", second, 2, 5),
            process(3, "large", 1, 3, 900),
            // The number of one that ended, and one that came.
            process(4, "new", second / 2, 9, 1),
            process(5, "kernel", 0, 1, 0),
        ];
        let first = most(None, (10.0, &now), 2);
        assert_eq!((names(&first), first[0].cpus), (vec!["large", "idle"], None));
        let later = most(Some(&(10.0, then)), (12.0, &now), 2);
        assert_eq!(names(&later), ["busy", "new", "large", "idle"]);
        assert_eq!((later[0].cpus, later[1].cpus), (Some(0.5), Some(second as f64 / 4.0 / second as f64)));
        assert_eq!(later[2].resident_bytes, 900 * page_size() as u64);
        assert!(most(None, (1.0, &[]), 5).is_empty());
    }

    #[test]
    fn looks_become_rarer_where_they_cost_much() {
        let root = Root::from_files("test", [("proc/7/stat", "7 (x) S 1 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 9 1 8\n")]);
        let mut programs = Programs::new(&root, 3);
        let cost = std::cell::Cell::new(0.0);
        // Each look takes 20 ms: 20 s pass until the next.
        let used = || {
            cost.set(cost.get() + 0.02);
            cost.get()
        };
        assert_eq!(programs.read(100.0, used)[0].cpus, None);
        assert_eq!(programs.read(101.0, used)[0].cpus, Some(0.0));
        let looks = cost.get();
        assert_eq!(names(&programs.read(120.0, used)), ["x"]);
        assert_eq!(cost.get(), looks, "the look before is shown again");
        programs.read(122.0, used);
        assert!(cost.get() > looks);
    }
}
