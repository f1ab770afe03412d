//! The groups that use most: control groups by memory and stalls, and groups of resctrl by their traffic. Nothing is
//! changed, and a group of another program is only read.

use std::collections::BTreeMap;

use tiermark_machine::{OpenFile, Root, own_group, pressure};
use tiermark_model::WatchGroupKind;

/// Control groups that are looked at: a host of containers has some hundred. With two files each a look takes some 5 ms
/// of cpu time.
const MOST_GROUPS: usize = 400;
/// Levels below the mount point: a container is at `kubepods.slice/CLASS/POD/CONTAINER`.
const MOST_LEVELS: usize = 4;
/// Counters of resctrl that are read at each sample. The kernel asks a cpu of each cache for them, some 10 µs each.
const MOST_COUNTERS: usize = 128;
/// Start of the names of files of a control group; the other entries are groups below it.
const FILES: [&str; 12] =
    ["cgroup.", "memory.", "cpu.", "cpuset.", "io.", "pids.", "hugetlb.", "rdma.", "misc.", "irq.", "dmem.", "blkio."];
/// Behind the name of a group of resctrl that has monitoring groups: the kernel counts their tasks as its own too, so
/// that its traffic must not be added to theirs (Linux, Documentation/filesystems/resctrl.rst, `mon_data`).
const WITH_GROUPS: &str = " with its groups";
/// Where resctrl is mounted, and the start of the names of this program's own groups.
const RESCTRL: &str = "sys/fs/resctrl";
const OWN: &str = "tiermark-";

/// A group at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupReading {
    /// What kind of group it is.
    pub kind: WatchGroupKind,
    /// Memory that is charged to a control group, in bytes.
    pub memory: Option<u64>,
    /// Time in which a task of a control group waited for memory so far, in µs.
    pub stalled_us: Option<u64>,
    /// Bytes that the cpus of a group of resctrl read and wrote so far.
    pub traffic: Option<u64>,
    /// Those of them that were of the own node.
    pub local: Option<u64>,
}

/// The groups of a system.
#[derive(Debug)]
pub(crate) struct Groups {
    root: Root,
    /// The mount point of control groups of version 2.
    mount: Option<String>,
    /// Control groups that are read at each sample at most.
    most: usize,
    control: BTreeMap<String, (OpenFile, OpenFile)>,
    /// Groups of resctrl by their names.
    monitored: BTreeMap<String, Vec<(OpenFile, OpenFile)>>,
    /// Stalls of all groups at the look before, in µs.
    stalled: BTreeMap<String, u64>,
}

impl Groups {
    pub(crate) fn new(root: &Root, most: usize) -> Self {
        let mount = own_group(root).map(|(path, directory)| {
            let path = path.trim_end_matches('/');
            directory.strip_suffix(path).map_or(directory.clone(), str::to_owned)
        });
        Self {
            root: root.clone(),
            mount,
            most,
            control: BTreeMap::new(),
            monitored: BTreeMap::new(),
            stalled: BTreeMap::new(),
        }
    }

    /// Looks for groups that came, and chooses those that are read until the next look: those with most memory, and
    /// those that waited longest since the look before.
    pub(crate) fn look(&mut self) {
        let mut seen: Vec<(String, u64, u64)> = Vec::new();
        let mut stalled = BTreeMap::new();
        for path in self.leaves() {
            let Some(memory) = self.root.value(&format!("{path}/memory.current")) else { continue };
            let waited = self.root.text(&format!("{path}/memory.pressure")).and_then(|text| pressure(&text).ok());
            let waited = waited.map_or(0, |stalls| stalls.some.total_us);
            let grew = self.stalled.get(&path).map_or(0, |before| waited.saturating_sub(*before));
            stalled.insert(path.clone(), waited);
            seen.push((path, memory, grew));
        }
        self.stalled = stalled;
        let mut chosen: Vec<String> = Vec::new();
        seen.sort_by_key(|(_, memory, _)| std::cmp::Reverse(*memory));
        chosen.extend(seen.iter().take(self.most).map(|(path, ..)| path.clone()));
        seen.sort_by_key(|(_, _, grew)| std::cmp::Reverse(*grew));
        chosen.extend(seen.iter().take(self.most).filter(|(_, _, grew)| *grew > 0).map(|(path, ..)| path.clone()));
        self.control.retain(|path, _| chosen.contains(path));
        for path in chosen {
            let file = |name: &str| OpenFile::new(&self.root, format!("{path}/{name}"));
            self.control.entry(path.clone()).or_insert_with(|| (file("memory.current"), file("memory.pressure")));
        }
        self.look_for_monitors();
    }

