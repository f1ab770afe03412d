//! Caches and memory that the threads of a step share, as the machine declares them. Pure.

use tiermark_model::{Cache, IdSet, Labels, Machine, Role, Step, ThreadSetup};

/// Caches and memory that the threads of a step share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Nothing: by declaration, each has an L1 or L2 that no other thread of the step uses.
    Nothing,
    /// A cache, or caches whose sharing is not declared.
    Cache,
    /// Memory, or unknown.
    Memory,
}

impl Sharing {
    pub(crate) fn of(step: &Step, machine: &Machine) -> Self {
        let threads = &step.setup.threads;
        if !threads.iter().all(|thread| matches!(thread.role, Role::Stream { .. })) {
            return Self::Memory;
        }
        let cpus: IdSet = threads.iter().map(|thread| thread.cpu).collect();
        let bytes =
            |thread: &ThreadSetup| step.setup.regions.get(thread.region).map_or(u64::MAX, |region| region.bytes.0);
        let level = |cache: &Cache| match step.labels.get(Labels::TIER) {
            Some(tier) => tier.strip_prefix('L') == Some(cache.level.to_string().as_str()),
            // Without a tier the footprint decides: a footprint of at most half the cache leaves room for everything
            // else.
            None => threads.iter().all(|thread| cache.bytes.is_some_and(|size| bytes(thread) <= size / 2)),
        };
        // The declaration of a last level is often made up; that of two cpus of a core, or of a cluster, is not.
        let own = |thread: &ThreadSetup| {
            let of_cpu = |cache: &&Cache| cache.level <= 2 && cache.cpus.contains(thread.cpu) && level(cache);
            machine.data_caches().find(of_cpu).is_some_and(|cache| cache.cpus.intersection(&cpus).len() == 1)
        };
        let is_cache = step.labels.get(Labels::TIER).is_some_and(|tier| tier.starts_with('L'));
        match cpus.len() == threads.len() && threads.iter().all(own) {
            true => Self::Nothing,
            false if is_cache => Self::Cache,
            false => Self::Memory,
        }
    }
}

/// Whether each thread of a step works in the first two levels of caches of its own core, and no two threads are
/// declared to share one. Without a tier the footprint decides: half of the second level leaves room for all else.
pub(crate) fn is_of_core(step: &Step, machine: &Machine) -> bool {
    let threads = &step.setup.threads;
    let is_plain = |thread: &ThreadSetup| {
        thread.reads_first.is_none() && matches!(thread.role, Role::Stream { .. } | Role::Chase { .. })
    };
    let cpus: IdSet = threads.iter().map(|thread| thread.cpu).collect();
    let bytes = |thread: &ThreadSetup| step.setup.regions.get(thread.region).map_or(u64::MAX, |region| region.bytes.0);
    let of_cpu = |thread: &ThreadSetup, level: u8| {
        machine.data_caches().find(|cache| cache.level == level && cache.cpus.contains(thread.cpu))
    };
    let fits = |thread: &ThreadSetup| match step.labels.get(Labels::TIER) {
        Some(tier) => matches!(tier, "L1" | "L2"),
        None => of_cpu(thread, 2).and_then(|cache| cache.bytes).is_some_and(|size| bytes(thread) <= size / 2),
    };
    let is_own = |thread: &ThreadSetup| {
        [1, 2].iter().all(|level| of_cpu(thread, *level).is_none_or(|cache| cache.cpus.intersection(&cpus).len() == 1))
    };
    !threads.is_empty()
        && cpus.len() == threads.len()
        && threads.iter().all(|thread| is_plain(thread) && fits(thread) && is_own(thread))
}

#[cfg(test)]
pub(crate) mod tests {
    use tiermark_model::{CacheKind, KIB, Layout, Metric, PageKind, Setup, testing};

    use super::*;

    /// Two streams of 16 KiB each in a tier, on cpus 0 and 1.
    pub(crate) fn streams(tier: Option<&str>) -> Step {
        let role = Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() };
        let threads = (0..2).map(|i| ThreadSetup::new(i, role.clone(), i as usize)).collect();
        let labels = tier.map_or_else(Labels::new, |tier| Labels::new().text(Labels::TIER, tier));
        let region = testing::region(16 * KIB, PageKind::Base, Layout::Data);
        let setup = Setup { regions: vec![region; 2], threads, seed: 1 };
        Step { labels, setup, ..testing::step("a", Metric::Bandwidth) }
    }

    #[test]
    fn threads_share_nothing_where_each_is_declared_a_cache_of_its_own() {
        let machine = |level: u8, cpus: &[&[u32]]| {
            let cache = |cpus: &&[u32]| Cache {
                kind: CacheKind::Data,
                line_bytes: None,
                ..testing::cache(level, 32 * KIB, cpus.iter().copied())
            };
            Machine { caches: cpus.iter().map(cache).collect(), ..Machine::default() }
        };
        let of = |tier, level, cpus: &[&[u32]]| Sharing::of(&streams(tier), &machine(level, cpus));
        assert_eq!(of(Some("L1"), 1, &[&[0], &[1]]), Sharing::Nothing);
        assert_eq!(of(Some("L1"), 1, &[&[0, 2], &[1, 3]]), Sharing::Nothing, "others are not in this step");
        assert_eq!(of(Some("L1"), 1, &[&[0, 1]]), Sharing::Cache, "hardware threads of one core");
        assert_eq!(of(Some("L2"), 2, &[&[0, 1]]), Sharing::Cache, "a cluster");
        assert_eq!(of(Some("L2"), 1, &[&[0], &[1]]), Sharing::Cache, "nothing is declared of it");
        assert_eq!(of(Some("L3"), 3, &[&[0], &[1]]), Sharing::Cache, "hosts make that up");
        assert_eq!(of(Some("DRAM"), 1, &[&[0], &[1]]), Sharing::Memory);
        assert_eq!([of(None, 1, &[&[0], &[1]]), of(None, 1, &[&[0, 1]])], [Sharing::Nothing, Sharing::Memory]);
    }
}
