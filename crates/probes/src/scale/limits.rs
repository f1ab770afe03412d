//! What ended a ramp of threads: cores, memory, or a link. Pure.

use std::fmt;

use tiermark_model::{Finding, Labels, Machine, Observation, Unit, Verdict, format_gbs, format_ns};
use tiermark_stats::{Curve, XScale, knee};

use crate::ladder::{product, unless_too_wide, with_purpose};

/// Bytes of a line.
const LINE: f64 = 64.0;
/// A ramp whose last core still adds nine tenths of what the first one had is not limited by what cores share.
const IN_PROPORTION: f64 = 0.9;
/// Counts whose rate is this near to the most are on the level part: noise of a point and a little more.
const LEVEL: f64 = 0.97;
/// A remote level this far below the local one is the way's and not the memory's.
const BELOW_LOCAL: f64 = 0.93;
/// A ramp that was cut off has shown its level if this share of the threads had it already.
const LEVEL_BY: f64 = 0.75;
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

/// A ramp as it was planned.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) place: String,
    pub(super) node: Option<u64>,
    /// Cores at its end.
    pub(super) cores: usize,
}

/// How far a ramp went, and what it showed until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// The last core still brought its part.
    Rising,
    /// It levelled off.
    Level,
    /// It was cut off before it told one from the other.
    Open,
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
    /// Cores at its end, had it been measured whole.
    planned: usize,
    seen: Vec<&'a Observation>,
    latency: Option<&'a Observation>,
}

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

