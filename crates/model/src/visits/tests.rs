use super::*;
use proptest::prelude::*;

fn visits(parts: usize, threads: usize, drawn: &[(f64, u32, Vec<f64>, Vec<f64>)]) -> Visits {
    let mut visits = Visits::new(parts, threads);
    for (at, allocation, pings, values) in drawn {
        let clock = |value: &f64| CoreClock { hz: 1e9 + 1e3 * value.min(1e6), is_steady: *value > 9.0 };
        let window = |value: &f64| Window {
            clean: *value > 5.0,
            values: vec![Some(*value), None, Some(1e11)],
            clocks: vec![Some(clock(value)), None],
        };
        let windows = values.iter().map(window).collect();
        let (before, after) = (pings.clone(), pings.iter().rev().copied().collect());
        let blocks = |value: &f64| Blocks {
            count: *value as u64,
            left_out: *value as u64 / 3,
            left_out_share: value / 1e12,
            subtracted: 0.02,
            values: (*value > 9.0).then(|| BlockValues { mean: *value, median: 0.9 * value, p10: 0.5, p90: 1e4 }),
        };
        let blocks = values.iter().take(*allocation as usize).map(blocks).collect();
        visits.push(Visit { at: *at, allocation: *allocation, before, after, windows, blocks });
    }
    visits
}

#[test]
fn values_are_kept_to_a_thousandth_of_a_percent() {
    for value in [1e-6, 0.905, 3.823, 151.0, 2.1e11, 1e15] {
        let back = kept(value).unwrap();
        assert!((back / value - 1.0).abs() < 1.1e-5, "{value} {back}");
        assert_eq!(kept(back), Some(back));
    }
    assert_eq!([0.0, -1.0, f64::NAN, f64::INFINITY].map(kept), [None; 4]);
}

#[test]
fn of_many_threads_only_the_sum_is_kept() {
    let kept = |n: usize| (Visits::new(0, n).threads, Visits::new(0, n).clocks);
    assert_eq!([1, 2, 8, 9, 2048].map(kept), [(0, 1), (2, 2), (8, 8), (0, 1), (0, 1)]);
}

#[test]
fn clocks_are_kept_to_a_fiftieth_of_a_percent() {
    for hz in [5e7, 1e9, 2.9e9, 3.1e9, 6.2e9] {
        for is_steady in [false, true] {
            let back = decode_clock(encode_clock(Some(CoreClock { hz, is_steady }))).unwrap();
            assert!((back.hz / hz - 1.0).abs() < 1.1e-4 && back.is_steady == is_steady, "{hz} {back:?}");
        }
    }
    let broken = [0.0, -1.0, f64::NAN, f64::INFINITY].map(|hz| CoreClock { hz, is_steady: true });
    assert_eq!(broken.map(|clock| encode_clock(Some(clock))), [CLOCK_MISSING; 4]);
}

proptest! {
    #[test]
    fn visits_come_back_as_they_were(
        drawn in prop::collection::vec(
            (0.0..1e5f64, 0u32..4, prop::collection::vec(20.0..500.0f64, 0..4), prop::collection::vec(0.1..1e12f64, 0..20)),
            0..20,
        ),
        parts in 0usize..3,
        threads in 0usize..12,
    ) {
        let visits = visits(parts, threads, &drawn);
        let json = serde_json::to_string(&visits).unwrap();
        let trips = serde_json::from_str::<RoundTrips>(&json).unwrap().0;
        let without = |visit: &Visit| Visit { windows: Vec::new(), blocks: Vec::new(), ..visit.clone() };
        prop_assert_eq!(trips.list, visits.list.iter().map(without).collect::<Vec<_>>());
        prop_assert_eq!(serde_json::from_str::<Visits>(&json).unwrap(), visits);
    }

    #[test]
    fn whatever_is_damaged_is_refused_and_never_a_panic(text in "[A-Za-z0-9+/=]{0,200}", parts in 0u8..9, count in 0u64..9) {
        let encoded = Encoded { count, parts, threads: 2, clocks: parts, base64: text.clone(), ..Encoded::default() };
        // The first byte is the number of threads.
        let one = Encoded { blocks: text.clone(), ..visits(0, 1, &[(1.0, 2, Vec::new(), vec![10.0])]).into() };
        if let Ok(read) = Visits::try_from(one) {
            let threads = STANDARD.decode(text).unwrap().first().copied().unwrap_or(0);
            prop_assert_eq!(read.list[0].blocks.len(), usize::from(threads));
        }
        let trips = RoundTrips::try_from(encoded.clone()).map_err(|error| error.0);
        prop_assert_eq!(trips.map(|trips| trips.0.len()), Visits::try_from(encoded).map(|visits| visits.len()).map_err(|error| error.0));
    }
}

#[test]
fn threads_are_kept_to_a_hundredth_of_a_percent() {
    for thread in [118.0, 9.1, 236.0, 5000.0] {
        let back = decode_thread(encode_thread(Some(thread), Some(236.4)), Some(236.4)).unwrap();
        assert!((back / thread - 1.0).abs() < 5.1e-5, "{thread} {back}");
    }
    for (thread, value) in [(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (-1.0, 1.0)] {
        assert_eq!(encode_thread(Some(thread), Some(value)), THREAD_MISSING);
    }
    assert_eq!([1e-9, 1e9].map(|thread| encode_thread(Some(thread), Some(1.0))), [0, THREAD_MISSING - 1]);
}
