//! The block size from which on a channel gets no faster: the knee of its curve of bandwidth by size.

use std::collections::BTreeMap;

use tiermark_model::{
    Bytes, Finding, Label, Labels, Metric, Observation, OsGroup, Quantity, Reason, Unit, Verdict, format_gbs,
};
use tiermark_stats::{Curve, XScale, knee};

/// Kneedle's sensitivity: the paper's advice.
const SENSITIVITY: f64 = 1.0;
/// Fewer sizes show no bend.
const FEWEST: usize = 5;
/// Bandwidth that differs by less, relative, is no rise.
const RISE: f64 = 0.10;

/// A channel's curve at one place of the other side and one capacity.
struct Course<'a> {
    labels: Labels,
    /// Block sizes, rising, with what was seen.
    points: Vec<(u64, f64, &'a Observation)>,
    /// Sizes that were asked for and not tried: refused, or no time was left.
    untried: usize,
    /// Sizes that were tried and gave no valid number.
    invalid: usize,
}

/// The knees of all channels that were asked for at enough sizes.
pub(super) fn knees(observations: &[Observation]) -> Vec<Finding> {
    let mut courses: BTreeMap<String, Course<'_>> = BTreeMap::new();
    for seen in observations {
        let channel = seen.metric == Metric::Bandwidth && seen.labels.is(Labels::GROUP, OsGroup::Channels.name());
        let Some(size) = seen.labels.number(Labels::SIZE).filter(|_| channel) else { continue };
        let mut labels = seen.labels.clone();
        labels.0.remove(Labels::SIZE);
        // The first point of a primitive is one of its curve.
        labels.0.remove(Labels::PURPOSE);
        let key = labels.0.iter().map(|(key, label)| format!("{key}={}\n", word(label))).collect();
        let new = || Course { labels, points: Vec::new(), untried: 0, invalid: 0 };
        let course = courses.entry(key).or_insert_with(new);
        match seen.value {
            Some(rate) => course.points.push((size, rate, seen)),
            None if seen.refusal.is_some() => course.untried += 1,
            None => course.invalid += 1,
        }
    }
    courses.into_values().filter_map(Course::finding).collect()
}

fn word(label: &Label) -> String {
    match label {
        Label::Text(text) => text.clone(),
        Label::Whole(n) => n.to_string(),
    }
}

