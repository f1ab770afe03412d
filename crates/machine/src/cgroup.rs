//! Control groups, version 1 and 2: the limits that apply to this process.

mod huge;
mod partitions;

use tiermark_model::{Cgroup, CpuQuota, IdSet, LimitFiles};

use crate::Root;
use crate::reader::{Reader, unescape};
pub use huge::own_huge_limits;
pub use partitions::{IsolatedCpus, isolated_cpus};

/// Version 1 says "no limit" with the largest page-aligned number below 2⁶³; no machine has 2⁶⁰ bytes.
const NO_LIMIT: u64 = 1 << 60;

/// Hierarchies that are looked at: version 1 has one for each of some thirteen controllers.
const MOST_MOUNTS: usize = 1024;
/// Bytes of a group's path: no kernel has longer ones (PATH_MAX).
const MAX_PATH: usize = 4096;
/// The words among controllers and options that matter here.
const KNOWN: [&str; 5] = ["memory", "cpu", "cpuset", "hugetlb", "noprefix"];

/// What control groups allow this process.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) cpus: Option<Cpuset>,
    pub(crate) nodes: Option<Cpuset>,
}

/// The cpus or memory nodes that a group may use, and the file that sets them.
#[derive(Debug)]
pub(crate) struct Cpuset {
    pub(crate) ids: IdSet,
    pub(crate) file: String,
    /// Whether it is that of the process's own group, or of one above.
    pub(crate) is_own: bool,
}

/// A mounted hierarchy.
struct Mount {
    /// Path inside the hierarchy that is mounted.
    root: String,
    point: String,
    version: u32,
    /// Which of [`KNOWN`] are among the mount options, as version 1 lists its controllers.
    options: Vec<&'static str>,
}

/// The group of this process in the hierarchy of one controller.
struct Membership<'a> {
    version: u32,
    path: String,
    mount: &'a Mount,
    /// Directories from the process's group up to the mount point.
    dirs: Vec<String>,
    /// Whether the process's group is among them. A path outside of what is mounted is another namespace's.
    inside: bool,
}

impl Membership<'_> {
    /// Whether files lack the controller's prefix, as in the cpuset file system of old.
    fn bare_names(&self) -> bool {
        self.mount.options.contains(&"noprefix")
    }

    /// Whether there are groups above those that are mounted here: a part of the hierarchy is mounted, or this process
    /// is in a cgroup namespace, where the uppermost group has one of these `files`, as the root of no hierarchy has.
    fn has_groups_above(&self, reader: &Reader<'_>, files: &[&str]) -> bool {
        let has = |dir: &String| files.iter().any(|file| reader.word(&format!("{dir}/{file}")).is_some());
        !self.inside || !self.mount.root.trim_matches('/').is_empty() || self.dirs.last().is_some_and(has)
    }
}

/// The control group of this process in the hierarchy of version 2: its path there, and its directory below the root.
/// `None` where that hierarchy is not mounted.
pub fn own_group(root: &Root) -> Option<(String, String)> {
    let reader = Reader::new(root);
    let mounts: Vec<Mount> = mounts(&reader).into_iter().filter(|mount| mount.version == 2).collect();
    // Version 2 lists no controllers: any name finds it.
    let place = place(&mounts, &groups(&reader), "memory")?;
    Some((place.path, place.dirs.into_iter().next()?))
}

/// What control groups allow this process, on the running system or a captured one; `None` where none are mounted.
#[must_use]
pub fn own_limits(root: &Root) -> Option<Cgroup> {
    read(&Reader::new(root)).cgroup
}

/// Bytes that this process may still allocate below its tightest memory limit, and the file of that limit. `None`
/// without a limit, or if the memory in use is not known. Reads less than [`own_limits`]: it is called before each
/// allocation.
#[must_use]
pub fn own_memory_room(root: &Root) -> Option<(u64, String)> {
    let reader = Reader::new(root);
    let (mounts, groups) = (mounts(&reader), groups(&reader));
    let place = place(&mounts, &groups, "memory")?;
    let limit = memory_limit(&reader, &place)?;
    Some((limit.bytes.saturating_sub(limit.used?), format!("/{}/{}", limit.dir, limit.file)))
}

/// Reads the limits of this process from the hierarchies it is in.
pub(crate) fn read(reader: &Reader<'_>) -> Limits {
    let mounts = mounts(reader);
    if mounts.is_empty() {
        return Limits::default();
    }
    let groups = groups(reader);
    let memory = place(&mounts, &groups, "memory");
    let cpu = place(&mounts, &groups, "cpu");
    let cpuset = place(&mounts, &groups, "cpuset");
    let place = memory.as_ref().or(cpu.as_ref()).or(cpuset.as_ref());
    let huge = self::place(&mounts, &groups, "hugetlb");
    let huge_limits = huge.map_or_else(Vec::new, |place| huge::read(reader, &place));
    let cgroup = place.map(|place| Cgroup { huge_limits, ..group(reader, place, cpu.as_ref()) });
    let ids = |what: &str| cpuset.as_ref().and_then(|place| cpuset_ids(reader, place, what));
    Limits { cgroup, cpus: ids("cpus"), nodes: ids("mems") }
}

