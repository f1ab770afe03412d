//! The measured figures of a run that have a name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_model::messages::check as says;
use tiermark_model::{
    CLOCKED, Experiment, FigureName, Finding, Grade, IdSet, Interval, Labels, Machine, NodeId, Note, Observation,
    Reason, ReasonCode, Run, Span, TierName,
};

use crate::location::Place;
use crate::names::Name;
use crate::range::Range;
use crate::system_name::SystemName;
use crate::term::{At, Number, Value};

/// Places of one name at most: 64 nodes with memory of 64 nodes. Documents may come from anywhere.
const MOST_PLACES: usize = 4096;
/// A figure with how good it is among figures of the same thing: less is better.
struct Candidate {
    rank: (bool, Grade, f64),
    at: At,
}

impl Candidate {
    /// Stands for its place, unless a better one does.
    fn take_place(self, places: &mut HashMap<Place, Self>) {
        let is_better = |old: &Self| {
            let ((base, grade, value), (old_base, old_grade, old_value)) = (self.rank, old.rank);
            (base, grade).cmp(&(old_base, old_grade)).then(value.total_cmp(&old_value)).is_lt()
        };
        let has_room = places.len() < MOST_PLACES;
        if places.get(&self.at.place).map_or(has_room, is_better) {
            places.insert(self.at.place.clone(), self);
        }
    }
}

/// The figures of a run by name. Of several measurements of one thing, one on huge pages is used first, then a trusted
/// one, then the fastest.
pub(crate) fn of(run: &Run) -> BTreeMap<Name, Vec<At>> {
    let mut best: BTreeMap<Name, HashMap<Place, Candidate>> = BTreeMap::new();
    let cores = Cores::of(&run.machine);
    for experiment in &run.experiments {
        let seen: HashMap<&str, &Observation> = experiment.observations.iter().map(|o| (o.step.as_str(), o)).collect();
        for finding in &experiment.findings {
            let Some((figure, candidate)) = candidate(finding, &seen, experiment, (&run.machine, &cores)) else {
                continue;
            };
            let others = [per_cycle, of_record].map(|other| other(figure, &candidate, finding, (&seen, &run.machine)));
            for (name, candidate) in others.into_iter().flatten() {
                candidate.take_place(best.entry(name).or_default());
            }
            candidate.take_place(best.entry(Name::Figure(figure)).or_default());
        }
    }
    let sorted = |places: HashMap<Place, Candidate>| {
        let mut all: Vec<At> = places.into_values().map(|candidate| candidate.at).collect();
        all.sort_by_cached_key(|at| at.place.text());
        all
    };
    best.into_iter().map(|(name, places)| (name, sorted(places))).collect()
}

/// A finding as a figure; `None` if it has no name.
fn candidate(
    finding: &Finding,
    seen: &HashMap<&str, &Observation>,
    experiment: &Experiment,
    (machine, cores): (&Machine, &Cores),
) -> Option<(FigureName, Candidate)> {
    let labels = &finding.labels;
    let step = finding.evidence.first().and_then(|id| seen.get(id.as_str())).copied();
    let cpus = labels.cpus().and_then(|cpus| IdSet::from_plain_list(cpus).ok());
    let cpus = cpus.or_else(|| experiment.request.scope.cpus.clone()).unwrap_or_default();
    let from = cores.nodes(&cpus);
    let figure = FigureName::of(finding, &experiment.request.scope, machine)?;
    let is_memory = figure.tier().is_none_or(TierName::is_memory);
    let nodes = is_memory.then(|| nodes(finding, step, &from));
    let some = |nodes: IdSet| (!nodes.is_empty()).then_some(nodes);
    let is_of_all = figure.tier().is_some_and(|tier| tier.span == Some(Span::All));
    let place = Place { from: some(from), nodes: nodes.and_then(some), is_of_all, ..Place::default() };
    let mut at = At::new(place, term(finding, figure, machine));
    let fewer = is_of_all.then(|| fewer_cores(labels, &at.place, cores)).flatten();
    if let (Ok(Value::Number(number)), Some((used, cores))) = (&at.term, fewer) {
        at.term = Ok(Value::Number(Number {
            range: Range::at_least(number.range.low),
            reach: Range::at_least(number.reach.low),
        }));
        at = at.with_remark(says::fewer_cores(&figure.to_string(), used, cores));
    }
    let rank = (labels.page() == Some("base"), finding.verdict.grade, badness(figure, finding.value));
    Some((figure, Candidate { rank, at }))
}

/// The same figure in cycles of the core; `None` of what the core does not clock.
fn per_cycle(
    figure: FigureName,
    candidate: &Candidate,
    finding: &Finding,
    (_, machine): (&HashMap<&str, &Observation>, &Machine),
) -> Option<(Name, Candidate)> {
    let FigureName::Tier(tier) = figure else { return None };
    let is_sound = |value: &f64| value.is_finite() && *value >= 0.0;
    let value = finding.per_cycle.filter(|_| finding.value.is_some()).map(|of| of.value).filter(is_sound)?;
    if !CLOCKED.contains(&tier.tier) {
        return None;
    }
    let name = FigureName::PerCycle(tier);
    // Bytes a cycle are those of each core, however many there are.
    let factor = value / finding.value.unwrap_or(value);
    let interval = finding.interval.map(|of| Interval { low: of.low * factor, high: of.high * factor, ..of });
    let term = term(&Finding { value: Some(value), interval, ..finding.clone() }, name, machine);
    let (base, grade, _) = candidate.rank;
    let rank = (base, grade, badness(name, Some(value)));
    Some((Name::Figure(name), Candidate { rank, at: At::new(candidate.at.place.clone(), term) }))
}

