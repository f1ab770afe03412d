//! Scenes of the machine: ramps and regions as their probes judged them, states during the run, settings with their
//! effect, and the counters themselves.

use tiermark_model::messages::{explain as says, run as warnings};
use tiermark_model::{
    Confidence, CounterSight, CounterSourceId, Experiment, Finding, IdSet, Note, Nothing, Observation, Quantity,
    RateUnit, Reason, ReasonCode, Run, State, StateKind, Unit,
};

use crate::explain::cells::{Cell, is_full, spot_of};
use crate::explain::facts::{ALL_CORES, CORES, Fact, LIMIT, Scene, SceneKind};
use crate::explain::measured::{is_peak_stated, known};

/// Ramps of a run at most: a place for each node, and some operations. A document may have any number.
const MOST_RAMPS: usize = 256;

/// Whether counts are there and can be trusted.
///
/// # Errors
/// Why not.
pub(crate) fn counts(run: &Run) -> Result<(), Note> {
    let own = run.counters.as_ref().filter(|own| own.source != CounterSourceId::None);
    let own = own.filter(|_| run.observations().any(|seen| seen.traffic.is_some())).ok_or_else(says::no_counts)?;
    let name = own.source.name();
    let faults = own.check.as_ref().map(|check| Note::joined(&check.faults, RateUnit::Si));
    match (own.can_be_trusted(), faults) {
        (true, _) => Ok(()),
        // What such a source counts is below any known stream.
        _ if own.sees.contains(&CounterSight::LowerBound) => Err(says::counts_partial(name)),
        (false, Some(why)) => Err(says::counts_wrong(name, &why)),
        (false, None) => Err(says::counts_unchecked(name)),
    }
}

