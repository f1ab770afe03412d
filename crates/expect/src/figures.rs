//! The measured figures of a run that have a name.

use std::collections::{BTreeMap, HashMap};

use tiermark_model::messages::check as says;
use tiermark_model::{
    Experiment, Finding, Grade, IdSet, Labels, Machine, NodeId, Note, Observation, Purpose, Quantity, Reason,
    ReasonCode, Run, Unit,
};

use crate::cores::Cores;
use crate::location::Place;
use crate::names::{CLOCKED, DRAM, Distance, LATENCY, LoadedPoint, Name, OPERATIONS, Span, TIERS, TierName};
use crate::range::Range;
use crate::system_name::SystemName;
use crate::term::{At, Value};

/// Places of one name at most: 64 nodes with memory of 64 nodes. Documents may come from anywhere.
const MOST_PLACES: usize = 4096;
/// Labels of figures that are of something else than plain accesses of a tier.
const NOT_PLAIN: [&str; 8] = [
    Labels::POLICY,
    Labels::MIX,
    Labels::BESIDE,
    Labels::BUFFER,
    Labels::DATA,
    Labels::STATISTIC,
    Labels::PART,
    Labels::AGAINST,
];

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
            let Some((name, candidate)) = candidate(finding, &seen, experiment, (&run.machine, &cores)) else {
                continue;
            };
            let others = [per_cycle, of_record].map(|other| other(&name, &candidate, finding, (&seen, &run.machine)));
            for (name, candidate) in others.into_iter().flatten() {
                candidate.take_place(best.entry(name).or_default());
            }
            candidate.take_place(best.entry(name).or_default());
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
) -> Option<(Name, Candidate)> {
    let labels = &finding.labels;
    let step = finding.evidence.first().and_then(|id| seen.get(id.as_str())).copied();
    let cpus = labels.get(Labels::CPUS).and_then(|cpus| IdSet::from_plain_list(cpus).ok());
    let cpus = cpus.or_else(|| experiment.request.scope.cpus.clone()).unwrap_or_default();
    let from = cores.nodes(&cpus);
    let name = name(finding, &from, machine)?;
    let is_memory = !matches!(&name, Name::Tier(tier) if tier.tier != DRAM);
    let nodes = is_memory.then(|| nodes(finding, step, &from));
    let some = |nodes: IdSet| (!nodes.is_empty()).then_some(nodes);
    let is_of_all = matches!(&name, Name::Tier(TierName { span: Some(Span::All), .. }));
    let place = Place { from: some(from), nodes: nodes.and_then(some), is_of_all, ..Place::default() };
    let mut at = At::new(place, term(finding, &name, machine));
    if let (Ok(Value::Number(range)), Some((used, cores))) = (&at.term, fewer_cores(&name, labels, &at.place, cores)) {
        at.term = Ok(Value::Number(Range::at_least(range.low)));
        at = at.with_remark(says::fewer_cores(&name.text(), used, cores));
    }
    let faster = finding.value.map_or(0.0, |value| if finding.unit == Unit::Ns { value } else { -value });
    let rank = (labels.is(Labels::PAGE, "base"), finding.verdict.grade, faster);
    Some((name, Candidate { rank, at }))
}

/// The same figure in cycles of the core; `None` of what the core does not clock.
fn per_cycle(
    name: &Name,
    candidate: &Candidate,
    finding: &Finding,
    (seen, machine): (&HashMap<&str, &Observation>, &Machine),
) -> Option<(Name, Candidate)> {
    let Name::Tier(tier) = name else { return None };
    let [step] = finding.evidence.as_slice() else { return None };
    let step = seen.get(step.as_str())?;
    let value = step.per_cycle?.value;
    let is_its_value = finding.value.is_some() && finding.value == step.value && value.is_finite() && value >= 0.0;
    if !CLOCKED.contains(&tier.tier.as_str()) || !is_its_value {
        return None;
    }
    let name = Name::PerCycle(tier.clone());
    // Bytes a cycle are those of each core, however many there are.
    let term = term(&Finding { value: Some(value), ..finding.clone() }, &name, machine);
    let (base, grade, _) = candidate.rank;
    let rank = (base, grade, if finding.unit == Unit::Ns { value } else { -value });
    Some((name, Candidate { rank, at: At::new(candidate.at.place.clone(), term) }))
}

/// The same figure as a share of the machine's record of it: of a time, the record over the figure, so that less is
/// always worse. `None` without a record.
fn of_record(
    name: &Name,
    candidate: &Candidate,
    finding: &Finding,
    (seen, machine): (&HashMap<&str, &Observation>, &Machine),
) -> Option<(Name, Candidate)> {
    let [step] = finding.evidence.as_slice() else { return None };
    let step = seen.get(step.as_str())?;
    let record = step.record.or_else(|| step.verdict.reasons.iter().find_map(Reason::record));
    let record = Range::exactly(record.filter(|record| record.is_finite() && *record > 0.0)?);
    if finding.value != step.value {
        return None;
    }
    let share = |value: Range| {
        let share = if finding.unit == Unit::Ns { record.over(value) } else { value.over(record) };
        share.ok_or_else(says::quotient_undefined)
    };
    let place = candidate.at.place.text().map_or_else(String::new, |place| format!(" ({place})"));
    let at = At::part(format!("{}{place}", name.text()), term(finding, name, machine).and_then(share));
    Some((Name::System(SystemName::Record), Candidate { rank: candidate.rank, at }))
}

