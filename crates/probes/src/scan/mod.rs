//! `scan`: latency and bandwidth of every region of a node's memory, to find slow ones.

mod slow;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::admit::admit_node;
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::scan as says;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Finding, GIB, KernelId, Labels, Layout, MIB, Metric, NodeId, Observation, PageKind,
    Plan, Purpose, Quantity, Refusal, Request, Role, Step, StopRule, ThreadSetup, Tier, parse_footprint,
};

use crate::footprints::{Shares, nearly_all};
use crate::ladder::{measured, with_purpose};
use crate::memory_kinds::quiet_cpu;
use crate::mix::plain_kernel;
use crate::steps::{no_kernel, one_cpu, setup};
use crate::task::Task;

/// Smallest region, in bytes, if the user does not choose the size.
const REGION: u64 = GIB;
/// A region has at least so many times the caches in reach: they serve a quarter of the accesses at most.
const TIMES_CACHES: u64 = 4;
/// Regions that follow from the caches have whole multiples of this.
const REGION_STEP: u64 = 512 * MIB;
/// The smallest region that a refusal suggests.
const LEAST_REGION: u64 = 256 * MIB;
/// Regions of a node at most: 8 TiB of 1 GiB.
const MOST_REGIONS: u64 = 8192;
/// A chain has a node every 17 lines: its proof visits all nodes, a random miss each, which for every line would take
/// as long as making the memory. The distance is odd in lines, so that nodes lie in every set and on every channel.
const NODE_EVERY: u64 = 17 * 64;
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;
/// A read of 20 ms covers 0.2 GB and more: the fewest visits of a region read all of it.
const READ_SECONDS: f64 = 0.02;

/// Parameters of the scan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ScanParams {
    /// Bytes of a region [default: 1G, or four times the caches of a cpu]
    #[arg(long, value_name = "SIZE", value_parser = region)]
    pub chunk: Option<Bytes>,
}

/// A region of a scan.
fn region(text: &str) -> Result<Bytes, String> {
    /// Smaller ones are within a cache of some servers.
    const LEAST: u64 = 64 << 20;
    parse_footprint(text).and_then(|size| match size.0 {
        LEAST.. => Ok(size),
        _ => Err(format!("{size} is too small for a region of memory; give at least {}", Bytes(LEAST))),
    })
}

/// The probe of `tiermark scan`; `docs/methods/scan.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "scan",
    method: 3,
    subject: Subject::Memory,
    summary: "Slow regions of memory: latency and bandwidth of each GiB",
    page: include_str!("../../../../docs/methods/scan.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(ScanStudy::new(request, lab)?)),
};

impl Study for ScanStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        self.fill(&mut plan)?;
        self.task.limit(&mut plan, self.task.effort().choose([30.0, 60.0, 300.0]));
        self.task.with_steps(plan, "use smaller regions: --chunk 256M", &["--chunk"])
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let each = |seen: &Observation| {
            let quantity = match seen.metric {
                Metric::Latency => Quantity::ScanLatency,
                Metric::Bandwidth => Quantity::ScanBandwidth,
            };
            measured(seen, quantity).with_notes(slow::place(seen))
        };
        let mut findings: Vec<Finding> = with_purpose(observations, Purpose::Scan).map(each).collect();
        findings.extend(slow::compared(observations));
        findings
    }
}

struct ScanStudy {
    task: Task,
    /// Bytes of a region; `None` if the user does not choose.
    chunk: Option<Bytes>,
    kernel: KernelId,
}

/// The regions of one node.
struct NodeRegions {
    node: NodeId,
    cpu: CpuId,
    /// Bytes of the caches that the cpu reaches.
    caches: u64,
    count: u64,
    /// The most that may be taken of it, and what limits it.
    room: u64,
    limit: String,
}

/// The size of regions if the user does not choose: the same on all nodes, so that they can be compared.
fn region_beyond(caches: u64) -> Bytes {
    Bytes(caches.saturating_mul(TIMES_CACHES).next_multiple_of(REGION_STEP).max(REGION))
}

