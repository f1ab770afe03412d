//! Bandwidths beside one another: random and sequential, remote and local, mixed and local, ordinary and non-temporal
//! stores, all threads and one, base and huge pages.

use std::collections::HashMap;

use tiermark_model::{Confidence, Distance, Experiment, Finding, Observation, Purpose, Quantity, Run, Tier};

use crate::explain::cells::{Access, Cell, Crew, spot_of};
use crate::explain::facts::{Fact, Scene, SceneKind};
use crate::explain::measured::known;

/// A bandwidth with its scene.
pub(crate) type Measured<'a> = (Cell<'a>, Scene);

/// Scenes of every pair.
pub(crate) fn pairs(all: &[Measured<'_>], run: &Run) -> Vec<Scene> {
    let mut crews: HashMap<Crew<'_>, Vec<&Measured<'_>>> = HashMap::new();
    for one in all {
        crews.entry(one.0.crew()).or_default().push(one);
    }
    let mut found = Vec::new();
    for one in all {
        let Some(crew) = crews.get(&one.0.crew()) else { continue };
        found.extend(random(one, crew));
        found.extend(remote(one, crew));
        found.extend(mixed(one, crew));
        found.extend(stores(one, crew));
        found.extend(stores_and_reads(one, crew));
        found.extend(least(one, crew));
    }
    found.extend(all.iter().filter_map(|one| threads(one, all)));
    found.extend(run.experiments.iter().flat_map(|experiment| pages(experiment, run)));
    found
}

/// A scene of its own beside another.
fn beside(kind: SceneKind, one: &Measured<'_>, what: &'static str, other: &Scene) -> Scene {
    one.1.again_as(kind).beside(what, other)
}

/// Whether two do the same, in order or at random.
fn is_alike(one: &Cell<'_>, other: &Cell<'_>) -> bool {
    one.op == other.op && one.is_random == other.is_random
}

/// The pages of a run's memory on the own node.
fn local<'a, 'b>(one: &Cell<'_>, crew: &[&'b Measured<'a>]) -> Option<&'b Measured<'a>> {
    crew.iter().find(|(other, _)| other.distance == Distance::Local && is_alike(one, other)).copied()
}

fn random(one: &Measured<'_>, crew: &[&Measured<'_>]) -> Option<Scene> {
    let cell = &one.0;
    let is_other = |other: &Cell<'_>| !other.is_random && other.access == cell.access && other.is_of_same_memory(cell);
    let (_, other) =
        crew.iter().find(|(other, _)| cell.is_random && cell.access != Access::Other && is_other(other))?;
    Some(beside(SceneKind::Random, one, "in order", other))
}

fn remote(one: &Measured<'_>, crew: &[&Measured<'_>]) -> Option<Scene> {
    let (_, other) = local(&one.0, crew).filter(|_| one.0.distance == Distance::Remote)?;
    Some(beside(SceneKind::Remote, one, "local memory", other))
}

fn mixed(one: &Measured<'_>, crew: &[&Measured<'_>]) -> Option<Scene> {
    let (_, other) = local(&one.0, crew).filter(|_| one.0.distance == Distance::Mixed)?;
    Some(beside(SceneKind::Mixed, one, "local memory", other))
}

/// Ordinary stores beside non-temporal ones: of two bandwidths, or of the kernels that were compared for one.
fn stores(one: &Measured<'_>, crew: &[&Measured<'_>]) -> Option<Scene> {
    let (cell, scene) = one;
    let is_other = |other: &Cell<'_>| other.access == Access::NonTemporal && other.is_of_same_memory(cell);
    let is_store = cell.access == Access::Store && !cell.is_random;
    if let Some((other, of)) = crew.iter().find(|(other, _)| is_store && is_other(other)) {
        let scene = scene.again_as(SceneKind::Stores).beside("non-temporal stores", of);
        let rests_on = if cell.is_bound || other.is_bound { Confidence::Hint } else { Confidence::Measured };
        return Some(scene.with(Fact::Gain, other.used / cell.used, rests_on, &[cell.step, other.step]));
    }
    let gain = compared(cell.seen).filter(|_| cell.op == "write")?;
    let scene = Scene::new(SceneKind::Stores, Some(cell.place())).word("distance", cell.distance.word());
    // A bound may be one because its kernels were compared too rarely.
    let rests_on = if cell.is_bound { Confidence::Hint } else { Confidence::Measured };
    Some(scene.with(Fact::Gain, gain, rests_on, &[cell.step]))
}

