//! Free memory now: of the machine, of a node, of the control group, of huge pages. Read anew before each allocation.

use std::collections::BTreeMap;

use tiermark_engine::admit::{Fresh, Pool};
use tiermark_machine::{Root, files, own_huge_limits, own_memory_room};
use tiermark_model::{HugePool, KIB, MIB, Machine, Node, NodeId};

/// Pools of huge pages of all sizes.
const POOLS: &str = "sys/kernel/mm/hugepages";

/// Free memory of this machine.
pub(crate) fn fresh(root: &Root, machine: &Machine) -> Fresh {
    // An emulated node has what its parts have.
    let free = |node: &Node| node.kernel_ids().iter().map(|part| node_free(root, part)).sum::<Option<u64>>();
    Fresh {
        available: available(root),
        nodes: machine.nodes.iter().filter_map(|node| Some((node.id, free(node)?))).collect(),
        group: own_memory_room(root),
        address_space: address_space(root, machine.page_bytes),
        pools: pools(root, &machine.nodes),
        huge_limits: own_huge_limits(root),
    }
}

/// Memory available without swapping: of the machine, and below the control group's limit.
pub(crate) fn spare(root: &Root) -> Option<u64> {
    let group = own_memory_room(root).map(|(bytes, _)| bytes);
    [available(root), group].into_iter().flatten().min()
}

/// Free pages of every pool that the kernel lists.
fn pools(root: &Root, nodes: &[Node]) -> BTreeMap<u64, Pool> {
    let pool = |name: String| {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let count = |what: &str| root.value(&format!("{POOLS}/{name}/{what}_hugepages"));
        let (free, promised) = (count("free")?, count("resv").unwrap_or_default());
        let free = HugePool { free, promised, ..HugePool::default() }.available();
        let of_part = |part, what: &str| {
            root.value::<u64>(&format!("sys/devices/system/node/node{part}/hugepages/{name}/{what}_hugepages"))
        };
        let of_nodes = |what: &str| -> BTreeMap<NodeId, u64> {
            let sum = |node: &Node| node.kernel_ids().iter().map(|part| of_part(part, what)).sum::<Option<u64>>();
            nodes.iter().filter_map(|node| Some((node.id, sum(node)?))).collect()
        };
        let surplus = count("surplus").unwrap_or_default();
        let on_demand = count("nr_overcommit").unwrap_or_default().saturating_sub(surplus);
        let (total, mut node_totals) = (count("nr").unwrap_or_default(), of_nodes("nr"));
        // Of a node that the kernel knows as several, no file has the pool.
        let is_whole = |id: &NodeId| nodes.iter().any(|node| node.id == *id && node.kernel_ids().len() == 1);
        node_totals.retain(|id, _| is_whole(id));
        Some((kib.checked_mul(KIB)?, Pool { free, nodes: of_nodes("free"), total, node_totals, on_demand }))
    };
    root.list(POOLS).unwrap_or_default().into_iter().filter_map(pool).collect()
}

/// What is left below the limit on this process's address space (`ulimit -v`), rounded down to MiB: each allocation
/// changes it, and refusals with the same numbers are shown once.
fn address_space(root: &Root, page_bytes: u64) -> Option<u64> {
    let first = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
    // `None` also for `unlimited`.
    let limit = first(root.text("proc/self/limits")?.lines().find_map(|line| line.strip_prefix("Max address space"))?)?;
    let mapped = first(&root.text("proc/self/statm")?)?.saturating_mul(page_bytes);
    Some(limit.saturating_sub(mapped) / MIB * MIB)
}

/// `MemAvailable`, at most `MemTotal`: a larger value is wrong.
fn available(root: &Root) -> Option<u64> {
    let text = root.text("proc/meminfo")?;
    let field = |name| files::kilobytes(&text, name).ok().flatten();
    Some(field("MemAvailable")?.min(field("MemTotal").unwrap_or(u64::MAX)))
}

