//! Pages, swap, limits of memory.

use tiermark_model::{Bytes, IdSet, Swap};

use super::work::RESTORE;
use super::{Check, Found, Patient};

/// Share of the memory that must be available for footprints of half of it to be had.
const AVAILABLE_LEAST: f64 = 0.1;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "huge pages (THP)",
        why: "without them every number has page walks in it, from a few MiB on",
        look: thp,
    },
    Check { name: "huge pages, reserved", why: "only they can be asked for as --pages 2M or 1G", look: reserved },
    Check {
        name: "NUMA balancing",
        why: "it unmaps pages to see who uses them, and moves them, while they are measured",
        look: balancing,
    },
    Check {
        name: "KSM",
        why: "merging compares pages all the time, and a write to a merged one takes a fault and a copy",
        look: ksm,
    },
    Check { name: "DAMON", why: "it clears the marks of used pages, which costs page walks", look: damon },
    Check { name: "swap", why: "a page that was swapped takes microseconds to milliseconds to come back", look: swap },
    Check {
        name: "zswap",
        why: "swapping then costs cpu time rather than a device's, and is a tier of its own",
        look: zswap,
    },
    Check {
        name: "available memory",
        why: "footprints beyond it cannot be measured, and filling it makes others slow",
        look: available,
    },
    Check { name: "memory tiers", why: "nodes of different speed are measured one by one", look: tiers },
];

fn thp(patient: &Patient<'_>) -> Found {
    match patient.machine.system.thp.as_deref() {
        None => patient.none(),
        Some("never") => Found::note("never", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(mode) => Found::ok(mode),
    }
}

fn reserved(patient: &Patient<'_>) -> Found {
    let pools = patient.machine.nodes.iter().flat_map(|node| &node.huge_pages);
    let mut sizes: Vec<(u64, u64, u64)> = Vec::new();
    for pool in pools {
        match sizes.iter_mut().find(|(bytes, _, _)| *bytes == pool.page_bytes) {
            Some((_, free, total)) => (*free, *total) = (*free + pool.free, *total + pool.total),
            None => sizes.push((pool.page_bytes, pool.free, pool.total)),
        }
    }
    let some: Vec<String> = sizes
        .iter()
        .filter(|(_, _, total)| *total > 0)
        .map(|(bytes, free, total)| format!("{free} of {total} free of {}", Bytes(*bytes)))
        .collect();
    match (sizes.is_empty(), some.is_empty()) {
        (true, _) => patient.none(),
        (false, true) => Found::ok("none"),
        (false, false) => Found::ok(some.join(", ")),
    }
}

fn balancing(patient: &Patient<'_>) -> Found {
    let nodes = patient.machine.nodes.len();
    match patient.machine.system.numa_balancing {
        None => patient.none(),
        Some(0) => Found::ok("off"),
        Some(n) if nodes < 2 => Found::ok(format!("{n}, without effect on one node")),
        Some(n) => {
            let cure = "tiermark tune --profile latency --only kernel.numa_balancing --apply";
            Found::problem(if n == 2 { "on, between tiers" } else { "on" }, cure)
        }
    }
}

fn ksm(patient: &Patient<'_>) -> Found {
    match patient.machine.system.ksm {
        None => patient.none(),
        Some(1) => Found::note("running", "tiermark tune --profile latency --only ksm/run --apply; stop ksmtuned too"),
        Some(_) => Found::ok("stopped"),
    }
}

fn damon(patient: &Patient<'_>) -> Found {
    match patient.machine.system.damon_running {
        None => patient.none(),
        Some(true) => Found::note("running", "stop it for the time of a run, if it is yours"),
        Some(false) => Found::ok("not running"),
    }
}

fn swap(patient: &Patient<'_>) -> Found {
    let areas = &patient.machine.system.swaps;
    let sum = |of: fn(&tiermark_model::Swap) -> u64| areas.iter().map(of).fold(0, u64::saturating_add);
    let (bytes, used) = (sum(|s| s.bytes), sum(|s| s.used_bytes));
    match (areas.len(), used) {
        (0, _) => Found::ok("none"),
        (_, 0) => Found::ok(format!("{}, none used", Bytes(bytes))),
        _ => Found::note(format!("{} of {} used", Bytes(used), Bytes(bytes)), swapped_back(patient, areas)),
    }
}

/// What brings back what was swapped: this program's own areas go away with the run that made them, and by no other hand.
fn swapped_back(patient: &Patient<'_>, areas: &[Swap]) -> String {
    let maker = |area: &Swap| patient.held.iter().find(|held| held.swaps.contains(&area.path));
    let used = || areas.iter().filter(|area| area.used_bytes > 0);
    let others: Vec<&str> = used().filter(|area| maker(area).is_none()).map(|area| area.path.as_str()).collect();
    let mut cures = Vec::new();
    // Whoever is at work takes all of it back.
    match used().filter_map(maker).max_by_key(|held| held.at_work) {
        Some(held) if held.at_work => cures.push(format!("wait until process {} ({}) has ended", held.pid, held.what)),
        Some(held) => cures.push(format!("{RESTORE}, which ends what {} left", held.what)),
        None => {}
    }
    if !others.is_empty() {
        let all = !areas.iter().any(|area| maker(area).is_some());
        let which = if all { "-a".to_owned() } else { others.join(" ") };
        cures.push(format!(
            "free memory; swapoff {which} && swapon {which} brings back what was swapped, where it fits"
        ));
    }
    cures.join("; ")
}

fn zswap(patient: &Patient<'_>) -> Found {
    match patient.machine.system.zswap {
        None => patient.none(),
        Some(true) if !patient.machine.system.swaps.is_empty() => {
            Found::note("on", "echo N > /sys/module/zswap/parameters/enabled, where the device itself is meant")
        }
        Some(true) => Found::ok("on, without a swap area"),
        Some(false) => Found::ok("off"),
    }
}

fn available(patient: &Patient<'_>) -> Found {
    let system = &patient.machine.system;
    let (Some(available), Some(total)) = (system.available_bytes, system.memory_bytes) else {
        return Found::not_here("not told");
    };
    let value = format!("{} of {}", Bytes(available), Bytes(total));
    match (available as f64) < total as f64 * AVAILABLE_LEAST {
        true => Found::problem(value, "end what holds the memory, or keep footprints small with --max-mem"),
        false => Found::ok(value),
    }
}

fn tiers(patient: &Patient<'_>) -> Found {
    let nodes = &patient.machine.nodes;
    let tiers: IdSet = nodes.iter().filter_map(|node| node.memory_tier).collect();
    let bare = nodes.iter().filter(|node| node.cpus.is_empty() && node.memory_bytes != Some(0)).count();
    let nodes = format!("{} node{}", nodes.len(), if nodes.len() == 1 { "" } else { "s" });
    let bare = if bare > 0 { format!(", {bare} without cpus") } else { String::new() };
    match tiers.len() {
        0 => Found::ok(format!("{nodes}{bare}, tiers not told")),
        1 => Found::ok(format!("{nodes}{bare}, one tier")),
        n => Found::ok(format!("{nodes}{bare}, {n} tiers")),
    }
}
