//! The level that windows pile up at: simulated machines whose level is known. `examples/piles` does the same for 1,000
//! seeds.

use tiermark_stats::{Pile, Side, VisitWindows, bare_pile, pile};

#[path = "../../examples/piles/sim.rs"]
#[allow(dead_code, reason = "the example uses the rest")]
mod sim;

use sim::{NOISES, Planted, RESTS, Rest, noise, wandering};

/// Seeds of each simulation.
const SEEDS: u64 = 60;

/// Visits half a second apart, of 8 windows each.
fn visits(count: usize, value: impl Fn(usize, usize) -> f64) -> Vec<VisitWindows> {
    let visit = |n| VisitWindows { at: n as f64 * 0.5, values: (0..8).map(|window| value(n, window)).collect() };
    (0..count).map(visit).collect()
}

/// Equal but for the rounding of logarithms.
fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-12
}

/// Spread evenly over 0 to 1, the same each time.
fn spread(n: usize, window: usize) -> f64 {
    ((n * 8 + window) as f64 * 0.618_033_988_75).fract()
}

#[test]
fn noise_with_one_peak_is_not_trusted_above_its_mean() {
    for (shape, correlation) in NOISES.iter().flat_map(|shape| [(*shape, 0.0), (*shape, 0.9)]) {
        for sd in [0.005, 0.01, 0.02, 0.03, 0.04, 0.05] {
            for seed in 0..SEEDS {
                let found = bare_pile(&noise(shape, sd, correlation, seed).visits, Side::High).unwrap();
                let is_high = found.value > 1.01 + 0.2 * sd;
                assert!(!(found.piled && is_high), "{shape:?} {sd} {correlation}, seed {seed}: {found:?}");
                assert!(!found.piled || sd < 0.03, "{shape:?} {sd} {correlation}, seed {seed}: {found:?}");
            }
        }
    }
}

/// Held against what the run itself came to: it cannot know more.
#[test]
fn noise_that_wanders_is_not_trusted_above_its_own_mean() {
    const SD: f64 = 0.03;
    for seconds in [0.3, 1.0, 3.0] {
        for seed in 0..SEEDS {
            let run = wandering(SD, seconds, seed);
            let found = bare_pile(&run.visits, Side::High).unwrap();
            let values: Vec<f64> = run.visits.iter().flat_map(|visit| visit.values.iter().copied()).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let is_high = found.value > mean * (1.01 + 0.2 * SD);
            assert!(!(found.piled && is_high), "{seconds} s, seed {seed}: {found:?} of {mean}");
        }
    }
}

/// Of the runs of a kind, those that are trusted and those whose interval holds the level.
fn planted(rest: Rest, lucky: usize) -> (usize, usize) {
    let (mut trusted, mut covered) = (0, 0);
    for seed in 0..SEEDS {
        let run = Planted::new(rest, seed).run(lucky, 2 * seed);
        let found = pile(&run.visits, Side::High, seed).expect("windows");
        if found.piled {
            assert!((found.value / run.truth - 1.0).abs() <= 0.01, "{rest:?}, lucky {lucky}, seed {seed}: {found:?}");
            trusted += 1;
            covered += usize::from((found.low..=found.high).contains(&run.truth));
        }
    }
    (trusted, covered)
}

#[test]
fn planted_piles_are_found_and_nothing_else() {
    for (rest, lucky) in RESTS.iter().flat_map(|rest| [(*rest, 0), (*rest, 2)]) {
        let (trusted, covered) = planted(rest, lucky);
        let least = if rest == Rest::Half { 0.6 } else { 0.75 };
        assert!(trusted as f64 >= least * SEEDS as f64, "{rest:?}, lucky {lucky}: {trusted} of {SEEDS} trusted");
        assert!(covered as f64 >= 0.9 * trusted as f64, "{rest:?}, lucky {lucky}: {covered} of {trusted} covered");
    }
}

#[test]
fn two_runs_of_a_machine_agree() {
    let (mut both, mut overlap) = (0, 0);
    for (rest, seed) in RESTS.iter().flat_map(|rest| (0..SEEDS / 2).map(|seed| (*rest, seed))) {
        let machine = Planted::new(rest, seed);
        let [one, other] =
            [2 * seed, 2 * seed + 1].map(|run| pile(&machine.run(0, run).visits, Side::High, run).unwrap());
        if one.piled && other.piled {
            both += 1;
            overlap += usize::from(one.low <= other.high && other.low <= one.high);
        }
    }
    assert!(overlap * 100 >= both * 95, "{overlap} of {both}");
}

#[test]
fn the_faster_of_two_piles_counts() {
    let found = bare_pile(&visits(100, |n, _| if n % 10 == 0 { 100.0 } else { 93.0 }), Side::High).unwrap();
    assert!(found.piled && found.reached == 10 && same(found.value, 100.0), "{found:?}");
    // Seen twice, at two moments: perhaps the level, and neither it nor the slower one is trusted.
    let found = bare_pile(&visits(40, |n, _| if n % 20 == 7 { 100.0 } else { 93.0 }), Side::High).unwrap();
    assert!(!found.piled && same(found.value, 93.0), "{found:?}");
}

