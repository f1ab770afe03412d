//! Service levels over histograms whose percentiles are known.

use proptest::prelude::*;

use super::*;

/// A tenant that answered `count` requests, `slow` of them in `slow_us`, the rest in 40 µs.
fn tenant(count: u64, slow: u64, slow_us: u64) -> Histogram<u64> {
    let mut times = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    times.record_n(40_000, count - slow).unwrap();
    times.record_n(slow_us * 1_000, slow).unwrap();
    times
}

fn level(limits: &[&str], scope: &str) -> Level {
    Level { limits: limits.iter().map(|l| l.parse().unwrap()).collect(), scope: scope.parse().unwrap() }
}

fn judge(limits: &[&str], scope: &str, tenants: &[Histogram<u64>]) -> Judgement {
    let served: Vec<Served<'_>> =
        tenants.iter().map(|times| Served { times, achieved: 1.0, gets: 0, hits: 0 }).collect();
    level(limits, scope).judge(&served)
}

#[test]
fn a_level_says_how_much_of_the_rate_it_promises() {
    for (limits, scope, promised) in [
        (&["p99 < 1ms"][..], "every", 1.0),
        (&["p99 < 1ms", "rate > 90%"], "every", 0.9),
        (&["rate > 90%", "rate > 80%"], "pooled", 0.9),
        (&["rate > 90%"], "quantile:0.5", 0.45),
    ] {
        assert_eq!(level(limits, scope).promised_rate(), promised, "{limits:?} {scope}");
    }
}

#[test]
fn an_average_of_few_requests_is_not_clear() {
    // 40 µs, and one in a hundred 10 ms: 139.6 µs on average, with a standard deviation of 991.
    for (count, outcome) in [(1_000, Outcome::Unclear), (100_000, Outcome::Fail)] {
        let judged = judge(&["avg < 120us"], "every", &[tenant(count, count / 100, 10_000)]);
        assert_eq!(judged.outcome, outcome, "{}", judged.decided_by);
    }
    let judged = judge(&["avg < 160us"], "every", &[tenant(100_000, 1_000, 10_000)]);
    assert_eq!(
        (judged.outcome, judged.decided_by.text.as_str()),
        (Outcome::Pass, "average < 160 µs: 140 µs (133 µs to 147 µs) of tenant 1 at worst")
    );
    // The brief has none.
    assert_eq!(judge(&["avg < 120us"], "brief", &[tenant(1_000, 10, 10_000)]).outcome, Outcome::Fail);
}

#[test]
fn what_is_late_depends_on_what_is_promised() {
    for (limits, us) in [
        (&["avg < 50us"][..], 1000),
        (&["avg < 50us", "p99 < 300us"], 150),
        (&["p50 < 10us"], 50),
        (&["p99 < 5ms", "p99.9 < 20ms", "max < 1us", "rate > 90%"], 1000),
    ] {
        assert_eq!(level(limits, "every").late_after().as_micros(), us, "{limits:?}");
    }
}

