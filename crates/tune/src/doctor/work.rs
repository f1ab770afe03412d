//! Who else uses the machine.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use tiermark_machine::Root;
use tiermark_model::IdSet;

use super::{Check, Found, Patient};
use crate::stat::{CpuTimes, ProcessTime};

/// Share of the cpus that other work may take before a reader should know.
pub const BUSY_NOTE: f64 = 0.1;
/// Share beyond which a run would both disturb that work and measure little of use. Not at [`BUSY_NOTE`] already: on two cpus a tenth is
/// one daemon, and below one half the stamps show what was disturbed, so that the verdicts tell the truth.
pub const BUSY_PROBLEM: f64 = 0.5;
/// Stolen time beyond which medians are still right and tails are not.
const STEAL_NOTE: f64 = 0.01;
/// Stolen time beyond which hardly a window of half a millisecond is whole on every cpu.
const STEAL_PROBLEM: f64 = 0.1;
/// Programs named.
const NAMED: usize = 3;
/// Share of one cpu from which a program is worth a name.
const WORTH_NAMING: f64 = 0.05;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "other programs",
        why: "they take cpu time, cache and memory bandwidth from what is measured",
        look: busy,
    },
    Check {
        name: "steal",
        why: "time that the hypervisor gives to other guests stops a measurement without a trace but a gap",
        look: steal,
    },
    Check {
        name: "changes held",
        why: "settings that an earlier `tiermark tune --apply` or a killed run made are still in place",
        look: held,
    },
];

/// What takes changes back.
pub(super) const RESTORE: &str = "tiermark tune --restore";

/// How busy a machine was for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// Cpus watched.
    pub cpus: usize,
    /// Cpus kept busy, on average.
    pub busy: f64,
    /// Share of the time that was stolen.
    pub steal: f64,
    /// The programs that used most, by name, with the cpus they kept busy.
    pub top: Vec<(String, f64)>,
}

/// Watches cpus for a while; `None` where the system does not say.
pub fn watch(root: &Root, cpus: &IdSet, time: Duration) -> Option<Busy> {
    let times = || Some((Instant::now(), CpuTimes::parse(&root.read("proc/stat").ok().flatten()?, cpus)));
    let ((began, before), programs) = (times()?, ProcessTime::all(root));
    thread::sleep(time);
    let ((ended, after), later) = (times()?, ProcessTime::all(root));
    let seconds = ended.duration_since(began).as_secs_f64();
    let shares = after.since(&before, seconds)?;
    let top = top(&programs, &later, seconds * rustix::param::clock_ticks_per_second() as f64);
    Some(Busy { cpus: cpus.len(), busy: shares.busy * cpus.len() as f64, steal: shares.steal, top })
}

/// Time used between two looks, by name; this program itself is left out.
fn top(before: &[ProcessTime], after: &[ProcessTime], of_one: f64) -> Vec<(String, f64)> {
    let known: BTreeMap<(u32, u64), u64> = before.iter().map(|p| ((p.pid, p.start_ticks), p.ticks)).collect();
    let mut used: BTreeMap<&str, f64> = BTreeMap::new();
    for process in after.iter().filter(|p| p.pid != std::process::id()) {
        let earlier = known.get(&(process.pid, process.start_ticks)).copied().unwrap_or_default();
        *used.entry(&process.name).or_default() += process.ticks.saturating_sub(earlier) as f64 / of_one.max(1.0);
    }
    let mut top: Vec<(String, f64)> = used.into_iter().map(|(name, used)| (name.to_owned(), used)).collect();
    top.retain(|(_, used)| *used >= WORTH_NAMING);
    top.sort_by(|a, b| b.1.total_cmp(&a.1));
    top.truncate(NAMED);
    top
}

fn busy(patient: &Patient<'_>) -> Found {
    let load = patient.machine.system.load1.map_or_else(String::new, |load| format!("; load average {load:.2}"));
    let Some(busy) = &patient.busy else { return Found::not_here(format!("not watched{load}")) };
    let names: Vec<String> = busy.top.iter().map(|(name, used)| format!("{name} {used:.1}")).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let value = format!("{:.1} of {} cpus busy{names}{load}", busy.busy, busy.cpus);
    let cure = "wait until it is quieter, stop what is yours, or measure on other cpus with --cpus";
    match busy.busy / busy.cpus.max(1) as f64 {
        share if share > BUSY_PROBLEM => Found::problem(value, cure),
        share if share > BUSY_NOTE => Found::note(value, cure),
        _ => Found::ok(value),
    }
}

fn steal(patient: &Patient<'_>) -> Found {
    let Some(busy) = &patient.busy else { return Found::not_here("not watched") };
    let value = format!("{:.1} %", busy.steal * 100.0);
    let cure = "measure at another time, or on a guest with cpus of its own";
    match busy.steal {
        share if share > STEAL_PROBLEM => Found::problem(value, cure),
        share if share > STEAL_NOTE => Found::note(value, cure),
        _ => Found::ok(value),
    }
}

fn held(patient: &Patient<'_>) -> Found {
    // Those of a run at work are its own business.
    let left: usize = patient.held.iter().filter(|held| !held.at_work).map(|held| held.changes.len()).sum();
    match left {
        0 => Found::ok("none"),
        1 => Found::note("1 change", RESTORE),
        n => Found::note(format!("{n} changes"), RESTORE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_by_what_they_used() {
        let process = |pid, name: &str, ticks, start_ticks| ProcessTime {
            pid,
            name: name.to_owned(),
            state: 'R',
            ticks,
            start_ticks,
        };
        let before = [process(1, "old", 1000, 1), process(2, "idle", 5, 1), process(3, "gone", 5, 1)];
        let after = [
            process(1, "old", 1020, 1),
            process(2, "idle", 5, 1),
            process(3, "new", 30, 9),
            process(4, "new", 30, 9),
            process(std::process::id(), "self", 90, 1),
        ];
        assert_eq!(top(&before, &after, 100.0), [("new".to_owned(), 0.6), ("old".to_owned(), 0.2)]);
    }

    #[test]
    fn this_machine_is_watched() {
        let busy = watch(&Root::live(), &"0".parse().unwrap(), Duration::from_millis(50)).unwrap();
        assert!((0.0..=1.0).contains(&busy.busy) && busy.cpus == 1, "{busy:?}");
    }
}
