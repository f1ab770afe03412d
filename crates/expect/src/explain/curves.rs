//! Curves of latency over bandwidth: how much load memory takes before its accesses wait.

use tiermark_model::{Confidence, Experiment, Finding, Grade, Labels, LoadPoint, Observation, Quantity, Run};

use crate::explain::cells::spot_of;
use crate::explain::facts::{Fact, Scene, SceneKind};
use crate::explain::measured::known;

/// Curves that are explained at most: some mixes at the places of a large machine. A document may have any number.
const MOST: usize = 256;
/// The least load that a point at half of the most may be far from: a curve without points there says nothing about its
/// middle.
const HALF: std::ops::RangeInclusive<f64> = 0.4..=0.6;

/// The most of the highest rate that the lightest load may be: beyond, accesses may wait already.
const LIGHT: f64 = 0.3;

/// A scene of each curve.
pub(crate) fn curves(run: &Run) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for experiment in &run.experiments {
        let most = experiment.findings.iter().filter(|finding| finding.quantity == Quantity::LoadedMost);
        scenes.extend(most.take(MOST - scenes.len().min(MOST)).filter_map(|finding| curve(finding, experiment, run)));
    }
    scenes
}

/// What tells one curve from another.
fn is_of_same_curve(one: &Labels, other: &Labels) -> bool {
    one.are_alike(other, |of| (of.place_name(), of.node(), of.mix(), of.page()))
}

fn curve(most: &Finding, experiment: &Experiment, run: &Run) -> Option<Scene> {
    let labels = &most.labels;
    let (rate, _) = known(most)?;
    let curve_finding = |quantity: Quantity| {
        let mut found = experiment.findings.iter().filter(|finding| finding.quantity == quantity);
        found.find(|finding| is_of_same_curve(&finding.labels, labels))
    };
    let (idle, how) = curve_finding(Quantity::LoadedUnloaded).and_then(known)?;
    let place = labels.place_name().unwrap_or("local");
    let mix = labels.mix().unwrap_or("read");
    let node = labels.node().map_or_else(String::new, |node| format!(" of node {node}"));
    let steps: Vec<&str> = most.evidence.iter().map(String::as_str).collect();
    let spot = spot_of(most, experiment, &run.machine).unwrap_or_else(|| format!("{place} memory{node}"));
    let scene = Scene::new(SceneKind::Loaded, Some(format!("latency under load, {mix}, {spot}")));
    let mut scene = scene.word("distance", place).word("access", mix);
    scene = scene.with(Fact::Used, rate, Confidence::Measured, &steps).with(Fact::Latency, idle, how, &steps);
    let knee = curve_finding(Quantity::LoadedKnee).filter(|knee| knee.verdict.grade <= Grade::Bound);
    // A curve that was measured and has no bend takes all load that there is.
    let at = knee.and_then(|knee| if knee.value.is_none() { Some(rate) } else { known(knee).map(|(at, _)| at) });
    if let Some((knee, at)) = knee.zip(at) {
        let steps: Vec<&str> = knee.evidence.iter().map(String::as_str).collect();
        scene = scene.with(Fact::KneeShare, at / rate, Confidence::Measured, &steps);
    }
    let points = points(rate, labels, experiment);
    // The idle chase may hit caches that any load takes away: that is no waiting.
    let light = points.iter().filter(|(share, ..)| *share <= LIGHT).min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, ns, seen)) = light {
        scene = scene.with(Fact::LightLatency, *ns, Confidence::Measured, &[&seen.step]);
    }
    let half = points.iter().filter(|(share, ..)| HALF.contains(share));
    if let Some((_, ns, seen)) = half.min_by(|a, b| (a.0 - 0.5).abs().total_cmp(&(b.0 - 0.5).abs())) {
        scene = scene.with(Fact::HalfLatency, *ns, Confidence::Measured, &[&seen.step]);
    }
    Some(scene)
}

/// The trusted points of a curve: their share of its highest rate, and their latency in ns.
fn points<'a>(most: f64, labels: &Labels, experiment: &'a Experiment) -> Vec<(f64, f64, &'a Observation)> {
    let points = experiment
        .observations
        .iter()
        .filter(|seen| is_of_same_curve(&seen.labels, labels) && seen.verdict.grade.is_number());
    let point = |seen: &'a Observation| Some((LoadPoint::of(seen)?.rate / most, seen.value?, seen));
    points.filter_map(point).filter(|(share, ns, _)| share.is_finite() && ns.is_finite() && *ns > 0.0).collect()
}
