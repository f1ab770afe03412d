//! The observation that a step makes of its visits.

use std::collections::BTreeMap;

use tiermark_model::{
    Disturbance, Grade, KernelId, Machine, Metric, Observation, PartResult, Role, Step, Tail, Visits,
};

use super::{BLOCKS_BEYOND, Cell};
use crate::accounting::StepAccounting;
use crate::costs;
use crate::estimate::{Estimate, Reading, between_runs};
use crate::judge;
use crate::probe::Lab;
use crate::states::Conditions;

impl Cell {
    /// Everything known of the step, with its verdict.
    pub(crate) fn observe(&self, groups: &Conditions, lab: &Lab) -> Observation {
        let mut labels = self.step.labels.clone();
        if let Some(kernel) = &self.kernel {
            labels = labels.with_kernel(kernel);
        }
        let stamp_ns = lab.bench.overheads.stamp_ns;
        let border_ns = costs::border_ns(&self.costs, stamp_ns, self.step.metric);
        let borders_share = |share: f64| if stamp_ns > 0.0 { share * border_ns / stamp_ns } else { share };
        let observation = Observation {
            visits: costs::corrected(
                &self.visits,
                &self.costs,
                (border_ns, stamp_ns),
                &self.accounting,
                costs::is_stalled(&self.disturbance),
            ),
            moved: (self.step.metric == Metric::Bandwidth && self.moved > 0).then_some(self.moved),
            traffic: self
                .traffic
                .as_ref()
                .map(|own| own.without_idle(lab.bench.idle_traffic.as_ref(), lab.bench.idle_watts)),
            allocations: self.allocations.len() as u32,
            disturbance: self.disturbance.clone(),
            tail: self.tail(if stamp_ns > 0.0 { border_ns / stamp_ns } else { 1.0 }),
            placement: self.placement.clone(),
            core_hz: highest(&self.core_hz),
            core_hz_spread: judge::clock_spread(&self.core_hz),
            rival_open: self.rivals.open().cloned(),
            passes: self.passes(),
            overhead_share: (self.disturbance.shots > 0).then(|| borders_share(self.overhead_share)),
            started_seconds: self.started.unwrap_or_default(),
            seconds: self.seconds,
            refusal: self.refusal.clone(),
            ..Observation::new(&self.step.id, labels, self.step.metric)
        };
        let estimate = self.reading(groups, &lab.machine).estimate(&self.accounting.counted(&observation.visits));
        let observation = with_estimate(observation, &estimate, &self.accounting);
        let rivals = self.rivals.rivals(observation.value, observation.within_run());
        let observation = Observation { rivals, ..observation };
        let quantum = self.quantum(observation.value);
        let fault = self.fault.as_deref();
        let verdict = judge::judge(&self.step, &observation, fault, quantum, &estimate.doubts, lab);
        withheld(Observation { verdict, ..observation })
    }

    /// How its windows are read.
    pub(super) fn reading<'a>(&'a self, groups: &'a Conditions, machine: &Machine) -> Reading<'a> {
        let reading = reading(&self.step, &self.accounting, &self.disturbance, self.kernel.as_ref(), groups, machine);
        Reading { passes: self.passes(), ..reading }
    }

    /// The clock's step, where it shows in the blocks of the first shot and is coarser than the precision wanted: a
    /// finer one does no harm, since the value is a mean over many blocks.
    pub(super) fn quantum(&self, value: Option<f64>) -> Option<f64> {
        let quantum = self.quantum?;
        let visible = value.is_none_or(|value| quantum > self.step.stop.precision * value);
        visible.then_some(quantum)
    }

