//! Cache instances and the groups of cpus behind one last-level cache.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tiermark_model::messages::machine as messages;
use tiermark_model::{Bytes, Cache, CacheKind, Cpu, IdSet, KIB};

use crate::cpuinfo::CpuInfo;
use crate::reader::{CPU_DIR, Reader};
use crate::sharing::{CacheView, sharers};

/// Caches that one cpu may have: three times as many as any is known to have.
const MOST_OF_CPU: usize = 16;
/// The level that the cores of a die share on nearly every server.
const OUTER: u8 = 3;
/// No cache is that large: a size above it is invented.
const MOST_BYTES: u64 = 1 << 40;

/// Reads every cache instance of the online cpus, once each, ordered by level, kind, first cpu.
pub(crate) fn read(reader: &Reader<'_>, cpus: &[Cpu], info: &CpuInfo) -> Vec<Cache> {
    let views: Vec<CacheView> = cpus.iter().flat_map(|cpu| views(reader, cpu)).collect();
    if views.is_empty() {
        reader.refuse(messages::caches_not_described(&format!("/{CPU_DIR}")));
    }
    let mut seen = HashSet::new();
    let mut wrong = BTreeSet::new();
    let mut caches = Vec::new();
    for (view, cpus) in views.iter().zip(sharers(reader, cpus, &views)) {
        if !seen.insert((view.level, view.kind, cpus.clone())) {
            continue;
        }
        let at = |name: &str| format!("{}/{name}", view.dir);
        let positive = |name: &str| reader.number::<u32>(&at(name)).filter(|n| *n != 0);
        let (bytes, line_bytes, sets) =
            (reader.size(&at("size")), positive("coherency_line_size"), positive("number_of_sets"));
        let mut ways = positive("ways_of_associativity");
        if let (Some(size), Some(line), Some(sets), Some(declared)) = (bytes, line_bytes, sets, ways)
            && !multiply_to(size, [declared, sets, line, positive("physical_line_partition").unwrap_or(1)])
        {
            wrong.insert((view.level, declared, sets, line, size));
            ways = None;
        }
        caches.push(Cache { level: view.level, kind: view.kind, bytes, line_bytes, ways, sets, cpus });
    }
    for (level, ways, sets, line, size) in wrong {
        // Which of the factors is wrong is not known: the ways, which nothing else needs, are left out. Real processors
        // are described so.
        reader.refuse(messages::ways_unknown(level, ways, sets, line, Bytes(size)));
    }
    settle_last(reader, cpus, &mut caches, info);
    caches.sort_by_key(|cache: &Cache| (cache.level, cache.kind, cache.cpus.first()));
    caches
}

/// The last level decides how much memory is beyond all caches. Where its size is not stated, or the level itself is
/// missing, that of `/proc/cpuinfo` stands in; without it the reader learns that the size is not known.
fn settle_last(reader: &Reader<'_>, cpus: &[Cpu], caches: &mut Vec<Cache>, info: &CpuInfo) {
    let is_data = |cache: &&Cache| cache.kind != CacheKind::Instruction;
    let Some(last) = caches.iter().filter(is_data).map(|cache| cache.level).max() else { return };
    let inner = caches.iter().filter(is_data).filter(|cache| cache.level < last).filter_map(|cache| cache.bytes).max();
    // One that is smaller than a core's own caches, or larger than any, is invented.
    let is_known = |cache: &Cache| cache.bytes.is_some_and(|bytes| Some(bytes) >= inner && bytes < MOST_BYTES);
    let largest =
        caches.iter().filter(is_data).filter_map(|cache| cache.bytes.filter(|bytes| *bytes < MOST_BYTES)).max();
    let by_cpuinfo = info.cache_bytes.filter(|_| info.model.vendor.as_deref() == Some("GenuineIntel"));
    // Where no third level is described, it may be the size of the second.
    let is_of_last = |bytes: u64| if last < OUTER { Some(bytes) > largest } else { Some(bytes) >= inner };
    let by_cpuinfo = by_cpuinfo.filter(|bytes| is_of_last(*bytes) && *bytes < MOST_BYTES);
    if last < OUTER {
        match by_cpuinfo {
            Some(bytes) => caches.extend(of_dies(cpus, bytes)),
            None => reader.refuse(messages::last_cache_not_described(last)),
        }
        return;
    }
    let untold: Vec<&mut Cache> =
        caches.iter_mut().filter(|cache| cache.level == last && is_data(&&**cache) && !is_known(cache)).collect();
    if !untold.is_empty() && by_cpuinfo.is_none() {
        reader.refuse(messages::last_cache_size_unknown(last));
    }
    untold.into_iter().for_each(|cache| cache.bytes = by_cpuinfo);
}

/// The last cache that no directory describes: one for each die (else socket), as on nearly every server.
fn of_dies(cpus: &[Cpu], bytes: u64) -> Vec<Cache> {
    let mut dies: BTreeMap<(u32, Option<u32>), IdSet> = BTreeMap::new();
    for cpu in cpus {
        dies.entry((cpu.socket, cpu.die)).or_default().insert(cpu.id);
    }
    let cache = |cpus| Cache {
        level: OUTER,
        kind: CacheKind::Unified,
        bytes: Some(bytes),
        line_bytes: None,
        ways: None,
        sets: None,
        cpus,
    };
    dies.into_values().map(cache).collect()
}

/// Whether these factors make up a size, which the kernel gives in whole KiB.
fn multiply_to(size: u64, factors: [u32; 4]) -> bool {
    let product: u128 = factors.into_iter().map(u128::from).product();
    product.abs_diff(u128::from(size)) < u128::from(KIB)
}

fn views(reader: &Reader<'_>, cpu: &Cpu) -> Vec<CacheView> {
    let dir = format!("{CPU_DIR}/cpu{}/cache", cpu.id);
    let indices = reader.numbered(&dir, "index").into_iter().take(MOST_OF_CPU);
    indices
        .filter_map(|index| {
            let dir = format!("{dir}/index{index}");
            let level = reader.number(&format!("{dir}/level"))?;
            let kind = kind(reader, &format!("{dir}/type"))?;
            Some(CacheView { cpu: cpu.id, core: cpu.core, socket: cpu.socket, dir, level, kind })
        })
        .collect()
}

fn kind(reader: &Reader<'_>, path: &str) -> Option<CacheKind> {
    reader.value(path, "is neither Data, Instruction nor Unified", |text| match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    })
}

/// Gives each cpu the index of its last-level-cache group, numbered in order of the first cpu.
///
/// Where no cache is known at all, the die (else the socket) stands in: the cpus of one die share the last cache on
/// nearly every server.
pub(crate) fn assign_groups(cpus: &mut [Cpu], caches: &[Cache]) {
    let mut last: BTreeMap<u32, (u8, usize)> = BTreeMap::new();
    for (index, cache) in caches.iter().enumerate().filter(|(_, cache)| cache.kind != CacheKind::Instruction) {
        for cpu in cache.cpus.iter() {
            let best = last.entry(cpu).or_insert((cache.level, index));
            if cache.level > best.0 {
                *best = (cache.level, index);
            }
        }
    }
    let mut numbers = BTreeMap::new();
    for cpu in cpus {
        let key = match last.get(&cpu.id) {
            Some((_, index)) => (Some(*index), 0, None),
            None if last.is_empty() => (None, cpu.socket, cpu.die),
            None => continue,
        };
        let next = numbers.len() as u32;
        cpu.llc = Some(*numbers.entry(key).or_insert(next));
    }
}
