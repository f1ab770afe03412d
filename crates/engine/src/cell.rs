//! A step while it is being measured: samples, proofs and disturbances as they come in, and the observation they make.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use tiermark_model::{
    Disturbance, Interval, KernelId, Labels, Metric, Observation, Part, PlacementProof, Refusal, Rival, Sample, Step,
    Tail, Unit,
};

use crate::analyse::{ShotResult, merge};
use crate::judge;
use crate::probe::Lab;
use crate::roll::{PartRoll, Roll, Work};

/// Confidence level of every interval.
const LEVEL: f64 = 0.95;
/// Bootstrap resamples: enough that the ends of a 95 % interval move by well under a tenth of its width (Davison & Hinkley 1997, §2.5.2).
const RESAMPLES: usize = 400;
/// A quantile is given only with this many blocks beyond it, so that no single block decides it.
const BLOCKS_BEYOND: f64 = 10.0;
/// Blocks are kept as 32-bit floats: they are known to this share of themselves, and a little more.
const KNOWN_TO: f64 = 1e-6;
/// Tail blocks kept a step: bounds the memory of long runs at 16 MiB a step.
const MAX_TAIL_BLOCKS: usize = 4 << 20;

/// A step under way.
pub(crate) struct Cell {
    pub(crate) step: Step,
    /// Samples by allocation.
    groups: Vec<Vec<f64>>,
    samples: Vec<Sample>,
    /// The interval of these samples, once asked for: plans of thousands of steps ask after every visit.
    known_interval: OnceCell<Option<Interval>>,
    roll: Roll,
    /// Samples of each named part.
    parts: Vec<Vec<f64>>,
    disturbance: Disturbance,
    blocks_ns: Vec<f32>,
    stamp_per_access: f64,
    /// The clock's step in ns per access, where the first shot shows one (later ones may have other blocks).
    quantum: Option<f64>,
    /// Accesses in one block, as the last shot had them.
    block_accesses: u64,
    core_hz: Vec<f64>,
    overhead_share: f64,
    placement: Option<PlacementProof>,
    pub(crate) rivals: Vec<Rival>,
    pub(crate) winner: Option<KernelId>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) fault: Option<String>,
    started: Option<f64>,
    seconds: f64,
    /// Of these, how many went into the tournament between rivals, which is held once.
    pub(crate) tournament_seconds: f64,
}

impl Cell {
    pub(crate) fn new(step: Step) -> Self {
        let roll = Roll::of(&step);
        Self {
            step,
            groups: Vec::new(),
            samples: Vec::new(),
            known_interval: OnceCell::new(),
            parts: vec![Vec::new(); roll.parts.len()],
            roll,
            disturbance: Disturbance::default(),
            blocks_ns: Vec::new(),
            stamp_per_access: 0.0,
            quantum: None,
            block_accesses: 0,
            core_hz: Vec::new(),
            overhead_share: 0.0,
            placement: None,
            rivals: Vec::new(),
            winner: None,
            refusal: None,
            fault: None,
            started: None,
            seconds: 0.0,
            tournament_seconds: 0.0,
        }
    }

    /// Allocations measured so far.
    pub(crate) fn allocations(&self) -> u32 {
        self.groups.len() as u32
    }

    pub(crate) fn begin_allocation(&mut self, now: f64) {
        self.started.get_or_insert(now);
        self.groups.push(Vec::new());
    }

    /// Takes back an allocation that was never made.
    pub(crate) fn drop_allocation(&mut self) {
        self.groups.pop();
    }