#[test]
fn limits_are_read_and_written() {
    for (text, back) in [
        ("p99 < 300us", "P99 < 300 µs"),
        ("P99.9<=1.25 ms", "P99.9 < 1.25 ms"),
        ("avg < 50µs", "average < 50 µs"),
        ("maximum < 1s", "maximum < 1 s"),
        ("rate > 99.5 %", "rate > 99.5 %"),
    ] {
        let limit: Limit = text.parse().unwrap();
        assert_eq!(limit.to_string(), back);
        assert_eq!(back.parse::<Limit>(), Ok(limit), "what is written is read");
    }
    for (text, said) in [
        ("p99 < 300", "is not a limit"),
        ("p99 300us", "is not a limit"),
        ("p100 < 1ms", "between 0 and 100"),
        ("pnan < 1ms", "between 0 and 100"),
        ("p99 > 300us", "limit of a time with <"),
        ("rate < 99%", "write a rate with >"),
        ("rate > 101%", "write a rate with >"),
        ("rate < 100%", "write a rate with >"),
        ("rate > 100%", "write \"rate > 99.9%\""),
        ("rate >= 100.0 %", "write \"rate > 99.9%\""),
        ("median < 1ms", "is not a limit"),
        ("avg < 0us", "at least 1 ns"),
        ("avg < 9999s", "is not a limit"),
        ("", "is not a limit"),
    ] {
        let error = text.parse::<Limit>().unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
    assert!("quantile:0".parse::<TenantAggregation>().is_err() && "quantile:1.1".parse::<TenantAggregation>().is_err());
    assert_eq!("quantile:0.95".parse::<TenantAggregation>().unwrap().to_string(), "quantile:0.95");
    let brief = level(&["average < 50us", "p99 < 300us"], "brief");
    assert_eq!(brief.to_string(), "average < 50 µs, P99 < 300 µs as means over the tenants (the brief's)");
}

#[test]
fn one_bad_tenant_of_thirty_decides_by_scope() {
    // Thirty tenants; one has 2 % of its requests at 1 ms.
    let mut tenants = vec![tenant(100_000, 0, 1); 29];
    tenants.insert(6, tenant(100_000, 2_000, 1_000));
    let limit = &["p99 < 300us"];
    let every = judge(limit, "every", &tenants);
    assert_eq!(every.outcome, Outcome::Fail);
    assert_eq!(every.decided_by.text, "1 of 30 tenants fails: P99 < 300 µs: 1 ms of tenant 7");
    assert_eq!(judge(limit, "quantile:0.95", &tenants).decided_by.text, "29 of 30 tenants keep the level, 29 must");
    assert_eq!(judge(limit, "quantile:0.97", &tenants).outcome, Outcome::Fail);
    // Of all requests it is one in 1,500.
    let all = judge(&["p99 < 300us", "average < 50us"], "pooled", &tenants);
    assert_eq!(
        (all.outcome, all.decided_by.text.contains("of all requests together")),
        (Outcome::Pass, true),
        "{}",
        all.decided_by
    );
    // (29 × 40 µs + 1 ms) / 30 = 72 µs.
    let brief = judge(limit, "brief", &tenants);
    assert_eq!(brief.outcome, Outcome::Pass);
    assert_eq!(brief.decided_by.text, "P99 < 300 µs: 72 µs as the mean over the tenants");
    assert_eq!(judge(&["max < 500us"], "brief", &tenants).outcome, Outcome::Fail, "the largest, and no mean");
}

#[test]
fn an_interval_that_straddles_the_limit_is_unclear() {
    // 1 % slow: the P99 of 10,000 requests lies between the 9,880th and the 9,920th or so.
    let at_the_edge = [tenant(10_000, 100, 1_000)];
    let judged = judge(&["p99 < 300us"], "every", &at_the_edge);
    assert_eq!(judged.outcome, Outcome::Unclear);
    assert!(
        judged.decided_by.text.starts_with("1 of 1 tenant is not clear: P99 < 300 µs: 40 µs (40 µs to 1 ms)"),
        "{}",
        judged.decided_by
    );
    assert_eq!(judge(&["p99 < 300us"], "every", &[tenant(10_000, 70, 1_000)]).outcome, Outcome::Pass);
    assert_eq!(judge(&["p99 < 300us"], "every", &[tenant(10_000, 130, 1_000)]).outcome, Outcome::Fail);
    // One failure decides, however unclear another is.
    let mixed = [at_the_edge[0].clone(), tenant(10_000, 500, 1_000)];
    assert_eq!(judge(&["p99 < 300us"], "every", &mixed).outcome, Outcome::Fail);
    assert_eq!(judge(&["p99 < 300us"], "quantile:0.5", &mixed).outcome, Outcome::Unclear);
}

#[test]
fn of_many_tenants_that_keep_a_promise_none_is_said_to_break_it_by_chance() {
    // 0.9 % of the requests are slow, in truth: the P99 is kept. In 20,000 tenants of 3,000 requests 0.3 % look
    // otherwise by themselves.
    let mut rng = tiermark_stats::Rng::new(5);
    let mut drawn = || tenant(3_000, (0..3_000).filter(|_| rng.unit() < 0.009).count() as u64, 1_000);
    let failed = (0..200).filter(|_| {
        let tenants: Vec<_> = (0..100).map(|_| drawn()).collect();
        judge(&["p99 < 300us"], "every", &tenants).outcome == Outcome::Fail
    });
    let failed = failed.count();
    assert!(failed <= 10, "{failed} of 200");
    // One that does break it is seen among a hundred.
    let mut tenants: Vec<_> = (0..99).map(|_| tenant(3_000, 3, 1_000)).collect();
    tenants.push(tenant(3_000, 70, 1_000));
    assert_eq!(judge(&["p99 < 300us"], "every", &tenants).outcome, Outcome::Fail);
}

#[test]
fn too_few_requests_promise_nothing() {
    let few = judge(&["p99.9 < 1s"], "every", &[tenant(1_000, 0, 1)]);
    assert_eq!(few.outcome, Outcome::Unclear);
    // What is over the limit already stays so.
    assert_eq!(judge(&["p99.9 < 10us"], "every", &[tenant(1_000, 0, 1)]).outcome, Outcome::Fail);
    let silent = judge(&["p99 < 1s"], "brief", &[tenant(9, 0, 1), tenant(0, 0, 1)]);
    assert_eq!((silent.outcome, silent.decided_by.text.as_str()), (Outcome::Fail, "tenant 2 answered no request"));
    assert_eq!(judge(&["p99 < 1s"], "every", &[]).outcome, Outcome::Fail);
}

#[test]
fn a_rate_that_was_not_reached_fails() {
    let times = tenant(1_000, 0, 1);
    let served = |achieved| [Served { times: &times, achieved, gets: 0, hits: 0 }];
    let level = level(&["average < 1s", "rate > 99.5%"], "every");
    assert_eq!(level.judge(&served(0.995)).outcome, Outcome::Pass);
    let slow = level.judge(&served(0.7714));
    assert_eq!(slow.decided_by.text, "1 of 1 tenant fails: rate > 99.5 %: 77.14 % of tenant 1");
    let nearly = level.judge(&served(0.994_999));
    assert_eq!(nearly.decided_by.text, "1 of 1 tenant fails: rate > 99.5 %: 99.49 % of tenant 1");
    assert_eq!(level.judge(&served(f64::NAN)).outcome, Outcome::Fail);
}

/// A cache that evicts too much does not keep its promise, however fast it is.
#[test]
fn a_hit_rate_that_was_not_reached_fails() {
    let times = tenant(1_000, 0, 1);
    let served = |found: &[(u64, u64)]| -> Vec<Served<'_>> {
        found.iter().map(|(hits, gets)| Served { times: &times, achieved: 1.0, gets: *gets, hits: *hits }).collect()
    };
    for (scope, found, outcome, said) in [
        (
            "every",
            [(960, 1_000), (990, 1_000)],
            Outcome::Pass,
            "90 %: 96.00 % (94.36 % to 97.28 %) of tenant 1 at worst",
        ),
        ("every", [(950, 1_000), (400, 1_000)], Outcome::Fail, "1 of 2 tenants fails: hit rate > 90 %: 40.00 %"),
        // Nine of ten GETs would be found by chance of somewhat more, and of somewhat less.
        ("every", [(990, 1_000), (91, 100)], Outcome::Unclear, "1 of 2 tenants is not clear: hit rate > 90 %: 91.00 %"),
        // Of all GETs, and not the mean of the shares: the second tenant asks for a hundredth.
        ("pooled", [(9_500, 10_000), (0, 100)], Outcome::Pass, "hit rate > 90 %: 94.05 %"),
        ("brief", [(900, 1_000), (800, 1_000)], Outcome::Fail, "hit rate > 90 %: 85.00 %"),
    ] {
        let judged = level(&["average < 1s", "hit rate > 90%"], scope).judge(&served(&found));
        assert_eq!(judged.outcome, outcome, "{scope}: {}", judged.decided_by);
        assert!(judged.decided_by.text.contains(said), "{scope}: {}", judged.decided_by);
    }
    for wrong in ["hit rate < 90%", "hit rate > 100%", "hit rate > 9ms", "hits > 0%"] {
        assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
    }
    // It promises nothing of the rate, and is no time.
    let level = level(&["hits >= 90%"], "every");
    assert_eq!((level.promised_rate(), level.tightest(|_| true)), (1.0, None));
}

