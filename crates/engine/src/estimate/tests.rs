use tiermark_model::testing;

use super::*;

/// One core that works on memory, whose times have an edge.
fn reading(metric: Metric, groups: &Conditions) -> Reading<'_> {
    Reading {
        metric,
        tier: None,
        cores: 1,
        unsettled: 0.0,
        has_edge: true,
        sharing: Sharing::Memory,
        groups,
        stop: &testing::STOP,
        seed: 1,
        passes: None,
        intervals: true,
    }
}

/// Visits of twelve windows that saw round trips of this length.
fn visits(ping: f64, value: f64) -> Vec<Visit> {
    let window = Window { clean: true, values: vec![Some(value)], ..Window::default() };
    let visit = |at: usize| Visit {
        at: at as f64,
        before: vec![ping],
        after: vec![ping],
        windows: vec![window.clone(); 12],
        ..Visit::default()
    };
    (0..20).map(visit).collect()
}

fn missed(metric: Metric, met: &[Visit]) -> bool {
    missed_in(metric, Sharing::Memory, met)
}

/// Two threads that reach all they can, always, but never on different caches.
#[test]
fn threads_that_do_not_compete_for_a_cache_need_not_be_farther_apart() {
    let rates = |ping: f64, threads: Vec<f64>| {
        let values: Vec<Option<f64>> = [vec![threads.iter().sum()], threads].concat().into_iter().map(Some).collect();
        let mut visits = visits(ping, 1.0);
        visits.iter_mut().flat_map(|visit| &mut visit.windows).for_each(|window| window.values.clone_from(&values));
        visits
    };
    let near = rates(50.0, vec![100.0, 100.0]);
    for (sharing, is_missed) in [(Sharing::Cache, false), (Sharing::Memory, true)] {
        let seen = Visits { threads: 2, list: near.clone(), ..Visits::default() };
        assert_eq!(missed_of(Metric::Bandwidth, sharing, &seen), is_missed);
    }
}

fn missed_in(metric: Metric, sharing: Sharing, met: &[Visit]) -> bool {
    missed_of(metric, sharing, &Visits { list: met.to_vec(), ..Visits::default() })
}

fn missed_of(metric: Metric, sharing: Sharing, met: &Visits) -> bool {
    let all = Visits { list: [visits(50.0, 1.0), visits(350.0, 1.0)].concat(), ..Visits::default() };
    let step = testing::step("a", metric);
    let groups = Conditions::of(std::iter::once((&step, &all)));
    let reading = Reading { sharing, intervals: false, ..reading(metric, &groups) };
    let estimate = reading.estimate(met);
    assert_eq!(estimate.state.is_some(), sharing != Sharing::Nothing);
    estimate.bound.iter().any(|reason| matches!(reason, Reason::StateMissed { .. }))
}

#[test]
fn a_state_that_may_be_better_must_be_met() {
    let (near, apart) = (visits(50.0, 1.0), visits(350.0, 1.0));
    assert!(missed(Metric::Bandwidth, &near), "streams farther apart may get more");
    assert!(!missed_in(Metric::Bandwidth, Sharing::Nothing, &near), "nothing is shared in either");
    assert!(!missed(Metric::Bandwidth, &apart), "streams that share a cache get no more");
    assert!(missed(Metric::Latency, &apart) && missed(Metric::Latency, &near));
    assert!(!missed(Metric::Bandwidth, &[near, apart].concat()));
}

/// Visits a second apart to two threads, of eight windows with these two rates each.
fn two_threads(rates: impl Fn(usize) -> [f64; 2]) -> Visits {
    let window = |at: usize| {
        let [a, b] = rates(at);
        Window { clean: true, values: [a + b, a, b].map(Some).to_vec(), ..Window::default() }
    };
    let visit =
        |at: usize| Visit { at: at as f64, windows: (8 * at..8 * at + 8).map(window).collect(), ..Visit::default() };
    Visits { threads: 2, list: (0..100).map(visit).collect(), ..Visits::default() }
}

fn estimate_of(seen: &Visits, metric: Metric, sharing: Sharing) -> Estimate {
    estimate_as(None, seen, metric, sharing)
}

fn estimate_in(tier: Option<&str>, seen: &Visits) -> Estimate {
    estimate_as(tier, seen, Metric::Bandwidth, Sharing::Memory)
}

fn estimate_as(tier: Option<&str>, seen: &Visits, metric: Metric, sharing: Sharing) -> Estimate {
    let groups = Conditions::default();
    let reading = Reading { tier, sharing, ..reading(metric, &groups) };
    reading.estimate(seen)
}

/// The value to a millionth: it comes back from a logarithm.
fn rounded(estimate: &Estimate) -> Option<f64> {
    estimate.value.map(|value| (value * 1e6).round() / 1e6)
}

