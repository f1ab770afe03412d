//! Steps that spread memory over several nodes: interleaved, weighted, mixed.

use std::collections::BTreeMap;

use tiermark_engine::admit::admit_node;
use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::plan as says;
use tiermark_model::{Bytes, Effort, IdSet, Labels, MemPolicy, NodeId, Observation, Plan, Refusal, Step};

use super::Policy;
use super::groups::{CpuGroup, memory_only};
use super::study::{MatrixStudy, RowJob, ThreadMemory};
use super::weights::{Weights, between, proportional, sweep};
use crate::footprints::{Shares, memory_cap_over, shares};

/// The first kernel that interleaves by weight (Linux 6.9, MPOL_WEIGHTED_INTERLEAVE).
const WEIGHTED_SINCE: (u32, u32) = (6, 9);

/// How one policy step places pages.
struct Spread<'a> {
    /// The label of the policy.
    name: &'a str,
    policy: MemPolicy,
    /// Empty is each thread's own.
    nodes: IdSet,
    /// Pages of one round over all nodes.
    round: u64,
    /// The weights, where there are some.
    weights: Option<&'a Weights>,
}

impl MatrixStudy {
    /// Adds all steps of the requested policies, and refusals of those that cannot be measured.
    pub(super) fn policies(&self, plan: &mut Plan) {
        for policy in [Policy::Interleave, Policy::Weighted, Policy::Mixed] {
            if !self.wants(policy) {
                continue;
            }
            let mut tried = false;
            let groups = if policy == Policy::Mixed { self.groups.clone() } else { self.policy_groups() };
            for group in &groups {
                for op in self.policy_ops() {
                    for crew in self.crews(group).into_iter().flatten() {
                        let spot = RowJob { group, crew: &crew, op: &op };
                        let steps = match policy {
                            Policy::Interleave => self.interleaved(spot),
                            Policy::Weighted => self.weighted(spot),
                            Policy::Mixed | Policy::Bind => self.mixed(spot),
                        };
                        tried |= !steps.is_empty();
                        keep(plan, steps);
                    }
                }
            }
            if !tried && self.named(policy) {
                let name = format!("{policy:?}").to_lowercase();
                plan.refused.push(says::policy_needs_nodes(&name, &self.targets));
            }
        }
        self.kernel_too_old(plan);
    }

    /// Those whose pages are spread: every row where there are few, else the first; and all cpus together.
    fn policy_groups(&self) -> Vec<CpuGroup> {
        /// More rows would take most of the time for numbers that repeat one another.
        const EVERY: usize = 2;
        let mut groups: Vec<CpuGroup> = self.groups.clone();
        if self.rows > 1 {
            groups.truncate(if groups.len() > EVERY { 1 } else { EVERY });
            groups.push(CpuGroup::new("all".to_owned(), self.cpus.clone(), self.task.machine()));
        }
        groups
    }

    /// Sets of nodes to interleave over: those named, else all, and those with cpus where some have none.
    fn interleave_sets(&self) -> Vec<IdSet> {
        if !self.params.interleave.is_empty() {
            return self.params.interleave.clone();
        }
        let ordinary: IdSet = self.targets.iter().filter(|node| !memory_only(*node, self.task.machine())).collect();
        let mut sets = vec![ordinary, self.targets.clone()];
        sets.retain(|set| set.len() > 1);
        sets.dedup();
        sets
    }

    fn interleaved(&self, spot: RowJob<'_>) -> Vec<Result<Step, Refusal>> {
        let sets = self.interleave_sets();
        let mut steps = Vec::new();
        // All cpus together have no row in the matrix: interleaving is compared with their own memory. One buffer of
        // all is nobody's own.
        if spot.group.name == "all" && !sets.is_empty() && !self.params.is_shared() {
            let nodes = IdSet::new();
            steps.push(
                self.spread(spot, &Spread { name: "local", policy: MemPolicy::Bind, nodes, round: 1, weights: None }),
            );
        }
        steps.extend(sets.into_iter().map(|nodes| {
            let round = nodes.len() as u64;
            self.spread(
                spot,
                &Spread { name: "interleave", policy: MemPolicy::Interleave, nodes, round, weights: None },
            )
        }));
        steps
    }