/// Ordinary stores beside reads of the same memory, both in order.
fn stores_and_reads(one: &Measured<'_>, crew: &[&Measured<'_>]) -> Option<Scene> {
    let cell = &one.0;
    let is_read = |other: &Cell<'_>| {
        other.access == Access::Read && !other.is_random && other.op == "read" && other.is_of_same_memory(cell)
    };
    let is_store = cell.access == Access::Store && !cell.is_random;
    let (_, other) = crew.iter().find(|(other, _)| is_store && is_read(other))?;
    Some(beside(SceneKind::StoresAndReads, one, "reads", other))
}

/// How many times the rate of ordinary stores the best non-temporal ones had, compared in the same moments.
fn compared(seen: &Observation) -> Option<f64> {
    let first = seen.rivals.first().filter(|first| first.kernel.op() == "write")?;
    let base = first.ratio.filter(|ratio| *ratio > 0.0)?;
    let others = seen.rivals.iter().filter(|rival| rival.kernel.op() == "write.nt");
    others.filter_map(|rival| rival.ratio).max_by(f64::total_cmp).map(|best| best / base)
}

/// Sequential reads beside what wastes least of all else.
fn least(one: &Measured<'_>, crew: &[&Measured<'_>]) -> Option<Scene> {
    let (cell, scene) = one;
    let times = |scene: &Scene| {
        scene
            .get(crate::explain::facts::FactName(crate::explain::facts::Whose::Own, Fact::Amplification))
            .map(|found| found.value)
    };
    times(scene).filter(|_| cell.access == Access::Read && !cell.is_random)?;
    let others = crew.iter().filter(|(other, _)| other.step != cell.step && other.is_of_same_memory(cell));
    let others = others.filter_map(|(_, scene)| Some((times(scene)?, scene)));
    let (_, next) = others.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(beside(SceneKind::Least, one, "what wastes next least", next))
}

/// All threads of a row or a machine beside one of them.
fn threads(one: &Measured<'_>, all: &[Measured<'_>]) -> Option<Scene> {
    let cell = &one.0;
    let is_one = |other: &Cell<'_>| {
        other.threads == 1.0
            && other.from == cell.from
            && other.page == cell.page
            // One thread is on one of the nodes of all.
            && other.home.is_subset(&cell.home)
            && is_alike(cell, other)
            && other.is_of_same_memory(cell)
    };
    let (_, other) = all.iter().find(|(other, _)| cell.threads > 1.0 && is_one(other))?;
    Some(beside(SceneKind::Threads, one, "1 thread", other))
}

/// Latencies of memory on base pages beside those on huge ones, where more than chance tells them apart.
fn pages(experiment: &Experiment, run: &Run) -> Vec<Scene> {
    let is_memory = |finding: &&Finding| {
        finding.quantity == Quantity::Latency
            && finding.labels.is_for(Purpose::Ladder)
            && finding.labels.tier() == Some(Tier::DramRandom)
            && finding.labels.chains().is_none_or(|chains| chains == 1)
            && finding.labels.layout().is_none_or(|layout| layout == "random")
    };
    let all: Vec<&Finding> = experiment.findings.iter().filter(is_memory).take(64).collect();
    let scene = |finding: &Finding| {
        let (ns, how) = known(finding)?;
        let spot = spot_of(finding, experiment, &run.machine).map_or_else(String::new, |spot| format!(", {spot}"));
        let place = finding.labels.tier_name().map(|tier| format!("latency, {tier}{spot}"));
        let steps: Vec<&str> = finding.evidence.iter().map(String::as_str).collect();
        Some(Scene::new(SceneKind::Pages, place).with(Fact::Latency, ns, how, &steps))
    };
    let is_base = |finding: &Finding| finding.labels.page() == Some("base");
    let node = |finding: &Finding| finding.labels.node();
    let pair = |base: &&Finding| {
        let is_apart =
            |huge: &Finding| base.interval.zip(huge.interval).is_none_or(|(base, huge)| base.low > huge.high);
        let huge = all.iter().find(|huge| !is_base(huge) && node(huge) == node(base) && is_apart(huge))?;
        Some(scene(base)?.beside("huge pages", &scene(huge)?))
    };
    all.iter().filter(|finding| is_base(finding)).filter_map(pair).collect()
}
