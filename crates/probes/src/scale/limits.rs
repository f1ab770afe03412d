//! Findings of the ramps of threads: lines in flight, knees, ceilings and their causes.

use tiermark_model::messages::memory;
use tiermark_model::{
    Distance, Finding, Interval, LabelSet, Labels, Note, Observation, Purpose, Quantity, Unit, Verdict,
};
use tiermark_stats::{Curve, XScale, knee};

use super::ramp::{IN_PROPORTION, Limit, Planned, Ramp, RampShape, ramps};
use crate::ceilings::share_of_ceiling;
use crate::ground::{Says, grounded};
use crate::ladder::{product, with_range};

/// Bytes of a line.
const LINE: f64 = 64.0;
/// Kneedle's sensitivity: the value its authors advise.
const SENSITIVITY: f64 = 1.0;

/// The findings of an operation's ramps.
pub(super) fn findings(op: &str, planned: &[Planned], observations: &[Observation]) -> Vec<Finding> {
    let ramps = ramps(op, planned, observations);
    let local = ramps.iter().find(|r| r.place == Some(Distance::Local));
    let reads = op.starts_with("read");
    let mut findings = Vec::new();
    for ramp in &ramps {
        findings.extend(ramp.in_flight().filter(|_| reads));
        findings.extend(ramp.knee());
        findings.extend(ramp.ceiling(op, local));
    }
    findings
}

