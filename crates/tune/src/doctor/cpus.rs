//! Frequency, threads of a core, idle states, cpus set aside.

use tiermark_machine::{HealthCounts, IsolatedCpus, isolated_cpus};
use tiermark_model::messages::health as says;
use tiermark_model::{Affected, IdSet, Machine, Share, count_of};

use super::{Check, CheckInput, CheckResult, turbo};

const CPU: &str = "sys/devices/system/cpu";
/// Leaving an idle state that takes longer shows in any wake-up: a switch between processes takes some 2 µs.
const DEEP_US: u64 = 50;
/// Share of the highest clock at which numbers are those of a slower machine.
const LIMITED: f64 = 0.9;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "governor",
        on_host: true,
        why: "with any governor but 'performance' the core clock, and with it the latency in ns, may change during a \
            measurement",
        examine: governor,
    },
    Check::of_host(
        "clock limit",
        clock_limit,
        "below its highest clock a core is slower than others of its kind: compare only runs with the same limit",
    ),
    Check {
        name: "turbo",
        on_host: true,
        why: "the clock then depends on how many cores are busy and how warm they are: compare runs of the same \
            threads only",
        examine: turbo::check,
    },
    Check::of_host(
        "SMT",
        smt,
        "two threads share a core's caches and ports: tiermark uses one of them unless --cpus names others",
    ),
    Check::of_host(
        "idle states",
        idle,
        "leaving a deep idle state takes longer than the operations measured between two sleeps",
    ),
    Check::new(
        "isolated cpus",
        isolated,
        "the scheduler runs nothing on isolated cpus by itself: name them with --cpus to measure them",
    ),
    Check::new("tickless cpus", tickless, "cpus without a timer tick (nohz_full) are interrupted less than others"),
    Check::of_host("cpus offline", offline, "fewer cpus than the machine has share its caches and memory channels"),
    Check::of_host(
        "thermal throttling",
        throttling,
        "a processor that was too hot lowered its clock: numbers measured then are worse than the hardware",
    ),
];

fn governor(input: &CheckInput<'_>) -> CheckResult {
    let Some(governor) = &input.machine.system.governor else {
        return CheckResult::not_here("not visible: the host or the firmware decides");
    };
    let driver = input.root.word(&format!("{CPU}/cpufreq/policy0/scaling_driver"));
    let driver = driver.or_else(|| input.root.word(&format!("{CPU}/cpu0/cpufreq/scaling_driver"))).unwrap_or_default();
    // With these the hardware itself chooses, and 'powersave' is the name of its usual balance.
    let by_hardware = matches!(driver.as_str(), "intel_pstate" | "amd-pstate-epp");
    let names = |dir: &str| input.root.word(&format!("{CPU}/{dir}/scaling_available_governors"));
    let available = names("cpufreq/policy0").or_else(|| names("cpu0/cpufreq"));
    let cure = match available.filter(|names| !names.split_whitespace().any(|name| name == "performance")) {
        None => "tiermark tune --profile latency --only scaling_governor --apply".to_owned(),
        Some(names) => {
            format!("the kernel has {names} only: modprobe cpufreq_performance, where it is built as a module")
        }
    };
    match governor.as_str() {
        "performance" => CheckResult::ok("performance"),
        "powersave" if by_hardware => CheckResult::note(format!("powersave ({driver})"), cure),
        "userspace" => CheckResult::problem(Affected::All, "userspace: a program sets the clock", cure).of_setting(),
        other => CheckResult::problem(Affected::All, other, cure).of_setting(),
    }
}

fn clock_limit(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    let Some(limit) = &system.clock_limit else {
        return if system.governor.is_some() { CheckResult::ok("none") } else { CheckResult::not_reported() };
    };
    let (value, cure) = (format!("{} of the highest clock", Share(limit.share)), limit.cure());
    // Some drivers state the clock without turbo as such a limit.
    match limit.share <= LIMITED && turbo::is_on(input) != Some(false) {
        true => CheckResult::problem(Affected::All, value, cure).of_setting(),
        false => CheckResult::note(value, cure).of_setting(),
    }
}

fn smt(input: &CheckInput<'_>) -> CheckResult {
    let threads = input.machine.cpus.iter().map(|cpu| cpu.smt_rank + 1).max().unwrap_or(1);
    match input.machine.system.smt_control.as_deref() {
        None => CheckResult::not_reported(),
        Some("on") if threads > 1 => {
            CheckResult::note("on", "to switch it off: echo off > /sys/devices/system/cpu/smt/control")
        }
        Some(state) if threads > 1 => {
            CheckResult::note(format!("{threads} threads a core, although the kernel's switch says '{state}'"), "")
        }
        Some("on") => CheckResult::ok("on, and no core has two threads here"),
        Some(state) => CheckResult::ok(match state {
            "notsupported" => "none",
            "forceoff" => "off for good",
            "notimplemented" => "not known to this kernel",
            other => other,
        }),
    }
}