fn mounts(reader: &Reader<'_>) -> Vec<Mount> {
    if let Some(text) = reader.lines("proc/self/mountinfo") {
        return text.lines().filter_map(mountinfo_line).take(MOST_MOUNTS).collect();
    }
    // Trees captured by other tools often have only the older table, which does not show which controller is mounted
    // where.
    let text = reader.lines("proc/mounts").unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let point = fields.next()?;
            let kind = fields.next()?;
            mount("/", point, kind, fields.next()?)
        })
        .take(MOST_MOUNTS)
        .collect()
}

/// `36 35 98:0 /root /point opts optional… - type source super-opts`
fn mountinfo_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let mut right = right.split(' ');
    let kind = right.next()?;
    mount(left.next()?, left.next()?, kind, right.nth(1).unwrap_or_default())
}

fn mount(root: &str, point: &str, kind: &str, options: &str) -> Option<Mount> {
    let mut options = known(options);
    let version = match kind {
        "cgroup" => 1,
        "cgroup2" => 2,
        "cpuset" => {
            options.extend(["cpuset", "noprefix"]);
            1
        }
        _ => return None,
    };
    Some(Mount { root: unescape(root), point: unescape(point), version, options })
}

/// Those of the [`KNOWN`] words that a list has.
fn known(list: &str) -> Vec<&'static str> {
    KNOWN.into_iter().filter(|word| list.split(',').any(|listed| listed == *word)).collect()
}

/// The group of this process in one hierarchy.
struct HierarchyGroup {
    /// Whether it is of version 2, which lists no controllers.
    unified: bool,
    controllers: Vec<&'static str>,
    path: String,
}

/// The groups this process is in.
fn groups(reader: &Reader<'_>) -> Vec<HierarchyGroup> {
    let mut groups: Vec<HierarchyGroup> = reader
        .lines("proc/self/cgroup")
        .unwrap_or_default()
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (listed, path) = (fields.next()?, fields.next().filter(|path| path.len() < MAX_PATH)?);
            let unified = listed.split(',').all(str::is_empty);
            Some(HierarchyGroup { unified, controllers: known(listed), path: path.to_owned() })
        })
        .take(MOST_MOUNTS)
        .collect();
    if groups.is_empty()
        && let Some(path) = reader.word("proc/self/cpuset").filter(|path| path.len() < MAX_PATH)
    {
        // Enough for the cpuset, in either version.
        groups.push(HierarchyGroup { unified: false, controllers: vec!["cpuset"], path: path.clone() });
        groups.push(HierarchyGroup { unified: true, controllers: Vec::new(), path });
    }
    groups
}

/// Where this process is for a controller: version 1 where the controller is mounted there, else version 2.
fn place<'a>(mounts: &'a [Mount], groups: &[HierarchyGroup], controller: &str) -> Option<Membership<'a>> {
    let v1 = mounts.iter().find(|m| m.version == 1 && m.options.contains(&controller)).and_then(|mount| {
        let group = groups.iter().find(|group| group.controllers.contains(&controller))?;
        Some((mount, &group.path))
    });
    let (mount, path) = v1.or_else(|| {
        let mount = mounts.iter().find(|m| m.version == 2)?;
        let group = groups.iter().find(|group| group.unified)?;
        Some((mount, &group.path))
    })?;
    let (dirs, inside) = dirs(mount, path);
    Some(Membership { version: mount.version, path: path.clone(), dirs, inside, mount })
}

/// The directories from the group up to the mount point, and whether the group is among them. A path outside of what is
/// mounted (another namespace's) leaves only the mount point.
fn dirs(mount: &Mount, path: &str) -> (Vec<String>, bool) {
    let inside = match mount.root.trim_end_matches('/') {
        "" => Some(path),
        root => path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/')),
    };
    let inside = inside.filter(|path| !path.split('/').any(|name| name == ".."));
    let names: Vec<&str> = inside.unwrap_or_default().split('/').filter(|name| !name.is_empty()).collect();
    let point = mount.point.trim_matches('/');
    let dir = |depth: usize| std::iter::once(point).chain(names[..depth].iter().copied()).collect::<Vec<_>>().join("/");
    ((0..=names.len()).rev().map(dir).collect(), inside.is_some())
}

/// What a group counts of its memory.
const STATISTICS: &str = "memory.stat";