/// Each core is free of neighbours in one of so many windows, both at once in one of their square; else they lose a
/// tenth to a third.
fn beside_neighbours(often: usize) -> Visits {
    let lost = |at: usize| 12.0 + (at * 7919 % 27) as f64;
    let rate = |at: usize| if at.is_multiple_of(often) { 118.0 } else { 118.0 - lost(at) };
    two_threads(|at| [rate(at), rate(at / often)])
}

#[test]
fn threads_with_caches_of_their_own_are_each_judged_by_themselves() {
    let seen = beside_neighbours(20);
    let shared = estimate_of(&seen, Metric::Bandwidth, Sharing::Memory);
    assert!(shared.value.unwrap() < 236.0 && matches!(shared.bound[..], [Reason::NotSharp { .. }, ..]), "{shared:?}");
    let own = estimate_of(&seen, Metric::Bandwidth, Sharing::Nothing);
    assert_eq!((rounded(&own), own.bound.as_slice()), (Some(236.0), &[][..]));
    let interval = own.interval.unwrap();
    assert!(interval.low > 230.0 && interval.high < 240.0, "{interval:?}");
    // Times of several threads are not added up.
    assert_eq!(
        estimate_of(&seen, Metric::Latency, Sharing::Nothing).value,
        estimate_of(&seen, Metric::Latency, Sharing::Memory).value
    );
}

#[test]
fn threads_that_compete_are_judged_together() {
    let swing = |at: usize| (at * 7919 % 41) as f64 - 20.0;
    let seen = two_threads(|at| [60.0 + swing(at), 60.0 - swing(at)]);
    for sharing in [Sharing::Nothing, Sharing::Cache, Sharing::Memory] {
        assert_eq!(rounded(&estimate_of(&seen, Metric::Bandwidth, sharing)), Some(120.0));
    }
}

#[test]
fn threads_that_share_a_cache_must_reach_the_sum_together_as_often_as_any_edge() {
    // Each is free of neighbours in a tenth of the windows, both at once in some visits only.
    let rates = |together: usize| {
        two_threads(move |at| match at % 10 {
            0 if at / 8 < together => [118.0; 2],
            0 => [118.0, 90.0],
            1 => [90.0, 118.0],
            n => [90.0 + n as f64; 2],
        })
    };
    let value = |together, sharing| rounded(&estimate_of(&rates(together), Metric::Bandwidth, sharing));
    assert_eq!([1, 2, 40].map(|n| value(n, Sharing::Cache) == Some(236.0)), [false, false, true]);
    assert_eq!([0, 1, 40].map(|n| value(n, Sharing::Nothing) == Some(236.0)), [false, true, true]);
    // What they reach by themselves speaks against the edge of both.
    let apart = estimate_of(&rates(0), Metric::Bandwidth, Sharing::Nothing);
    assert!(matches!(apart.bound[..], [Reason::NotTogether { alone }] if (alone - 236.0).abs() < 1e-6), "{apart:?}");
}

#[test]
fn a_document_without_the_threads_values_is_judged_by_their_sum() {
    let mut seen = beside_neighbours(20);
    seen.list.iter_mut().flat_map(|visit| &mut visit.windows).for_each(|window| window.values[1..].fill(None));
    let of = |sharing| estimate_of(&seen, Metric::Bandwidth, sharing);
    assert!(of(Sharing::Nothing).value.unwrap() < 230.0);
    assert_eq!(of(Sharing::Nothing), of(Sharing::Memory));
}

#[test]
fn windows_that_are_all_disturbed_give_a_bound() {
    let groups = Conditions::default();
    let mut list: Vec<Visit> = [3.0, 2.0, 4.0].iter().map(|value| visits(50.0, *value).remove(0)).collect();
    list.iter_mut().flat_map(|visit| &mut visit.windows).for_each(|window| window.clean = false);
    let seen = Visits { list, ..Visits::default() };
    for (metric, best) in [(Metric::Latency, 2.0), (Metric::Bandwidth, 4.0)] {
        let reading = reading(metric, &groups);
        let estimate = reading.estimate(&seen);
        assert_eq!((estimate.value, estimate.interval), (Some(best), None));
        assert_eq!(estimate.bound, [Reason::TooFew { windows: 0, visits: 3 }]);
    }
}

#[test]
fn a_single_visit_gives_reasons_that_can_be_written_and_read() {
    let groups = Conditions::default();
    for (has_edge, intervals) in [(false, true), (true, true), (false, false), (true, false)] {
        let reading = Reading { has_edge, intervals, ..reading(Metric::Latency, &groups) };
        for count in 1..4 {
            let list = visits(50.0, 1.0)[..count].to_vec();
            let estimate = reading.estimate(&Visits { list, ..Visits::default() });
            let text = serde_json::to_string(&estimate.bound).unwrap();
            assert_eq!(serde_json::from_str::<Vec<Reason>>(&text).unwrap(), estimate.bound, "{text}");
        }
    }
}

