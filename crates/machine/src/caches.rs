//! Cache instances and the groups of cpus behind one last-level cache.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tiermark_model::messages::machine as messages;
use tiermark_model::{Bytes, Cache, CacheKind, Cpu, KIB};

use crate::cpus::CPU_DIR;
use crate::reader::Reader;
use crate::sharing::{CacheView, sharers};

/// Caches that one cpu may have: three times as many as any is known to have.
const MOST_OF_CPU: usize = 16;

/// Reads every cache instance of the online cpus, once each, ordered by level, kind, first cpu.
pub(crate) fn read(reader: &Reader<'_>, cpus: &[Cpu]) -> Vec<Cache> {
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
        // Which of the factors is wrong is not known: the ways, which nothing else needs, are left out. Real processors are described so.
        reader.refuse(messages::ways_unknown(level, ways, sets, line, Bytes(size)));
    }
    caches.sort_by_key(|cache: &Cache| (cache.level, cache.kind, cache.cpus.first()));
    caches
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
    match reader.word(path)?.as_str() {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        other => {
            reader.malformed(path, other, "is neither Data, Instruction nor Unified");
            None
        }
    }
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
