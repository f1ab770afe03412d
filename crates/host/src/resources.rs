//! Resources that the rigs of a host share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use tiermark_model::{Bench, CpuId, Machine};
use tiermark_system::Clock;

use crate::indices::Indices;
use crate::region::Stock;
use crate::team::Pool;

/// Caches of machines that do not declare theirs: smaller than any server's last level, larger than any second level.
const UNDECLARED_CACHE_BYTES: usize = 8 << 20;

/// Instruments, threads and memory that outlive a rig.
#[derive(Debug)]
pub(crate) struct Resources {
    pub(crate) machine: Machine,
    pub(crate) bench: Bench,
    pub(crate) clock: Clock,
    pub(crate) indices: Arc<Mutex<Indices>>,
    pub(crate) pool: Pool,
    pub(crate) stopped: Arc<AtomicBool>,
    /// Memory of earlier rigs.
    pub(crate) stock: Arc<Stock>,
    /// Setups prepared so far.
    pub(crate) prepared: u64,
}

impl Resources {
    /// The largest cache a cpu reaches.
    pub(crate) fn cache_bytes(&self, cpu: CpuId) -> usize {
        let reached = self.machine.data_caches().filter(|cache| cache.cpus.contains(cpu));
        reached.filter_map(|cache| cache.bytes).max().map_or(UNDECLARED_CACHE_BYTES, |bytes| bytes as usize)
    }
}
