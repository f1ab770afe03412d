//! Runs of tenants and of load: what limited them, from the evidence of their own trials.

use tiermark_expect::explain::{explain_capacity, explain_load, rests_on_figures};
use tiermark_model::capacity::{
    Answer, CAPACITY_SCHEMA, Capacity, Case, Ended, Evidence, LimitOf, Outcome, Phase, Resource, TrialRecord, Votes,
};
use tiermark_model::load::{LoadLoop, LoadRun, LoadTenant};
use tiermark_model::messages::capacity as says;
use tiermark_model::messages::trials;
use tiermark_model::testing;
use tiermark_model::{Bytes, Explanation, MIB, Machine, Tool};

fn trial(number: u32, tenants: u32, outcome: Outcome, ended_by: Option<Ended>, seen: Option<Evidence>) -> TrialRecord {
    TrialRecord { ended_by, evidence: seen, ..testing::trial(number, tenants, Phase::Verification, outcome) }
}

/// A search whose sixth tenant ended it so.
fn ended(resource: Resource, why: tiermark_model::Note, outcome: Outcome, seen: Option<Evidence>) -> Case {
    let by = Ended { resource, why };
    let quiet = Evidence { cpu: Some(0.3), ..Evidence::default() };
    Case {
        tier: "zram".into(),
        load: "100 % GET, uniform".into(),
        answer: Answer::Exactly { tenants: 5, votes: Votes::default(), beyond: Votes::default() },
        over_dram: None,
        ended_by: Some(by.clone()),
        settings: Vec::new(),
        curve: Vec::new(),
        trials: vec![trial(1, 6, outcome, Some(by), seen), trial(2, 5, Outcome::Pass, None, Some(quiet))],
    }
}

fn run(case: Case) -> Capacity {
    Capacity {
        id: String::new(),
        schema: CAPACITY_SCHEMA.into(),
        tool: Tool::default(),
        started: "2026-11-21T19:14:48Z".into(),
        seed: 7,
        labels: tiermark_model::RunLabels::new(),
        machine: Machine::default(),
        health: None,
        scenario: "mini".into(),
        workload: String::new(),
        level: String::new(),
        limits: Vec::new(),
        most_tenants: None,
        cases: vec![case],
        cost: None,
        refused: Vec::new(),
        warnings: vec![says::others_busy(0.4.into(), "cc 0.8", "over the whole run")],
    }
}

fn names(found: &Explanation) -> Vec<&str> {
    found.found.iter().map(|one| one.rule.as_str()).collect()
}

/// The numbers of what was found first.
fn numbers_of(found: &Explanation) -> Vec<(&str, f64)> {
    found.found[0].numbers.iter().map(|number| (number.name.as_str(), number.value)).collect()
}

/// The reason of a trial in which one of six tenants missed a limit.
fn missed(of: LimitOf, limit: &str, value: f64) -> tiermark_model::Note {
    let of_one = trials::limit_decides(of, limit, value, value, value, "1", &trials::of_tenant(1));
    trials::too_few_tenants(true, 1, 6, &of_one)
}

/// Requests are fast, and no counter shows a resource that ran out.
#[test]
fn a_missed_hit_rate_is_explained_by_the_keys_and_not_by_times() {
    let seen = Evidence {
        hit_share: Some(0.47),
        cpu: Some(0.9),
        tenants_cpu: Some(0.2),
        client_share: Some(0.1),
        ..Evidence::default()
    };
    let why = trials::keys_evicted(0.47, "hit rate > 60 %", None);
    let mut case = ended(Resource::Maxmemory, why, Outcome::Fail, Some(seen));
    case.trials[0].decided_by = missed(LimitOf::HitRate, "hit rate > 60 %", 0.47);
    let mut older = case.clone();
    older.ended_by = None;
    older.trials[0].ended_by = None;
    for case in [case, older] {
        let found = explain_capacity("last", &run(case));
        assert_eq!(names(&found), ["tenants-keys"], "{found:?}");
        assert_eq!(numbers_of(&found), [("hits", 0.47)]);
        assert!(!found.found[0].place.as_ref().unwrap().contains("busiest"), "{found:?}");
    }
}

