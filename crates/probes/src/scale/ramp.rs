//! A ramp of threads: how far it went, its shape until then, and what ended it. Pure.

use std::fmt;

use tiermark_model::messages::memory;
use tiermark_model::{Distance, MOST_THEORETICAL_SHARE, NodeId, Note, ON_LEVEL, Observation, Purpose, Span};

use crate::ceilings::{Ceiling, far_below};
use crate::ladder::with_purpose;

/// A ramp whose cores have nine tenths of as many times what one has, and whose last ones still add four fifths of
/// that, is not limited by what cores share. Of two cores both say the same; of many, the sum hardly shows that the
/// last ones met an end.
pub(super) const IN_PROPORTION: f64 = 0.9;
const STILL_ADDS: f64 = 0.8;
/// The gain of the last cores is computed from the nearest count that leaves an eighth of them out: of fewer, noise of
/// the sum, a percent or so, would be a good part of the gain.
const END: f64 = 0.875;
/// A remote level this far below the local one is the way's and not the memory's.
const BELOW_LOCAL: f64 = 0.93;
/// Channels and links are full at some three quarters of what they carry in theory and more: commands, refreshes,
/// turning around and headers take the rest (75 to 94 % of channels, 79 to 100 % of links, on 15 servers of 2012 to
/// 2024).
const FULL: f64 = 0.75;
/// Channels that give so much of it are full, whoever asks: no server gives more than 94 %.
const NOTHING_LEFT: f64 = 0.9;
/// A ramp that was cut off has shown its level if this share of the threads had it already.
const LEVEL_BY: f64 = 0.75;

/// Limit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The misses that the cores in use keep in flight.
    Core,
    /// The node's memory: channels, controllers, and the way to them inside the socket.
    Memory,
    /// The way between two nodes.
    Link,
    /// The limit by shape is far below its theoretical rate.
    Unclear,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Core => "core",
            Self::Memory => "memory",
            Self::Link => "link",
            Self::Unclear => "unclear",
        })
    }
}

/// A ramp as it was planned.
#[derive(Debug, Clone, Default)]
pub(super) struct Planned {
    pub(super) place: Distance,
    pub(super) node: Option<NodeId>,
    /// Cores at its end.
    pub(super) cores: usize,
    /// Bytes of whole lines for each byte that its operation uses.
    pub(super) lines: f64,
    /// Bytes that memory reads and writes for each of them.
    pub(super) traffic: f64,
    /// What the node's memory gives in theory.
    pub(super) peak: Option<Ceiling>,
    /// What the link to the node carries in theory, in one direction.
    pub(super) link: Option<Ceiling>,
}

/// How far a ramp went, and its shape until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RampShape {
    /// The last core still brought its part.
    Rising,
    /// It levelled off.
    Level,
    /// The ramp was cut off before it showed which.
    Open,
}

/// A ramp: rates by threads, cores only, and the observations behind them.
#[derive(Debug, Clone)]
pub(super) struct Ramp<'a> {
    /// `None` for one that this version does not know.
    pub(super) place: Option<Distance>,
    /// Threads, bytes a second; all counts.
    pub(super) points: Vec<(f64, f64)>,
    /// Number of them without siblings.
    pub(super) cores: usize,
    /// As it was planned: its cores at the end, and the ceilings that are known.
    pub(super) planned: Planned,
    pub(super) seen: Vec<&'a Observation>,
    pub(super) latency: Option<&'a Observation>,
}

