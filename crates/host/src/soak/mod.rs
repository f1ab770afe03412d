//! A soak of the memory of this machine: what is held of each node, a thread on each cpu, and one pass at a time.

mod state;
mod work;

use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tiermark_engine::admit::admit;
use tiermark_engine::host::Fault;
use tiermark_engine::soak::{BLOCK, Moved, Pass, Passed, SoakRig, shares};
use tiermark_machine::Root;
use tiermark_model::messages::soak as says;
use tiermark_model::{Bytes, LostPage, Machine, NodeId, Refusal, Setup, SoakState, SoakedNode};
use tiermark_system::{PoisonWatch, poisoned_pages};

use crate::resources::Resources;
use crate::team::{Job, Team};
use crate::{check, free_memory, region::Region};
use state::StateReader;
use work::{Memory, Part, Shared, Worker};

/// Time between two looks at a pass.
const TICK: Duration = Duration::from_millis(200);
/// The first that the kernel ends where memory runs out (`proc_pid_oom_score_adj(5)`).
const FIRST_TO_GO: &str = "1000";
const OOM_FILE: &str = "/proc/self/oom_score_adj";

/// A soak on this machine.
pub(crate) struct LinuxSoak {
    shared: Arc<Shared>,
    team: Team<Worker, ()>,
    nodes: Vec<SoakedNode>,
    state: StateReader,
    born: Instant,
    /// Pages that were taken away before this soak, or are in its results.
    known_lost: AtomicUsize,
    _watches: Vec<PoisonWatch>,
    _first_to_go: FirstToGo,
}

/// Makes this process the first that ends where memory runs out, until it is dropped.
struct FirstToGo(Option<String>);

impl FirstToGo {
    fn new() -> Self {
        let before = fs::read_to_string(OOM_FILE).ok();
        // Any process may raise its own. Where it cannot, another one may be chosen, as for any program.
        Self(before.filter(|_| fs::write(OOM_FILE, FIRST_TO_GO).is_ok()))
    }
}

impl Drop for FirstToGo {
    fn drop(&mut self) {
        // It ends soon; what it is then is not worth a message.
        self.0.iter().for_each(|before| drop(fs::write(OOM_FILE, before.trim())));
    }
}

impl LinuxSoak {
    /// Maps the memory and seats the threads; touches nothing yet.
    pub(crate) fn prepare(
        resources: &mut Resources,
        setup: &Setup,
        root: &Root,
        born: Instant,
    ) -> Result<Self, Refusal> {
        let machine = Arc::clone(&resources.lab.machine);
        let orders = check::setup(setup, &machine)?;
        admit(setup, &machine, &free_memory::fresh(root, &machine))?;
        let regions: Vec<Region> = orders.iter().map(|order| Region::map(order, &machine)).collect::<Result<_, _>>()?;
        keep_from_swap(&regions, &machine)?;
        let node = |region: &Region| region.target.iter().next().unwrap_or_default();
        let mut base = 0;
        let mut parts = Vec::new();
        for region in &regions {
            let blocks = region.bytes as u64 / BLOCK;
            parts.push(Part { node: node(region), mapping: Arc::clone(&region.mapping), base, blocks });
            base += blocks * BLOCK;
        }
        let of = |id: NodeId| machine.node(id).and_then(|node| machine.memory_of(node)).map(Bytes);
        let held = |part: &Part| SoakedNode {
            node: part.node,
            planned: Bytes(part.blocks * BLOCK),
            of: of(part.node),
            ..SoakedNode::default()
        };
        let nodes = parts.iter().map(held).collect();
        let homes: Vec<Option<usize>> = setup.threads.iter().map(|thread| Some(thread.region)).collect();
        let blocks: Vec<u64> = parts.iter().map(|part| part.blocks).collect();
        // Where caches are not declared: larger than any sold for fewer than ten thousand dollars.
        const UNDECLARED: u64 = 512 << 20;
        let caches = machine.all_cache_bytes(&setup.cpus()).unwrap_or(UNDECLARED);
        let is_cached = base < 4 * caches;
        let watches = parts.iter().filter_map(|part| PoisonWatch::new(&part.mapping).ok()).collect();
        let memory = Memory { parts, shares: shares(&blocks, &homes), is_cached };
        let shared = Arc::new(Shared::new(memory, born));
        let workers =
            setup.threads.iter().enumerate().map(|(index, thread)| (thread.cpu, Worker::new(index, thread.cpu)));
        let team = Team::new(&mut resources.pool, workers.collect())?;
        Ok(Self {
            shared,
            team,
            nodes,
            state: StateReader::new(root, machine),
            born,
            known_lost: AtomicUsize::new(tiermark_system::poisoned()),
            _watches: watches,
            _first_to_go: FirstToGo::new(),
        })
    }

