//! Pages, swap, limits of memory.

use tiermark_machine::HealthCounts;
use tiermark_model::messages::health as says;
use tiermark_model::{Bytes, ErrorKind, IdSet, Swap};

use super::work::RESTORE;
use super::{Check, CheckInput, CheckResult};

/// Share of the memory that must be available, so that footprints can use half of it.
const AVAILABLE_LEAST: f64 = 0.1;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "huge pages (THP)",
        on_host: true,
        why: "without them every number from a few MiB on includes page walks",
        examine: thp,
    },
    Check {
        name: "huge pages, reserved",
        on_host: true,
        why: "--pages 2M and --pages 1G need reserved pages",
        examine: reserved,
    },
    Check {
        name: "NUMA balancing",
        on_host: true,
        why: "it unmaps pages to see which node uses them, and moves them during a measurement",
        examine: balancing,
    },
    Check {
        name: "KSM",
        on_host: true,
        why: "merging compares pages all the time, and a write to a merged one takes a fault and a copy",
        examine: ksm,
    },
    Check { name: "DAMON", on_host: true, why: "it clears accessed bits, which costs page walks", examine: damon },
    Check {
        name: "swap",
        on_host: true,
        why: "a page that was swapped takes microseconds to milliseconds to come back",
        examine: swap,
    },
    Check {
        name: "zswap",
        on_host: true,
        why: "pages are compressed in memory before they are swapped: this costs cpu time, and is another tier than the device",
        examine: zswap,
    },
    Check {
        name: "available memory",
        on_host: false,
        why: "footprints beyond it cannot be measured, and filling it makes others slow",
        examine: available,
    },
    Check {
        name: "memory tiers",
        on_host: false,
        why: "nodes of different speed are measured one by one",
        examine: tiers,
    },
    Check {
        name: "memory errors",
        on_host: true,
        why: "a module with errors may fail soon, and each correction delays accesses; an error that cannot be corrected loses data",
        examine: errors,
    },
];

fn thp(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.system.thp.as_deref() {
        None => input.none("sys/kernel/mm/transparent_hugepage/enabled"),
        Some("never") => CheckResult::note("never", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(mode) => CheckResult::ok(mode),
    }
}

fn reserved(input: &CheckInput<'_>) -> CheckResult {
    let pools = input.machine.nodes.iter().flat_map(|node| &node.huge_pages);
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
        (true, _) => input.none("proc/sys/vm/nr_hugepages"),
        (false, true) => CheckResult::ok("none"),
        (false, false) => CheckResult::ok(some.join(", ")),
    }
}

fn balancing(input: &CheckInput<'_>) -> CheckResult {
    let nodes = input.machine.nodes.len();
    match input.machine.system.numa_balancing {
        None => input.none("proc/sys/kernel/numa_balancing"),
        Some(0) => CheckResult::ok("off"),
        Some(n) if nodes < 2 => CheckResult::ok(format!("{n}, without effect on one node")),
        Some(n) => {
            let cure = "tiermark tune --profile latency --only kernel.numa_balancing --apply";
            CheckResult::problem(if n == 2 { "on, between tiers" } else { "on" }, cure).of_setting()
        }
    }
}

fn ksm(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.system.ksm {
        None => input.none("sys/kernel/mm/ksm/run"),
        Some(1) => {
            CheckResult::note("running", "tiermark tune --profile latency --only ksm/run --apply; stop ksmtuned too")
        }
        Some(_) => CheckResult::ok("stopped"),
    }
}

fn damon(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.system.damon_running {
        None => input.none("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds"),
        Some(true) => {
            let files = &input.machine.system.damon_by;
            let off = |file: &String| format!("echo {} > {file}", if file.ends_with("/enabled") { "N" } else { "off" });
            CheckResult::note(
                format!("running, by {}", files.join(", ")),
                format!("for the time of a run: {}", files.iter().map(off).collect::<Vec<_>>().join("; ")),
            )
        }
        Some(false) => CheckResult::ok("not running"),
    }
}