    /// The tail of the times of blocks, whose border takes so many times as long as a stamp.
    pub(super) fn tail(&self, borders: f64) -> Option<Tail> {
        if self.step.metric != Metric::Latency || self.blocks_ns.is_empty() {
            return None;
        }
        let mut sorted = self.blocks_ns.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let last = sorted.len() - 1;
        // An operation as short as a stamp counts as 0, not as a negative time.
        let at = |index: usize| (f64::from(sorted[index]) - borders * self.stamp_per_access).max(0.0);
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

/// How the windows of a step are read.
pub(crate) fn reading<'a>(
    step: &'a Step,
    accounting: &StepAccounting,
    disturbance: &Disturbance,
    kernel: Option<&KernelId>,
    groups: &'a Conditions,
    machine: &Machine,
) -> Reading<'a> {
    let cpus = step.setup.threads.iter().map(|thread| thread.cpu);
    Reading {
        metric: step.metric,
        cores: machine.one_per_core(&cpus.collect()).len(),
        unsettled: disturbance.unsettled_shots as f64 / disturbance.shots.max(1) as f64,
        has_edge: accounting.has_edge(&step.labels),
        // What describes a load counts all visits, also those in which a busy hardware thread hid the clock.
        is_clocked: accounting.has_edge(&step.labels) && step.is_clocked_by_core(machine),
        is_of_core: accounting.is_of_core,
        groups,
        stop: &step.stop,
        seed: step.setup.seed,
        passes: None,
        // What has no level of its own is a statement about its own run.
        between_runs: if accounting.has_edge(&step.labels) {
            between_runs(step, kernel, accounting.is_of_core, machine)
        } else {
            0.0
        },
    }
}

/// An observation with the number from its windows.
pub(crate) fn with_estimate(observation: Observation, estimate: &Estimate, accounting: &StepAccounting) -> Observation {
    let visits = accounting.counted(&observation.visits);
    let clean = || visits.windows().filter(|window| window.clean).filter_map(|window| window.value());
    let (min, max) = (clean().reduce(f64::min), clean().reduce(f64::max));
    let spread = tiermark_stats::spread(&by_allocation(&visits));
    let column = |index: usize| {
        let clean = visits.windows().filter(|window| window.clean);
        clean.filter_map(|window| window.values.get(index).copied().flatten()).collect::<Vec<f64>>()
    };
    let part = |(index, part): (usize, &crate::accounting::PartAccounting)| {
        let values = column(1 + index);
        PartResult {
            name: part.name.clone(),
            unit: part.gauge.unit(),
            value: estimate.parts.get(index).copied().flatten(),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
        }
    };
    let parts = accounting.parts.iter().enumerate().map(part).collect();
    Observation {
        value: estimate.value,
        interval: estimate.interval,
        per_cycle: estimate.per_cycle,
        clock_slope: estimate.clock_slope,
        kind: estimate.kind,
        // What a program gets in its first accesses after other work is the value itself.
        typical: estimate.typical.filter(|_| !accounting.counts_first_windows()),
        best: estimate.best,
        edge: estimate.edge,
        state: estimate.state,
        in_states: estimate.in_states.clone(),
        modes: estimate.modes.clone(),
        min,
        max,
        spread_within: spread.as_ref().and_then(|s| s.within),
        spread_between: spread.as_ref().and_then(|s| s.between),
        slow_places: estimate.slow_places,
        parts,
        ..observation
    }
}

/// Takes the number of an observation whose proof failed.
pub(crate) fn withheld(observation: Observation) -> Observation {
    if observation.verdict.grade != Grade::Invalid {
        return observation;
    }
    let mut observation = Observation { value: None, interval: None, per_cycle: None, ..observation };
    observation.rivals.iter_mut().for_each(|rival| rival.rescale(None));
    observation
}

/// The middle of each visit, by allocation.
fn by_allocation(visits: &Visits) -> Vec<Vec<f64>> {
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for visit in &visits.list {
        let clean = visit.windows.iter().filter(|window| window.clean).filter_map(|window| window.value());
        let middle = tiermark_stats::median(&clean.collect::<Vec<f64>>());
        groups.entry(visit.allocation).or_default().extend(middle);
    }
    groups.into_values().filter(|group| !group.is_empty()).collect()
}

/// The edge of the core's clocks: chains that something else slowed down are below it.
fn highest(core_hz: &[f64]) -> Option<f64> {
    let mut sorted = core_hz.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    tiermark_stats::quantile(&sorted, tiermark_stats::EDGE_QUANTILE)
}

/// The kernel that a step names first, where it streams.
pub(crate) fn first_kernel(step: &Step) -> Option<&KernelId> {
    match step.setup.threads.first().map(|thread| &thread.role) {
        Some(Role::Stream { kernel, .. }) => Some(kernel),
        _ => None,
    }
}