/// A cache that still fills is not called too small, and one that begins to evict not large enough.
#[test]
fn a_hit_rate_that_moves_across_its_limit_is_not_clear() {
    let times = tenant(1_000, 0, 1);
    let served = |hits: u64| Served { times: &times, achieved: 1.0, gets: 1_000, hits };
    let judged = |limits: &[&str], hits: &[u64], now, ahead| {
        let tenants: Vec<Served<'_>> = hits.iter().map(|hits| served(*hits)).collect();
        level(limits, "every").judge_with_trend(&tenants, Some(HitTrend { now, ahead }))
    };
    let limits = ["average < 1s", "hit rate > 90%"];
    for (hits, now, ahead, outcome) in [
        (&[800][..], 0.8, 0.95, Outcome::Unclear),
        (&[800], 0.8, 0.85, Outcome::Fail),
        (&[800], 0.8, 0.7, Outcome::Fail),
        (&[950], 0.95, 0.85, Outcome::Unclear),
        (&[950], 0.95, 0.92, Outcome::Pass),
        // All together stay above the limit: one tenant misses it whatever they do.
        (&[400, 990, 990, 990], 0.94, 0.92, Outcome::Fail),
    ] {
        assert_eq!(judged(&limits, hits, now, ahead).outcome, outcome, "{hits:?} {ahead}");
    }
    assert_eq!(
        judged(&limits, &[800], 0.8, 0.95).decided_by.text,
        "1 of 1 tenant fails: hit rate > 90 %: 80.00 % (77.01 % to 82.68 %) of tenant 1; but the hit rate still \
         changes: at this trend it crosses the limit (hit rate > 90 %) and is 95 % after as long again; use a longer \
         --warmup"
    );
    // No warm-up makes servers faster.
    for order in [["hit rate > 90%", "p99 < 1us"], ["p99 < 1us", "hit rate > 90%"]] {
        assert_eq!(judged(&order, &[800], 0.8, 0.95).outcome, Outcome::Fail, "{order:?}");
    }
}

