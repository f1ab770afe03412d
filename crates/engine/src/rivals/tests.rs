use tiermark_model::testing;

use super::*;

/// A comparison at a moment of its own, of which both pairs came to this ratio.
fn pair(ratio: f64) -> Option<ComparedPair> {
    pairs(ratio, ratio)
}

fn pairs(before: f64, after: f64) -> Option<ComparedPair> {
    Some(ComparedPair { at: 0.0, ratios: [before, after] })
}

fn rivals(kernels: &[&str]) -> Rivals {
    let others = kernels.iter().map(|kernel| Other::of(&KernelId::from(*kernel))).collect();
    Rivals { first: Some("first".into()), others, ..Rivals::default() }
}

/// The chosen kernel after these comparisons, whether more are needed, and whether the rival may be better.
fn after(pairs: &[Option<ComparedPair>]) -> (String, bool, bool) {
    let mut rivals = rivals(&["b"]);
    compare(&mut rivals, 0, pairs);
    (rivals.winner().unwrap().to_string(), rivals.undecided(), rivals.open().is_some())
}

fn first(more: bool, open: bool) -> (String, bool, bool) {
    ("first".into(), more, open)
}

/// Comparisons with a rival, two seconds apart.
fn compare(rivals: &mut Rivals, index: usize, pairs: &[Option<ComparedPair>]) {
    for (n, pair) in pairs.iter().enumerate() {
        rivals.compared(index, pair.map(|pair| ComparedPair { at: 2.0 * n as f64, ..pair }));
    }
}

#[test]
fn pairs_that_agree_decide_and_a_spoiled_one_does_not() {
    let (better, spoiled) = (pair(1.07), pairs(0.9, 1.5));
    assert_eq!(after(&[]), first(true, true));
    assert_eq!(after(&[better]), first(true, true));
    assert_eq!(after(&[better, better]), first(true, true));
    assert_eq!(after(&[better, better, better]), ("b".into(), false, false));
    assert_eq!(after(&[spoiled, better, better, better]), ("b".into(), false, false));
    // Nothing is known of it: the figure may be that of a slower kernel.
    assert_eq!(after(&[None; 40]), first(false, true));
}

#[test]
fn a_rival_that_is_far_better_is_taken_soon() {
    assert_eq!(after(&[pair(2.4)]), first(true, true));
    assert_eq!(after(&[pair(2.4), pair(2.3)]), ("b".into(), false, false));
    assert_eq!(after(&[pair(2.4), pair(0.99)]), first(true, true));
}

#[test]
fn two_moments_are_needed_and_no_comparison_is_made_before_the_second() {
    let mut rivals = rivals(&["b"]);
    let at = |at: f64| pair(2.6).map(|pair| ComparedPair { at, ..pair });
    rivals.compared(0, at(0.0));
    rivals.compared(0, at(0.3));
    assert_eq!(rivals.winner().unwrap().to_string(), "first");
    assert!(rivals.others[0].waits(0.6) && !rivals.others[0].waits(1.1) && rivals.undecided());
    rivals.compared(0, at(1.1));
    assert_eq!(rivals.winner().unwrap().to_string(), "b");
}

#[test]
fn a_rival_that_is_no_better_is_soon_out() {
    assert_eq!(after(&[pair(0.49)]), first(false, false));
    assert_eq!(after(&[pair(0.8)]), first(true, false));
    assert_eq!(after(&[pair(0.6), pair(0.69)]), first(false, false));
    // One or two may be spoiled.
    assert_eq!(after(&[pair(0.69)]), first(true, false));
    assert_eq!(after(&[pair(0.8), pair(0.84)]), first(true, false));
    assert_eq!(after(&[pair(0.8), pair(0.84), pair(0.84)]), first(false, false));
    assert_eq!(after(&[pair(1.02), pair(1.0)]), first(true, false));
    assert_eq!(after(&[pair(1.02), pair(1.0), pair(1.01)]), first(false, false));
    // Without a clean window.
    assert_eq!(after(&[pair(0.0)]), first(true, false));
    assert_eq!(after(&[pair(0.0), pair(0.0)]), first(false, false));
}

