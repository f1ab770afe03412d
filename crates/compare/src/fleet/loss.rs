//! What the hosts of a kind lost together since before a change: held against their peers, all of them are alike.

use std::collections::BTreeMap;

use tiermark_model::{ChangedFact, Fact, FleetLoss};
use tiermark_stats::{median, student_two_sided};

use crate::fleet::judge::threshold;
use crate::fleet::kind::Kind;
use crate::fleet::spread::{FLOOR, OF_MEDIAN};
use crate::fleet::{FEWEST, LEVEL};

/// Share of its figures by which the median host of a kind may be worse.
pub(crate) const ALLOWED: f64 = 0.05;

/// The changes of a family, on logarithms, by the host's place in the kind.
struct Changes {
    less_is_better: Option<bool>,
    /// The share up to which a change is none in practice.
    threshold: f64,
    hosts: BTreeMap<usize, Vec<f64>>,
}

/// The families in which the median host of a kind is worse by more than `allowed` and by more than chance, the largest
/// loss first; none where nothing was measured before. How often cpus are interrupted is no figure here: it says nothing
/// of memory, and differs from hour to hour.
pub(crate) fn losses(kind: &Kind<'_>, allowed: f64) -> Vec<FleetLoss> {
    let Some(before) = &kind.before else { return Vec::new() };
    let mut families: BTreeMap<&str, Changes> = BTreeMap::new();
    for column in &kind.judged.columns {
        let figure = &kind.catalogue.figures[column.figure];
        if figure.how.quantity.is_of_interruptions() {
            continue;
        }
        let (less_is_better, threshold) = (figure.less_is_better(), threshold(&figure.how.quantity));
        let new = || Changes { less_is_better, threshold, hosts: BTreeMap::new() };
        let Changes { hosts, .. } = families.entry(&figure.family).or_insert_with(new);
        for (host, cell) in column.cells.iter().filter(|(_, cell)| !cell.reading.is_open) {
            hosts.entry(*host).or_default().push(cell.reading.ln);
        }
    }
    let is_of_most = |of: &ChangedFact| of.hosts[1] >= FEWEST as u64 && 2 * of.hosts[0] > of.hosts[1];
    let facts: Vec<ChangedFact> = kind.changed().into_iter().filter(is_of_most).collect();
    let tests = families.len();
    let documents = |at: usize| Some([before.get(at).copied()??.file.clone(), kind.records[at].file.clone()]);
    let loss = |(family, Changes { less_is_better, threshold, hosts }): (&str, Changes)| {
        let sign = if less_is_better? { 1.0 } else { -1.0 };
        let of_host = |all: &Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
        let (places, means): (Vec<usize>, Vec<f64>) = hosts.iter().map(|(at, all)| (*at, of_host(all))).unzip();
        let middle = median(&means)?;
        let apart = |(_, mean): &(&usize, &f64)| (**mean - middle).abs();
        let nearest = places.iter().zip(&means).min_by(|a, b| apart(a).total_cmp(&apart(b)))?.0;
        let change = middle.exp() - 1.0;
        let worse = means.iter().filter(|off| *off * sign > (1.0 + threshold).ln()).count();
        let loss = || FleetLoss {
            kind: kind.at as u64,
            family: family.to_owned(),
            change,
            hosts: [worse as u64, means.len() as u64],
            facts: facts.clone(),
            documents: documents(*nearest),
        };
        (change * sign > allowed.max(threshold) && is_beyond_chance(middle, &means, tests)).then(loss)
    };
    let mut found: Vec<FleetLoss> = families.into_iter().filter_map(loss).collect();
    found.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    found
}

/// Whether chance does not explain the median of the changes of several hosts: by a t test against no change, with the
/// standard error of a median of normal values, corrected for the number of tests (Bonferroni).
fn is_beyond_chance(middle: f64, changes: &[f64], tests: usize) -> bool {
    let n = changes.len() as f64;
    let mean = changes.iter().sum::<f64>() / n;
    let variance = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (OF_MEDIAN * variance.max(FLOOR.powi(2)) / n).sqrt();
    student_two_sided(middle / error, n - 1.0).is_some_and(|p| p * tests as f64 <= LEVEL)
}

impl Kind<'_> {
    /// The facts of which its hosts have another value than before, each change of a fact by itself, that of the most
    /// hosts first. What is counted grows by itself, and is no change.
    pub(crate) fn changed(&self) -> Vec<ChangedFact> {
        let pairs = self.records.iter().zip(self.before.iter().flatten());
        let mut known: BTreeMap<Fact, u64> = BTreeMap::new();
        let mut changes: BTreeMap<(Fact, &str, &str), u64> = BTreeMap::new();
        for (now, before) in pairs.filter_map(|(now, before)| Some((now, before.as_ref()?))) {
            for own in now.facts.iter().filter(|own| !own.is_counted()) {
                let Some(then) = before.facts.iter().find(|then| then.fact == own.fact) else { continue };
                *known.entry(own.fact).or_default() += 1;
                if !then.is_same(own) {
                    *changes.entry((own.fact, &then.text, &own.text)).or_default() += 1;
                }
            }
        }
        let changed = |((fact, before, now), hosts): ((Fact, &str, &str), u64)| ChangedFact {
            fact,
            before: before.to_owned(),
            now: now.to_owned(),
            hosts: [hosts, known[&fact]],
        };
        let mut all: Vec<ChangedFact> = changes.into_iter().map(changed).collect();
        all.sort_by_key(|of| std::cmp::Reverse(of.hosts[0]));
        all
    }
}
