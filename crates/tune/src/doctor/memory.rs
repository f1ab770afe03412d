//! Pages, swap, limits of memory.

use tiermark_machine::HealthCounts;
use tiermark_machine::files::kilobytes;
use tiermark_model::messages::{health as says, machine as messages};
use tiermark_model::{
    Affected, Bytes, CompressedPages, ErrorKind, Health, HugeLimit, HugePool, IdSet, Machine, RunHealth, Swap, System,
};

use super::work::RESTORE;
use super::{Check, CheckInput, CheckResult};

/// Share of the memory that must be available, so that footprints can use half of it.
const AVAILABLE_LEAST: f64 = 0.1;

pub(super) const CHECKS: &[Check] = &[
    Check::of_host("huge pages (THP)", thp, "without them every number from a few MiB on includes page walks"),
    Check::of_host("huge pages, reserved", reserved, "--pages 2M and --pages 1G need reserved pages"),
    Check::of_host(
        "NUMA balancing",
        balancing,
        "it unmaps pages to see which node uses them, and moves them during a measurement",
    ),
    Check::of_host(
        "KSM",
        |input| {
            let cure = "tiermark tune --profile latency --only ksm/run --apply; stop ksmtuned too";
            input.by_number("sys/kernel/mm/ksm/run", &[(Some(1), "running", cure), (None, "stopped", "")])
        },
        "merging compares pages all the time, and a write to a merged one takes a fault and a copy",
    ),
    Check::of_host("DAMON", damon, "it clears accessed bits, which costs page walks"),
    Check::of_host("swap", swap, "a page that was swapped takes microseconds to milliseconds to come back"),
    Check {
        name: "zswap",
        on_host: true,
        why: "pages are compressed in memory before they are swapped: this costs cpu time, and is another tier than \
            the device",
        examine: zswap,
    },
    Check::new(
        "available memory",
        available,
        "footprints beyond it cannot be measured, and filling it makes others slow",
    ),
    Check::of_host(
        "memory offline",
        offline,
        "the kernel does not count memory in offline blocks, and no program can use it",
    ),
    Check::new("memory tiers", tiers, "nodes of different speed are measured one by one"),
    Check {
        name: "memory errors",
        on_host: true,
        why: "a module with errors may fail soon, and each correction delays accesses; an error that cannot be \
            corrected loses data",
        examine: errors,
    },
];

fn thp(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    match system.thp_mode() {
        None => input.none("sys/kernel/mm/transparent_hugepage/enabled"),
        Some("never") => CheckResult::note("never", format!("echo madvise > {}", system.thp_file())),
        Some(mode) => CheckResult::ok(mode),
    }
}

fn reserved(input: &CheckInput<'_>) -> CheckResult {
    let sizes = huge_pools(input.machine);
    let some: Vec<String> = sizes
        .iter()
        .filter(|pool| pool.total > 0)
        .map(|pool| {
            let promised = match pool.promised {
                0 => String::new(),
                _ if pool.available() == 0 => all_promised(input, pool),
                pages => format!(", {pages} of them promised to programs"),
            };
            format!("{} of {} free of {}{promised}", pool.free, pool.total, Bytes(pool.page_bytes))
        })
        .collect();
    let on_demand = sizes.iter().filter(|pool| pool.on_demand > 0);
    let on_demand =
        on_demand.map(|pool| format!("up to {} more of {} on demand", pool.on_demand, Bytes(pool.page_bytes)));
    let none = some.is_empty().then(|| "none".to_owned());
    let value = none.into_iter().chain(some).chain(on_demand).collect::<Vec<_>>().join(", ");
    let limits = limits_of_pages(input, &sizes);
    match limits.is_empty() {
        _ if sizes.is_empty() => input.none("proc/sys/vm/nr_hugepages"),
        true => CheckResult::ok(value),
        false => {
            let text = |limit: &&HugeLimit| {
                format!("the control group may have {} of {}", Bytes(limit.left()), Bytes(limit.page_bytes))
            };
            let text = limits.iter().map(text).collect::<Vec<_>>().join(", ");
            let files = limits.iter().map(|limit| limit.file.clone()).collect::<Vec<_>>().join(", ");
            CheckResult::note(format!("{value}; {text} ({files})"), format!("for runs on these pages, raise {files}"))
        }
    }
}