/// The same figure as a share of the machine's record of it: of a time, the record over the figure, so that less is
/// always worse. `None` without a record.
fn of_record(
    figure: FigureName,
    candidate: &Candidate,
    finding: &Finding,
    (seen, machine): (&HashMap<&str, &Observation>, &Machine),
) -> Option<(Name, Candidate)> {
    let [step] = finding.evidence.as_slice() else { return None };
    let step = seen.get(step.as_str())?;
    let record = step.record.or_else(|| step.verdict.reasons.iter().find_map(Reason::record));
    let record: Number = Range::exactly(record.filter(|record| record.is_finite() && *record > 0.0)?).into();
    if finding.value != step.value {
        return None;
    }
    let share = |value: Number| {
        let is_time = figure.unit().less_is_better() == Some(true);
        let share = if is_time { record.over(value) } else { value.over(record) };
        share.ok_or_else(says::quotient_undefined)
    };
    let place = candidate.at.place.text().map_or_else(String::new, |place| format!(" ({place})"));
    let at = At::part(format!("{figure}{place}"), term(finding, figure, machine).and_then(share)).of_record(figure);
    Some((Name::System(SystemName::Record), Candidate { rank: candidate.rank, at }))
}

/// The nodes of the memory: those that held its pages, else the node of the step, else those of the cpus.
fn nodes(finding: &Finding, step: Option<&Observation>, from: &IdSet) -> IdSet {
    let proven = step.and_then(|step| step.placement.as_ref()).map(tiermark_model::PlacementProof::nodes);
    let planned = || finding.labels.node();
    let planned = || planned().map_or_else(|| from.clone(), |node| [node].into_iter().collect());
    proven.filter(|nodes| !nodes.is_empty()).unwrap_or_else(planned)
}

/// The number of a finding as far as it is known.
fn term(finding: &Finding, figure: FigureName, machine: &Machine) -> Result<Number, Note> {
    let reasons = || finding.verdict.reasons.iter().map(ToString::to_string).collect::<Vec<String>>();
    let value = finding.value.filter(|value| value.is_finite() && *value >= 0.0);
    // A figure below the record of its machine is as sharp as any other: it is worse than it was. But the last-level
    // cache and the memory of a guest are also those of other guests, and of the place that its host gives it: L3
    // writes of an unchanged guest took 121 and 103 GB/s.
    let is_sharp = || {
        let reasons = &finding.verdict.reasons;
        let is_own =
            machine.system.hypervisor.is_none() || figure.tier().is_some_and(|tier| CLOCKED.contains(&tier.tier));
        is_own && !reasons.is_empty() && reasons.iter().all(|reason| reason.code() == ReasonCode::BelowRecord)
    };
    match (finding.verdict.grade, value) {
        (Grade::Bound, Some(value)) if is_sharp() => Ok(Range::exactly(value).into()),
        (Grade::Invalid, _) | (_, None) => Err(says::figure_withheld(&figure.to_string(), &reasons())),
        (Grade::Suspect, Some(_)) => Err(says::figure_suspect(&figure.to_string(), &reasons())),
        (Grade::Bound, Some(value)) if figure.unit().less_is_better() == Some(true) => Ok(Range::at_most(value).into()),
        (Grade::Bound, Some(value)) => Ok(Range::at_least(value).into()),
        (Grade::Trusted, Some(value)) => Ok(Range::exactly(value).into()),
        (Grade::Shared, Some(value)) => {
            let is_sound = |of: &Interval| (0.0..=value).contains(&of.low) && of.high >= value && of.high.is_finite();
            let range = Range::exactly(value);
            let reach = finding.interval.filter(is_sound).map_or(range, |of| Range { low: of.low, high: of.high });
            Ok(Number { range, reach })
        }
    }
}

/// How bad a number is among those of its figure: a time, or a rate with its sign changed.
fn badness(figure: FigureName, value: Option<f64>) -> f64 {
    let value = value.unwrap_or_default();
    if figure.unit().less_is_better() == Some(true) { value } else { -value }
}

/// Cores used and there, where a rate of all cores is of fewer than its nodes have.
fn fewer_cores(labels: &Labels, place: &Place, cores: &Cores) -> Option<(u64, u64)> {
    let (used, cores) = (labels.threads()?, cores.count(place.from.as_ref()));
    (used < cores).then_some((used, cores))
}

/// Cpus and cores by node.
struct Cores {
    nodes: BTreeMap<u32, NodeId>,
    cores: BTreeMap<Option<NodeId>, u64>,
}

impl Cores {
    fn of(machine: &Machine) -> Self {
        let mut nodes: BTreeMap<u32, NodeId> = BTreeMap::new();
        let mut cores: BTreeMap<Option<NodeId>, BTreeSet<u32>> = BTreeMap::new();
        for cpu in &machine.cpus {
            cores.entry(cpu.node).or_default().insert(cpu.core);
            nodes.extend(cpu.node.map(|node| (cpu.id, node)));
        }
        Self { nodes, cores: cores.into_iter().map(|(node, cores)| (node, cores.len() as u64)).collect() }
    }

    /// The nodes of some cpus.
    fn nodes(&self, cpus: &IdSet) -> IdSet {
        // A list of a document may have more cpus than any machine.
        let known = cpus.iter().take(self.nodes.len().saturating_mul(2).max(1));
        known.filter_map(|cpu| self.nodes.get(&cpu)).copied().collect()
    }

    /// Cores of some nodes; of the whole machine without nodes.
    fn count(&self, nodes: Option<&IdSet>) -> u64 {
        let is_in = |node: &Option<NodeId>| match (nodes, node) {
            (Some(nodes), Some(node)) => nodes.contains(*node),
            _ => true,
        };
        self.cores.iter().filter(|(node, _)| is_in(node)).map(|(_, cores)| cores).sum()
    }
}
