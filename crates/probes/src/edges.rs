//! How large each tier is, by measurement: where the latency curve leaves its plateaus.

use tiermark_model::{Bytes, CpuId, Finding, Interval, Labels, Machine, Observation, Unit, format_ns};

use crate::ladder::{derived, points, with_purpose};

/// Measured tier sizes: where the plateaus of the random curve end, each named by the declared cache nearest to it.
pub(crate) fn tier_sizes(observations: &[Observation], machine: &Machine) -> Vec<Finding> {
    let random: Vec<&Observation> = with_purpose(observations, "curve")
        .filter(|o| o.labels.is(Labels::LAYOUT, "random") && o.labels.number(Labels::CHAINS) == Some(1))
        .collect();
    let Some(page) = random.first().and_then(|o| o.labels.get(Labels::PAGE)).map(str::to_owned) else {
        return Vec::new();
    };
    let of_page: Vec<&Observation> = random.into_iter().filter(|o| o.labels.is(Labels::PAGE, &page)).collect();
    let curve: Vec<(f64, f64)> =
        points(of_page.iter().copied()).iter().map(|(size, value)| (*size as f64, *value)).collect();
    let tiers = tiermark_stats::tiers(&curve);
    let cpu = of_page.first().and_then(|o| o.labels.get(Labels::CPUS)).and_then(|cpu| cpu.parse().ok());
    let estimates: Vec<f64> = tiers.boundaries.iter().map(|b| b.estimate).collect();
    let names = boundary_names(&estimates, cpu, machine);
    let mut findings = Vec::new();
    for ((plateau, boundary), name) in tiers.plateaus.iter().zip(&tiers.boundaries).zip(names) {
        let at_edge =
            |o: &&&Observation| o.labels.number(Labels::SIZE).is_some_and(|s| s as f64 >= boundary.low * 0.999);
        let (Some(edge), Some(name)) = (of_page.iter().find(at_edge), name) else { continue };
        let labels =
            Labels::new().text(Labels::TIER, name).text(Labels::STATISTIC, "plateau").text(Labels::PAGE, &page);
        let mut found = derived(edge, "tier.size", labels, boundary.estimate, Unit::Bytes);
        found.interval = Some(Interval { low: boundary.low, high: boundary.high, level: 1.0 });
        let (from, to) = (Bytes(plateau.from.round() as u64), Bytes(plateau.to.round() as u64));
        found.note = Some(format!("flat from {from} to {to} at {} ns", format_ns(plateau.value)));
        findings.push(found);
    }
    findings
}

/// Names boundaries by the declared cache levels of a cpu: each level goes to the boundary nearest to it, within a factor of four,
/// since guests and cache allocation often own part of a cache. Without declared caches they are counted.
pub(crate) fn boundary_names(boundaries: &[f64], cpu: Option<CpuId>, machine: &Machine) -> Vec<Option<String>> {
    const NEAR: f64 = 4.0;
    let declared: Vec<(u8, f64)> = machine
        .data_caches()
        .filter(|c| cpu.is_some_and(|cpu| c.cpus.contains(cpu)))
        .filter_map(|c| Some((c.level, c.bytes? as f64)))
        .collect();
    if declared.is_empty() {
        return (1..=boundaries.len()).map(|level| Some(format!("L{level}"))).collect();
    }
    let mut names = vec![None; boundaries.len()];
    for (level, bytes) in declared {
        let away = |estimate: &f64| (estimate / bytes).ln().abs();
        let nearest = (0..boundaries.len()).min_by(|a, b| away(&boundaries[*a]).total_cmp(&away(&boundaries[*b])));
        if let Some(index) = nearest.filter(|i| away(&boundaries[*i]) < NEAR.ln()) {
            names[index] = Some(format!("L{level}"));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cache, CacheKind, KIB, MIB};

    fn machine(sizes: &[(u8, u64)]) -> Machine {
        let cache = |&(level, bytes): &(u8, u64)| Cache {
            level,
            kind: CacheKind::Unified,
            bytes: Some(bytes),
            line_bytes: Some(64),
            ways: None,
            sets: None,
            cpus: [1].into_iter().collect(),
        };
        Machine { caches: sizes.iter().map(cache).collect(), ..Machine::default() }
    }

    fn names(estimates: &[u64], machine: &Machine) -> Vec<Option<String>> {
        let boundaries: Vec<f64> = estimates.iter().map(|e| *e as f64).collect();
        boundary_names(&boundaries, Some(1), machine)
    }

    #[test]
    fn boundaries_are_named_by_the_caches_they_lie_near() {
        let machine = machine(&[(1, 48 * KIB), (2, MIB), (3, 32 * MIB)]);
        let name = |level: u8| Some(format!("L{level}"));
        assert_eq!(names(&[46 * KIB, 730 * KIB, 14 * MIB], &machine), [name(1), name(2), name(3)]);
        // Two edges near one cache: the nearer is its end, the other has no name.
        assert_eq!(names(&[46 * KIB, 730 * KIB, 14 * MIB, 31 * MIB], &machine), [name(1), name(2), None, name(3)]);
        // A missing second level is not filled by the third's edge.
        assert_eq!(names(&[46 * KIB, 30 * MIB], &machine), [name(1), name(3)]);
    }

    #[test]
    fn without_declared_caches_they_are_counted() {
        assert_eq!(names(&[KIB, MIB], &Machine::default()), [Some("L1".to_owned()), Some("L2".to_owned())]);
    }
}
