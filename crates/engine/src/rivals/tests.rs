use tiermark_model::testing;

use super::*;

/// A comparison in which the first came to this in its worse shot, 100 in the better, and the rival to that.
fn pair(worse: f64, rival: f64) -> Option<ComparedPair> {
    Some(ComparedPair { around: (worse, 100.0), rival })
}

fn rivals(kernels: &[&str]) -> Rivals {
    let others = kernels.iter().map(|kernel| Other::of(&KernelId::from(*kernel))).collect();
    Rivals { first: Some("first".into()), others, ..Rivals::default() }
}

/// The chosen kernel after these comparisons, whether more are needed, and whether the rival may be better.
fn after(pairs: &[Option<ComparedPair>]) -> (String, bool, bool) {
    let mut rivals = rivals(&["b"]);
    pairs.iter().for_each(|pair| rivals.compared(0, *pair));
    (rivals.winner().unwrap().to_string(), rivals.undecided(), rivals.open().is_some())
}

fn first(more: bool, open: bool) -> (String, bool, bool) {
    ("first".into(), more, open)
}

#[test]
fn calm_moments_decide_and_a_spoiled_comparison_does_not() {
    let (calm, spoiled) = (pair(99.0, 107.0), pair(60.0, 90.0));
    assert_eq!(after(&[]), first(true, true));
    assert_eq!(after(&[calm]), first(true, true));
    assert_eq!(after(&[calm, calm]), first(true, true));
    assert_eq!(after(&[calm, calm, calm]), ("b".into(), false, false));
    assert_eq!(after(&[spoiled, spoiled, calm, spoiled, calm, calm]), ("b".into(), false, false));
    // Nothing is known of it: the figure may be that of a slower kernel.
    assert_eq!(after(&[None; 40]), first(false, true));
}

#[test]
fn a_rival_that_is_far_better_is_taken_soon() {
    assert_eq!(after(&[pair(99.0, 240.0)]), first(true, true));
    assert_eq!(after(&[pair(70.0, 240.0), pair(80.0, 230.0)]), ("b".into(), false, false));
    assert_eq!(after(&[pair(70.0, 240.0), pair(80.0, 99.0)]), first(true, true));
}

#[test]
fn a_rival_that_is_no_better_is_soon_out() {
    assert_eq!(after(&[pair(99.0, 49.0)]), first(false, false));
    assert_eq!(after(&[pair(99.0, 80.0)]), first(true, false));
    assert_eq!(after(&[pair(99.0, 60.0), pair(99.0, 69.0)]), first(false, false));
    // One or two may be spoiled.
    assert_eq!(after(&[pair(99.0, 69.0)]), first(true, false));
    assert_eq!(after(&[pair(99.0, 80.0), pair(99.0, 84.0)]), first(true, false));
    assert_eq!(after(&[pair(70.0, 80.0), pair(70.0, 84.0), pair(70.0, 84.0)]), first(false, false));
    assert_eq!(after(&[pair(99.0, 102.0), pair(99.0, 100.0)]), first(true, false));
    assert_eq!(after(&[pair(99.0, 102.0), pair(99.0, 100.0), pair(99.0, 101.0)]), first(false, false));
    // Without a clean window.
    assert_eq!(after(&[pair(99.0, 0.0)]), first(true, false));
    assert_eq!(after(&[pair(99.0, 0.0), pair(99.0, 0.0)]), first(false, false));
}

#[test]
fn where_no_moment_is_calm_many_comparisons_decide() {
    let noisy = |rival: f64| vec![pair(70.0, rival); 9];
    assert_eq!(after(&noisy(125.0)), first(true, true));
    assert_eq!(after(&[noisy(125.0), noisy(125.0)].concat()), ("b".into(), false, false));
    assert_eq!(after(&[noisy(100.0), noisy(90.0)].concat()), first(false, false));
    // One lucky window wins nothing.
    let lucky = |slow: usize| [vec![pair(70.0, 125.0)], vec![pair(70.0, 95.0); slow]].concat();
    assert_eq!(after(&lucky(RIVALRY.most - 1)), first(false, false));
}

#[test]
fn a_rival_without_a_clean_window_has_no_ratio() {
    let mut rivals = rivals(&["b"]);
    (0..2).for_each(|_| rivals.compared(0, pair(99.0, 0.0)));
    let told: Vec<Option<f64>> = rivals.rivals().iter().map(|rival| rival.ratio).collect();
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
    let told: Vec<Rival> = told.map(|(id, ratio)| Rival { kernel: KernelId::from(*id), ratio: *ratio }).collect();
    let all = ["near", "slow", "unknown", "nt", "nt2"];
    let left = |rivals: &Rivals| rivals.others.iter().map(|other| other.kernel.to_string()).collect::<Vec<_>>();
    let mut fresh = rivals(&all);
    fresh.narrow(&told, &kernels);
    assert_eq!(left(&fresh), ["near", "unknown", "nt"]);
    let mut begun = rivals(&all);
    begun.compared(0, pair(99.0, 90.0));
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
    rivals.compared(1, pair(99.0, 100.0));
    (0..3).for_each(|_| rivals.compared(3, pair(99.0, 101.0)));
    (0..3).for_each(|_| rivals.compared(0, pair(99.0, 120.0)));
    assert_eq!(rivals.winner().unwrap().0.as_ref(), "a");
    let taken = |rival: f64| Some(ComparedPair { around: (119.0, 120.0), rival });
    (0..3).for_each(|_| rivals.compared(1, taken(118.8)));
    rivals.compared(2, taken(59.0));
    assert!(!rivals.undecided() && rivals.open().is_none());
    let told: Vec<f64> = rivals.rivals().iter().map(|rival| rival.ratio.unwrap()).collect();
    for (ratio, expected) in told.iter().zip([1.0, 1.2, 1.188, 0.59, 1.01]) {
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
    rivals.compared(0, pair(99.0, 99.0));
    rivals.begin_with(&"a".into());
    assert_eq!(rivals.winner().unwrap().0.as_ref(), "b", "comparisons are with it");
}
