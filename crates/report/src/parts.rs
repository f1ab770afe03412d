//! The parts of a run: each experiment of a plan is shown by itself, in the plan's order, so that two of one probe
//! never share a table.

use std::collections::BTreeSet;

use tiermark_model::{Experiment, IdSet, Machine, PlanPage, Quantity, Request, Run};
use tiermark_page::{Detail, Ink, Page, paragraph, rule, space};

/// Experiments that are shown together.
pub(crate) struct RunSection<'a> {
    /// The command of the request.
    title: String,
    /// Its purpose, in words.
    note: Option<&'a str>,
    pub(crate) experiments: Vec<&'a Experiment>,
}

/// The parts of a run, in the order of its experiments. A command by itself is one part, whatever number of probes it
/// has.
pub(crate) fn parts(run: &Run) -> Vec<RunSection<'_>> {
    let probes: BTreeSet<&str> = run.experiments.iter().map(|e| e.request.probe.as_str()).collect();
    let composed = run.plan.is_some() || run.experiments.iter().any(|e| e.request.part.is_some());
    // Runs of versions that did not record the plan: one command never has two requests to one probe.
    if !composed && probes.len() == run.experiments.len() {
        return vec![RunSection {
            title: run.title.clone(),
            note: None,
            experiments: run.experiments.iter().collect(),
        }];
    }
    let mut parts: Vec<RunSection<'_>> = Vec::new();
    for experiment in &run.experiments {
        let part = experiment.request.part.as_ref();
        let note = part.and_then(|p| p.note.as_deref());
        let title = part.map_or_else(|| asked(&experiment.request), |p| p.command.clone());
        match parts.last_mut() {
            Some(last) if note.is_none() && last.note.is_none() && one_ladder(&last.experiments, experiment) => {
                last.title = format!("{} and {title}", last.title);
                last.experiments.push(experiment);
            }
            _ => parts.push(RunSection { title, note, experiments: vec![experiment] }),
        }
    }
    parts
}

/// A request as a command, if the run did not record it.
fn asked(request: &Request) -> String {
    let scope = &request.scope;
    let words = [
        Some(request.probe.clone()),
        scope.cpus.as_ref().map(|cpus| format!("--cpus {cpus}")),
        scope.mem_node.map(|node| format!("--mem-node {node}")),
        scope.page.as_ref().map(|page| format!("--pages {page}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Whether an experiment adds the columns that the ladder of the one before it lacks: latency and bandwidth of the same
/// tiers at the same place.
fn one_ladder(before: &[&Experiment], next: &Experiment) -> bool {
    let [first] = before else { return false };
    let mut probes = [first.request.probe.as_str(), next.request.probe.as_str()];
    probes.sort_unstable();
    let place = |e: &Experiment| {
        let scope = &e.request.scope;
        (scope.cpus.clone(), scope.mem_node, scope.page)
    };
    let tiers = |e: &Experiment| {
        let numbers = e.findings.iter().filter(|f| matches!(f.quantity, Quantity::Latency | Quantity::Bandwidth));
        let mut has_tier = numbers.map(|f| f.labels.tier_name().is_some()).peekable();
        has_tier.peek().is_some() && has_tier.all(|has_tier| has_tier)
    };
    probes == ["bandwidth", "latency"] && place(first) == place(next) && tiers(first) && tiers(next)
}

impl RunSection<'_> {
    /// Where it was measured, in words: `cpus of node 0, memory of node 1`; empty if the request names neither.
    pub(crate) fn place(&self, machine: &Machine) -> String {
        let Some(scope) = self.experiments.first().map(|experiment| &experiment.request.scope) else {
            return String::new();
        };
        let nodes = |cpus: &IdSet| -> IdSet { cpus.iter().filter_map(|cpu| machine.node_of(cpu)).collect() };
        let from = scope.cpus.as_ref().map(nodes).filter(|nodes| !nodes.is_empty());
        let from = from.map(|nodes| format!("cpus of node{} {nodes}", if nodes.len() == 1 { "" } else { "s" }));
        let memory = scope.mem_node.map(|node| format!("memory of node {node}"));
        let pages = scope.page.map(|page| format!("pages {page}"));
        [from, memory, pages].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// A rule across the page, the part's place among all, and what it is there for. An only part has the head of the
    /// run for its own.
    pub(crate) fn head(&self, at: usize, of: usize) -> Page {
        let note = self.note.map_or_else(Page::new, |note| paragraph("", note, Ink::Plain));
        if of < 2 {
            return if note.is_empty() { note } else { space() + note };
        }
        let title = paragraph(&format!("{at} of {of}: "), &self.title, Ink::Head);
        space() + rule() + title + note
    }
}

/// The cpus of some experiments, where they are of one core of a machine that has more.
pub(crate) fn only_core(run: &Run, experiments: &[&Experiment]) -> Option<String> {
    let cpus = experiments.iter().fold(IdSet::new(), |all, e| all.union(&e.plan.cpus()));
    let cores = |within: &dyn Fn(u32) -> bool| {
        let within = run.machine.cpus.iter().filter(|cpu| within(cpu.id));
        within.map(|cpu| (cpu.socket, cpu.core)).collect::<BTreeSet<_>>().len()
    };
    (cores(&|cpu| cpus.contains(cpu)) == 1 && cores(&|_| true) > 1).then(|| cpus.to_string())
}

/// Title and text of a plan above its parts: what to look for where no answer says what was found, the whole text in
/// detail.
pub(crate) fn page(plan: &PlanPage, is_open: bool, detail: Detail) -> Page {
    let mut out = space() + paragraph("", &plan.title, Ink::Head);
    let paragraphs = plan.about.split("\n\n").map(str::trim).filter(|p| !p.is_empty());
    for text in paragraphs.filter(|p| detail.is_all() || (is_open && p.starts_with("Look for"))) {
        out += paragraph("  ", text, Ink::Plain);
    }
    out
}
