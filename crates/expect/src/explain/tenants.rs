//! Scenes of runs of `capacity` and of `load`: what limited the tenants, and what the client saw of the servers.

use tiermark_model::capacity::{
    Capacity, Case, Ended, Evidence, LimitOf, OTHERS_DECIDE, Outcome, Resource, tenants as counted,
};
use tiermark_model::load::{LoadLoop, LoadRun};
use tiermark_model::messages::capacity::codes::others_busy;
use tiermark_model::messages::run::codes::busy;
use tiermark_model::messages::trials::codes::{
    compressed_takes_dram, dram_exceeded, faults_in_tail, processes_killed, waited_for_device, waited_for_memory,
};
use tiermark_model::{Code, Confidence, Note};

use crate::explain::facts::{Fact, LIMIT, Scene, SceneKind};

/// Scenes of a run at most: a document may have any number of searches.
const MOST: usize = 256;

/// A scene for each search of a capacity run: the trial that shows its end.
pub(crate) fn of_capacity(run: &Capacity) -> Vec<Scene> {
    let beside = run.warnings.iter().find(|warning| [others_busy, busy].contains(&warning.code));
    let word = |key: &str| beside.and_then(|warning| warning.data.get(key)?.as_str());
    let (programs, since) = (word("programs").unwrap_or_default(), word("since").unwrap_or("over the whole run"));
    run.cases.iter().take(MOST).filter_map(|case| of_case(case, programs, since)).collect()
}

fn of_case(case: &Case, programs: &str, since: &str) -> Option<Scene> {
    let trial = case.telling()?;
    let others = trial.evidence.as_ref().and_then(Evidence::others_cpu);
    let is_others = others.is_some_and(|share| share >= OTHERS_DECIDE);
    let is_one_of = |by: &Ended, codes: &[Code]| codes.contains(&by.why.code);
    let limit = match case.ended_by.as_ref().map(|by| (by.resource, by)) {
        // Faults and waiting go with all three; what ended the search does not.
        Some((Resource::MemoryTier, by)) if is_one_of(by, &[compressed_takes_dram, dram_exceeded]) => "pool",
        Some((Resource::MemoryTier, by)) if is_one_of(by, &[waited_for_memory, waited_for_device, faults_in_tail]) => {
            "tier"
        }
        Some((Resource::MemoryTier, _)) => "memory",
        Some((Resource::Others, _)) => "others",
        // Of a document before other programs were told from tenants.
        Some((Resource::Cpu, _)) if is_others => "others",
        Some((Resource::Cpu, _)) => "cpu",
        Some((Resource::Link, _)) => "link",
        Some((Resource::Client, _)) => "client",
        Some((Resource::Quota, _)) => "quota",
        Some((Resource::Maxmemory, _)) => "keys",
        None => match trial.outcome {
            Outcome::Fail => match trial.missed().map(|missed| missed.of) {
                // Of a document before a missed hit rate named what ran out.
                Some(LimitOf::HitRate) => "keys",
                Some(LimitOf::Time | LimitOf::Rate) => "level",
                None => "unknown",
            },
            Outcome::Unclear => "unclear",
            Outcome::Pass => "none",
        },
    };
    let mut place = format!("{}, {}, {}", case.tier, case.load, counted(trial.tenants));
    if trial.outcome != Outcome::Pass && (trial.outcome == Outcome::Unclear || case.ended_by.is_none()) {
        place.push_str(&format!(" ({})", trial.reason()));
    }
    // Neither a quota nor keys that were evicted are of other programs.
    let is_known = ["quota", "keys"].contains(&limit);
    let is_of_server = case.ended_by.as_ref().is_none_or(|by| by.resource.is_of_server());
    if (is_others || !is_of_server) && !is_known && !programs.is_empty() {
        place.push_str(&format!(" (busiest {since}: {programs})"));
    }
    let scene = Scene::new(SceneKind::Tenants, Some(place)).word(LIMIT, limit);
    let mut facts = Facts { scene, rests_on: Confidence::Reported };
    facts.add(Fact::Kills, kills(trial.ended_by.as_ref().map(|by| &by.why), trial.evidence.as_ref()));
    if let Some(seen) = &trial.evidence {
        facts.of_system(seen);
        facts.add(Fact::OthersCpu, others.filter(|_| !is_known));
        facts.rests_on = Confidence::Measured;
        facts.add(Fact::LateSends, seen.late_sends);
        facts.add(Fact::LateAnswers, seen.late_answers);
        facts.add(Fact::ClientBusy, seen.client_cpu);
        facts.add(Fact::Hits, seen.hit_share);
        facts.add(Fact::Throttled, seen.quota.as_ref().map(|quota| quota.throttled as f64));
        facts.add(Fact::Quota, seen.quota.as_ref().map(|quota| quota.cpus));
    }
    Some(facts.scene)
}

