use tiermark_model::{CoreClock, testing};
use tiermark_stats::Rng;

use super::*;

/// One core that works on memory, whose undisturbed visits have one value.
fn reading(metric: Metric, groups: &Conditions) -> Reading<'_> {
    Reading {
        metric,
        cores: 1,
        unsettled: 0.0,
        has_edge: true,
        is_clocked: false,
        is_of_core: false,
        groups,
        stop: &testing::STOP,
        seed: 1,
        passes: None,
        between_runs: 0.0,
    }
}

/// Visits so many seconds apart, of eight windows with these values.
fn visits(count: usize, apart: f64, value: impl Fn(usize) -> f64) -> Vec<Visit> {
    let visit = |index: usize| {
        let window = Window { clean: true, values: vec![Some(value(index))], ..Window::default() };
        Visit { at: index as f64 * apart, windows: vec![window; 8], ..Visit::default() }
    };
    (0..count).map(visit).collect()
}

fn of(list: Vec<Visit>) -> Visits {
    Visits { list, ..Visits::default() }
}

fn grades(estimate: &Estimate) -> Vec<Grade> {
    estimate.doubts.iter().map(|(grade, _)| *grade).collect()
}

/// Noise around 1, with this standard deviation.
fn noise(count: usize, deviation: f64, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| 1.0 + deviation * rng.normal()).collect()
}

#[test]
fn what_a_core_has_for_itself_is_the_level_of_undisturbed_visits() {
    let groups = Conditions::default();
    let reading = Reading { is_clocked: true, is_of_core: true, ..reading(Metric::Bandwidth, &groups) };
    // In half of the visits a neighbour takes a tenth to a third.
    let lost = |index: usize| if index.is_multiple_of(2) { 0.0 } else { 12.0 + (index * 7919 % 27) as f64 };
    let sharp = noise(40, 0.001, 1);
    let found = reading.estimate(&of(visits(40, 0.5, |index| (118.0 - lost(index)) * sharp[index])));
    assert_eq!((grades(&found), found.kind), (vec![], ValueKind::Capability));
    assert!((found.value.unwrap() / 118.0 - 1.0).abs() < 0.003, "{found:?}");
    // Always there, and never alike: nothing is a level, and the number is what a program got.
    let busy = reading.estimate(&of(visits(40, 0.5, |index| 80.0 + (index * 7919 % 27) as f64)));
    assert_eq!(grades(&busy), [Grade::Shared]);
    assert_eq!(busy.value, Some(busy.typical.unwrap().median));
    // Two moments are no proof, however alike.
    let early = reading.estimate(&of(visits(12, 0.1, |_| 118.0)));
    assert_eq!(grades(&early), [Grade::Bound], "{early:?}");
}

#[test]
fn without_a_clock_a_number_of_the_core_is_as_it_was() {
    let groups = Conditions::default();
    let reading = Reading { is_clocked: true, is_of_core: true, ..reading(Metric::Latency, &groups) };
    let seen = |with_clock: usize| {
        let mut list = visits(40, 0.5, |_| 1.25);
        for (index, visit) in list.iter_mut().enumerate() {
            let clock = (index < with_clock).then_some(CoreClock { hz: 4e9, is_steady: true });
            visit.windows.iter_mut().for_each(|window| window.clocks = vec![clock]);
        }
        Visits { clocks: 1, list, ..Visits::default() }
    };
    let all = seen(40);
    let step = testing::step("a", Metric::Latency);
    let groups = Conditions::of(std::iter::once((&step, &all)));
    let reading = Reading { groups: &groups, ..reading };
    let clocked = reading.estimate(&all);
    assert!((clocked.per_cycle.unwrap().value - 5.0).abs() < 1e-3 && clocked.doubts.is_empty(), "{clocked:?}");
    let busy = reading.estimate(&seen(5));
    assert_eq!((busy.per_cycle, busy.doubts.last().unwrap()), (None, &(Grade::Shared, Reason::NoClock)));
}

