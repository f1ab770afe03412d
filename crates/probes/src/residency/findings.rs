//! From visits to shares of hits and half-lives.

use tiermark_model::messages::shapes;
use tiermark_model::{Bytes, Finding, Labels, Machine, Observation, Quantity, Reason, Unit};

use super::limits::{limit, used_once};
use super::ranges::{AGREE, FAINT, Range, WaitPoint, inner_of, ranges, tier_of};
use super::{FLUSHED, Use};
use crate::chasing::resting_on;
use crate::ground::{Says, grounded};
use crate::ladder::{derived, description, with_purpose};

/// All findings.
pub(super) fn derive(machine: &Machine, observations: &[Observation]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut ranges = ranges(observations);
    for point in ranges.iter().flat_map(|range| &range.points) {
        let labels = point.seen.labels.clone();
        let mut median = derived(point.seen, Quantity::ResidencyAccess, labels.clone(), point.median, Unit::Ns);
        median.interval = point.seen.interval;
        found.push(median);
        found.push(derived(point.seen, Quantity::ResidencyEdge, labels, point.edge.value, Unit::Ns));
    }
    // Lines used once may all miss: only those used again show what a hit takes.
    let again = ranges.iter().find(|range| range.used == Use::Again);
    let Some(first) = again.and_then(|range| range.points.first()) else { return found };
    let (hit, hit_seen) = (first.edge.value, first.seen);
    found.push(hit_finding(machine, first));
    let inner = inner_of(machine, hit_seen) as f64;
    let mut misses = Vec::new();
    for range in &mut ranges {
        let flushed = with_purpose(observations, FLUSHED).find(|o| o.labels.bytes() == Some(range.bytes));
        let Some((miss, miss_seen)) =
            flushed.and_then(|seen| Some((seen.value?, seen))).filter(|(miss, _)| *miss > hit)
        else {
            continue;
        };
        if !misses.contains(&range.bytes) {
            misses.push(range.bytes);
            let mut finding = derived(miss_seen, Quantity::ResidencyMiss, size(range.bytes), miss, Unit::Ns);
            finding.interval = miss_seen.interval;
            found.push(finding);
        }
        // Even without other programs, closer caches hold this part of a range: only the rest can be evicted.
        let kept = (inner / range.bytes as f64).min(1.0);
        let miss = kept * hit + (1.0 - kept) * miss;
        range.held = range.points.iter().map(|p| ((miss - p.median) / (miss - hit)).clamp(0.0, 1.0)).collect();
        for (point, share) in range.points.iter().zip(&range.held) {
            let evidence = [point.seen, miss_seen, hit_seen];
            let labels = point.seen.labels.clone();
            found.push(resting_on(&evidence, Quantity::ResidencyHeld, labels, Some(*share), Unit::Ratio));
        }
        found.extend(half_life(machine, range));
    }
    ranges.retain(|range| !range.held.is_empty());
    let (again, once): (Vec<_>, Vec<_>) = ranges.into_iter().partition(|range| range.used == Use::Again);
    // Only lines used again show what others do: some caches keep nothing else.
    if let Some(limit) = limit(&again) {
        let of_once = used_once(machine, &again, &once, &limit);
        found.push(limit);
        found.extend(of_once);
    }
    for described in found.iter_mut().filter(|f| f.quantity != Quantity::ResidencyHit) {
        described.verdict = description(&described.verdict);
    }
    found
}

fn size(bytes: u64) -> Labels {
    Labels::new().with_size(bytes)
}

/// Time of an access that hits.
fn hit_finding(machine: &Machine, first: &WaitPoint<'_>) -> Finding {
    let (seen, edge) = (first.seen, first.edge);
    let mut found = derived(seen, Quantity::ResidencyHit, seen.labels.clone(), edge.value, Unit::Ns);
    // It is an edge: the hardware's where windows pile up at it again and again.
    found.verdict = description(&seen.verdict);
    if !edge.is_sharp() {
        found.verdict.bound(Reason::NotSharp { share: edge.share });
    }
    if !edge.is_reproduced() {
        found.verdict.bound(Reason::NotReproduced { reached: edge.reached as u64 });
    }
    let inner = inner_of(machine, seen);
    let bytes = seen.labels.bytes().unwrap_or(u64::MAX);
    let share = inner as f64 / bytes.max(1) as f64;
    found.with_notes((inner > 0).then(|| shapes::hit_edge(Bytes(bytes), share.into(), Bytes(inner))))
}