/// A level that short windows pile up at, while whole passes over the memory were slower by `by`.
fn against_passes(by: f64) -> Estimate {
    let mut list = visits(50.0, 100.0);
    // Most visits were slower: a median that reaches the level is sustained, too.
    let slow = |index: usize| index % 5 < 3;
    for (_, visit) in list.iter_mut().enumerate().filter(|(index, _)| slow(*index)) {
        visit.windows.iter_mut().for_each(|window| window.values = vec![Some(80.0)]);
    }
    let seen = Visits { list, ..Visits::default() };
    let groups = Conditions::default();
    let reading = Reading {
        tier: Some("DRAM"),
        sharing: Sharing::Nothing,
        passes: Some(Passes { count: 4, best: 100.0 / (1.0 + by) }),
        ..reading(Metric::Bandwidth, &groups)
    };
    reading.estimate(&seen)
}

#[test]
fn a_rate_that_no_pass_over_the_memory_comes_near_is_not_the_hardwares() {
    let near = against_passes(0.04);
    assert!(near.bound.is_empty() && near.value.is_some_and(|value| (value - 100.0).abs() < 1e-6), "{near:?}");
    let far = against_passes(0.09);
    assert!(matches!(far.bound.as_slice(), [Reason::NotSustained { .. }]), "{far:?}");
    // What was sustained is the bound.
    assert!(far.value.is_some_and(|value| (value - 100.0 / 1.09).abs() < 1e-6));
    assert!(far.interval.is_none_or(|interval| interval.low <= 100.0 / 1.09));
}

/// Three visits, of which one was disturbed: the bound is the median visit, and not the worst.
#[test]
fn a_bound_is_no_worse_than_the_median_visit() {
    for (metric, values, median) in
        [(Metric::Bandwidth, [233.0, 410.0, 411.0], 410.0), (Metric::Latency, [4.1, 9.0, 4.0], 4.1)]
    {
        let list = values.iter().map(|value| visits(50.0, *value).remove(0)).collect();
        let mut seen = Visits { list, ..Visits::default() };
        seen.list.iter_mut().zip([0.0, 1.0, 2.0]).for_each(|(visit, at)| visit.at = at);
        let found = estimate_of(&seen, metric, Sharing::Nothing);
        assert!(matches!(found.bound[..], [Reason::TooFew { .. }]), "{found:?}");
        assert_eq!((found.value, found.now.map(|now| now.median)), (Some(median), Some(median)));
        let interval = found.interval.unwrap();
        assert!(interval.low <= median && median <= interval.high, "{interval:?}");
    }
}

/// The state of the better value is met for so many seconds of 40, in one stay.
#[test]
fn one_stay_in_a_state_is_one_moment() {
    let bound = |seconds: usize| {
        let window = |at: usize, index: usize| {
            let noise = 1.0 + 0.002 * ((at * 8 + index) as f64 * 0.618_033_988_75).fract();
            Window {
                clean: true,
                values: vec![Some(if at < 2 * seconds { 88.0 } else { 50.0 } * noise)],
                ..Window::default()
            }
        };
        let visit = |at: usize| {
            let trip = if at < 2 * seconds { 350.0 } else { 50.0 };
            let windows = (0..8).map(|index| window(at, index)).collect();
            Visit { at: at as f64 * 0.5, before: vec![trip], after: vec![trip], windows, ..Visit::default() }
        };
        let seen = Visits { list: (0..80).map(visit).collect(), ..Visits::default() };
        let metric = Metric::Bandwidth;
        let step = testing::step("a", metric);
        let groups = Conditions::of(std::iter::once((&step, &seen)));
        let reading = Reading { tier: Some("DRAM"), cores: 2, ..reading(metric, &groups) };
        let found = reading.estimate(&seen);
        assert!((found.value.unwrap() / 88.0 - 1.0).abs() < 0.01, "{found:?}");
        found.bound
    };
    assert_eq!(bound(4), [Reason::OneStay { seconds: 3.5 }]);
    assert_eq!(bound(12), []);
}

/// Another run of the machine has other pages and another hour: what cores share is known no better than runs repeat.
#[test]
fn the_interval_of_what_cores_share_has_the_scatter_between_runs() {
    let half = |tier| {
        let seen = Visits { list: visits(50.0, 100.0), ..Visits::default() };
        let found = estimate_in(tier, &seen);
        let within = found.edge.unwrap().within.unwrap().half_of(100.0);
        (within, found.interval.unwrap().half_of(100.0))
    };
    let (within, whole) = half(Some("L2"));
    assert!(same_half(within, whole));
    for (tier, scatter) in [("L3", BETWEEN_RUNS.shared_cache), ("DRAM random", BETWEEN_RUNS.memory)] {
        let (within, whole) = half(Some(tier));
        assert!(within < 0.006 && same_half(whole, within.hypot(IN_HALF * scatter)), "{within} {whole}");
    }
}

fn same_half(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-4
}
