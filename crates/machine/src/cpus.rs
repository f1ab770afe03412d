//! Logical cpus, and the cores, clusters, dies and sockets they form.

use std::collections::{BTreeMap, HashMap, HashSet};

use tiermark_model::{Cpu, CpuId, DisputedFact, IdSet};

use crate::cpuinfo::CpuInfo;
use crate::reader::{CPU_DIR, Reader};

/// Ids above this are refused where nothing but a list names them: the largest `NR_CPUS` any kernel is built with.
const MAX_BARE_CPUS: u32 = 8192;

/// Cpus of a package for each one with another package id that show this one to be wrong.
const MANY: usize = 3;

/// Online cpus and offline ones.
pub(crate) struct CpuSets {
    pub(crate) online: IdSet,
    pub(crate) offline: IdSet,
}

/// Finds the online cpus: each cpu's own files, else sysfs's list, else `/proc/cpuinfo`.
///
/// A cpu's own switch is the kernel's word for it, and so is the affinity that the scheduler enforces (`running`, of a
/// live system). The list is mounted over in some containers (lxcfs), where it names the cpus of the container.
pub(crate) fn find(reader: &Reader<'_>, info: &CpuInfo, running: Option<&IdSet>) -> CpuSets {
    let dirs: IdSet = reader.numbered(CPU_DIR, "cpu").into_iter().collect();
    let present = reader.id_list(&format!("{CPU_DIR}/present")).unwrap_or_default();
    let list_path = format!("{CPU_DIR}/online");
    let list = reader.id_list(&list_path).filter(|list| !list.is_empty());
    let online: IdSet = if dirs.is_empty() {
        list.clone().unwrap_or_default().iter().filter(|id| *id < MAX_BARE_CPUS).collect()
    } else {
        let is_online =
            |id: &CpuId| running.is_some_and(|cpus| cpus.contains(*id)) || says_online(reader, *id, list.as_ref());
        dirs.iter().filter(is_online).collect()
    };
    let online = if online.is_empty() { info.processors.clone() } else { online };
    if let Some(list) = list.filter(|list| *list != online) {
        let used = if dirs.is_empty() { "the largest number of cpus of any kernel" } else { "the files of each cpu" };
        reader.contradict(DisputedFact::OnlineCpus, (used, &online), (&format!("/{list_path}"), &list));
    }
    // Some kernels make directories for cpus that could be plugged in but are not there.
    let known = if present.is_empty() { dirs } else { dirs.intersection(&present) };
    CpuSets { offline: known.difference(&online), online }
}

/// Whether a cpu with a directory is online: by its switch; else, as the first cpu often has none, by the list, or
/// because the kernel describes its topology, which it does of online cpus only. Kernels before 2.6.26 have no list.
fn says_online(reader: &Reader<'_>, id: CpuId, list: Option<&IdSet>) -> bool {
    match reader.word(&format!("{CPU_DIR}/cpu{id}/online")).as_deref() {
        Some("0") => false,
        Some("1") => true,
        _ => {
            let listed = list.is_none_or(|list| list.contains(id));
            listed || !reader.list(&format!("{CPU_DIR}/cpu{id}/topology")).is_empty()
        }
    }
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
    dispute_packages(reader, &places, &sockets, info);
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

/// The kernel's package id of each cpu: its own, unless three times as many cpus with the same set of the package have
/// another. A set that is about evenly divided is wrong itself.
fn packages(places: &BTreeMap<CpuId, CpuTopology>) -> BTreeMap<CpuId, i64> {
    let own = |place: &CpuTopology| place.package.unwrap_or(-1);
    let mut holders: HashMap<&IdSet, BTreeMap<i64, usize>> = HashMap::new();
    for place in places.values() {
        let ids = place.package_cpus.iter().map(|set| (set, own(place)));
        ids.for_each(|(set, id)| *holders.entry(set).or_default().entry(id).or_default() += 1);
    }
    let shared_id = |place: &CpuTopology| {
        let ids = holders.get(place.package_cpus.as_ref()?)?;
        let (most, count) = ids.iter().max_by_key(|(_, count)| **count)?;
        (*count >= MANY * ids.get(&own(place))?).then_some(*most)
    };
    places.iter().map(|(id, place)| (*id, shared_id(place).unwrap_or_else(|| own(place)))).collect()
}

/// The socket of each cpu: the kernel's package id if these differ between packages, else packages are numbered.
///
/// On s390 all ids are -1, and some Itanium boards repeat ids: only the sets of siblings differ there.
fn sockets(places: &BTreeMap<CpuId, CpuTopology>) -> BTreeMap<CpuId, u32> {
    let packages = packages(places);
    let mut groups: BTreeMap<i64, HashSet<Option<&IdSet>>> = BTreeMap::new();
    for (id, place) in places {
        groups.entry(packages[id]).or_default().insert(place.package_cpus.as_ref());
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
            let package = packages[&id];
            if let (true, Ok(socket)) = (trusted, u32::try_from(package)) {
                return (id, socket);
            }
            let first = place.package_cpus.as_ref().filter(|_| split(&package)).and_then(IdSet::first);
            let next = numbers.len() as u32;
            (id, *numbers.entry((package, first)).or_insert(next))
        })
        .collect()
}