/// The time since touch at which half of the lines held at the touch are evicted, with the share held then. `None`
/// where more than half remain after the longest wait.
fn half_time(waits: &[f64], held: &[f64]) -> Option<f64> {
    let (first, second) = (*held.first()?, held.get(1).copied());
    let between = |from: f64, to: f64| if to > FAINT { (from / to).ln() } else { 0.0 };
    // Held at the touch itself: the first two waits drawn back to it, no more than all.
    let at_touch = second.filter(|second| *second < first).map_or(first, |second| {
        let rate = between(first, second) / (waits[1] - waits[0]);
        (first * (rate * waits[0]).exp()).min(1.0).max(first)
    });
    let half = at_touch / 2.0;
    let mut before = (0.0, at_touch);
    for now in waits.iter().copied().zip(held.iter().copied()) {
        if now.1 <= half {
            let whole = between(before.1, now.1);
            let part = if whole > 0.0 {
                (before.1 / half).ln() / whole
            } else {
                (before.1 - half) / (before.1 - now.1).max(1e-9)
            };
            return Some(before.0 + part.clamp(0.0, 1.0) * (now.0 - before.0));
        }
        before = now;
    }
    None
}

/// `None` where too little of a range used once is held for its decline to be seen.
fn half_life(machine: &Machine, range: &Range<'_>) -> Option<Finding> {
    if range.used == Use::Once && range.held.first().is_none_or(|held| *held <= AGREE) {
        return None;
    }
    let evidence: Vec<&Observation> = range.points.iter().map(|point| point.seen).collect();
    let waits: Vec<f64> = range.points.iter().map(|point| point.wait_ns).collect();
    // The range was evicted before the shortest wait was over.
    let is_gone = range.held.first().is_some_and(|held| *held <= FAINT);
    let found = if is_gone { waits.first().copied() } else { half_time(&waits, &range.held) };
    let longest = waits.last().copied();
    let mut labels = size(range.bytes).with_used(range.used.word());
    if let Some(tier) = evidence.first().and_then(|seen| tier_of(machine, seen)) {
        labels = labels.with_tier(tier);
    }
    match found {
        None => labels = labels.with_statistic("at least"),
        Some(_) if is_gone => labels = labels.with_statistic("at most"),
        Some(_) => {}
    }
    let found = resting_on(&evidence, Quantity::ResidencyHalfLife, labels, found.or(longest), Unit::Ns);
    Some(grounded(found, &evidence, evidence.len(), Says::Quotient))
}

#[cfg(test)]
mod tests {
    use super::half_time;

    #[test]
    fn half_lives_of_exponentials_are_exact() {
        let waits = super::super::WAITS_NS.map(f64::from);
        for half in [0.3e6, 0.5e6, 2.5e6, 10e6, 30e6] {
            let held = waits.map(|wait| 0.5f64.powf(wait / half));
            let found = half_time(&waits, &held).unwrap();
            assert!((found / half - 1.0).abs() < 0.05, "{half}: {found}");
        }
        assert_eq!(half_time(&waits, &[1.0; 8]), None);
        assert_eq!(half_time(&waits, &waits.map(|wait| 0.5f64.powf(wait / 40e6))), None);
        // Flat, then gone: between the waits where it happens.
        let found = half_time(&waits, &[0.99, 0.99, 0.99, 0.97, 0.8, 0.2, 0.0, 0.0]).unwrap();
        assert!((2e6..4e6).contains(&found), "{found}");
    }

    #[test]
    fn what_is_held_in_part_has_a_half_life_of_its_own() {
        let waits = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(half_time(&waits, &[0.4, 0.4, 0.2, 0.1]), Some(4.0));
        assert_eq!(half_time(&waits, &[0.4, 0.4, 0.4, 0.4]), None);
        assert_eq!(half_time(&[], &[]), None);
    }
}
