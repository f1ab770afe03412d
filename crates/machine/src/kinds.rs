//! Kinds of cores on hybrid machines.

use std::collections::BTreeMap;

use tiermark_model::{Cache, CacheKind, CoreKind, Cpu, CpuId, IdSet};

use crate::reader::{CPU_DIR, Reader};

/// Capacities this far apart are different cores. Favoured cores of one kind differ by a few percent, and the
/// nearest two kinds known (Cortex-X against Cortex-A7xx) by a quarter.
const CAPACITY_GAP: f64 = 1.2;
/// Clock limits are a weaker hint than capacity: only a wide gap counts (a favoured core turbos 10 % higher).
const CLOCK_GAP: f64 = 1.3;

/// Types of cores that one machine may list: three are known.
const MOST_TYPES: usize = 16;

/// Sets the kind of each cpu where the machine has more than one.
pub(crate) fn assign(reader: &Reader<'_>, cpus: &mut [Cpu], caches: &[Cache]) {
    let kinds = from_perf_units(reader, cpus)
        .or_else(|| by_figure(&figures(reader, cpus, "cpu_capacity")?, CAPACITY_GAP))
        .or_else(|| by_figure(&l1_bytes(cpus, caches)?, CAPACITY_GAP))
        .or_else(|| by_figure(&figures(reader, cpus, "cpufreq/cpuinfo_max_freq")?, CLOCK_GAP));
    if let Some(kinds) = kinds {
        for cpu in cpus {
            cpu.kind = kinds.get(&cpu.id).copied();
        }
    }
}

/// Intel hybrids: one performance-monitoring unit a kind, or the list of types some kernels had.
fn from_perf_units(reader: &Reader<'_>, cpus: &[Cpu]) -> Option<BTreeMap<CpuId, CoreKind>> {
    let online: IdSet = cpus.iter().map(|cpu| cpu.id).collect();
    let units = [
        ("sys/devices/cpu_core/cpus", CoreKind::Performance),
        ("sys/devices/cpu_atom/cpus", CoreKind::Efficiency),
        ("sys/devices/cpu_lowpower/cpus", CoreKind::LowPower),
    ];
    let mut kinds = BTreeMap::new();
    for (path, kind) in units {
        let ids = reader.id_list(path).unwrap_or_default().intersection(&online);
        kinds.extend(ids.iter().map(|id| (id, kind)));
    }
    if kinds.is_empty() {
        for name in reader.list(&format!("{CPU_DIR}/types")).into_iter().take(MOST_TYPES) {
            let kind = match name.as_str() {
                name if name.starts_with("intel_core") => CoreKind::Performance,
                name if name.starts_with("intel_atom") => CoreKind::Efficiency,
                _ => continue,
            };
            let at = |file: &str| format!("{CPU_DIR}/types/{name}/{file}");
            let ids = reader.ids(&at("cpulist"), &at("cpumap"), &online).unwrap_or_default();
            kinds.extend(ids.iter().map(|id| (id, kind)));
        }
    }
    several(kinds)
}

/// A figure that the kernel gives for each cpu; `None` where it leaves one out.
fn figures(reader: &Reader<'_>, cpus: &[Cpu], file: &str) -> Option<BTreeMap<CpuId, u64>> {
    cpus.iter().map(|cpu| Some((cpu.id, reader.number(&format!("{CPU_DIR}/cpu{}/{file}", cpu.id))?))).collect()
}

/// Bytes of each cpu's first-level data cache: cores of one design have the same, and larger designs larger ones.
fn l1_bytes(cpus: &[Cpu], caches: &[Cache]) -> Option<BTreeMap<CpuId, u64>> {
    let first = caches.iter().filter(|cache| cache.level == 1 && cache.kind == CacheKind::Data);
    let bytes: BTreeMap<CpuId, u64> = first
        .filter_map(|cache| Some((cache, cache.bytes?)))
        .flat_map(|(c, b)| c.cpus.iter().map(move |cpu| (cpu, b)))
        .collect();
    cpus.iter().all(|cpu| bytes.contains_key(&cpu.id)).then_some(bytes)
}

/// Kinds by a figure that is larger for faster cores.
fn by_figure(figures: &BTreeMap<CpuId, u64>, gap: f64) -> Option<BTreeMap<CpuId, CoreKind>> {
    let mut distinct: Vec<u64> = figures.values().copied().filter(|f| *f > 0).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // The smallest figure of each kind, slowest kind first.
    let mut floors: Vec<u64> = Vec::new();
    let mut last = 0;
    for figure in distinct {
        if last == 0 || figure as f64 >= last as f64 * gap {
            floors.push(figure);
        }
        last = figure;
    }
    let count = floors.len();
    let kind_of = |figure: u64| match floors.iter().filter(|floor| **floor <= figure).count() {
        rank if rank == count => CoreKind::Performance,
        rank if rank <= 1 && count >= 3 => CoreKind::LowPower,
        _ => CoreKind::Efficiency,
    };
    several(figures.iter().map(|(id, figure)| (*id, kind_of(*figure))).collect())
}

fn several(kinds: BTreeMap<CpuId, CoreKind>) -> Option<BTreeMap<CpuId, CoreKind>> {
    let first = *kinds.values().next()?;
    kinds.values().any(|kind| *kind != first).then_some(kinds)
}
