//! Steps of operating-system primitives: how many points each has, over which bytes, and which threads take part on
//! which cpus.

use tiermark_model::{Bytes, CpuId, IdSet, LabelSet, OsCall, OsGroup, Relation, Role, Step};
use tiermark_page::{Table, seconds};

use super::{ends, range};

/// Labels that have columns of their own.
const COLUMNS: LabelSet = LabelSet::NONE.cpus().to().relation().size().resident().working_set().threads();

/// The cpus of those that take part beside the threads of the plan.
pub(super) fn cpus(steps: &[Step]) -> IdSet {
    steps.iter().filter_map(call).flat_map(|call| &call.others).copied().collect()
}

/// The call of the operating system that a step makes.
fn call(step: &Step) -> Option<&OsCall> {
    step.setup.threads.iter().find_map(|thread| match &thread.role {
        Role::Os(call) => Some(call),
        _ => None,
    })
}

/// The table of such steps: a row for each primitive, or for each step; `None` where some steps are of another kind.
pub(super) fn table(steps: &[Step], each: bool) -> Option<Table> {
    if steps.is_empty() || !steps.iter().all(|step| call(step).is_some()) {
        return None;
    }
    let mut groups: Vec<(String, Vec<&Step>)> = Vec::new();
    for step in steps {
        let name = if each { step.labels.words(COLUMNS) } else { step.labels.op().unwrap_or(&step.id).to_owned() };
        match groups.iter_mut().find(|(known, _)| !each && *known == name) {
            Some((_, group)) => group.push(step),
            None => groups.push((name, vec![step])),
        }
    }
    let name = |name: &str, count: usize| if each { name.to_owned() } else { format!("{count} × {name}") };
    let sizes = |group: &[&Step]| ends(group.iter().filter_map(|step| bytes(step)).map(Bytes).collect());
    let table = Table::of(&groups).texts("steps", |(of, group)| name(of, group.len()));
    let table = table.numbers("bytes", |(_, group)| sizes(group));
    let table = table.texts("takes part", |(_, group)| partners(group, each));
    Some(table.numbers("time", |(_, group)| seconds(group.iter().map(|s| s.expected_seconds()).sum())).table())
}

/// The bytes that a point is about: of a block, held by the process, or worked on between two switches.
fn bytes(step: &Step) -> Option<u64> {
    step.labels.bytes().or(step.labels.resident()).or(step.labels.working_set())
}

/// The threads that take part beside the caller, and their cpus.
fn partners(steps: &[&Step], each: bool) -> String {
    let mut kind = None;
    let mut places: Vec<String> = Vec::new();
    let mut threads: Vec<u64> = Vec::new();
    let mut cpus: Vec<CpuId> = Vec::new();
    for step in steps {
        let others = call(step).map(|call| call.others.as_slice()).unwrap_or_default();
        if let Some(count) = step.labels.threads() {
            threads.push(count);
        } else if !others.is_empty() {
            kind = Some(kind_of(step));
            cpus.extend(others.iter().filter(|cpu| !cpus.contains(cpu)).collect::<Vec<_>>());
            let place = step.labels.relation().unwrap_or_default().to_owned();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let near = |place: &String| Relation::ALL.iter().position(|relation| relation.to_string() == *place);
    places.sort_by_key(near);
    match (kind, threads.iter().min(), threads.iter().max()) {
        (Some(kind), ..) if each => {
            let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            format!("{kind} on cpu {}: {}", cpus.join(", "), places.join(", "))
        }
        (Some(kind), ..) => format!("{kind}: {}", places.join(", ")),
        (None, Some(least), Some(most)) if *most > 0 => {
            let counts = range(Some(*least), Some(*most));
            format!("{counts} other thread{}", if *most == 1 { "" } else { "s" })
        }
        _ => String::new(),
    }
}

/// What the other side of a step is.
fn kind_of(step: &Step) -> &'static str {
    let group = |group: OsGroup| step.labels.group() == Some(group.name());
    let thread = step.labels.op().is_some_and(|op| op.starts_with("thread"));
    match () {
        () if group(OsGroup::Channels) => "child",
        () if group(OsGroup::Faults) || thread => "thread",
        () if group(OsGroup::Switches) => "child",
        () => "other side",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::{Layout, Metric, PageKind, Setup, StopRule, ThreadSetup, testing};
    use tiermark_page::{Style, terminal};

    fn step(op: &str, group: OsGroup, place: &str, cpu: CpuId, size: u64) -> Step {
        let mut call = OsCall::new(op.into());
        (call.bytes, call.others) = (Some(size), vec![cpu]);
        let labels = Labels::new().with_op(op).with_group(group).with_size(size);
        let region = testing::region(4096, PageKind::Base, Layout::Data);
        let stop = StopRule { precision: 0.05, allocations: 6, min_visits: 5, max_visits: 6, shot_seconds: 0.012 };
        let labels = labels.with_relation(place).with_to(cpu);
        let setup = Setup { regions: vec![region], threads: vec![ThreadSetup::new(0, Role::Os(call), 0)], seed: 0 };
        Step { labels, setup, stop, ..testing::step(op, Metric::Bandwidth) }
    }

    #[test]
    fn a_pipe_is_told_with_its_blocks_its_child_and_its_places() {
        let pipe = |place, cpu, size| step("pipe", OsGroup::Channels, place, cpu, size);
        let switch = |place, cpu| step("thread switch pipe", OsGroup::Switches, place, cpu, 0);
        let steps = [pipe("remote", 4, 4096), pipe("LLC", 2, 128 << 20), pipe("same cpu", 0, 4096), switch("SMT", 1)];
        let style = Style::default();
        insta::assert_snapshot!("grouped", terminal(&table(&steps, false).unwrap().into(), &style));
        insta::assert_snapshot!("each", terminal(&table(&steps, true).unwrap().into(), &style));
    }
}
