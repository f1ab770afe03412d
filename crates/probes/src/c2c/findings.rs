//! Findings of round trips: by pair, by relation, both ways, by home, by state, and among many.

use std::collections::BTreeMap;

use tiermark_engine::accounting::{EVENNESS, LINE};
use tiermark_engine::{Lab, nearest_memory_node};
use tiermark_model::messages::memory;
use tiermark_model::{
    CpuId, Finding, Grade, Labels, Note, Observation, PartResult, PingOp, Purpose, Quantity, Reason, Relation, Unit,
    Verdict,
};

use super::pairs::{Class, count};
use super::remark;
use crate::ladder::{derived, finding, overhead_note, quotient, with_purpose, with_range};
use crate::task::Task;

/// Pairs of one relation that are not trusted, as a share, beyond which their median is not either: it stands on those
/// in the middle, and a tenth more or less moves it by little.
const DOUBTED: f64 = 0.1;
/// Neighbours in the sorted round trips of one relation this far apart are two groups: lines of one cache, whose homes
/// lie at different distances, scatter without a gap.
const GAP: f64 = 1.3;
/// Either of the groups has at least this share of the pairs, or it is a few outliers.
const GROUP: f64 = 0.05;

/// All findings, the most general first.
pub(super) fn derive(task: &Task, observations: &[Observation]) -> Vec<Finding> {
    let lab = &task.lab;
    let all = count(&lab.machine, &task.cpus);
    let mut findings = relations(observations, &all);
    remark::on_relations(&mut findings, lab.machine.system.hypervisor.is_some());
    findings.extend(asymmetries(observations));
    findings.extend(homes(observations, lab));
    for (purpose, metric) in [
        (Purpose::Op, Quantity::C2cOp),
        (Purpose::Transfer, Quantity::C2cTransfer),
        (Purpose::Contention, Quantity::C2cContention),
    ] {
        findings.extend(with_purpose(observations, purpose).map(|o| named(o, metric.clone())));
    }
    findings.extend(with_purpose(observations, Purpose::Contention).filter_map(line));
    findings.extend(with_purpose(observations, Purpose::Contention).filter_map(fairness));
    findings.extend(observations.iter().filter(|o| relation(o).is_some()).filter_map(|o| modes(o, lab)));
    findings.extend(with_purpose(observations, Purpose::Pair).map(|o| named(o, Quantity::C2cPair)));
    findings
}

fn named(observation: &Observation, quantity: Quantity) -> Finding {
    let one_way = observation.labels.op() == Some(&PingOp::OneWay.to_string());
    let notes = [one_way.then(memory::one_way), overhead_note(observation)];
    Finding { quantity, ..finding(observation, notes.into_iter().flatten()) }
}

/// The relation of an observed pair.
fn relation(observation: &Observation) -> Option<Relation> {
    observation.labels.relation()?.parse().ok()
}

/// Median, least and most over the pairs of each class, for each way to pass turns.
fn relations(observations: &[Observation], all: &BTreeMap<Class, u64>) -> Vec<Finding> {
    let mut groups: BTreeMap<(&str, Class), Vec<&Observation>> = BTreeMap::new();
    for pair in with_purpose(observations, Purpose::Pair) {
        if let (Some(op), Some(relation)) = (pair.labels.op(), relation(pair)) {
            let kinds = pair.labels.kinds().and_then(|kinds| kinds.parse().ok());
            groups.entry((op, Class { relation, kinds })).or_default().push(pair);
        }
    }
    let one = |((op, class), of): (&(&str, Class), &Vec<&Observation>)| {
        let labels = Labels::new().with_op(op).with_relation(class.relation);
        let labels = class.kinds.iter().fold(labels, |labels, kinds| labels.with_kinds(kinds));
        one_relation(labels, of, all.get(class).copied())
    };
    groups.iter().flat_map(one).collect()
}