    fn now(&self) -> f64 {
        self.born.elapsed().as_secs_f64()
    }

    /// Pages that were taken away since the last look; one that several threads touched is there several times.
    fn lost(&self) -> Vec<LostPage> {
        let pages = poisoned_pages(self.known_lost.load(Relaxed));
        self.known_lost.fetch_add(pages.len(), Relaxed);
        pages.iter().filter_map(|page| self.shared.memory.lost(page)).collect()
    }
}

/// Locks the memory, where the system could swap it out.
fn keep_from_swap(regions: &[Region], machine: &Machine) -> Result<(), Refusal> {
    let swaps = machine.system.swap_sums().is_none_or(|(total, _)| total > 0);
    let bytes = Bytes(regions.iter().map(|region| region.bytes as u64).sum());
    for region in regions.iter().filter(|_| swaps) {
        region.mapping.lock_on_fault().map_err(|error| says::may_be_swapped(bytes, &error.to_string()))?;
    }
    Ok(())
}

impl SoakRig for LinuxSoak {
    fn memory(&self) -> Vec<SoakedNode> {
        self.nodes.clone()
    }

    fn pass(&mut self, pass: &Pass, tick: &mut dyn FnMut(&Moved<'_>) -> bool) -> Result<Passed, Fault> {
        self.shared.begin(*pass);
        let shared = Arc::clone(&self.shared);
        let job: Job<Worker, ()> = Arc::new(move |worker: &mut Worker| worker.work(&shared));
        let (done, is_done) = channel();
        let (this, team) = (&*self, &self.team);
        let replies = thread::scope(|scope| {
            let running = scope.spawn(move || {
                let replies = team.run(job);
                // The receiver is there until this thread has ended.
                let _ = done.send(());
                replies
            });
            loop {
                let is_over = !matches!(is_done.recv_timeout(TICK), Err(RecvTimeoutError::Timeout));
                let now = this.now();
                let (bytes, wrong, lost) = (this.shared.moved(), this.shared.take_wrong(), this.lost());
                let moved = Moved {
                    now,
                    bytes: &bytes,
                    wrong_words: this.shared.wrong_words.load(Relaxed),
                    wrong: &wrong,
                    lost: &lost,
                    state: &|| this.state.read(),
                    free: &|| this.state.free(),
                };
                if !tick(&moved) || now >= pass.until {
                    this.shared.stop.store(true, Relaxed);
                }
                if is_over {
                    return running.join();
                }
            }
        });
        let replies = replies.map_err(|_| Fault("the thread that waits for the others panicked".to_owned()))?;
        for reply in replies {
            reply.map_err(Fault)?;
        }
        Ok(Passed { bytes: self.shared.moved(), is_whole: self.shared.is_whole() })
    }

    fn flip(&mut self, part: usize, bit: u8) -> Result<Option<u64>, Fault> {
        Ok(self.shared.flip(part, bit))
    }

    fn state(&self) -> SoakState {
        self.state.read()
    }

    fn free(&self) -> Option<Bytes> {
        self.state.free()
    }
}

/// A lock whose data are whole whatever happened to those that held it.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counters of each node.
fn zeros(parts: usize) -> Vec<AtomicU64> {
    (0..parts).map(|_| AtomicU64::new(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_the_first_to_go_only_while_it_soaks() {
        let now = || fs::read_to_string(OOM_FILE).unwrap().trim().to_owned();
        let before = now();
        let first = FirstToGo::new();
        assert_eq!(now(), FIRST_TO_GO);
        drop(first);
        assert_eq!(now(), before);
    }
}