#[test]
fn a_tenant_without_gets_shows_no_hit_rate() {
    let times = tenant(1_000, 0, 1);
    let silent = [Served { times: &times, achieved: 1.0, gets: 0, hits: 0 }];
    assert_eq!(level(&["hit rate > 90%"], "every").judge(&silent).outcome, Outcome::Unclear);
}

#[test]
fn what_passes_says_how_narrowly() {
    let tenants = [tenant(100_000, 0, 1), tenant(100_000, 2_000, 200)];
    let judged = judge(&["p99 < 300us", "average < 1s"], "every", &tenants);
    assert_eq!(judged.outcome, Outcome::Pass);
    assert_eq!(judged.decided_by.text, "P99 < 300 µs: 200 µs of tenant 2 at worst");
}

#[test]
fn histograms_of_different_ranges_merge() {
    let mut small = Histogram::new_with_bounds(1, 1_000, 3).unwrap();
    small.record(500).unwrap();
    let large = tenant(10, 5, 1_000_000);
    let served = [&small, &large].map(|times| Served { times, achieved: 1.0, gets: 0, hits: 0 });
    let all = pooled(&served).unwrap();
    assert_eq!(all.len(), 11);
    assert!(all.max() >= 1_000_000_000 && all.min() <= 500);
}

proptest! {
    /// Saved runs and files hold a limit as text: it must be the same one when it is read again.
    #[test]
    fn limits_come_back_as_they_were(ns in 1.0f64..3.5e12, percent in 0.001f64..100.0, of in 0usize..4) {
        let times = [format!("p99.9 < {ns} ns"), format!("max < {ns} ns")];
        let shares = ["rate", "hit rate"].map(|name| format!("{name} > {percent} %"));
        let text = times.into_iter().chain(shares).nth(of).unwrap();
        let limit: Limit = text.parse().unwrap();
        let again: Limit = limit.to_string().parse().unwrap();
        // A share may be off by what dividing by a hundred rounds.
        prop_assert!((again.at - limit.at).abs() <= limit.at * 1e-15 && again.of == limit.of, "{text}: {limit:?} \
            {again:?}");
        prop_assert!(of >= 2 || again == limit, "{text}");
    }

    #[test]
    fn any_text_is_a_limit_or_none(text in "(p|avg|max|(hit )?rate)?[0-9.]{0,4} ?[<>]=? \
        ?[0-9.]{0,8}(ns|us|µs|ms|s|%)?.{0,3}") {
        if let Ok(limit) = text.parse::<Limit>() {
            prop_assert!(limit.at.is_finite() && limit.at > 0.0);
            prop_assert!(limit.to_string().parse::<Limit>().is_ok(), "{limit}");
        }
        let _ = text.parse::<TenantAggregation>();
    }

    /// A level of every tenant is never kept where the pooled one of the same limit fails.
    #[test]
    fn pooled_is_no_stricter_than_every(slow in proptest::collection::vec(0u64..3_000, 1..6)) {
        let tenants: Vec<Histogram<u64>> = slow.iter().map(|slow| tenant(100_000, *slow, 1_000)).collect();
        let every = judge(&["p99 < 300us"], "every", &tenants).outcome;
        let all = judge(&["p99 < 300us"], "pooled", &tenants).outcome;
        prop_assert!(every != Outcome::Pass || all != Outcome::Fail);
    }
}