fn swap(input: &CheckInput<'_>) -> CheckResult {
    let areas = &input.machine.system.swaps;
    let sum = |of: fn(&tiermark_model::Swap) -> u64| areas.iter().map(of).fold(0, u64::saturating_add);
    let (bytes, used) = (sum(|s| s.bytes), sum(|s| s.used_bytes));
    match (areas.len(), used) {
        (0, _) => CheckResult::ok("none"),
        (_, 0) => CheckResult::ok(format!("{}, none used", Bytes(bytes))),
        _ => CheckResult::note(format!("{} of {} used", Bytes(used), Bytes(bytes)), swapped_back(input, areas)),
    }
}

/// What brings back what was swapped: this program's own areas go away with the run that made them, and by no other hand.
fn swapped_back(input: &CheckInput<'_>, areas: &[Swap]) -> String {
    let maker = |area: &Swap| input.held.iter().find(|held| held.swaps.contains(&area.path));
    let used = || areas.iter().filter(|area| area.used_bytes > 0);
    let others: Vec<&str> = used().filter(|area| maker(area).is_none()).map(|area| area.path.as_str()).collect();
    let mut cures = Vec::new();
    // A program that still runs takes all of it back itself.
    match used().filter_map(maker).max_by_key(|held| held.at_work) {
        Some(held) if held.at_work => cures.push(format!("wait until process {} ({}) has ended", held.pid, held.what)),
        Some(held) => cures.push(format!("{RESTORE}, which takes back the changes of {}", held.what)),
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

fn zswap(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.system.zswap {
        None => input.none("sys/module/zswap/parameters/enabled"),
        Some(true) if !input.machine.system.swaps.is_empty() => {
            CheckResult::note("on", "to measure the swap device itself: echo N > /sys/module/zswap/parameters/enabled")
        }
        Some(true) => CheckResult::ok("on, without a swap area"),
        Some(false) => CheckResult::ok("off"),
    }
}

fn available(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    let (Some(available), Some(total)) = (system.available_bytes, system.memory_bytes) else {
        return CheckResult::not_reported();
    };
    let value = format!("{} of {}", Bytes(available), Bytes(total));
    match (available as f64) < total as f64 * AVAILABLE_LEAST {
        true => CheckResult::problem(value, "end what holds the memory, or keep footprints small with --max-mem"),
        false => CheckResult::ok(value),
    }
}

fn tiers(input: &CheckInput<'_>) -> CheckResult {
    let nodes = &input.machine.nodes;
    let tiers: IdSet = nodes.iter().filter_map(|node| node.memory_tier).collect();
    let bare = nodes.iter().filter(|node| node.is_memory_only() && node.memory_bytes != Some(0)).count();
    let nodes = format!("{} node{}", nodes.len(), if nodes.len() == 1 { "" } else { "s" });
    let bare = if bare > 0 { format!(", {bare} without cpus") } else { String::new() };
    match tiers.len() {
        0 => CheckResult::ok(format!("{nodes}{bare}, tiers not reported")),
        1 => CheckResult::ok(format!("{nodes}{bare}, one tier")),
        n => CheckResult::ok(format!("{nodes}{bare}, {n} tiers")),
    }
}

/// Errors since the counters began: when the driver was loaded, or the counters were reset.
fn errors(input: &CheckInput<'_>) -> CheckResult {
    let Some(health) = HealthCounts::read(input.root, input.machine).run(None, input.machine) else {
        return CheckResult::not_reported();
    };
    let counted = |kind| health.errors_counted(kind);
    let (corrected, uncorrected) = (counted(ErrorKind::Corrected), counted(ErrorKind::Uncorrected));
    let kind = if uncorrected > Some(0) { ErrorKind::Uncorrected } else { ErrorKind::Corrected };
    let value = says::errors_counted(corrected, uncorrected, &health.counting(kind)).to_string();
    match (corrected, uncorrected) {
        (None, None) => CheckResult::not_reported(),
        (_, Some(1..)) => CheckResult::problem(value, "replace the module; see `dmesg` and the board's event log"),
        (Some(1..), _) => {
            let cure = "reseat or replace the module if the number grows: each measuring command warns of growth during its run";
            CheckResult::note(value, cure)
        }
        _ => CheckResult::ok(value),
    }
}
