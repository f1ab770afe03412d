//! Steps that chase, and findings that rest on several of them: what the probes of shapes have in common.

use tiermark_model::{
    Bytes, ChainLayout, CpuId, Finding, HugePool, Interval, Labels, Layout, Machine, Metric, NodeId, Observation,
    PageKind, Purpose, Quantity, Role, Setup, Step, StopRule, ThreadSetup, Unit, Verdict,
};

use crate::steps::{default_page, setup};
use crate::task::Task;

/// A chase on one cpu.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chase {
    pub(crate) cpu: CpuId,
    /// Footprint.
    pub(crate) bytes: u64,
    pub(crate) node: Option<NodeId>,
    pub(crate) layout: ChainLayout,
    pub(crate) page: PageKind,
    /// Followed at once.
    pub(crate) chains: u8,
}

impl Chase {
    /// The idle latency of memory, which every probe that has one measures alike: a line of a footprint beyond the
    /// caches, with its translation at hand, by one chain.
    pub(crate) fn of_memory(cpu: CpuId, bytes: u64, node: Option<NodeId>, page: PageKind) -> Self {
        Self { cpu, bytes, node, layout: ChainLayout::Groups, page, chains: 1 }
    }

    /// Its memory and thread.
    pub(crate) fn setup(self, seed: u64) -> Setup {
        let Self { cpu, bytes, node, layout, page, chains } = self;
        setup(&[cpu], Bytes(bytes), node, page, Layout::Chain(layout), &Role::Chase { chains }, seed)
    }

    /// The step of a probe, with these labels besides its own.
    pub(crate) fn step(self, probe: &str, labels: Labels, seed: u64, stop: StopRule) -> Step {
        let Self { cpu, bytes, node, layout, page, chains } = self;
        let labels = labels
            .with_size(bytes)
            .with_layout(layout)
            .with_page(page)
            .with_chains(u64::from(chains))
            .with_cpus(cpu)
            .with_node_if(node);
        let place = node.map_or_else(String::new, |n| format!("/node{n}"));
        let purpose = labels.purpose().map_or("", Purpose::name);
        let id = format!("{probe}/{purpose}/{layout}/{page}/chains{chains}{place}/{bytes}");
        Step { id, labels, phase: 0, metric: Metric::Latency, setup: self.setup(seed), stop }
    }
}

/// When a point of a shape is good enough: levels differ by a third or more, so a twentieth decides.
pub(crate) fn shape(task: &Task) -> StopRule {
    StopRule { precision: 0.05, ..task.curve_point() }
}

/// A number that several observations decide: the worst of their verdicts, and all of them as evidence.
pub(crate) fn resting_on(
    evidence: &[&Observation],
    quantity: Quantity,
    labels: Labels,
    value: Option<f64>,
    unit: Unit,
) -> Finding {
    let verdict = evidence.iter().fold(Verdict::trusted(), |verdict, o| verdict.and(&o.verdict));
    Finding {
        samples: evidence.iter().map(|o| o.visits.len() as u64).sum(),
        verdict,
        evidence: evidence.iter().map(|o| o.step.clone()).collect(),
        ..Finding::new(quantity, labels, value, unit)
    }
}

/// Bounds as an interval: both ends are certain as far as the points between which they lie are.
pub(crate) fn bounds(low: u64, high: Option<u64>) -> Option<Interval> {
    high.map(|high| Interval { low: low as f64, high: high as f64, level: 1.0 })
}

/// Three whole numbers between two others, evenly spread in log; fewer where there are not as many.
pub(crate) fn quarters(low: u64, high: u64, multiple: u64) -> Vec<u64> {
    let ratio = high as f64 / low.max(1) as f64;
    let mut between: Vec<u64> = (1..4)
        .map(|i| (low as f64 * ratio.powf(f64::from(i) / 4.0) / multiple as f64).round() as u64 * multiple)
        .filter(|n| *n > low && *n < high)
        .collect();
    between.dedup();
    between
}

/// Adds a neighbour's memory and threads to a setup, as a part of its own.
pub(crate) fn join(setup: &mut Setup, other: Setup) {
    let first = setup.regions.len();
    setup.regions.extend(other.regions);
    let threads = other.threads.into_iter();
    setup.threads.extend(threads.map(|t| ThreadSetup { part: "neighbour".to_owned(), region: t.region + first, ..t }));
}

/// The available page sizes: base pages, transparent huge pages, and reserved ones of which more than `free` are free.
pub(crate) fn pages_to_be_had(machine: &Machine, free: u64) -> Vec<PageKind> {
    let mut pages = vec![PageKind::Base];
    if default_page(machine) == PageKind::Thp {
        pages.push(PageKind::Thp);
    }
    let group = machine.system.cgroup.as_ref();
    let allowed = |page: u64| group.map_or(u64::MAX, |group| group.huge_pages_left(page));
    let has = |pool: &&HugePool| pool.available().min(allowed(pool.page_bytes)) > free;
    let pools = machine.nodes.iter().flat_map(|n| &n.huge_pages).filter(has);
    let mut huge: Vec<u64> = pools.map(|pool| pool.page_bytes).collect();
    huge.sort_unstable();
    huge.dedup();
    pages.extend(huge.into_iter().map(PageKind::Huge));
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_lie_between() {
        assert_eq!(quarters(64, 128, 1), [76, 91, 108]);
        assert_eq!(quarters(64, 66, 1), [65]);
        assert!(quarters(64, 65, 1).is_empty());
        assert_eq!(quarters(4096, 16384, 4096), [8192, 12288]);
    }
}
