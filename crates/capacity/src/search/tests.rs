//! The search against servers whose capacity is known.

use proptest::prelude::*;
use tiermark_stats::Rng;

use super::*;
use crate::budget::Budgets;
use tiermark_model::testing;

/// A server that holds `capacity` tenants within a P99 of 1.
struct Server {
    capacity: u32,
    /// P99 over the limit, of so many tenants.
    p99: fn(u32, u32) -> f64,
    /// Relative standard deviation of what a trial measures.
    noise: f64,
    /// Share of trials that something else disturbs: they are three times as slow.
    disturbed: f64,
    /// Most tenants since all were made anew: fewer run as badly, since nothing swaps back in by itself.
    filled: u32,
    rng: Rng,
}

/// Half the width of a measured P99's interval, relative.
const HALF_WIDTH: f64 = 0.003;

/// Slowly worse, then all at once.
fn cliff(tenants: u32, capacity: u32) -> f64 {
    if tenants > capacity { 10.0 } else { 0.3 + 0.3 * f64::from(tenants) / f64::from(capacity) }
}

/// A queue that fills: a tenant more or less is 3 % of the P99 at 128 tenants.
fn smooth(tenants: u32, capacity: u32) -> f64 {
    (f64::from(tenants) / (f64::from(capacity) + 0.5)).powi(8)
}

impl Server {
    fn new(capacity: u32, p99: fn(u32, u32) -> f64, seed: u64) -> Self {
        Self { capacity, p99, noise: 0.0, disturbed: 0.0, filled: 0, rng: Rng::new(seed) }
    }

    fn trial(&mut self, ask: &TrialRequest) -> Outcome {
        self.filled = if ask.fresh { ask.tenants } else { self.filled.max(ask.tenants) };
        let slow = if self.rng.unit() < self.disturbed { 3.0 } else { 1.0 };
        let measured = (self.p99)(self.filled, self.capacity) * (1.0 + self.noise * self.rng.normal()) * slow;
        match measured {
            m if m > 1.0 + HALF_WIDTH => Outcome::Fail,
            m if m > 1.0 - HALF_WIDTH => Outcome::Unclear,
            _ => Outcome::Pass,
        }
    }
}

/// Limits whose arithmetic says that memory holds `memory` and memory and tier `total`.
fn limits(memory: u32, total: u32) -> Limits {
    let budgets = Budgets {
        dram: u64::from(memory),
        reserve: 0,
        footprint: 1,
        tier: u64::from(total.saturating_sub(memory)),
        ratio: 1.0,
        cpus: 1.0,
        cpu_per_tenant: None,
    };
    Limits { arithmetic: budgets.arithmetic(), most_tenants: 10_000, only: None, most_trials: 1_000 }
}

#[test]
fn a_number_that_was_asked_for_is_tried_once_and_no_other() {
    for (outcome, fits) in [(Outcome::Pass, 108), (Outcome::Fail, 0), (Outcome::Unclear, 0)] {
        let asked = Limits { only: Some(108), most_trials: 1, ..limits(31, 134) };
        let mut search = Search::new(asked);
        let Step::Trial(ask) = search.next_step() else { panic!("no trial") };
        assert_eq!((ask.tenants, ask.phase, ask.fresh, ask.full), (108, Phase::Fixed, true, true));
        search.record(&ask, outcome);
        let Step::Done(answer) = search.next_step() else { panic!("another trial") };
        assert_eq!(answer, Answer::Fixed { tenants: 108, outcome });
        assert_eq!(answer.fits(), fits);
    }
}

/// Runs a search to its end; `adjust` may change each requested trial.
fn run(mut search: Search, server: &mut Server, adjust: fn(TrialRequest) -> TrialRequest) -> (Answer, u32) {
    loop {
        match search.next_step() {
            Step::Trial(ask) => {
                let ask = adjust(ask);
                let outcome = server.trial(&ask);
                search.record(&ask, outcome);
            }
            Step::Done(answer) => return (answer, search.trials()),
        }
    }
}