/// Limits of control groups below what the pools have.
fn limits_of_pages<'a>(input: &'a CheckInput<'_>, sizes: &[HugePool]) -> Vec<&'a HugeLimit> {
    let has_more = |limit: &&HugeLimit| {
        let pool = sizes.iter().find(|pool| pool.page_bytes == limit.page_bytes);
        pool.is_some_and(|pool| pool.available_bytes() > limit.left())
    };
    input.machine.system.cgroup.iter().flat_map(|group| &group.huge_limits).filter(has_more).collect()
}

/// How a run gets pages of its own from a pool whose free pages are all promised. Such a pool is of the right size for
/// the program that it was made for: that is no fault of the machine, and how many pages a run needs is not known here.
fn all_promised(input: &CheckInput<'_>, pool: &HugePool) -> String {
    let room = input.machine.system.available_bytes.map(|bytes| bytes / pool.page_bytes.max(1));
    let raise = match room {
        Some(0) => String::new(),
        room => {
            let most = room.map_or_else(String::new, |pages| format!(", at most {pages} in the available memory"));
            format!("raise {} from {} by the pages that the run needs{most}, or ", pool_file(pool), pool.total)
        }
    };
    format!(
        ", all of them promised to programs that have not touched them yet; for a run on these pages {raise}\
            use --pages thp"
    )
}