/// Ramps in order of appearance.
pub(super) fn ramps<'a>(op: &str, planned: &[Planned], observations: &'a [Observation]) -> Vec<Ramp<'a>> {
    let mut ramps: Vec<Ramp<'a>> = Vec::new();
    for seen in with_purpose(observations, Purpose::Scaling).filter(|o| o.labels.op() == Some(op)) {
        let (true, Some(threads), Some(rate)) = (seen.labels.place_name().is_some(), seen.labels.threads(), seen.value)
        else {
            continue;
        };
        let (place, node) = (seen.labels.place(), seen.labels.node());
        let here = |o: &&Observation| o.labels.are_alike(&seen.labels, |of| (of.place_name(), of.node()));
        let known = ramps.iter().position(|ramp| ramp.seen.first().is_some_and(&here));
        let index = known.unwrap_or_else(|| {
            let latency = with_purpose(observations, Purpose::Unloaded).find(here).filter(|o| o.value.is_some());
            let planned = planned.iter().find(|p| Some(p.place) == place && p.node == node).cloned();
            let planned = planned.unwrap_or_else(|| Planned { lines: 1.0, traffic: 1.0, ..Planned::default() });
            ramps.push(Ramp { place, points: Vec::new(), cores: 0, planned, seen: Vec::new(), latency });
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
        ramp.cores = ramp.seen.iter().filter(|o| o.labels.span() == Some(Span::Cores)).count();
    }
    ramps
}

impl Ramp<'_> {
    pub(super) fn most(&self) -> f64 {
        self.points.iter().map(|p| p.1).fold(0.0, f64::max)
    }

    /// Points on the level part.
    pub(super) fn on_level(&self) -> impl Iterator<Item = usize> {
        let most = self.most();
        (0..self.points.len()).filter(move |i| self.points[*i].1 >= ON_LEVEL * most)
    }

    /// The rate of the level part: the median of its points, which the luck of one of them does not move.
    pub(super) fn level(&self) -> f64 {
        tiermark_stats::median(&self.on_level().map(|i| self.points[i].1).collect::<Vec<_>>()).unwrap_or_default()
    }

    pub(super) fn single(&self) -> Option<f64> {
        self.points.first().filter(|(threads, _)| *threads == 1.0).map(|p| p.1)
    }

    /// The most cores that were measured.
    pub(super) fn reached(&self) -> usize {
        self.cores.checked_sub(1).map_or(0, |last| self.points[last].0 as usize)
    }

    /// Says how far it went, where that is not to its end.
    pub(super) fn cut_off(&self) -> Option<Note> {
        let reached = self.reached();
        (reached < self.planned.cores).then(|| memory::ramp_cut_off(reached, self.planned.cores))
    }

    /// The rate of all cores as a share of as many times one core's: 1 is growth in proportion.
    pub(super) fn efficiency(&self) -> Option<f64> {
        let (threads, rate) = *self.points.get(self.cores.checked_sub(1)?)?;
        Some(rate / (threads * self.single()?))
    }

    /// Gain of the last cores, each, as a share of one core's rate: the slope of the ramp's end.
    pub(super) fn last_adds(&self) -> Option<f64> {
        let (threads, rate) = *self.points.get(self.cores.checked_sub(1)?)?;
        let cores = &self.points[..self.cores];
        let (before, less) = *cores.iter().rev().find(|(count, _)| *count <= END * threads)?;
        Some((rate - less) / (threads - before) / self.single()?)
    }

    /// Whether siblings of the cores took part, and brought nothing.
    pub(super) fn siblings_add_nothing(&self) -> bool {
        let last = self.cores.checked_sub(1);
        self.points.len() > self.cores && last.is_some_and(|last| self.on_level().any(|i| i == last))
    }

    pub(super) fn shape(&self) -> RampShape {
        // One core is the reference of all others: it shows nothing about shared resources.
        let shown = self.efficiency().zip(self.last_adds()).filter(|_| self.reached() > 1);
        let Some((efficiency, last)) = shown else { return RampShape::Open };
        // Of a ramp that went to its end, a last core that brings clearly less than its part is enough; what would have
        // come after a cut is not known, so that the level itself must have been seen.
        let early = LEVEL_BY * self.reached() as f64;
        let level = self.cut_off().is_none() || self.on_level().any(|i| i < self.cores && self.points[i].0 <= early);
        match () {
            () if efficiency >= IN_PROPORTION && last >= STILL_ADDS => RampShape::Rising,
            () if level => RampShape::Level,
            () => RampShape::Open,
        }
    }

    /// Its level, with all memory traffic, as a share of the theoretical peak of the memory. `None` without a peak, or
    /// if the level exceeds it.
    pub(super) fn of_peak(&self) -> Option<f64> {
        let share = self.level() * self.planned.traffic / self.planned.peak.as_ref()?.rate;
        Some(share).filter(|share| *share <= MOST_THEORETICAL_SHARE)
    }

    /// Whether its level shows that the stated peak of the memory is too low.
    pub(super) fn refutes_peak(&self) -> bool {
        self.planned.peak.is_some() && self.of_peak().is_none()
    }

    /// Its level, in whole lines, as a share of what the link carries. `None` without its rate, or if the level exceeds
    /// it.
    pub(super) fn of_link(&self) -> Option<f64> {
        let share = self.level() * self.planned.lines / self.planned.link.as_ref()?.rate;
        Some(share).filter(|share| *share <= MOST_THEORETICAL_SHARE)
    }

    /// Whether the memory gives its own cores more than it gives these.
    pub(super) fn is_below(&self, local: &Ramp<'_>) -> bool {
        self.level() < BELOW_LOCAL * local.level()
    }

    /// What a level ramp met, by its shares of what is known in theory; `None` where neither is near, or one is not
    /// known.
    fn nearest_ceiling(&self) -> Option<Limit> {
        let (link, memory) = (self.of_link()?, self.of_peak()?);
        match link >= memory {
            true => (link >= FULL).then_some(Limit::Link),
            false => (memory >= FULL).then_some(Limit::Memory),
        }
    }

    /// The ceiling of which next to nothing is left for others to have, whatever the shape of the ramp.
    pub(super) fn used_up(&self) -> Option<Limit> {
        let is_used_up = |share: Option<f64>| share.is_some_and(|share| share >= NOTHING_LEFT);
        match self.place {
            Some(Distance::Local) if is_used_up(self.of_peak()) => Some(Limit::Memory),
            Some(Distance::Remote) if is_used_up(self.of_link()) => Some(Limit::Link),
            _ => None,
        }
    }

    /// What ended it; `None` where that was not seen.
    pub(super) fn limit(&self, local: Option<&Ramp<'_>>) -> Option<Limit> {
        let unclear = self.saturates_far_below(local).map(|_| Limit::Unclear);
        unclear.or_else(|| self.by_shape(local))
    }

    /// Why what its shape names cannot be full.
    pub(super) fn saturates_far_below(&self, local: Option<&Ramp<'_>>) -> Option<Note> {
        let (share, of_link) = match self.by_shape(local)? {
            Limit::Link => (self.of_link(), true),
            Limit::Memory => (self.of_peak(), false),
            Limit::Core | Limit::Unclear => return None,
        };
        far_below(share).map(|share| memory::saturates_far_below(share.into(), of_link))
    }

    /// What ended it by the shapes of the ramps.
    fn by_shape(&self, local: Option<&Ramp<'_>>) -> Option<Limit> {
        if let Some(limit) = self.used_up().filter(|_| self.shape() != RampShape::Level) {
            return Some(limit);
        }
        let has_local_level =
            |local: &Ramp<'_>| local.shape() == RampShape::Level && !self.is_below(local) && !local.is_below(self);
        match (self.shape(), self.place) {
            (RampShape::Open, _) => None,
            // Its own cores get no more of the memory, however many there are.
            (RampShape::Rising, Some(Distance::Remote)) if local.is_some_and(has_local_level) => Some(Limit::Memory),
            // Misses in flight are the core's and so its siblings' too: that these add nothing speaks for them, and for
            // a ceiling that the cores just reach.
            (RampShape::Rising, _) => (self.cut_off().is_none() && !self.siblings_add_nothing()).then_some(Limit::Core),
            (RampShape::Level, Some(Distance::Remote)) => match local {
                // Not all of what the memory gives its own cores may have been seen, but it gives that.
                Some(local) if self.is_below(local) => Some(Limit::Link),
                Some(local) if local.shape() != RampShape::Open && local.cut_off().is_none() => Some(Limit::Memory),
                _ => self.nearest_ceiling(),
            },
            (RampShape::Level, _) => Some(Limit::Memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(place: Distance, rates: &[f64]) -> Ramp<'static> {
        let points: Vec<(f64, f64)> = rates.iter().enumerate().map(|(i, r)| ((i + 1) as f64, r * 1e9)).collect();
        let planned = Planned { cores: points.len(), lines: 1.0, traffic: 1.0, ..Planned::default() };
        Ramp { place: Some(place), cores: points.len(), planned, points, seen: Vec::new(), latency: None }
    }

    fn cut(place: Distance, rates: &[f64], planned: usize) -> Ramp<'static> {
        let whole = ramp(place, rates);
        Ramp { planned: Planned { cores: planned, ..whole.planned }, ..whole }
    }

    fn local(level: f64) -> Ramp<'static> {
        ramp(Distance::Local, &[level, level])
    }

    /// E0: two sockets of four cores, one channel a socket; readers on the other socket meet the link at the second.
    #[test]
    fn the_published_ramp_is_limited_by_its_link() {
        let remote = ramp(Distance::Remote, &[6.6, 8.3, 8.3]);
        assert_eq!(remote.limit(Some(&local(10.4))), Some(Limit::Link));
        assert!((remote.level() - 8.3e9).abs() < 1e6);
        assert_eq!(remote.limit(Some(&local(8.4))), Some(Limit::Memory), "as much as the memory gives its own cores");
        assert_eq!(remote.limit(None), None, "nothing tells the memory from the link");
        assert_eq!(ramp(Distance::Local, &[8.0, 8.1, 8.1]).limit(None), Some(Limit::Memory));
        assert_eq!(ramp(Distance::Remote, &[6.0, 11.8, 17.6]).limit(Some(&local(40.0))), Some(Limit::Core));
        assert_eq!(ramp(Distance::Local, &[]).limit(None), None);
    }

    /// Eight cores of 20.2 GB/s on 147 GB/s have nine tenths of eight times one: only the eighth core shows that this
    /// was the end.
    #[test]
    fn what_the_last_core_adds_counts_and_not_the_sum_alone() {
        let rates = [20.2, 40.4, 60.6, 80.7, 101.0, 121.1, 141.7, 146.9];
        let whole = ramp(Distance::Local, &rates);
        assert!(whole.efficiency().unwrap() > 0.9 && (whole.last_adds().unwrap() - 0.257).abs() < 0.001);
        assert_eq!((whole.shape(), whole.limit(None)), (RampShape::Level, Some(Limit::Memory)));
        let why = whole.why(Some(Limit::Memory), None);
        assert_eq!(
            why,
            [
                memory::cores_have(8, whole.efficiency().unwrap().into(), whole.last_adds().map(Into::into)),
                memory::memory_full()
            ]
        );
        // One point shows no level where more was to come.
        assert_eq!(
            (cut(Distance::Local, &rates, 16).shape(), cut(Distance::Local, &rates, 16).limit(None)),
            (RampShape::Open, None)
        );
        assert_eq!(ramp(Distance::Local, &rates[..7]).limit(None), Some(Limit::Core));
        // A percent less of so many cores is noise, not what the last one adds.
        let mut many: Vec<f64> = (1..=64).map(|n| 10.0 * f64::from(n)).collect();
        many[63] *= 0.99;
        assert_eq!(ramp(Distance::Local, &many).limit(None), Some(Limit::Core));
    }

    /// As many cores as just fill a ceiling rise to their end: what the user states of it shows that it is full.
    #[test]
    fn a_ramp_that_ends_at_a_ceiling_is_limited_by_it() {
        let rates = [10.0, 20.0, 30.0, 40.0, 50.0, 56.0];
        let stated = |place: Distance, rate: f64| {
            let ceiling = || Ceiling { rate: rate * 1e9, note: memory::one_core_only() };
            let (peak, link) = match place {
                Distance::Local => (Some(ceiling()), None),
                _ => (None, Some(ceiling())),
            };
            let whole = ramp(place, &rates);
            Ramp { planned: Planned { peak, link, ..whole.planned }, ..whole }
        };
        assert_eq!(stated(Distance::Remote, 60.0).limit(Some(&local(200.0))), Some(Limit::Link));
        assert_eq!(stated(Distance::Local, 60.0).limit(None), Some(Limit::Memory));
        let half = |place| Ramp { points: stated(place, 120.0).points[..5].to_vec(), cores: 5, ..stated(place, 120.0) };
        let half = |place| Ramp { planned: Planned { cores: 5, ..half(place).planned }, ..half(place) };
        assert_eq!(half(Distance::Remote).limit(Some(&local(200.0))), Some(Limit::Core));
        // What exceeds the stated rate proves that it is wrong, and nothing else.
        assert_eq!(stated(Distance::Remote, 40.0).of_link(), None);
    }

    /// Four cores of another socket come close to what the memory gives its own, and their siblings reach it.
    #[test]
    fn remote_cores_that_reach_the_level_of_local_ones_are_limited_by_the_memory() {
        let rates = [9.6, 19.2, 28.8, 38.4, 39.4, 40.0, 40.0, 40.0];
        let remote = Ramp { cores: 4, ..cut(Distance::Remote, &rates, 4) };
        let local = ramp(Distance::Local, &[20.2, 40.0, 40.0, 40.0]);
        assert_eq!((remote.shape(), remote.limit(Some(&local))), (RampShape::Rising, Some(Limit::Memory)));
        assert_eq!(remote.why(Some(Limit::Memory), Some(&local))[1], memory::memory_full());
        let rising = ramp(Distance::Local, &[10.0, 20.0, 30.0, 40.0]);
        assert_eq!(remote.limit(Some(&rising)), Some(Limit::Core), "local cores may get more yet");
        let few = ramp(Distance::Local, &[10.0, 20.0, 20.0, 20.0]);
        assert_eq!(remote.limit(Some(&few)), Some(Limit::Core), "it is not the memory that holds the local cores");
    }

    #[test]
    fn siblings_that_add_nothing_leave_it_open() {
        let with = |rates: &[f64]| Ramp { cores: 3, ..cut(Distance::Local, rates, 3) };
        let flat = with(&[20.2, 40.4, 59.9, 59.9, 59.8, 59.9]);
        assert_eq!((flat.shape(), flat.limit(None)), (RampShape::Rising, None));
        assert_eq!(flat.why(None, None)[1..], [memory::siblings_add_nothing(false)]);
        assert_eq!(with(&[20.2, 40.4, 60.6, 62.6, 64.7, 66.7]).limit(None), Some(Limit::Core));
        let far = Ramp { place: Some(Distance::Remote), ..flat };
        assert!(far.why(None, None)[1].to_string().contains("the link or the memory"), "{:?}", far.why(None, None));
    }

    #[test]
    fn one_core_claims_nothing_of_what_several_share() {
        for alone in [ramp(Distance::Local, &[41.1]), cut(Distance::Local, &[41.1], 16)] {
            assert_eq!((alone.limit(None), alone.shape()), (None, RampShape::Open));
            assert!(alone.knee().is_none());
            assert_eq!(alone.why(None, None), [memory::one_core_only()]);
        }
        let two = ramp(Distance::Local, &[41.1, 48.6]);
        let have = memory::cores_have(2, two.efficiency().unwrap().into(), None);
        assert_eq!(two.why(Some(Limit::Memory), None)[0], have);
    }

    #[test]
    fn what_lies_beyond_a_cut_is_not_claimed() {
        let rising = cut(Distance::Local, &[10.0, 20.0, 29.8], 16);
        assert_eq!((rising.limit(None), rising.shape()), (None, RampShape::Rising));
        assert_eq!(rising.cut_off(), Some(memory::ramp_cut_off(3, 16)));
        // Less than in proportion, and no level yet: a ramp that was not cut off would count as level.
        let bent = [10.0, 19.0, 26.0, 32.0];
        assert_eq!(
            (cut(Distance::Local, &bent, 16).limit(None), ramp(Distance::Local, &bent).limit(None)),
            (None, Some(Limit::Memory))
        );
        assert!(cut(Distance::Local, &bent, 16).knee().is_none());
        // A level is a level, and the link's where local cores had more, however far they came.
        let remote = [10.0, 19.0, 20.0, 20.1, 19.9];
        assert_eq!(cut(Distance::Local, &remote, 16).limit(None), Some(Limit::Memory));
        let remote = cut(Distance::Remote, &remote, 16);
        assert_eq!(remote.limit(Some(&rising)), Some(Limit::Link));
        assert_eq!(remote.limit(Some(&cut(Distance::Local, &[10.0, 20.0], 16))), None, "local cores may yet have more");
        // Without the rate of one core nothing is known of any other.
        let mut late = cut(Distance::Local, &[10.0, 20.0, 20.0, 20.0], 4);
        (late.points, late.cores) = (late.points[1..].to_vec(), 3);
        assert_eq!((late.limit(None), late.cut_off()), (None, None));
    }
}
