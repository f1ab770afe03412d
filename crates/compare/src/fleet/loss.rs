//! What the hosts of a kind lost together since before a change: held against their peers, all of them are alike.

use std::collections::BTreeMap;

use tiermark_model::{ChangedFact, FleetLoss};
use tiermark_stats::median;

use crate::fleet::facts::most_common;
use crate::fleet::judge::is_small;
use crate::fleet::kind::Kind;
use crate::fleet::record::HostRecord;

/// Share of its figures by which the median host of a kind may be worse.
pub(crate) const ALLOWED: f64 = 0.05;
/// The fewest hosts whose median is that of a kind, and not of one of them.
const FEWEST: usize = 3;

/// The changes of a family, on logarithms, by the host's place in the kind.
struct Changes {
    less_is_better: Option<bool>,
    hosts: BTreeMap<usize, Vec<f64>>,
}

/// The families in which the median host of a kind is worse by more than `allowed`, the largest loss first. `before`:
/// records of its hosts from before the change.
pub(crate) fn losses(kind: &Kind<'_>, before: &[&HostRecord], allowed: f64) -> Vec<FleetLoss> {
    let mut families: BTreeMap<&str, Changes> = BTreeMap::new();
    for column in &kind.judged.columns {
        let figure = &kind.catalogue.figures[column.figure];
        let new = || Changes { less_is_better: figure.less_is_better(), hosts: BTreeMap::new() };
        let Changes { hosts, .. } = families.entry(&figure.family).or_insert_with(new);
        for (host, cell) in column.cells.iter().filter(|(_, cell)| !cell.reading.is_open) {
            hosts.entry(*host).or_default().push(cell.reading.ln);
        }
    }
    let facts = changed_facts(&kind.records, before);
    let loss = |(family, Changes { less_is_better, hosts }): (&str, Changes)| {
        let sign = if less_is_better? { 1.0 } else { -1.0 };
        let means: Vec<f64> = hosts.values().map(|all| all.iter().sum::<f64>() / all.len() as f64).collect();
        let middle = median(&means).filter(|_| means.len() >= FEWEST)?;
        let change = middle.exp() - 1.0;
        let worse = means.iter().filter(|off| *off * sign > 0.0 && !is_small(**off)).count();
        let hosts = [worse as u64, means.len() as u64];
        let loss =
            || FleetLoss { kind: kind.at as u64, family: family.to_owned(), change, hosts, facts: facts.clone() };
        (change * sign > allowed).then(loss)
    };
    let mut found: Vec<FleetLoss> = families.into_iter().filter_map(loss).collect();
    found.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    found
}

/// The facts of which most hosts have another value than most had before.
fn changed_facts(now: &[&HostRecord], before: &[&HostRecord]) -> Vec<ChangedFact> {
    let of = |records: &[&HostRecord], fact| {
        let own = records.iter().flat_map(|record| &record.facts).filter(|own| own.fact == fact);
        most_common(own).map(|(common, _)| common.clone())
    };
    let mut facts: Vec<_> = now.iter().flat_map(|record| &record.facts).map(|own| own.fact).collect();
    facts.sort_unstable();
    facts.dedup();
    let changed = |fact| {
        let (before, now) = (of(before, fact)?, of(now, fact)?);
        (!before.is_same(&now)).then_some(ChangedFact { fact, before: before.text, now: now.text })
    };
    facts.into_iter().filter_map(changed).collect()
}