#[test]
fn what_cores_share_is_the_typical_value_and_a_number() {
    let groups = Conditions::default();
    let reading = reading(Metric::Bandwidth, &groups);
    let scatter = noise(200, 0.04, 3);
    let found = reading.estimate(&of(visits(200, 0.1, |index| 15.8 * scatter[index])));
    assert_eq!((grades(&found), found.kind), (vec![Grade::Shared], ValueKind::Typical));
    assert!((found.value.unwrap() / 15.8 - 1.0).abs() < 0.01, "{found:?}");
    // The best tenth is told, and is not the number.
    assert!(found.best.unwrap() > 1.03 * found.value.unwrap(), "{found:?}");
    // A machine that nobody else uses.
    let sharp = noise(200, 0.002, 3);
    let alone = reading.estimate(&of(visits(200, 0.1, |index| 15.8 * sharp[index])));
    assert_eq!(grades(&alone), [], "{alone:?}");
    // The level is 10 % better than what programs get.
    let seldom = |index: usize| if index.is_multiple_of(10) { 17.5 } else { 15.8 * scatter[index] };
    assert_eq!(grades(&reading.estimate(&of(visits(200, 0.1, seldom)))), [Grade::Shared]);
    // One moment.
    assert_eq!(grades(&reading.estimate(&of(visits(10, 0.01, |_| 15.8)))), [Grade::Bound]);
}

#[test]
fn over_the_states_of_the_cpus_it_is_their_mean_by_time() {
    let visit = |index: usize| {
        let (trip, value) = if index % 10 < 4 { (50.0, 28.0) } else { (350.0, 55.0) };
        let mut visit = visits(1, 1.0, |_| value).remove(0);
        (visit.at, visit.before, visit.after) = (index as f64 * 0.2, vec![trip], vec![trip]);
        visit
    };
    let seen = of((0..100).map(visit).collect());
    let step = testing::step("a", Metric::Bandwidth);
    let groups = Conditions::of(std::iter::once((&step, &seen)));
    let found = Reading { cores: 2, ..reading(Metric::Bandwidth, &groups) }.estimate(&seen);
    assert!((found.value.unwrap() / (0.4 * 28.0 + 0.6 * 55.0) - 1.0).abs() < 0.01, "{found:?}");
    assert_eq!((found.in_states.len(), found.modes.len(), found.state), (2, 2, None));
}

#[test]
fn windows_that_are_all_disturbed_give_a_bound() {
    let groups = Conditions::default();
    let mut list: Vec<Visit> = [3.0, 2.0, 4.0].iter().flat_map(|value| visits(1, 1.0, |_| *value)).collect();
    list.iter_mut().flat_map(|visit| &mut visit.windows).for_each(|window| window.clean = false);
    for (metric, best) in [(Metric::Latency, 2.0), (Metric::Bandwidth, 4.0)] {
        let estimate = reading(metric, &groups).estimate(&of(list.clone()));
        assert_eq!((estimate.value, estimate.interval), (Some(best), None));
        assert_eq!(estimate.doubts, [(Grade::Bound, Reason::TooFew { windows: 0, visits: 3 })]);
    }
}

#[test]
fn few_visits_give_reasons_that_can_be_written_and_read() {
    let groups = Conditions::default();
    for (has_edge, is_of_core) in [(false, true), (true, true), (false, false), (true, false)] {
        let reading = Reading { has_edge, is_of_core, is_clocked: is_of_core, ..reading(Metric::Latency, &groups) };
        for count in 1..4 {
            let estimate = reading.estimate(&of(visits(count, 1.0, |_| 1.0)));
            let reasons: Vec<&Reason> = estimate.doubts.iter().map(|(_, reason)| reason).collect();
            let text = serde_json::to_string(&reasons).unwrap();
            let again = serde_json::from_str::<Vec<Reason>>(&text).unwrap();
            assert_eq!(again.iter().collect::<Vec<_>>(), reasons, "{text}");
        }
    }
}