    /// The sets of nodes whose weights are swept for a group: its homes with one node of each kind of far memory.
    fn sweep_sets(&self, group: &CpuGroup) -> Vec<IdSet> {
        let homes = group.homes.intersection(&self.targets);
        if homes.is_empty() {
            return Vec::new();
        }
        group
            .far_kinds(&self.targets, self.task.machine())
            .into_iter()
            .map(|far| homes.union(&[far].into_iter().collect()))
            .collect()
    }

    fn weighted(&self, spot: RowJob<'_>) -> Vec<Result<Step, Refusal>> {
        let mut lists = self.params.weights.clone();
        let mut sets: Vec<IdSet> = lists.iter().map(Weights::nodes).collect();
        if lists.is_empty() {
            sets = self.sweep_sets(spot.group);
            lists = sets.iter().flat_map(|nodes| sweep(nodes, &spot.group.homes)).collect();
        }
        sets.dedup();
        let mut steps: Vec<Result<Step, Refusal>> = lists.iter().map(|weights| self.dealt(spot, weights)).collect();
        if self.kernel_weighs() {
            // Its weights are bytes, usually small; the proof shows the shares that resulted.
            steps.extend(sets.into_iter().map(|nodes| {
                let round = 4 * nodes.len() as u64;
                let (name, policy) = ("kernel weights", MemPolicy::SystemWeighted);
                self.spread(spot, &Spread { name, policy, nodes, round, weights: None })
            }));
        }
        steps
    }

    fn dealt(&self, spot: RowJob<'_>, weights: &Weights) -> Result<Step, Refusal> {
        let (policy, nodes, round) = (MemPolicy::Weighted(weights.list()), weights.nodes(), weights.round());
        self.spread(spot, &Spread { name: "weighted", policy, nodes, round, weights: Some(weights) })
    }

    /// A step whose threads all have their memory spread in the same way.
    fn spread(&self, spot: RowJob<'_>, spread: &Spread<'_>) -> Result<Step, Refusal> {
        let size = self.spread_size(spot, spread)?;
        let mut labels = Labels::new().with_policy(spread.name);
        let mut at = spread.name.replace(' ', "-");
        if !spread.nodes.is_empty() {
            labels = labels.with_nodes(&spread.nodes);
            at = format!("nodes{}", spread.nodes);
        }
        if let Some(weights) = spread.weights {
            labels = labels.with_weights(weights);
            at = format!("weights{weights}");
        }
        let place = |_| ThreadMemory { policy: spread.policy.clone(), nodes: spread.nodes.clone(), part: "" };
        self.stream(spot, &at, size, labels, &place)
    }

    /// Where the pages of a policy go; each node alone where the kernel's own weights may send all of them there.
    fn shares(&self, spot: RowJob<'_>, spread: &Spread<'_>) -> Vec<Shares> {
        if spread.nodes.is_empty() {
            return vec![shares(self.task.machine(), &spot.crew.cpus.iter().copied().collect(), None)];
        }
        let parts = spread.policy.shares(spread.nodes.len());
        if parts.is_empty() {
            return spread.nodes.iter().map(|node| Shares::from([(node, 1)])).collect();
        }
        vec![spread.nodes.iter().zip(parts.into_iter().map(u64::from)).collect()]
    }

