//! Clock, interruptions, counters, mitigations.

use tiermark_machine::pressure;
use tiermark_model::{Affected, Mitigation};

use super::{Check, CheckInput, CheckResult};

/// Percent of the last 10 s in which all tasks waited for memory, from which the machine does little else.
const STALLED: f64 = 10.0;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "clocksource",
        on_host: true,
        why: "where the kernel distrusts the time stamp counter, reading any clock takes a call or worse, and stamps \
            may step",
        examine: clocksource,
    },
    Check::of_host("perf_event_paranoid", paranoid, "above 2 a user cannot count events of its own programs"),
    Check::new(
        "mitigations",
        mitigations,
        "every call into the kernel includes them: compare only runs with the same mitigations",
    ),
    Check::of_host(
        "NMI watchdog",
        |input| {
            let cure = "tiermark tune --profile latency --only kernel.nmi_watchdog --apply";
            input.by_number("proc/sys/kernel/nmi_watchdog", &[(Some(0), "off", ""), (None, "on", cure)])
        },
        "it interrupts every cpu, and takes a performance counter",
    ),
    Check::of_host(
        "address randomisation",
        |input| {
            let rows = [(Some(0), "off", "sysctl kernel.randomize_va_space=2"), (None, "on", "")];
            input.by_number("proc/sys/kernel/randomize_va_space", &rows)
        },
        "leave it on: runs sample several allocations, whose addresses should differ",
    ),
    Check::of_host(
        "pressure (PSI)",
        stalls,
        "while programs wait for memory, the kernel reclaims and swaps pages, which disturbs measurements",
    ),
    Check::of_host(
        "delay accounting",
        |input| input.by_number("proc/sys/kernel/task_delayacct", &[(Some(0), "off", ""), (None, "on", "")]),
        "with it the kernel counts how long each task waits for swap",
    ),
];

fn clocksource(input: &CheckInput<'_>) -> CheckResult {
    let Some(clock) = input.machine.system.clocksource.as_deref() else { return CheckResult::not_reported() };
    let has_tsc = input.machine.system.clocksources.iter().any(|c| c == "tsc");
    let to_tsc = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
    match clock {
        // In a guest the hypervisor's clocks are read without a call too.
        "tsc" | "arch_sys_counter" | "kvm-clock" | "hyperv_clocksource_tsc_page" => CheckResult::ok(clock),
        // The kernel lists the time stamp counter only while it trusts it: somebody chose the other clock.
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" if has_tsc => {
            CheckResult::problem(Affected::All, clock, format!("{to_tsc} (the kernel offers tsc)"))
        }
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" => {
            let cure =
                "see why in dmesg | grep -i -e tsc -e clocksource; tsc=reliable on the command line only where it is";
            CheckResult::problem(Affected::All, clock, cure)
        }
        guest => CheckResult::note(guest, if has_tsc { to_tsc } else { "" }),
    }
}

fn paranoid(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.system.perf_event_paranoid {
        None => input.none("proc/sys/kernel/perf_event_paranoid"),
        Some(level) if level > 2 => CheckResult::note(level.to_string(), "sysctl kernel.perf_event_paranoid=2"),
        Some(level) => CheckResult::ok(level.to_string()),
    }
}

fn mitigations(input: &CheckInput<'_>) -> CheckResult {
    let all = &input.machine.system.mitigations;
    if all.is_empty() {
        return CheckResult::not_reported();
    }
    let (mut active, mut partial, mut none) = (0, Vec::new(), Vec::new());
    for (name, state) in all {
        match Mitigation::of(state) {
            Some(Mitigation::Active(_)) => active += 1,
            Some(Mitigation::Partial(how)) => partial.push(format!("{name} ({how})")),
            Some(Mitigation::None) => none.push(name.clone()),
            None => {}
        }
    }
    let lists = [("in part against", partial), ("none against", none)];
    let lists = lists.iter().filter(|(_, names)| !names.is_empty());
    let missing: String = lists.map(|(how, names)| format!("; {how} {}", names.join(", "))).collect();
    let value = format!("{active} active{missing}");
    match missing.is_empty() {
        true => CheckResult::ok(value),
        false => CheckResult::note(
            value,
            "state them with the numbers: system calls are faster here than on a machine with all mitigations",
        ),
    }
}

fn stalls(input: &CheckInput<'_>) -> CheckResult {
    let text = input.root.read("proc/pressure/memory");
    let full = text.as_ref().ok().and_then(|text| pressure(text.as_ref()?).ok()?.full);
    if let Some(stall) = full.filter(|stall| stall.avg10 >= STALLED) {
        return CheckResult::problem(
            Affected::Memory,
            format!("all tasks that were not idle waited for memory for {:.0} % of the last 10 s", stall.avg10),
            "stop the programs that use most memory, or wait until they end: `ps aux --sort=-rss` lists them",
        );
    }
    match text {
        Ok(Some(_)) => CheckResult::ok("on"),
        // A captured tree may just not have it.
        _ if !input.root.is_live() => CheckResult::not_reported(),
        _ => CheckResult::note("off", "boot with psi=1 on the kernel command line"),
    }
}
