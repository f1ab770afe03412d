//! Frequency, threads of a core, idle states, cpus set aside.

use super::{Check, Found, Patient};

const CPU: &str = "sys/devices/system/cpu";
/// Leaving an idle state that takes longer shows in any wake-up: a switch between processes takes some 2 µs.
const DEEP_US: u64 = 50;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "governor",
        why: "one that follows the load changes the clock during a measurement, and latency in ns with it",
        look: governor,
    },
    Check {
        name: "turbo",
        why: "the clock then depends on how many cores are busy and how warm they are: compare runs of the same threads only",
        look: turbo,
    },
    Check { name: "SMT", why: "two threads share a core's caches and ports: pin to one of each core", look: smt },
    Check {
        name: "idle states",
        why: "leaving a deep one takes longer than what is measured between two sleeps",
        look: idle,
    },
    Check {
        name: "isolated cpus",
        why: "the scheduler puts nothing there by itself: name them to use them",
        look: isolated,
    },
    Check {
        name: "tickless cpus",
        why: "cpus without a timer tick (nohz_full) are interrupted less than others",
        look: tickless,
    },
    Check {
        name: "cpus offline",
        why: "caches and memory channels are shared by fewer than the machine has",
        look: offline,
    },
];

fn governor(patient: &Patient<'_>) -> Found {
    let Some(governor) = &patient.machine.system.governor else {
        return Found::not_here("none: the host or the firmware decides");
    };
    let driver = patient.word(&format!("{CPU}/cpufreq/policy0/scaling_driver"));
    let driver = driver.or_else(|| patient.word(&format!("{CPU}/cpu0/cpufreq/scaling_driver"))).unwrap_or_default();
    // With these the hardware itself chooses, and 'powersave' is the name of its usual balance.
    let by_hardware = matches!(driver.as_str(), "intel_pstate" | "amd-pstate-epp");
    let cure = "tiermark tune --profile latency --only scaling_governor --apply";
    match governor.as_str() {
        "performance" => Found::ok("performance"),
        "powersave" if by_hardware => Found::note(format!("powersave ({driver})"), cure),
        other => Found::problem(other, cure),
    }
}

fn turbo(patient: &Patient<'_>) -> Found {
    let intel = patient.number(&format!("{CPU}/intel_pstate/no_turbo")).map(|no| no == 0);
    let path = if intel.is_some() { "intel_pstate/no_turbo" } else { "cpufreq/boost" };
    let on = intel.or_else(|| patient.number(&format!("{CPU}/cpufreq/boost")).map(|on| on != 0));
    match on {
        None => Found::not_here("not told"),
        Some(false) => Found::ok("off"),
        Some(true) => {
            let off = if intel.is_some() { 1 } else { 0 };
            Found::note("on", format!("echo {off} > /{CPU}/{path}"))
        }
    }
}

fn smt(patient: &Patient<'_>) -> Found {
    match patient.machine.system.smt_control.as_deref() {
        None => Found::not_here("not told"),
        Some("on") if patient.machine.cpus.iter().any(|cpu| cpu.smt_rank > 0) => Found::note(
            "on",
            "tiermark uses one thread a core unless --cpus names others; off: echo off > /sys/devices/system/cpu/smt/control",
        ),
        Some("on") => Found::ok("on, and no core has two threads here"),
        Some(state) => Found::ok(match state {
            "notsupported" => "none",
            "forceoff" => "off for good",
            "notimplemented" => "not known to this kernel",
            other => other,
        }),
    }
}

fn idle(patient: &Patient<'_>) -> Found {
    let Some(idle) = &patient.machine.system.idle else { return Found::not_here("not told") };
    let usable = idle.states.iter().filter(|state| !state.disabled);
    let deepest = usable.max_by_key(|state| state.latency_us.unwrap_or_default());
    let driver = idle.driver.as_deref().unwrap_or("no driver");
    match deepest.and_then(|state| Some((state, state.latency_us?))) {
        Some((state, us)) if us > DEEP_US => Found::note(
            format!("down to {}, {us} µs to leave", state.name),
            "for the time of a run: cpupower idle-set -D 10, then cpupower idle-set -E",
        ),
        Some((state, us)) => Found::ok(format!("down to {}, {us} µs to leave", state.name)),
        None => Found::ok(format!("{driver}, no states of its own")),
    }
}

fn isolated(patient: &Patient<'_>) -> Found {
    let path = format!("{CPU}/isolated");
    match (patient.root.read(&path), patient.word(&path)) {
        (Ok(None) | Err(_), _) => Found::not_here("not told"),
        (Ok(Some(_)), None) => Found::ok("none"),
        (Ok(Some(_)), Some(cpus)) => Found::note(cpus.clone(), format!("measure on them with --cpus {cpus}")),
    }
}

fn tickless(patient: &Patient<'_>) -> Found {
    match patient.word(&format!("{CPU}/nohz_full")).filter(|cpus| cpus != "(null)") {
        None => Found::ok("none"),
        Some(cpus) => Found::note(cpus.clone(), format!("measure on them with --cpus {cpus}")),
    }
}

fn offline(patient: &Patient<'_>) -> Found {
    let offline = &patient.machine.offline_cpus;
    match offline.first() {
        None => Found::ok("none"),
        Some(first) => Found::note(offline.to_string(), format!("echo 1 > /{CPU}/cpu{first}/online, and so on")),
    }
}
