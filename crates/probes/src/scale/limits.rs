//! What ended a ramp of threads: cores, memory, or a link. Pure.

use std::fmt;

use tiermark_model::{Finding, Labels, Machine, Observation, Unit, Verdict, format_gbs, format_ns};
use tiermark_stats::{Curve, XScale, knee};

use crate::ladder::with_purpose;

/// Bytes of a line.
const LINE: f64 = 64.0;
/// A ramp whose last core still adds nine tenths of what the first one had is not limited by what cores share.
const IN_PROPORTION: f64 = 0.9;
/// Counts whose rate is this near to the most are on the level part: noise of a point and a little more.
const LEVEL: f64 = 0.97;
/// A remote level this far below the local one is the way's and not the memory's.
const BELOW_LOCAL: f64 = 0.93;
/// Kneedle's sensitivity: the value its authors advise.
const SENSITIVITY: f64 = 1.0;

/// What keeps a rate from rising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The misses that the cores in use keep in flight.
    Core,
    /// The node's memory: channels, controllers, and the way to them inside the socket.
    Memory,
    /// The way between two nodes.
    Link,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Core => "core",
            Self::Memory => "memory",
            Self::Link => "link",
        })
    }
}

/// A ramp: rates by threads, cores only, and the observations behind them.
#[derive(Debug, Clone)]
struct Ramp<'a> {
    place: &'a str,
    node: Option<u64>,
    /// Threads, bytes a second; all counts.
    points: Vec<(f64, f64)>,
    /// Of those, how many have no sibling beside them.
    cores: usize,
    seen: Vec<&'a Observation>,
    latency: Option<&'a Observation>,
}

/// The findings of an operation's ramps.
pub(super) fn findings(op: &str, machine: &Machine, observations: &[Observation]) -> Vec<Finding> {
    let ramps = ramps(op, observations);
    let local = ramps.iter().find(|r| r.place == "local").map(Ramp::level);
    let reads = op == "read";
    let mut findings = Vec::new();
    for ramp in &ramps {
        findings.extend(ramp.in_flight().filter(|_| reads));
        findings.extend(ramp.knee());
        findings.extend(ramp.ceiling(op, local, machine));
    }
    findings
}

/// Ramps in order of appearance.
fn ramps<'a>(op: &str, observations: &'a [Observation]) -> Vec<Ramp<'a>> {
    let mut ramps: Vec<Ramp<'a>> = Vec::new();
    for seen in with_purpose(observations, "scaling").filter(|o| o.labels.is(Labels::OP, op)) {
        let (Some(place), Some(threads), Some(rate)) =
            (seen.labels.get(Labels::PLACE), seen.labels.number(Labels::THREADS), seen.value)
        else {
            continue;
        };
        let node = seen.labels.number(Labels::NODE);
        let known = ramps.iter().position(|r| r.place == place && r.node == node);
        let index = known.unwrap_or_else(|| {
            let here = |o: &&Observation| o.labels.is(Labels::PLACE, place) && o.labels.number(Labels::NODE) == node;
            let latency = with_purpose(observations, "unloaded").find(here).filter(|o| o.value.is_some());
            ramps.push(Ramp { place, node, points: Vec::new(), cores: 0, seen: Vec::new(), latency });
            ramps.len() - 1
        });
        ramps[index].points.push((threads as f64, rate));
        ramps[index].seen.push(seen);
    }
    for ramp in &mut ramps {
        let mut order: Vec<usize> = (0..ramp.points.len()).collect();
        order.sort_by(|a, b| ramp.points[*a].0.total_cmp(&ramp.points[*b].0));
        ramp.points = order.iter().map(|i| ramp.points[*i]).collect();
        ramp.seen = order.iter().map(|i| ramp.seen[*i]).collect();
        ramp.cores = ramp.seen.iter().filter(|o| o.labels.is(Labels::SPAN, "cores")).count();
    }
    ramps
}