/// Bytes of a node available without swapping.
fn node_free(root: &Root, node: NodeId) -> Option<u64> {
    let text = root.text(&format!("sys/devices/system/node/node{node}/meminfo"))?;
    files::node_free(|name| files::kilobytes(&text, name).ok().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{GIB, Node};

    fn tree(files: &[(&str, &str)]) -> Root {
        Root::from_files("test", files.iter().copied())
    }

    fn two_nodes() -> Machine {
        let node = |id| Node { id, ..Node::default() };
        Machine { nodes: vec![node(0), node(1)], ..Machine::default() }
    }

    #[test]
    fn a_node_in_parts_has_what_all_of_them_have() {
        let part = |free: &str| format!("Node 0 MemFree: {free} kB\n");
        let root = tree(&[
            ("sys/devices/system/node/node0/meminfo", part("100").as_str()),
            ("sys/devices/system/node/node1/meminfo", part("200").as_str()),
        ]);
        let node = Node { id: 0, emulated: "0-1".parse().unwrap(), ..Node::default() };
        let machine = Machine { nodes: vec![node], ..Machine::default() };
        assert_eq!(fresh(&root, &machine).nodes, [(0, 300 * KIB)].into());
    }

    #[test]
    fn nothing_is_known_of_an_empty_tree() {
        let root = tree(&[]);
        assert_eq!(fresh(&root, &two_nodes()), Fresh::default());
    }

    #[test]
    fn machine_and_nodes_count_free_pages_and_clean_cache() {
        let root = tree(&[
            ("proc/meminfo", "MemFree: 9 kB\nMemAvailable:    4194304 kB\n"),
            (
                "sys/devices/system/node/node1/meminfo",
                "Node 1 MemFree: 1048576 kB\nNode 1 Active(file): 786432 kB\nNode 1 Dirty: 262144 kB\n",
            ),
        ]);
        let fresh = fresh(&root, &two_nodes());
        assert_eq!(fresh.available, Some(4 * GIB));
        assert_eq!(fresh.nodes, BTreeMap::from([(1, GIB + 512 * MIB)]));
    }

    #[test]
    fn a_limit_on_address_space_counts_what_is_mapped() {
        let limits =
            |limit: &str| format!("Max cpu time  9  9  seconds\nMax address space  {limit}  unlimited  bytes\n");
        for (limit, left) in [("61440000", Some(20 * MIB)), ("4096000", Some(0)), ("unlimited", None)] {
            // 9,800 pages are 38.3 MiB.
            let root = tree(&[("proc/self/limits", &limits(limit)), ("proc/self/statm", "9800 4000 900 1 0 80 0\n")]);
            let machine = Machine { page_bytes: 4096, ..two_nodes() };
            assert_eq!(fresh(&root, &machine).address_space, left, "{limit}");
        }
    }

    #[test]
    fn no_more_is_available_than_there_is() {
        let root = tree(&[("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 90000000 kB\n")]);
        assert_eq!(spare(&root), Some(GIB));
    }

    #[test]
    fn the_tightest_group_counts_and_its_page_cache_does_not() {
        let root = tree(&[
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/a/memory.current", "1610612736\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 1073741824\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "1\n"),
        ]);
        assert_eq!(own_memory_room(&root), Some((1536 * MIB, "/sys/fs/cgroup/a/memory.max".to_owned())));
    }

    #[test]
    fn pools_are_counted_by_machine_and_by_node() {
        let root = tree(&[
            ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "5\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "11\n"),
            ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "7\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "4096\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/surplus_hugepages", "96\n"),
            ("sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "4\n"),
            ("sys/kernel/mm/hugepages/hugepages-1048576kB/resv_hugepages", "3\n"),
            ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "2\n"),
            ("sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "3\n"),
        ]);
        let pools = fresh(&root, &two_nodes()).pools;
        let (nodes, node_totals) = (BTreeMap::from([(0, 2), (1, 3)]), BTreeMap::from([(0, 7)]));
        assert_eq!(pools[&(2 * MIB)], Pool { free: 5, nodes, total: 11, node_totals, on_demand: 4000 });
        assert_eq!(pools[&GIB], Pool { free: 1, ..Pool::default() });
        assert_eq!(pools.len(), 2);
    }

    #[test]
    fn a_limit_that_throttles_leaves_as_little_room_as_one_that_kills() {
        let root = tree(&[
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "5\n"),
            ("sys/fs/cgroup/a/memory.max", "90000\n"),
            ("sys/fs/cgroup/a/memory.high", "2000\n"),
            ("sys/fs/cgroup/a/memory.current", "500\n"),
        ]);
        assert_eq!(own_memory_room(&root), Some((1500, "/sys/fs/cgroup/a/memory.high".to_owned())));
    }

    #[test]
    fn group_version_1_is_read_too() {
        let root = tree(&[
            ("proc/self/mountinfo", "30 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n"),
            ("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "73741824\n"),
        ]);
        assert_eq!(
            own_memory_room(&root),
            Some((1_000_000_000, "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes".to_owned()))
        );
    }
}
