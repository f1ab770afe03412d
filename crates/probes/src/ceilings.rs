//! What memory channels and links carry in theory, as far as the machine tells or the user states.

use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::memory;
use tiermark_model::{Finding, Grade, IdSet, KernelInfo, MOST_THEORETICAL_SHARE, Machine, Node, NodeId, Note};

/// A rate that nothing exceeds, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ceiling {
    /// Bytes per second.
    pub(crate) rate: f64,
    /// What it is of.
    pub(crate) note: Note,
}

/// What the user states, in bytes per second; `None` for what the machine is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Stated {
    /// Of the memory of one node (`--peak`).
    pub(crate) peak: Option<f64>,
    /// Of the link between two sockets, in one direction (`--link-rate`).
    pub(crate) link: Option<f64>,
}

impl Stated {
    /// The theoretical peak of a node's memory, of the machine's without a node. `None` where it is not known: that of
    /// more nodes together is not what the node can give.
    pub(crate) fn peak(&self, machine: &Machine, node: Option<NodeId>) -> Option<Ceiling> {
        let ceiling = |rate, how: &str, of_node, parts| {
            Some(Ceiling { rate, note: memory::share_of_peak(rate.into(), how, of_node, parts) })
        };
        if let Some(rate) = self.peak {
            return ceiling(rate, memory::STATED_PEAK, node.is_some(), 1);
        }
        let whole = machine.real_peak()?;
        let Some(node) = node else {
            // No node is known: the memory is the machine's.
            return ceiling(whole.bytes_per_second, &whole.how, false, 1);
        };
        let peak = machine.own_memory_peak(&[node].into_iter().collect())?;
        let others = |n: &&Node| n.id != node && !n.is_memory_only() && n.memory_bytes != Some(0);
        let parts = 1 + machine.nodes.iter().filter(others).count();
        ceiling(peak, &whole.how, true, parts)
    }

    /// What the links from a node's socket to that of some cpus carry, in one direction; `None` where they share a
    /// socket, or the cpus lie on several.
    pub(crate) fn link(&self, machine: &Machine, cpus: &IdSet, node: Option<NodeId>) -> Option<Ceiling> {
        let sockets = |cpus: &IdSet| -> IdSet { cpus.iter().filter_map(|id| Some(machine.cpu(id)?.socket)).collect() };
        let there = sockets(&machine.node(node?)?.cpus);
        let here = sockets(cpus);
        if here.len() != 1 || there.len() != 1 || here == there {
            return None;
        }
        let known = machine.real_link().map(|link| (link.bytes_per_second, link.how.as_str()));
        let (rate, how) = self.link.map(|rate| (rate, "stated by --link-rate")).or(known)?;
        Some(Ceiling { rate, note: memory::share_of_link(rate.into(), how) })
    }
}

/// What is full carries at least this share of its theoretical rate: channels 74 to 94 %, links 79 to 100 %, on servers of
/// 2012 to 2024. A rate that levels off below it met something else, or the theoretical rate is wrong.
const LEAST_SATURATED_SHARE: f64 = 0.5;

/// A share of a theoretical rate at which what carries it cannot be full.
pub(crate) fn far_below(share: Option<f64>) -> Option<f64> {
    share.filter(|share| *share < LEAST_SATURATED_SHARE)
}

/// Removes the value of a share above [`MOST_THEORETICAL_SHARE`] and adds the reason. A rate that is doubtful itself says nothing of
/// the theoretical one.
pub(crate) fn share_of_ceiling(mut found: Finding) -> Finding {
    if let Some(share) = found.value.filter(|share| *share > MOST_THEORETICAL_SHARE) {
        (found.value, found.interval) = (None, None);
        if found.verdict.grade <= Grade::Bound {
            found.notes.push(memory::theoretical_rate_exceeded(share.into()));
        }
    }
    found
}