#[test]
fn a_cpu_quota_is_named_and_no_other_program() {
    let quota = tiermark_model::capacity::QuotaUse { cpus: 0.4, file: "/cg/cpu.max".into(), throttled: 18 };
    let seen = Evidence { late_sends: Some(0.7), client_cpu: Some(0.3), quota: Some(quota), ..Evidence::default() };
    let seen = Evidence { cpu: Some(0.9), tenants_cpu: Some(0.1), client_share: Some(0.1), ..seen };
    let why = trials::quota_enforced(0.4, "/cg/cpu.max", 18);
    let found = explain_capacity("last", &run(ended(Resource::Quota, why, Outcome::Unclear, Some(seen))));
    assert_eq!(names(&found), ["tenants-quota"], "{found:?}");
    let place = found.found[0].place.as_ref().unwrap();
    assert!(place.contains("/cg/cpu.max") && !place.contains("busiest"), "{place}");
    assert!(numbers_of(&found).contains(&("throttled", 18.0)), "{found:?}");
}

#[test]
fn each_end_of_a_search_has_its_explanation_and_no_other() {
    use Outcome::{Fail, Unclear};
    use Resource::{Client, Cpu, Link, MemoryTier};
    let faults = |faults: f64| {
        let seen = Evidence {
            faults_per_request: Some(faults),
            swap_bytes_per_request: Some(4096.0 * faults),
            memory_wait: Some(0.3),
            oom_kills: Some(0),
            ..Evidence::default()
        };
        Some(seen)
    };
    let cpus = Evidence { cpu: Some(0.97), tenants_cpu: Some(0.6), client_share: Some(0.35), ..Evidence::default() };
    let late = Evidence { late_sends: Some(0.04), client_cpu: Some(0.95), ..Evidence::default() };
    // Nothing is known of tenants elsewhere.
    let waits = Evidence { late_sends: Some(0.067), client_cpu: Some(0.037), cpu: Some(0.8), ..Evidence::default() };
    for (case, rule) in [
        // Killed while it was filled: there is no evidence but the reason.
        (ended(MemoryTier, trials::processes_killed(2), Fail, None), "tenants-memory"),
        (ended(MemoryTier, trials::waited_for_memory(0.3.into()), Fail, faults(0.4)), "tenants-tier"),
        (ended(MemoryTier, trials::waited_for_memory(0.3.into()), Fail, faults(0.001)), "tenants-memory-full"),
        // Compressed memory fills up while requests fault, and are fast enough.
        (
            ended(MemoryTier, trials::compressed_takes_dram(Bytes(490 * MIB), Bytes(512 * MIB)), Fail, faults(3.1)),
            "tenants-pool",
        ),
        (
            ended(MemoryTier, trials::memory_below_floor(Bytes(MIB), Bytes(2 * MIB)), Fail, faults(3.1)),
            "tenants-memory-full",
        ),
        (ended(Cpu, trials::waited_for_cpu(0.6.into()), Fail, Some(cpus)), "tenants-cpu"),
        (ended(Client, trials::requests_sent_late(0.04.into()), Unclear, Some(late)), "tenants-client"),
        (ended(Client, trials::requests_sent_late(0.04.into()), Unclear, Some(waits)), "tenants-client"),
        (ended(Link, trials::link_full(0.95.into()), Fail, None), "tenants-link"),
    ] {
        let found = explain_capacity("last", &run(case));
        assert_eq!(names(&found), [rule], "{found:?}");
        assert!(rests_on_figures(&found));
        assert!(found.found[0].place.as_ref().unwrap().starts_with("zram, 100 % GET, uniform, 6 tenants"), "{found:?}");
        if rule == "tenants-client" {
            let is_busy = numbers_of(&found).contains(&("client.busy", 0.95));
            assert_eq!(found.found[0].found.contains("at its limit"), is_busy, "{found:?}");
            assert_eq!(found.found[0].found.contains("had to wait for a cpu"), !is_busy, "{found:?}");
            assert_eq!(numbers_of(&found).contains(&("cpus.busy", 0.8)), !is_busy, "{found:?}");
        }
        // Rules of memory have no place here.
        assert!(found.unjudged.iter().all(|one| one.rule.starts_with("tenants-")), "{:?}", found.unjudged);
    }
}

