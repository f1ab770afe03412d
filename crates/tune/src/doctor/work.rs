//! Other programs that use the machine.

use std::collections::BTreeSet;

use tiermark_model::{Affected, FEWEST_JUDGED, Share, count_of};

use super::{Check, CheckInput, CheckResult};

/// Share of the cpus that other work may take before a reader should know.
pub const BUSY_NOTE: f64 = 0.1;
/// Share of busy cpus beyond which a run would disturb that work and measure little of use. Above [`BUSY_NOTE`]: on two
/// cpus a tenth is one daemon, and below one half the stamps show the disturbance, so that verdicts are right.
pub const BUSY_PROBLEM: f64 = 0.5;
/// Stolen time beyond which medians are still right and tails are not.
pub const STEAL_NOTE: f64 = 0.01;
/// Stolen time beyond which hardly a window of half a millisecond is whole on every cpu.
pub const STEAL_PROBLEM: f64 = 0.1;

pub(super) const CHECKS: &[Check] = &[
    Check::new("other programs", busy, "they take cpu time, cache and memory bandwidth from the measurement"),
    Check::new(
        "steal",
        steal,
        "time that the hypervisor gives to other guests stops a measurement without a trace but a gap",
    ),
    Check::new(
        "interruptions",
        interruptions,
        "each takes a cpu from its program for a while: in a guest mostly exits of the virtual cpu, which stolen time \
         does not count; else ticks of the kernel, other interrupts, and those of the firmware. Runs take them out of \
         their numbers; programs cannot",
    ),
    Check {
        name: "changes held",
        on_host: false,
        why: "what an earlier `tiermark tune --apply` or a killed run changed or started is still there: settings, \
              control groups, swap areas, servers",
        examine: held,
    },
];

/// Commands that take changes back.
pub(super) const RESTORE: &str = "tiermark tune --restore";

/// What a virtual machine does not see; its steal is 0 while a neighbour fills cache or memory channels.
const HIDDEN: &str =
    "; other guests of the host are not visible here (`tiermark watch --active` shows what they leave)";

fn busy(input: &CheckInput<'_>) -> CheckResult {
    let load = input.machine.system.load1.map_or_else(String::new, |load| format!("; load average {load:.2}"));
    let Some(busy) = &input.busy else { return CheckResult::not_here(format!("not watched{load}")) };
    let names =
        Some(busy.names()).filter(|names| !names.is_empty()).map_or_else(String::new, |names| format!(": {names}"));
    let hidden = if input.machine.system.hypervisor.is_some() { HIDDEN } else { "" };
    let value = format!("{:.1} of {} cpus busy{names}{load}{hidden}", busy.busy, busy.cpus);
    let cure = "wait until it ends, stop your own programs, or measure on other cpus with --cpus";
    match busy.busy / busy.cpus.max(1) as f64 {
        share if share > BUSY_PROBLEM => CheckResult::problem(Affected::All, value, cure),
        share if share > BUSY_NOTE => CheckResult::note(value, cure),
        _ => CheckResult::ok(value),
    }
}

fn steal(input: &CheckInput<'_>) -> CheckResult {
    let Some(busy) = &input.busy else { return CheckResult::not_here("not watched") };
    let value = format!("{:.1}", Share(busy.steal));
    let cure = "measure at another time, or on a guest with cpus of its own";
    match busy.steal {
        share if share > STEAL_PROBLEM => CheckResult::problem(Affected::All, value, cure),
        share if share > STEAL_NOTE => CheckResult::note(value, cure),
        _ => CheckResult::ok(value),
    }
}

fn interruptions(input: &CheckInput<'_>) -> CheckResult {
    let Some(seen) = &input.interrupted else { return CheckResult::not_here("not watched") };
    let long = seen.long_share * 100.0;
    let value = match seen.long {
        0 => seen.to_string(),
        count => format!(
            "{seen}; longer than 20\u{a0}µs {} times in {:.2} s, {long:.1}\u{a0}% of the time",
            count, seen.watched_seconds
        ),
    };
    // As stolen time.
    match seen.long_share {
        share if share > STEAL_NOTE && seen.long >= FEWEST_JUDGED => CheckResult::note(
            value,
            "other programs, devices, the firmware (SMI) or the hypervisor: measure on other cpus with --cpus, or \
             watch a cpu with `rtla osnoise top`",
        ),
        _ => CheckResult::ok(value),
    }
}

fn held(input: &CheckInput<'_>) -> CheckResult {
    // Changes of a running process do not count.
    const NAMED: usize = 3;
    let left = || input.held.iter().filter(|held| !held.at_work);
    let changes: Vec<&str> = left().flat_map(|held| &held.changes).map(String::as_str).collect();
    if changes.is_empty() {
        return CheckResult::ok("none");
    }
    let makers: BTreeSet<&str> = left().map(|held| held.what.as_str()).collect();
    let makers = Vec::from_iter(makers).join(", ");
    let named = changes[..changes.len().min(NAMED)].join(", ");
    let more = if changes.len() > NAMED { format!(" and {} more", changes.len() - NAMED) } else { String::new() };
    CheckResult::note(format!("{} of {makers}: {named}{more}", count_of(changes.len() as u64, "change")), RESTORE)
}