/// The name of a finding in expectations; `None` if expectations cannot name it.
fn name(finding: &Finding, from: &IdSet, machine: &Machine) -> Option<Name> {
    let labels = &finding.labels;
    let loaded = match finding.metric {
        Quantity::LoadedUnloaded => Some(LoadedPoint::Unloaded),
        Quantity::LoadedSaturated => Some(LoadedPoint::Saturated),
        Quantity::LoadedKnee => Some(LoadedPoint::Knee),
        Quantity::LoadedMost => Some(LoadedPoint::Most),
        Quantity::Latency | Quantity::Bandwidth => None,
        _ => return None,
    };
    if let Some(point) = loaded {
        let distance = match labels.get(Labels::PLACE)? {
            "local" => Distance::Local,
            "remote" => Distance::Remote,
            "far" => Distance::Far,
            _ => return None,
        };
        return labels.is(Labels::MIX, "read").then_some(Name::Loaded(point, distance));
    }
    let is_plain = NOT_PLAIN.iter().all(|key| !labels.0.contains_key(*key))
        && labels.has_usual_layout()
        && labels.number(Labels::CHAINS).is_none_or(|chains| chains == 1);
    let (tier, distance) = tier(labels, from, machine).filter(|_| is_plain)?;
    let is_latency = finding.metric == Quantity::Latency;
    let op = if is_latency { LATENCY } else { labels.get(Labels::OP).filter(|op| OPERATIONS.contains(op))? }.to_owned();
    let span = match labels.get(Labels::SPAN) {
        _ if is_latency => None,
        Some("one") => Some(Span::One),
        Some("all" | "cores") => Some(Span::All),
        _ => return None,
    };
    Some(Name::Tier(TierName { op, tier, distance, span }))
}

/// The tier of a figure of a ladder, or of a cell of a matrix.
fn tier(labels: &Labels, from: &IdSet, machine: &Machine) -> Option<(String, Distance)> {
    if labels.is_for(Purpose::Matrix) {
        let node = machine.node(NodeId::try_from(labels.number(Labels::NODE)?).ok()?)?;
        let distance = match () {
            () if node.is_memory_only() => Distance::Far,
            () if from.contains(node.id) => Distance::Local,
            () => Distance::Remote,
        };
        return Some((DRAM.to_owned(), distance));
    }
    let tier = labels.get(Labels::TIER).filter(|_| labels.is_for(Purpose::Ladder))?;
    Some(match tier {
        _ if tier.starts_with("DRAM node ") => (DRAM.to_owned(), Distance::Remote),
        _ if Labels::is_without_cpus(tier) => (DRAM.to_owned(), Distance::Far),
        // Tiers in base pages and caches in front of memory have no name here.
        _ => (TIERS.iter().find(|name| name.eq_ignore_ascii_case(tier))?.to_string(), Distance::Local),
    })
}

/// The nodes of the memory: those that held its pages, else the node of the step, else those of the cpus.
fn nodes(finding: &Finding, step: Option<&Observation>, from: &IdSet) -> IdSet {
    let proven = step.and_then(|step| step.placement.as_ref()).map(tiermark_model::PlacementProof::nodes);
    let planned = || finding.labels.number(Labels::NODE).and_then(|node| NodeId::try_from(node).ok());
    let planned = || planned().map_or_else(|| from.clone(), |node| [node].into_iter().collect());
    proven.filter(|nodes| !nodes.is_empty()).unwrap_or_else(planned)
}

/// The number of a finding as far as it is known.
fn term(finding: &Finding, name: &Name, machine: &Machine) -> Result<Range, Note> {
    let reasons = || finding.verdict.reasons.iter().map(ToString::to_string).collect::<Vec<String>>();
    let value = finding.value.filter(|value| value.is_finite() && *value >= 0.0);
    // A figure below the record of its machine is as sharp as any other: it is worse than it was. But the last-level
    // cache and the memory of a guest are also those of other guests, and of the place that its host gives it: L3
    // writes of an unchanged guest took 121 and 103 GB/s.
    let is_sharp = || {
        let reasons = &finding.verdict.reasons;
        let is_own = machine.system.hypervisor.is_none()
            || matches!(name, Name::Tier(tier) | Name::PerCycle(tier) if CLOCKED.contains(&tier.tier.as_str()));
        is_own && !reasons.is_empty() && reasons.iter().all(|reason| reason.code() == ReasonCode::BelowRecord)
    };
    match (finding.verdict.grade, value) {
        (Grade::Bound, Some(value)) if is_sharp() => Ok(Range::exactly(value)),
        (Grade::Invalid, _) | (_, None) => Err(says::figure_withheld(&name.text(), &reasons())),
        (Grade::Suspect, Some(_)) => Err(says::figure_suspect(&name.text(), &reasons())),
        (Grade::Bound, Some(value)) if finding.unit == Unit::Ns => Ok(Range::at_most(value)),
        (Grade::Bound, Some(value)) => Ok(Range::at_least(value)),
        (Grade::Trusted, Some(value)) => Ok(Range::exactly(value)),
    }
}

/// Cores used and there, where a rate of all cores is of fewer than its nodes have.
fn fewer_cores(name: &Name, labels: &Labels, place: &Place, cores: &Cores) -> Option<(u64, u64)> {
    let Name::Tier(TierName { span: Some(Span::All), .. }) = name else { return None };
    let (used, cores) = (labels.number(Labels::THREADS)?, cores.count(place.from.as_ref()));
    (used < cores).then_some((used, cores))
}
