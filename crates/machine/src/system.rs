//! The state of the system: kernel, memory management, clock and tuning.

use std::collections::BTreeMap;

use tiermark_model::messages::machine as messages;
use tiermark_model::{
    Bytes, CompressedPages, CpuModel, DisputedFact, IdSet, Idle, IdleState, Swap, System, UnlistedSwap,
    total as total_of,
};

use crate::discover::LiveFacts;
use crate::identity::Identity;
use crate::reader::{CPU_DIR, Reader};
use crate::swaps::swap_areas;
use crate::{compressed, cpufreq, pages, virt};

const THP_DIR: &str = "sys/kernel/mm/transparent_hugepage";
/// Named things that are listed, such as faults of processors, at most: some twenty are known.
const MOST_NAMED: usize = 64;
/// Swap areas at most: twice as many as a kernel can have (MAX_SWAPFILES).
const MOST_SWAPS: usize = 64;
const DAMON_DIR: &str = "sys/kernel/mm/damon/admin/kdamonds";
const CLOCK_DIR: &str = "sys/devices/system/clocksource/clocksource0";
/// The file of the host name; captures replace its contents.
pub(crate) const HOSTNAME: &str = "proc/sys/kernel/hostname";

/// Reads everything but the control group, which discovery reads for the cpu sets too.
pub(crate) fn read(reader: &Reader<'_>, live: &LiveFacts, cpu: &CpuModel, board: &Identity, online: &IdSet) -> System {
    let meminfo = reader.lines("proc/meminfo");
    let bytes = |name| meminfo.as_deref().and_then(|text| reader.kilobytes("proc/meminfo", text, name));
    if bytes("MemTotal").is_none() {
        reader.refuse(messages::file_without("/proc/meminfo", "MemTotal"));
    }
    let uname = live.uname.as_ref();
    let signature = live.hypervisor.clone().or_else(|| pages::stated_hypervisor(reader));
    let clocksources: Vec<String> = reader
        .word(&format!("{CLOCK_DIR}/available_clocksource"))
        .map(|text| text.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default();
    let hypervisor = virt::hypervisor(reader, cpu, board, &clocksources, signature.as_deref());
    let kernel = uname.map(|u| u.release.clone()).or_else(|| reader.word("proc/sys/kernel/osrelease"));
    let kernel_program = virt::kernel_program(reader, cpu, kernel.as_deref());
    let (damon_running, damon_by) = damon(reader);
    let total = bytes("SwapTotal");
    let (swaps, unlisted_swap) = match swaps(reader) {
        Some(swaps) => (swaps, None),
        None => {
            let used = total.zip(bytes("SwapFree")).map(|(total, free)| total.saturating_sub(free));
            (Vec::new(), Some(UnlistedSwap { bytes: total, used_bytes: used }))
        }
    };
    if unlisted_swap.is_none() {
        dispute_swap(reader, &swaps, total);
    }
    System {
        first_touch: None,
        hostname: uname.map(|u| u.nodename.clone()).or_else(|| reader.word(HOSTNAME)),
        distribution: distribution(reader),
        kernel,
        product: product(board),
        bios: board.bios.clone(),
        sees_board: hypervisor.as_ref().is_some_and(|found| found.sees_board),
        hypervisor: hypervisor.map(|found| found.name),
        container: kernel_program.clone().filter(|name| name == virt::GVISOR).or_else(|| virt::container(reader)),
        kernel_program,
        cgroup: None,
        memory_bytes: bytes("MemTotal").filter(|bytes| *bytes > 0),
        available_bytes: bytes("MemAvailable"),
        thp: reader.selected(&format!("{THP_DIR}/enabled")),
        thp_defrag: reader.selected(&format!("{THP_DIR}/defrag")),
        thp_bytes: reader.number::<u64>(&format!("{THP_DIR}/hpage_pmd_size")).filter(|b| *b != 0),
        mthp: mthp(reader),
        numa_balancing: reader.number("proc/sys/kernel/numa_balancing"),
        ksm: reader.number("sys/kernel/mm/ksm/run"),
        damon_running,
        damon_by,
        swaps,
        unlisted_swap,
        swap_cached: bytes("SwapCached").filter(|bytes| *bytes > 0),
        zswap: zswap(reader),
        zswapped: meminfo.as_deref().and_then(zswapped),
        governor: cpufreq::governor(reader, online),
        clock_limit: cpufreq::clock_limit(reader, online),
        smt_control: reader.word(&format!("{CPU_DIR}/smt/control")),
        tickless_cpus: tickless(reader),
        clocksource: reader.word(&format!("{CLOCK_DIR}/current_clocksource")),
        clocksources,
        load1: load1(reader),
        perf_event_paranoid: reader.number("proc/sys/kernel/perf_event_paranoid"),
        mitigations: mitigations(reader),
        idle: idle(reader, online),
    }
}

/// Cpus without a timer tick. Where there are none, kernels print nothing, "(null)" or a byte 0.
fn tickless(reader: &Reader<'_>) -> IdSet {
    let list = reader.word("sys/devices/system/cpu/nohz_full");
    list.and_then(|list| list.parse().ok()).unwrap_or_default()
}

fn product(board: &Identity) -> Option<String> {
    match (&board.vendor, &board.product) {
        (Some(vendor), Some(product)) if !product.starts_with(vendor.as_str()) => Some(format!("{vendor} {product}")),
        (vendor, product) => product.clone().or_else(|| vendor.clone()),
    }
}

fn distribution(reader: &Reader<'_>) -> Option<String> {
    let text = reader.lines("etc/os-release").or_else(|| reader.lines("usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn mthp(reader: &Reader<'_>) -> BTreeMap<u64, String> {
    let sizes = reader.page_sizes(THP_DIR).into_iter();
    sizes.filter_map(|(bytes, name)| Some((bytes, reader.selected(&format!("{THP_DIR}/{name}/enabled"))?))).collect()
}

/// Whether DAMON runs, and the files that started it: its own directory of threads, modules that run it by themselves
/// (`damon_reclaim`, `damon_lru_sort`, `damon_stat` and others), and debugfs of older kernels.
fn damon(reader: &Reader<'_>) -> (Option<bool>, Vec<String>) {
    let threads = reader.numbered(DAMON_DIR, "").into_iter().take(MOST_NAMED).map(|n| format!("{DAMON_DIR}/{n}/state"));
    let modules = reader.list("sys/module").into_iter().filter(|name| name.starts_with("damon_")).take(MOST_NAMED);
    let modules = modules.map(|name| format!("sys/module/{name}/parameters/enabled"));
    let debug = ["monitor_on", "monitor_on_DEPRECATED"].map(|name| format!("sys/kernel/debug/damon/{name}"));
    let is_on = |word: &str| matches!(word, "on" | "Y" | "y" | "1");
    let states: Vec<(String, bool)> = threads
        .chain(modules)
        .chain(debug)
        .filter_map(|path| reader.word(&path).map(|word| (format!("/{path}"), is_on(&word))))
        .collect();
    let known = !states.is_empty() || reader.number::<u32>(&format!("{DAMON_DIR}/nr_kdamonds")).is_some();
    let on: Vec<String> = states.into_iter().filter(|(_, on)| *on).map(|(path, _)| path).collect();
    (known.then_some(!on.is_empty()), on)
}

/// The areas; `None` where no file lists them.
fn swaps(reader: &Reader<'_>) -> Option<Vec<Swap>> {
    let path = "proc/swaps";
    let text = reader.lines(path)?;
    let malformed = |line: &str| reader.meant(path, line, "is not a swap area", None);
    let areas = swap_areas(&text).filter_map(|area| area.map_or_else(malformed, Some)).take(MOST_SWAPS);
    Some(areas.map(|area| Swap { compressed: held_by_zram(reader, &area), ..area }).collect())
}

/// What a zram device holds in memory. The kernel counts slots of swap beside it, and frees them late.
fn held_by_zram(reader: &Reader<'_>, area: &Swap) -> Option<CompressedPages> {
    let dir = format!("sys/block/zram{}", area.zram()?);
    let found = compressed::zram(&reader.word(&format!("{dir}/mm_stat"))?).ok()?;
    let written = reader.word(&format!("{dir}/bd_stat")).and_then(|text| compressed::written_back(&text));
    let stored_bytes = found.original.saturating_sub(written.unwrap_or_default());
    Some(CompressedPages { stored_bytes, memory_bytes: found.memory })
}

fn zswapped(meminfo: &str) -> Option<CompressedPages> {
    let found = compressed::zswap(meminfo).ok().flatten().filter(|found| found.original > 0)?;
    Some(CompressedPages { stored_bytes: found.original, memory_bytes: found.memory })
}

/// Areas that `/proc/meminfo` does not count, or that it counts and nobody lists.
fn dispute_swap(reader: &Reader<'_>, areas: &[Swap], total: Option<u64>) {
    let listed = total_of(areas.iter().map(|area| area.bytes));
    if let Some(total) = total.filter(|total| listed.abs_diff(*total) > listed.max(*total) / 10) {
        let (listed, total) = (Bytes(listed), Bytes(total));
        reader.contradict(DisputedFact::Swap, ("/proc/swaps", &listed), ("/proc/meminfo", &total));
    }
}

fn zswap(reader: &Reader<'_>) -> Option<bool> {
    reader.value("sys/module/zswap/parameters/enabled", "is neither Y nor N", |text| match text {
        "Y" | "1" => Some(true),
        "N" | "0" => Some(false),
        _ => None,
    })
}

fn load1(reader: &Reader<'_>) -> Option<f64> {
    reader.value("proc/loadavg", "does not start with a load average", |text| {
        text.split_whitespace().next()?.parse::<f64>().ok().filter(|load| load.is_finite() && *load >= 0.0)
    })
}

fn mitigations(reader: &Reader<'_>) -> BTreeMap<String, String> {
    let dir = format!("{CPU_DIR}/vulnerabilities");
    let entries = reader.list(&dir).into_iter().take(MOST_NAMED);
    entries.filter_map(|name| reader.word(&format!("{dir}/{name}")).map(|text| (name, text))).collect()
}

fn idle(reader: &Reader<'_>, online: &IdSet) -> Option<Idle> {
    let word = |name: &str| reader.word(&format!("{CPU_DIR}/cpuidle/{name}")).filter(|word| word != "none");
    let (driver, governor) = (word("current_driver"), word("current_governor_ro"));
    let dir = format!("{CPU_DIR}/cpu{}/cpuidle", online.first()?);
    let state = |n: u32| {
        let dir = format!("{dir}/state{n}");
        Some(IdleState {
            name: reader.word(&format!("{dir}/name"))?,
            latency_us: reader.number(&format!("{dir}/latency")),
            disabled: reader.number::<u64>(&format!("{dir}/disable")).is_some_and(|flags| flags != 0),
        })
    };
    let states: Vec<IdleState> =
        reader.numbered(&dir, "state").into_iter().take(MOST_NAMED).filter_map(state).collect();
    (driver.is_some() || !states.is_empty()).then_some(Idle { driver, governor, states })
}
