//! The block size from which on a channel gets no faster: the knee of its curve of bandwidth by size.

use std::collections::BTreeMap;

use tiermark_model::messages::shapes;
use tiermark_model::{
    Bytes, Finding, Label, LabelSet, Labels, Metric, Note, Observation, OsGroup, Quantity, Reason, Unit, Verdict,
};
use tiermark_stats::{Curve, XScale, knee};

use crate::ground::Says;

/// Kneedle's sensitivity: the paper's advice.
const SENSITIVITY: f64 = 1.0;
/// Bandwidth that differs by less, relative, is no rise.
const RISE: f64 = 0.10;

/// A channel's curve at one place of the other side and one capacity.
struct ChannelCurve<'a> {
    labels: Labels,
    /// Block sizes, rising, with their observations.
    points: Vec<(u64, f64, &'a Observation)>,
    /// Requested sizes that were not tried: refused, or skipped for lack of time.
    untried: usize,
    /// Sizes that were tried and gave no valid number.
    invalid: usize,
}

/// The knees of all channels with enough requested sizes.
pub(super) fn knees(observations: &[Observation]) -> Vec<Finding> {
    let mut curves: BTreeMap<String, ChannelCurve<'_>> = BTreeMap::new();
    for seen in observations {
        let channel = seen.metric == Metric::Bandwidth && seen.labels.group() == Some(OsGroup::Channels.name());
        let Some(size) = seen.labels.bytes().filter(|_| channel) else { continue };
        // The first point of a primitive is one of its curve.
        let labels = seen.labels.clone().without(LabelSet::NONE.size().purpose());
        let key = labels.iter().map(|(key, label)| format!("{key}={}\n", word(label))).collect();
        let new = || ChannelCurve { labels, points: Vec::new(), untried: 0, invalid: 0 };
        let curve = curves.entry(key).or_insert_with(new);
        match seen.value {
            Some(rate) => curve.points.push((size, rate, seen)),
            None if seen.refusal.is_some() => curve.untried += 1,
            None => curve.invalid += 1,
        }
    }
    curves.into_values().filter_map(ChannelCurve::finding).collect()
}

fn word(label: &Label) -> String {
    match label {
        Label::Text(text) => text.clone(),
        Label::Whole(n) => n.to_string(),
    }
}

impl ChannelCurve<'_> {
    /// The knee, or the reason why the curve has none.
    fn finding(mut self) -> Option<Finding> {
        self.points.sort_by_key(|(size, _, _)| *size);
        self.points.dedup_by_key(|(size, _, _)| *size);
        let fewest = Says::Bend.least();
        if self.asked() < fewest {
            return None;
        }
        let on = self.rests_on();
        let all = 0..self.points.len();
        if self.points.len() < fewest {
            return Some(self.finding_at(None, all, [shapes::too_few_points(), on]));
        }
        let curve: Vec<(f64, f64)> = self.points.iter().map(|(size, rate, _)| (*size as f64, *rate)).collect();
        let most = self.points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (first, last) = (self.points.first()?, self.points.last()?);
        // Behind the most it may fall: larger blocks do not stay in the caches. The bend is that of the rise.
        let bend = knee(&curve, Curve::ConcaveIncreasing, XScale::Log, SENSITIVITY);
        let Some(found) = bend.filter(|found| differs(first, most) && found.x <= most.0 as f64) else {
            return Some(self.finding_at(None, all, self.without_knee(most).into_iter().chain([on])));
        };
        let beside = found.index.saturating_sub(1)..(found.index + 2).min(self.points.len());
        // It is one of the measured sizes: its neighbours say how well it is resolved.
        let (low, high) = (curve[beside.start].0, curve[beside.end - 1].0);
        let at = |point: &(u64, f64, &Observation)| (Bytes(point.0), point.1.into());
        let chosen = shapes::use_blocks_of(Bytes(found.x as u64), found.y.into(), at(most), at(last));
        let between = shapes::knee_between(Bytes(low as u64), Bytes(high as u64));
        Some(self.finding_at(Some(found.x), beside, [chosen, between, on]))
    }

    /// Number of requested sizes.
    fn asked(&self) -> usize {
        self.points.len() + self.untried + self.invalid
    }

    /// How many sizes have a number, how many have none and why, and where the other side was.
    fn rests_on(&self) -> Note {
        shapes::rests_on_sizes(self.points.len(), self.untried, self.invalid, self.labels.relation())
    }

    /// What the curve does without a knee, and the block size to use.
    fn without_knee(&self, most: &(u64, f64, &Observation)) -> Option<Note> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let at = |point: &(u64, f64, &Observation)| (Bytes(point.0), point.1.into());
        let least = self.points.iter().map(|(_, rate, _)| *rate).fold(f64::INFINITY, f64::min);
        let (from, to) = (Bytes(first.0), Bytes(last.0));
        let rises = |pair: &[(u64, f64, &Observation)]| differs(&pair[0], &pair[1]);
        Some(if differs(first, most) {
            shapes::rises_without_knee(Bytes(most.0), most.1.into(), at(first), most.0 == last.0)
        } else if differs(last, first) && !self.points.windows(2).any(rises) {
            shapes::smallest_is_best(at(first), at(last))
        } else if most.1 > least * (1.0 + RISE) {
            shapes::no_size_is_better(least.into(), most.1.into(), from, to)
        } else {
            shapes::any_size_will_do(least.into(), most.1.into(), from, to)
        })
    }

    fn finding_at(
        &self,
        value: Option<f64>,
        on: std::ops::Range<usize>,
        notes: impl IntoIterator<Item = Note>,
    ) -> Finding {
        let seen = || self.points[on.clone()].iter().map(|(_, _, seen)| *seen);
        let mut verdict = seen().fold(Verdict::trusted(), |verdict, o| verdict.and(&o.verdict));
        let asked = self.asked();
        if value.is_some() && 2 * self.points.len() < asked {
            verdict.suspect(Reason::FewPoints { points: self.points.len() as u64, of: asked as u64 });
        }
        // Its neighbours resolve it, without a level of confidence: a note names them.
        Finding {
            samples: seen().map(|o| o.visits.len() as u64).sum(),
            verdict,
            evidence: seen().map(|o| o.step.clone()).collect(),
            notes: notes.into_iter().collect(),
            ..Finding::new(Quantity::OsKnee, self.labels.clone(), value, Unit::Bytes)
        }
    }
}