impl Ramp<'_> {
    fn labels(&self) -> Labels {
        let first = self.seen.first().map_or_else(Labels::new, |o| o.labels.clone());
        Labels::new().with_purpose(Purpose::Scale).and(first.only(LabelSet::NONE.place().node().op().page()))
    }

    /// A finding that rests on these observations.
    fn finding(&self, quantity: Quantity, value: Option<f64>, unit: Unit, on: &[&Observation]) -> Finding {
        Finding {
            samples: on.iter().map(|o| o.visits.len() as u64).sum(),
            verdict: on.iter().fold(Verdict::trusted(), |verdict, o| verdict.and(&o.verdict)),
            evidence: on.iter().map(|o| o.step.clone()).collect(),
            ..Finding::new(quantity, self.labels(), value, unit)
        }
    }

    /// Lines that one core keeps under way, prefetched ones included.
    fn in_flight(&self) -> Option<Finding> {
        let (rate, latency) = (self.single()? * self.planned.lines, self.latency?);
        let ns = latency.value?;
        let lines = rate * ns * 1e-9 / LINE;
        let single = *self.seen.first()?;
        let found = self.finding(Quantity::ScaleInFlight, Some(lines), Unit::Count, &[single, latency]);
        let found = found.with_notes([memory::lines_under_way(rate.into(), ns.into())]);
        let range = product(single, latency).map(|range| Interval {
            low: range.low * self.planned.lines * 1e-9 / LINE,
            high: range.high * self.planned.lines * 1e-9 / LINE,
            ..range
        });
        Some(grounded(with_range(found, range, 0.0), &[single, latency], 2, Says::Quotient))
    }

    /// How many threads it takes: the bend of the ramp, or, with few points, the fewest that reach its level.
    pub(super) fn knee(&self) -> Option<Finding> {
        let cores = &self.points[..self.cores];
        // A machine of two cores has no more counts, and no knee.
        let has_all = self.cut_off().is_none();
        if self.shape() != RampShape::Level || cores.len() < 2 || (has_all && cores.len() < Says::Level.least()) {
            return None;
        }
        let bend = knee(cores, Curve::ConcaveIncreasing, XScale::Linear, SENSITIVITY);
        let (threads, how) = match bend {
            Some(found) => (found.x, memory::knee_by_kneedle(cores.len())),
            None => (self.points[self.on_level().next()?].0, memory::fewest_at_level(self.most().into())),
        };
        let seen: Vec<&Observation> = self.seen.iter().copied().take(self.cores).collect();
        let found = self.finding(Quantity::ScaleKnee, Some(threads), Unit::Count, &seen);
        let found = grounded(found.with_notes([how]), &seen, self.planned.cores, Says::Level);
        Some(found.with_notes(self.cut_off()))
    }

    /// The level of the ramp, with what it is the limit of and its shares of what is known; where no level was seen,
    /// the most that was.
    fn ceiling(&self, op: &str, local: Option<&Ramp<'_>>) -> Vec<Finding> {
        let limit = self.limit(local);
        let why = self.cut_off().into_iter().chain(self.why(limit, local)).chain(self.wasted());
        let is_cut = self.shape() == RampShape::Rising && self.cut_off().is_some();
        if limit.is_none() && (self.shape() == RampShape::Open || is_cut) {
            let Some(most) = (0..self.points.len()).max_by(|a, b| self.points[*a].1.total_cmp(&self.points[*b].1))
            else {
                return Vec::new();
            };
            let rate = Some(self.points[most].1);
            let mut found = self.finding(Quantity::ScaleCeiling, rate, Unit::BytesPerSecond, &[self.seen[most]]);
            found.labels = found.labels.with_statistic("at least");
            return vec![found.with_notes(why)];
        }
        let level = self.level();
        let on: Vec<&Observation> = self.on_level().map(|i| self.seen[i]).collect();
        let ceiling = self.finding(Quantity::ScaleCeiling, Some(level), Unit::BytesPerSecond, &on);
        let mut ceiling = ceiling.with_notes(why);
        if let Some(limit) = limit {
            ceiling.labels = ceiling.labels.with_limit(limit);
        }
        let mut findings = vec![ceiling];
        let share = |of: &str, value: f64, note: Note| {
            let mut found = self.finding(Quantity::ScaleShare, Some(value), Unit::Ratio, &on);
            found.labels = found.labels.with_statistic(of);
            found.with_notes([note])
        };
        // A peak that the node's own cores exceed is wrong for all.
        let is_refuted = self.place != Some(Distance::Local) && local.is_some_and(Ramp::refutes_peak);
        if let Some(peak) = self.planned.peak.as_ref().filter(|_| !is_refuted) {
            let of = level * self.planned.traffic / peak.rate;
            findings.push(share_of_ceiling(share("of theoretical peak", of, peak.note.clone())));
        }
        if let Some(link) = &self.planned.link {
            let of = level * self.planned.lines / link.rate;
            findings.push(share_of_ceiling(share("of link", of, link.note.clone())));
        }
        // A share of what a ramp had reached when it was cut off would be a share of nothing in particular.
        let whole = |local: &&Ramp<'_>| local.shape() == RampShape::Level || local.cut_off().is_none();
        if let Some(local) =
            local.filter(whole).map(Ramp::level).filter(|l| self.place != Some(Distance::Local) && *l > 0.0)
        {
            findings.push(share(
                "of local",
                level / local,
                memory::share_of_local((local * self.planned.lines).into(), op),
            ));
        }
        findings
    }

    /// Why that is what ended it, or why nothing can be said.
    pub(super) fn why(&self, limit: Option<Limit>, local: Option<&Ramp<'_>>) -> Vec<Note> {
        if self.shape() != RampShape::Level && self.used_up().is_some() {
            match (limit, self.of_peak(), self.of_link()) {
                (Some(Limit::Memory), Some(share), _) => return vec![memory::channels_are_full(share.into())],
                (Some(Limit::Link), _, Some(share)) => return vec![memory::link_used_up(share.into())],
                _ => {}
            }
        }
        if let Some(note) = self.saturates_far_below(local) {
            return vec![note];
        }
        let Some(efficiency) = self.efficiency() else { return vec![memory::no_rate_of_one_core()] };
        if self.reached() < 2 {
            return vec![memory::one_core_only()];
        }
        // The sum alone would not say why that is no growth in proportion.
        let little = self.last_adds().filter(|_| efficiency >= IN_PROPORTION && self.shape() != RampShape::Rising);
        let have = memory::cores_have(self.reached(), efficiency.into(), little.map(Into::into));
        let ended = match (limit, self.shape()) {
            (None, RampShape::Rising) if self.cut_off().is_some() => memory::no_ceiling_so_far(),
            (None, RampShape::Rising) => memory::siblings_add_nothing(self.place == Some(Distance::Remote)),
            (None, RampShape::Open) => memory::ceiling_not_seen(),
            (None, RampShape::Level) => memory::memory_or_way_full(),
            (Some(Limit::Core), _) => memory::cores_are_the_limit(),
            (Some(Limit::Link), _) => match local.filter(|local| self.is_below(local)) {
                // A local ramp that may have gone higher gives a bound.
                Some(local) => {
                    let below = 1.0 - self.level() / local.level();
                    return vec![memory::link_is_full(below.into(), local.cut_off().is_some())];
                }
                None => {
                    let ratio = |share: Option<f64>| share.unwrap_or_default().into();
                    memory::link_is_nearest(ratio(self.of_link()), ratio(self.of_peak()))
                }
            },
            (Some(Limit::Memory), _) if self.place == Some(Distance::Far) => memory::far_memory_full(),
            (Some(Limit::Memory | Limit::Unclear), _) => memory::memory_full(),
        };
        vec![have, ended]
    }

    /// The rate of whole lines, where the operation uses a part of each.
    fn wasted(&self) -> Option<Note> {
        let used = self.most();
        (self.planned.lines > 1.0).then(|| memory::lines_wasted((used * self.planned.lines).into(), used.into()))
    }
}
