//! Limits of each guard, and what the end of a trial says.

use super::*;

const GUARDS: Guards = Guards { floor: 1 << 30, wall: 60.0, rate: 1.0, client: 1 << 30, usual: 1 << 28 };

fn calm() -> Sample {
    Sample {
        at: 5.0,
        oom_kills: 0,
        ended: 0,
        swap_used: 94,
        swap_total: 100,
        elsewhere: 4 << 20,
        window: Some(Answered { done: 5000, due: 5000 }),
        loaded: 30.0,
        backlog: 1.0,
        memory_full: Some(20.0),
        available: 1 << 30,
        heartbeat_late: 1.0,
        client: 1 << 30,
    }
}

#[test]
fn each_guard_ends_a_trial_just_beyond_its_limit() {
    assert_eq!(abort(&[calm()], &GUARDS), None);
    assert_eq!(abort(&[], &GUARDS), None);
    for (sample, guard, said, resource) in [
        (
            Sample { oom_kills: 1, ended: 1, ..calm() },
            Guard::Oom,
            "killed 1 process because",
            Some(Resource::MemoryTier),
        ),
        (Sample { ended: 1, ..calm() }, Guard::TenantEnded, "1 tenant ended", None),
        (Sample { swap_used: 96, ..calm() }, Guard::SwapFull, "96 % of 100 B", Some(Resource::MemoryTier)),
        (Sample { elsewhere: 5 << 20, ..calm() }, Guard::Elsewhere, "5 MiB were swapped to areas", None),
        (
            Sample { memory_full: Some(20.6), ..calm() },
            Guard::Pressure,
            "21 % of the last 10 s",
            Some(Resource::MemoryTier),
        ),
        (
            Sample { available: (1 << 30) - 1, ..calm() },
            Guard::Floor,
            "1 GiB must stay free",
            Some(Resource::MemoryTier),
        ),
        (Sample { client: (1 << 30) + 1, ..calm() }, Guard::Client, "its work needs less than 1 GiB", None),
        (Sample { heartbeat_late: 1.1, ..calm() }, Guard::Heartbeat, "1.1 s late", None),
        (Sample { backlog: 1.1, ..calm() }, Guard::Backlog, "1.1 s behind", None),
        (Sample { at: 60.5, ..calm() }, Guard::Wall, "60 s are allowed", None),
    ] {
        let found = abort(&[sample], &GUARDS).unwrap_or_else(|| panic!("{guard}"));
        assert_eq!((found.guard, found.ended_by.map(|e| e.resource)), (guard, resource));
        assert!(found.cause.text.contains(said), "{}", found.cause);
    }
    let much = Sample { swap_used: 900 << 20, swap_total: 1 << 30, elsewhere: 9 << 20, ..calm() };
    assert_eq!(abort(&[much], &GUARDS), None, "no more than one in a hundred");
    assert!(abort(&[Sample { elsewhere: 10 << 20, ..much }], &GUARDS).is_some());
    assert_eq!(abort(&[Sample { swap_total: 0, swap_used: 0, elsewhere: 1 << 30, ..calm() }], &GUARDS), None);
    assert_eq!(abort(&[Sample { swap_total: 0, swap_used: 0, memory_full: None, ..calm() }], &GUARDS), None);
}

/// A client that is too large, and counters that cannot be read, say nothing of the server, and no other trial may
/// follow.
#[test]
fn what_ends_the_run_says_nothing_of_the_server() {
    let large = abort(&[Sample { client: u64::MAX, ..calm() }], &GUARDS).unwrap();
    for ended in [large, Abort::blind("proc/meminfo has no line MemAvailable")] {
        assert!(ended.ends_the_run() && ended.outcome(None) == Outcome::Unclear, "{ended:?}");
    }
    assert!(!abort(&[Sample { ended: 1, ..calm() }], &GUARDS).unwrap().ends_the_run());
}

fn second(at: f64, done: u64, due: u64) -> Sample {
    Sample { at, window: Some(Answered { done, due }), ..calm() }
}

#[test]
fn a_rate_is_missed_for_three_seconds_before_it_counts() {
    let mut samples = vec![second(1.0, 5000, 5000), second(2.0, 2500, 5000), second(3.0, 4500, 5000)];
    assert_eq!(abort(&samples, &GUARDS), None);
    samples.push(second(4.0, 4700, 5000));
    let found = abort(&samples, &GUARDS).unwrap();
    assert_eq!(
        (found.guard, found.cause.text.as_str()),
        (Guard::Rate, "78 % of the requests due in 3 s were answered, below 95 %")
    );
    let nearly = [second(1.0, 1, 1), second(4.5, 947_000, 1_000_000)];
    assert!(abort(&nearly, &GUARDS).unwrap().cause.text.starts_with("94 % of the requests due"), "below 95 %");
    samples.push(second(5.0, 4800, 5000));
    assert_eq!(abort(&samples, &GUARDS), None, "it caught up");
    let before = Sample { window: None, ..second(9.0, 0, 0) };
    assert_eq!(abort(&[before, before, before], &GUARDS), None, "the load has not started");
    let idle: Vec<Sample> = (1..9).map(|at| second(f64::from(at), 0, 0)).collect();
    assert_eq!(abort(&idle, &GUARDS), None, "nothing was due");
}