#[test]
fn where_pairs_differ_many_comparisons_decide() {
    let noisy = |low: f64, high: f64, count: usize| vec![pairs(low, high); count];
    assert_eq!(after(&noisy(0.95, 1.6, RIVALRY.most - 1)), first(true, true));
    assert_eq!(after(&noisy(0.95, 1.6, RIVALRY.most)), ("b".into(), false, false));
    assert_eq!(after(&noisy(0.9, 1.1, RIVALRY.most)), first(false, false));
    // One lucky pair wins nothing.
    let lucky = [noisy(1.25, 1.25, 1), noisy(0.98, 1.01, 4)].concat();
    assert_eq!(after(&lucky), first(false, false));
}

#[test]
fn a_rival_without_a_clean_window_has_no_ratio() {
    let mut rivals = rivals(&["b"]);
    compare(&mut rivals, 0, &[pair(0.0); 2]);
    let told: Vec<Option<f64>> = rivals.rivals(None, None).iter().map(|rival| rival.ratio).collect();
    assert_eq!(told, [Some(1.0), None]);
}

#[test]
fn several_threads_compare_what_one_found_near_and_the_best_of_each_kind() {
    let kernel = |id: &str, store_kind| KernelInfo { store_kind, ..testing::kernel(id) };
    let (cached, around) = (StoreKind::Cached, StoreKind::NonTemporal);
    let kernels = [
        kernel("first", cached),
        kernel("near", cached),
        kernel("slow", cached),
        kernel("unknown", cached),
        kernel("nt", around),
        kernel("nt2", around),
    ];
    let told = [("first", Some(1.0)), ("near", Some(0.9)), ("slow", Some(0.5)), ("unknown", None)];
    let told = told.iter().chain(&[("nt", Some(0.4)), ("nt2", Some(0.3))]);
    let rival = |(id, ratio): &(&str, Option<f64>)| Rival {
        kernel: KernelId::from(*id),
        ratio: *ratio,
        value: None,
        interval: None,
    };
    let told: Vec<Rival> = told.map(rival).collect();
    let all = ["near", "slow", "unknown", "nt", "nt2"];
    let left = |rivals: &Rivals| rivals.others.iter().map(|other| other.kernel.to_string()).collect::<Vec<_>>();
    let mut fresh = rivals(&all);
    fresh.narrow(&told, &kernels);
    assert_eq!(left(&fresh), ["near", "unknown", "nt"]);
    let mut begun = rivals(&all);
    begun.compared(0, pair(0.9));
    begun.narrow(&told, &kernels);
    assert_eq!(left(&begun), all);
}

#[test]
fn a_few_interrupted_pairs_of_many_are_no_other_state() {
    let pings = |slow: usize, pairs: usize| {
        let later = (0..pairs).map(|pair| if pair < slow { 200.0 } else { 51.0 }).collect();
        one_state(&[vec![50.0; pairs], later])
    };
    assert!(pings(0, 1) && !pings(1, 1) && !pings(1, 3));
    assert!(pings(4, 16) && !pings(5, 16));
}

#[test]
fn the_rest_is_compared_with_the_one_that_is_taken() {
    let mut rivals = rivals(&["a", "b", "c", "d"]);
    compare(&mut rivals, 1, &[pair(1.0)]);
    compare(&mut rivals, 3, &[pair(1.01); 3]);
    compare(&mut rivals, 0, &[pair(1.2); 3]);
    assert_eq!(rivals.winner().unwrap().0.as_ref(), "a");
    compare(&mut rivals, 1, &[pair(0.99); 3]);
    compare(&mut rivals, 2, &[pair(0.49)]);
    assert!(!rivals.undecided() && rivals.open().is_none());
    let told: Vec<f64> = rivals.rivals(None, None).iter().map(|rival| rival.ratio.unwrap()).collect();
    for (ratio, expected) in told.iter().zip([1.0, 1.2, 1.188, 0.588, 1.01]) {
        assert!((ratio - expected).abs() < 1e-9, "{told:?}");
    }
}