    /// The footprint that the nodes together leave room for, in whole rounds of pages, so that the shares of each
    /// thread's memory are exact.
    ///
    /// Rounds differ between weights, and so would footprints: where there is room, those of weights are four times as
    /// large, so that half a round more or less is little, and caches keep little of any.
    fn spread_size(&self, spot: RowJob<'_>, spread: &Spread<'_>) -> Result<Bytes, Refusal> {
        const LARGER: u64 = 4;
        let (mut least, mut room) = (u64::MAX, u64::MAX);
        for on in self.shares(spot, spread) {
            if on.is_empty() {
                return Err(says::policy_without_nodes(spread.name));
            }
            on.keys().try_for_each(|node| admit_node(*node, self.task.machine()))?;
            let of_cell =
                |refusal| Refusal { what: format!("{} {} from {}", spread.name, spot.op, spot.group.name), ..refusal };
            least = least.min(self.size(&spot.crew.cpus, &on).map_err(of_cell)?.0);
            room = room.min(memory_cap_over(self.task.machine(), &on, &self.task.request.scope).bytes);
        }
        let weighs = spread.weights.is_some() || spread.policy == MemPolicy::SystemWeighted;
        if weighs && self.memory.size.is_none() && least * LARGER * spot.crew.cpus.len() as u64 <= room {
            least *= LARGER;
        }
        let round = spread.round * self.page_bytes();
        Ok(Bytes((least + round / 2) / round * round).max(Bytes(round)))
    }

    /// Some threads on local memory and the others on one node of each kind of far memory.
    fn mixed(&self, spot: RowJob<'_>) -> Vec<Result<Step, Refusal>> {
        let homes = spot.group.homes.intersection(&self.targets);
        let usual: &[u8] = if self.task.effort() == Effort::Full { &[25, 50, 75] } else { &[50] };
        let shares = if self.params.mixed.is_empty() { usual } else { self.params.mixed.as_slice() };
        let Some(local) = homes.first() else { return Vec::new() };
        let threads = spot.crew.cpus.len();
        let mut steps = Vec::new();
        for remote in spot.group.far_kinds(&self.targets, self.task.machine()) {
            for share in shares {
                let is_remote = |thread: usize| remote_threads(thread + 1, *share) > remote_threads(thread, *share);
                // With too few threads for the share, one of the two groups would be empty.
                if (0..threads).any(is_remote) && !(0..threads).all(is_remote) {
                    // The share that the number of threads allows, which may be less than requested: a third of three
                    // for a half.
                    let share = (100 * remote_threads(threads, *share) + threads / 2) / threads;
                    steps.push(self.mix(spot, local, remote, share, &is_remote));
                }
            }
        }
        steps
    }

    fn mix(
        &self,
        spot: RowJob<'_>,
        local: NodeId,
        remote: NodeId,
        share: usize,
        is_remote: &dyn Fn(usize) -> bool,
    ) -> Result<Step, Refusal> {
        let machine = self.task.machine();
        // A socket of several nodes is local where each of its cpus is.
        let own = |thread: usize| spot.crew.cpus.get(thread).and_then(|cpu| nearest_memory_node(*cpu, machine));
        let node = |thread: usize| if is_remote(thread) { remote } else { own(thread).unwrap_or(local) };
        let mut on = Shares::new();
        (0..spot.crew.cpus.len()).for_each(|thread| *on.entry(node(thread)).or_default() += 1);
        let size = self.size(&spot.crew.cpus, &on)?;
        let place = |thread: usize| {
            let part = if is_remote(thread) { "remote" } else { "local" };
            ThreadMemory { part, ..ThreadMemory::on(node(thread)) }
        };
        let labels = Labels::new().with_policy("mixed").with_node(remote);
        let labels = labels.with_remote(share as u64);
        self.stream(spot, &format!("node{remote}/{share}%"), size, labels, &place)
    }

