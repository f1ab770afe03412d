//! What limits a shared cache: a partition, other programs, or a rule of the cache that keeps only lines used again.

use tiermark_model::messages::shapes;
use tiermark_model::{Bytes, Finding, Labels, Machine, Note, Observation, Quantity, Share, Unit};

use super::Use;
use super::ranges::{AGREE, FAINT, Range, tier_of};
use crate::chasing::resting_on;

/// A range is held where this share of it hits: conflicts in a set cost some lines of any range.
const HELD: f64 = 0.8;
/// A limit that changed by this factor in size has moved: half of the distance between two ranges.
const MOVED: f64 = std::f64::consts::SQRT_2;

/// A cache has a rule that spares only lines used again if of what was used once it holds less than this part, right
/// after the touch. Emerald Rapids holds 0 to 4 %, Zen 5 82 to 96 %, beside neighbours that evict.
const FEW: f64 = 0.5;

/// The largest footprint that is held after the wait of this index; 0 below the smallest range, infinite where all are
/// held.
fn edge_at(ranges: &[Range<'_>], wait: impl Fn(&Range<'_>) -> Option<f64>) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for range in ranges {
        let Some(held) = wait(range) else { continue };
        let bytes = range.bytes as f64;
        if held < HELD {
            return before.map_or(0.0, |(size, share)| {
                let part = (share - HELD) / (share - held).max(1e-9);
                size * (bytes / size).powf(part)
            });
        }
        before = Some((bytes, held));
    }
    f64::INFINITY
}