#[test]
fn what_an_earlier_run_or_one_thread_chose_comes_first() {
    let mut rivals = rivals(&["a", "b"]);
    rivals.begin_with(&"b".into());
    assert_eq!(rivals.winner().unwrap().0.as_ref(), "b");
    assert_eq!(rivals.others.iter().map(|other| other.kernel.to_string()).collect::<Vec<_>>(), ["a", "first"]);
    rivals.begin_with(&"unknown".into());
    rivals.compared(0, pair(1.0));
    rivals.begin_with(&"a".into());
    assert_eq!(rivals.winner().unwrap().0.as_ref(), "b", "comparisons are with it");
}

#[test]
fn the_kernels_that_lost_have_the_value_of_the_one_that_won_times_their_ratio() {
    let within = Interval { low: 99.0, high: 102.0, level: 0.95 };
    let told = |rivals: &Rivals| -> Vec<(String, f64, f64, f64)> {
        let all = rivals.rivals(Some(100.0), Some(within)).into_iter();
        let round = |value: f64| (value * 10.0).round() / 10.0;
        let number = |rival: Rival| (rival.value.unwrap(), rival.interval.unwrap());
        let numbers = all.map(|rival| (rival.kernel.to_string(), number(rival)));
        numbers.map(|(kernel, (value, of))| (kernel, round(value), round(of.low), round(of.high))).collect()
    };
    // Pairs that agree add nothing to the interval, and neither does the one that is taken to its own.
    let mut alike = rivals(&["a"]);
    compare(&mut alike, 0, &[pair(0.8); 2]);
    let expected = [("first", 100.0, 99.0, 102.0), ("a", 80.0, 79.2, 81.6)];
    assert_eq!(told(&alike), expected.map(|(kernel, value, low, high)| (kernel.to_owned(), value, low, high)));
    // Three comparisons whose logarithms have a standard deviation of 0.02: 4.303 · 0.02 / √3 is half of the interval.
    let mut apart = rivals(&["a"]);
    compare(&mut apart, 0, &[pair(0.784_158_9), pair(0.816_161_1), pair(0.8)]);
    let apart = told(&apart).remove(1);
    assert_eq!(apart, ("a".to_owned(), 80.0, 76.0, 84.4));
    // The reference of `b` was the first kernel, which lost to `a` later: both spreads count.
    let mut taken = rivals(&["a", "b", "c"]);
    compare(&mut taken, 1, &[pairs(0.784_158_9, 0.816_161_1); 3]);
    compare(&mut taken, 0, &[pair(1.25); 3]);
    compare(&mut taken, 2, &[pair(0.9); 3]);
    let names: Vec<(String, f64)> = told(&taken).into_iter().map(|(kernel, value, ..)| (kernel, value)).collect();
    let expected = [("first", 80.0), ("a", 100.0), ("b", 64.0), ("c", 90.0)];
    assert_eq!(names, expected.map(|(kernel, value)| (kernel.to_owned(), value)));
    // Without a number there is none.
    assert!(taken.rivals(None, None).iter().all(|rival| rival.value.is_none() && rival.interval.is_none()));
}

#[test]
fn comparisons_without_a_clock_count_only_where_few_have_one() {
    let rounds = |clocked: &[usize]| {
        let mut other = Other::of(&"b".into());
        let counts = |round| {
            let counts = other.counts(clocked.contains(&round));
            other.rounds += 1;
            counts
        };
        (0..RIVALRY.most).map(counts).collect::<Vec<bool>>()
    };
    let late = |from: usize| (0..RIVALRY.most).map(|round| round >= from).collect::<Vec<bool>>();
    assert_eq!(rounds(&[]), late(WAITS_FOR_CLOCK));
    let enough = rounds(&[3, 5]);
    assert!((0..RIVALRY.most).all(|round| enough[round] == [3, 5].contains(&round)), "{enough:?}");
    let once = rounds(&[3]);
    assert!((0..RIVALRY.most).all(|round| once[round] == (round == 3 || round >= WAITS_FOR_CLOCK)), "{once:?}");
}