fn one_relation(labels: Labels, of: &[&Observation], all: Option<u64>) -> Vec<Finding> {
    let mut values: Vec<(f64, &Observation)> = of.iter().filter_map(|o| Some((o.value?, *o))).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let numbers: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    let mut labels = labels.with_pairs(values.len() as u64);
    if let Some(all) = all {
        labels = labels.with_pairs_all(all);
    }
    let make = |statistic: &str, value: Option<f64>, verdict: Verdict, evidence: Vec<String>| {
        let value = value.filter(|_| verdict.grade != Grade::Invalid);
        let labels = labels.clone().with_statistic(statistic);
        Finding {
            samples: values.len() as u64,
            verdict,
            evidence,
            notes: (statistic == "median").then(|| unlike(&numbers)).flatten().into_iter().collect(),
            ..Finding::new(Quantity::C2cRelation, labels, value, Unit::Ns)
        }
    };
    let steps = || of.iter().map(|o| o.step.clone()).collect();
    let mut findings = vec![make("median", tiermark_stats::median(&numbers), pooled(of, values.len()), steps())];
    if let (Some((least, first)), Some((most, last))) = (values.first(), values.last()) {
        findings.push(make("min", Some(*least), first.verdict.clone(), vec![first.step.clone()]));
        findings.push(make("max", Some(*most), last.verdict.clone(), vec![last.step.clone()]));
    }
    findings
}

/// A note where the pairs of one relation fall into two groups: the machine may differ from its declaration.
fn unlike(sorted: &[f64]) -> Option<Note> {
    let groups = Groups::of(sorted, GROUP)?;
    Some({
        let [near, far] = [groups.near, groups.far].map(|(pairs, ns)| (pairs, ns.into()));
        memory::two_groups_of_pairs(near, far)
    })
}

/// The verdict on a median over pairs.
fn pooled(of: &[&Observation], measured: usize) -> Verdict {
    if let [only] = of {
        return only.verdict.clone();
    }
    let mut verdict = Verdict::trusted();
    if measured == 0 {
        // All have the same kind of trouble, or the first names one.
        return of.iter().fold(verdict, |verdict, o| {
            if verdict.grade == Grade::Invalid { verdict } else { verdict.and(&o.verdict) }
        });
    }
    let doubted: Vec<&&Observation> = of.iter().filter(|o| !o.verdict.grade.is_number()).collect();
    if doubted.len() as f64 > DOUBTED * of.len() as f64 {
        let reason = Reason::Pairs { doubted: doubted.len() as u64, of: of.len() as u64 };
        // If most pairs are bounds, the median is one too; otherwise it is as doubtful as the best of them.
        match doubted.iter().map(|o| o.verdict.grade).min() {
            Some(Grade::Bound) => verdict.bound(reason),
            _ => verdict.suspect(reason),
        }
    }
    verdict
}

/// Numbers that fall into two groups with nothing between them.
#[derive(Debug, PartialEq)]
struct Groups {
    /// How many, and their median.
    near: (usize, f64),
    far: (usize, f64),
}

impl Groups {
    /// Of sorted numbers; `None` where there is no gap, or less than a share of them on one side of it.
    fn of(sorted: &[f64], share: f64) -> Option<Self> {
        let gap = |at: usize| sorted[at] / sorted[at - 1];
        let widest = (1..sorted.len()).max_by(|a, b| gap(*a).total_cmp(&gap(*b))).filter(|at| gap(*at) >= GAP)?;
        let (near, far) = sorted.split_at(widest);
        if (near.len().min(far.len()) as f64) < share * sorted.len() as f64 {
            return None;
        }
        let group = |of: &[f64]| Some((of.len(), tiermark_stats::median(of)?));
        Some(Self { near: group(near)?, far: group(far)? })
    }
}

/// Where the windows of one pair pile up at several values: its cpus were at several distances in turn.
fn modes(observation: &Observation, lab: &Lab) -> Option<Finding> {
    let (near, far) = (observation.modes.first()?, observation.modes.last()?);
    let apart = far.value / near.value;
    let found = derived(observation, Quantity::C2cModes, observation.labels.clone(), apart, Unit::Ratio);
    let modes: Vec<_> = observation.modes.iter().map(|mode| (mode.value.into(), mode.share.into())).collect();
    Some(found.with_notes([memory::distances_in_turn(&modes, lab.machine.system.hypervisor.is_some())]))
}

