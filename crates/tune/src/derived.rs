//! What no row of the table can say: advice that depends on the machine, and facts that no single file holds.

use serde::Deserialize;
use tiermark_model::IdSet;

use crate::advice_input::AdviceInput;

/// Advice that depends on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Derived {
    /// How much sooner programs' pages are reclaimed than those of files.
    Swappiness,
    /// Moving pages between nodes.
    Balancing,
    /// Moving pages to a slower node.
    Demotion,
    /// The queue of NVMe devices.
    NvmeDepth,
    /// Cpus without RCU callbacks.
    Rcu,
    /// Pressure stall information.
    Psi,
}

impl Derived {
    /// The value to write, and why; `None` without advice for this machine.
    pub fn advice(self, input: &AdviceInput<'_>) -> Option<(String, String)> {
        match self {
            Self::Swappiness => swappiness(input),
            Self::Balancing => Some(balancing(input)),
            Self::Demotion => demotion(input),
            Self::NvmeDepth => Some(nvme_depth()),
            Self::Rcu => rcu(input),
            Self::Psi => Some(psi()),
        }
    }
}

/// A fact that no single file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// Priorities of swap areas.
    Priorities,
    /// Tiers of nodes.
    MemoryTiers,
    /// Whether DAMON runs.
    Damon,
    /// Nodes of devices.
    Nodes,
    /// Whether the kernel counts stalls.
    Pressure,
}

impl Fact {
    /// Its subjects (devices, say) with their values.
    pub fn values(self, input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
        match self {
            Self::Priorities => priorities(input),
            Self::MemoryTiers => memory_tiers(input),
            Self::Damon => damon(input),
            Self::Nodes => nodes(input),
            Self::Pressure => pressure(input),
        }
    }
}

/// How parameters get there; the profile's reason comes first.
const HOW: &str = "add it to the kernel command line (GRUB_CMDLINE_LINUX and update-grub, or grubby)";

/// Swap in memory is cheaper than reading files again.
fn swappiness(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let why = "assumes that swap in memory is twice as fast as the disk of files: 133 and 67 of 200 (kernel \
        documentation, sysctl/vm)";
    let old =
        "swap in memory is faster than the disk of files; this kernel accepts at most 100 (Linux 5.8 and later: 200)";
    let (value, why) = if input.kernel_before(5, 8) { ("100", old) } else { ("133", why) };
    input.swaps_to_memory().then(|| (value.to_owned(), why.to_owned()))
}

fn priorities(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let area = |swap: &tiermark_model::Swap| (Some(swap.path.clone()), swap.priority.to_string());
    input.machine.system.swaps.iter().map(area).collect()
}

fn balancing(input: &AdviceInput<'_>) -> (String, String) {
    let (value, why) = match input.has_slow_node() {
        true => ("2", "pages in use come back from the slower node"),
        false => ("0", "it competes with reclaim for the same lists of pages"),
    };
    (value.to_owned(), why.to_owned())
}

fn demotion(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let why = "cold pages go to the slower node, which is faster than a swap device";
    input.has_slow_node().then(|| ("true".to_owned(), why.to_owned()))
}

fn memory_tiers(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let nodes = input.machine.nodes.iter();
    let tier =
        |node: &tiermark_model::Node| Some((Some(format!("node {}", node.id)), format!("tier {}", node.memory_tier?)));
    nodes.filter_map(tier).collect()
}

fn damon(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let state = input.machine.system.damon_running.map(|on| if on { "running" } else { "not running" });
    state.map(|state| (None, state.to_owned())).into_iter().collect()
}

/// The queue depth of the published test, as a boot option: the driver reads it only when it starts.
fn nvme_depth() -> (String, String) {
    let why = format!(
        "the driver reads it only when it starts: nvme.io_queue_depth=64, {HOW}; queue/nr_requests has the same effect \
            at once"
    );
    ("64".to_owned(), why)
}

/// The node of each device looked at, where it says; -1 is "no matter".
fn nodes(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let node = |device: String| {
        // An NVMe namespace hangs below its controller, and that below the PCI device.
        let read = |below: &str| input.root.text(&format!("sys/block/{device}/{below}/numa_node"));
        let text = read("device").or_else(|| read("device/device"))?;
        let value = match text.trim().parse::<i32>().ok()? {
            n if n < 0 => "any node".to_owned(),
            n => format!("node {n}"),
        };
        Some((Some(device), value))
    };
    input.devices().into_iter().filter_map(node).collect()
}

fn rcu(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let online = input.machine.online();
    if online.is_empty() {
        return None;
    }
    let why = "no RCU callback, which frees kernel objects, runs on the cpus that serve requests";
    if let Some(now) = input.parameter("rcu_nocbs")
        && (now == "all" || now.parse::<IdSet>().is_ok_and(|ids| online.difference(&ids).is_empty()))
    {
        return Some((now, why.to_owned()));
    }
    match &input.config {
        Some(config) if config.has("RCU_NOCB_CPU_DEFAULT_ALL") || config.has("RCU_NOCB_CPU_ALL") => None,
        Some(config) if !config.has("RCU_NOCB_CPU") => Some((
            online.to_string(),
            format!("{why}; this kernel was built without CONFIG_RCU_NOCB_CPU: use one that has it"),
        )),
        _ => Some((online.to_string(), format!("{why}; {HOW}"))),
    }
}

fn pressure(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let there = input.root.read("proc/pressure/memory").is_ok_and(|text| text.is_some());
    // A captured tree may just not have it.
    let known = there || input.root.is_live();
    known.then(|| (None, if there { "on" } else { "off" }.to_owned())).into_iter().collect()
}

fn psi() -> (String, String) {
    ("on".to_owned(), format!("it is the earliest sign that a tier is too slow; boot with psi=1: {HOW}"))
}
