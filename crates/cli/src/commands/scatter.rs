//! The scatter between runs of a machine, from its saved runs.

use std::collections::BTreeSet;

use tiermark_compare::{Document, FEWEST_RUNS, MOST_RUNS, OneRun, Scatters, run_figures};
use tiermark_history::{Index, MachineKey, RunHead};
use tiermark_model::{Run, RunFigures};
use tiermark_report::shown_grades;

use crate::environment;

/// The scatter between runs of the machine of the first document: of its saved runs and of the first `old` documents,
/// which are a baseline. Runs that are judged do not count: they may be those that changed. `None`, which means the
/// default, where these are too few, or the machine of the first is not named.
pub(super) fn scatters(documents: &[Document<'_>], old: usize) -> Option<Scatters> {
    let first = documents[0].run;
    let judged: BTreeSet<&str> = documents[old..].iter().map(|document| document.run.id.as_str()).collect();
    let mut runs: Vec<(String, String, RunFigures)> = documents[..old]
        .iter()
        .filter(|document| !judged.contains(document.run.id.as_str()))
        .map(|document| (document.run.started.clone(), document.run.id.clone(), run_figures(document.run)))
        .collect();
    runs.extend(saved(first, &judged, &runs));
    if runs.len() < FEWEST_RUNS {
        return None;
    }
    runs.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let one = |(started, id, about)| OneRun { id, started, day: None, about };
    let all: Vec<OneRun<'_>> = runs.iter().map(|(started, id, about)| one((started, id, about))).collect();
    Some(Scatters::of_history(&all, first.machine.system.hypervisor.is_some()))
}

/// The newest saved runs of a run's machine with figures of tiers; none if the store cannot be read.
fn saved(
    first: &Run,
    judged: &BTreeSet<&str>,
    known: &[(String, String, RunFigures)],
) -> Vec<(String, String, RunFigures)> {
    let store = environment::store();
    let describe = |run: &Run| (shown_grades(run), run_figures(run));
    let name = first.machine.system.hostname.as_deref().filter(|name| !name.is_empty());
    let key = name.map(|name| MachineKey::of(&first.machine, name));
    // A simulated machine is named by what describes it.
    if key.is_none() && first.simulated.is_none() {
        return Vec::new();
    }
    let Ok(index) = Index::open(&store, &describe, |_, _| {}) else { return Vec::new() };
    let is_of_machine = |head: &&RunHead| {
        let is_same = match (&head.computer, &key) {
            (Some(computer), Some(key)) => computer.is_same_computer(key),
            (None, None) => true,
            _ => false,
        };
        is_same && head.problem.is_none() && head.simulated == first.simulated && head.headlines > 0
    };
    let is_new = |head: &&RunHead| !judged.contains(head.id.as_str()) && known.iter().all(|(_, id, _)| *id != head.id);
    let heads = index.heads().iter().rev().filter(is_of_machine).filter(is_new).take(MOST_RUNS);
    heads.map(|head| (head.started.clone(), head.id.clone(), index.figures(head))).collect()
}