/// Another run of the machine has other pages and another hour: a number is known no better than runs repeat.
#[test]
fn the_interval_has_the_scatter_between_runs() {
    let groups = Conditions::default();
    let scatter = noise(200, 0.02, 5);
    let seen = of(visits(200, 0.1, |index| 40.0 * scatter[index]));
    let half = |between_runs| {
        let found = Reading { between_runs, ..reading(Metric::Latency, &groups) }.estimate(&seen);
        let value = found.value.unwrap();
        (found.edge.unwrap().within.unwrap().half_of(value), found.interval.unwrap().half_of(value))
    };
    let (within, whole) = half(0.0);
    assert!((within - whole).abs() < 1e-9 && within < 0.01, "{within}");
    let (within, whole) = half(0.025);
    assert!((whole - within.hypot(IN_HALF * 0.025)).abs() < 1e-4, "{within} {whole}");
}

#[test]
fn threads_that_share_nothing_reach_their_levels_at_moments_of_their_own() {
    let groups = Conditions::default();
    let reading = Reading { is_of_core: true, cores: 2, ..reading(Metric::Bandwidth, &groups) };
    // Each core is alone in a quarter of the visits, both at once in three of them.
    let mut rng = Rng::new(5);
    let mut list = visits(48, 0.5, |_| 0.0);
    for visit in &mut list {
        let mut thread = |level: f64| {
            let lost = if rng.unit() < 0.25 { 0.0 } else { 0.1 + 0.3 * rng.unit() };
            Some(level * (1.0 - lost) * (1.0 + 0.0005 * rng.normal()))
        };
        let threads = [thread(118.0), thread(116.0)];
        let both = threads.iter().copied().sum();
        visit.windows.iter_mut().for_each(|window| window.values = vec![both, threads[0], threads[1]]);
    }
    assert_eq!(grades(&reading.estimate(&of(list.clone()))), [Grade::Shared], "together");
    let found = reading.estimate(&Visits { threads: 2, ..of(list.clone()) });
    assert_eq!(grades(&found), [], "{found:?}");
    assert!((found.value.unwrap() / 234.0 - 1.0).abs() < 0.002, "{found:?}");
    let Interval { low, high, .. } = found.interval.unwrap();
    assert!(low < 234.0 && high > 234.0 && high / low < 1.01, "{found:?}");
    // One core that is never alone: the number is what both got.
    for visit in &mut list {
        let busy = 80.0 + 27.0 * rng.unit();
        let both = visit.windows[0].values[1].map(|first| first + busy);
        visit.windows.iter_mut().for_each(|window| (window.values[0], window.values[2]) = (both, Some(busy)));
    }
    assert_eq!(grades(&reading.estimate(&Visits { threads: 2, ..of(list) })), [Grade::Shared]);
}

#[test]
fn what_others_use_scatters_between_runs_as_between_the_moments_of_one() {
    let groups = Conditions::default();
    let reading = Reading { between_runs: 0.01, ..reading(Metric::Bandwidth, &groups) };
    let half = |reading: Reading<'_>, deviation: f64| {
        let moments = noise(40, deviation, 7);
        let found = reading.estimate(&of(visits(200, 0.2, |index| 30.0 * moments[index / 5])));
        let Interval { low, high, .. } = found.interval.unwrap();
        (high - low) / 2.0 / found.value.unwrap()
    };
    let (calm, busy) = (half(reading, 0.002), half(reading, 0.05));
    assert!((0.019..0.021).contains(&calm) && (0.07..0.14).contains(&busy), "{calm} {busy}");
    // A point of a curve is compared with others of its run.
    assert!(half(Reading { between_runs: 0.0, ..reading }, 0.05) < 0.03);
    // Two states, each for half of the time, in turns of five seconds: the distance between them is no scatter.
    let states = |index: usize| if (index / 25).is_multiple_of(2) { 28.0 } else { 55.0 };
    let narrow = noise(400, 0.004, 9);
    let found = reading.estimate(&of(visits(400, 0.2, |index| states(index) * narrow[index])));
    let Interval { low, high, .. } = found.interval.unwrap();
    let Interval { low: least, high: most, .. } = found.edge.unwrap().within.unwrap();
    assert!((high - low) / (most - least) < 1.2, "{found:?}");
}
