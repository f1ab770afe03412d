//! How large each tier is, by measurement: where the latency curve leaves its plateaus.

use std::collections::BTreeSet;

use tiermark_model::messages::shapes;
use tiermark_model::{
    Bytes, Cache, CpuId, Finding, Grade, Interval, Labels, Machine, Observation, PageKind, Purpose, Quantity, Reason,
    Tier, Unit, Verdict, WhyNot,
};

use crate::finder::{declared, point};
use crate::found::{CurvePoint, Found, FoundTier, Grain, Size, find};
use crate::ladder::{derived, with_purpose};
use crate::steps::page_bytes;

/// Measured tier sizes: where the plateaus of the random curve end, each named by the declared cache nearest to it. A
/// size that the curve does not resolve is a finding without a number, with its range and the reason.
pub(crate) fn tier_sizes(observations: &[Observation], machine: &Machine) -> Vec<Finding> {
    let random: Vec<&Observation> = with_purpose(observations, Purpose::Curve)
        .filter(|o| o.labels.layout() == Some("random") && o.labels.chains() == Some(1))
        .collect();
    let Some(page) = random.first().and_then(|o| o.labels.page()).map(str::to_owned) else {
        return Vec::new();
    };
    let mut of_page: Vec<&Observation> = random.into_iter().filter(|o| o.labels.page() == Some(&page)).collect();
    of_page.sort_by_key(|o| o.labels.bytes());
    let cpu = of_page.first().and_then(|o| o.labels.cpus()).and_then(|cpu| cpu.parse().ok());
    let curve: Vec<CurvePoint> = of_page.iter().filter_map(|o| point(o)).collect();
    let asked = page.parse::<PageKind>().ok().and_then(|kind| page_bytes(kind, machine)).unwrap_or(machine.page_bytes);
    let found = find(&curve, &declared(machine, cpu), asked, None);
    let finding = |tier: &FoundTier| {
        let tier = &FoundTier { size: proven(tier, &of_page, is_shared(machine, tier.level)), ..*tier };
        let (low, _) = tier.size.range();
        let at_edge = |o: &&&Observation| o.value.is_some() && o.labels.bytes().is_some_and(|s| s >= low);
        let edge = of_page.iter().find(at_edge).or(of_page.iter().rfind(|o| o.value.is_some()))?;
        Some(size_finding(tier, &found, edge, &page))
    };
    let grain = found.grain.and_then(|grain| Some(grain_finding(&grain, asked, of_page.last()?, &page)));
    found.tiers.iter().filter_map(finding).chain(grain).collect()
}

/// Whether others may use a cache of this level: those of other cores, and in a guest other guests.
fn is_shared(machine: &Machine, level: u8) -> bool {
    let all: Vec<&Cache> = machine.data_caches().filter(|cache| cache.level == level).collect();
    let core = |cpu| machine.cpu(cpu).map(|cpu| (cpu.socket, cpu.core));
    let is_of_several = |cache: &&Cache| cache.cpus.iter().map(core).collect::<BTreeSet<_>>().len() > 1;
    all.iter().any(is_of_several) || (level > 2 && (all.is_empty() || machine.system.hypervisor.is_some()))
}

/// The size of a tier as far as its curve proves it. A cache that others use ends early where they evict its lines. If
/// all points behind the end are bounds, which say that accesses are at least so fast, it may be larger than it seems.
fn proven(tier: &FoundTier, curve: &[&Observation], is_shared: bool) -> Size {
    let Size::Resolved { bytes, low, declared: false, .. } = tier.size else { return tier.size };
    let is_behind = |size: u64| size > bytes && size <= bytes.saturating_mul(2);
    let behind = curve.iter().filter(|seen| seen.value.is_some());
    let mut behind = behind.filter(|seen| seen.labels.bytes().is_some_and(is_behind)).peekable();
    match is_shared && behind.peek().is_some() && behind.all(|seen| seen.verdict.grade == Grade::Bound) {
        true => Size::NotResolved { low, high: u64::MAX, why: WhyNot::Evicted },
        false => tier.size,
    }
}

