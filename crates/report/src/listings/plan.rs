//! The view of `--dry-run`: the steps of a plan.

mod primitives;

use std::collections::BTreeMap;

use tiermark_model::{Before, Bytes, LabelSet, NodeId, Plan, Refusal, Request, Role, Step};
use tiermark_page::{Detail, Ink, Page, Table, heading, labelled, paragraph, seconds, space};

use crate::trouble;

/// Labels that name no step.
const UNNAMED: LabelSet = LabelSet::NONE.cpus().tier().total();
/// Labels that differ among the steps of a group.
const OF_POINTS: LabelSet = LabelSet::NONE.size().from().to().pause().resident().capacity().working_set().count();
/// Labels that differ among the cells of a matrix.
const OF_PAIRS: LabelSet = LabelSet::NONE.node().nodes().weights().purpose().span();
/// More steps than this are shown by group.
const STEPS_LISTED: usize = 40;

/// Renders plans: steps, cpus, memory by node, expected time, rules, and what is refused.
pub fn plan(plans: &[(Request, Plan)], detail: Detail) -> Page {
    let mut out = Page::new();
    for (request, plan) in plans {
        let title = format!(
            "Plan of {}: {} step{}, about {}, at most {}",
            request.probe,
            plan.steps.len(),
            if plan.steps.len() == 1 { "" } else { "s" },
            seconds(plan.expected_seconds()),
            seconds(plan.max_seconds + plan.counting_seconds)
        );
        out += heading(title);
        let cpus = plan.cpus().union(&primitives::cpus(&plan.steps));
        out += labelled("cpus", list_or_none(&cpus.to_string()));
        out += labelled("memory", memory(plan));
        out += labelled("seed", request.seed.to_string());
        out += short_of_time(plan);
        out += steps(&plan.steps, detail);
        out += later(plan);
        for (i, rule) in plan.rules.iter().enumerate() {
            out += labelled(if i == 0 { "rules" } else { "" }, &rule.text);
        }
        out += trouble("Refused", &plan.refused.iter().collect::<Vec<&Refusal>>(), detail);
        out += space();
    }
    let total: f64 = plans.iter().map(|(_, p)| p.expected_seconds()).sum();
    out += paragraph("", format!("Expected time in all: {}. Nothing was measured.", seconds(total)), Ink::Head);
    out
}

/// A note if the times of the steps add up to more than the time budget.
fn short_of_time(plan: &Plan) -> Page {
    let all: f64 = plan.steps.iter().map(Step::expected_seconds).sum();
    if all <= plan.max_seconds {
        return Page::new();
    }
    let text = format!(
        "the steps below take {} in all, the plan at most {}: the last steps are skipped; raise --max-time to \
            measure them",
        seconds(all),
        seconds(plan.max_seconds)
    );
    labelled("time", &text)
}

/// The steps that are not known yet.
fn later(plan: &Plan) -> Page {
    if plan.later_seconds <= 0.0 && plan.later.is_empty() {
        return Page::new();
    }
    let what: Vec<&str> = plan.later.iter().map(|note| note.text.as_str()).collect();
    let what = if what.is_empty() { String::new() } else { format!(": {}", what.join("; ")) };
    let time = match plan.later_expected_seconds() {
        seconds_left if seconds_left > 0.0 => format!("; about {}", seconds(seconds_left)),
        _ => "; the time suffices for few of them".to_owned(),
    };
    labelled("later", format!("further steps follow from these results{what}{time}"))
}

fn list_or_none(list: &str) -> String {
    if list.is_empty() { "none".to_owned() } else { list.to_owned() }
}

/// The most any step holds, and by node where the plan says which.
fn memory(plan: &Plan) -> String {
    let mut most: BTreeMap<NodeId, u64> = BTreeMap::new();
    for step in &plan.steps {
        for (node, bytes) in by_node(step) {
            let known = most.entry(node).or_default();
            *known = bytes.max(*known);
        }
    }
    let nodes: Vec<String> = most.iter().map(|(node, bytes)| format!("node {node} {}", Bytes(*bytes))).collect();
    let peak = format!("at most {} at once", plan.peak_bytes());
    if nodes.is_empty() {
        format!("{peak}, on the node of each thread")
    } else {
        format!("{peak}: {}", nodes.join(", "))
    }
}

