//! What the ramps of threads say: lines in flight, knees, ceilings and what they are the limits of.

use tiermark_model::{
    Finding, Interval, Labels, Machine, Node, Observation, Purpose, Quantity, Unit, Verdict, format_gbs, format_ns,
};
use tiermark_stats::{Curve, XScale, knee};

use super::ramp::{Course, IN_PROPORTION, Limit, Planned, Ramp, ramps};
use crate::ladder::{product, with_range};

/// Bytes of a line.
const LINE: f64 = 64.0;
/// Kneedle's sensitivity: the value its authors advise.
const SENSITIVITY: f64 = 1.0;

/// The findings of an operation's ramps.
pub(super) fn findings(op: &str, machine: &Machine, planned: &[Planned], observations: &[Observation]) -> Vec<Finding> {
    let ramps = ramps(op, planned, observations);
    let local = ramps.iter().find(|r| r.place == "local");
    let reads = op == "read";
    let mut findings = Vec::new();
    for ramp in &ramps {
        findings.extend(ramp.in_flight().filter(|_| reads));
        findings.extend(ramp.knee());
        findings.extend(ramp.ceiling(op, local, machine));
    }
    findings
}

impl Ramp<'_> {
    fn labels(&self) -> Labels {
        let first = self.seen.first().map_or_else(Labels::new, |o| o.labels.clone());
        let keep = [Labels::PLACE, Labels::NODE, Labels::OP, Labels::PAGE];
        let mut labels = Labels::new().purpose(Purpose::Scale);
        labels.0.extend(first.0.into_iter().filter(|(key, _)| keep.contains(&key.as_str())));
        labels
    }

    /// A finding that rests on these observations.
    fn finding(&self, metric: Quantity, value: Option<f64>, unit: Unit, on: &[&Observation], note: String) -> Finding {
        Finding {
            metric,
            labels: self.labels(),
            value,
            unit,
            interval: None,
            samples: on.iter().map(|o| o.visits.len() as u64).sum(),
            verdict: on.iter().fold(Verdict::trusted(), |verdict, o| verdict.and(&o.verdict)),
            evidence: on.iter().map(|o| o.step.clone()).collect(),
            note: Some(note),
        }
    }

    /// Lines that one core keeps under way, prefetched ones included.
    fn in_flight(&self) -> Option<Finding> {
        let (rate, latency) = (self.single()?, self.latency?);
        let ns = latency.value?;
        let lines = rate * ns * 1e-9 / LINE;
        let note =
            format!("one core: {} GB/s x {} ns / 64 bytes, prefetches included", format_gbs(rate), format_ns(ns));
        let single = *self.seen.first()?;
        let found = self.finding(Quantity::ScaleInFlight, Some(lines), Unit::Count, &[single, latency], note);
        let range = product(single, latency).map(|range| Interval {
            low: range.low * 1e-9 / LINE,
            high: range.high * 1e-9 / LINE,
            ..range
        });
        Some(with_range(found, range, 0.0))
    }

    /// How many threads it takes: the bend of the ramp, or, with few points, the fewest that reach its level.
    pub(super) fn knee(&self) -> Option<Finding> {
        let cores = &self.points[..self.cores];
        if self.course() != Course::Level || cores.len() < 2 {
            return None;
        }
        let bend = knee(cores, Curve::ConcaveIncreasing, XScale::Linear, SENSITIVITY);
        let (threads, how) = match bend {
            Some(found) => (found.x, format!("Kneedle over {} counts", cores.len())),
            None => (
                self.points[self.on_level().next()?].0,
                format!("the fewest within 3 % of {} GB/s", format_gbs(self.most())),
            ),
        };
        let how = match self.cut_off() {
            Some(cut) => format!("{how}; {cut}"),
            None => how,
        };
        let seen: Vec<&Observation> = self.seen.iter().copied().take(self.cores).collect();
        Some(self.finding(Quantity::ScaleKnee, Some(threads), Unit::Count, &seen, how))
    }

    /// The level of the ramp, with what it is the limit of and its shares of what is known; where no level was seen, the most that was.
    fn ceiling(&self, op: &str, local: Option<&Ramp<'_>>, machine: &Machine) -> Vec<Finding> {
        let limit = self.limit(local);
        let why = match self.cut_off() {
            Some(cut) => format!("{cut}; {}", self.why(limit, local)),
            None => self.why(limit, local),
        };
        if self.course() == Course::Open || (self.course() == Course::Rising && self.cut_off().is_some()) {
            let Some(most) = (0..self.points.len()).max_by(|a, b| self.points[*a].1.total_cmp(&self.points[*b].1))
            else {
                return Vec::new();
            };
            let rate = Some(self.points[most].1);
            let found = self.finding(Quantity::ScaleCeiling, rate, Unit::BytesPerSecond, &[self.seen[most]], why);
            return vec![Finding { labels: found.labels.text(Labels::STATISTIC, "at least"), ..found }];
        }
        let level = self.level();
        let on: Vec<&Observation> = self.on_level().map(|i| self.seen[i]).collect();
        let mut ceiling = self.finding(Quantity::ScaleCeiling, Some(level), Unit::BytesPerSecond, &on, why);
        if let Some(limit) = limit {
            ceiling.labels = ceiling.labels.text(Labels::LIMIT, limit);
        }
        let mut findings = vec![ceiling];
        let share = |of: &str, value: f64, note: String| {
            let found = self.finding(Quantity::ScaleShare, Some(value), Unit::Ratio, &on, note);
            Finding { labels: found.labels.text(Labels::STATISTIC, of), ..found }
        };
        if let Some((peak, note)) = self.peak(machine) {
            findings.push(share("of theoretical peak", level / peak, note));
        }
        // A share of what a ramp had reached when it was cut off would be a share of nothing in particular.
        let whole = |local: &&Ramp<'_>| local.course() == Course::Level || local.cut_off().is_none();
        if let Some(local) = local.filter(whole).map(Ramp::level).filter(|l| self.place != "local" && *l > 0.0) {
            findings.push(share(
                "of local",
                level / local,
                format!("of {} GB/s by the node's own cores, {op}", format_gbs(local)),
            ));
        }
        findings
    }

    /// Why that is what ended it, or why nothing can be said.
    pub(super) fn why(&self, limit: Option<Limit>, local: Option<&Ramp<'_>>) -> String {
        let Some(efficiency) = self.efficiency() else {
            return "no rate of one core to hold the others against".to_owned();
        };
        if self.reached() < 2 {
            return "one core alone: what limits several was not seen".to_owned();
        }
        let have = format!("{} cores have {:.0} % of as many times one", self.reached(), efficiency * 100.0);
        // The sum alone would not say why that is no growth in proportion.
        let little = self.last_adds().filter(|_| efficiency >= IN_PROPORTION && self.course() != Course::Rising);
        let have = match little {
            Some(adds) => format!("{have}, but the last one adds {:.0} % of one", adds.max(0.0) * 100.0),
            None => have,
        };
        match (limit, self.course()) {
            (None, Course::Rising) if self.cut_off().is_some() => format!("{have}: no ceiling was met so far"),
            (None, Course::Rising) => format!(
                "{have}, and siblings add nothing: the cores' misses in flight, or a ceiling just there; they cannot be told apart"
            ),
            (None, Course::Open) => format!("{have}: whether that is a ceiling was not seen"),
            (None, Course::Level) => {
                format!("{have}: the memory or the way to it is full; no local ramp tells them apart")
            }
            (Some(Limit::Core), _) => {
                format!("{have}: the misses that cores keep in flight are the limit, the cores met no ceiling")
            }
            (Some(Limit::Link), _) => {
                let below = local.map_or(0.0, |local| 1.0 - self.level() / local.level());
                // A local ramp that may have gone higher gives a bound.
                let least = if local.is_some_and(|local| local.cut_off().is_some()) { "at least " } else { "" };
                format!(
                    "levels off {least}{:.0} % below the local ramp: the way between the nodes is full, one way",
                    below * 100.0
                )
            }
            (Some(Limit::Memory), _) if self.place == "far" => {
                format!("{have}: the memory or its link is full; from here they cannot be told apart")
            }
            (Some(Limit::Memory), _) => {
                format!("{have}: the node's memory, or the way to it inside the socket, is full")
            }
        }
    }

    /// The theoretical peak of the ramp's node, and how it came about; `None` where it is not known: the whole machine's, which
    /// stands in for it where modules lie unevenly, is not what the node can give.
    fn peak(&self, machine: &Machine) -> Option<(f64, String)> {
        let whole = machine.theoretical_peak.as_ref()?;
        let Some(node) = self.node else {
            // No node is known: the memory is the machine's.
            return Some((
                whole.bytes_per_second,
                format!("of {} GB/s: {}", format_gbs(whole.bytes_per_second), whole.how),
            ));
        };
        let peak = machine.memory_peak(&[u32::try_from(node).ok()?].into_iter().collect())?;
        let others = |n: &&Node| u64::from(n.id) != node && !n.cpus.is_empty() && n.memory_bytes != Some(0);
        let parts = 1 + machine.nodes.iter().filter(others).count();
        if parts > 1 && peak >= whole.bytes_per_second {
            return None;
        }
        let part = if parts == 1 { String::new() } else { format!(", an equal part for each of {parts} nodes") };
        Some((peak, format!("of {} GB/s a node: {}{part}", format_gbs(peak), whole.how)))
    }
}