/// A capacity of 1 to 128 and an arithmetic that knows a part of it: memory holds a quarter of it to all, the tier up
/// to twice as much; one time in four the cpus or the latency end it long before memory does.
fn case(seed: u64) -> (u32, Limits) {
    let mut rng = Rng::new(seed ^ 0x00ca_9ac1);
    let capacity = 1 + rng.below(128) as u32;
    let share = |rng: &mut Rng, low: f64, high: f64| (f64::from(capacity) * (low + (high - low) * rng.unit())) as u32;
    let limits = if rng.below(4) == 0 {
        let memory = share(&mut rng, 1.0, 4.0);
        limits(memory, 2 * memory)
    } else {
        let memory = share(&mut rng, 0.25, 1.0);
        limits(memory, share(&mut rng, 1.0, 2.0))
    };
    (capacity, limits)
}

/// Of 200 seeds, those for which exactly the capacity was found within 2 log₂ N + 8 trials.
fn found(make: impl Fn(u32, u64) -> Server) -> usize {
    let exact = |seed: &u64| {
        let (capacity, limits) = case(*seed);
        let (answer, trials) = run(Search::new(limits), &mut make(capacity, *seed), |ask| ask);
        let bound = 2.0 * f64::from(capacity).log2() + 8.0;
        matches!(answer, Answer::Exactly { tenants, .. } if tenants == capacity) && f64::from(trials) <= bound
    };
    (0..200).filter(exact).count()
}

/// 95 % of 200.
const ENOUGH: usize = 190;

#[test]
fn the_exact_capacity_is_found_in_95_percent_of_200_seeds_within_2_log2_n_plus_8_trials() {
    let quiet = [found(|n, seed| Server::new(n, cliff, seed)), found(|n, seed| Server::new(n, smooth, seed))];
    assert_eq!(quiet, [200, 200], "without noise");
    let noisy = found(|n, seed| Server { noise: 0.05, disturbed: 0.03, ..Server::new(n, cliff, seed) });
    assert!(noisy >= ENOUGH, "a cliff, 5 % noise, 3 % of the trials disturbed: {noisy}");
    let noisy = found(|n, seed| Server { noise: 0.01, disturbed: 0.01, ..Server::new(n, smooth, seed) });
    assert!(noisy >= ENOUGH, "a smooth curve, 1 % noise, 1 % of the trials disturbed: {noisy}");
}

#[test]
fn a_search_that_went_down_without_a_fresh_fill_would_be_wrong() {
    // What the simulated servers must show for the test above to mean anything.
    let spoilt = |ask: TrialRequest| TrialRequest { fresh: false, ..ask };
    let wrong = (0..200).filter(|seed| {
        let (capacity, limits) = case(*seed);
        let (answer, _) = run(Search::new(limits), &mut Server::new(capacity, cliff, *seed), spoilt);
        !matches!(answer, Answer::Exactly { tenants, .. } if tenants == capacity)
    });
    assert!(wrong.count() > 150);
}

#[test]
fn one_tenant_too_many_and_one_that_fits_alone() {
    let (answer, trials) = run(Search::new(limits(31, 134)), &mut Server::new(0, cliff, 1), |ask| ask);
    assert!(matches!(&answer, Answer::None { why } if *why == messages::one_tenant_failed(2, 2)), "{answer:?}");
    assert_eq!(trials, 2);
    let bounded = Limits { most_tenants: 40, ..limits(31, 134) };
    let (answer, _) = run(Search::new(bounded), &mut Server::new(108, cliff, 1), |ask| ask);
    assert_eq!(answer, Answer::AtLeast { tenants: 40 });
}

