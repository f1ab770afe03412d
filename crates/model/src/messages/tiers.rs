//! Tiers of a capacity run: why one cannot be set up here, and warnings about those that are.

use super::rows::messages;
use crate::Bytes;

const ROOT: &str = "run as root, outside of a container";
const SMALLER_BUDGET: &str = "choose a smaller --dram-budget, or end other programs";
const OUTSIDE_GROUP: &str = "choose a smaller --dram-budget, or run tiermark outside of that control group";
const SMALLER_FLOOR: &str = "choose another node, or a smaller --memory-floor";
const ANOTHER_DEVICE: &str = "name a device that is not in use";
const DISK: &str = "name a directory on a disk with ext4 or XFS";

/// Where a limit of the control group, and not the machine, leaves so little: the file that sets it.
fn below(limit: Option<&str>) -> String {
    limit.map_or_else(String::new, |file| format!(" below the limit of this program's control group ({file})"))
}

/// The cure of a budget that is too large for the machine, or for a control group.
fn budget(limit: Option<&str>) -> &'static str {
    if limit.is_some() { OUTSIDE_GROUP } else { SMALLER_BUDGET }
}

messages! {
    /// Too little memory for the tenants.
    Refusal memory_short(wanted: Bytes, available: Bytes, limit: Option<&str>, floor: Bytes):
        "tenants in {wanted} of memory",
        { format!("{available} are available{}, of which {floor} must stay free (memory-floor)", below(limit)) },
        { budget(limit) };

    /// Too little memory for the tenants and compressed memory.
    Refusal pool_memory_short(tier: &str, dram: Bytes, available: Bytes, limit: Option<&str>, floor: Bytes):
        "the tier {tier}",
        {
            let below = below(limit);
            format!("tenants take {dram} of DRAM, and compressed memory may take as much beside it for a moment; \
                     {available} are available{below}, of which {floor} must stay free (memory-floor)")
        },
        { budget(limit) };

    /// Available memory that cannot be read.
    Refusal memory_unreadable(error: &str):
        "the available memory", "{error}", "";

    /// A kernel that does not report available memory.
    Refusal memory_not_reported():
        "the available memory", "/proc/meminfo has no MemAvailable", "use Linux 3.14 or later";

    /// A change of the system in a run that changes nothing.
    Refusal system_not_changed():
        "changing the system", "a run with servers elsewhere changes nothing here", "choose the tier dram";

    /// A file of the kernel that this process may not write.
    Refusal kernel_file_denied(path: &str, text: &str, error: &str):
        "writing {text} to /{path}", "{error}", { ROOT };

    /// A file of the kernel that does not take a value.
    Refusal kernel_file_refused(path: &str, text: &str, error: &str):
        "writing {text} to /{path}", "{error}", "choose another tier";

    /// A program for swap areas that is not installed.
    Refusal swap_tool_missing(program: &str, package: &str):
        "making a swap area", "{program} is not installed", "install it (on Debian: apt-get install {package})";

    /// A swap area that cannot be formatted or turned on.
    Refusal swap_area_failed(action: &str, path: &str, error: &str):
        "{action} the swap area {path}", "{error}", { ROOT };

    /// A swap area of the system with the highest priority.
    Refusal no_higher_priority(path: &str, priority: i32):
        "swap areas above {path}, which has priority {priority}",
        "the kernel uses areas of equal priority in turn, so tenants would be swapped to both",
        "swapoff {path}, and turn it on again with a lower priority: swapon -p 0 {path}";

    /// A path that is no block device.
    Refusal device_missing(path: &str, error: &str):
        "the tier swap:{path}", "{error}", "check the name of the device";

    /// A block device in use.
    Refusal device_in_use(path: &str, user: &str):
        "the tier swap:{path}", "the device is in use: {user}", { ANOTHER_DEVICE };

    /// A block device that this process may not open.
    Refusal device_denied(path: &str):
        "the tier swap:{path}", "this process may not open the device", { ROOT };

    /// A block device that fails.
    Refusal device_failed(path: &str, error: &str):
        "the tier swap:{path}", "{error}", "check the device";

    /// A block device that is too small.
    Refusal device_too_small(path: &str, size: Bytes):
        "the tier swap:{path}", "the device has only {size}", "name a larger device";

    /// A block device with data on it.
    Refusal device_not_empty(path: &str):
        "the tier swap:{path}", "the device holds data: its first or last 1 MiB is not all zeros",
        "if nothing on it is needed: wipefs --all {path} && blkdiscard --zeroout --length 1M {path}";

    /// A system that gives no UUID for a swap area's header.
    Refusal no_uuid(path: &str):
        "the tier swap:{path}", "/proc/sys/kernel/random/uuid cannot be read, and the area's header needs a UUID", "mount /proc";

    /// A file that exists already.
    Refusal file_exists(path: &str):
        "the tier swap:{path}", "the file exists, and existing files are not touched", "name a directory";

    /// Two names of one device or directory in a tier.
    Refusal same_swap_area(other: &str, path: &str):
        "the tier swap:{other}+{path}", "both paths are the same device or directory", "name two different ones";

    /// A path that is neither device, nor file, nor directory.
    Refusal swap_path_missing(path: &str):
        "the tier swap:{path}", "there is no such device, file or directory", "name a device, or a directory for a \
            swap file";

    /// A directory that cannot be written to.
    Refusal directory_denied(path: &str, directory: &str, error: &str):
        "the tier swap:{path}", "{directory} cannot be written to: {error}", "name a directory that this user may \
            write to, or run as root";

    /// A directory that cannot be used.
    Refusal directory_failed(path: &str, error: &str):
        "the tier swap:{path}", "{error}", "name an existing directory on a local disk";

    /// A directory whose files are in memory.
    Refusal directory_in_memory(path: &str):
        "the tier swap:{path}", "files of that directory are in memory (tmpfs)", { DISK };

    /// A file system that cannot hold a swap file.
    Refusal file_system_cannot_swap(path: &str, name: &str):
        "the tier swap:{path}", "the kernel cannot swap to an ordinary file on {name}", { DISK };

    /// A file system with too little room.
    Refusal disk_full(path: &str, free: Bytes, spare: Bytes, wanted: Bytes):
        "the tier swap:{path}", "the file system has {free} free, of which {spare} must stay free; the swap file \
            needs {wanted}",
        "choose a smaller --tier-size, or another directory";

    /// A kernel without zswap.
    Refusal zswap_missing():
        "the tier zswap", "this kernel has no zswap", "boot a kernel with CONFIG_ZSWAP, or choose zram";

    /// A kernel that does not report what zswap takes.
    Refusal zswap_not_counted():
        "the tier zswap",
        "/proc/meminfo does not report the memory that zswap takes, which counts against the DRAM budget",
        "use Linux 5.19 or later";

    /// A system without swap behind zswap.
    Refusal zswap_alone():
        "the tier zswap", "zswap needs a swap area behind it, and the system has none", "name a swap area too: \
            zswap+swap:/var/tmp";

    /// Swap areas that cannot be read.
    Refusal swap_unreadable(error: &str):
        "the tier zswap", "{error}", "";

    /// A kernel without zram.
    Refusal zram_missing(path: &str):
        "the tier zram", "this kernel has no zram (there is no /{path})", "boot a kernel with CONFIG_ZRAM, or choose \
            zswap or swap:PATH";

    /// A module of the kernel that is not loaded.
    Refusal zram_not_loaded(path: &str):
        "the tier zram", "the kernel module zram is not loaded (there is no /{path}); a run loads no modules", "sudo modprobe zram";

    /// A zram device that cannot be added.
    Refusal zram_not_added(error: &str):
        "the tier zram", "{error}", "run as root, outside of a container; or choose swap:PATH";

    /// An algorithm that the kernel lacks.
    Refusal zram_algorithm_missing(algorithm: &str, offered: &[String], near: &str):
        "the tier zram:{algorithm}",
        { format!("this kernel compresses with {}{near}", offered.join(", ")) },
        "choose one of these algorithms, or plain zram for the kernel's default";

    /// A device that the kernel has and /dev has not.
    Refusal device_node_missing(path: &str):
        "the device {path}",
        "the kernel made the device, but it has no node in /dev",
        "run outside of a container, or mount /dev there";

    /// A node without memory, or the only one.
    Refusal node_missing(tier: &str, nodes: &[u32]):
        "the tier {tier}", "the node does not exist, has no memory, or is the only node with memory",
        {
            let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            format!("this machine has memory on nodes {}; choose one of several", nodes.join(", "))
        };

    /// A node without free memory.
    Refusal node_full(tier: &str, free: Bytes, floor: Bytes):
        "the tier {tier}", "{free} of the node's memory are free, of which {floor} must stay free (memory-floor)", { SMALLER_FLOOR };

    /// Other nodes with too little memory for the budget.
    Refusal other_nodes_full(tier: &str, free: Bytes, floor: Bytes):
        "the tier {tier}",
        "DRAM is on the other nodes here: {free} of their memory are free, of which {floor} must stay free \
            (memory-floor)", { SMALLER_BUDGET };

    /// A kernel without demotion.
    Refusal demotion_missing(node: u32):
        "the tier demotion:{node}", "this kernel cannot demote pages", "boot Linux 5.15 or later with CONFIG_MIGRATION";

    /// A node that the kernel does not demote to.
    Refusal node_not_slower(node: u32, others: &str):
        "the tier demotion:{node}", "the kernel does not rank node {node} as slower than nodes {others}, so it \
            demotes nothing to it",
        "choose node:{node}, which puts whole tenants there";

    /// Other nodes with much more memory than the budget.
    Refusal budget_below_nodes(node: u32, others: &str, free: Bytes, budget: Bytes):
        "the tier demotion:{node}",
        "the kernel demotes pages only when nodes {others} are full; {free} is free there, so tenants would get that \
         much DRAM instead of {budget}",
        "set --dram-budget to that size less --memory-floor, or boot with less memory on those nodes";

    /// An algorithm that can only be checked on a device.
    Note zram_algorithm_unchecked(algorithm: &str):
        "the run can check only on a zram device of its own whether the kernel offers {algorithm}";

    /// Compressed memory that is turned off for a search.
    Warning zswap_off():
        "zswap was on", "it is off for the whole machine while this tier is searched", "";

    /// Swap areas of the system beside those of the tier.
    Warning swaps_elsewhere(areas: &[String]):
        { format!("the system also swaps to {}, which does not belong to this tier", areas.join(", ")) },
        "the kernel may swap tenants there when the tier is full", "";

    /// Whole tenants on the node of the tier.
    Warning tenants_on_nodes():
        "the tenants that fit into DRAM by arithmetic have all of their memory on the other nodes, the other tenants \
            have all of theirs on the node of the tier",
        "", "";

    /// Tenants whose cold pages go to the node of the tier.
    Warning pages_demoted():
        "tenants allocate memory on the other nodes only", "the kernel demotes their cold pages to the node of the \
            tier", "";
}