fn idle(input: &CheckInput<'_>) -> CheckResult {
    let Some(idle) = &input.machine.system.idle else { return CheckResult::not_reported() };
    let usable = idle.states.iter().filter(|state| !state.disabled);
    let deepest = usable.max_by_key(|state| state.latency_us.unwrap_or_default());
    let driver = idle.driver.as_deref().unwrap_or("no driver");
    match deepest.and_then(|state| Some((state, state.latency_us?))) {
        Some((state, us)) if us > DEEP_US => CheckResult::note(
            format!("down to {}, {us} µs to leave", state.name),
            "for the time of a run: cpupower idle-set -D 10, then cpupower idle-set -E",
        ),
        Some((state, us)) => CheckResult::ok(format!("down to {}, {us} µs to leave", state.name)),
        None => CheckResult::ok(format!("{driver}, no idle states")),
    }
}

fn isolated(input: &CheckInput<'_>) -> CheckResult {
    let path = format!("{CPU}/isolated");
    let at_boot = input.root.word(&path).and_then(|cpus| cpus.parse::<IdSet>().ok()).unwrap_or_default();
    let by_group = isolated_cpus(input.root);
    let all = at_boot.union(&by_group.cpus);
    match input.root.read(&path) {
        _ if !by_group.cpus.is_empty() => in_partitions(input, &all, &by_group),
        Ok(None) | Err(_) => CheckResult::not_reported(),
        Ok(Some(_)) if all.is_empty() => CheckResult::ok("none"),
        Ok(Some(_)) => measured_if_named(input, &all, &all.to_string()),
    }
}

/// Cpus of isolated partitions: only processes of their group run there.
fn in_partitions(input: &CheckInput<'_>, all: &IdSet, by_group: &IsolatedCpus) -> CheckResult {
    let files = by_group.groups.iter().map(|group| format!("{group}/cpuset.cpus.partition"));
    let files: Vec<String> = files.collect();
    let by = if files.is_empty() { by_group.file.clone() } else { files.join(", ") };
    let text = match by_group.cpus == *all {
        true => format!("{all}, by {by}"),
        false => format!("{all}, of which {} by {by}", by_group.cpus),
    };
    match by_group.groups.first() {
        Some(group) if by_group.cpus.intersection(&input.machine.choosable_cpus()).is_empty() => CheckResult::note(
            text,
            match by_group.groups.len() {
                1 => format!(
                    "to measure on them, start tiermark in their group, as root: echo $$ > {group}/cgroup.procs"
                ),
                _ => format!(
                    "to measure on those of one group, start tiermark in it, as root: echo $$ > {group}/cgroup.procs"
                ),
            },
        ),
        _ => measured_if_named(input, all, &text),
    }
}

fn tickless(input: &CheckInput<'_>) -> CheckResult {
    let cpus = &input.machine.system.tickless_cpus;
    match cpus.is_empty() {
        true => CheckResult::ok("none"),
        false => measured_if_named(input, cpus, &cpus.to_string()),
    }
}

/// Cpus that runs leave alone unless they are named, as far as this process may choose them.
fn measured_if_named(input: &CheckInput<'_>, cpus: &IdSet, text: &str) -> CheckResult {
    let usable = cpus.intersection(&input.machine.choosable_cpus());
    match usable.is_empty() {
        true => CheckResult::note(
            text,
            "this process may not run there: they are outside its affinity (taskset) or its control group's cpuset",
        ),
        false => CheckResult::note(text, format!("measure on them with --cpus {usable}")),
    }
}

fn offline(input: &CheckInput<'_>) -> CheckResult {
    let offline = &input.machine.offline_cpus;
    let Some(first) = offline.first() else { return unknown_processors(input.machine) };
    // Without SMT the kernel brings no second thread of a core online. An offline cpu does not show whose it is.
    let threads = match input.machine.system.smt_control.as_deref() {
        Some("off") => format!("echo on > /{CPU}/smt/control"),
        Some("forceoff") => "boot without nosmt".to_owned(),
        _ => return CheckResult::note(offline.to_string(), format!("echo 1 > /{CPU}/cpu{first}/online, and so on")),
    };
    let value = format!("{offline}, with SMT off");
    if offline.len() <= input.machine.cpus.len() {
        return CheckResult::ok(value);
    }
    CheckResult::note(
        value,
        format!("more than second threads of the cores: echo 1 > /{CPU}/cpuN/online; of these: {threads}"),
    )
}

/// Processors that firmware counts, and none of whose cpus the kernel knows: not even as offline.
fn unknown_processors(machine: &Machine) -> CheckResult {
    let (all, known) = (machine.processors(), machine.sockets().len());
    if all <= known || machine.system.hypervisor.is_some() {
        return CheckResult::ok("none");
    }
    CheckResult::note(
        format!("none, but the kernel knows cpus of {known} of {} only", count_of(all as u64, "processor")),
        "take nr_cpus=, maxcpus= and possible_cpus= off the kernel's command line, and look whether the firmware \
         switches a processor off",
    )
}

/// Events since boot.
fn throttling(input: &CheckInput<'_>) -> CheckResult {
    let health = HealthCounts::read(input.root, input.machine).run(None, input.machine).unwrap_or_default();
    let counted = |counter| health.throttled(counter, |count| Some(count.last()));
    let (cores, packages) = (counted(|package| package.cores), counted(|package| package.whole));
    let value = says::throttling_counted(cores, packages).to_string();
    match cores.max(packages) {
        None => CheckResult::not_reported(),
        Some(0) => CheckResult::ok("none since boot"),
        Some(_) => CheckResult::note(format!("{value} since boot"), "check fans, airflow and power limits"),
    }
}