    pub(crate) fn end_allocation(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    /// Seconds that all allocations took, and those that were expected; `None` before the first.
    pub(crate) fn spent(&self) -> Option<(f64, f64)> {
        let expected = f64::from(self.allocations()) * self.step.allocation_seconds() + self.step.tournament_seconds();
        (self.allocations() > 0 && expected > 0.0).then_some((self.seconds, expected))
    }

    /// What one of them took so far, without the tournament; `None` before the first.
    pub(crate) fn seconds_an_allocation(&self) -> Option<f64> {
        (self.allocations() > 0).then(|| (self.seconds - self.tournament_seconds) / f64::from(self.allocations()))
    }

    /// What of a shot counts.
    pub(crate) fn roll(&self) -> &Roll {
        &self.roll
    }

    pub(crate) fn add(&mut self, shot: ShotResult) {
        for (samples, value) in self.parts.iter_mut().zip(&shot.parts) {
            samples.extend(value);
        }
        merge(&mut self.disturbance, &shot.disturbance);
        self.core_hz.extend(shot.core_hz);
        self.overhead_share = self.overhead_share.max(shot.overhead_share);
        self.block_accesses = shot.block_work as u64;
        self.stamp_per_access = shot.stamp_per_access;
        if self.disturbance.shots == 1 {
            self.quantum = clock_step(&shot.blocks_ns);
        }
        // The memory of this process is part of what its forks take (0.16 µs a page and more): of calls to the kernel only the distribution
        // of single ones is kept.
        let calls = self.roll.threads.iter().any(|work| matches!(work, Work::Calls | Work::Meetings));
        let most = if calls && self.block_accesses > 1 { 0 } else { MAX_TAIL_BLOCKS };
        let room = most.saturating_sub(self.blocks_ns.len());
        self.blocks_ns.extend(shot.blocks_ns.into_iter().take(room));
        if let (Some(value), Some(group)) = (shot.value, self.groups.last_mut()) {
            group.push(value);
            self.known_interval = OnceCell::new();
            self.samples.push(Sample { allocation: self.groups.len() as u32 - 1, value });
        }
    }

    /// Keeps the worst of all proofs.
    pub(crate) fn prove(&mut self, proof: PlacementProof) {
        let Some(worst) = &mut self.placement else {
            self.placement = Some(proof);
            return;
        };
        worst.pages += proof.pages;
        for (node, pages) in proof.by_node {
            *worst.by_node.entry(node).or_default() += pages;
        }
        // What is said of the proof is said of the one that saw least: it is why the whole is unproven.
        let less = |worst: Option<f64>, now: Option<f64>| worst.is_some() && now.is_none();
        if less(worst.on_target, proof.on_target) || less(worst.page_share, proof.page_share) {
            worst.how = proof.how;
        }
        if worst.page.is_empty() {
            worst.page = proof.page;
        }
        worst.on_target = lower(worst.on_target, proof.on_target);
        worst.page_share = lower(worst.page_share, proof.page_share);
        for note in proof.notes {
            if !worst.notes.contains(&note) {
                worst.notes.push(note);
            }
        }
    }

    /// Whether the step is measured as well as its stop rule wants, or cannot be.
    pub(crate) fn settled(&self) -> bool {
        if self.refusal.is_some() || self.fault.is_some() {
            return true;
        }
        let stop = &self.step.stop;
        // An allocation without one undisturbed shot is tried, not measured.
        let measured = self.filled_groups().len() as u32;
        self.allocations() >= stop.max_allocations
            || (measured >= stop.min_allocations && self.half_width().is_some_and(|w| w <= stop.precision))
    }

    fn filled_groups(&self) -> Vec<Vec<f64>> {
        self.groups.iter().filter(|g| !g.is_empty()).cloned().collect()
    }

    /// The wider of two intervals: the hierarchical bootstrap's, and Student's over the medians of the allocations, since with a
    /// handful of allocations the bootstrap is too narrow (Kalibera & Jones 2013, §6).
    fn interval(&self) -> Option<Interval> {
        *self.known_interval.get_or_init(|| self.make_interval())
    }

    fn make_interval(&self) -> Option<Interval> {
        let groups = self.filled_groups();
        let value = self.median()?;
        let boot = tiermark_stats::bootstrap_median(&groups, LEVEL, RESAMPLES, self.step.setup.seed)?;
        let medians: Vec<f64> = groups.iter().filter_map(|g| tiermark_stats::median(g)).collect();
        let half = tiermark_stats::student_half_width(&medians)?;
        // Neither times nor rates are below zero, where Student's symmetric interval of a few that scatter would reach. Cut there it is still
        // wider than half of the number.
        let low = boot.low.min(value - half).max(0.0);
        Some(Interval { low, high: boot.high.max(value + half), level: LEVEL })
    }

    fn half_width(&self) -> Option<f64> {
        let value = self.median()?;
        self.interval().map(|i| (i.high - i.low) / 2.0 / value)
    }

    /// Median of all undisturbed samples.
    pub(crate) fn median(&self) -> Option<f64> {
        tiermark_stats::median(&self.samples.iter().map(|s| s.value).collect::<Vec<_>>())
    }

    /// Everything known of the step, with its verdict.
    pub(crate) fn observe(&self, lab: Lab<'_>) -> Observation {
        let groups = self.filled_groups();
        let values: Vec<f64> = self.samples.iter().map(|s| s.value).collect();
        let spread = tiermark_stats::spread(&groups);
        let mut labels = self.step.labels.clone();
        if let Some(winner) = &self.winner {
            labels = labels.text(Labels::KERNEL, winner);
        }
        let mut observation = Observation {
            step: self.step.id.clone(),
            labels,
            metric: self.step.metric,
            unit: match self.step.metric {
                Metric::Latency => Unit::Ns,
                Metric::Bandwidth => Unit::BytesPerSecond,
            },
            value: self.median(),
            interval: self.interval(),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
            spread_within: spread.as_ref().and_then(|s| s.within),
            spread_between: spread.as_ref().and_then(|s| s.between),
            samples: self.samples.clone(),
            allocations: groups.len() as u32,
            disturbance: self.disturbance.clone(),
            tail: self.tail(),
            placement: self.placement.clone(),
            core_hz: tiermark_stats::median(&self.core_hz),
            core_hz_spread: judge::clock_spread(&self.core_hz),
            parts: self.parts(),
            rivals: self.rivals.clone(),
            overhead_share: (self.disturbance.shots > 0).then_some(self.overhead_share),
            started_seconds: self.started.unwrap_or_default(),
            seconds: self.seconds,
            verdict: tiermark_model::Verdict::trusted(),
            refusal: self.refusal.clone(),
        };
        observation.verdict = judge::judge(&self.step, &observation, self.fault.as_deref(), self.quantum(), lab);
        if observation.verdict.grade == tiermark_model::Grade::Invalid {
            observation.value = None;
            observation.interval = None;
        }
        observation
    }

    /// The clock's step, where it shows in the blocks of the first shot and is coarser than the precision wanted: a finer one
    /// does no harm, since the value is a mean over many blocks.
    fn quantum(&self) -> Option<f64> {
        let quantum = self.quantum?;
        let visible = self.median().is_none_or(|m| quantum > self.step.stop.precision * m);
        visible.then_some(quantum)
    }

    fn parts(&self) -> Vec<Part> {
        let part = |(part, samples): (&PartRoll, &Vec<f64>)| Part {
            name: part.name.clone(),
            unit: part.gauge.unit(),
            value: tiermark_stats::median(samples),
            min: samples.iter().copied().reduce(f64::min),
            max: samples.iter().copied().reduce(f64::max),
        };
        self.roll.parts.iter().zip(&self.parts).map(part).collect()
    }

    fn tail(&self) -> Option<Tail> {
        if self.step.metric != Metric::Latency || self.blocks_ns.is_empty() {
            return None;
        }
        let mut sorted = self.blocks_ns.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let last = sorted.len() - 1;
        // An operation as short as a stamp takes no time that could be told, and no negative one.
        let at = |index: usize| (f64::from(sorted[index]) - self.stamp_per_access).max(0.0);
        let mut quantiles = BTreeMap::new();
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)] {
            if sorted.len() as f64 * (1.0 - q) >= BLOCKS_BEYOND {
                quantiles.insert(name.to_owned(), at((last as f64 * q).round() as usize));
            }
        }
        quantiles.insert("max".to_owned(), at(last));
        Some(Tail { block_accesses: self.block_accesses, blocks: sorted.len() as u64, quantiles })
    }
}

