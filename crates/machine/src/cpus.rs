//! Logical cpus, and the cores, clusters, dies and sockets they form.

use std::collections::{BTreeMap, HashMap, HashSet};

use tiermark_model::{Cpu, CpuId, IdSet};

use crate::cpuinfo::CpuInfo;
use crate::reader::Reader;

/// Where the kernel describes its cpus.
pub(crate) const CPU_DIR: &str = "sys/devices/system/cpu";

/// Ids above this are refused where nothing but a list names them: the largest `NR_CPUS` any kernel is built with.
const MAX_BARE_CPUS: u32 = 8192;

/// Online cpus and offline ones.
pub(crate) struct CpuSets {
    pub(crate) online: IdSet,
    pub(crate) offline: IdSet,
}

/// Finds the online cpus: sysfs's list, else the `cpuN` directories, else `/proc/cpuinfo`.
pub(crate) fn find(reader: &Reader<'_>, info: &CpuInfo) -> CpuSets {
    let dirs: IdSet = reader.numbered(CPU_DIR, "cpu").into_iter().collect();
    let present = reader.id_list(&format!("{CPU_DIR}/present")).unwrap_or_default();
    let list_path = format!("{CPU_DIR}/online");
    let online = match reader.id_list(&list_path).filter(|list| !list.is_empty()) {
        Some(list) if dirs.is_empty() => {
            let cut: IdSet = list.iter().filter(|id| *id < MAX_BARE_CPUS).collect();
            if cut != list {
                reader.malformed(&list_path, &list.to_string(), "names more cpus than any kernel has");
            }
            cut
        }
        Some(list) => {
            let extra = list.difference(&dirs);
            if !extra.is_empty() {
                reader.malformed(&list_path, &list.to_string(), "names cpus that have no directory");
            }
            list.intersection(&dirs)
        }
        None => IdSet::new(),
    };
    let online = if online.is_empty() { from_dirs(reader, &dirs) } else { online };
    let online = if online.is_empty() { info.processors.clone() } else { online };
    // Some kernels make directories for cpus that could be plugged in but are not there.
    let known = if present.is_empty() { dirs } else { dirs.intersection(&present) };
    CpuSets { offline: known.difference(&online), online }
}

/// The directories of cpus that are not switched off. Kernels before 2.6.26 have no `online` list, and the first
/// cpu often has no switch; an offline cpu has no topology either.
fn from_dirs(reader: &Reader<'_>, dirs: &IdSet) -> IdSet {
    dirs.iter().filter(|id| reader.word(&format!("{CPU_DIR}/cpu{id}/online")).as_deref() != Some("0")).collect()
}

/// One cpu's position by sysfs; `None` if sysfs does not have it.
#[derive(Default, Clone)]
struct CpuTopology {
    package: Option<i64>,
    package_cpus: Option<IdSet>,
    die: Option<u32>,
    cluster: Option<u32>,
    core_id: Option<i64>,
    siblings: Option<IdSet>,
}

/// Reads the topology of the online cpus. Node, last-level cache and kind of core are filled in elsewhere.
pub(crate) fn topology(reader: &Reader<'_>, online: &IdSet, info: &CpuInfo) -> Vec<Cpu> {
    let places: BTreeMap<CpuId, CpuTopology> = online.iter().map(|id| (id, place(reader, online, info, id))).collect();
    let sockets = sockets(&places);
    let cores = cores(&places, &sockets);
    let mut ranks: BTreeMap<u32, u32> = BTreeMap::new();
    places
        .iter()
        .map(|(&id, place)| {
            let core = cores.get(&id).copied().unwrap_or_default();
            let rank = ranks.entry(core).or_default();
            *rank += 1;
            Cpu {
                id,
                core,
                smt_rank: *rank - 1,
                socket: sockets.get(&id).copied().unwrap_or_default(),
                die: place.die,
                cluster: place.cluster,
                ..Cpu::default()
            }
        })
        .collect()
}