    /// More weights where a sweep moves: on both sides of the best, and in proportion to what each node gave alone.
    pub(super) fn better_weights(&self, observations: &[Observation]) -> Vec<Step> {
        if !self.wants(Policy::Weighted) || !self.params.weights.is_empty() {
            return Vec::new();
        }
        let mut steps = Vec::new();
        for group in &self.policy_groups() {
            for op in self.policy_ops() {
                for crew in self.crews(group).into_iter().flatten() {
                    let spot = RowJob { group, crew: &crew, op: &op };
                    let more = self.sweep_sets(group).into_iter().flat_map(|nodes| {
                        let seen = seen(observations, spot, &nodes);
                        between(&nodes, &group.homes, &seen)
                    });
                    let more = more.chain(proportional(&alone(observations, spot)));
                    steps.extend(more.filter_map(|weights| self.dealt(spot, &weights).ok()));
                }
            }
        }
        steps
    }

    fn kernel_weighs(&self) -> bool {
        let release = self.task.machine().system.kernel.as_deref();
        // A release that says nothing is tried: the kernel has the last word.
        release.and_then(version).is_none_or(|version| version >= WEIGHTED_SINCE)
    }

    /// A refusal where weights were requested and the kernel has no weighted interleave of its own.
    fn kernel_too_old(&self, plan: &mut Plan) {
        let weighted = plan.steps.iter().any(|step| step.labels.policy() == Some("weighted"));
        if !weighted || self.kernel_weighs() {
            return;
        }
        let release = self.task.machine().system.kernel.clone().unwrap_or_default();
        let since = format!("{}.{}", WEIGHTED_SINCE.0, WEIGHTED_SINCE.1);
        plan.refused.push(says::kernel_without_weights(&release, &since));
    }
}

/// How many of the first so many threads are remote: spread evenly, so that every cache has both.
fn remote_threads(threads: usize, percent: u8) -> usize {
    threads * usize::from(percent) / 100
}

/// The two numbers a kernel's release begins with.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn keep(plan: &mut Plan, steps: Vec<Result<Step, Refusal>>) {
    for step in steps {
        match step {
            Ok(step) => plan.steps.push(step),
            Err(refusal) if plan.refused.contains(&refusal) => {}
            Err(refusal) => plan.refused.push(refusal),
        }
    }
}

fn is_at(observation: &Observation, spot: RowJob<'_>) -> bool {
    let labels = &observation.labels;
    labels.from() == Some(&spot.group.name) && labels.op() == Some(spot.op) && labels.span() == Some(spot.crew.span)
}

/// The points of a sweep over these nodes that have a rate.
fn seen(observations: &[Observation], spot: RowJob<'_>, nodes: &IdSet) -> Vec<(Weights, f64)> {
    let here = observations.iter().filter(|o| is_at(o, spot));
    let points = here.filter_map(|o| Some((o.labels.weights()?.parse::<Weights>().ok()?, o.value?)));
    points.filter(|(weights, _)| weights.nodes() == *nodes).collect()
}

/// The rate of each node alone.
fn alone(observations: &[Observation], spot: RowJob<'_>) -> Vec<(NodeId, f64)> {
    let cells = observations.iter().filter(|o| is_at(o, spot) && o.labels.policy().is_none());
    let rates = cells.filter_map(|o| Some((o.labels.node()?, o.value?)));
    rates.collect::<BTreeMap<NodeId, f64>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_spread_over_both_memories() {
        let remote = |threads: usize, percent: u8| -> Vec<bool> {
            (0..threads).map(|t| remote_threads(t + 1, percent) > remote_threads(t, percent)).collect()
        };
        assert_eq!(remote(4, 50), [false, true, false, true]);
        assert_eq!(remote(20, 50).iter().filter(|r| **r).count(), 10);
        assert_eq!(remote(4, 25), [false, false, false, true]);
        assert_eq!(remote(1, 50), [false]);
    }

    #[test]
    fn kernels_are_told_by_their_release() {
        assert_eq!(version("6.1.0-56-cloud-amd64"), Some((6, 1)));
        assert_eq!(version("6.18.2"), Some((6, 18)));
        assert!(version("6.10.1").unwrap() >= WEIGHTED_SINCE && version("6.8.0").unwrap() < WEIGHTED_SINCE);
        assert_eq!(version("custom"), None);
    }
}
