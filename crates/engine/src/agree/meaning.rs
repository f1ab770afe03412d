//! Which figures of a run mean the same: the same work, alone, on the same memory seen from the same place.

use tiermark_model::{
    CoreKind, CpuId, IdSet, KernelId, Labels, Layout, Machine, MemPolicy, Metric, NodeId, PageKind, Purpose, Role,
    Step, ThreadSetup, Tier,
};

use super::Figure;
use crate::admit::region_nodes;

/// Footprints of memory that differ by no more are the same: latency at random grows by 1 % over a tenth more.
const NEAR_BYTES: f64 = 1.02;
/// Memory is meant from so many times the caches in reach on, as for the cells of a matrix.
const TIMES_CACHES: u64 = 2;

/// What a figure means. Equal in all but the footprint, two figures mean the same if their footprints do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meaning {
    metric: Metric,
    threads: Vec<(Place, Work, usize)>,
    regions: Vec<Memory>,
    /// Bytes of each region.
    bytes: Vec<u64>,
    /// Whether a line of memory is meant, and not a cache.
    is_memory: bool,
}

/// Where a thread runs.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    /// One thread: any cpu of the same kind and node that shares the same last-level cache.
    Like { node: Option<NodeId>, cache: Option<u32>, kind: Option<CoreKind> },
    /// Of several, exactly this cpu.
    Cpu(CpuId),
}

#[derive(Debug, Clone, PartialEq)]
enum Work {
    Chase,
    Stream(KernelId),
    Mix(Vec<KernelId>),
}

#[derive(Debug, Clone, PartialEq)]
struct Memory {
    page: PageKind,
    layout: Layout,
    nodes: IdSet,
    /// How pages are spread over several nodes, or which file has them.
    policy: Option<MemPolicy>,
}

impl Meaning {
    /// What a figure means; `None` if no other figure can mean the same: several chains, work beside other work, pieces
    /// of memory that are compared with each other.
    pub(super) fn of(figure: &Figure<'_>, machine: &Machine) -> Option<Self> {
        let (step, labels) = (figure.step, &figure.seen.labels);
        let setup = &step.setup;
        let is_one = setup.threads.len() == 1;
        if setup.threads.is_empty() || labels.region().is_some() {
            return None;
        }
        let thread = |thread: &ThreadSetup| {
            let work = work(&thread.role, step.metric, labels)?;
            Some((place(thread.cpu, is_one, machine), work, thread.region))
        };
        let threads = setup.threads.iter().map(thread).collect::<Option<Vec<_>>>()?;
        let is_alone = is_one || step.metric == Metric::Bandwidth;
        let memory = |(index, region): (usize, &tiermark_model::RegionSetup)| Memory {
            page: region.page,
            layout: region.layout,
            nodes: region_nodes(setup, index, machine),
            policy: (!matches!(region.policy, MemPolicy::Bind | MemPolicy::TouchedBy(_)))
                .then(|| region.policy.clone()),
        };
        is_alone.then(|| Self {
            metric: step.metric,
            threads,
            regions: setup.regions.iter().enumerate().map(memory).collect(),
            bytes: setup.regions.iter().map(|region| region.bytes.0).collect(),
            is_memory: is_memory(step, machine),
        })
    }

    fn is(&self, other: &Self) -> bool {
        self.metric == other.metric
            && self.threads == other.threads
            && self.regions == other.regions
            && self.is_of_size_of(other)
    }

    /// Whether the footprints are the same, or of memory and so near that it makes no difference. A line of memory with
    /// its translation at hand takes the same time in any footprint.
    fn is_of_size_of(&self, other: &Self) -> bool {
        let are_memory = self.is_memory && other.is_memory;
        let near = |((a, b), memory): ((&u64, &u64), &Memory)| {
            let (least, most) = (*a.min(b) as f64, *a.max(b) as f64);
            let at_hand = matches!(memory.layout, Layout::Chain(chain) if chain.group_bytes().is_some());
            a == b || are_memory && (at_hand || most <= least * NEAR_BYTES)
        };
        self.bytes.len() == other.bytes.len() && self.bytes.iter().zip(&other.bytes).zip(&self.regions).all(near)
    }
}

/// The figures that mean the same, where there are several.
pub(super) fn groups<'a>(figures: &[Figure<'a>], machine: &Machine) -> Vec<Vec<Figure<'a>>> {
    let mut groups: Vec<(Meaning, Vec<Figure<'a>>)> = Vec::new();
    for figure in figures {
        let Some(meaning) = Meaning::of(figure, machine) else { continue };
        match groups.iter_mut().find(|(known, _)| known.is(&meaning)) {
            Some((_, group)) => group.push(*figure),
            None => groups.push((meaning, vec![*figure])),
        }
    }
    groups.into_iter().map(|(_, group)| group).filter(|group| group.len() > 1).collect()
}

fn place(cpu: CpuId, is_one: bool, machine: &Machine) -> Place {
    let found = machine.cpu(cpu).filter(|_| is_one);
    found.map_or(Place::Cpu(cpu), |found| Place::Like { node: found.node, cache: found.llc, kind: found.kind })
}

/// The work of a thread; `None` of what is compared with nothing.
fn work(role: &Role, metric: Metric, labels: &Labels) -> Option<Work> {
    match (role, metric) {
        (Role::Chase { chains: 1 }, Metric::Latency) => Some(Work::Chase),
        (Role::Stream { kernel, rivals }, Metric::Bandwidth) => {
            // The kernel that won is known of the figure only.
            let won = labels.kernel().filter(|_| !rivals.is_empty());
            Some(Work::Stream(won.map_or_else(|| kernel.clone(), |won| KernelId(won.into()))))
        }
        (Role::Load { kernels, pause_ns: 0 }, Metric::Bandwidth) => Some(Work::Mix(kernels.clone())),
        _ => None,
    }
}

/// Whether a step stands for memory: by its tier, or, in the probes whose subject is memory, by a footprint that caches
/// cannot hold.
fn is_memory(step: &Step, machine: &Machine) -> bool {
    let labels = &step.labels;
    if labels.tier_name().is_some() {
        return labels.tier().is_some_and(Tier::is_memory);
    }
    let is_of_memory = matches!(labels.purpose(), Some(Purpose::Matrix | Purpose::Unloaded | Purpose::Peak));
    let bytes = tiermark_model::total(step.setup.regions.iter().map(|region| region.bytes.0));
    let caches = machine.reachable_cache_bytes(&step.setup.cpus());
    is_of_memory && bytes >= TIMES_CACHES.saturating_mul(caches)
}