/// Ramps in order of appearance.
fn ramps<'a>(op: &str, planned: &[Planned], observations: &'a [Observation]) -> Vec<Ramp<'a>> {
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
            let cores = planned.iter().find(|p| p.place == place && p.node == node).map_or(0, |p| p.cores);
            ramps.push(Ramp { place, node, points: Vec::new(), cores: 0, planned: cores, seen: Vec::new(), latency });
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

    /// The most cores that were measured.
    fn reached(&self) -> usize {
        self.cores.checked_sub(1).map_or(0, |last| self.points[last].0 as usize)
    }

    /// Says how far it went, where that is not to its end.
    fn cut_off(&self) -> Option<String> {
        let reached = self.reached();
        (reached < self.planned).then(|| format!("cut off at {reached} of {} cores", self.planned))
    }

    /// What the last core still adds, as a share of what one core has: 1 is growth in proportion.
    fn efficiency(&self) -> Option<f64> {
        let (threads, rate) = *self.points.get(self.cores.checked_sub(1)?)?;
        Some(rate / (threads * self.single()?))
    }

    fn course(&self) -> Course {
        // One core is what all others are held against: it shows nothing of what they share.
        let Some(efficiency) = self.efficiency().filter(|_| self.reached() > 1) else { return Course::Open };
        // Of a ramp that went to its end, a last core that brings clearly less than its part is enough; what would have come
        // after a cut is not known, so that the level itself must have been seen.
        let early = LEVEL_BY * self.reached() as f64;
        let level = self.cut_off().is_none() || self.on_level().any(|i| i < self.cores && self.points[i].0 <= early);
        match () {
            () if efficiency >= IN_PROPORTION => Course::Rising,
            () if level => Course::Level,
            () => Course::Open,
        }
    }

    /// What ended it; `None` where that was not seen.
    fn limit(&self, local: Option<&Ramp<'_>>) -> Option<Limit> {
        match (self.course(), self.place) {
            (Course::Open, _) => None,
            (Course::Rising, _) => self.cut_off().is_none().then_some(Limit::Core),
            (Course::Level, "remote") => match local {
                // Not all of what the memory gives its own cores may have been seen, but it gives that.
                Some(local) if self.level() < BELOW_LOCAL * local.level() => Some(Limit::Link),
                Some(local) if local.course() != Course::Open && local.cut_off().is_none() => Some(Limit::Memory),
                _ => None,
            },
            (Course::Level, _) => Some(Limit::Memory),
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
        let single = *self.seen.first()?;
        let found = self.finding("scale.in_flight", Some(lines), Unit::Count, &[single, latency], note);
        Some(unless_too_wide(found, rate * ns, product(single, latency)))
    }

    /// How many threads it takes: the bend of the ramp, or, with few points, the fewest that reach its level.
    fn knee(&self) -> Option<Finding> {
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
        Some(self.finding("scale.knee", Some(threads), Unit::Count, &seen, how))
    }

    /// The level of the ramp, with what it is the limit of and its shares of what is known; where no level was seen, the most that was.
    fn ceiling(&self, op: &str, local: Option<&Ramp<'_>>, machine: &Machine) -> Vec<Finding> {
        let limit = self.limit(local);
        let why = match self.cut_off() {
            Some(cut) => format!("{cut}; {}", self.why(limit, local)),
            None => self.why(limit, local),
        };
        if self.course() == Course::Open || (self.course() == Course::Rising && limit.is_none()) {
            let Some(most) = (0..self.points.len()).max_by(|a, b| self.points[*a].1.total_cmp(&self.points[*b].1))
            else {
                return Vec::new();
            };
            let rate = Some(self.points[most].1);
            let found = self.finding("scale.ceiling", rate, Unit::BytesPerSecond, &[self.seen[most]], why);
            return vec![Finding { labels: found.labels.text(Labels::STATISTIC, "at least"), ..found }];
        }
        let level = self.level();
        let on: Vec<&Observation> = self.on_level().map(|i| self.seen[i]).collect();
        let mut ceiling = self.finding("scale.ceiling", Some(level), Unit::BytesPerSecond, &on, why);
        if let Some(limit) = limit {
            ceiling.labels = ceiling.labels.text(Labels::LIMIT, limit);
        }
        let mut findings = vec![ceiling];
        let share = |of: &str, value: f64, note: String| {
            let found = self.finding("scale.share", Some(value), Unit::Ratio, &on, note);
            Finding { labels: found.labels.text(Labels::STATISTIC, of), ..found }
        };
        if let Some(peak) = node_peak(machine).filter(|_| self.place != "far") {
            let note = format!("of {} GB/s a node: {}", format_gbs(peak.0), peak.1);
            findings.push(share("of theoretical peak", level / peak.0, note));
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
    fn why(&self, limit: Option<Limit>, local: Option<&Ramp<'_>>) -> String {
        let Some(efficiency) = self.efficiency() else {
            return "no rate of one core to hold the others against".to_owned();
        };
        if self.reached() < 2 {
            return "one core alone: what limits several was not seen".to_owned();
        }
        let have = format!("{} cores have {:.0} % of as many times one", self.reached(), efficiency * 100.0);
        match (limit, self.course()) {
            (None, Course::Rising) => format!("{have}: no ceiling was met so far"),
            (None, Course::Open) => format!("{have}: whether that is a ceiling was not seen"),
            (None, Course::Level) => {
                format!("{have}: the memory or the way to it is full; no local ramp tells them apart")
            }
            (Some(Limit::Core), _) => {
                format!("{have}: the misses that cores keep in flight are the limit, no ceiling was met")
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
        let planned = points.len();
        Ramp { place, node: Some(0), cores: points.len(), planned, points, seen: Vec::new(), latency: None }
    }

    fn cut(place: &'static str, rates: &[f64], planned: usize) -> Ramp<'static> {
        Ramp { planned, ..ramp(place, rates) }
    }

    fn local(level: f64) -> Ramp<'static> {
        ramp("local", &[level, level])
    }

    /// E0: two sockets of four cores, one channel a socket; readers on the other socket meet the link at the second.
    #[test]
    fn the_published_ramp_is_limited_by_its_link() {
        let remote = ramp("remote", &[6.6, 8.3, 8.3]);
        assert_eq!(remote.limit(Some(&local(10.4))), Some(Limit::Link));
        assert!((remote.level() - 8.3e9).abs() < 1e6);
        assert_eq!(remote.limit(Some(&local(8.4))), Some(Limit::Memory), "as much as the memory gives its own cores");
        assert_eq!(remote.limit(None), None, "nothing tells the memory from the link");
        assert_eq!(ramp("local", &[8.0, 8.1, 8.1]).limit(None), Some(Limit::Memory));
        assert_eq!(ramp("remote", &[6.0, 11.8, 17.6]).limit(Some(&local(40.0))), Some(Limit::Core));
        assert_eq!(ramp("local", &[]).limit(None), None);
    }

    #[test]
    fn one_core_claims_nothing_of_what_several_share() {
        for alone in [ramp("local", &[41.1]), cut("local", &[41.1], 16)] {
            assert_eq!((alone.limit(None), alone.course()), (None, Course::Open));
            assert!(alone.knee().is_none());
            let why = alone.why(None, None);
            assert!(why.contains("one core alone") && !why.contains("100 %"), "{why}");
        }
        let why = ramp("local", &[41.1, 48.6]).why(Some(Limit::Memory), None);
        assert!(why.starts_with("2 cores have 59 %"), "{why}");
    }

    #[test]
    fn what_lies_beyond_a_cut_is_not_claimed() {
        let rising = cut("local", &[10.0, 20.0, 29.8], 16);
        assert_eq!((rising.limit(None), rising.course()), (None, Course::Rising));
        assert_eq!(rising.cut_off().as_deref(), Some("cut off at 3 of 16 cores"));
        // Less than in proportion, and no level yet: a whole ramp would be taken for one.
        let bent = [10.0, 19.0, 26.0, 32.0];
        assert_eq!(
            (cut("local", &bent, 16).limit(None), ramp("local", &bent).limit(None)),
            (None, Some(Limit::Memory))
        );
        assert!(cut("local", &bent, 16).knee().is_none());
        // A level is a level, and the link's where local cores had more, however far they came.
        let remote = [10.0, 19.0, 20.0, 20.1, 19.9];
        assert_eq!(cut("local", &remote, 16).limit(None), Some(Limit::Memory));
        let remote = cut("remote", &remote, 16);
        assert_eq!(remote.limit(Some(&rising)), Some(Limit::Link));
        assert_eq!(remote.limit(Some(&cut("local", &[10.0, 20.0], 16))), None, "local cores may yet have more");
        // Without the rate of one core nothing is known of any other.
        let mut late = cut("local", &[10.0, 20.0, 20.0, 20.0], 4);
        (late.points, late.cores) = (late.points[1..].to_vec(), 3);
        assert_eq!((late.limit(None), late.cut_off()), (None, None));
    }
}
