//! Curves of latency over bandwidth: how much load memory takes before its accesses wait.

use tiermark_model::{Confidence, Finding, Grade, Labels, Observation, Purpose, Quantity, Run};

use crate::facts::{Fact, Scene, SceneKind};
use crate::measured::known;

/// Curves that are explained at most: some mixes at the places of a large machine. A document may have any number.
const MOST: usize = 256;
/// The injectors among the parts of a step.
const LOAD: &str = "load";
/// The least load that a point at half of the most may be far from: a curve without points there says nothing about its middle.
const HALF: std::ops::RangeInclusive<f64> = 0.4..=0.6;

/// A scene of each curve.
pub(crate) fn curves(run: &Run) -> Vec<Scene> {
    let most = run.findings().filter(|finding| finding.metric == Quantity::LoadedMost).take(MOST);
    most.filter_map(|finding| curve(finding, run)).collect()
}

/// What tells one curve from another.
fn is_of_same_curve(one: &Labels, other: &Labels) -> bool {
    [Labels::PLACE, Labels::NODE, Labels::MIX].iter().all(|key| one.0.get(*key) == other.0.get(*key))
}

fn curve(most: &Finding, run: &Run) -> Option<Scene> {
    let labels = &most.labels;
    let (rate, _) = known(most)?;
    let of = |metric: Quantity| {
        let mut found = run.findings().filter(|finding| finding.metric == metric);
        found.find(|finding| is_of_same_curve(&finding.labels, labels))
    };
    let (idle, how) = of(Quantity::LoadedUnloaded).and_then(known)?;
    let place = labels.get(Labels::PLACE).unwrap_or("local");
    let mix = labels.get(Labels::MIX).unwrap_or("read");
    let node = labels.number(Labels::NODE).map_or_else(String::new, |node| format!(" of node {node}"));
    let steps: Vec<&str> = most.evidence.iter().map(String::as_str).collect();
    let scene = Scene::new(SceneKind::Loaded, Some(format!("latency under load, {mix}, {place} memory{node}")));
    let mut scene = scene.word("distance", place).word("access", mix);
    scene = scene.with(Fact::Used, rate, Confidence::Measured, &steps).with(Fact::Latency, idle, how, &steps);
    let knee = of(Quantity::LoadedKnee);
    // A curve that was measured and has no bend takes all load that there is.
    let at = knee.and_then(|knee| if knee.value.is_none() { Some(rate) } else { known(knee).map(|(at, _)| at) });
    if let Some((knee, at)) = knee.zip(at) {
        let steps: Vec<&str> = knee.evidence.iter().map(String::as_str).collect();
        scene = scene.with(Fact::KneeShare, at / rate, Confidence::Measured, &steps);
    }
    if let Some((seen, ns)) = at_half(rate, labels, run) {
        scene = scene.with(Fact::HalfLatency, ns, Confidence::Measured, &[&seen.step]);
    }
    Some(scene)
}

/// The point of a curve that is nearest to half of its most, and its latency.
fn at_half<'a>(most: f64, labels: &Labels, run: &'a Run) -> Option<(&'a Observation, f64)> {
    let load = |seen: &Observation| seen.parts.iter().find(|part| part.name == LOAD).and_then(|part| part.value);
    let points = run.observations().filter(|seen| {
        let is_sharp = seen.verdict.grade == Grade::Trusted;
        seen.labels.is_for(Purpose::Load) && is_of_same_curve(&seen.labels, labels) && is_sharp
    });
    let near = points.filter_map(|seen| Some((load(seen)? / most, seen))).filter(|(share, _)| HALF.contains(share));
    let (_, seen) = near.min_by(|(a, _), (b, _)| (a - 0.5).abs().total_cmp(&(b - 0.5).abs()))?;
    seen.value.filter(|ns| ns.is_finite() && *ns > 0.0).map(|ns| (seen, ns))
}