impl Course<'_> {
    /// The knee, or why there is none.
    fn finding(mut self) -> Option<Finding> {
        self.points.sort_by_key(|(size, _, _)| *size);
        self.points.dedup_by_key(|(size, _, _)| *size);
        if self.asked() < FEWEST {
            return None;
        }
        let on = self.rests_on();
        let all = 0..self.points.len();
        if self.points.len() < FEWEST {
            return Some(self.told(None, all, format!("no knee can be told; {on}")));
        }
        let curve: Vec<(f64, f64)> = self.points.iter().map(|(size, rate, _)| (*size as f64, *rate)).collect();
        let most = self.points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (first, last) = (self.points.first()?, self.points.last()?);
        // Behind the most it may fall: larger blocks do not stay in the caches. The bend is that of the rise.
        let bend = knee(&curve, Curve::ConcaveIncreasing, XScale::Log, SENSITIVITY);
        let Some(found) = bend.filter(|found| differs(first, most) && found.x <= most.0 as f64) else {
            return Some(self.told(None, all, format!("{}; {on}", self.without_knee(most))));
        };
        let beside = found.index.saturating_sub(1)..(found.index + 2).min(self.points.len());
        // It is one of the measured sizes: its neighbours say how well it is resolved.
        let (low, high) = (curve[beside.start].0, curve[beside.end - 1].0);
        let (chosen, rate) = (found.x as u64, |rate: f64| format_gbs(rate));
        let beyond = match most.0 {
            best if best == chosen => "the most of all sizes".to_owned(),
            best => format!("the most is {} GB/s, with {}", rate(most.1), Bytes(best)),
        };
        let end = match last.0 {
            end if end == most.0 || end == chosen => String::new(),
            end => format!(", {} GB/s with {}", rate(last.1), Bytes(end)),
        };
        let note = format!(
            "use blocks of {}: {} GB/s; {beyond}{end}; the knee by Kneedle, between {} and {}; {on}",
            Bytes(chosen),
            rate(found.y),
            Bytes(low as u64),
            Bytes(high as u64)
        );
        Some(self.told(Some(found.x), beside, note))
    }

    /// Sizes that were asked for.
    fn asked(&self) -> usize {
        self.points.len() + self.untried + self.invalid
    }

    /// How many sizes have a number, how many have none and why, and where the other side was.
    fn rests_on(&self) -> String {
        let place = match self.labels.get(Labels::RELATION) {
            Some(place) => format!("other side {place}"),
            None => "at one place".to_owned(),
        };
        let asked = self.asked();
        if self.points.len() == asked {
            return format!("of {asked} sizes, {place}");
        }
        let counted = [(self.untried, "not tried"), (self.invalid, "without a valid number")];
        let counted = counted.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
        format!("of {} of {asked} sizes ({}), {place}", self.points.len(), counted.collect::<Vec<_>>().join(", "))
    }

    /// How a curve without a knee goes, and what follows for who chooses a size.
    fn without_knee(&self, most: &(u64, f64, &Observation)) -> String {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return String::new() };
        let (a, b) = (Bytes(first.0), Bytes(last.0));
        let least = self.points.iter().map(|(_, rate, _)| *rate).fold(f64::INFINITY, f64::min);
        let [from, to, low, high] = [first.1, last.1, least, most.1].map(format_gbs);
        let best = Bytes(most.0);
        if differs(first, most) {
            let end = if most.0 == last.0 { "to its end" } else { "without a marked bend" };
            format!("use blocks of {best}: {high} GB/s; no knee: rises from {from} GB/s at {a}, {end}")
        } else if differs(last, first) {
            format!("use the smallest blocks: no rise to end, falls from {from} GB/s at {a} to {to} GB/s at {b}")
        } else if most.1 > least * (1.0 + RISE) {
            format!("no block size is better beyond the intervals: between {low} and {high} GB/s from {a} to {b}")
        } else {
            format!("any block size will do: no rise to end, between {low} and {high} GB/s from {a} to {b}")
        }
    }

    fn told(&self, value: Option<f64>, on: std::ops::Range<usize>, note: String) -> Finding {
        let seen = || self.points[on.clone()].iter().map(|(_, _, seen)| *seen);
        let mut verdict = seen().fold(Verdict::trusted(), |verdict, o| verdict.and(&o.verdict));
        let asked = self.asked();
        if value.is_some() && 2 * self.points.len() < asked {
            verdict.suspect(Reason::FewPoints { points: self.points.len() as u64, of: asked as u64 });
        }
        Finding {
            metric: Quantity::OsKnee,
            labels: self.labels.clone(),
            value,
            unit: Unit::Bytes,
            // Its neighbours resolve it, without a level of confidence: the note names them.
            interval: None,
            samples: seen().map(|o| o.visits.len() as u64).sum(),
            verdict,
            evidence: seen().map(|o| o.step.clone()).collect(),
            note: Some(note),
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
    use tiermark_model::{Interval, Purpose};

    fn observations(op: &str, group: OsGroup, rates: &[(u64, f64)]) -> Vec<Observation> {
        let labels = |kib: u64| {
            let labels =
                Labels::new().text(Labels::OP, op).text(Labels::GROUP, group).text(Labels::RELATION, "same cpu");
            labels.whole(Labels::SIZE, kib << 10).whole(Labels::CAPACITY, 64 << 10)
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
        let mut step = serde_json::json!({
            "step": "", "labels": {}, "metric": "bandwidth", "unit": "bytes_per_second", "value": null, "interval": null,
            "min": null, "max": null, "spread_within": null, "spread_between": null, "allocations": 3,
            "tail": null, "placement": null, "core_hz": null, "core_hz_spread": null, "rivals": [], "overhead_share": null,
            "started_seconds": 0.0, "seconds": 0.0, "refusal": null,
        });
        step["disturbance"] = serde_json::to_value(tiermark_model::Disturbance::default()).unwrap();
        step["verdict"] = serde_json::to_value(Verdict::trusted()).unwrap();
        serde_json::from_value(step).unwrap()
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
        assert_eq!((&knee.metric, knee.unit), (&Quantity::OsKnee, Unit::Bytes));
        assert_eq!(knee.value, Some(65_536.0), "{knee:?}");
        let note = knee.note.as_ref().unwrap();
        assert!(
            note.starts_with("use blocks of 64 KiB: 4.00 GB/s; the most of all sizes, 2.35 GB/s with 128 MiB;"),
            "{note}"
        );
        assert!(knee.labels.number(Labels::SIZE).is_none() && knee.labels.number(Labels::CAPACITY).is_some());
        assert!(note.contains("the knee by Kneedle, between 32 KiB and 128 KiB"), "{note}");
        assert!(note.ends_with("of 16 sizes, other side same cpu"), "{note}");
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
        let note = found[0].note.as_ref().unwrap();
        assert!(
            note.starts_with("any block size will do: no rise to end, between 3.01 and 3.02 GB/s from 4 KiB"),
            "{note}"
        );
        // One that rises to its very end has no knee either.
        let rising: Vec<(u64, f64)> = [4, 8, 16, 32, 64].map(|kib| (kib, (kib as f64).log2())).to_vec();
        let found = knees(&observations("pipe", OsGroup::Channels, &rising));
        let note = found[0].note.as_ref().unwrap();
        assert!(found[0].value.is_none() && note.starts_with("use blocks of 64 KiB: 6.00 GB/s; no knee"), "{note}");
        assert!(note.contains("rises from 2.00 GB/s at 4 KiB, to its end;"), "{note}");
        assert!(knees(&observations("pipe", OsGroup::Channels, &PIPE[..4])).is_empty());
        // What the C library copies is no channel.
        assert!(knees(&observations("memcpy", OsGroup::Libc, &PIPE)).is_empty());
    }

    #[test]
    fn a_curve_that_only_falls_says_so() {
        let falling: Vec<(u64, f64)> = (0..8).map(|n| (4 << n, 10.0 / f64::from(n + 1))).collect();
        let found = knees(&observations("pipe", OsGroup::Channels, &falling));
        let note = found[0].note.as_ref().unwrap();
        assert!(
            note.starts_with("use the smallest blocks: no rise to end, falls from 10.0 GB/s at 4 KiB to 1.25"),
            "{note}"
        );
        assert_eq!(found[0].value, None);
    }

    #[test]
    fn a_rise_within_the_intervals_is_none() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for point in &mut seen {
            let rate = point.value.unwrap();
            point.interval = Some(Interval { low: rate * 0.6, high: rate * 1.4, level: 0.95 });
        }
        let found = knees(&seen);
        let note = found[0].note.as_ref().unwrap();
        assert!(found[0].value.is_none() && note.starts_with("no block size is better beyond the intervals"), "{note}");
    }

    #[test]
    fn sizes_without_a_number_are_counted_and_doubt_the_knee() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for point in seen.iter_mut().filter(|o| o.labels.number(Labels::SIZE) > Some(256 << 10)) {
            point.value = None;
        }
        let largest = seen.iter_mut().max_by_key(|o| o.labels.number(Labels::SIZE)).unwrap();
        largest.refusal = Some(tiermark_model::Refusal::new("pipe", "no time", ""));
        let few = knees(&seen);
        let (note, verdict) = (few[0].note.as_ref().unwrap(), &few[0].verdict);
        assert!(note.contains("of 7 of 16 sizes (1 not tried, 8 without a valid number), other side"), "{note}");
        assert!(few[0].value.is_some() && *verdict != Verdict::trusted(), "{few:?}");
        seen[..3].iter_mut().for_each(|point| point.value = None);
        let none = knees(&seen);
        let note = none[0].note.as_ref().unwrap();
        assert!(none[0].value.is_none() && note.starts_with("no knee can be told"), "{note}");
        // What was never asked for says nothing.
        assert!(knees(&seen[..4]).is_empty());
    }

    #[test]
    fn the_first_point_is_one_of_the_curve() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        for (index, point) in seen.iter_mut().enumerate() {
            let purpose = if index == 0 { Purpose::Os } else { Purpose::OsPoint };
            point.labels = point.labels.clone().purpose(purpose);
        }
        let found = knees(&seen);
        assert_eq!((found.len(), found[0].value), (1, Some(65_536.0)), "{found:?}");
    }

    #[test]
    fn curves_of_other_places_are_others() {
        let mut seen = observations("pipe", OsGroup::Channels, &PIPE);
        let mut others = seen.clone();
        for point in &mut others {
            point.labels = point.labels.clone().text(Labels::RELATION, "same LLC");
        }
        seen.extend(others);
        assert_eq!(knees(&seen).len(), 2);
    }
}
