//! Which regions are scanned, and from which cpus.

use tiermark_engine::Lab;
use tiermark_engine::admit::admit_node;
use tiermark_model::messages::scan as says;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Effort, GIB, IdSet, KernelId, Labels, Layout, MIB, Metric, NodeId, PageKind, Plan,
    Purpose, Refusal, Request, Role, Scope, Step, StopRule, ThreadSetup,
};

use super::ScanParams;
use crate::mix::plain_kernel;
use crate::reach::quiet_cpu;
use crate::room::{Shares, memory_cap_over};
use crate::steps::{asked, no_kernel, one_cpu, setup};

/// Bytes of a region where the user names none.
const REGION: u64 = GIB;
/// The share of free memory that stays free, and the least that does.
const LEFT: (u64, u64) = (10, 512 * MIB);
/// Regions of a node at most: 8 TiB of 1 GiB.
const MOST_REGIONS: u64 = 8192;
/// A chain has a node every 17 lines: its proof visits all nodes, a random miss each, which for every line would take as long as making the
/// memory. The distance is odd in lines, so that nodes lie in every set and on every channel.
const NODE_EVERY: u64 = 17 * 64;
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;
/// A read of 20 ms covers 0.2 GB and more: the fewest visits of a region read all of it.
const READ_SECONDS: f64 = 0.02;

/// Seconds an effort allows.
pub(super) fn effort_seconds(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 30.0,
        Effort::Standard => 60.0,
        Effort::Full => 300.0,
    }
}

pub(super) struct ScanPlanner<'a> {
    request: &'a Request,
    lab: Lab<'a>,
    cpus: IdSet,
    region: Bytes,
    kernel: KernelId,
}

/// The regions of one node.
struct NodeRegions {
    node: NodeId,
    cpu: CpuId,
    count: u64,
    /// The most that may be taken of it, and what limits it.
    room: u64,
    limit: String,
}

impl<'a> ScanPlanner<'a> {
    pub(super) fn new(request: &'a Request, lab: Lab<'a>) -> Result<Self, Refusal> {
        let (params, cpus): (ScanParams, _) = asked(request, lab)?;
        let kernel = plain_kernel(lab.bench, "read").ok_or_else(|| no_kernel("read", lab.bench))?;
        Ok(Self { request, lab, cpus, region: params.chunk.unwrap_or(Bytes(REGION)), kernel })
    }

    /// All steps: the regions of all nodes, numbered through.
    pub(super) fn fill(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let mut first = 0;
        for regions in self.nodes(plan)? {
            let NodeRegions { node, cpu, count, room, limit } = regions;
            let caches = self.lab.machine.reachable_cache_bytes(&[cpu].into_iter().collect());
            if count == 0 {
                plan.refused.push(says::no_room_for_region(node, self.region, Bytes(room), &limit));
                continue;
            }
            if self.region.0 < caches.saturating_mul(4) {
                return Err(says::region_within_caches(self.region, Bytes(caches)));
            }
            plan.rules.push(says::regions_of_node(count, self.region, node, cpu, Bytes(room), &limit));
            for region in first..first + count {
                plan.steps.push(self.step(Metric::Latency, region, node, cpu));
                plan.steps.push(self.step(Metric::Bandwidth, region, node, cpu));
            }
            first += count;
        }
        Ok(())
    }

    /// The nodes in scope with how many regions each gives. Nodes take turns, so that what they give together is shared alike.
    fn nodes(&self, plan: &mut Plan) -> Result<Vec<NodeRegions>, Refusal> {
        let machine = self.lab.machine;
        let nodes: Vec<NodeId> = match self.request.scope.mem_node {
            Some(node) => vec![node],
            None => machine.nodes.iter().map(|node| node.id).collect(),
        };
        let mut all = Vec::new();
        for node in nodes {
            if let Err(refusal) = admit_node(node, machine) {
                plan.refused.push(refusal);
                continue;
            }
            let own = machine.node(node).map(|n| self.cpus.intersection(&n.cpus)).filter(|own| !own.is_empty());
            let near = own.as_ref().unwrap_or(&self.cpus);
            let cpu = quiet_cpu(machine, near).map_or_else(|| one_cpu(machine, near, "scan"), Ok)?;
            let (room, limit) = self.room_of(node);
            all.push(NodeRegions { node, cpu, count: 0, room, limit });
        }
        // Reserved pages are no part of what is available to others.
        let is_reserved = matches!(self.page(), PageKind::Huge(_));
        let mut left = if is_reserved { u64::MAX } else { self.room(&Shares::new()).0 };
        let region = self.region.0.max(1);
        for _ in 0..MOST_REGIONS {
            for node in &mut all {
                if left >= region && (node.count + 1).saturating_mul(region) <= node.room {
                    node.count += 1;
                    left -= region;
                }
            }
        }
        Ok(all)
    }