    /// The control groups without groups below them, and those at the last level.
    fn leaves(&self) -> Vec<String> {
        let Some(mount) = &self.mount else { return Vec::new() };
        let (mut leaves, mut level) = (Vec::new(), vec![mount.trim_end_matches('/').to_owned()]);
        let mut looked = 0;
        for depth in 0..=MOST_LEVELS {
            let mut below = Vec::new();
            for path in level {
                let is_last = depth == MOST_LEVELS || looked >= MOST_GROUPS;
                let names = if is_last { Vec::new() } else { self.root.list(&path).unwrap_or_default() };
                looked += 1;
                // Entries of the hierarchy's top that no controller owns are files too.
                let is_group =
                    |name: &&String| !FILES.iter().any(|start| name.starts_with(start)) && name.as_str() != "debug";
                let groups: Vec<String> = names.iter().filter(is_group).map(|name| format!("{path}/{name}")).collect();
                if groups.is_empty() {
                    leaves.push(path);
                } else {
                    below.extend(groups);
                }
            }
            below.truncate(MOST_GROUPS);
            level = below;
        }
        leaves.truncate(MOST_GROUPS);
        leaves
    }

    /// Looks for groups of resctrl that count traffic: the default one, those that control, and monitoring groups of
    /// others.
    fn look_for_monitors(&mut self) {
        let list = |path: &str| self.root.list(path).unwrap_or_default();
        let mut directories = vec![("/".to_owned(), RESCTRL.to_owned())];
        let is_group = |name: &String| {
            !matches!(
                name.as_str(),
                "info" | "mon_data" | "mon_groups" | "schemata" | "tasks" | "cpus" | "cpus_list" | "mode" | "size"
            )
        };
        let controls: Vec<String> = list(RESCTRL).into_iter().filter(is_group).collect();
        directories.extend(controls.iter().map(|name| (name.clone(), format!("{RESCTRL}/{name}"))));
        let mut monitors: Vec<(String, String)> = Vec::new();
        for (name, path) in &mut directories {
            let below = list(&format!("{path}/mon_groups"));
            let shown = below.iter().filter(|group| !group.starts_with(OWN));
            monitors.extend(shown.map(|group| {
                (format!("{}/{group}", name.trim_end_matches('/')), format!("{path}/mon_groups/{group}"))
            }));
            if !below.is_empty() {
                name.push_str(WITH_GROUPS);
            }
        }
        directories.extend(monitors);
        let mut files = 0;
        let mut found: BTreeMap<String, Vec<(OpenFile, OpenFile)>> = BTreeMap::new();
        for (name, path) in directories {
            let domains = list(&format!("{path}/mon_data"));
            files += 2 * domains.len();
            if domains.is_empty() || files > MOST_COUNTERS {
                continue;
            }
            let file =
                |domain: &str, of: &str| OpenFile::new(&self.root, format!("{path}/mon_data/{domain}/mbm_{of}_bytes"));
            let open = || domains.iter().map(|domain| (file(domain, "total"), file(domain, "local"))).collect();
            let kept = self.monitored.remove(&name).filter(|kept| kept.len() == domains.len());
            found.insert(name, kept.unwrap_or_else(open));
        }
        self.monitored = found;
    }

    /// The chosen groups now, by name.
    pub(crate) fn read(&mut self) -> BTreeMap<String, GroupReading> {
        let mount = self.mount.clone().unwrap_or_default();
        let control = self.control.iter_mut().filter_map(|(path, (current, waited))| {
            // A group that was removed has no file.
            let memory = current.text()?.trim().parse().ok()?;
            let waited = waited.text().and_then(|text| pressure(text).ok());
            let reading = GroupReading {
                kind: WatchGroupKind::Control,
                memory: Some(memory),
                stalled_us: waited.map(|stalls| stalls.some.total_us),
                traffic: None,
                local: None,
            };
            let name = path.strip_prefix(mount.trim_end_matches('/')).filter(|name| !name.is_empty()).unwrap_or("/");
            Some((name.to_owned(), reading))
        });
        let mut all: BTreeMap<String, GroupReading> = control.collect();
        all.extend(self.monitored.iter_mut().map(|(name, domains)| {
            let mut sum = |file: fn(&mut (OpenFile, OpenFile)) -> &mut OpenFile| {
                // `Unavailable` and `Unassigned` are no counts, and a sum without them is of a part.
                domains.iter_mut().map(|files| file(files).text()?.trim().parse::<u64>().ok()).sum::<Option<u64>>()
            };
            let (traffic, local) = (sum(|files| &mut files.0), sum(|files| &mut files.1));
            let kind = WatchGroupKind::Resctrl;
            (format!("resctrl:{name}"), GroupReading { kind, memory: None, stalled_us: None, traffic, local })
        }));
        all
    }
}