/// A limit of memory, and the directory of the group that has it.
struct MemoryLimit<'a> {
    bytes: u64,
    used: Option<u64>,
    throttles: bool,
    dir: &'a str,
    file: &'static str,
}

/// The limit along the path that leaves least: one at which the kernel kills (`memory.max`), or slows allocations down
/// (`memory.high`).
fn memory_limit<'a>(reader: &Reader<'_>, place: &'a Membership<'_>) -> Option<MemoryLimit<'a>> {
    let files: &[(&'static str, bool)] = match place.version {
        2 => &[("memory.max", false), ("memory.high", true)],
        _ => &[("memory.limit_in_bytes", false)],
    };
    let limit = |dir: &'a String, (file, throttles): (&'static str, bool)| {
        let path = format!("{dir}/{file}");
        let text = reader.word(&path).filter(|text| text != "max")?;
        let bytes = reader.meant(&path, &text, "is not a memory limit", text.parse::<u64>().ok())?;
        let bytes = Some(bytes).filter(|bytes| *bytes < NO_LIMIT)?;
        Some(MemoryLimit { bytes, used: memory_used(reader, place.version, dir), throttles, dir, file })
    };
    let limits = place.dirs.iter().flat_map(|dir| files.iter().filter_map(move |file| limit(dir, *file)));
    let limits = limits.chain(limit_above(reader, place));
    let left = |limit: &MemoryLimit<'_>| limit.bytes.saturating_sub(limit.used.unwrap_or_default());
    limits.min_by_key(|limit| (left(limit), limit.bytes, limit.throttles))
}

/// The limit of the groups above those that are mounted here, which statistics of version 1 have.
fn limit_above<'a>(reader: &Reader<'_>, place: &'a Membership<'_>) -> Option<MemoryLimit<'a>> {
    let dir = place.dirs.last().filter(|_| place.version == 1)?;
    let bytes = count(reader, &format!("{dir}/{STATISTICS}"), "hierarchical_memory_limit")?;
    let own = reader.number::<u64>(&format!("{dir}/memory.limit_in_bytes"));
    let is_above = bytes < NO_LIMIT && own.is_none_or(|own| bytes < own);
    let used = || memory_used(reader, place.version, dir);
    is_above.then(|| MemoryLimit { bytes, used: used(), throttles: false, dir, file: STATISTICS })
}

/// Whether groups above may limit memory further. Statistics of version 1 have the limits above.
fn memory_unseen_above(reader: &Reader<'_>, place: &Membership<'_>) -> bool {
    let statistics = || place.dirs.last().map(|dir| format!("{dir}/{STATISTICS}"));
    let has_limit_of_parent =
        || statistics().is_some_and(|path| count(reader, &path, "hierarchical_memory_limit").is_some());
    place.has_groups_above(reader, &["memory.max"]) && !(place.version == 1 && place.inside && has_limit_of_parent())
}

/// Memory that a group uses, without the file cache that the kernel gives up before anything else.
fn memory_used(reader: &Reader<'_>, version: u32, dir: &str) -> Option<u64> {
    let (usage, cache) = match version {
        2 => ("memory.current", "inactive_file"),
        _ => ("memory.usage_in_bytes", "total_inactive_file"),
    };
    let used = reader.number::<u64>(&format!("{dir}/{usage}"))?;
    Some(used.saturating_sub(count(reader, &format!("{dir}/{STATISTICS}"), cache).unwrap_or_default()))
}

