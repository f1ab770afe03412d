//! How pages come to lie on their nodes: by the kernel's policies, or dealt out one by one.

use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, IdSet, Machine, MemPolicy, NodeId, Note, Refusal, deal};
use tiermark_system::{Mapping, PageRule, pin};

use super::{Order, pin_refused};

/// How pages come to lie on their nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Touch {
    /// The kernel knows the node; any thread may touch the pages.
    Bound,
    /// The kernel has no NUMA, or the machine has one node: no binding.
    Anywhere,
    /// Each page is touched for its node.
    Dealt(Deal),
}

/// Which thread touches which page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deal {
    /// The nodes. With a cpu: a thread on that cpu touches the page, because the user chose the cpu or the kernel
    /// refused to bind the page; without: the touching thread sets its memory policy to the node.
    nodes: Vec<(NodeId, Option<CpuId>)>,
    /// One round of pages: the index of each page's node.
    pub(super) order: Vec<usize>,
}

impl Deal {
    /// Has `touch` touch the pages of each node, by its index, for that node; the calling thread belongs on `cpu`.
    pub(super) fn carry_out(&self, cpu: CpuId, touch: impl Fn(usize) -> Result<(), Refusal>) -> Result<(), Refusal> {
        if self.nodes.iter().any(|(_, toucher)| toucher.is_some()) {
            let dealt = self.nodes.iter().enumerate().try_for_each(|(index, (_, toucher))| {
                repin(toucher.unwrap_or(cpu))?;
                touch(index)
            });
            return repin(cpu).and(dealt);
        }
        // The thread may have a rule of its own, from numactl: it is put back, whatever comes in between.
        let before = PageRule::now().map_err(|error| take_refused(None, &error))?;
        let dealt = self.nodes.iter().enumerate().try_for_each(|(index, (node, _))| {
            PageRule::only(*node).apply().map_err(|error| take_refused(Some(*node), &error))?;
            touch(index)
        });
        before.apply().map_err(|error| take_refused(None, &error)).and(dealt)
    }
}

/// Whether a thread may say by itself which node its pages come from.
fn may_deal(node: NodeId) -> std::io::Result<()> {
    let before = PageRule::now()?;
    PageRule::only(node).apply()?;
    before.apply()
}

/// Binds the pages to their nodes, or chooses another way to place them.
pub(super) fn place(
    mapping: &Mapping,
    order: &Order<'_>,
    machine: &Machine,
    notes: &mut Vec<Note>,
) -> Result<Touch, Refusal> {
    if let (MemPolicy::TouchedBy(cpu), node) = (&order.setup.policy, order.target.first()) {
        return Ok(Touch::Dealt(Deal { nodes: vec![(node.unwrap_or_default(), Some(*cpu))], order: vec![0] }));
    }
    if machine.cpus.iter().all(|cpu| cpu.node.is_none()) {
        notes.push(says::no_numa());
        return Ok(Touch::Anywhere);
    }
    let policy = &order.setup.policy;
    if let MemPolicy::File(_) = policy {
        return Ok(Touch::Bound);
    }
    let shares = policy.shares(order.target.len());
    let applied = match (policy, order.target.first()) {
        (MemPolicy::Weighted(_), Some(first)) => may_deal(first),
        _ => mapping.bind(policy, &order.target),
    };
    let Err(error) = applied else {
        return Ok(match policy {
            MemPolicy::Weighted(_) => {
                let nodes = order.target.iter().map(|node| (node, None)).collect();
                Touch::Dealt(Deal { nodes, order: deal(&shares) })
            }
            _ => Touch::Bound,
        });
    };
    if *policy == MemPolicy::SystemWeighted {
        return Err(says::kernel_weights_refused(&error.to_string()));
    }
    // One node: it can come from nowhere else.
    if machine.nodes.len() == 1 {
        notes.push(says::bind_refused_one_node(&error.to_string()));
        return Ok(Touch::Anywhere);
    }
    touch_from_cpus(order, machine, &shares, &error, notes)
}

/// Finds a cpu of each node that its pages can be touched from.
fn touch_from_cpus(
    order: &Order<'_>,
    machine: &Machine,
    shares: &[u32],
    error: &std::io::Error,
    notes: &mut Vec<Note>,
) -> Result<Touch, Refusal> {
    let mut touchers = Vec::new();
    for node in order.target.iter() {
        let cpus = machine.node(node).map(|n| n.cpus.intersection(&machine.allowed_cpus)).unwrap_or_default();
        match cpus.first() {
            Some(cpu) => touchers.push((node, Some(cpu))),
            None => return Err(says::node_untouchable(node, &error.to_string())),
        }
    }
    // Of several nodes that it may all come from, the first will do.
    let shares = if shares.is_empty() { &[1] } else { shares };
    touchers.truncate(shares.len());
    let cpus: IdSet = touchers.iter().filter_map(|(_, cpu)| *cpu).collect();
    notes.push(says::bind_refused_first_touch(&error.to_string(), &cpus));
    Ok(Touch::Dealt(Deal { nodes: touchers, order: deal(shares) }))
}

/// Why a thread could not choose the node of its pages.
fn take_refused(node: Option<NodeId>, error: &std::io::Error) -> Refusal {
    says::memory_policy_refused(node, &error.to_string())
}

fn repin(cpu: CpuId) -> Result<(), Refusal> {
    pin(cpu).map_err(|error| pin_refused(cpu, &error))
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Bytes, Layout, PageKind, RegionSetup};
    use tiermark_system::{allowed_nodes, live_facts};

    use super::*;
    use crate::region::Region;

    /// A thread that numactl started has a rule of its own, and so have those it starts later.
    #[test]
    fn dealing_pages_out_leaves_the_thread_its_rule() {
        let machine = tiermark_machine::discover(&tiermark_machine::Root::live(), &live_facts()).unwrap();
        let Some(node) = allowed_nodes().ok().and_then(|nodes| nodes.first()) else { return };
        let own = PageRule::interleaved(node);
        // A container may forbid it, and a kernel without NUMA has no such rule.
        if own.apply().is_err() || machine.cpus.iter().all(|cpu| cpu.node.is_none()) {
            return;
        }
        let setup = RegionSetup {
            bytes: Bytes(1 << 20),
            policy: MemPolicy::Weighted(vec![1]),
            nodes: IdSet::from_iter([node]),
            page: PageKind::Base,
            layout: Layout::Data,
        };
        let order = Order { setup: &setup, target: setup.nodes.clone(), streams: 1, note: None, offset: 0 };
        let region = Region::map(&order, &machine).unwrap();
        assert!(matches!(region.touch, Touch::Dealt(_)), "{region:?}");
        assert_eq!(PageRule::now().unwrap(), own, "after the region was mapped");
        region.fill(0, 1, None, &|| false).unwrap();
        assert_eq!(PageRule::now().unwrap(), own, "after its pages were touched");
        region.fill(0, 1, None, &|| true).unwrap_err();
        assert_eq!(PageRule::now().unwrap(), own, "after that was stopped");
    }
}