/// All scenes of the machine.
pub(crate) fn scenes(run: &Run, cells: &[&Cell<'_>]) -> Vec<Scene> {
    let all = run.experiments.iter().flat_map(|experiment| experiment.findings.iter().map(move |f| (f, experiment)));
    let levels = all.filter(|(finding, _)| finding.quantity == Quantity::ScaleCeiling).take(MOST_RAMPS);
    let mut found: Vec<Scene> = levels.filter_map(|(finding, experiment)| ramp(finding, experiment, run)).collect();
    found.extend(run.findings().filter_map(region));
    found.extend(run.experiments.iter().flat_map(states));
    found.extend(others(run));
    found.extend(run.experiments.iter().flat_map(drifts));
    found.extend(cells.iter().filter_map(|cell| kept(cell)));
    found.extend(settings(run));
    found.extend(counters(run));
    found
}

/// The level of a ramp of threads whose limit its probe found.
fn ramp(finding: &Finding, experiment: &Experiment, run: &Run) -> Option<Scene> {
    let limit = finding.labels.limit()?;
    let (rate, how) = known(finding)?;
    let labels = &finding.labels;
    let same = |other: &&Finding| other.labels.are_alike(labels, |of| (of.place_name(), of.node(), of.op()));
    let known_figure = |quantity: Quantity, statistic: Option<&str>| {
        let is_it = |other: &&Finding| {
            other.quantity == quantity && statistic.is_none_or(|word| other.labels.statistic() == Some(word))
        };
        experiment.findings.iter().filter(is_it).find(same).and_then(known)
    };
    let place = labels.place_name().unwrap_or("local");
    let op = labels.op().unwrap_or("read");
    let node = labels.node().map_or_else(String::new, |node| format!(" of node {node}"));
    let spot = spot_of(finding, experiment, &run.machine).unwrap_or_else(|| format!("{place} memory{node}"));
    let steps: Vec<&str> = finding.evidence.iter().map(String::as_str).collect();
    let mut scene = Scene::new(SceneKind::Ramp, Some(format!("ramp of threads, {op}, {spot}")));
    scene = scene.word(LIMIT, limit).word("distance", place).with(Fact::Used, rate, how, &steps);
    if steps.iter().any(|step| is_of_all_cores(step, run)) {
        scene = scene.word(CORES, ALL_CORES);
    }
    let is_guest = run.machine.system.hypervisor.is_some();
    let is_stated =
        experiment.findings.iter().filter(|other| other.quantity == Quantity::ScaleShare).any(is_peak_stated);
    for (fact, metric, statistic) in [
        (Fact::InFlight, Quantity::ScaleInFlight, None),
        (Fact::Latency, Quantity::ScaleLatency, None),
        (Fact::Threads, Quantity::ScaleKnee, None),
        (Fact::ChannelShare, Quantity::ScaleShare, Some("of theoretical peak")),
        (Fact::LinkShare, Quantity::ScaleShare, Some("of link")),
    ] {
        let is_made_up = fact == Fact::ChannelShare && is_guest && !is_stated;
        if let Some((value, how)) = known_figure(metric, statistic).filter(|_| !is_made_up) {
            scene = scene.with(fact, value, how, &steps);
        }
    }
    Some(scene)
}

/// Whether a step of a ramp ran on every core that it could.
fn is_of_all_cores(step: &str, run: &Run) -> bool {
    let seen = run.observations().find(|seen| seen.step == step);
    let labels = seen.map(|seen| &seen.labels);
    let cpus = labels.and_then(|labels| IdSet::from_plain_list(labels.cpus()?).ok()).unwrap_or_default();
    let threads = labels.and_then(|labels| labels.threads()).unwrap_or_default();
    is_full(&cpus, threads as f64, &run.machine)
}

/// A piece of memory that a scan found slow, or the median that none differs from.
fn region(finding: &Finding) -> Option<Scene> {
    if finding.quantity == Quantity::ScanMedian {
        return Some(Scene::new(SceneKind::Region, None).with(Fact::Slower, 1.0, Confidence::Measured, &[]));
    }
    let (times, how) = known(finding).filter(|_| finding.quantity == Quantity::ScanSlow)?;
    let op = finding.labels.op().unwrap_or("latency");
    let number = finding.labels.region().map_or_else(String::new, |region| format!(", region {region}"));
    let node = finding.labels.node().map_or_else(String::new, |node| format!(", node {node}"));
    let steps: Vec<&str> = finding.evidence.iter().map(String::as_str).collect();
    Some(Scene::new(SceneKind::Region, Some(format!("{op}{node}{number}"))).with(Fact::Slower, times, how, &steps))
}

/// States of a shared machine; with an empty one for what was looked for and not seen.
fn states(experiment: &Experiment) -> Vec<Scene> {
    let scene = |state: &State| {
        let word = match state.state {
            StateKind::Sibling => "sibling",
            StateKind::Shared => "shared",
            StateKind::OneCore => "one-core",
            StateKind::Apart { .. } => "apart",
            StateKind::Near | StateKind::OwnCores | StateKind::Unmoved => return None,
        };
        let place = format!("{}: {}", experiment.request.probe, state.state.words());
        let scene = Scene::new(SceneKind::State, Some(place)).word("state", word);
        // A state is inferred from times.
        Some(scene.with(Fact::Share, state.share, Confidence::Hint, &[]))
    };
    let none = |word: &str| {
        Scene::new(SceneKind::State, None).word("state", word).with(Fact::Share, 0.0, Confidence::Hint, &[])
    };
    let was_looked_for = experiment.observations.iter().any(|seen| seen.visits.len() > 1);
    let none = was_looked_for.then(|| ["shared", "apart"].map(none));
    experiment.states.iter().filter_map(scene).chain(none.into_iter().flatten()).collect()
}

/// Other work and stolen time, as the system counted them.
fn others(run: &Run) -> Vec<Scene> {
    let mut found = Vec::new();
    for warning in &run.warnings {
        let number = |key: &str| warning.data.get(key).and_then(|value| value.as_f64());
        // The programs of that time, which may have ended since.
        let programs = warning.data.get("programs").and_then(|names| names.as_str()).filter(|names| !names.is_empty());
        let state = |word: &str, share: f64| {
            let named = programs.filter(|_| word == "busy").map_or_else(String::new, |names| format!(" ({names})"));
            let scene = Scene::new(SceneKind::State, Some(format!("cpus of this run{named}"))).word("state", word);
            scene.with(Fact::Share, share, Confidence::Reported, &[])
        };
        if warning.code == warnings::codes::steal {
            found.extend(number("share").map(|share| state("steal", share)));
        }
        if warning.code == warnings::codes::busy {
            let share = number("busy").zip(number("cpus")).filter(|(_, cpus)| *cpus > 0.0);
            found.extend(share.map(|(busy, cpus)| state("busy", busy / cpus)));
            found.extend(number("stolen").map(|share| state("steal", share)));
        }
    }
    found
}

/// Changes of the machine during an experiment.
fn drifts(experiment: &Experiment) -> Vec<Scene> {
    let scene = |drift: &tiermark_model::Drift| {
        let scene = Scene::new(SceneKind::State, Some(drift.step.clone())).word("state", "drift");
        scene.with(Fact::Change, drift.change.abs(), Confidence::Measured, &[&drift.step])
    };
    let none =
        Scene::new(SceneKind::State, None).word("state", "drift").with(Fact::Change, 0.0, Confidence::Measured, &[]);
    let was_looked_for = experiment.observations.iter().any(|seen| seen.visits.len() > 1);
    experiment.drift.iter().map(scene).chain(was_looked_for.then_some(none)).collect()
}

/// What a program typically got during the run of the best that was reached.
fn kept(cell: &Cell<'_>) -> Option<Scene> {
    let best = cell.seen.best.filter(|best| *best > 0.0 && cell.seen.unit == Unit::BytesPerSecond)?;
    let scene = Scene::new(SceneKind::State, Some(cell.place())).word("state", "typical");
    Some(scene.with(Fact::Kept, cell.used / best, Confidence::Measured, &[cell.step]))
}

/// Settings that change what memory does, with the sign of their effect.
fn settings(run: &Run) -> Vec<Scene> {
    let (machine, system) = (&run.machine, &run.machine.system);
    let setting = |word: &str, fact: Fact, value: f64| {
        let scene = Scene::new(SceneKind::Setting, None).word("setting", word);
        scene.with(fact, value, Confidence::Reported, &[])
    };
    let mut found = Vec::new();
    if !machine.cpus.is_empty() {
        found.push(setting("nodes", Fact::NodesPerSocket, machine.nodes_per_socket() as f64));
    }
    let with = |code: ReasonCode| {
        let has = |seen: &&Observation| seen.verdict.has(code);
        run.observations().filter(has).count() as f64
    };
    let is_balancing = machine.balances_pages();
    if system.numa_balancing.is_some() {
        let moved = with(ReasonCode::Faults) + with(ReasonCode::WrongNode);
        found.push(setting("numa-balancing", Fact::Steps, if is_balancing { moved } else { 0.0 }));
    }
    found.extend(swaps(run).into_iter().map(|(word, fact, value)| setting(word, fact, value)));
    if system.thp_mode().is_some() {
        let is_off = !system.has_thp();
        let count: usize = run.experiments.iter().filter(|_| is_off).map(fallen_back).sum();
        found.push(setting("thp", Fact::Steps, count as f64));
    }
    let wanted = run.observations().filter(|seen| seen.value.is_some() && seen.labels.page() != Some("base"));
    let shares = wanted.filter_map(|seen| seen.placement.as_ref()?.page_share);
    let least = shares.filter(|share| (0.0..=1.0).contains(share)).min_by(f64::total_cmp);
    found.extend(least.map(|share| setting("huge-pages", Fact::Backed, share)));
    if let Some(governor) = &system.governor {
        let spreads = run.observations().filter_map(|seen| seen.core_hz_spread).filter(|spread| spread.is_finite());
        let spread = spreads.max_by(f64::total_cmp).unwrap_or(0.0);
        found.push(setting("governor", Fact::Spread, if governor == "performance" { 0.0 } else { spread }));
    }
    found
}

/// What was swapped out before the run, and steps in which pages were read back.
fn swaps(run: &Run) -> Vec<(&'static str, Fact, f64)> {
    let system = &run.machine.system;
    let mut found = Vec::new();
    // What is compressed in memory needs no device.
    let on_devices = system.swaps.iter().filter(|area| area.zram().is_none());
    let unlisted = system.unlisted_swap.and_then(|swap| swap.used_bytes);
    let used: f64 = on_devices.map(|area| area.used_bytes).chain(unlisted).map(|bytes| bytes as f64).sum();
    let memory = system.memory_bytes.filter(|bytes| *bytes > 0);
    found.extend(memory.map(|bytes| ("swap", Fact::ShareOfMemory, used / bytes as f64)));
    let reads_back = |reason: &Reason| {
        matches!(reason, Reason::MajorFaults { .. })
            || matches!(reason, Reason::Nothing { cause: Nothing::Swapped, .. })
    };
    let mut measured = run.observations().filter(|seen| !seen.visits.is_empty() || seen.value.is_some()).peekable();
    if measured.peek().is_some() {
        let steps = run.observations().filter(|seen| seen.verdict.reasons.iter().any(reads_back)).count();
        found.push(("swapping", Fact::Steps, steps as f64));
    }
    found
}

/// Steps on base pages that nobody chose: all of the experiment's are, and neither its scope nor its parameters name
/// base pages.
fn fallen_back(experiment: &Experiment) -> usize {
    let request = &experiment.request;
    let pages = request.params.get("pages").and_then(|pages| pages.as_array());
    let is_chosen = request.scope.page.is_some() || pages.is_some_and(|pages| !pages.is_empty());
    let measured = || experiment.observations.iter().filter(|seen| seen.value.is_some());
    let is_base = |seen: &&Observation| seen.labels.page() == Some("base");
    let has_others = measured().any(|seen| seen.labels.page().is_some_and(|page| page != "base"));
    if is_chosen || has_others { 0 } else { measured().filter(is_base).count() }
}

/// The counters: what their comparison with a known stream found.
fn counters(run: &Run) -> Option<Scene> {
    // A source that sees a part of the traffic is below any known stream, and is not wrong.
    let counters = run.counters.as_ref().filter(|own| !own.sees.contains(&CounterSight::LowerBound))?;
    let check = counters.check.as_ref()?;
    let place = check.faults.first().map(ToString::to_string);
    let scene = Scene::new(SceneKind::Counters, place);
    Some(scene.with(Fact::Marks, check.faults.len() as f64, Confidence::Measured, &[]))
}