/// The piece in which the memory behind a page is translated, where the curve bends at the reach of a TLB.
fn grain_finding(grain: &Grain, asked: u64, last: &Observation, page: &str) -> Finding {
    let labels = Labels::new().with_page(page).with_size(grain.knee);
    let mut finding = derived(last, Quantity::TranslationGrain, labels, grain.page as f64, Unit::Bytes);
    // The curve as a whole decides, and not the verdict of one of its points.
    (finding.verdict, finding.value) = (Verdict::trusted(), Some(grain.page as f64));
    let Grain { knee, page, entries, step_ns } = *grain;
    finding.with_notes([shapes::translation_grain(Bytes(asked), Bytes(page), Bytes(knee), entries, step_ns.into())])
}

fn size_finding(tier: &FoundTier, found: &Found, edge: &Observation, page: &str) -> Finding {
    let labels = Labels::new().with_tier(Tier::Cache(tier.level)).with_statistic("plateau").with_page(page);
    let (low, high) = tier.size.range();
    let bytes = tier.size.resolved().unwrap_or(low);
    let mut finding = derived(edge, Quantity::TierSize, labels, bytes as f64, Unit::Bytes);
    // The curve as a whole decides, and not the verdict of one of its points.
    finding.verdict = Verdict::trusted();
    finding.value = Some(bytes as f64);
    let bounded = high < u64::MAX;
    finding.interval = bounded.then_some(Interval { low: low as f64, high: high as f64, level: 0.98 });
    if let Size::NotResolved { why, .. } = tier.size {
        finding.value = None;
        let high = bounded.then_some(Bytes(high));
        // What stands at its end says nothing of a size that is not there.
        finding.verdict = Verdict::trusted();
        finding.verdict.suspect(Reason::NotResolved { low: Bytes(low), high, why });
    }
    finding.notes.push(match tier.plateau {
        Some((from, to)) => shapes::plateau(Bytes(from), Bytes(to), tier.ns.into()),
        None => shapes::no_plateau_but_rung(tier.ns.into(), Bytes(tier.rung)),
    });
    let bends = |grain: &Grain| tier.plateau.is_some_and(|(from, _)| from < grain.knee) && grain.knee < high;
    if let Some(Grain { knee, page, entries, step_ns }) = found.grain.filter(bends) {
        finding.notes.push(shapes::tlb_misses_add(step_ns.into(), Bytes(knee), entries, Bytes(page)));
    }
    if let Size::Resolved { declared: true, .. } = tier.size {
        finding.notes.push(shapes::declared_size_agrees());
    }
    finding
}