fn balancing(input: &CheckInput<'_>) -> CheckResult {
    let nodes = input.machine.nodes.len();
    match input.machine.system.numa_balancing {
        None => input.none("proc/sys/kernel/numa_balancing"),
        Some(0) => CheckResult::ok("off"),
        Some(n) if nodes < 2 => CheckResult::ok(format!("{n}, without effect on one node")),
        Some(2) if !input.machine.balances_pages() => {
            CheckResult::ok("on, between tiers: without effect, for no memory is of a lower tier")
        }
        Some(n) => {
            let cure = "tiermark tune --profile latency --only kernel.numa_balancing --apply";
            CheckResult::problem(Affected::Memory, if n == 2 { "on, between tiers" } else { "on" }, cure).of_setting()
        }
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
    let system = &input.machine.system;
    let Some((bytes, used)) = system.swap_sums() else { return CheckResult::not_reported() };
    match (bytes, used) {
        (0, _) => CheckResult::ok("none"),
        (_, 0) => CheckResult::ok(format!("{}, none used", Bytes(bytes))),
        _ => {
            let value = format!("{} of {} used{}", Bytes(used), Bytes(bytes), held_in_memory(system));
            let cure = match system.unlisted_swap {
                None => swapped_back(input, &system.swaps),
                Some(_) => {
                    "free memory; /proc/swaps cannot be seen here: `swapon --show` on the host lists the swap areas"
                        .to_owned()
                }
            };
            CheckResult::note(value, cure)
        }
    }
}

/// What memory holds of used slots. The kernel frees a slot long after its page was read back, so that zram and zswap
/// hold less than the slots that they have.
fn held_in_memory(system: &System) -> String {
    let held = |what: &str, pages: &CompressedPages| {
        format!("; {what} holds {} in {} of memory", Bytes(pages.stored_bytes), Bytes(pages.memory_bytes))
    };
    let zram = |area: &Swap| match &area.compressed {
        Some(pages) => held(&area.path, pages),
        None => format!("; {} of it on {} (zram)", Bytes(area.used_bytes), area.path),
    };
    let areas = system.swaps.iter().filter(|area| area.zram().is_some() && area.used_bytes > 0).map(zram);
    let zswap = system.zswapped.iter().map(|pages| held("zswap", pages));
    let cached = system.swap_cached.map(|bytes| format!("; {} of it is also in memory (swap cache)", Bytes(bytes)));
    areas.chain(zswap).chain(cached).collect()
}

/// What brings back what was swapped: this program's own areas go away with the run that made them, and by no other
/// hand.
fn swapped_back(input: &CheckInput<'_>, areas: &[Swap]) -> String {
    let maker = |area: &Swap| input.held.iter().find(|held| held.swaps.contains(&area.path));
    let used = || areas.iter().filter(|area| area.used_bytes > 0);
    let others: Vec<String> = used().filter(|area| maker(area).is_none()).map(off_and_on).collect();
    let mut cures = Vec::new();
    // A program that still runs takes all of it back itself.
    match used().filter_map(maker).max_by_key(|held| held.at_work) {
        Some(held) if held.at_work => cures.push(format!("wait until process {} ({}) has ended", held.pid, held.what)),
        Some(held) => cures.push(format!("{RESTORE}, which takes back the changes of {}", held.what)),
        None => {}
    }
    if !others.is_empty() {
        let commands = others.join("; ");
        cures.push(format!("free memory, then swap the pages back in as root: {commands}"));
    }
    cures.join("; ")
}

/// The commands that empty an area. Each is named: `swapon -a` turns on only what fstab lists, and no zram device.
fn off_and_on(area: &Swap) -> String {
    let path = tiermark_model::shell_word(&area.path);
    let priority = if area.priority >= 0 { format!(" -p {}", area.priority) } else { String::new() };
    format!("swapoff {path} && swapon{priority} {path}")
}

fn zswap(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    match system.zswap {
        None => input.none("sys/module/zswap/parameters/enabled"),
        Some(true) if system.swap_sums().is_none_or(|(bytes, _)| bytes > 0) => {
            let zram = system.swaps.iter().any(|area| area.zram().is_some());
            let value = if zram { "on, in front of zram: pages are compressed twice" } else { "on" };
            CheckResult::note(value, "to measure the swap device itself: echo N > /sys/module/zswap/parameters/enabled")
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
    let least = total as f64 * AVAILABLE_LEAST;
    if available as f64 >= least {
        return CheckResult::ok(value);
    }
    let pools = huge_pools(input.machine).into_iter().filter(|pool| pool.available() > 0);
    let unused: Vec<HugePool> = pools.filter(|pool| pool.available_bytes() as f64 >= least).collect();
    let pools = huge_pools(input.machine).into_iter().map(|pool| pool.total.saturating_mul(pool.page_bytes));
    let pools = tiermark_model::total(pools);
    if unused.is_empty() && pools as f64 >= least {
        return CheckResult::problem(
            Affected::Memory,
            format!("{value}; {} are in reserved huge pages that programs use or were promised", Bytes(pools)),
            "reserve fewer huge pages where their programs can do with less (sysctl vm.nr_hugepages), or keep footprints \
             small with --max-mem",
        );
    }
    if unused.is_empty() {
        return CheckResult::problem(
            Affected::Memory,
            value,
            "stop the programs that use most memory, or keep footprints small with --max-mem",
        );
    }
    let held = tiermark_model::total(unused.iter().map(HugePool::available_bytes));
    let given_back = |pool: &HugePool| resized(input, pool, pool.total.saturating_sub(pool.available()));
    let cures: Vec<String> = unused.iter().map(given_back).collect();
    let value = format!("{value}, {} more in reserved huge pages that nothing uses", Bytes(held));
    CheckResult::problem(
        Affected::Memory,
        value,
        format!("as root, free the reserved huge pages: {}; or measure on them: --pages 2M (or 1G)", cures.join("; ")),
    )
}

fn offline(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.offline_bytes() {
        None => CheckResult::not_reported(),
        Some(0) => CheckResult::ok("none"),
        Some(bytes) => {
            let value = input.machine.offline_memory().join(", ");
            CheckResult::note(value, messages::memory_online_cure(bytes).to_string())
        }
    }
}

/// The command that gives a pool so many pages. The shorter one is of the default size.
fn resized(input: &CheckInput<'_>, pool: &HugePool, pages: u64) -> String {
    let meminfo = input.root.text("proc/meminfo").unwrap_or_default();
    match kilobytes(&meminfo, "Hugepagesize") {
        Ok(Some(bytes)) if bytes == pool.page_bytes => format!("sysctl vm.nr_hugepages={pages}"),
        _ => format!("echo {pages} > {}", pool_file(pool)),
    }
}

/// The file that sets how many pages a pool has.
fn pool_file(pool: &HugePool) -> String {
    format!("/sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", pool.page_bytes >> 10)
}

/// The pools of all nodes, by page size.
fn huge_pools(machine: &Machine) -> Vec<HugePool> {
    let mut pools: Vec<HugePool> = Vec::new();
    for pool in machine.nodes.iter().flat_map(|node| &node.huge_pages) {
        match pools.iter_mut().find(|known| known.page_bytes == pool.page_bytes) {
            Some(known) => {
                known.free += pool.free;
                known.total += pool.total;
                known.promised += pool.promised;
            }
            None => pools.push(pool.clone()),
        }
    }
    pools
}

fn tiers(input: &CheckInput<'_>) -> CheckResult {
    let nodes = &input.machine.nodes;
    let tiers: IdSet = nodes.iter().filter_map(|node| node.memory_tier).collect();
    let bare = nodes.iter().filter(|node| node.is_memory_only() && node.memory_bytes != Some(0)).count();
    let nodes = format!("{} node{}", nodes.len(), if nodes.len() == 1 { "" } else { "s" });
    let bare = if bare > 0 { format!(", {bare} without cpus{}", faster(input.machine)) } else { String::new() };
    match tiers.len() {
        0 => CheckResult::ok(format!("{nodes}{bare}, tiers not reported")),
        1 => CheckResult::ok(format!("{nodes}{bare}, one tier")),
        n => CheckResult::ok(format!("{nodes}{bare}, {n} tiers")),
    }
}

/// Nodes without cpus whose memory is faster than that of nodes with cpus.
fn faster(machine: &Machine) -> String {
    let named = machine.nodes.iter().filter_map(|node| Some(machine.faster_memory(node)?.to_string()));
    let named: Vec<String> = named.collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

/// Errors since the counters began: when the driver was loaded, or the counters were reset.
fn errors(input: &CheckInput<'_>) -> CheckResult {
    let Some(health) = HealthCounts::read(input.root, input.machine).run(None, input.machine) else {
        return CheckResult::not_reported();
    };
    let counted = counted_errors(&health);
    let Some(lost) = health.poisoned.as_ref() else { return counted };
    let (pages, nodes) = lost.pages(|count| Some(count.last())).unzip();
    let bytes = lost.bytes.map(|count| Bytes(count.last()));
    let lost = says::memory_poisoned(pages, &nodes.unwrap_or_default().to_string(), bytes).to_string();
    let value = if counted.health == Health::NotHere { lost } else { format!("{lost}; {}", counted.value) };
    let cures = [Some(says::memory_poisoned_cure().to_string()), counted.cure];
    let cure = cures.into_iter().flatten().collect::<Vec<_>>().join("; ");
    // Where the kernel counts pages whose errors could not be corrected and there are none, all errors were corrected.
    match counted.health != Health::Problem && pages == Some(0) {
        true => CheckResult::note(value, cure),
        false => CheckResult::problem(Affected::Memory, value, cure),
    }
}

/// Errors that memory controllers count.
fn counted_errors(health: &RunHealth) -> CheckResult {
    let counted = |kind| (health.errors_counted(kind), health.counting(kind));
    let ((corrected, soft), (uncorrected, hard)) = (counted(ErrorKind::Corrected), counted(ErrorKind::Uncorrected));
    let value = says::errors_counted(corrected, uncorrected, &soft, &hard).to_string();
    let cure = || says::errors_cure(&soft, &hard).to_string();
    match (corrected, uncorrected) {
        (None, None) => CheckResult::not_reported(),
        (_, Some(1..)) => CheckResult::problem(Affected::Memory, value, cure()),
        (Some(1..), _) => CheckResult::note(value, cure()),
        _ => CheckResult::ok(value),
    }
}
