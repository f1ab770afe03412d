//! Clock, interruptions, counters, mitigations.

use super::{Check, Found, Patient};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "clocksource",
        why: "where the kernel distrusts the time stamp counter, reading any clock takes a call or worse, and stamps may step",
        look: clocksource,
    },
    Check {
        name: "perf_event_paranoid",
        why: "above 2 a user cannot count events of its own programs",
        look: paranoid,
    },
    Check {
        name: "mitigations",
        why: "they are a part of every call into the kernel: compare only runs with the same",
        look: mitigations,
    },
    Check { name: "NMI watchdog", why: "it interrupts every cpu, and takes a performance counter", look: watchdog },
    Check {
        name: "address randomisation",
        why: "it need not be off: every number is taken from fresh allocations, which should differ",
        look: randomisation,
    },
    Check {
        name: "pressure (PSI)",
        why: "it tells how long programs wait for memory: the first sign of a tier that is too slow",
        look: pressure,
    },
    Check {
        name: "delay accounting",
        why: "with it the kernel counts how long each task waits for swap",
        look: delays,
    },
];

fn clocksource(patient: &Patient<'_>) -> Found {
    let Some(clock) = patient.machine.system.clocksource.as_deref() else { return Found::not_here("not told") };
    match clock {
        "tsc" | "arch_sys_counter" => Found::ok(clock),
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" => {
            let cure =
                "see why in dmesg | grep -i -e tsc -e clocksource; tsc=reliable on the command line only where it is";
            Found::problem(clock, cure)
        }
        guest => {
            let has_tsc = patient.machine.system.clocksources.iter().any(|c| c == "tsc");
            let cure = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
            Found::note(guest, if has_tsc { cure } else { "" })
        }
    }
}

fn paranoid(patient: &Patient<'_>) -> Found {
    match patient.machine.system.perf_event_paranoid {
        None => patient.none(),
        Some(level) if level > 2 => Found::note(level.to_string(), "sysctl kernel.perf_event_paranoid=2"),
        Some(level) => Found::ok(level.to_string()),
    }
}

fn mitigations(patient: &Patient<'_>) -> Found {
    let all = &patient.machine.system.mitigations;
    if all.is_empty() {
        return Found::not_here("not told");
    }
    let with = |start: &str| {
        all.iter().filter(|(_, state)| state.starts_with(start)).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let (active, vulnerable) = (with("Mitigation"), with("Vulnerable"));
    let value = format!("{} active", active.len());
    match vulnerable.is_empty() {
        true => Found::ok(value),
        false => Found::note(
            format!("{value}; none against {}", vulnerable.join(", ")),
            "a machine that has them is slower in calls: say so when comparing",
        ),
    }
}

fn watchdog(patient: &Patient<'_>) -> Found {
    match patient.number("proc/sys/kernel/nmi_watchdog") {
        None => patient.none(),
        Some(0) => Found::ok("off"),
        Some(_) => Found::note("on", "tiermark tune --profile latency --only kernel.nmi_watchdog --apply"),
    }
}

fn randomisation(patient: &Patient<'_>) -> Found {
    match patient.number("proc/sys/kernel/randomize_va_space") {
        None => Found::not_here("not told"),
        Some(0) => Found::note("off", "sysctl kernel.randomize_va_space=2"),
        Some(_) => Found::ok("on"),
    }
}

fn pressure(patient: &Patient<'_>) -> Found {
    match patient.root.read("proc/pressure/memory") {
        Ok(Some(_)) => Found::ok("on"),
        // A captured tree may just not have it.
        _ if !patient.root.is_live() => Found::not_here("not told"),
        _ => Found::note("off", "boot with psi=1 on the kernel command line"),
    }
}

fn delays(patient: &Patient<'_>) -> Found {
    match patient.number("proc/sys/kernel/task_delayacct") {
        None => patient.none(),
        Some(0) => Found::ok("off"),
        Some(_) => Found::ok("on"),
    }
}
