//! How much memory may be taken now: of the machine, of a node, of the control group. Read anew before each allocation.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tiermark_model::{Bytes, GIB, IdSet, KIB, MIB, Machine, NodeId, PageKind, Refusal};

/// Left alone on each node and in the group, so that the kernel's own reserves and this process's other memory fit:
/// a fiftieth of what is free, at least 64 MiB. An allocation beyond it would wake the out-of-memory killer.
fn margin(free: u64) -> u64 {
    (free / 50).max(64 * MIB)
}

/// A share of memory that a region will take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes.
    pub(crate) bytes: u64,
    /// The nodes they come from.
    pub(crate) nodes: IdSet,
    /// Whether every node gets the same share (interleaved), or any of them may give it all.
    pub(crate) even: bool,
    /// Of which pages.
    pub(crate) page: PageKind,
}

/// Where the numbers are read.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    root: PathBuf,
}

impl Room {
    /// Reads below this root directory: `/`, or a tree made for a test.
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Whether all of these fit at once.
    ///
    /// # Errors
    /// A [`Refusal`] with the numbers and a cure.
    pub(crate) fn check(&self, machine: &Machine, needs: &[Need]) -> Result<(), Refusal> {
        let (huge, ordinary): (Vec<&Need>, Vec<&Need>) =
            needs.iter().partition(|n| matches!(n.page, PageKind::Huge(_)));
        self.check_pools(&huge)?;
        let total = ordinary.iter().fold(0u64, |sum, need| sum.saturating_add(need.bytes));
        if total == 0 {
            return Ok(());
        }
        if let Some(available) = self.available() {
            fits(
                total,
                available,
                "the machine",
                "bytes available (MemAvailable)",
                "free memory on the machine, or ask for less",
            )?;
        }
        if let Some((free, group)) = self.group_room() {
            let where_from = format!("the control group {group}");
            fits(
                total,
                free,
                &where_from,
                "bytes below its memory limit",
                "raise memory.max of the group (docker run --memory), or ask for less",
            )?;
        }
        for (node, bytes) in per_node(&ordinary) {
            // Without per-node figures the machine's say it all.
            let known = machine.node(node).and_then(|_| self.node_free(node));
            if let Some(free) = known {
                let cure = "ask for less, or for another node (--mem-node)";
                fits(bytes, free, &format!("node {node}"), "bytes free", cure)?;
            }
        }
        Ok(())
    }

    /// Free pages of a huge page pool: of one node where the kernel counts them by node, of the machine otherwise.
    pub(crate) fn pool_free(&self, page: u64, node: Option<NodeId>) -> Option<u64> {
        let pool = format!("hugepages/hugepages-{}kB/free_hugepages", page / KIB);
        let of_node = node.and_then(|n| self.number(&format!("sys/devices/system/node/node{n}/{pool}")));
        of_node.or_else(|| self.number(&format!("sys/kernel/mm/{pool}")))
    }

    fn check_pools(&self, needs: &[&Need]) -> Result<(), Refusal> {
        let mut wanted: BTreeMap<u64, u64> = BTreeMap::new();
        for need in needs {
            let PageKind::Huge(page) = need.page else { continue };
            let pages = need.bytes.div_ceil(page);
            *wanted.entry(page).or_default() += pages;
            let free: Option<u64> = need.nodes.iter().map(|node| self.pool_free(page, Some(node))).sum();
            pool_fits(page, pages, free, &format!("on node {}", need.nodes), need.nodes.first())?;
        }
        for (page, pages) in wanted {
            pool_fits(page, pages, self.pool_free(page, None), "on the machine", None)?;
        }
        Ok(())
    }

    /// What can be had without swapping: of the machine, and below the control group's limit.
    pub(crate) fn spare(&self) -> Option<u64> {
        let group = self.group_room().map(|(bytes, _)| bytes);
        [self.available(), group].into_iter().flatten().min()
    }

    fn available(&self) -> Option<u64> {
        field_kib(&self.text("proc/meminfo")?, "MemAvailable:")
    }