impl ScanStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, ScanParams) = Task::new(request, lab)?;
        let kernel = plain_kernel(&lab.bench, "read").ok_or_else(|| no_kernel("read", &lab.bench))?;
        Ok(Self { task, chunk: params.chunk, kernel: kernel.id.clone() })
    }

    /// All steps: the regions of all nodes, numbered through.
    fn fill(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let mut nodes = self.nodes(plan)?;
        let caches = nodes.iter().map(|node| node.caches).max().unwrap_or_default();
        let region = self.chunk.unwrap_or_else(|| region_beyond(caches));
        self.share(&mut nodes, region);
        if self.chunk.is_none() && region.0 > REGION {
            plan.rules.push(says::region_follows_caches(region, Bytes(caches)));
        }
        let mut first = 0;
        for NodeRegions { node, cpu, caches, count, room, limit } in nodes {
            let least = Bytes(caches.saturating_mul(TIMES_CACHES));
            if count == 0 {
                let least = least.max(Bytes(LEAST_REGION));
                plan.refused.push(says::no_room_for_region(node, region, Bytes(room), &limit, least));
                continue;
            }
            if region < least {
                return Err(says::region_within_caches(region, Bytes(caches), least));
            }
            plan.rules.push(says::regions_of_node(count, region, node, cpu, Bytes(room), &limit));
            for number in first..first + count {
                plan.steps.push(self.step(Metric::Latency, (number, region), node, cpu));
                plan.steps.push(self.step(Metric::Bandwidth, (number, region), node, cpu));
            }
            first += count;
        }
        Ok(())
    }

    /// The nodes in scope, without regions yet.
    fn nodes(&self, plan: &mut Plan) -> Result<Vec<NodeRegions>, Refusal> {
        let machine = self.task.machine();
        let nodes: Vec<NodeId> = match self.task.node() {
            Some(node) => vec![node],
            None => machine.nodes.iter().map(|node| node.id).collect(),
        };
        let mut all = Vec::new();
        for node in nodes {
            if let Err(refusal) = admit_node(node, machine) {
                plan.refused.push(refusal);
                continue;
            }
            let own = machine.node(node).map(|n| self.task.cpus.intersection(&n.cpus)).filter(|own| !own.is_empty());
            let near = own.as_ref().unwrap_or(&self.task.cpus);
            let cpu = quiet_cpu(machine, near).map_or_else(|| one_cpu(machine, near, "scan"), Ok)?;
            let caches = machine.reachable_cache_bytes(&[cpu].into_iter().collect());
            let (room, limit) = self.room_of(node);
            all.push(NodeRegions { node, cpu, caches, count: 0, room, limit });
        }
        Ok(all)
    }

    /// Gives each node its regions. Nodes take turns, so that what they give together is shared alike.
    fn share(&self, nodes: &mut [NodeRegions], region: Bytes) {
        // Reserved pages are no part of what is available to others.
        let is_reserved = matches!(self.page(), PageKind::Huge(_));
        let mut left = if is_reserved { u64::MAX } else { self.room(&Shares::new()).0 };
        let region = region.0.max(1);
        for _ in 0..MOST_REGIONS {
            for node in &mut *nodes {
                if left >= region && (node.count + 1).saturating_mul(region) <= node.room {
                    node.count += 1;
                    left -= region;
                }
            }
        }
    }

    /// The most memory that may be taken of a node, and what limits it.
    fn room_of(&self, node: NodeId) -> (u64, String) {
        let found = self.task.machine().node(node);
        if let PageKind::Huge(bytes) = self.page() {
            let pools = found.into_iter().flat_map(|n| &n.huge_pages).filter(|pool| pool.page_bytes == bytes);
            let free = found.and_then(|node| node.free_bytes);
            let pages = pools.map(|pool| pool.obtainable(free)).sum::<u64>();
            return (pages.saturating_mul(bytes), format!("the free {} pages", Bytes(bytes)));
        }
        let (room, limit) = self.room(&Shares::from([(node, 1)]));
        // Where the system does not say what is free, the node has no more than it has.
        (room.min(found.and_then(|n| n.memory_bytes).unwrap_or_default()), limit)
    }

    /// The most memory that may be taken of these nodes, and what limits it: more than other probes take, since memory
    /// that is left out is not seen.
    fn room(&self, on: &Shares) -> (u64, String) {
        nearly_all(self.task.machine(), on, &self.task.request.scope)
    }

    /// Base pages: there are always some, so that all regions are translated alike, where huge ones run out in memory
    /// that is in pieces.
    fn page(&self) -> PageKind {
        self.task.request.scope.page.unwrap_or(PageKind::Base)
    }

    /// The step for one number of a region. Both numbers of a region use the same memory, and no other region uses it.
    fn step(&self, metric: Metric, (region, size): (u64, Bytes), node: NodeId, cpu: CpuId) -> Step {
        let (op, role) = match metric {
            Metric::Latency => ("latency", Role::Chase { chains: 1 }),
            Metric::Bandwidth => ("read", Role::Stream { kernel: self.kernel.clone(), rivals: Vec::new() }),
        };
        let labels = Labels::new()
            .with_purpose(Purpose::Scan)
            .with_region(region)
            .with_node(node)
            .with_op(op)
            .with_tier(if metric == Metric::Latency { Tier::DramRandom } else { Tier::Dram })
            .with_size(size.0)
            .with_page(self.page())
            .with_cpus(cpu);
        let layout = Layout::Chain(ChainLayout::Scatter(NODE_EVERY));
        let mut setup = setup(&[cpu], size, Some(node), self.page(), layout, &role, self.task.request.seed);
        setup.threads = vec![ThreadSetup::new(cpu, role, 0)];
        Step { id: format!("scan/{op}/{region}"), labels, phase: 0, metric, setup, stop: self.stop(metric) }
    }

    fn stop(&self, metric: Metric) -> StopRule {
        let (min_visits, max_visits) = self.task.effort().choose([(6, 12), (8, 40), (16, 200)]);
        let shot_seconds = match metric {
            Metric::Latency => crate::steps::VISIT_SECONDS,
            Metric::Bandwidth => READ_SECONDS,
        };
        let precision = self.task.precision(PRECISION);
        StopRule { precision, allocations: 1, min_visits, max_visits, shot_seconds }
    }
}