/// Processes that the kernel killed: of the reason of the end, where the trial was ended before it measured.
fn kills(why: Option<&Note>, seen: Option<&Evidence>) -> Option<f64> {
    let from_reason =
        why.filter(|why| why.code == processes_killed).and_then(|why| why.data.get("processes")?.as_f64());
    from_reason.or_else(|| seen.and_then(|seen| seen.oom_kills).map(|kills| kills as f64))
}

/// A scene that is being filled.
struct Facts {
    scene: Scene,
    rests_on: Confidence,
}

impl Facts {
    fn add(&mut self, fact: Fact, value: Option<f64>) {
        if let Some(value) = value {
            self.scene = std::mem::replace(&mut self.scene, Scene::new(SceneKind::Tenants, None)).with(
                fact,
                value,
                self.rests_on,
                &[],
            );
        }
    }

    fn of_system(&mut self, seen: &Evidence) {
        for (fact, value) in [
            (Fact::FaultsPerRequest, seen.faults_per_request),
            (Fact::SwapPerRequest, seen.swap_bytes_per_request),
            (Fact::Resident, seen.resident_share),
            (Fact::MemoryWait, seen.memory_wait),
            (Fact::DeviceWait, seen.io_wait),
            (Fact::CpuWait, seen.cpu_wait),
            (Fact::CpusBusy, seen.cpu),
            (Fact::TenantsCpu, seen.tenants_cpu),
            (Fact::ClientShare, seen.client_share),
            (Fact::LinkUsed, seen.link),
        ] {
            self.add(fact, value);
        }
    }
}

/// The scene of a load: all tenants together.
pub(crate) fn of_load(run: &LoadRun) -> Vec<Scene> {
    let Some(part) = &run.measured else { return Vec::new() };
    let all = &part.all;
    let pacing = match run.workload.pacing {
        LoadLoop::Open => "open",
        LoadLoop::Closed => "closed",
        LoadLoop::Paced => "paced",
    };
    let named = part.tenants.iter().zip(part.names());
    let lost: Vec<_> = named.filter_map(|(own, name)| Some((own, name, own.fault.as_ref()?))).collect();
    let mut place = counted(u32::try_from(part.tenants.len()).unwrap_or(u32::MAX));
    if let Some((own, name, fault)) = lost.first() {
        let until = own.answered_until();
        place.push_str(&format!(" ({name}: {fault}; its last answers came within {until:.1} s)"));
    }
    let slow = part.slow_server();
    if let Some(slow) = &slow {
        place.push_str(&format!(" ({} was slow)", slow.name));
    }
    let scene = Scene::new(SceneKind::Load, Some(place)).word("loop", pacing);
    // What a server that is gone does not answer says nothing of the rate.
    let is_whole = lost.is_empty();
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let threads = part.client_cpu_seconds.iter().copied().fold(0.0, f64::max);
    let is_open = run.workload.pacing == LoadLoop::Open;
    let unanswered = if is_whole { all.unanswered } else { 0 };
    let mut facts = Facts { scene, rests_on: Confidence::Measured };
    for (fact, value) in [
        (Fact::Requests, Some(all.done as f64)),
        (Fact::Lost, Some(lost.len() as f64)),
        (Fact::SlowServer, slow.map(|slow| slow.p99_ns as f64 / slow.others_ns.max(1) as f64)),
        (Fact::Achieved, all.achieved_share.filter(|_| is_open && is_whole)),
        (Fact::LateSends, share(all.late, all.scheduled).filter(|_| is_open)),
        (Fact::LateAnswers, share(all.late_answers, all.done)),
        (Fact::Held, share(all.held, all.scheduled).filter(|_| is_open && is_whole)),
        (Fact::ClientBusy, (part.client_wall_seconds > 0.0).then(|| threads / part.client_wall_seconds)),
        (Fact::Misses, share(all.misses, all.gets)),
        (Fact::Errors, share(all.errors.saturating_add(unanswered), all.done.saturating_add(unanswered))),
    ] {
        facts.add(fact, value);
    }
    vec![facts.scene]
}