    /// Bytes of a node that can be had without swapping: free ones, and page cache that is clean.
    fn node_free(&self, node: NodeId) -> Option<u64> {
        let text = self.text(&format!("sys/devices/system/node/node{node}/meminfo"))?;
        let field = |name: &str| field_kib(&text, name).unwrap_or_default();
        let cache = (field("Active(file):") + field("Inactive(file):")).saturating_sub(field("Dirty:"));
        Some(field_kib(&text, "MemFree:")? + cache)
    }

    /// The least room below a memory limit on the way from this process's group to the root, with the group's path.
    fn group_room(&self) -> Option<(u64, String)> {
        let groups = self.text("proc/self/cgroup")?;
        let mut rooms = Vec::new();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let (mount, limit, usage) = match controllers {
                "" => ("sys/fs/cgroup", "memory.max", "memory.current"),
                c if c.split(',').any(|c| c == "memory") => {
                    ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
                }
                _ => continue,
            };
            for group in Path::new(path).ancestors() {
                let dir = format!("{mount}/{}", group.display().to_string().trim_start_matches('/'));
                let (Some(limit), Some(used)) =
                    (self.number(&format!("{dir}/{limit}")), self.number(&format!("{dir}/{usage}")))
                else {
                    continue;
                };
                // Page cache on the inactive list goes before anything else is refused; v1 calls it total_inactive_file.
                let stat = self.text(&format!("{dir}/memory.stat")).unwrap_or_default();
                let cache = ["total_inactive_file ", "inactive_file "].iter().find_map(|name| field_plain(&stat, name));
                rooms.push((
                    limit.saturating_sub(used.saturating_sub(cache.unwrap_or_default())),
                    group.display().to_string(),
                ));
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

/// Bytes asked of each node that must give them: the only one of a region, or one of those it is interleaved over.
fn per_node(needs: &[&Need]) -> BTreeMap<NodeId, u64> {
    let mut wanted = BTreeMap::new();
    for need in needs.iter().filter(|n| n.even || n.nodes.len() == 1) {
        for node in need.nodes.iter() {
            let wanted: &mut u64 = wanted.entry(node).or_default();
            *wanted = wanted.saturating_add(need.bytes / need.nodes.len().max(1) as u64);
        }
    }
    wanted
}

/// Refuses what does not fit into what is free.
fn fits(wanted: u64, free: u64, place: &str, of: &str, cure: &str) -> Result<(), Refusal> {
    let kept = margin(free);
    if wanted.saturating_add(kept) <= free {
        return Ok(());
    }
    Err(Refusal::new(
        format!("{} of memory", Bytes(wanted)),
        format!("{place} has {free} {of} ({}), of which {} stay free", Bytes(free), Bytes(kept)),
        cure,
    ))
}

/// Refuses huge pages that are not there.
fn pool_fits(page: u64, pages: u64, free: Option<u64>, place: &str, node: Option<NodeId>) -> Result<(), Refusal> {
    let size = PageKind::Huge(page);
    let what = format!("{pages} huge pages of {size}");
    let tree = node.map_or("/sys/kernel/mm".to_owned(), |n| format!("/sys/devices/system/node/node{n}"));
    let late =
        if page >= GIB { "; where memory is fragmented, reserve at boot with hugepagesz=1G hugepages=N" } else { "" };
    match free {
        Some(free) if free >= pages => Ok(()),
        Some(free) => Err(Refusal::new(
            what,
            format!("{free} are free {place}"),
            format!("as root: echo {pages} > {tree}/hugepages/hugepages-{}kB/nr_hugepages{late}", page / KIB),
        )),
        None => Err(Refusal::new(
            what,
            format!("the kernel has no huge pages of {size}"),
            "use a size that /sys/kernel/mm/hugepages lists, or --page thp",
        )),
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
    use tiermark_model::Node;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn need(bytes: u64, nodes: &str, page: PageKind) -> Need {
        Need { bytes, nodes: nodes.parse().unwrap(), even: false, page }
    }

    fn two_nodes() -> Machine {
        let node = |id| Node { id, ..Node::default() };
        Machine { nodes: vec![node(0), node(1)], ..Machine::default() }
    }

    #[test]
    fn the_machines_memory_is_the_first_limit() {
        let dir = tree(&[("proc/meminfo", "MemFree: 9 kB\nMemAvailable:    4194304 kB\n")]);
        let room = Room::new(dir.path());
        assert_eq!(room.check(&two_nodes(), &[need(3 * GIB, "0", PageKind::Thp)]), Ok(()));
        let refusal = room.check(&two_nodes(), &[need(4 * GIB, "0", PageKind::Thp)]).unwrap_err();
        assert!(refusal.why.contains("4294967296 bytes available"), "{refusal}");
    }

    #[test]
    fn a_full_node_is_a_limit_of_its_own() {
        let dir = tree(&[
            ("proc/meminfo", "MemAvailable: 41943040 kB\n"),
            (
                "sys/devices/system/node/node1/meminfo",
                "Node 1 MemFree: 1048576 kB\nNode 1 Active(file): 524288 kB\nNode 1 Dirty: 524288 kB\n",
            ),
        ]);
        let room = Room::new(dir.path());
        assert_eq!(room.check(&two_nodes(), &[need(2 * GIB, "0", PageKind::Base)]), Ok(()));
        let refusal = room.check(&two_nodes(), &[need(2 * GIB, "1", PageKind::Base)]).unwrap_err();
        assert!(refusal.why.starts_with("node 1 has 1073741824 bytes free"), "{refusal}");
        let halves = Need { even: true, ..need(3 * GIB, "0-1", PageKind::Base) };
        assert!(room.check(&two_nodes(), &[halves]).is_err());
    }

    #[test]
    fn the_tightest_group_counts_and_its_page_cache_does_not() {
        let dir = tree(&[
            ("proc/meminfo", "MemAvailable: 41943040 kB\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/a/memory.current", "1610612736\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 1073741824\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "1\n"),
        ]);
        let room = Room::new(dir.path());
        assert_eq!(room.group_room(), Some((1536 * MIB, "/a".to_owned())));
        assert_eq!(room.check(&two_nodes(), &[need(GIB, "0", PageKind::Base)]), Ok(()));
        let refusal = room.check(&two_nodes(), &[need(2 * GIB, "0", PageKind::Base)]).unwrap_err();
        assert!(refusal.why.contains("control group /a") && refusal.cure.contains("memory.max"), "{refusal}");
    }

    #[test]
    fn group_version_1_is_read_too() {
        let dir = tree(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n"),
            ("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "73741824\n"),
        ]);
        assert_eq!(Room::new(dir.path()).group_room(), Some((1_000_000_000, "/docker/1".to_owned())));
    }

    #[test]
    fn an_empty_pool_is_refused_with_the_command_that_fills_it() {
        let pool = "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
        let node = "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages";
        let dir = tree(&[(pool, "5\n"), (node, "2\n")]);
        let room = Room::new(dir.path());
        assert_eq!(room.check(&two_nodes(), &[need(4 * MIB, "0", PageKind::Huge(2 * MIB))]), Ok(()));
        let refusal = room.check(&two_nodes(), &[need(6 * MIB, "0", PageKind::Huge(2 * MIB))]).unwrap_err();
        assert_eq!(refusal.why, "2 are free on node 0");
        assert!(
            refusal.cure.contains("echo 3 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages")
        );
        let unknown = room.check(&two_nodes(), &[need(GIB, "0", PageKind::Huge(GIB))]).unwrap_err();
        assert!(unknown.why.contains("no huge pages of 1G"), "{unknown}");
        // Each region fits on its node, both together do not fit on the machine.
        let both = [need(4 * MIB, "0", PageKind::Huge(2 * MIB)), need(8 * MIB, "1", PageKind::Huge(2 * MIB))];
        assert!(room.check(&two_nodes(), &both).unwrap_err().why.contains("on the machine"));
    }
}