/// The pair that an observation is of, in either direction.
fn ends(observation: &Observation) -> Option<(CpuId, CpuId)> {
    let (from, to) = (observation.labels.from_cpu()?, observation.labels.to_cpu()?);
    Some((from.min(to), from.max(to)))
}

/// The measurement of the same pair, in the same way, from the first cpu's own memory.
fn plain<'a>(observations: &'a [Observation], like: &Observation) -> Option<&'a Observation> {
    with_purpose(observations, Purpose::Pair).find(|o| ends(o) == ends(like) && o.labels.op() == like.labels.op())
}

/// How much longer a round trip takes when the other cpu begins, its memory holding the line.
fn asymmetries(observations: &[Observation]) -> Vec<Finding> {
    let asymmetry = |reverse: &Observation| {
        let forward = plain(observations, reverse)?;
        let ratio = reverse.value? / forward.value? - 1.0;
        let mut found = derived(reverse, Quantity::C2cAsymmetry, reverse.labels.clone(), ratio, Unit::Ratio);
        found.verdict = found.verdict.and(&forward.verdict);
        found.value = found.value.filter(|_| found.verdict.grade != Grade::Invalid);
        found.evidence.push(forward.step.clone());
        Some(with_range(found, quotient(reverse, forward), -1.0))
    };
    with_purpose(observations, Purpose::Reverse).filter_map(asymmetry).collect()
}

/// The round trips of pairs that were measured with several homes, the first cpu's own among them.
fn homes(observations: &[Observation], lab: &Lab) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for swept in with_purpose(observations, Purpose::Home) {
        if let Some(own) = plain(observations, swept) {
            let known = findings.iter().any(|f| f.evidence == [own.step.clone()]);
            if !known {
                let mut found = named(own, Quantity::C2cHome);
                found.labels = found.labels.with_home("first");
                let first = own.labels.from_cpu();
                if let Some(node) = first.and_then(|cpu| nearest_memory_node(cpu, &lab.machine)) {
                    found.labels = found.labels.with_node(node);
                }
                findings.push(found);
            }
        }
        findings.push(named(swept, Quantity::C2cHome));
    }
    findings
}

/// A part of contenders.
fn part<'a>(observation: &'a Observation, name: &str) -> Option<&'a PartResult> {
    observation.parts.iter().find(|part| part.name == name)
}

/// Time from one addition to the next, by any cpu.
fn line(observation: &Observation) -> Option<Finding> {
    let value = part(observation, LINE)?.value?;
    Some(derived(observation, Quantity::C2cLine, observation.labels.clone(), value, Unit::Ns))
}

/// How evenly contenders got their turn within a shot: the fewest additions over the most.
fn fairness(observation: &Observation) -> Option<Finding> {
    let even = part(observation, EVENNESS)?.value?;
    let found = derived(observation, Quantity::C2cFairness, observation.labels.clone(), even, Unit::Ratio);
    let own = observation.parts.iter().filter(|part| part.name.starts_with("cpu "));
    let slowest = own.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)));
    Some(found.with_notes(slowest.map(|part| memory::fewest_turns(&part.name))))
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn groups_are_told_only_where_there_is_a_gap() {
        assert_eq!(Groups::of(&[50.0, 51.0, 55.0, 60.0, 66.0], 0.0), None);
        assert_eq!(Groups::of(&[50.0], 0.0), None);
        assert_eq!(Groups::of(&[], 0.0), None);
        let told = Groups::of(&[20.0, 20.0, 22.0, 60.0, 61.0, 62.0], 0.2).unwrap();
        assert_eq!(told, Groups { near: (3, 20.0), far: (3, 61.0) });
        // One of many is an outlier.
        let mut many: Vec<f64> = vec![50.0; 99];
        many.push(500.0);
        assert_eq!(Groups::of(&many, 0.05), None);
    }
}