#[test]
fn the_brief_s_server_is_searched_as_it_should_be() {
    let (mut search, mut server) = (Search::new(limits(31, 134)), Server::new(108, cliff, 1));
    let mut told = Vec::new();
    let answer = loop {
        match search.next_step() {
            Step::Trial(ask) => {
                told.push((ask.phase, ask.tenants, ask.fresh));
                let outcome = server.trial(&ask);
                search.record(&ask, outcome);
            }
            Step::Done(answer) => break answer,
        }
    };
    use Phase::{Baseline, Bisection, Ramp, Start, Verification};
    assert_eq!(
        told,
        [
            (Baseline, 1, true),
            (Start, 31, false),
            (Ramp, 39, false),
            (Ramp, 59, false),
            (Ramp, 118, false),
            (Bisection, 88, true),
            (Bisection, 103, true),
            (Bisection, 110, true),
            (Bisection, 106, true),
            (Bisection, 108, true),
            (Bisection, 109, true),
            (Verification, 109, true),
            (Verification, 108, true),
            (Verification, 108, true),
        ]
    );
    let votes = |passed, failed| Votes { passed, failed, unclear: 0 };
    assert_eq!(answer, Answer::Exactly { tenants: 108, votes: votes(3, 0), beyond: votes(0, 2) });
}

