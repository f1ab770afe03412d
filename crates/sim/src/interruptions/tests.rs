//! A course is as planted, one for each cpu, and the same wherever it is begun.

use super::*;

const ARRANGEMENTS: [Arrangement; 3] =
    [Arrangement::Periodic { jitter: 0.5 }, Arrangement::Bursty { share: 0.2, seconds: 0.005 }, Arrangement::Random];

fn plan(per_second: f64, arrangement: Arrangement) -> Interruptions {
    Interruptions { per_second, median_ns: 2_000.0, arrangement, ..Interruptions::default() }
}

#[test]
fn number_and_share_are_as_planted() {
    for arrangement in ARRANGEMENTS {
        for per_second in [2_000.0, 20_000.0] {
            for seed in 1..4 {
                let plan = Interruptions { long_per_second: 100.0, ..plan(per_second, arrangement) };
                let seen = plan.seen(20.0, 1, seed);
                // The mean of a log-normal with a spread of 0.5 is 1.13 medians, a little more without those
                // below 1 µs. At random moments some begin while others last: these are one (M/G/∞).
                let asked = per_second * 2.27e-6;
                let dense = match arrangement {
                    Arrangement::Bursty { share, .. } => asked / share,
                    Arrangement::Random => asked,
                    Arrangement::Periodic { .. } => 0.0,
                };
                let number = seen.short.per_second / per_second / (-dense).exp();
                assert!((number - 1.0).abs() < 0.03, "{arrangement:?} {per_second}: {seen:?}");
                let covered = if dense > 0.0 { (1.0 - (-dense).exp()) / dense } else { 1.0 };
                let share = seen.short.share / asked / covered;
                assert!((share - 1.0).abs() < 0.03, "{arrangement:?} {per_second}: {seen:?}");
                // 20 to 200 µs, log-uniform: 78 µs in the mean.
                assert!((seen.long.per_second / 100.0 - 1.0).abs() < 0.08, "{arrangement:?}: {seen:?}");
                assert!((seen.long.share / 78.2e-4 - 1.0).abs() < 0.1, "{arrangement:?}: {seen:?}");
            }
        }
    }
}

#[test]
fn arrangements_differ_in_the_scatter_of_counts() {
    // Variance over mean of the number in 10 ms: 0 for what is periodic, 1 for what is random, far more in bursts.
    let dispersion = |arrangement| {
        let plan =
            Interruptions { long_per_second: 0.0, median_ns: 1_000.0, spread: 0.0, ..plan(5_000.0, arrangement) };
        let mut own = Interrupter::new(&plan, 0, 9, 0.0);
        let counts: Vec<f64> =
            (1..400).map(|i| std::iter::from_fn(|| own.next_before(f64::from(i) * 1e7)).count() as f64).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    };
    let [periodic, bursty, random] = ARRANGEMENTS.map(dispersion);
    assert!(periodic < 0.05 && (0.75..1.25).contains(&random) && bursty > 10.0, "{periodic} {random} {bursty}");
}

#[test]
fn a_cpu_has_one_course_and_each_its_own() {
    let plan = plan(20_000.0, Arrangement::Periodic { jitter: 0.5 });
    let from = |cpu, at| {
        let mut own = Interrupter::new(&plan, cpu, 5, at);
        std::iter::from_fn(move || own.next_before(30e6)).collect::<Vec<_>>()
    };
    let whole = from(0, 0.0);
    for at in [10.2e6, 10.9e6, 17.35e6] {
        let rest: Vec<_> = whole.iter().copied().filter(|(_, end)| *end > at).collect();
        assert_eq!(from(0, at), rest);
    }
    assert!(whole != from(1, 0.0));
}

#[test]
fn work_is_longer_by_what_is_taken_meanwhile() {
    let plan = plan(20_000.0, Arrangement::Random);
    let (mut own, mut at, mut taken) = (Interrupter::new(&plan, 0, 5, 3e6), 3e6, 0.0);
    for _ in 0..50_000 {
        let lost = own.taken(at, 4_000.0);
        (at, taken) = (at + 4_000.0 + lost, taken + lost);
    }
    let whole = |until: f64| plan.seen(until / 1e9, 0, 5);
    let of = |until: f64| (whole(until).short.share + whole(until).long.share) * until;
    assert!(((of(at) - of(3e6)) / taken - 1.0).abs() < 0.002, "{} {taken}", of(at) - of(3e6));
    // A watch sees the same.
    let watch = Interrupter::new(&plan, 0, 5, 3e6).watch(3e6, at - 3e6);
    assert!((watch.gaps_ns.iter().map(|gap| f64::from(*gap)).sum::<f64>() / taken - 1.0).abs() < 0.002);
    assert!(watch.ns >= at - 3e6);
}

#[test]
fn what_is_never_interrupted_has_no_course() {
    let none = Interruptions { per_second: 0.0, long_per_second: 0.0, ..Interruptions::default() };
    assert_eq!(none.seen(1.0, 0, 1), Taken::default());
}

#[test]
fn the_text_of_an_option_is_read_or_refused() {
    let plan: Interruptions = "2000:5:random:3".parse().unwrap();
    let expected = (2_000.0, 5_000.0, Arrangement::Random, 3.0);
    assert_eq!((plan.per_second, plan.median_ns, plan.arrangement, plan.long_per_second), expected);
    for text in ["", "2000", "2000:5:often:3", "x:5:random:3", "-1:5:random:3", "50000:100:random:3", "1:1:bursty:3:4"]
    {
        assert!(text.parse::<Interruptions>().is_err_and(|why| why.contains(text)), "{text}");
    }
}
