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
    Refusal memory_short(wanted: Bytes, available: Bytes, limit: Option<&str>, floor: Bytes) options ["--dram-budget"]:
        "tenants in {wanted} of memory",
        { format!("{available} are available{}, of which {floor} must stay free (memory-floor)", below(limit)) },
        { budget(limit) };

    Refusal pool_memory_short(tier: &str, dram: Bytes, available: Bytes, limit: Option<&str>, floor: Bytes)
        options ["--dram-budget"]:
        "the tier {tier}",
        {
            let below = below(limit);
            format!("tenants take {dram} of DRAM, and compressed memory may take as much beside it for a moment; \
                     {available} are available{below}, of which {floor} must stay free (memory-floor)")
        },
        { budget(limit) };

    Refusal memory_unreadable(error: &str):
        "the available memory", "{error}", "";

    Refusal memory_not_reported():
        "the available memory", "/proc/meminfo has no MemAvailable", "use Linux 3.14 or later";

    Refusal system_not_changed():
        "changing the system", "a run with servers elsewhere changes nothing here", "choose the tier dram";

    Refusal kernel_file_denied(path: &str, text: &str, error: &str):
        "writing {text} to /{path}", "{error}", { ROOT };

    Refusal kernel_file_refused(path: &str, text: &str, error: &str):
        "writing {text} to /{path}", "{error}", "choose another tier";

    Refusal swap_tool_missing(program: &str, package: &str):
        "making a swap area", "{program} is not installed", "install it (on Debian: apt-get install {package})";

    Refusal swap_area_failed(action: &str, path: &str, error: &str):
        "{action} the swap area {path}", "{error}", { ROOT };

    Refusal no_higher_priority(path: &str, priority: i32):
        "swap areas above {path}, which has priority {priority}",
        "the kernel uses areas of equal priority in turn, so tenants would be swapped to both",
        "swapoff {path}, and turn it on again with a lower priority: swapon -p 0 {path}";

    Refusal device_missing(path: &str, error: &str):
        "the tier swap:{path}", "{error}", "check the name of the device";

    Refusal device_in_use(path: &str, user: &str):
        "the tier swap:{path}", "the device is in use: {user}", { ANOTHER_DEVICE };

    Refusal device_denied(path: &str):
        "the tier swap:{path}", "this process may not open the device", { ROOT };

    Refusal device_failed(path: &str, error: &str):
        "the tier swap:{path}", "{error}", "check the device";

    Refusal device_too_small(path: &str, size: Bytes):
        "the tier swap:{path}", "the device has only {size}", "name a larger device";

    Refusal device_not_empty(path: &str):
        "the tier swap:{path}", "the device holds data: its first or last 1 MiB is not all zeros",
        "if nothing on it is needed: wipefs --all {path} && blkdiscard --zeroout --length 1M {path}";

    Refusal no_uuid(path: &str):
        "the tier swap:{path}", "/proc/sys/kernel/random/uuid cannot be read, and the area's header needs a UUID", "mount /proc";

    Refusal file_exists(path: &str):
        "the tier swap:{path}", "the file exists, and existing files are not touched", "name a directory";

    Refusal same_swap_area(other: &str, path: &str):
        "the tier swap:{other}+{path}", "both paths are the same device or directory", "name two different ones";

    Refusal swap_path_missing(path: &str):
        "the tier swap:{path}", "there is no such device, file or directory", "name a device, or a directory for a \
            swap file";

    Refusal directory_denied(path: &str, directory: &str, error: &str):
        "the tier swap:{path}", "{directory} cannot be written to: {error}", "name a directory that this user may \
            write to, or run as root";

    Refusal directory_failed(path: &str, error: &str):
        "the tier swap:{path}", "{error}", "name an existing directory on a local disk";

    Refusal directory_in_memory(path: &str):
        "the tier swap:{path}", "files of that directory are in memory (tmpfs)", { DISK };

    Refusal file_system_cannot_swap(path: &str, name: &str):
        "the tier swap:{path}", "the kernel cannot swap to an ordinary file on {name}", { DISK };

    Refusal disk_full(path: &str, free: Bytes, spare: Bytes, wanted: Bytes) options ["--tier-size"]:
        "the tier swap:{path}", "the file system has {free} free, of which {spare} must stay free; the swap file \
            needs {wanted}",
        "choose a smaller --tier-size, or another directory";

    Refusal zswap_missing():
        "the tier zswap", "this kernel has no zswap", "boot a kernel with CONFIG_ZSWAP, or choose zram";

    Refusal zswap_not_counted():
        "the tier zswap",
        "/proc/meminfo does not report the memory that zswap takes, which counts against the DRAM budget",
        "use Linux 5.19 or later";

    Refusal zswap_alone():
        "the tier zswap", "zswap needs a swap area behind it, and the system has none", "name a swap area too: \
            zswap+swap:/var/tmp";

    Refusal swap_unreadable(error: &str):
        "the tier zswap", "{error}", "";

    Refusal zram_missing(path: &str):
        "the tier zram", "this kernel has no zram (there is no /{path})", "boot a kernel with CONFIG_ZRAM, or choose \
            zswap or swap:PATH";

    Refusal zram_not_loaded(path: &str):
        "the tier zram", "the kernel module zram is not loaded (there is no /{path}); a run loads no modules", "sudo modprobe zram";

    Refusal zram_not_added(error: &str):
        "the tier zram", "{error}", "run as root, outside of a container; or choose swap:PATH";

    Refusal zram_algorithm_missing(algorithm: &str, offered: &[String], near: &str):
        "the tier zram:{algorithm}",
        { format!("this kernel compresses with {}{near}", offered.join(", ")) },
        "choose one of these algorithms, or plain zram for the kernel's default";

    Refusal device_node_missing(path: &str):
        "the device {path}",
        "the kernel made the device, but it has no node in /dev",
        "run outside of a container, or mount /dev there";

    Refusal node_missing(tier: &str, nodes: &[u32]):
        "the tier {tier}", "the node does not exist, has no memory, or is the only node with memory",
        {
            let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            format!("this machine has memory on nodes {}; choose one of several", nodes.join(", "))
        };

    Refusal node_full(tier: &str, free: Bytes, floor: Bytes) options ["--memory-floor"]:
        "the tier {tier}", "{free} of the node's memory are free, of which {floor} must stay free (memory-floor)", { SMALLER_FLOOR };

    Refusal other_nodes_full(tier: &str, free: Bytes, floor: Bytes) options ["--dram-budget"]:
        "the tier {tier}",
        "DRAM is on the other nodes here: {free} of their memory are free, of which {floor} must stay free \
            (memory-floor)", { SMALLER_BUDGET };

    Refusal demotion_missing(node: u32):
        "the tier demotion:{node}", "this kernel cannot demote pages", "boot Linux 5.15 or later with CONFIG_MIGRATION";

    Refusal node_not_slower(node: u32, others: &str):
        "the tier demotion:{node}", "the kernel does not rank node {node} as slower than nodes {others}, so it \
            demotes nothing to it",
        "choose node:{node}, which puts whole tenants there";

    Refusal budget_below_nodes(node: u32, others: &str, free: Bytes, budget: Bytes)
        options ["--dram-budget", "--memory-floor"]:
        "the tier demotion:{node}",
        "the kernel demotes pages only when nodes {others} are full; {free} is free there, so tenants would get that \
         much DRAM instead of {budget}",
        "set --dram-budget to that size less --memory-floor, or boot with less memory on those nodes";

    Note zram_algorithm_unchecked(algorithm: &str):
        "the run can check only on a zram device of its own whether the kernel offers {algorithm}";

    Warning zswap_off():
        "zswap was on", "it is off for the whole machine while this tier is searched", "";

    Warning swaps_elsewhere(areas: &[String]):
        { format!("the system also swaps to {}, which does not belong to this tier", areas.join(", ")) },
        "the kernel may swap tenants there when the tier is full", "";

    Warning tenants_on_nodes():
        "the tenants that fit into DRAM by arithmetic have all of their memory on the other nodes, the other tenants \
            have all of theirs on the node of the tier",
        "", "";

    Warning pages_demoted():
        "tenants allocate memory on the other nodes only", "the kernel demotes their cold pages to the node of the \
            tier", "";
}