/// Bytes held right after the touch: of a range that is held in part, the part is the usable size.
fn usable(ranges: &[Range<'_>]) -> f64 {
    ranges.iter().filter_map(|range| Some(range.held.first()? * range.bytes as f64)).fold(0.0, f64::max)
}

/// What limits the part of ranges used again that the cache holds: nothing, a partition, or contention.
pub(super) fn limit(ranges: &[Range<'_>]) -> Option<Finding> {
    let smallest = ranges.first()?;
    let fresh = edge_at(ranges, |range| range.held.first().copied());
    let late = edge_at(ranges, |range| range.held.last().copied());
    let (first, last) = (*smallest.held.first()?, *smallest.held.last()?);
    let kind = match (fresh, late) {
        (f64::INFINITY, f64::INFINITY) => "none",
        // Not even the smallest range is held: how much of it remains shows whether it shrinks.
        (0.0, 0.0) if first - last >= AGREE => "contention",
        (0.0, 0.0) if first >= FAINT => "partition",
        (0.0, 0.0) => "unclear",
        (fresh, late) if fresh <= late * MOVED => "partition",
        _ => "contention",
    };
    let evidence: Vec<&Observation> =
        ranges.iter().flat_map(|range| [range.points.first(), range.points.last()]).flatten().map(|p| p.seen).collect();
    let mut labels = Labels::new().with_limit(kind).with_used(Use::Again.word());
    if kind != "partition" {
        labels = labels.with_statistic("at least");
    }
    let found = resting_on(&evidence, Quantity::ResidencyLimit, labels, Some(usable(ranges)), Unit::Bytes);
    Some(found.with_notes([match kind {
        "none" => shapes::all_ranges_held(),
        "partition" => shapes::limit_is_partition(),
        "contention" => shapes::limit_is_others(),
        _ => shapes::nothing_held(),
    }]))
}

/// One range after one wait, used once and used again.
#[derive(Clone, Copy)]
struct Both<'a> {
    bytes: u64,
    wait_ns: f64,
    /// Whether it is the shortest wait.
    is_fresh: bool,
    again: f64,
    once: f64,
    /// Whether less is held of what was used once, beyond the intervals of both medians.
    differs: bool,
    seen: [&'a Observation; 2],
}

impl Both<'_> {
    fn lost(&self) -> f64 {
        self.again - self.once
    }
}

/// All ranges and waits that were measured after both uses.
fn both<'a>(again: &[Range<'a>], once: &[Range<'a>]) -> Vec<Both<'a>> {
    let mut all = Vec::new();
    for range in once {
        let Some(other) = again.iter().find(|other| other.bytes == range.bytes) else { continue };
        let shortest = range.points.first().map(|point| point.wait_ns);
        for (point, held) in range.points.iter().zip(&range.held) {
            let at = other.points.iter().zip(&other.held).find(|(known, _)| known.wait_ns == point.wait_ns);
            let Some((known, known_held)) = at else { continue };
            let apart = known.seen.interval.zip(point.seen.interval).is_some_and(|(again, once)| once.low > again.high);
            all.push(Both {
                bytes: range.bytes,
                wait_ns: point.wait_ns,
                is_fresh: Some(point.wait_ns) == shortest,
                again: *known_held,
                once: *held,
                differs: apart && *known_held - *held > AGREE,
                seen: [known.seen, point.seen],
            });
        }
    }
    all
}

/// What the cache holds of ranges used once, beside those used again, whose limit is given. `None` where one of them
/// was not measured, or nothing of either is held.
pub(super) fn used_once(
    machine: &Machine,
    again: &[Range<'_>],
    once: &[Range<'_>],
    limit: &Finding,
) -> Option<Finding> {
    let all = both(again, once);
    let most = |is_one: &dyn Fn(&Both<'_>) -> bool| {
        all.iter().copied().filter(|both| is_one(both)).max_by(|a, b| a.lost().total_cmp(&b.lost()))
    };
    let known = limit.labels.limit().filter(|kind| *kind != "unclear")?;
    type Says = fn(&str, Bytes, [Share; 2], f64) -> Note;
    let (kind, shown, says): (&str, Both<'_>, Says) =
        if let Some(shown) = most(&|both| both.is_fresh && both.differs && both.once < FEW * both.again) {
            ("reuse", shown, shapes::kept_once_used_again)
        } else if let Some(shown) = most(&|both| both.differs) {
            (known, shown, shapes::kept_less_if_used_once)
        } else {
            (known, most(&|both| both.is_fresh)?, shapes::kept_alike)
        };
    let mut labels = Labels::new().with_limit(kind).with_used(Use::Once.word());
    let tier = tier_of(machine, shown.seen[1]);
    let cache = tier.map_or_else(|| "the cache".to_owned(), |tier| tier.to_string());
    let note = says(&cache, Bytes(shown.bytes), [shown.again, shown.once].map(Share), shown.wait_ns);
    if let Some(tier) = tier {
        labels = labels.with_tier(tier);
    }
    let found = resting_on(&shown.seen, Quantity::ResidencyLimit, labels, Some(usable(once)), Unit::Bytes);
    Some(found.with_notes([note]))
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::shapes::codes;
    use tiermark_model::{Code, Interval, MIB, Metric};

    use super::*;
    use crate::residency::ranges::WaitPoint;

    const WAITS_NS: [f64; 3] = [0.05e6, 1e6, 4e6];

    /// What was seen at each wait: medians that are known within `scatter` ns, of hits at 20 ns and misses at 100.
    fn seen(held: [f64; 3], scatter: f64) -> Vec<Observation> {
        let observation = |held: f64| {
            let median = 100.0 - 80.0 * held;
            let interval = Some(Interval { low: median - scatter, high: median + scatter, level: 0.95 });
            let seen = Observation::new("step", Labels::new().with_cpus(0), Metric::Latency);
            Observation { value: Some(median), interval, ..seen }
        };
        held.into_iter().map(observation).collect()
    }

    fn range(used: Use, seen: &[Observation], held: [f64; 3]) -> Range<'_> {
        let points = seen.iter().zip(WAITS_NS).map(|(seen, wait_ns)| WaitPoint::new(seen, 8 * MIB, used, wait_ns));
        Range { bytes: 8 * MIB, used, points: points.collect(), held: held.to_vec() }
    }

    /// Limits of what was used again and once, and the note of the second.
    fn limits(again: [f64; 3], once: [f64; 3], scatter: f64) -> (String, Option<(String, Code)>) {
        let (seen_again, seen_once) = (seen(again, scatter), seen(once, scatter));
        let again = [range(Use::Again, &seen_again, again)];
        let once = [range(Use::Once, &seen_once, once)];
        let limit = limit(&again).unwrap();
        let kind = |found: &Finding| found.labels.limit().unwrap().to_owned();
        let of_once = used_once(&Machine::default(), &again, &once, &limit);
        (kind(&limit), of_once.map(|found| (kind(&found), found.notes[0].code.clone())))
    }

    #[test]
    fn only_lines_used_again_that_shrink_with_time_are_evicted_by_others() {
        let told = |again, once| {
            let (kind, of_once) = limits(again, once, 1.0);
            let (of_once, code) = of_once.unwrap();
            (kind, of_once, code)
        };
        let is = |kind: &str, of_once: &str, code: &Code| (kind.to_owned(), of_once.to_owned(), code.clone());
        let (reuse, sooner, alike) = (&codes::kept_once_used_again, &codes::kept_less_if_used_once, &codes::kept_alike);
        let (kept, shrinks) = ([0.97, 0.96, 0.95], [0.95, 0.7, 0.2]);
        assert_eq!(told(kept, [0.04, 0.03, 0.02]), is("none", "reuse", reuse));
        // What little of it is held may shrink: that is no neighbour, either.
        assert_eq!(told(kept, [0.4, 0.3, 0.1]), is("none", "reuse", reuse));
        // Most of it is held: no such rule.
        assert_eq!(told(kept, [0.8, 0.78, 0.75]), is("none", "none", sooner));
        assert_eq!(told(shrinks, [0.04, 0.03, 0.02]), is("contention", "reuse", reuse));
        assert_eq!(told(kept, [0.95, 0.6, 0.2]), is("none", "none", sooner));
        assert_eq!(told(kept, kept), is("none", "none", alike));
        assert_eq!(told(shrinks, [0.93, 0.65, 0.15]), is("contention", "contention", alike));
        assert_eq!(told([0.5, 0.5, 0.49], [0.5, 0.48, 0.49]), is("partition", "partition", alike));
        // More of it than of what was used again is chance.
        assert_eq!(told(shrinks, kept), is("contention", "contention", alike));
        assert_eq!(limits([0.02; 3], [0.01; 3], 1.0), ("unclear".to_owned(), None));
    }

    #[test]
    fn uses_whose_medians_overlap_are_alike() {
        let (kind, of_once) = limits([0.95, 0.9, 0.9], [0.7, 0.7, 0.7], 20.0);
        assert_eq!((kind.as_str(), of_once.unwrap().1), ("none", codes::kept_alike));
    }
}