/// Names the first cpu whose package has several views: the kernel's number, its set of cpus, and the number in
/// `/proc/cpuinfo`.
fn dispute_packages(
    reader: &Reader<'_>,
    places: &BTreeMap<CpuId, CpuTopology>,
    sockets: &BTreeMap<CpuId, u32>,
    info: &CpuInfo,
) {
    const NUMBER: &str = "physical_package_id";
    const SET: &str = "package_cpus";
    let mut members: BTreeMap<u32, IdSet> = BTreeMap::new();
    let mut numbered: BTreeMap<i64, IdSet> = BTreeMap::new();
    for (id, place) in places {
        members.entry(sockets.get(id).copied().unwrap_or_default()).or_default().insert(*id);
        // The kernel's word for "unknown" is -1.
        if let Some(number) = place.package.filter(|number| *number >= 0) {
            numbered.entry(number).or_default().insert(*id);
        }
    }
    let dispute = |(id, place): (&CpuId, &CpuTopology)| {
        let fact = DisputedFact::Package { cpu: *id };
        let own = members.get(sockets.get(id)?)?;
        let by_number = place.package.and_then(|number| numbered.get(&number)).filter(|set| *set != own);
        let by_set = place.package_cpus.as_ref().filter(|set| *set != own);
        match (by_number, by_set) {
            (_, Some(set)) => reader.contradict(fact, (NUMBER, &of_cpus(own)), (SET, &of_cpus(set))),
            (Some(set), None) => reader.contradict(fact, (SET, &of_cpus(own)), (NUMBER, &of_cpus(set))),
            (None, None) => return None,
        }
        Some(())
    };
    let by_cpuinfo = |(id, place): (&CpuId, &CpuTopology)| {
        let (number, other) = (place.package?, i64::from(*info.sockets.get(id)?));
        let is_other = number != other;
        is_other.then(|| {
            let fact = DisputedFact::Package { cpu: *id };
            reader.contradict(fact, (NUMBER, &number), ("/proc/cpuinfo", &other));
        })
    };
    // One of each is enough: a wrong number contradicts the sets of all its neighbours. It is named before these.
    let packages = packages(places);
    let is_wrong = |(id, place): &(&CpuId, &CpuTopology)| place.package.is_some_and(|own| own != packages[id]);
    let mut wrong_first = places.iter().filter(is_wrong).chain(places.iter());
    let _ = (wrong_first.find_map(dispute), places.iter().find_map(by_cpuinfo));
}

/// Names threads of a core that are online although the kernel's switch for them is off.
pub(crate) fn dispute_threads(reader: &Reader<'_>, cpus: &[Cpu], switch: Option<&str>) {
    let threads = cpus.iter().map(|cpu| cpu.smt_rank + 1).max().unwrap_or(1);
    if let Some(switch) = switch.filter(|switch| threads > 1 && ["off", "forceoff"].contains(switch)) {
        let file = format!("/{CPU_DIR}/smt/control");
        reader.contradict(DisputedFact::Threads, ("the cpus online", &threads), (&file, &switch));
    }
}

fn of_cpus(cpus: &IdSet) -> String {
    format!("that of cpus {cpus}")
}

/// The machine-wide core number of each cpu, in order of socket, die, core id.
fn cores(places: &BTreeMap<CpuId, CpuTopology>, sockets: &BTreeMap<CpuId, u32>) -> BTreeMap<CpuId, u32> {
    let mut holders: HashMap<&IdSet, usize> = HashMap::new();
    places.values().filter_map(|place| place.siblings.as_ref()).for_each(|set| *holders.entry(set).or_default() += 1);
    let keys: BTreeMap<CpuId, _> = places
        .iter()
        .map(|(&id, place)| {
            let socket = sockets.get(&id).copied().unwrap_or_default();
            // Sets of siblings must agree with each other, or they group nothing: a set holds the cpu that has it, so
            // that all its cpus have it where as many have it as it holds.
            let consistent = place.siblings.as_ref().filter(|set| holders.get(*set) == Some(&set.len()));
            let leader = match (consistent.and_then(IdSet::first), place.core_id) {
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