#[test]
fn an_edge_that_is_no_single_number_is_an_interval_around_it() {
    // From 50 to 60 tenants a trial passes as often as not.
    let mut intervals = 0;
    for seed in 0..100 {
        let (mut search, mut rng) = (Search::new(limits(31, 134)), Rng::new(seed));
        let answer = loop {
            match search.next_step() {
                Step::Trial(ask) if ask.tenants < 50 => search.record(&ask, Outcome::Pass),
                Step::Trial(ask) if ask.tenants > 60 => search.record(&ask, Outcome::Fail),
                Step::Trial(ask) => {
                    let outcome = if rng.below(2) == 0 { Outcome::Pass } else { Outcome::Fail };
                    search.record(&ask, outcome);
                }
                Step::Done(answer) => break answer,
            }
        };
        match answer {
            Answer::Exactly { tenants, .. } => assert!((49..=60).contains(&tenants), "{tenants}"),
            Answer::Between { low, high, why } => {
                let high = high.unwrap();
                assert!(low <= 60 && (49..=60).contains(&high) && low <= high, "{low} {high}");
                assert_eq!(why.code, messages::codes::trials_undecided);
                assert!(why.data["votes"]["passed"] != 0 && why.data["votes"]["failed"] != 0, "{why}");
                intervals += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(intervals >= 5, "{intervals}");
}

#[test]
fn what_cannot_be_told_is_an_interval_and_not_a_number() {
    let mut search = Search::new(limits(5, 5));
    let answer = loop {
        match search.next_step() {
            Step::Trial(ask) => {
                search.record(&ask, if ask.tenants <= 5 { Outcome::Pass } else { Outcome::Unclear });
            }
            Step::Done(answer) => break answer,
        }
    };
    let why = messages::trials_undecided(6, &Votes { passed: 0, failed: 0, unclear: 3 }, None);
    assert_eq!(answer, Answer::Between { low: 5, high: None, why });
}

#[test]
fn where_a_number_stays_unclear_fewer_are_tried() {
    let run = |outcome: fn(u32) -> Outcome| {
        let (mut search, mut tried) = (Search::new(limits(30, 30)), Vec::new());
        loop {
            match search.next_step() {
                Step::Trial(ask) => {
                    tried.push(ask.tenants);
                    search.record(&ask, outcome(ask.tenants));
                }
                Step::Done(answer) => return (tried, answer),
            }
        }
    };
    let (tried, answer) = run(|tenants| if tenants <= 16 { Outcome::Pass } else { Outcome::Unclear });
    assert_eq!(tried[..6], [1, 30, 30, 30, 15, 22]);
    assert!(matches!(answer, Answer::Between { low: 16, high: None, .. }), "{answer:?}");
    // What fails below it ends the search as usual.
    let (_, answer) = run(|tenants| match tenants {
        0..=9 => Outcome::Pass,
        10..=20 => Outcome::Fail,
        _ => Outcome::Unclear,
    });
    assert!(matches!(answer, Answer::Exactly { tenants: 9, .. }), "{answer:?}");
}

#[test]
fn an_unclear_trial_is_made_again_and_is_no_vote() {
    let mut search = Search::new(limits(5, 5));
    let mut again = Vec::new();
    let answer = loop {
        match search.next_step() {
            Step::Trial(ask) => {
                let outcome = match ask.number {
                    // The first trial at all, and one in four of the others.
                    1 | 4 | 8 => Outcome::Unclear,
                    _ if ask.tenants <= 5 => Outcome::Pass,
                    _ => Outcome::Fail,
                };
                again.extend((ask.why.code == says::codes::votes_unclear).then_some(ask.tenants));
                search.record(&ask, outcome);
            }
            Step::Done(answer) => break answer,
        }
    };
    let Answer::Exactly { tenants: 5, votes, beyond } = answer else { panic!("{answer:?}") };
    assert_eq!((votes.failed, beyond.passed, beyond.failed), (0, 0, 2));
    assert_eq!(again, [1, 6], "what was unclear alone was made again");
}

#[test]
fn a_search_that_stays_unclear_says_why() {
    let mut search = Search::new(limits(5, 5));
    let late = says::requests_sent_late(0.04.into());
    let answer = loop {
        match search.next_step() {
            Step::Trial(ask) => search.record(&ask, Vote { outcome: Outcome::Unclear, spoilt_by: Some(&late) }),
            Step::Done(answer) => break answer,
        }
    };
    let votes = Votes { passed: 0, failed: 0, unclear: 3 };
    let why = messages::trials_undecided(1, &votes, Some(&late));
    assert!(why.text.ends_with("3 unclear (the last: the load generator sent 4.0 % of the requests late)"), "{why}");
    assert_eq!(answer, Answer::Between { low: 0, high: None, why });
}

#[test]
fn only_what_fails_more_often_than_it_passes_ends_an_interval() {
    let told = |outcomes: &[(u32, Outcome)]| {
        let mut search = Search::new(limits(4, 8));
        for (tenants, outcome) in outcomes {
            let (tenants, phase) = (*tenants, Phase::Verification);
            let ask =
                TrialRequest { number: 1, tenants, phase, fresh: true, full: true, why: says::one_tenant_first() };
            search.record(&ask, *outcome);
        }
        let Answer::Between { low, high, .. } = search.given_up(messages::search_stopped()) else { panic!() };
        (low, high)
    };
    use Outcome::{Fail, Pass, Unclear};
    assert_eq!(told(&[]), (0, None), "nothing is known");
    assert_eq!(told(&[(8, Pass), (9, Unclear), (9, Unclear), (9, Unclear)]), (8, None));
    assert_eq!(told(&[(8, Pass), (9, Unclear), (12, Fail)]), (8, Some(11)));
    assert_eq!(told(&[(8, Pass), (9, Unclear), (9, Unclear), (9, Fail)]), (8, Some(8)));
    assert_eq!(told(&[(8, Pass), (9, Pass), (9, Fail), (12, Unclear)]), (8, None), "as many for as against");
    assert_eq!(told(&[(8, Pass), (10, Pass), (9, Fail), (9, Fail)]), (8, Some(10)), "it passed");
}

#[test]
fn trials_of_another_scenario_are_not_taken_up() {
    let record = |number, tenants, phase| testing::trial(number, tenants, phase, Outcome::Pass);
    let saved = [record(1, 1, Phase::Baseline), record(2, 30, Phase::Start)];
    let why = Search::resume(limits(31, 134), &saved).unwrap_err();
    assert_eq!(
        (why.code, &why.data["trial"], &why.data["asked"]),
        (says::codes::saved_trial_differs, &2.into(), &31.into())
    );
    assert!(Search::resume(limits(30, 134), &saved).is_ok());
    let spent = Limits { most_trials: 1, ..limits(30, 134) };
    assert_eq!(Search::resume(spent, &saved).unwrap_err().code, says::codes::saved_trial_after_end);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the outcomes, a search ends, stays within its limits, and resumes where it stopped.
    #[test]
    fn any_outcomes_end_within_the_limits(
        seed: u64, memory in 0u32..2_000, total in 0u32..5_000, most_tenants in 0u32..3_000, most_trials in 0u32..60,
    ) {
        let limits = Limits { most_tenants, most_trials, ..limits(memory, total) };
        let (mut search, mut rng, mut saved) = (Search::new(limits), Rng::new(seed), Vec::new());
        while let Step::Trial(ask) = search.next_step() {
            prop_assert!((1..=most_tenants.max(1)).contains(&ask.tenants), "{ask:?}");
            prop_assert!(search.trials() < most_trials && ask.number == search.trials() + 1 && !ask.why.text.is_empty());
            let outcome = [Outcome::Pass, Outcome::Fail, Outcome::Unclear][rng.below(3)];
            let record = ask.record(outcome, says::nothing_measured());
            search.record(&ask, &record);
            saved.push(record);
            let resumed = Search::resume(limits, &saved);
            let said = |step: Step| match step {
                Step::Trial(ask) => (Some((ask.tenants, ask.phase, ask.full)), None),
                Step::Done(answer) => (None, Some(answer)),
            };
            let resumed = resumed.map(|search| search.next_step());
            if let Ok(Step::Trial(ask)) = &resumed {
                prop_assert!(ask.fresh, "nothing runs any more");
            }
            prop_assert_eq!(resumed.map(said), Ok(said(search.next_step())));
        }
        if let Step::Done(Answer::Exactly { tenants, votes, beyond }) = search.next_step() {
            prop_assert!(votes.passed >= 3 && votes.passed > votes.failed, "{votes:?}");
            prop_assert!(beyond.failed >= 2 && beyond.failed > beyond.passed, "{beyond:?}");
            // A short trial on the way up, or of tenants added to others, is no proof.
            let solid = |p: &&TrialRecord| p.tenants == tenants + 1 && p.fresh && !matches!(p.phase, Phase::Baseline | Phase::Start | Phase::Ramp);
            let failed = saved.iter().filter(solid).filter(|p| p.outcome == Outcome::Fail).count();
            prop_assert_eq!(failed as u32, beyond.failed);
            let clear = saved.iter().filter(|p| p.tenants == tenants && p.outcome != Outcome::Unclear);
            let last: Vec<Outcome> = clear.map(|p| p.outcome).collect();
            prop_assert!(last.ends_with(&[Outcome::Pass; 3]), "three in succession: {last:?}");
        }
        if let Answer::Between { low, high, .. } = search.given_up(messages::search_stopped()) {
            prop_assert!(low <= most_tenants.max(1) && high.is_none_or(|high| (low..=most_tenants.max(1)).contains(&high)), "{low} {high:?}");
        }
    }
}

/// A search up to the moment at which 5 have failed twice on the way and 4 hold.
fn with_a_doubtful_five(second: (Phase, bool)) -> Search {
    let mut search = Search::new(limits(4, 8));
    let mut tell = |tenants, phase, fresh, full, outcome| {
        let ask = TrialRequest { number: search.trials() + 1, tenants, phase, fresh, full, why: says::votes_tied(1) };
        search.record(&ask, outcome);
    };
    tell(1, Phase::Baseline, true, false, Outcome::Pass);
    (0..3).for_each(|_| tell(4, Phase::Verification, true, true, Outcome::Pass));
    tell(5, Phase::Ramp, false, false, Outcome::Fail);
    tell(5, second.0, second.1, second.0 != Phase::Ramp, Outcome::Fail);
    search
}

#[test]
fn failures_on_the_way_up_prove_nothing() {
    // Two failures, of which none or one was in full and from a fresh fill: again.
    for second in [(Phase::Ramp, true), (Phase::Verification, false), (Phase::Verification, true)] {
        let search = with_a_doubtful_five(second);
        assert_eq!(search.votes(5).failed, 2);
        let Step::Trial(ask) = search.next_step() else { panic!("{second:?}: {:?}", search.next_step()) };
        assert_eq!((ask.tenants, ask.fresh, ask.full), (5, true, true), "{}", ask.why);
    }
    let mut search = with_a_doubtful_five((Phase::Verification, true));
    let Step::Trial(ask) = search.next_step() else { panic!() };
    search.record(&ask, Outcome::Fail);
    let beyond = Votes { passed: 0, failed: 2, unclear: 0 };
    let votes = Votes { passed: 3, failed: 0, unclear: 0 };
    assert_eq!(search.next_step(), Step::Done(Answer::Exactly { tenants: 4, votes, beyond }));
}
