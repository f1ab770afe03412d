//! The memory of the threads: how much each has and on which pages, decided once so that all cells are alike, and
//! whether they share it.

use serde::{Deserialize, Serialize};
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{Bench, Bytes, CpuId, HugePool, IdSet, Machine, Note, PageKind, Refusal, Step};

use super::groups::CpuGroup;
use super::{MatrixParams, Policy, ops};
use crate::footprints::{Shares, memory_cap_over};
use crate::task::Task;

/// Whose the memory of a bandwidth is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// Each thread has its own.
    #[default]
    Own,
    /// All threads work on one.
    Shared,
}

/// What the workers of a bandwidth are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workers {
    /// Threads of one process.
    #[default]
    Threads,
    /// Processes, each with one thread and memory of its own.
    Processes,
}

/// The memory of each thread.
pub(super) struct WorkerMemory {
    /// Its size; `None` for what makes memory answer.
    pub(super) size: Option<Bytes>,
    pub(super) page: PageKind,
    /// How it was chosen, where the user left a choice.
    pub(super) rule: Option<Note>,
}

impl WorkerMemory {
    /// The memory of each thread in all cells: what the user named or wished for, as far as there is room for the cell
    /// with most threads.
    pub(super) fn new(task: &Task, params: &MatrixParams, groups: &[CpuGroup], targets: &IdSet) -> Self {
        let (machine, scope) = (task.machine(), &task.request.scope);
        let ordinary = task.page();
        let Some(each) = params.worker_memory else {
            return WorkerMemory { size: params.size, page: ordinary, rule: None };
        };
        let crews = groups.iter().flat_map(|group| params.crews(group, machine)).flatten();
        let largest = crews.map(|crew| crew.cpus).max_by_key(Vec::len).unwrap_or_default();
        let threads = largest.len().max(1) as u64;
        let wanted = Bytes(each.0.saturating_mul(threads));
        let with = |page, rule| WorkerMemory { size: Some(each), page, rule: Some(rule) };
        let is_allowed = scope.max_mem.is_none_or(|most| most >= wanted);
        if let Some(page) = pool_with(machine, targets, each, wanted).filter(|_| scope.page.is_none() && is_allowed) {
            return with(page, rules::worker_huge(each, page));
        }
        let rooms = targets.iter().map(|node| memory_cap_over(machine, &Shares::from([(node, 1)]), scope));
        match rooms.min_by_key(|room| room.bytes) {
            Some(room) if room.bytes < wanted.0 => {
                let free = Bytes(room.bytes);
                match beyond_caches(task, &largest, targets, room.bytes / threads) {
                    Some(fits) => {
                        let rule = rules::worker_less(fits, each, wanted, free, &room.why);
                        WorkerMemory { size: Some(fits), page: ordinary, rule: Some(rule) }
                    }
                    None => {
                        let rule = rules::worker_usual(each, wanted, free, &room.why);
                        WorkerMemory { size: None, page: ordinary, rule: Some(rule) }
                    }
                }
            }
            _ => with(ordinary, rules::worker_ordinary(each, ordinary, wanted)),
        }
    }

    /// Bytes of one region of a cell: of a thread's own, or of the buffer of all, which is as large as theirs together
    /// would be.
    pub(super) fn region_bytes(&self, each: Bytes, threads: usize, is_shared: bool) -> Bytes {
        if is_shared && self.size.is_none() { Bytes(each.0 * threads as u64) } else { each }
    }
}

/// The largest power of two up to `most`, if each of these cpus then has more than what usually makes every node's memory
/// answer.
fn beyond_caches(task: &Task, cpus: &[CpuId], targets: &IdSet, most: u64) -> Option<Bytes> {
    let fits = 1 << most.max(1).ilog2();
    let usual = targets.iter().map(|node| task.dram_bytes(cpus, Some(node)));
    usual.collect::<Result<Vec<_>, _>>().ok()?.iter().all(|(usual, _)| fits > *usual).then_some(Bytes(fits))
}

/// The largest reserved huge pages of which each node has so much free.
fn pool_with(machine: &Machine, targets: &IdSet, each: Bytes, wanted: Bytes) -> Option<PageKind> {
    let free = |node, page: u64| {
        let pools = machine.node(node).map(|n| n.huge_pages.as_slice()).unwrap_or_default();
        pools.iter().filter(|pool| pool.page_bytes == page).map(HugePool::available_bytes).sum::<u64>()
    };
    let sizes = machine.nodes.iter().flat_map(|node| node.huge_pages.iter().map(|pool| pool.page_bytes));
    let fits = |page: &u64| {
        *page > 0 && each.0.is_multiple_of(*page) && targets.iter().all(|node| free(node, *page) >= wanted.0)
    };
    sizes.filter(fits).max().map(PageKind::Huge)
}

/// Refuses what one buffer of all threads cannot have.
///
/// # Errors
/// A [`Refusal`] of the operation or the policy.
pub(super) fn check_buffer(params: &MatrixParams, bench: &Bench) -> Result<(), Refusal> {
    if params.buffer == Buffer::Own {
        return Ok(());
    }
    if let Some(op) = params.ops.iter().find(|op| writes(op, bench)) {
        return Err(says::shared_buffer_written(op));
    }
    if params.workers == Workers::Processes {
        return Err(says::shared_buffer_of_processes());
    }
    if params.policies.contains(&Policy::Mixed) || !params.mixed.is_empty() {
        return Err(says::shared_buffer_mixed());
    }
    Ok(())
}

/// Whether an operation stores.
pub(super) fn writes(op: &str, bench: &Bench) -> bool {
    let work = ops::work(op, bench);
    let ids = work.iter().flat_map(|work| work.role.kernels());
    ids.filter_map(|id| bench.kernel(&id.0)).any(|kernel| kernel.write_per_line > 0)
}

/// Seconds that the bytes of a step take at most (`--total`), at the rate of a slow thread: random words of remote
/// memory.
pub(super) fn total_seconds(step: &Step) -> f64 {
    const SLOW_THREAD: f64 = 0.1e9;
    let total = step.labels.total().unwrap_or_default();
    total as f64 / (SLOW_THREAD * step.setup.threads.len().max(1) as f64)
}
