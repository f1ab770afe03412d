//! Use of the cpus by other programs between two readings of `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use tiermark_machine::Root;
use tiermark_model::IdSet;

use tiermark_machine::{CpuTimes, ProcessTime};

/// Programs named.
const NAMED: usize = 3;
/// Share of one cpu from which a program is worth a name.
const WORTH_NAMING: f64 = 0.05;

/// The counters of cpus and processes at one moment.
#[derive(Debug, Clone)]
pub struct CpuSnapshot {
    at: Instant,
    cpus: CpuTimes,
    /// Online cpus of the machine, including those outside the run's selection.
    all_cpus: u64,
    processes: Vec<ProcessTime>,
}

/// How busy others kept some cpus for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// Cpus watched.
    pub cpus: usize,
    /// Cpus kept busy on average by anything but this program and its children, without stolen time.
    pub busy: f64,
    /// Share of the time that the hypervisor gave to others.
    pub steal: f64,
    /// The programs that used most, by name, with the cpus they kept busy.
    pub top: Vec<(String, f64)>,
    /// Whether the cpus watched are all of the machine; else the programs may have run on others.
    pub whole: bool,
}

impl CpuSnapshot {
    /// Reads the counters of these cpus and of every process; `None` where the system does not say.
    pub fn take(root: &Root, cpus: &IdSet) -> Option<Self> {
        let text = root.text("proc/stat")?;
        let at = Instant::now();
        let all_cpus = CpuTimes::of_all(&text).map_or(0, |all| all.cpus);
        Some(Self { at, cpus: CpuTimes::parse(&text, cpus), all_cpus, processes: ProcessTime::all(root) })
    }

    /// Use of the cpus by other programs since an earlier snapshot; `None` if no time has passed.
    pub fn since(&self, before: &Self) -> Option<Busy> {
        let seconds = self.at.duration_since(before.at).as_secs_f64();
        let shares = self.cpus.since(&before.cpus, seconds)?;
        let one = (seconds * rustix::param::clock_ticks_per_second() as f64).max(1.0);
        let used = used(&before.processes, &self.processes, std::process::id());
        let cpus = self.cpus.cpus as usize;
        // What a process uses is counted exactly, what a cpu is used only at its ticks: the difference may come out
        // below nothing.
        let busy = ((shares.busy - shares.steal) * cpus as f64 - used.own as f64 / one).max(0.0);
        let whole = self.cpus.cpus == self.all_cpus;
        Some(Busy { cpus, busy, steal: shares.steal, top: top(&used.others, one), whole })
    }
}

impl Busy {
    /// The programs that used most with the cpus they kept busy: `rustc 0.6, stress-ng 0.3`; empty where none is known.
    pub fn names(&self) -> String {
        let names: Vec<String> = self.top.iter().map(|(name, used)| format!("{name} {used:.1}")).collect();
        match names.is_empty() {
            true => String::new(),
            false if self.whole => names.join(", "),
            false => format!("busiest on all cpus: {}", names.join(", ")),
        }
    }

    /// Share of the cpus that others kept busy, or that the hypervisor gave away.
    pub fn share(&self) -> f64 {
        (self.busy / self.cpus.max(1) as f64 + self.steal).min(1.0)
    }
}

/// Watches cpus for a while; `None` where the system does not say.
pub fn watch(root: &Root, cpus: &IdSet, time: Duration) -> Option<Busy> {
    let before = CpuSnapshot::take(root, cpus)?;
    thread::sleep(time);
    CpuSnapshot::take(root, cpus)?.since(&before)
}

/// Ticks used between two snapshots.
#[derive(Debug, Default, PartialEq, Eq)]
struct Used {
    /// By this program and its children.
    own: u64,
    /// By others, by name.
    others: BTreeMap<String, u64>,
}

/// A process of the earlier snapshot is the same one later only where its start is the same too: numbers are used
/// again.
fn used(before: &[ProcessTime], after: &[ProcessTime], own: u32) -> Used {
    let id = |process: &ProcessTime| (process.pid, process.start_ticks);
    let known: BTreeMap<(u32, u64), &ProcessTime> = before.iter().map(|process| (id(process), process)).collect();
    let still: BTreeSet<(u32, u64)> = after.iter().map(id).collect();
    let ended: Vec<&ProcessTime> = before.iter().filter(|process| !still.contains(&id(process))).collect();
    let family = family(after, own);
    let mut used = Used::default();
    for process in after {
        let earlier = known.get(&id(process));
        let itself = process.ticks.saturating_sub(earlier.map_or(0, |p| p.ticks));
        // The time that a child used before the first snapshot is in the parent's sum once the child has ended.
        let before = earlier.map_or(0, |p| p.waited + of_ended(&ended, p.pid, ended.len()));
        let children = process.waited.saturating_sub(before);
        if family.contains(&process.pid) {
            used.own += itself + children;
        } else {
            *used.others.entry(process.name.clone()).or_default() += itself;
            *used.others.entry(format!("children of {}", process.name)).or_default() += children;
        }
    }
    used
}

/// What the processes that ended had used before, of those that a process started and of those that they started.
fn of_ended(ended: &[&ProcessTime], parent: u32, depth: usize) -> u64 {
    // Parents are read one after the other, so that torn reads might make a circle of them.
    if depth == 0 {
        return 0;
    }
    let children = ended.iter().filter(|process| process.parent == parent && process.pid != parent);
    children.map(|child| child.ticks + child.waited + of_ended(ended, child.pid, depth - 1)).sum()
}