/// Names boundaries by the declared cache levels of a cpu: each level goes to the boundary nearest to it, within a
/// factor of four, since guests and cache allocation often own part of a cache. Without declared caches they are
/// counted.
pub(crate) fn boundary_names(boundaries: &[f64], cpu: Option<CpuId>, machine: &Machine) -> Vec<Option<Tier>> {
    const NEAR: f64 = 4.0;
    let declared: Vec<(u8, f64)> = machine
        .data_caches()
        .filter(|c| cpu.is_some_and(|cpu| c.cpus.contains(cpu)))
        .filter_map(|c| Some((c.level, c.bytes? as f64)))
        .collect();
    if declared.is_empty() {
        return (1..=boundaries.len()).map(|level| u8::try_from(level).ok().map(Tier::Cache)).collect();
    }
    let mut names = vec![None; boundaries.len()];
    for (level, bytes) in declared {
        let away = |estimate: &f64| (estimate / bytes).ln().abs();
        let nearest = (0..boundaries.len()).min_by(|a, b| away(&boundaries[*a]).total_cmp(&away(&boundaries[*b])));
        if let Some(index) = nearest.filter(|i| away(&boundaries[*i]) < NEAR.ln()) {
            names[index] = Some(Tier::Cache(level));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cpu, KIB, MIB, Metric, testing};

    fn machine(sizes: &[(u8, u64)]) -> Machine {
        let cache = |&(level, bytes): &(u8, u64)| testing::cache(level, bytes, [1]);
        Machine { caches: sizes.iter().map(cache).collect(), ..Machine::default() }
    }

    fn names(estimates: &[u64], machine: &Machine) -> Vec<Option<Tier>> {
        let boundaries: Vec<f64> = estimates.iter().map(|e| *e as f64).collect();
        boundary_names(&boundaries, Some(1), machine)
    }

    #[test]
    fn boundaries_are_named_by_the_caches_they_lie_near() {
        let machine = machine(&[(1, 48 * KIB), (2, MIB), (3, 32 * MIB)]);
        let name = |level: u8| Some(Tier::Cache(level));
        assert_eq!(names(&[46 * KIB, 730 * KIB, 14 * MIB], &machine), [name(1), name(2), name(3)]);
        // Two edges near one cache: the nearer is its end, the other has no name.
        assert_eq!(names(&[46 * KIB, 730 * KIB, 14 * MIB, 31 * MIB], &machine), [name(1), name(2), None, name(3)]);
        // A missing second level is not filled by the third's edge.
        assert_eq!(names(&[46 * KIB, 30 * MIB], &machine), [name(1), name(3)]);
    }

    /// A curve that leaves L3 at 15 MiB, of which the points behind have this verdict.
    fn seen(verdict: &Verdict) -> Vec<Observation> {
        let point = |bytes: u64, ns: f64, verdict: &Verdict| Observation {
            value: Some(ns),
            verdict: verdict.clone(),
            ..Observation::new("point", Labels::new().with_size(bytes), Metric::Latency)
        };
        let trusted = Verdict::trusted();
        vec![point(8 * MIB, 13.0, &trusted), point(16 * MIB, 127.0, verdict), point(24 * MIB, 143.0, verdict)]
    }

    #[test]
    fn a_shared_cache_behind_which_all_points_are_bounds_is_at_least_so_large() {
        let size = Size::Resolved { bytes: 15 * MIB, low: 14 * MIB, high: 16 * MIB, declared: false };
        let tier = FoundTier { level: 3, plateau: Some((4 * MIB, 8 * MIB)), ns: 13.0, size, rung: 8 * MIB };
        let mut bound = Verdict::trusted();
        bound.bound(Reason::NotSharp { share: 0.01 });
        let proven = |verdict: &Verdict, is_shared: bool| {
            let curve = seen(verdict);
            super::proven(&tier, &curve.iter().collect::<Vec<_>>(), is_shared)
        };
        assert_eq!(proven(&bound, true), Size::NotResolved { low: 14 * MIB, high: u64::MAX, why: WhyNot::Evicted });
        assert_eq!((proven(&Verdict::trusted(), true), proven(&bound, false)), (size, size));
    }

    #[test]
    fn what_cores_or_guests_share_is_shared() {
        let mut machine = machine(&[(1, 48 * KIB), (3, 32 * MIB)]);
        machine.cpus = (0..2).map(|id| Cpu { id, core: id, ..Cpu::default() }).collect();
        assert!(!is_shared(&machine, 1) && !is_shared(&machine, 3) && is_shared(&machine, 4));
        machine.caches[1].cpus = [0, 1].into_iter().collect();
        assert!(is_shared(&machine, 3));
        machine.caches[1].cpus = [1].into_iter().collect();
        machine.system.hypervisor = Some("KVM".into());
        assert!(!is_shared(&machine, 1) && is_shared(&machine, 3));
    }

    #[test]
    fn without_declared_caches_they_are_counted() {
        assert_eq!(names(&[KIB, MIB], &Machine::default()), [Some(Tier::Cache(1)), Some(Tier::Cache(2))]);
    }
}
