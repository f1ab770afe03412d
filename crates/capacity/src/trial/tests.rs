//! Which outcome a trial has, and what is kept of one that a guard ended.

use tiermark_load::{Latencies, TenantResult};
use tiermark_model::capacity::{Phase as Purpose, Resource};
use tiermark_model::messages::trials::codes::guard_ended_trial;

use super::*;
use crate::backend::Counted;
use crate::scenario::{Size, built_in};

/// A tenant that answers in 2 ms, and ends by itself in one of the loads, counted from 1.
struct Answering {
    loads: u32,
    ends_in: u32,
}

impl Backend for Answering {
    fn count(&self) -> u32 {
        1
    }

    fn grow(&mut self, _: u32, _: &mut LoadSpec<'_>, _: &mut System) -> Result<Option<Loaded>, Refusal> {
        Ok(None)
    }

    fn load(&mut self, spec: &mut LoadSpec<'_>, _: Phase) -> Result<Loaded, Refusal> {
        self.loads += 1;
        let goes_on = (spec.watcher)(&Pulse { load: None, ended: self.ended(), counted: None });
        let mut response = Latencies::new();
        (0..100).for_each(|_| response.record(2_000_000));
        let tenant = TenantResult { response, scheduled: 100, done: 100, done_in_time: 100, ..TenantResult::default() };
        Ok(Loaded { tenants: vec![tenant], thread_cpu: vec![0.1], wall: 1.0, stopped: !goes_on, started_ms: None })
    }

    fn clear(&mut self, _: &mut System) -> Result<(), Refusal> {
        Ok(())
    }

    fn ended(&mut self) -> u32 {
        u32::from(self.loads >= self.ends_in)
    }

    fn counted(&self) -> Option<Counted> {
        None
    }
}

fn ask() -> TrialRequest {
    let why = says::one_tenant_first();
    TrialRequest { number: 1, tenants: 1, phase: Purpose::Fixed, fresh: false, full: true, why }
}

/// The result of a full trial, with a warm-up or without, whose tenant ends in this load.
fn trial(warm_up: f64, ends_in: u32) -> Trial {
    let mut scenario = Scenario::read(built_in().iter().find(|(name, _)| *name == "mini").unwrap().1).unwrap();
    (scenario.time.warm_up, scenario.time.settle) = (warm_up, 0.0);
    scenario.limits.memory_floor = Size(0);
    let requests = Requests { gets: scenario.load.mixes[0], keys: scenario.load.keys[0] };
    let (client, stop, active) = (ClientSetup::default(), AtomicBool::new(false), ActiveTier::default());
    let runner = TrialRunner { scenario: &scenario, requests, client: &client, stop: &stop, seed: 1, active: &active };
    let mut backend = Answering { loads: 0, ends_in };
    let made = runner.trial(&ask(), &mut backend, &mut System::untouched(), &mut |_| {});
    made.unwrap_or_else(|refusal| panic!("{refusal}")).unwrap()
}

#[test]
fn what_was_measured_until_a_guard_ended_the_trial_is_kept_and_marked() {
    let whole = trial(1.0, u32::MAX).point.unwrap();
    assert!(!whole.ended_early && whole.requests >= 200, "{whole:?}");
    // In the warm-up, and in the first iteration.
    for warm_up in [1.0, 0.0] {
        let ended = trial(warm_up, 1);
        assert_eq!(
            (ended.record.outcome, ended.record.decided_by.code),
            (Outcome::Fail, guard_ended_trial),
            "{warm_up}"
        );
        let point = ended.point.unwrap_or_else(|| panic!("{warm_up}: no times"));
        assert!(point.ended_early && point.requests == 100 && point.p99_ns > 1.9e6, "{warm_up}: {point:?}");
    }
}

#[test]
fn the_time_limit_decides_only_where_nothing_else_does() {
    let abort = |guard| Abort { guard, cause: says::trial_too_long(61.0, 60.0), ended_by: None };
    let (wall, oom) = (abort(Guard::Wall), abort(Guard::Oom));
    let judged = |outcome| Judgement { outcome, decided_by: says::nothing_measured() };
    assert!(decides(&wall, None, None) && decides(&wall, None, Some(&judged(Outcome::Unclear))));
    for clear in [Outcome::Pass, Outcome::Fail] {
        assert!(!decides(&wall, None, Some(&judged(clear))) && decides(&oom, None, Some(&judged(clear))));
    }
    let refused = says::request_refused("OOM");
    let trouble = Some(&refused);
    assert!(!decides(&wall, trouble, None) && decides(&oom, trouble, None));
    let result = Trial::aborted(&ask(), wall).record;
    assert_eq!(result.outcome, Outcome::Unclear);
    assert_eq!(result.decided_by.text, "time limit: the trial took 61 s, 60 s are allowed (trial-seconds)");
}

#[test]
fn what_is_not_the_servers_limit_makes_a_failure_unclear_and_nothing_else() {
    let by = |resource| Some(Ended { resource, why: says::nothing_measured() });
    for (outcome, ran_out, said) in [
        (Outcome::Fail, by(Resource::Client), Outcome::Unclear),
        (Outcome::Fail, by(Resource::Others), Outcome::Unclear),
        (Outcome::Fail, by(Resource::Cpu), Outcome::Fail),
        (Outcome::Fail, None, Outcome::Fail),
        // Its times hold what the client was late by: the server was better.
        (Outcome::Pass, by(Resource::Client), Outcome::Pass),
    ] {
        assert_eq!(of_the_server(outcome, ran_out.as_ref()), said, "{outcome:?} {ran_out:?}");
    }
}