/// The step of which all blocks of a shot are whole multiples.
fn clock_step(blocks_ns: &[f32]) -> Option<f64> {
    // As many as decide the question; more only take time.
    const BLOCKS: usize = 200;
    let blocks: Vec<f64> = blocks_ns.iter().take(BLOCKS).map(|b| f64::from(*b)).collect();
    let largest = blocks.iter().copied().fold(0.0, f64::max);
    tiermark_stats::quantum(&blocks, KNOWN_TO * largest).map(|q| q.size)
}

fn lower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        // One proof that saw nothing leaves the whole unproven.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{
        Bytes, Grade, IdSet, Layout, Machine, MemPolicy, Node, PageKind, ReasonCode, RegionSetup, Setup, StopRule,
    };

    fn cell(regions: Vec<RegionSetup>) -> Cell {
        let stop = StopRule { precision: 0.05, shots: 1, min_allocations: 2, max_allocations: 4, shot_seconds: 0.01 };
        let setup = Setup { regions, threads: Vec::new(), seed: 1 };
        Cell::new(Step { id: "a".into(), labels: Labels::new(), phase: 0, metric: Metric::Latency, setup, stop })
    }

    #[test]
    fn one_proof_that_saw_nothing_is_told_of_whichever_it_was() {
        let region = |page| RegionSetup {
            bytes: Bytes(64 << 20),
            policy: MemPolicy::Bind,
            nodes: IdSet::new(),
            page,
            layout: Layout::Data,
        };
        let seen = PlacementProof {
            how: "move_pages".into(),
            pages: 64,
            on_target: Some(1.0),
            page_share: Some(1.0),
            page: "base".into(),
            ..PlacementProof::default()
        };
        let no_sizes = PlacementProof { how: "no smaps".into(), page_share: None, ..seen.clone() };
        let none = PlacementProof { how: "it ended".into(), ..PlacementProof::default() };
        let node = |id| Node { id, memory_bytes: Some(1 << 30), ..Node::default() };
        let bench = tiermark_model::Bench::default();
        let doubts = |page, nodes: u32, proofs: &[&PlacementProof]| {
            let mut cell = cell(vec![region(page)]);
            cell.groups = vec![vec![20.0; 4]; 2];
            cell.samples = vec![Sample { allocation: 0, value: 20.0 }; 8];
            proofs.iter().for_each(|proof| cell.prove((*proof).clone()));
            let machine = Machine { nodes: (0..nodes).map(node).collect(), ..Machine::default() };
            let verdict = cell.observe(Lab { machine: &machine, bench: &bench }).verdict;
            assert_eq!(verdict.grade == Grade::Trusted, verdict.reasons.is_empty(), "{verdict:?}");
            verdict.reasons
        };
        for page in [PageKind::Base, PageKind::Thp, PageKind::Huge(2 << 20)] {
            for nodes in [1, 2] {
                assert_eq!(doubts(page, nodes, &[&seen, &seen]), []);
                // First, between others, and last: no other hides it.
                for proofs in [[&none, &seen, &seen], [&seen, &none, &seen], [&seen, &seen, &none]] {
                    let found = doubts(page, nodes, &proofs);
                    let codes: Vec<ReasonCode> = found.iter().map(|reason| reason.code).collect();
                    // On one node, pages that were seen in any of the proofs are where they have to be.
                    let place: &[ReasonCode] = if nodes > 1 { &[ReasonCode::Unproven] } else { &[] };
                    assert_eq!(codes, [place, &[ReasonCode::PageSize]].concat(), "{page} {nodes}");
                    assert!(found.iter().all(|reason| reason.text.ends_with("(it ended)")), "{found:?}");
                }
                let found = doubts(page, nodes, &[&seen, &no_sizes, &seen]);
                let [only] = found.as_slice() else { panic!("{page}: {found:?}") };
                assert_eq!(only.code, ReasonCode::PageSize);
                assert!(only.text.ends_with("could not be seen (no smaps)"), "{only:?}");
            }
            // Where nothing was ever seen, one node proves nothing either.
            let codes: Vec<ReasonCode> = doubts(page, 1, &[&none, &none]).iter().map(|reason| reason.code).collect();
            assert_eq!(codes, [ReasonCode::Unproven, ReasonCode::PageSize]);
        }
    }

    #[test]
    fn an_interval_ends_at_zero() {
        let mut cell = cell(Vec::new());
        for (allocation, value) in [(0, 20.0), (1, 40.0)] {
            cell.groups.push(vec![value; 2]);
            cell.samples.extend([Sample { allocation, value }; 2]);
        }
        // Student: 30 ± 12.7 * 14.1 / sqrt(2), which is 127.
        let interval = cell.interval().unwrap();
        assert_eq!(interval.low, 0.0);
        assert!((interval.high - 157.0).abs() < 1.0, "{interval:?}");
        // As wide as it is, it stays no number.
        assert!(cell.half_width().unwrap() > judge::TOO_WIDE);
    }
}