#[test]
fn a_search_without_an_end_says_that_nothing_limited_it_and_a_failure_without_a_cause_that_none_is_known() {
    let mut case = ended(Resource::Cpu, trials::waited_for_cpu(0.6.into()), Outcome::Fail, None);
    case.ended_by = None;
    case.trials[0].ended_by = None;
    assert_eq!(names(&explain_capacity("last", &run(case.clone()))), ["tenants-failed"]);
    case.trials[0].decided_by = missed(LimitOf::Time, "P99 < 5 ms", 6e6);
    let found = explain_capacity("last", &run(case.clone()));
    assert_eq!(names(&found), ["tenants-level"]);
    assert!(
        found.found[0].place.as_ref().unwrap().ends_with("6 tenants (1 of 6 tenants fails: P99 < 5 ms: 1 of tenant 1)")
    );
    case.trials.remove(0);
    case.answer = Answer::AtLeast { tenants: 5 };
    let found = explain_capacity("last", &run(case.clone()));
    assert_eq!(names(&found), ["tenants-not-limited"]);
    assert!(found.found[0].place.as_ref().unwrap().ends_with("5 tenants"), "{found:?}");
    case.trials.clear();
    assert!(explain_capacity("last", &run(case)).is_empty());
}

/// A search without a resource that ran out.
fn searched(answer: Answer, trials: &[(u32, Outcome)]) -> Explanation {
    let made = |(number, (tenants, outcome)): (u32, &(u32, Outcome))| {
        let quiet = Evidence { cpu: Some(0.1), ..Evidence::default() };
        let decided_by = trials::closest_to_limit("P99 < 1 ms", 1.2e6, "1.2 ms", 1);
        TrialRecord { decided_by, ..trial(number, *tenants, *outcome, None, Some(quiet)) }
    };
    let trials = (1..).zip(trials).map(made).collect();
    let base = ended(Resource::Cpu, trials::waited_for_cpu(0.6.into()), Outcome::Fail, None);
    explain_capacity("last", &run(Case { answer, ended_by: None, trials, ..base }))
}

/// Nothing is known of what limits the tenants, which is a problem of the run.
#[test]
fn unclear_trials_are_a_problem_with_their_reason() {
    use Outcome::{Fail, Pass, Unclear};
    let open = |low| Answer::Between { low, high: None, why: says::search_stopped() };
    for (answer, trials) in [
        (open(0), &[(1, Unclear), (1, Unclear), (1, Unclear)][..]),
        (open(1), &[(1, Pass), (5, Unclear), (5, Unclear), (5, Unclear)]),
        (Answer::Fixed { tenants: 12, outcome: Unclear }, &[(12, Unclear)]),
        // A failure of tenants that fit was outvoted.
        (open(4), &[(4, Fail), (4, Pass), (4, Pass), (5, Unclear)]),
    ] {
        let found = searched(answer, trials);
        assert_eq!(names(&found), ["tenants-unclear"], "{trials:?}");
        let place = found.found[0].place.as_deref().unwrap();
        assert!(place.ends_with(&format!("{} (P99 < 1 ms: 1.2 ms of tenant 1 at worst)", count(trials))), "{place}");
        assert!(found.of(tiermark_model::ExplainedKind::Problem).next().is_some(), "{found:?}");
    }
    fn count(trials: &[(u32, Outcome)]) -> String {
        tiermark_model::capacity::tenants(trials.last().unwrap().0)
    }
}

#[test]
fn a_failure_that_was_outvoted_is_not_what_limited_the_tenants() {
    use Outcome::{Fail, Pass};
    let exactly = Answer::Exactly { tenants: 8, votes: Votes::default(), beyond: Votes::default() };
    let outvoted = [(4, Fail), (4, Pass), (4, Pass), (8, Pass)];
    for (answer, after, rule, tenants) in [
        (exactly, &[(9, Fail), (9, Fail), (8, Pass), (8, Pass)][..], "tenants-failed", "9 tenants"),
        (Answer::AtLeast { tenants: 8 }, &[(8, Fail), (8, Pass), (8, Pass)], "tenants-not-limited", "8 tenants"),
    ] {
        let found = searched(answer, &[&outvoted, after].concat());
        assert_eq!(names(&found), [rule]);
        assert!(found.found[0].place.as_deref().unwrap().contains(&format!(", {tenants}")), "{found:?}");
    }
}