/// Shares of ceilings, each with the rate of its ceiling: where one of them proves that rate too low, no share of it says
/// anything. A ceiling is known by its rate and by what it is of (the statistic).
pub(crate) fn shares_of_ceilings(shares: Vec<(f64, Finding)>) -> Vec<Finding> {
    let exceeds = |found: &Finding| found.value.filter(|share| *share > MOST_THEORETICAL_SHARE);
    let is_sure = |found: &Finding| found.verdict.grade <= Grade::Bound;
    let of = |rate: f64, found: &Finding| (found.labels.statistic().map(str::to_owned), rate);
    let mut wrong = Vec::new();
    for (rate, found) in shares.iter().filter(|(_, found)| is_sure(found)) {
        wrong.extend(exceeds(found).map(|share| (of(*rate, found), share)));
    }
    let share = |(rate, mut found): (f64, Finding)| {
        let own = of(rate, &found);
        let most = wrong.iter().filter(|(other, _)| *other == own).map(|(_, share)| *share).reduce(f64::max);
        if let Some(most) = most {
            (found.value, found.interval) = (None, None);
            found.notes.insert(0, memory::theoretical_rate_exceeded(most.into()));
        }
        share_of_ceiling(found)
    };
    shares.into_iter().map(share).collect()
}

/// Bytes that memory reads and writes for each byte that kernels use, which run in turn, each as far in each of its
/// streams: whole lines, and with ordinary stores the line that is read before it is written. `None` without a kernel.
pub(crate) fn traffic_for_each_byte(kernels: &[&KernelInfo]) -> Option<f64> {
    let bytes_moved = |kernel: &&KernelInfo| {
        let (used, (read, written)) = (kernel.useful_per_byte(), kernel.traffic());
        (used * (read + written), used)
    };
    let add = |(moved, used): (f64, f64), (more, also): (f64, f64)| (moved + more, used + also);
    let (moved, used) = kernels.iter().map(bytes_moved).fold((0.0, 0.0), add);
    (used > 0.0).then(|| moved / used)
}

/// The node that a cpu's first touch takes pages from.
pub(crate) fn touched_node(touch_cpu: Option<u32>, machine: &Machine) -> Option<NodeId> {
    touch_cpu.and_then(|cpu| nearest_memory_node(cpu, machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_a_guest_have_no_peak_and_the_user_may_state_one() {
        let node = |id: u32| Node { id, cpus: [id].into_iter().collect(), memory_bytes: Some(1), ..Node::default() };
        let peak = tiermark_model::TheoreticalPeak { bytes_per_second: 100e9, ..Default::default() };
        let bare = Machine { nodes: vec![node(0)], theoretical_peak: Some(peak), ..Machine::default() };
        let mut guest = bare.clone();
        guest.system.hypervisor = Some("KVM".into());
        let rate = |stated: Stated, machine: &Machine, node| stated.peak(machine, node).map(|ceiling| ceiling.rate);
        for node in [None, Some(0)] {
            assert_eq!(rate(Stated::default(), &bare, node), Some(100e9));
            assert_eq!(rate(Stated::default(), &guest, node), None);
            assert_eq!(rate(Stated { peak: Some(50e9), link: None }, &guest, node), Some(50e9));
        }
    }

    /// One cell that exceeds the stated link proves that its rate is wrong for all; the channels keep their shares.
    #[test]
    fn a_rate_that_is_exceeded_says_nothing_of_any_cell() {
        let share = |of: &str, value: f64| {
            let labels = tiermark_model::Labels::new().with_statistic(of);
            Finding::new(tiermark_model::Quantity::MatrixShare, labels, Some(value), tiermark_model::Unit::Ratio)
        };
        let all = vec![
            (46e9, share("of link", 1.2)),
            (46e9, share("of link", 0.91)),
            (46e9, share("of theoretical peak", 0.5)),
        ];
        let found = shares_of_ceilings(all);
        assert_eq!(found.iter().map(|found| found.value).collect::<Vec<_>>(), [None, None, Some(0.5)]);
        assert!(!found[1].notes.is_empty(), "it says why");
    }
}
