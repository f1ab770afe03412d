//! Ramps of threads: the rate of whole lines, and its shares of what memory and link carry.

use crate::figure::Distance;
use crate::idset::NodeId;
use crate::kernel::KernelInfo;
use crate::observation::{Finding, Interval, Observation};
use crate::peak::MOST_THEORETICAL_SHARE;
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::run::{Experiment, Run};
use crate::units::Metric;

/// A rate this near to the level, or to the most of a ramp, is on it: noise of a point and a little more.
pub const ON_LEVEL: f64 = 0.97;
/// Two places in one memory differ by less than this: remote memory that gives so much more than local memory is no
/// scatter.
const MORE_THAN_LOCAL: f64 = 1.1;

/// A step of a ramp: so many threads.
#[derive(Debug, Clone, Copy)]
pub struct RampPoint<'a> {
    /// How many.
    pub threads: u64,
    /// The step: its value is the rate of the bytes that are used.
    pub seen: &'a Observation,
    /// Bytes of whole lines a second.
    pub lines: Option<f64>,
    /// Its traffic as a share of what the node's memory carries in theory; `None` where that is not known, or is
    /// exceeded.
    pub of_channels: Option<f64>,
    /// Its lines as a share of what the link carries in one direction.
    pub of_link: Option<f64>,
}

impl RampPoint<'_> {
    /// How often its threads went over their memory, in all visits.
    pub fn passes(&self) -> Option<f64> {
        let whole = self.seen.moved? as f64 * self.lines? / self.seen.value?;
        Some(whole / (self.seen.labels.bytes()? as f64 * self.threads as f64)).filter(|passes| passes.is_finite())
    }

    /// Seconds in which they did.
    pub fn seconds(&self) -> Option<f64> {
        Some(self.seen.moved? as f64 / self.seen.value?).filter(|seconds| seconds.is_finite())
    }
}

/// A ramp of threads: of one operation, at one distance, on one node's memory.
#[derive(Debug, Clone)]
pub struct ThreadRamp<'a> {
    /// The number of its experiment, from 0.
    pub experiment: usize,
    /// The operation.
    pub op: &'a str,
    /// Where the memory is.
    pub place: Option<Distance>,
    /// The node of the memory.
    pub node: Option<NodeId>,
    /// By rising number of threads.
    pub points: Vec<RampPoint<'a>>,
    /// Its ceiling, or the most that was seen.
    pub ceiling: Option<&'a Finding>,
    /// Shares of its level: of the theoretical peak, of the link, of local memory.
    pub shares: Vec<&'a Finding>,
}

impl<'a> ThreadRamp<'a> {
    /// The first step that has its level; `None` without a rate.
    pub fn first_on_level(&self) -> Option<&RampPoint<'a>> {
        let level = self.level()?;
        self.points.iter().find(|point| point.lines.is_some_and(|lines| lines >= ON_LEVEL * level))
    }

    /// Whether remote memory gives clearly more than local memory: then something slows the node's own cores.
    pub fn exceeds_local(&self) -> bool {
        self.share("of local").and_then(|share| share.value).is_some_and(|share| share > MORE_THAN_LOCAL)
    }

    /// The bytes of whole lines a second of its level; of a ramp without one, the most that was seen.
    pub fn level(&self) -> Option<f64> {
        let times = self.points.iter().find_map(|point| Some(point.lines? / point.seen.value?))?;
        let most = || self.points.iter().filter_map(|point| point.seen.value).reduce(f64::max);
        Some(self.ceiling.and_then(|f| f.value).or_else(most)? * times).filter(|level| level.is_finite())
    }

    /// A share of its level, by what it is of.
    pub fn share(&self, of: &str) -> Option<&'a Finding> {
        self.shares.iter().copied().find(|share| share.labels.statistic() == Some(of))
    }

    fn owns(&self, labels: &crate::labels::Labels) -> bool {
        labels.op() == Some(self.op) && labels.place() == self.place && labels.node() == self.node
    }
}

/// The ramps of a run, in its order.
pub fn thread_ramps(run: &Run) -> Vec<ThreadRamp<'_>> {
    let ramps = run.experiments.iter().enumerate().filter(|(_, e)| e.request.probe == "scale");
    ramps.flat_map(|(number, experiment)| of_experiment(number, experiment, run)).collect()
}

/// The rates of whole lines, where they are not those of the bytes used: a finding for each step, with the number of
/// its experiment.
pub(super) fn line_rates(run: &Run) -> Vec<(usize, Finding)> {
    let rate = |ramp: &ThreadRamp<'_>, point: &RampPoint<'_>| {
        let (seen, lines) = (point.seen, point.lines.filter(|lines| point.seen.value != Some(*lines))?);
        let times = lines / seen.value?;
        let interval = seen.interval.map(|of| Interval { low: of.low * times, high: of.high * times, ..of });
        let found = Finding {
            interval,
            samples: seen.visits.len() as u64,
            verdict: seen.verdict.clone(),
            evidence: vec![seen.step.clone()],
            ..Finding::new(Quantity::ScaleLines, seen.labels.clone(), Some(lines), seen.unit)
        };
        Some((ramp.experiment, found))
    };
    let ramps = thread_ramps(run);
    ramps.iter().flat_map(|ramp| ramp.points.iter().filter_map(move |point| rate(ramp, point))).collect()
}

fn of_experiment<'a>(number: usize, experiment: &'a Experiment, run: &'a Run) -> Vec<ThreadRamp<'a>> {
    let mut ramps: Vec<ThreadRamp<'a>> = Vec::new();
    let is_step = |o: &&Observation| o.labels.is_for(Purpose::Scaling) && o.metric == Metric::Bandwidth;
    for seen in experiment.observations.iter().filter(is_step) {
        let (Some(op), Some(threads)) = (seen.labels.op(), seen.labels.threads()) else { continue };
        let at = ramps.iter().position(|ramp| ramp.owns(&seen.labels)).unwrap_or_else(|| {
            let (place, node) = (seen.labels.place(), seen.labels.node());
            let (ceiling, shares, experiment) = (None, Vec::new(), number);
            ramps.push(ThreadRamp { experiment, op, place, node, points: Vec::new(), ceiling, shares });
            ramps.len() - 1
        });
        let kernel = seen.labels.kernel().and_then(|id| run.bench.kernel(id));
        let lines = seen.value.map(|rate| rate * kernel.map_or(1.0, KernelInfo::lines_for_each_byte));
        ramps[at].points.push(RampPoint { threads, seen, lines, of_channels: None, of_link: None });
    }
    for ramp in &mut ramps {
        ramp.points.sort_by_key(|point| point.threads);
        let own = experiment.findings.iter().filter(|f| ramp.owns(&f.labels));
        let own: Vec<&Finding> = own.collect();
        ramp.ceiling = own.iter().copied().find(|f| f.quantity == Quantity::ScaleCeiling);
        ramp.shares = own.into_iter().filter(|f| f.quantity == Quantity::ScaleShare).collect();
        let level = ramp.ceiling.and_then(|f| f.value);
        // A share of the level is in proportion that of each point.
        let share = |of: &str| Some(ramp.share(of)?.value? / level?);
        let (channels, link) = (share("of theoretical peak"), share("of link"));
        for point in &mut ramp.points {
            let of =
                |share: Option<f64>| Some(share? * point.seen.value?).filter(|share| *share <= MOST_THEORETICAL_SHARE);
            (point.of_channels, point.of_link) = (of(channels), of(link));
        }
    }
    ramps
}
