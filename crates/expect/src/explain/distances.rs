//! Latency of memory by its distance from the cpus.

use std::collections::BTreeSet;

use tiermark_model::{Bytes, Confidence, NodeId, Run, cost_of_distance, latency_by_distance};

use crate::explain::facts::{Fact, Scene, SceneKind};

/// A scene of each order of access over the largest footprint, and of the first difference: of the cpus of each node.
pub(crate) fn distances(run: &Run) -> Vec<Scene> {
    let all = latency_by_distance(run);
    let froms: BTreeSet<NodeId> = all.iter().map(|of| of.from).collect();
    let mut scenes = Vec::new();
    for from in froms {
        let Some(cost) = cost_of_distance(&all, from, &run.machine) else { continue };
        let first = cost.first.filter(|(layout, first)| {
            cost.largest.iter().all(|(other, largest)| (*other, largest.bytes) != (*layout, first.bytes))
        });
        for (layout, point) in
            first.iter().chain(&cost.largest).filter(|(_, point)| point.is_trusted() && point.differs())
        {
            let (Some(far), Some(local), Some(times)) = (point.far.value, point.local.value, point.ratio()) else {
                continue;
            };
            let place = format!("cpus of node {from}, {layout} over {}", Bytes(point.bytes));
            let steps = [point.far.step.as_str(), point.local.step.as_str()];
            let scene = Scene::new(SceneKind::Distance, Some(place));
            let numbers = [(Fact::LocalLatency, local), (Fact::Latency, far), (Fact::Times, times)];
            let all = numbers.into_iter();
            scenes.push(all.fold(scene, |scene, (fact, value)| scene.with(fact, value, Confidence::Measured, &steps)));
        }
    }
    scenes
}