/// Whether the second rate is larger than the first by more than a rise, and by more than both intervals.
fn differs(small: &(u64, f64, &Observation), large: &(u64, f64, &Observation)) -> bool {
    let apart = small.2.interval.zip(large.2.interval).is_none_or(|(small, large)| small.high < large.low);
    large.1 > small.1 * (1.0 + RISE) && apart
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tiermark_model::messages::shapes::codes;
    use tiermark_model::{Interval, Purpose};

    fn observations(op: &str, group: OsGroup, rates: &[(u64, f64)]) -> Vec<Observation> {
        let labels = |kib: u64| {
            let labels = Labels::new().with_op(op).with_group(group).with_relation("same cpu");
            labels.with_size(kib << 10).with_capacity(64 << 10)
        };
        let one = |(kib, gbs): &(u64, f64)| Observation {
            step: format!("os/{op}/{kib}"),
            labels: labels(*kib),
            value: Some(gbs * 1e9),
            ..seen()
        };
        rates.iter().map(one).collect()
    }

    /// An observation without a number.
    pub(in crate::os) fn seen() -> Observation {
        Observation { allocations: 3, ..Observation::new("", Labels::new(), Metric::Bandwidth) }
    }

    /// A published curve of a laptop, KiB and GB/s: best at 64 KiB, and less beyond.
    const PIPE: [(u64, f64); 16] = [
        (64, 4.000),
        (4, 3.240),
        (8, 3.457),
        (16, 3.643),
        (32, 3.736),
        (128, 2.627),
        (256, 2.579),
        (512, 2.801),
        (1024, 2.736),
        (2048, 2.448),
        (4096, 2.414),
        (8192, 1.962),
        (16_384, 1.940),
        (32_768, 2.402),
        (65_536, 2.401),
        (131_072, 2.350),
    ];

    #[test]
    fn a_pipes_curve_bends_where_its_rise_ends() {
        let found = knees(&observations("pipe", OsGroup::Channels, &PIPE));
        assert_eq!(found.len(), 1);
        let knee = &found[0];
        assert_eq!((&knee.quantity, knee.unit), (&Quantity::OsKnee, Unit::Bytes));
        assert_eq!(knee.value, Some(65_536.0), "{knee:?}");
        assert!(knee.labels.bytes().is_none() && knee.labels.capacity().is_some());
        let [chosen, between, on] = &knee.notes[..] else { panic!("{:?}", knee.notes) };
        assert!(chosen.code == codes::use_blocks_of && chosen.data["block"] == 65_536, "{chosen:?}");
        assert_eq!(between, &shapes::knee_between(Bytes(32 << 10), Bytes(128 << 10)));
        assert_eq!(on, &shapes::rests_on_sizes(16, 0, 0, Some("same cpu")));
        // Neighbours are no interval of any level.
        assert!(knee.evidence.len() == 3 && knee.interval.is_none());
    }

    #[test]
    fn the_worst_verdict_around_it_is_that_of_the_knee() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for point in &mut seen {
            point.verdict.bound(Reason::NotSharp { share: 0.01 });
        }
        assert_ne!(knees(&seen)[0].verdict, Verdict::trusted());
    }

    #[test]
    fn a_curve_without_a_bend_says_so_and_a_short_one_nothing() {
        let flat: Vec<(u64, f64)> = PIPE.iter().map(|(kib, _)| (*kib, 3.0 + (*kib % 3) as f64 * 0.01)).collect();
        let found = knees(&observations("pipe", OsGroup::Channels, &flat));
        assert_eq!(found[0].value, None);
        assert_eq!(found[0].notes[0].code, codes::any_size_will_do);
        // A curve that rises to its very end has no knee either.
        let rising: Vec<(u64, f64)> = [4, 8, 16, 32, 64].map(|kib| (kib, (kib as f64).log2())).to_vec();
        let found = knees(&observations("pipe", OsGroup::Channels, &rising));
        assert_eq!(found[0].value, None);
        assert_eq!(
            found[0].notes[0],
            shapes::rises_without_knee(Bytes(64 << 10), 6e9.into(), (Bytes(4 << 10), 2e9.into()), true)
        );
        assert!(knees(&observations("pipe", OsGroup::Channels, &PIPE[..4])).is_empty());
        // Copies of the C library are no channel.
        assert!(knees(&observations("memcpy", OsGroup::Libc, &PIPE)).is_empty());
    }

    #[test]
    fn a_curve_that_only_falls_says_so() {
        let falling: Vec<(u64, f64)> = (0..8).map(|n| (4 << n, 10.0 / f64::from(n + 1))).collect();
        let found = knees(&observations("pipe", OsGroup::Channels, &falling));
        let (first, last) = ((Bytes(4 << 10), 10e9.into()), (Bytes(512 << 10), 1.25e9.into()));
        assert_eq!((found[0].value, &found[0].notes[0]), (None, &shapes::smallest_is_best(first, last)));
    }

    #[test]
    fn a_rise_within_the_intervals_is_none() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for point in &mut seen {
            let rate = point.value.unwrap();
            point.interval = Some(Interval { low: rate * 0.6, high: rate * 1.4, level: 0.95 });
        }
        let found = knees(&seen);
        assert!(found[0].value.is_none() && found[0].notes[0].code == codes::no_size_is_better, "{found:?}");
    }

    #[test]
    fn sizes_without_a_number_are_counted_and_doubt_the_knee() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for point in seen.iter_mut().filter(|o| o.labels.bytes() > Some(256 << 10)) {
            point.value = None;
        }
        let largest = seen.iter_mut().max_by_key(|o| o.labels.bytes()).unwrap();
        largest.refusal = Some(tiermark_model::Refusal::new("pipe", "no time", ""));
        let few = knees(&seen);
        assert_eq!(few[0].notes.last(), Some(&shapes::rests_on_sizes(7, 1, 8, Some("same cpu"))));
        assert!(few[0].value.is_some() && few[0].verdict != Verdict::trusted(), "{few:?}");
        seen[..3].iter_mut().for_each(|point| point.value = None);
        let none = knees(&seen);
        assert!(none[0].value.is_none() && none[0].notes[0].code == codes::too_few_points, "{none:?}");
        // A channel with too few requested sizes has no finding.
        assert!(knees(&seen[..4]).is_empty());
    }

    #[test]
    fn the_first_point_is_one_of_the_curve() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for (index, point) in seen.iter_mut().enumerate() {
            let purpose = if index == 0 { Purpose::Os } else { Purpose::OsPoint };
            point.labels = point.labels.clone().with_purpose(purpose);
        }
        let found = knees(&seen);
        assert_eq!((found.len(), found[0].value), (1, Some(65_536.0)), "{found:?}");
    }

    #[test]
    fn curves_of_other_places_are_others() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        let mut others = seen.clone();
        for point in &mut others {
            point.labels = point.labels.clone().with_relation("same LLC");
        }
        seen.extend(others);
        assert_eq!(knees(&seen).len(), 2);
    }
}