/// A process and all that it started, directly or not.
fn family(processes: &[ProcessTime], own: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([own]);
    loop {
        let more = processes.iter().filter(|p| family.contains(&p.parent) && !family.contains(&p.pid));
        let more: Vec<u32> = more.map(|p| p.pid).collect();
        if more.is_empty() {
            return family;
        }
        family.extend(more);
    }
}

/// The programs that used most, with the cpus they kept busy; `one` is the ticks of one cpu.
fn top(used: &BTreeMap<String, u64>, one: f64) -> Vec<(String, f64)> {
    let mut top: Vec<(String, f64)> = used.iter().map(|(name, ticks)| (name.clone(), *ticks as f64 / one)).collect();
    top.retain(|(_, used)| *used >= WORTH_NAMING);
    top.sort_by(|a, b| b.1.total_cmp(&a.1));
    top.truncate(NAMED);
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 100;

    /// A process from the text of its file: number, name, parent, ticks, ticks of children that ended, start.
    fn process(pid: u32, name: &str, parent: u32, ticks: u64, waited: u64, start: u64) -> ProcessTime {
        let text = format!("{pid} ({name}) R {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 {waited} 0 20 0 1 0 {start} 1 1");
        ProcessTime::parse(&text).unwrap()
    }

    fn others(before: &[ProcessTime], after: &[ProcessTime]) -> Vec<(String, u64)> {
        used(before, after, OWN).others.into_iter().filter(|(_, ticks)| *ticks > 0).collect()
    }

    fn named(name: &str, ticks: u64) -> (String, u64) {
        (name.to_owned(), ticks)
    }

    #[test]
    fn programs_are_named_by_what_they_used() {
        let before = [process(1, "a) b (c", 0, 1000, 0, 1), process(2, "idle", 0, 5, 0, 1)];
        let after = [
            process(1, "a) b (c", 0, 1020, 0, 1),
            process(2, "idle", 0, 5, 0, 1),
            process(4, "new", 0, 30, 0, 9),
            process(5, "new", 0, 30, 0, 9),
            process(6, "little", 0, 4, 0, 9),
        ];
        let used = used(&before, &after, OWN);
        assert_eq!(top(&used.others, 100.0), [("new".to_owned(), 0.6), ("a) b (c".to_owned(), 0.2)]);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let before = [process(7, "old", 0, 5000, 0, 1)];
        assert_eq!(others(&before, &[process(7, "young", 0, 40, 0, 2)]), [named("young", 40)]);
        // The same start: the same process under another name (exec).
        assert_eq!(others(&before, &[process(7, "other", 0, 5040, 0, 1)]), [named("other", 40)]);
    }

    #[test]
    fn what_ended_is_in_the_sum_of_its_parent() {
        // A compiler that had used 300 ticks before, of which a child of it that ended 100 more, ended after 50 more;
        // another began and ended.
        let before =
            [process(10, "make", 1, 5, 1000, 1), process(11, "cc", 10, 300, 0, 2), process(12, "as", 11, 100, 0, 3)];
        let after = [process(10, "make", 1, 5, 1000 + 300 + 100 + 50 + 20, 1)];
        assert_eq!(others(&before, &after), [named("children of make", 70)]);
        // A process that still runs is counted by itself.
        let after = [process(10, "make", 1, 5, 1000, 1), process(11, "cc", 10, 330, 100, 2)];
        assert_eq!(others(&before, &after), [named("cc", 30)]);
    }

    #[test]
    fn this_program_and_what_it_started_are_left_out() {
        let before = [process(OWN, "self", 1, 10, 0, 1)];
        let after = [
            process(103, "grandchild", 102, 7, 0, 3),
            process(OWN, "self", 1, 20, 5, 1),
            process(102, "child", OWN, 30, 0, 2),
            process(1, "parent", 0, 2, 0, 1),
        ];
        let used = used(&before, &after, OWN);
        assert_eq!(used.own, 10 + 5 + 30 + 7);
        assert_eq!(others(&before, &after), [named("parent", 2)]);
    }

    #[test]
    fn parents_in_a_circle_come_to_an_end() {
        let before = [process(1, "top", 0, 0, 0, 1), process(2, "a", 3, 1, 0, 1), process(3, "b", 2, 1, 0, 1)];
        let after = [process(2, "new", 3, 1, 9, 5), process(3, "new", 2, 1, 9, 5)];
        assert_eq!(others(&before, &after), [named("children of new", 18), named("new", 2)]);
    }

    #[test]
    fn the_busiest_are_named() {
        let mut busy = Busy {
            cpus: 2,
            busy: 0.9,
            steal: 0.2,
            top: vec![("rustc".to_owned(), 0.62), ("stress-ng".to_owned(), 0.28)],
            whole: true,
        };
        assert_eq!(busy.names(), "rustc 0.6, stress-ng 0.3");
        assert!((busy.share() - 0.65).abs() < 1e-9);
        busy.whole = false;
        assert_eq!(busy.names(), "busiest on all cpus: rustc 0.6, stress-ng 0.3");
        busy.top.clear();
        assert_eq!(busy.names(), "");
    }

    #[test]
    fn this_machine_is_watched() {
        let busy = watch(&Root::live(), &"0".parse().unwrap(), Duration::from_millis(50)).unwrap();
        assert!((0.0..=1.0).contains(&busy.busy) && busy.cpus == 1, "{busy:?}");
    }
}
