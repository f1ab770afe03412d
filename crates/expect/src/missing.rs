//! Why a run does not have a figure: it cannot be measured here, it was refused, or no command measured it.

use tiermark_model::messages::check as says;
use tiermark_model::{
    Distance, FigureName, IdSet, LATENCY, Machine, Note, Refusal, Run, Span, Tier, TierName, tier_word,
};

use crate::names::Name;
use crate::system_name::SystemName;

/// The reason for a figure that a run does not have.
pub(crate) fn why(name: &Name, run: &Run) -> Note {
    let Name::Figure(figure) = name else { return not_known(name) };
    let text = figure.to_string();
    let refused = || refusal(*figure, run).map(|refusal| says::figure_refused(&text, &refusal.why, &refusal.cure));
    out_of_reach(*figure, &run.machine).or_else(refused).unwrap_or_else(|| not_measured(*figure))
}

/// Why no command of this process measures a figure; `None` if one does.
fn out_of_reach(figure: FigureName, machine: &Machine) -> Option<Note> {
    let (distance, text) = (figure.distance(), figure.to_string());
    let with_cpus = machine.nodes.iter().filter(|node| !node.is_memory_only()).count();
    let is_there = match distance {
        Distance::Remote => with_cpus > 1,
        Distance::Far => with_cpus < machine.nodes.len(),
        _ => true,
    };
    if !is_there {
        return Some(says::no_such_memory(&text, machine.nodes.len()));
    }
    let is_memory = figure.tier().is_some_and(TierName::is_memory);
    if let Some((memory, homes)) = only_remote(machine).filter(|_| distance == Distance::Local && is_memory) {
        return Some(says::no_own_memory(&text, &memory, &homes));
    }
    let is_of_all = figure.tier().is_some_and(|tier| tier.span == Some(Span::All));
    if is_of_all && machine.one_per_core(&machine.allowed_cpus).len() == 1 {
        return Some(says::second_core_lacking(&text, &machine.allowed_cpus));
    }
    let memory = machine.memory_nodes();
    let is_forbidden = !memory.is_empty() && !has_memory_at(distance, &memory, machine);
    let set_by = machine.system.cgroup.as_ref().and_then(|group| group.files.nodes.as_deref());
    is_forbidden.then(|| says::other_memory_forbidden(&text, &memory, set_by))
}

/// The nodes of all memory that may be used and those of all cpus, where no cpu has memory of its own node.
fn only_remote(machine: &Machine) -> Option<(IdSet, IdSet)> {
    let (away, memory) = (machine.cpus_without_own_memory(), machine.memory_nodes());
    let homes = away.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
    (!away.is_empty() && away == machine.allowed_cpus && !memory.is_empty()).then_some((memory, homes))
}

/// Whether a cpu that may be used has memory at this distance, among the nodes that may be used.
fn has_memory_at(distance: Distance, memory: &IdSet, machine: &Machine) -> bool {
    let homes: IdSet = machine.allowed_cpus.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
    let mut usable = machine.nodes.iter().filter(|node| memory.contains(node.id));
    match distance {
        Distance::Remote => usable.any(|node| !node.is_memory_only() && homes.iter().any(|home| home != node.id)),
        Distance::Far => usable.any(|node| node.is_memory_only()),
        _ => true,
    }
}

/// The refusal of a tier by a plan of the run, for as many threads as the figure is of.
fn refusal(figure: FigureName, run: &Run) -> Option<&Refusal> {
    let tier = figure.tier()?;
    let is_its = |refusal: &&Refusal| {
        let is_of_one = refusal.data.get("threads").and_then(|threads| threads.as_u64()).is_none_or(|n| n == 1);
        refusal.text("tier").is_some_and(|refused| is_tier(tier, refused))
            && (is_of_one || tier.span == Some(Span::All))
    };
    // Of all cores, the refusal of several threads says more than that of one.
    let mut its: Vec<&Refusal> = run.experiments.iter().flat_map(|one| &one.plan.refused).filter(is_its).collect();
    if tier.span == Some(Span::All) { its.pop() } else { its.into_iter().next() }
}

/// Whether the label of a tier is that of a name.
fn is_tier(name: TierName, label: &str) -> bool {
    match name.distance {
        Distance::Remote => matches!(label.parse(), Ok(Tier::OtherNode(_))),
        Distance::Far => label.parse().is_ok_and(Tier::is_without_cpus),
        _ => label.parse().is_ok_and(|tier| tier_word(tier) == Some(name.tier)),
    }
}

/// The command that measures a figure.
fn not_measured(figure: FigureName) -> Note {
    let command = match figure.tier() {
        None => "loaded-latency".to_owned(),
        Some(tier) if ![LATENCY, "read", "write", "copy"].contains(&tier.op) => format!("bandwidth --op {}", tier.op),
        Some(tier) => if tier.distance == Distance::Local { "survey" } else { "matrix" }.to_owned(),
    };
    says::figure_not_measured(&figure.to_string(), &command)
}

/// Why a run does not have a fact of the system.
fn not_known(name: &Name) -> Note {
    let command = match name {
        Name::System(SystemName::Clock) => return says::clock_unknown(),
        Name::System(SystemName::Interruptions(_)) => return says::interruptions_unknown(),
        Name::System(SystemName::Backing) => return says::backing_unknown(),
        Name::System(SystemName::Record) => return says::record_unknown(),
        Name::System(SystemName::Size(_)) => "survey",
        Name::System(SystemName::Soak(_)) => "soak",
        _ => "machine",
    };
    says::figure_not_measured(&name.text(), command)
}
