//! Free memory now: of the machine, of a node, of the control group, of huge pages. Read anew before each allocation.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tiermark_engine::admit::{Fresh, Pool};
use tiermark_model::{HugePool, KIB, MIB, Machine, Node, NodeId};

/// Where the numbers are read.
#[derive(Debug, Clone)]
pub(crate) struct FreeMemory {
    root: PathBuf,
}

impl FreeMemory {
    /// Reads below this root directory: `/`, or a tree made for a test.
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Free memory of this machine.
    pub(crate) fn fresh(&self, machine: &Machine) -> Fresh {
        // An emulated node has what its parts have.
        let free = |node: &Node| node.kernel_ids().iter().map(|part| self.node_free(part)).sum::<Option<u64>>();
        Fresh {
            available: self.available(),
            nodes: machine.nodes.iter().filter_map(|node| Some((node.id, free(node)?))).collect(),
            group: self.group_room(),
            address_space: self.address_space(machine.page_bytes),
            pools: self.pools(&machine.nodes),
        }
    }

    /// Free pages of every pool that the kernel lists.
    fn pools(&self, nodes: &[Node]) -> BTreeMap<u64, Pool> {
        let Ok(entries) = fs::read_dir(self.root.join("sys/kernel/mm/hugepages")) else { return BTreeMap::new() };
        let pool = |name: String| {
            let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let count = |what: &str| self.number(&format!("sys/kernel/mm/hugepages/{name}/{what}_hugepages"));
            let (free, promised) = (count("free")?, count("resv").unwrap_or_default());
            let free = HugePool { free, promised, ..HugePool::default() }.available();
            let of_part =
                |part| self.number(&format!("sys/devices/system/node/node{part}/hugepages/{name}/free_hugepages"));
            let of_node = |node: &Node| Some((node.id, node.kernel_ids().iter().map(of_part).sum::<Option<u64>>()?));
            Some((kib.checked_mul(KIB)?, Pool { free, nodes: nodes.iter().filter_map(of_node).collect() }))
        };
        entries.flatten().filter_map(|entry| pool(entry.file_name().into_string().ok()?)).collect()
    }

    /// What is left below the limit on this process's address space (`ulimit -v`), in whole MiB: it changes with each
    /// allocation, and refusals for the same reason are told together.
    fn address_space(&self, page_bytes: u64) -> Option<u64> {
        let first = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
        // `None` also for `unlimited`.
        let limit =
            first(self.text("proc/self/limits")?.lines().find_map(|line| line.strip_prefix("Max address space"))?)?;
        let mapped = first(&self.text("proc/self/statm")?)?.saturating_mul(page_bytes);
        Some(limit.saturating_sub(mapped) / MIB * MIB)
    }

    /// Memory available without swapping: of the machine, and below the control group's limit.
    pub(crate) fn spare(&self) -> Option<u64> {
        let group = self.group_room().map(|(bytes, _)| bytes);
        [self.available(), group].into_iter().flatten().min()
    }

    /// No more than the machine has: where `MemAvailable` says so, it is wrong.
    fn available(&self) -> Option<u64> {
        let text = self.text("proc/meminfo")?;
        let total = field_kib(&text, "MemTotal:").unwrap_or(u64::MAX);
        Some(field_kib(&text, "MemAvailable:")?.min(total))
    }

    /// Bytes of a node available without swapping: free ones, and clean page cache.
    fn node_free(&self, node: NodeId) -> Option<u64> {
        let text = self.text(&format!("sys/devices/system/node/node{node}/meminfo"))?;
        let field = |name: &str| field_kib(&text, name).unwrap_or_default();
        let cache = (field("Active(file):") + field("Inactive(file):")).saturating_sub(field("Dirty:"));
        Some(field_kib(&text, "MemFree:")? + cache)
    }

    /// The least room below a memory limit on the way from this process's group to the root, with the file that sets
    /// it.
    fn group_room(&self) -> Option<(u64, String)> {
        let groups = self.text("proc/self/cgroup")?;
        let mut rooms = Vec::new();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            // At memory.high the kernel throttles, so that a footprint beyond it is never filled.
            let (mount, limits, usage): (_, &[&str], _) = match controllers {
                "" => ("sys/fs/cgroup", &["memory.max", "memory.high"], "memory.current"),
                c if c.split(',').any(|c| c == "memory") => {
                    ("sys/fs/cgroup/memory", &["memory.limit_in_bytes"], "memory.usage_in_bytes")
                }
                _ => continue,
            };
            for group in Path::new(path).ancestors() {
                let dir = format!("{mount}{}", group.display().to_string().trim_end_matches('/'));
                let set = |file: &&str| Some((self.number(&format!("{dir}/{file}"))?, format!("/{dir}/{file}")));
                let limit = limits.iter().filter_map(set).min();
                let Some(((limit, file), used)) = limit.zip(self.number(&format!("{dir}/{usage}"))) else { continue };
                // Page cache on the inactive list goes before anything else is refused; v1 calls it
                // total_inactive_file.
                let stat = self.text(&format!("{dir}/memory.stat")).unwrap_or_default();
                let cache = ["total_inactive_file ", "inactive_file "].iter().find_map(|name| field_plain(&stat, name));
                rooms.push((limit.saturating_sub(used.saturating_sub(cache.unwrap_or_default())), file));
            }
        }
        rooms.into_iter().min()
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// A file with one number; `None` also for `max`.
    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }
}