impl Ramp<'_> {
    fn most(&self) -> f64 {
        self.points.iter().map(|p| p.1).fold(0.0, f64::max)
    }

    /// Points on the level part.
    fn on_level(&self) -> impl Iterator<Item = usize> {
        let most = self.most();
        (0..self.points.len()).filter(move |i| self.points[*i].1 >= LEVEL * most)
    }

    /// The rate of the level part: the median of its points, which the luck of one of them does not move.
    fn level(&self) -> f64 {
        tiermark_stats::median(&self.on_level().map(|i| self.points[i].1).collect::<Vec<_>>()).unwrap_or_default()
    }

    fn single(&self) -> Option<f64> {
        self.points.first().filter(|(threads, _)| *threads == 1.0).map(|p| p.1)
    }

    /// What the last core still adds, as a share of what one core has: 1 is growth in proportion.
    fn efficiency(&self) -> Option<f64> {
        let (threads, rate) = *self.points.get(self.cores.checked_sub(1)?)?;
        Some(rate / (threads * self.single()?))
    }

    fn limit(&self, local: Option<f64>) -> Option<Limit> {
        if self.efficiency()? >= IN_PROPORTION {
            return Some(Limit::Core);
        }
        match (self.place, local) {
            ("remote", Some(local)) if self.level() < BELOW_LOCAL * local => Some(Limit::Link),
            _ => Some(Limit::Memory),
        }
    }

    fn labels(&self) -> Labels {
        let first = self.seen.first().map_or_else(Labels::new, |o| o.labels.clone());
        let keep = [Labels::PLACE, Labels::NODE, Labels::OP, Labels::PAGE];
        let mut labels = Labels::new().text(Labels::PURPOSE, "scale");
        labels.0.extend(first.0.into_iter().filter(|(key, _)| keep.contains(&key.as_str())));
        labels
    }

    /// A finding that rests on these observations.
    fn finding(&self, metric: &str, value: Option<f64>, unit: Unit, on: &[&Observation], note: String) -> Finding {
        Finding {
            metric: metric.to_owned(),
            labels: self.labels(),
            value,
            unit,
            interval: None,
            samples: on.iter().map(|o| o.samples.len() as u64).sum(),
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
        Some(self.finding("scale.in_flight", Some(lines), Unit::Count, &[*self.seen.first()?, latency], note))
    }

    /// How many threads it takes: the bend of the ramp, or, with few points, the fewest that reach its level.
    fn knee(&self) -> Option<Finding> {
        let cores = &self.points[..self.cores];
        if self.efficiency()? >= IN_PROPORTION || cores.len() < 2 {
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
        let seen: Vec<&Observation> = self.seen.iter().copied().take(self.cores).collect();
        Some(self.finding("scale.knee", Some(threads), Unit::Count, &seen, how))
    }

    /// The level of the ramp, with what it is the limit of and its shares of what is known.
    fn ceiling(&self, op: &str, local: Option<f64>, machine: &Machine) -> Vec<Finding> {
        let Some(limit) = self.limit(local) else { return Vec::new() };
        let level = self.level();
        let on: Vec<&Observation> = self.on_level().map(|i| self.seen[i]).collect();
        let efficiency = self.efficiency().unwrap_or_default() * 100.0;
        let cores = self.points.get(self.cores.saturating_sub(1)).map_or(0.0, |p| p.0);
        let why = match limit {
            Limit::Core => format!(
                "{cores:.0} core(s) together have {efficiency:.0} % of as many times one core's rate: their misses in flight are the limit, no ceiling was met"
            ),
            Limit::Link => format!(
                "levels off {:.0} % below the local ramp: the way between the nodes is full, one way",
                (1.0 - level / local.unwrap_or(level)) * 100.0
            ),
            Limit::Memory if self.place == "far" => {
                format!(
                    "{cores:.0} core(s) have {efficiency:.0} % of as many times one: the memory or its link is full; from here they cannot be told apart"
                )
            }
            Limit::Memory => {
                format!(
                    "{cores:.0} core(s) have {efficiency:.0} % of as many times one: the node's memory, or the way to it inside the socket, is full"
                )
            }
        };
        let mut ceiling = self.finding("scale.ceiling", Some(level), Unit::BytesPerSecond, &on, why);
        ceiling.labels = ceiling.labels.text(Labels::LIMIT, limit);
        let mut findings = vec![ceiling];
        let share = |of: &str, value: f64, note: String| {
            let found = self.finding("scale.share", Some(value), Unit::Ratio, &on, note);
            Finding { labels: found.labels.text(Labels::STATISTIC, of), ..found }
        };
        if let Some(peak) = node_peak(machine).filter(|_| self.place != "far") {
            let note = format!("of {} GB/s a node: {}", format_gbs(peak.0), peak.1);
            findings.push(share("of theoretical peak", level / peak.0, note));
        }
        if let Some(local) = local.filter(|l| self.place != "local" && *l > 0.0) {
            findings.push(share(
                "of local",
                level / local,
                format!("of {} GB/s by the node's own cores, {op}", format_gbs(local)),
            ));
        }
        findings
    }
}

/// The theoretical peak of one node with cpus, and how it came about; `None` where the machine's is not known.
fn node_peak(machine: &Machine) -> Option<(f64, String)> {
    let peak = machine.theoretical_peak.as_ref()?;
    let nodes = machine.nodes.iter().filter(|n| !n.cpus.is_empty() && n.memory_bytes != Some(0)).count().max(1);
    let how =
        if nodes == 1 { peak.how.clone() } else { format!("{}, an equal part for each of {nodes} nodes", peak.how) };
    Some((peak.bytes_per_second / nodes as f64, how))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(place: &'static str, rates: &[f64]) -> Ramp<'static> {
        let points: Vec<(f64, f64)> = rates.iter().enumerate().map(|(i, r)| ((i + 1) as f64, r * 1e9)).collect();
        Ramp { place, node: Some(0), cores: points.len(), points, seen: Vec::new(), latency: None }
    }

    /// E0: two sockets of four cores, one channel a socket; readers on the other socket meet the link at the second.
    #[test]
    fn the_published_ramp_is_limited_by_its_link() {
        let remote = ramp("remote", &[6.6, 8.3, 8.3]);
        assert_eq!(remote.limit(Some(10.4e9)), Some(Limit::Link));
        assert!((remote.level() - 8.3e9).abs() < 1e6);
        assert_eq!(remote.limit(Some(8.4e9)), Some(Limit::Memory), "as much as the memory gives its own cores");
        assert_eq!(ramp("local", &[8.0, 8.1, 8.1]).limit(Some(8.1e9)), Some(Limit::Memory));
        assert_eq!(ramp("remote", &[6.0, 11.8, 17.6]).limit(Some(40e9)), Some(Limit::Core));
        assert_eq!(ramp("local", &[]).limit(None), None);
    }
}