#[test]
fn programs_that_disturbed_are_those_of_the_run() {
    let seen = |others: f64| Evidence {
        cpu: Some(0.95),
        tenants_cpu: Some(0.5),
        client_share: Some(0.45 - others),
        ..Evidence::default()
    };
    let of = |others| run(ended(Resource::Cpu, trials::waited_for_cpu(0.6.into()), Outcome::Fail, Some(seen(others))));
    let found = explain_capacity("last", &of(0.3));
    // An older document says that the tenants used the cpus up.
    assert_eq!(names(&found), ["tenants-others"]);
    assert!(found.found[0].place.as_ref().unwrap().contains("cc 0.8"), "{found:?}");
    let by_others =
        ended(Resource::Others, trials::others_took_cpus(0.95.into(), 0.3.into()), Outcome::Unclear, Some(seen(0.3)));
    assert_eq!(names(&explain_capacity("last", &run(by_others))), ["tenants-others"]);
    assert_eq!(names(&explain_capacity("last", &of(0.05))), ["tenants-cpu"]);
}

/// A load that is all as it should be.
fn load(pacing: LoadLoop) -> LoadRun {
    let mut run: LoadRun = serde_json::from_str(include_str!("../../../../../fuzz/seeds/load.json")).unwrap();
    (run.workload.pacing, run.workload.requests_per_second) = (pacing, Some(1000.0));
    let part = run.measured.as_mut().unwrap();
    part.all = LoadTenant {
        target: "all".into(),
        seconds: 10.0,
        requests_per_second: 1000.0,
        achieved_share: Some(1.0),
        scheduled: 10_000,
        sent: 10_000,
        done: 10_000,
        done_in_time: 10_000,
        gets: 10_000,
        ..LoadTenant::default()
    };
    part.tenants = vec![part.all.clone()];
    (part.client_cpu_seconds, part.client_wall_seconds) = (vec![1.0], 10.0);
    part.client_cpu_seconds_per_request = None;
    run
}

#[test]
fn a_load_says_whether_client_or_servers_delayed_it() {
    let with = |change: fn(&mut LoadTenant)| {
        let mut run = load(LoadLoop::Open);
        let part = run.measured.as_mut().unwrap();
        change(&mut part.all);
        part.tenants = vec![part.all.clone()];
        explain_load("load.json", &run)
    };
    assert_eq!(names(&with(|_| ())), [] as [&str; 0]);
    assert_eq!(names(&with(|all| all.late = 500)), ["load-client"]);
    assert_eq!(names(&with(|all| all.late_answers = 500)), ["load-client"]);
    assert_eq!(names(&with(|all| all.unanswered = 3)), ["load-errors"]);
    let lost = with(|all| {
        (all.fault, all.seconds, all.unanswered) = (Some(tiermark_model::messages::load::tenant_hung_up()), 3.0, 5);
        (all.achieved_share, all.held) = (Some(0.37), 5000);
    });
    assert_eq!(names(&lost), ["load-lost"]);
    let behind = with(|all| (all.achieved_share, all.held) = (Some(0.8), 5000));
    assert_eq!(names(&behind), ["load-behind", "load-held"]);
    assert_eq!(names(&with(|all| all.misses = 5000)), ["load-misses"]);
    let late_and_behind = with(|all| (all.achieved_share, all.late) = (Some(0.8), 5000));
    assert_eq!(names(&late_and_behind), ["load-client"], "what the client missed says nothing of the servers");
    assert_eq!(names(&explain_load("load.json", &load(LoadLoop::Closed))), ["load-closed"]);
    let mut run = load(LoadLoop::Open);
    let part = run.measured.as_mut().unwrap();
    let server = |target: &str, p99: u64| {
        let mut own = LoadTenant { target: target.into(), max_late_ns: 10_000_000, ..part.all.clone() };
        own.service.p99 = Some(p99);
        own
    };
    part.tenants = vec![server("a:1", 7_000_000), server("b:2", 398_000_000)];
    part.all.late = 500;
    let slow = explain_load("load.json", &run);
    assert_eq!(names(&slow), ["load-slow", "load-client"]);
    let unmeasured = LoadRun { measured: None, ..load(LoadLoop::Open) };
    assert!(explain_load("load.json", &unmeasured).is_empty());
}