/// A count in a file of `name 123` lines, such as `memory.events` and `cpu.stat`.
fn count(reader: &Reader<'_>, path: &str, name: &str) -> Option<u64> {
    let text = reader.lines(path)?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The group of this process, with its limits and what the kernel did because of them.
fn group(reader: &Reader<'_>, place: &Membership<'_>, cpu: Option<&Membership<'_>>) -> Cgroup {
    let limit = memory_limit(reader, place);
    let cpu_quotas = cpu.map(|cpu| cpu_quotas(reader, cpu)).unwrap_or_default();
    let quota = cpu_quotas.iter().min_by(|a, b| a.cpus.total_cmp(&b.cpus));
    let throttled = memory_throttled(reader, place);
    let files = LimitFiles {
        memory: limit.as_ref().map(|limit| format!("/{}/{}", limit.dir, limit.file)),
        throttling: throttled.and_then(|(_, dir)| Some(format!("/{}/memory.high", dir?))),
        quota: quota.map(|quota| quota.file.clone()),
        ..LimitFiles::default()
    };
    Cgroup {
        version: place.version,
        path: place.path.clone(),
        memory_limit: limit.as_ref().map(|limit| limit.bytes),
        limit_throttles: limit.as_ref().is_some_and(|limit| limit.throttles),
        memory_kills: limit.as_ref().and_then(|limit| memory_kills(reader, place.version, limit.dir)),
        memory_throttled: throttled.map(|(times, _)| times),
        memory_used: limit.and_then(|limit| limit.used),
        memory_unseen_above: memory_unseen_above(reader, place),
        quota_unseen_above: cpu.is_some_and(|cpu| cpu.has_groups_above(reader, &["cpu.max", "cpu.cfs_quota_us"])),
        cpu_quota: quota.map(|quota| quota.cpus),
        cpu_quotas,
        huge_limits: Vec::new(),
        files,
    }
}

/// Processes of a group that the kernel killed for lack of memory, whether at its limit or the machine's; in version 2
/// those of groups below it too.
fn memory_kills(reader: &Reader<'_>, version: u32, dir: &str) -> Option<u64> {
    let file = if version == 2 { "memory.events" } else { "memory.oom_control" };
    count(reader, &format!("{dir}/{file}"), "oom_kill")
}

/// How often `memory.high` of a group along the path throttled, and the directory of that group: every such limit does,
/// not only the smallest. Without one, what the process's own group counts is of a limit that it had.
fn memory_throttled<'a>(reader: &Reader<'_>, place: &'a Membership<'_>) -> Option<(u64, Option<&'a str>)> {
    let high = |dir: &&String| reader.word(&format!("{dir}/memory.high")).is_some_and(|limit| limit != "max");
    // The other file counts what limits of groups below did, siblings among them.
    let times = |dir: &String| {
        ["memory.events.local", "memory.events"].iter().find_map(|file| count(reader, &format!("{dir}/{file}"), "high"))
    };
    let limiting = place.dirs.iter().filter(high).filter_map(|dir| Some((times(dir)?, Some(dir.as_str()))));
    limiting.max_by_key(|(times, _)| *times).or_else(|| Some((times(place.dirs.first()?)?, None)))
}

/// All quotas along the path, from the process's own group upwards.
fn cpu_quotas(reader: &Reader<'_>, place: &Membership<'_>) -> Vec<CpuQuota> {
    let file = if place.version == 2 { "cpu.max" } else { "cpu.cfs_quota_us" };
    let quota_of = |dir: &String| -> Option<CpuQuota> {
        let path = format!("{dir}/{file}");
        let (quota, period) = if place.version == 2 {
            let text = reader.word(&path)?;
            let (quota, period) = text.split_once(' ').unwrap_or((&text, "100000"));
            if quota == "max" {
                return None;
            }
            let both = quota.parse::<i64>().ok().zip(period.trim().parse::<i64>().ok());
            reader.meant(&path, &text, "is not a quota and a period", both)?
        } else {
            (reader.number(&path)?, reader.number(&format!("{dir}/cpu.cfs_period_us"))?)
        };
        let statistic = |name: &str| count(reader, &format!("{dir}/cpu.stat"), name);
        // -1 is version 1's "no quota".
        (quota > 0 && period > 0).then(|| CpuQuota {
            file: format!("/{path}"),
            cpus: quota as f64 / period as f64,
            throttled: statistic("nr_throttled"),
            // Version 1 counts nanoseconds.
            throttled_us: statistic("throttled_usec").or_else(|| Some(statistic("throttled_time")? / 1000)),
        })
    };
    place.dirs.iter().filter_map(quota_of).collect()
}

/// The cpus or memory nodes of the nearest group that states them. The uppermost group that allows no more sets them.
fn cpuset_ids(reader: &Reader<'_>, place: &Membership<'_>, what: &str) -> Option<Cpuset> {
    let names = match place.version {
        2 => [format!("cpuset.{what}.effective"), format!("cpuset.{what}")],
        _ if place.bare_names() => [format!("effective_{what}"), what.to_owned()],
        _ => [format!("cpuset.effective_{what}"), format!("cpuset.{what}")],
    };
    let stated = |dir: &String| {
        names.iter().find_map(|name| reader.id_list(&format!("{dir}/{name}")).filter(|ids| !ids.is_empty()))
    };
    let mut groups = place.dirs.iter().filter_map(|dir| Some((stated(dir)?, dir)));
    let (ids, nearest) = groups.next()?;
    let dir = groups.take_while(|(above, _)| *above == ids).last().map_or(nearest, |(_, dir)| dir);
    // The uppermost group of a hierarchy has all cpus but those of isolated partitions, and no file that sets them.
    let isolated = format!("{dir}/cpuset.{what}.isolated");
    let is_set = reader.word(&format!("{dir}/{}", names[1])).is_some();
    let file = match !is_set && reader.word(&isolated).is_some() {
        true => isolated,
        false => format!("{dir}/{}", names[1]),
    };
    Some(Cpuset { ids, file: format!("/{file}"), is_own: place.inside })
}

#[cfg(test)]
mod tests;
