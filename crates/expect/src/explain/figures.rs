//! Figures of memory, rates and idle latencies alike: what a problem of the machine may make worse.

use tiermark_model::{Confidence, Experiment, Finding, Purpose, Quantity, Run};

use crate::explain::cells::spot_of;
use crate::explain::facts::{Fact, PROBLEM, Scene, SceneKind};
use crate::explain::measured::{is_plain_latency, known, loss};

/// Latencies that are explained at most: those of 64 nodes with memory of 64 nodes.
const MOST: usize = 4096;

/// A scene of each figure, with the problems that the check-up found when the run began. `rates` are the scenes of the
/// bandwidths.
pub(crate) fn figures<'a>(rates: impl Iterator<Item = &'a Scene>, run: &Run) -> Vec<Scene> {
    let rates = rates.map(|scene| scene.again_as(SceneKind::Figure));
    let all = run.experiments.iter().flat_map(|one| one.findings.iter().map(move |finding| (finding, one)));
    let latencies = all.filter_map(|(finding, experiment)| latency(finding, experiment, run)).take(MOST);
    let mut figures: Vec<Scene> = rates.chain(latencies).collect();
    for figure in &mut figures {
        figure.words.extend(run.problems.iter().flatten().map(|row| (PROBLEM, row.name.clone())));
    }
    figures
}

/// An idle latency of memory, by one thread.
fn latency(finding: &Finding, experiment: &Experiment, run: &Run) -> Option<Scene> {
    let labels = &finding.labels;
    if finding.quantity != Quantity::Latency || !is_plain_latency(labels) {
        return None;
    }
    let what = match labels.is_for(Purpose::Matrix) {
        true => format!("memory of node {}", labels.node()?),
        false => labels.tier().filter(|tier| labels.is_for(Purpose::Ladder) && tier.is_memory())?.to_string(),
    };
    let spot = spot_of(finding, experiment, &run.machine).map_or_else(String::new, |spot| format!(", {spot}"));
    let (ns, how) = known(finding)?;
    let step = finding.evidence.first();
    let seen = experiment.observations.iter().find(|seen| Some(&seen.step) == step);
    let steps: Vec<&str> = finding.evidence.iter().map(String::as_str).collect();
    let scene = Scene::new(SceneKind::Figure, Some(format!("latency, {what}{spot}")))
        .word("threads", "one")
        .with(Fact::Latency, ns, how, &steps)
        .with(Fact::Threads, 1.0, Confidence::Measured, &steps);
    let numbers = [(Fact::Spread, seen.and_then(|seen| seen.core_hz_spread)), (Fact::RecordLoss, seen.and_then(loss))];
    let known = numbers.into_iter().filter_map(|(fact, value)| Some((fact, value?)));
    Some(known.fold(scene, |scene, (fact, value)| scene.with(fact, value, Confidence::Measured, &steps)))
}