#[test]
fn fast_visits_by_chance_move_nothing() {
    let lucky = |n: usize| [110.0, 123.0, 139.0].get(n / 9).copied().filter(|_| n % 9 == 4);
    let found = bare_pile(&visits(60, |n, _| lucky(n).unwrap_or(100.0)), Side::High).unwrap();
    assert!(found.piled && same(found.value, 100.0) && same(found.sustained, 100.0), "{found:?}");
    // Nor do they move a bound: four visits at least have the sustained rate.
    let found = bare_pile(&visits(30, |n, window| lucky(n).unwrap_or(100.0 - 40.0 * spread(n, window))), Side::High);
    assert!(found.is_some_and(|found| !found.piled && found.value < 100.0), "{found:?}");
}

#[test]
fn visits_in_a_row_are_one() {
    // Eight visits within 20 ms saw 100; they make one moment, and no pile.
    let mut seen = visits(60, |n, window| 90.0 - 40.0 * spread(n, window));
    seen.extend((0..8).map(|n| VisitWindows { at: 9.26 + f64::from(n) * 0.0025, values: vec![100.0; 8] }));
    let found = bare_pile(&seen, Side::High).unwrap();
    assert_eq!((found.piled, found.visits), (false, 61));
    assert!(found.value < 91.0, "{found:?}");
}

#[test]
fn times_are_as_rates() {
    let run = Planted::new(Rest::Delays, 5).run(0, 5);
    let times =
        run.visits.iter().map(|v| VisitWindows { at: v.at, values: v.values.iter().map(|x| 1.0 / x).collect() });
    let rates = pile(&run.visits, Side::High, 1).unwrap();
    let times = pile(&times.collect::<Vec<_>>(), Side::Low, 1).unwrap();
    assert!((rates.value * times.value - 1.0).abs() < 1e-9 && rates.piled == times.piled, "{rates:?} {times:?}");
    assert!((rates.low * times.high - 1.0).abs() < 1e-9 && (rates.high * times.low - 1.0).abs() < 1e-9);
}

#[test]
fn what_cannot_be_used_is_refused() {
    let of = |values: &[f64]| vec![VisitWindows { at: 0.0, values: values.to_vec() }];
    let refused = [&[][..], &[1.0, f64::NAN], &[1.0, 0.0], &[1.0, -2.0], &[f64::INFINITY]];
    assert!(refused.iter().all(|values| bare_pile(&of(values), Side::High).is_none()));
    assert_eq!(pile(&[], Side::High, 1), None::<Pile>);
    let one = pile(&of(&[3.0]), Side::High, 1).unwrap();
    assert!(same(one.value, 3.0) && !one.piled && one.visits == 1, "{one:?}");
}

/// Visits at a steady level; every 30th begins 20 % faster, and either falls to the level after one to seven windows or
/// stays.
#[test]
fn what_goes_within_a_visit_is_no_level_and_hides_none() {
    let begin_fast = |falls: bool| {
        let value = move |n: usize, window: usize| {
            let is_fast = n.is_multiple_of(30) && !(falls && window > n / 30 % 7);
            (if is_fast { 1.2 } else { 1.0 }) * (1.0 + 0.004 * (spread(n, window) - 0.5))
        };
        visits(400, value)
    };
    let falling = bare_pile(&begin_fast(true), Side::High).unwrap();
    assert!(falling.piled && (falling.value - 1.0).abs() < 0.01, "{falling:?}");
    // A state that lasts for whole visits counts, even if some visits begin faster still.
    let mixed = |n: usize, window: usize| {
        let rate = match n {
            n if n.is_multiple_of(11) => 1.2,
            n if n % 40 == 1 && window == 0 => 1.4,
            _ => 1.0,
        };
        rate * (1.0 + 0.004 * (spread(n, window) - 0.5))
    };
    let mixed = bare_pile(&visits(400, mixed), Side::High).unwrap();
    assert!(mixed.piled && (mixed.value - 1.2).abs() < 0.012, "{mixed:?}");
    // A state that lasts for whole visits is one.
    let lasting = bare_pile(&begin_fast(false), Side::High).unwrap();
    assert!(lasting.piled && (lasting.value - 1.2).abs() < 0.01, "{lasting:?}");
}

/// Seven windows, two of which are fast wherever chance puts them: an odd window is of neither half.
#[test]
fn fast_windows_at_any_place_are_a_level() {
    for seed in 0..20 {
        let mut rng = tiermark_stats::Rng::new(seed);
        let visit = |n: usize| {
            let (first, second) = (rng.below(7), rng.below(7));
            let is_fast = |window: usize| n.is_multiple_of(5) && (window == first || window == second);
            let value =
                |window: usize| (if is_fast(window) { 1.2 } else { 1.0 }) * (1.0 + 0.004 * (spread(n, window) - 0.5));
            VisitWindows { at: n as f64 * 0.5, values: (0..7).map(value).collect() }
        };
        let found = bare_pile(&(0..400).map(visit).collect::<Vec<_>>(), Side::High).unwrap();
        assert!(found.piled && (found.value - 1.2).abs() < 0.012, "{seed}: {found:?}");
    }
}
