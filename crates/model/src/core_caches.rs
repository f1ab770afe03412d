//! Which steps work in the caches of a core: L1 and L2, which run at its clock.

use crate::idset::IdSet;
use crate::labels::Labels;
use crate::machine::{Cache, Machine};
use crate::plan::Step;
use crate::setup::{Role, ThreadSetup};
use crate::tier::Tier;

impl Tier {
    /// Whether it is a cache that cores usually have for themselves and that runs at their clock: L1 or L2.
    #[must_use]
    pub fn is_of_core(self) -> bool {
        matches!(self, Self::Cache(1 | 2))
    }
}

impl Labels {
    /// Whether they name such a tier.
    #[must_use]
    pub fn is_of_core(&self) -> bool {
        self.tier().is_some_and(Tier::is_of_core)
    }
}

impl Step {
    /// Whether its threads work in caches that run at the clock of a core, whoever else uses these: then its number is
    /// one per cycle.
    #[must_use]
    pub fn is_clocked_by_core(&self, machine: &Machine) -> bool {
        self.core_level(machine).is_some()
    }

    /// Whether its threads only load and store, each in caches of its core that no other thread of the step is declared
    /// to share.
    #[must_use]
    pub fn is_of_core(&self, machine: &Machine) -> bool {
        let threads = &self.setup.threads;
        let Some(level) = self.core_level(machine) else { return false };
        let cpus: IdSet = threads.iter().map(|thread| thread.cpu).collect();
        let shares = |thread: &ThreadSetup| {
            let is_its = |cache: &Cache| cache.level <= level && cache.cpus.contains(thread.cpu);
            machine.data_caches().any(|cache| is_its(cache) && cache.cpus.intersection(&cpus).len() > 1)
        };
        cpus.len() == threads.len() && threads.iter().all(|thread| loads_and_stores(thread) && !shares(thread))
    }

    /// The level of its tier, if that is L1 or L2. Without a tier the footprint decides: half of a declared cache
    /// leaves room for all else.
    fn core_level(&self, machine: &Machine) -> Option<u8> {
        if self.labels.tier_name().is_some() {
            return self.labels.tier().filter(|tier| tier.is_of_core())?.level();
        }
        let level = |thread: &ThreadSetup| {
            let bytes = self.setup.regions.get(thread.region).filter(|_| loads_and_stores(thread))?.bytes.0;
            let is_its = |cache: &&Cache| cache.level <= 2 && cache.cpus.contains(thread.cpu);
            let holds = |cache: &&Cache| cache.bytes.is_some_and(|size| bytes <= size / 2);
            machine.data_caches().filter(is_its).filter(holds).map(|cache| cache.level).min()
        };
        let levels: Option<Vec<u8>> = self.setup.threads.iter().map(level).collect();
        levels?.into_iter().max()
    }
}

/// Whether a thread makes plain accesses to memory that it settled on.
fn loads_and_stores(thread: &ThreadSetup) -> bool {
    thread.reads_first.is_none() && matches!(thread.role, Role::Stream { .. } | Role::Chase { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageKind;
    use crate::setup::{Layout, Setup};
    use crate::testing;
    use crate::units::{KIB, Metric};

    /// Two streams of so many bytes each, in a tier, on cpus 0 and 1.
    fn streams(tier: Option<Tier>, bytes: u64) -> Step {
        let role = Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() };
        let threads = (0..2).map(|i| ThreadSetup::new(i, role.clone(), i as usize)).collect();
        let labels = tier.map_or_else(Labels::new, |tier| Labels::new().with_tier(tier));
        let region = testing::region(bytes, PageKind::Base, Layout::Data);
        let setup = Setup { regions: vec![region; 2], threads, seed: 1 };
        Step { labels, setup, ..testing::step("a", Metric::Bandwidth) }
    }

    /// Whether they are clocked by the core, and have its caches for themselves, where each cache is of these cpus.
    fn of(step: &Step, caches: &[(u8, &[u32])]) -> [bool; 2] {
        let cache = |(level, cpus): &(u8, &[u32])| {
            testing::cache(*level, if *level == 1 { 32 * KIB } else { 512 * KIB }, cpus.iter().copied())
        };
        let machine = Machine { caches: caches.iter().map(cache).collect(), ..Machine::default() };
        [step.is_clocked_by_core(&machine), step.is_of_core(&machine)]
    }

    #[test]
    fn cores_have_the_caches_for_themselves_that_no_two_threads_share() {
        let l1 = |caches: &[(u8, &[u32])]| of(&streams(Some(Tier::Cache(1)), 16 * KIB), caches);
        let l2 = |caches: &[(u8, &[u32])]| of(&streams(Some(Tier::Cache(2)), 256 * KIB), caches);
        assert_eq!(l1(&[(1, &[0]), (1, &[1])]), [true, true]);
        assert_eq!(l1(&[(1, &[0, 2]), (1, &[1, 3])]), [true, true], "others are not in this step");
        assert_eq!(l1(&[(1, &[0, 1])]), [true, false], "hardware threads of one core");
        let cluster: &[(u8, &[u32])] = &[(1, &[0]), (1, &[1]), (2, &[0, 1])];
        assert_eq!([l1(cluster), l2(cluster)], [[true, true], [true, false]], "a cluster");
        assert_eq!(l2(&[(1, &[0]), (1, &[1])]), [true, true], "nothing is declared of it");
        for tier in [Tier::Cache(3), Tier::Dram, Tier::Cold] {
            assert_eq!(of(&streams(Some(tier), 16 * KIB), &[(1, &[0]), (1, &[1])]), [false, false], "{tier}");
        }
    }

    #[test]
    fn without_a_tier_half_of_a_declared_cache_decides() {
        let own: &[(u8, &[u32])] = &[(1, &[0]), (1, &[1]), (2, &[0]), (2, &[1])];
        let at = |bytes: u64| of(&streams(None, bytes), own);
        assert_eq!([16 * KIB, 17 * KIB, 256 * KIB].map(at), [[true, true]; 3]);
        assert_eq!(at(257 * KIB), [false, false]);
        let cluster: &[(u8, &[u32])] = &[(1, &[0]), (1, &[1]), (2, &[0, 1])];
        let at = |bytes: u64| of(&streams(None, bytes), cluster);
        assert_eq!([16 * KIB, 17 * KIB].map(at), [[true, true], [true, false]]);
        assert_eq!(of(&streams(None, 16 * KIB), &[]), [false, false], "nothing is declared");
    }

    #[test]
    fn other_work_than_loads_and_stores_is_of_no_core() {
        let own: &[(u8, &[u32])] = &[(1, &[0]), (1, &[1])];
        let mut step = streams(None, 16 * KIB);
        step.setup.threads.iter_mut().for_each(|thread| thread.role = Role::Contend);
        assert_eq!(of(&step, own), [false, false]);
        let mut cold = streams(None, 16 * KIB);
        cold.setup.threads[1].reads_first = Some(0);
        assert_eq!(of(&cold, own), [false, false]);
        let mut twice = streams(Some(Tier::Cache(1)), 16 * KIB);
        twice.setup.threads[1].cpu = 0;
        assert_eq!(of(&twice, own), [true, false], "two threads on one cpu");
        twice.setup.threads.clear();
        assert_eq!(of(&Step { labels: Labels::new(), ..twice }, own), [false, false]);
    }
}