    /// The most memory that may be taken of a node, and what limits it.
    fn room_of(&self, node: NodeId) -> (u64, String) {
        let found = self.lab.machine.node(node);
        if let PageKind::Huge(bytes) = self.page() {
            let pools = found.into_iter().flat_map(|n| &n.huge_pages).filter(|pool| pool.page_bytes == bytes);
            return (
                pools.map(|pool| pool.free.saturating_mul(bytes)).sum(),
                format!("the free {} pages", Bytes(bytes)),
            );
        }
        let (room, limit) = self.room(&Shares::from([(node, 1)]));
        // Where the system does not say what is free, the node has no more than it has.
        (room.min(found.and_then(|n| n.memory_bytes).unwrap_or_default()), limit)
    }

    /// The most memory that may be taken of these nodes, and what limits it: more than other probes take, since memory that is left out
    /// is not seen.
    fn room(&self, on: &Shares) -> (u64, String) {
        let scope = &self.request.scope;
        let most = Scope { max_mem: scope.max_mem.or(Some(Bytes(u64::MAX))), ..scope.clone() };
        let (room, limit) = memory_cap_over(self.lab.machine, on, &most);
        let (part, least) = LEFT;
        // What stays free is a tenth of all, which is a ninth of the rest.
        let short = least.saturating_sub(room / (part - 1));
        if limit == "--max-mem" { (room, limit) } else { (room.saturating_sub(short), limit) }
    }

    /// Base pages: there are always some, so that all regions are translated alike, where huge ones run out in memory that is in pieces.
    fn page(&self) -> PageKind {
        self.request.scope.page.unwrap_or(PageKind::Base)
    }

    /// One number of a region. Both of a region are of the same memory, which no other region has a page of.
    fn step(&self, metric: Metric, region: u64, node: NodeId, cpu: CpuId) -> Step {
        let (op, role) = match metric {
            Metric::Latency => ("latency", Role::Chase { chains: 1 }),
            Metric::Bandwidth => ("read", Role::Stream { kernel: self.kernel.clone(), rivals: Vec::new() }),
        };
        let labels = Labels::new()
            .purpose(Purpose::Scan)
            .whole(Labels::REGION, region)
            .whole(Labels::NODE, u64::from(node))
            .text(Labels::OP, op)
            .whole(Labels::SIZE, self.region.0)
            .text(Labels::PAGE, self.page())
            .text(Labels::CPUS, cpu);
        let layout = Layout::Chain(ChainLayout::Scatter(NODE_EVERY));
        let mut setup = setup(&[cpu], self.region, Some(node), self.page(), layout, &role, self.request.seed);
        setup.threads = vec![ThreadSetup::new(cpu, role, 0)];
        Step { id: format!("scan/{op}/{region}"), labels, phase: 0, metric, setup, stop: self.stop(metric) }
    }

    fn stop(&self, metric: Metric) -> StopRule {
        let (min_visits, max_visits) = match self.request.effort {
            Effort::Quick => (6, 12),
            Effort::Standard => (8, 40),
            Effort::Full => (16, 200),
        };
        let shot_seconds = match metric {
            Metric::Latency => crate::steps::VISIT_SECONDS,
            Metric::Bandwidth => READ_SECONDS,
        };
        let precision = self.request.precision.unwrap_or(PRECISION);
        StopRule { precision, allocations: 1, min_visits, max_visits, shot_seconds }
    }
}
