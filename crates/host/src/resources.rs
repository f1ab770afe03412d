//! Resources that the rigs of a host share.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tiermark_engine::Lab;
use tiermark_model::{CpuId, Setup, ThreadSetup};
use tiermark_system::Clock;

use crate::arena::Arena;
use crate::core_clock::Lookout;
use crate::indices::Indices;
use crate::proof::Proofs;
use crate::settle::Surroundings;
use crate::team::Pool;

/// Caches of machines that do not declare theirs: smaller than any server's last level, larger than any second level.
const UNDECLARED_CACHE_BYTES: usize = 8 << 20;

/// A second level that is not declared: as large as any.
const UNDECLARED_SECOND_LEVEL_BYTES: u64 = 2 << 20;
/// The smallest page of any host.
const LEAST_PAGE_BYTES: u64 = 4096;
/// Steps of the clock that a block lasts at least: one step is then half a percent of it, and over the blocks of a
/// window less than a tenth.
const BLOCK_STEPS: f64 = 200.0;
/// Entries of a page table in a line of 64 bytes.
const ENTRIES_OF_A_LINE: u64 = 8;

/// Instruments, threads and memory that outlive a rig.
#[derive(Debug)]
pub(crate) struct Resources {
    pub(crate) lab: Lab,
    pub(crate) clock: Clock,
    pub(crate) lookout: Lookout,
    pub(crate) indices: Arc<Mutex<Indices>>,
    pub(crate) pool: Pool,
    pub(crate) stopped: Arc<AtomicBool>,
    /// The memory of the run.
    pub(crate) arena: Arena,
    /// Where its pages were seen last.
    pub(crate) proofs: Arc<Proofs>,
    /// Setups prepared so far.
    pub(crate) prepared: u64,
}

impl Resources {
    /// The largest cache a cpu reaches.
    pub(crate) fn cache_bytes(&self, cpu: CpuId) -> usize {
        let reached = self.lab.machine.data_caches().filter(|cache| cache.cpus.contains(cpu));
        reached.filter_map(|cache| cache.bytes).max().map_or(UNDECLARED_CACHE_BYTES, |bytes| bytes as usize)
    }

    /// The caches and pages that work on a cpu settles in.
    pub(crate) fn surroundings(&self, cpu: CpuId, setup: &Setup) -> Surroundings {
        let second = self.lab.machine.data_caches().filter(|cache| cache.level == 2 && cache.cpus.contains(cpu));
        let second = second.filter_map(|cache| cache.bytes).max().unwrap_or(UNDECLARED_SECOND_LEVEL_BYTES);
        // A host may back a guest's pages with pages of its own, of 4 KiB.
        let page = match self.lab.machine.system.hypervisor {
            Some(_) => LEAST_PAGE_BYTES,
            None => self.lab.machine.page_bytes.max(LEAST_PAGE_BYTES),
        };
        let cache_bytes = self.cache_bytes(cpu);
        let reached = self.lab.machine.data_caches().filter(|cache| cache.cpus.contains(cpu));
        let sharers = reached.max_by_key(|cache| cache.bytes).map(|cache| &cache.cpus);
        // Several threads on one region have it once; those behind other caches do not count.
        let beside = |thread: &&ThreadSetup| thread.cpu == cpu || sharers.is_some_and(|cpus| cpus.contains(thread.cpu));
        let regions: BTreeSet<usize> = setup.threads.iter().filter(beside).map(|thread| thread.region).collect();
        let bytes = regions.iter().filter_map(|index| setup.regions.get(*index)).map(|region| region.bytes.0);
        Surroundings {
            cache_bytes,
            may_hold: tiermark_model::total(bytes) <= cache_bytes as u64,
            second_level_bytes: second as usize,
            page_bytes: (self.lab.machine.page_bytes.max(LEAST_PAGE_BYTES) as usize).next_multiple_of(64),
            translated_by_line: ((page * ENTRIES_OF_A_LINE) as usize).next_multiple_of(64),
            least_block_ns: BLOCK_STEPS * self.lab.bench.clock.resolution_ns,
        }
    }
}
