//! From the event sources of a machine to the events that the kernel opens.

use tiermark_machine::EventSource;
use tiermark_model::{BoxKind, BoxPlace, Machine, Node, NodeId};

use crate::backend::{OPEN_FLAGS, PerfEvent, READ_FORMAT};
use crate::family::{Count, Family, Of, Unit};
use crate::finding::Finding;
use crate::format::{FormatError, Words, encode, terms};

/// An event to be opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// What the kernel gets.
    pub event: PerfEvent,
    /// Whose traffic it counts.
    pub place: BoxPlace,
    /// What it counts.
    pub of: Of,
    /// Bytes, or transfers, of one count.
    pub each: f64,
    /// Bits of the counter.
    pub bits: u32,
    /// Whether other events count the same traffic, and this one only serves where none of them can be opened.
    pub fallback: bool,
}

impl Wanted {
    /// Whether it counts the traffic of memory.
    pub fn is_memory(&self) -> bool {
        self.place.kind != BoxKind::Link
    }
}

/// The events of a machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// What is to be opened. Events of one box stand together.
    pub wanted: Vec<Wanted>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Selects the events of a family on a machine.
pub fn select(family: &Family, sources: &[EventSource], machine: &Machine) -> Selection {
    let mut selection = Selection::default();
    for unit in &family.unit {
        let takes =
            |source: &EventSource| unit.format.iter().all(|(name, text)| source.formats.get(name) == Some(text));
        let boxes = sources.iter().filter(|own| unit.is_named(&own.name, own.alias.as_deref()) && takes(own));
        for source in boxes {
            of_source(&mut selection, unit, source, machine);
        }
    }
    selection
}

/// Adds the events of one event source, on each cpu that it is opened on.
fn of_source(selection: &mut Selection, unit: &Unit, source: &EventSource, machine: &Machine) {
    let Some(kind) = source.kind else { return };
    for cpu in source.cpus.iter().flat_map(tiermark_model::IdSet::iter) {
        let Some(on) = machine.cpus.iter().find(|online| online.id == cpu) else {
            selection.findings.push(Finding::CpuOffline { pmu: source.name.clone(), cpu });
            continue;
        };
        for copy in 0..unit.copies {
            let name = if unit.copies > 1 { format!("{} {copy}", source.name) } else { source.name.clone() };
            // HBM beside DDR may be a node of its own, without cpus.
            let has_own_node = source.name.contains("hbm") && machine.nodes.iter().any(Node::is_memory_only);
            let node = match unit.own_node {
                true => on.node,
                false => only_node(machine, on.socket).filter(|_| !has_own_node),
            };
            let place = BoxPlace { socket: Some(on.socket), node, kind: unit.is, unit: name };
            for count in &unit.count {
                match words(source, count, copy * unit.step) {
                    Ok(words) => {
                        let event = PerfEvent { kind, words, cpu, read_format: READ_FORMAT, flags: OPEN_FLAGS };
                        // The names of all boxes are alike, and so is what is wrong with them.
                        let first = copy == 0 && selection.findings.iter().all(|f| !f.is_about_alias(count));
                        if let Some(finding) = compare_with_alias(source, count, &words).filter(|_| first) {
                            selection.findings.push(finding);
                        }
                        selection.wanted.push(Wanted {
                            event,
                            place: place.clone(),
                            of: count.of,
                            each: count.each(),
                            bits: unit.bits,
                            fallback: unit.fallback,
                        });
                    }
                    Err(error) => {
                        let finding = Finding::FormatLacks { pmu: source.name.clone(), error };
                        if !selection.findings.contains(&finding) {
                            selection.findings.push(finding);
                        }
                    }
                }
            }
        }
    }
}

/// The node of a socket's memory; `None` if the socket has several nodes with cpus.
pub(crate) fn only_node(machine: &Machine, socket: u32) -> Option<NodeId> {
    let mut nodes = machine.cpus.iter().filter(|cpu| cpu.socket == socket).map(|cpu| cpu.node);
    let first = nodes.next()?;
    nodes.all(|node| node == first).then_some(first).flatten()
}

/// The words of an event whose number is raised by an offset.
fn words(source: &EventSource, count: &Count, offset: u64) -> Result<Words, FormatError> {
    let raised = |name: &str, value: u64| if name == "event" { value.saturating_add(offset) } else { value };
    encode(source, count.event.iter().map(|(name, value)| (name.as_str(), raised(name, *value))))
}

/// How the event that the kernel names in sysfs differs from ours; `None` if it is the same, or sysfs names no event.
fn compare_with_alias(pmu: &EventSource, count: &Count, words: &Words) -> Option<Finding> {
    let has = |name: &&String| pmu.events.contains_key(name.as_str());
    if let Some(partial) = count.partial_alias.as_ref().filter(has)
        && count.alias.as_ref().filter(has).is_none()
    {
        return Some(Finding::PartialAlias { pmu: pmu.name.clone(), alias: partial.clone() });
    }
    let alias = count.alias.as_ref()?;
    let named = terms(pmu.events.get(alias)?).ok()?;
    let named = encode(pmu, named.iter().map(|(name, value)| (name.as_str(), *value))).ok()?;
    (named != *words).then(|| Finding::AliasDiffers { pmu: pmu.name.clone(), alias: alias.clone() })
}