/// Bytes a step puts on each node it names, in the shares of its policy; evenly where those are the system's.
fn by_node(step: &Step) -> BTreeMap<NodeId, u64> {
    let mut map: BTreeMap<NodeId, u64> = BTreeMap::new();
    for region in &step.setup.regions {
        let mut shares = region.policy.shares(region.nodes.len());
        if shares.is_empty() {
            shares = vec![1; region.nodes.len()];
        }
        let round = shares.iter().map(|share| u64::from(*share)).sum::<u64>().max(1);
        for (node, share) in region.nodes.iter().zip(shares) {
            let known = map.entry(node).or_default();
            *known = known.saturating_add(region.bytes.0 / round * u64::from(share));
        }
    }
    map
}

fn steps(steps: &[Step], detail: Detail) -> Page {
    let grouped = steps.len() > STEPS_LISTED && !detail.is_all();
    if let Some(table) = primitives::table(steps, !grouped) {
        return table.into();
    }
    let mut groups: Vec<(String, Vec<&Step>)> = Vec::new();
    for step in steps {
        // A matrix is shown by operation, not pair by pair.
        let is_pair = grouped && step.labels.from().is_some();
        let name = step.labels.words(UNNAMED.and_if(grouped, OF_POINTS).and_if(is_pair, OF_PAIRS));
        let name = if name.is_empty() { step.id.clone() } else { name };
        match groups.iter_mut().find(|(known, _)| *known == name && grouped) {
            Some((_, group)) => group.push(step),
            None => groups.push((name, vec![step])),
        }
    }
    if groups.is_empty() {
        return Page::new();
    }
    let name = |name: &str, count: usize| if grouped { format!("{count} × {name}") } else { name.to_owned() };
    let bytes = |group: &[&Step]| group.iter().map(|step| step.held_bytes()).collect::<Vec<_>>();
    let threads = |group: &[&Step]| group.iter().map(|step| step.setup.threads.len()).collect::<Vec<_>>();
    let table = Table::of(&groups).texts("steps", |(of, group)| name(of, group.len()));
    let table = table.numbers("memory", |(_, group)| ends(bytes(group)));
    let table = table.numbers("threads", |(_, group)| ends(threads(group)));
    let table = table.texts("work", |(_, group)| work(group));
    table.numbers("time", |(_, group)| seconds(group.iter().map(|s| s.expected_seconds()).sum())).table().into()
}

fn ends<T: Ord + Clone + std::fmt::Display>(all: Vec<T>) -> String {
    range(all.iter().min().cloned(), all.into_iter().max())
}

fn range<T: PartialEq + std::fmt::Display>(low: Option<T>, high: Option<T>) -> String {
    match (low, high) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        _ => String::new(),
    }
}

/// The roles of the steps' threads, each kind once.
fn work(steps: &[&Step]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    let threads = steps.iter().flat_map(|step| step.setup.threads.iter().map(|thread| (*step, thread)));
    for (step, thread) in threads {
        let kind = match &thread.role {
            Role::Stream { kernel, rivals } if rivals.is_empty() => kernel.to_string(),
            // Kernels are compared for figures.
            Role::Stream { kernel, .. } if step.labels.is_point() => {
                format!("{kernel} or the kernel of its figure")
            }
            Role::Stream { kernel, rivals } => format!("best of {kernel} and {} more", rivals.len()),
            Role::Ping { op } => format!("ping, {op}"),
            Role::Echo { .. } | Role::Keep { .. } => continue,
            Role::Contend => "additions to one word".to_owned(),
            Role::Os(call) => call.primitive.to_string(),
            Role::Take => "fetching lines".to_owned(),
            Role::Chase { chains: 1 } => "chase".to_owned(),
            Role::Chase { chains } => format!("chase, {chains} chains"),
            Role::Revisit { before: Before::Flushed, .. } => "chase of the flushed range".to_owned(),
            Role::Revisit { since_last: true, .. } => "chase of the range that the visit before touched".to_owned(),
            // How it was used is a label.
            Role::Revisit { .. } => "chase of the range".to_owned(),
            Role::Soak(_) => "patterns, written and compared".to_owned(),
            Role::Load { kernels, .. } => {
                format!("load: {}", kernels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            }
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}