/// The number after a name in a file of `Name:  123 kB` lines, in bytes.
fn field_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_whitespace().any(|word| word == name))?;
    line.split_whitespace().skip_while(|word| *word != name).nth(1)?.parse::<u64>().ok()?.checked_mul(KIB)
}

/// The number after a name in a file of `name 123` lines.
fn field_plain(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{GIB, Node};

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn two_nodes() -> Machine {
        let node = |id| Node { id, ..Node::default() };
        Machine { nodes: vec![node(0), node(1)], ..Machine::default() }
    }

    #[test]
    fn a_node_in_parts_has_what_all_of_them_have() {
        let part = |free: &str| format!("Node 0 MemFree: {free} kB\n");
        let dir = tree(&[
            ("sys/devices/system/node/node0/meminfo", part("100").as_str()),
            ("sys/devices/system/node/node1/meminfo", part("200").as_str()),
        ]);
        let node = Node { id: 0, emulated: "0-1".parse().unwrap(), ..Node::default() };
        let machine = Machine { nodes: vec![node], ..Machine::default() };
        assert_eq!(FreeMemory::new(dir.path()).fresh(&machine).nodes, [(0, 300 * KIB)].into());
    }

    #[test]
    fn nothing_is_known_of_an_empty_tree() {
        let dir = tree(&[]);
        assert_eq!(FreeMemory::new(dir.path()).fresh(&two_nodes()), Fresh::default());
    }

    #[test]
    fn machine_and_nodes_count_free_pages_and_clean_cache() {
        let dir = tree(&[
            ("proc/meminfo", "MemFree: 9 kB\nMemAvailable:    4194304 kB\n"),
            (
                "sys/devices/system/node/node1/meminfo",
                "Node 1 MemFree: 1048576 kB\nNode 1 Active(file): 786432 kB\nNode 1 Dirty: 262144 kB\n",
            ),
        ]);
        let fresh = FreeMemory::new(dir.path()).fresh(&two_nodes());
        assert_eq!(fresh.available, Some(4 * GIB));
        assert_eq!(fresh.nodes, BTreeMap::from([(1, GIB + 512 * MIB)]));
    }

    #[test]
    fn a_limit_on_address_space_counts_what_is_mapped() {
        let limits =
            |limit: &str| format!("Max cpu time  9  9  seconds\nMax address space  {limit}  unlimited  bytes\n");
        for (limit, left) in [("61440000", Some(20 * MIB)), ("4096000", Some(0)), ("unlimited", None)] {
            // 9,800 pages are 38.3 MiB.
            let dir = tree(&[("proc/self/limits", &limits(limit)), ("proc/self/statm", "9800 4000 900 1 0 80 0\n")]);
            let machine = Machine { page_bytes: 4096, ..two_nodes() };
            assert_eq!(FreeMemory::new(dir.path()).fresh(&machine).address_space, left, "{limit}");
        }
    }

    #[test]
    fn no_more_is_available_than_there_is() {
        let dir = tree(&[("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 90000000 kB\n")]);
        assert_eq!(FreeMemory::new(dir.path()).spare(), Some(GIB));
    }

    #[test]
    fn the_tightest_group_counts_and_its_page_cache_does_not() {
        let dir = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/a/memory.current", "1610612736\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 1073741824\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "1\n"),
        ]);
        assert_eq!(
            FreeMemory::new(dir.path()).group_room(),
            Some((1536 * MIB, "/sys/fs/cgroup/a/memory.max".to_owned()))
        );
    }

    #[test]
    fn pools_are_counted_by_machine_and_by_node() {
        let dir = tree(&[
            ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "5\n"),
            ("sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "4\n"),
            ("sys/kernel/mm/hugepages/hugepages-1048576kB/resv_hugepages", "3\n"),
            ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "2\n"),
            ("sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "3\n"),
        ]);
        let pools = FreeMemory::new(dir.path()).fresh(&two_nodes()).pools;
        assert_eq!(pools[&(2 * MIB)], Pool { free: 5, nodes: BTreeMap::from([(0, 2), (1, 3)]) });
        assert_eq!(pools[&GIB], Pool { free: 1, nodes: BTreeMap::new() });
        assert_eq!(pools.len(), 2);
    }

    #[test]
    fn a_limit_that_throttles_leaves_as_little_room_as_one_that_kills() {
        let dir = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "5\n"),
            ("sys/fs/cgroup/a/memory.max", "90000\n"),
            ("sys/fs/cgroup/a/memory.high", "2000\n"),
            ("sys/fs/cgroup/a/memory.current", "500\n"),
        ]);
        assert_eq!(FreeMemory::new(dir.path()).group_room(), Some((1500, "/sys/fs/cgroup/a/memory.high".to_owned())));
    }

    #[test]
    fn group_version_1_is_read_too() {
        let dir = tree(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n"),
            ("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "73741824\n"),
        ]);
        assert_eq!(
            FreeMemory::new(dir.path()).group_room(),
            Some((1_000_000_000, "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes".to_owned()))
        );
    }
}