#[test]
fn few_requests_may_be_short_by_chance() {
    // Of 20 a second one or two are always under way; three of them three times are 93 %.
    let few: Vec<Sample> =
        [(17, 20), (18, 20), (18, 20)].iter().zip(2..).map(|((d, n), at)| second(f64::from(at), *d, *n)).collect();
    let with = |many: u64| {
        let scaled = few.iter().map(|s| s.window.map(|w| second(s.at, w.done * many, w.due * many)));
        std::iter::once(second(1.0, 1, 1)).chain(scaled.flatten()).collect::<Vec<Sample>>()
    };
    assert_eq!(abort(&with(1), &GUARDS), None);
    assert_eq!(abort(&with(100), &GUARDS).map(|found| found.guard), Some(Guard::Rate), "as a share the same");
    // It goes on, and cannot be chance any more.
    let on: Vec<Sample> = (1..40).map(|at| second(f64::from(at), 17, 20)).collect();
    assert_eq!(abort(&on, &GUARDS).map(|found| found.guard), Some(Guard::Rate));
}

#[test]
fn a_level_that_promises_less_of_the_rate_has_laxer_guards() {
    let lax = Guards { rate: 0.9, ..GUARDS };
    let at = |share: u64| (1..6).map(|at| second(f64::from(at), share * 100, 10_000)).collect::<Vec<Sample>>();
    assert!(abort(&at(91), &GUARDS).is_some() && abort(&at(91), &lax).is_none());
    assert!(abort(&at(87), &lax).is_none(), "what the level refuses is for the level to say");
    assert_eq!(abort(&at(80), &lax).map(|found| found.guard), Some(Guard::Rate));
    let behind = Sample { backlog: 3.5, loaded: 30.0, ..calm() };
    assert_eq!(abort(&[behind], &GUARDS).map(|found| found.guard), Some(Guard::Backlog));
    assert_eq!(abort(&[behind], &lax), None, "3 s in 30 s are nine of ten");
    assert_eq!(abort(&[Sample { backlog: 4.5, ..behind }], &lax).map(|found| found.guard), Some(Guard::Backlog));
}

#[test]
fn what_the_client_or_others_spoilt_is_no_vote() {
    let of = |guard, resource: Option<Resource>| {
        let abort = Abort { guard, cause: says::nothing_measured(), ended_by: None };
        abort.outcome(resource.map(|resource| Ended { resource, why: says::nothing_measured() }).as_ref())
    };
    for guard in [Guard::Rate, Guard::Backlog] {
        assert_eq!([of(guard, Some(Resource::Client)), of(guard, Some(Resource::Others))], [Outcome::Unclear; 2]);
        assert_eq!([of(guard, Some(Resource::Cpu)), of(guard, None)], [Outcome::Fail; 2]);
    }
    assert_eq!([of(Guard::Heartbeat, None), of(Guard::Heartbeat, Some(Resource::Cpu))], [Outcome::Unclear; 2]);
    assert_eq!(of(Guard::Heartbeat, Some(Resource::MemoryTier)), Outcome::Fail, "it thrashes");
    assert_eq!([of(Guard::Wall, None), of(Guard::Wall, Some(Resource::MemoryTier))], [Outcome::Unclear; 2]);
    assert_eq!(of(Guard::Elsewhere, Some(Resource::MemoryTier)), Outcome::Unclear);
    assert_eq!([of(Guard::Oom, Some(Resource::Client)), of(Guard::TenantEnded, None)], [Outcome::Fail; 2]);
}

#[test]
fn what_ran_out_of_a_slow_trial_is_left_to_its_evidence() {
    let found = abort(&[Sample { backlog: 2.0, ..calm() }], &GUARDS).unwrap();
    assert_eq!((found.guard, found.ended_by), (Guard::Backlog, None));
}

/// A client that is larger than it should be and a machine without memory: the kernel may kill a tenant for it, or the
/// client.
#[test]
fn a_client_that_takes_the_machine_s_memory_is_not_spared() {
    let blamed = |guard, held| {
        let abort = Abort { guard, cause: says::nothing_measured(), ended_by: None };
        abort.blames_client(held, &GUARDS)
    };
    assert!(blamed(Guard::Client, 0) && blamed(Guard::Floor, (1 << 28) + 1));
    assert!(!blamed(Guard::Floor, 1 << 28) && !blamed(Guard::Oom, u64::MAX));
}

#[test]
fn a_client_may_not_hold_what_the_machine_does_not_have() {
    assert_eq!(GUARDS.within(16 << 30), GUARDS);
    assert_eq!(GUARDS.within(3 << 29).client, 1 << 29);
    assert_eq!(GUARDS.within(1).client, 0);
}