fn place(reader: &Reader<'_>, online: &IdSet, info: &CpuInfo, id: CpuId) -> CpuTopology {
    let at = |name: &str| format!("{CPU_DIR}/cpu{id}/topology/{name}");
    // A set that leaves out the cpu it is about says nothing.
    let group = |list: &str, mask: &str| reader.ids(&at(list), &at(mask), online).filter(|cpus| cpus.contains(id));
    // The kernel's words for "unknown" are -1 and, for an id that an APIC does not give, 65535.
    let known =
        |name: &str| reader.number::<i64>(&at(name)).and_then(|n| u32::try_from(n).ok()).filter(|n| *n != 65535);
    CpuTopology {
        package: reader.number(&at("physical_package_id")).or_else(|| info.sockets.get(&id).copied().map(i64::from)),
        package_cpus: group("package_cpus_list", "package_cpus")
            .or_else(|| group("core_siblings_list", "core_siblings")),
        die: known("die_id"),
        cluster: known("cluster_id"),
        core_id: reader.number(&at("core_id")).or_else(|| info.cores.get(&id).copied().map(i64::from)),
        siblings: group("core_cpus_list", "core_cpus").or_else(|| group("thread_siblings_list", "thread_siblings")),
    }
}

/// The socket of each cpu: the kernel's package id if these differ between packages, else packages are numbered.
///
/// On s390 all ids are -1, and some Itanium boards repeat ids: only the sets of siblings differ there.
fn sockets(places: &BTreeMap<CpuId, CpuTopology>) -> BTreeMap<CpuId, u32> {
    let mut groups: BTreeMap<i64, HashSet<Option<&IdSet>>> = BTreeMap::new();
    for place in places.values() {
        groups.entry(place.package.unwrap_or(-1)).or_default().insert(place.package_cpus.as_ref());
    }
    // Sets that overlap are damage, not packages.
    let is_apart = |sets: &HashSet<Option<&IdSet>>| {
        let members: usize = sets.iter().map(|set| set.map_or(0, IdSet::len)).sum();
        let union = IdSet::union_of(sets.iter().copied().flatten());
        sets.iter().all(Option::is_some) && union.len() == members
    };
    let apart: BTreeMap<i64, bool> = groups.iter().map(|(id, sets)| (*id, is_apart(sets))).collect();
    let split = |id: &i64| apart.get(id).copied().unwrap_or_default();
    let trusted = groups.iter().all(|(id, sets)| u32::try_from(*id).is_ok() && (sets.len() == 1 || !split(id)));
    let mut numbers: BTreeMap<(i64, Option<CpuId>), u32> = BTreeMap::new();
    places
        .iter()
        .map(|(&id, place)| {
            let package = place.package.unwrap_or(-1);
            if let (true, Ok(socket)) = (trusted, u32::try_from(package)) {
                return (id, socket);
            }
            let first = place.package_cpus.as_ref().filter(|_| split(&package)).and_then(IdSet::first);
            let next = numbers.len() as u32;
            (id, *numbers.entry((package, first)).or_insert(next))
        })
        .collect()
}

/// The machine-wide core number of each cpu, in order of socket, die, core id.
fn cores(places: &BTreeMap<CpuId, CpuTopology>, sockets: &BTreeMap<CpuId, u32>) -> BTreeMap<CpuId, u32> {
    let mut holders: HashMap<&IdSet, usize> = HashMap::new();
    places.values().filter_map(|place| place.siblings.as_ref()).for_each(|set| *holders.entry(set).or_default() += 1);
    let keys: BTreeMap<CpuId, _> = places
        .iter()
        .map(|(&id, place)| {
            let socket = sockets.get(&id).copied().unwrap_or_default();
            // Sets of siblings must agree with each other, or they group nothing: a set holds the cpu that has it, so that all its cpus
            // have it where as many have it as it holds.
            let agreed = place.siblings.as_ref().filter(|set| holders.get(*set) == Some(&set.len()));
            let leader = match (agreed.and_then(IdSet::first), place.core_id) {
                (Some(first), _) => Some(first),
                (None, Some(_)) => None,
                (None, None) => Some(id),
            };
            // Siblings with different core ids are cores that share a module (AMD family 15h), not threads.
            (id, (socket, place.die, place.core_id, leader))
        })
        .collect();
    let mut order: Vec<_> = keys.values().copied().collect();
    order.sort_unstable();
    order.dedup();
    keys.iter().map(|(&id, key)| (id, order.partition_point(|k| k < key) as u32)).collect()
}
