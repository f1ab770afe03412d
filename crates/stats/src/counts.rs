//! What counts say: the interval of a share (of so many events, so many were of one kind) and of a number of events,
//! and whether pairs differ in one direction.

use crate::rank_interval::normal_beyond;

/// Wilson's score interval of a share of `part` in `whole` events, 0 to 1, with `beyond` (0 to 0.5) outside at each end
/// (Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927; recommended by Brown, Cai & DasGupta, Statistical Science 2001).
///
/// Assumes independent events. `None` without events, for more parts than the whole, or a `beyond` out of range.
#[must_use]
pub fn share_interval(part: u64, whole: u64, beyond: f64) -> Option<(f64, f64)> {
    if whole == 0 || part > whole || !(beyond > 0.0 && beyond < 0.5) {
        return None;
    }
    let (n, share, z) = (whole as f64, part as f64 / whole as f64, normal_beyond(beyond));
    let middle = share + z * z / (2.0 * n);
    let reach = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    Some((((middle - reach) / scale).max(0.0), ((middle + reach) / scale).min(1.0)))
}

/// The number of events that a time of the same length has on average, when it had `count`: an interval with `beyond`
/// (0 to 0.5) outside at each end, by Byar's approximation of the exact one (Breslow & Day, "Statistical Methods in
/// Cancer Research II", 1987, §2.3).
///
/// `None` for a `beyond` out of range.
#[must_use]
pub fn poisson_interval(count: u64, beyond: f64) -> Option<(f64, f64)> {
    if !(beyond > 0.0 && beyond < 0.5) {
        return None;
    }
    let z = normal_beyond(beyond);
    let limit = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).powi(3);
    let n = count as f64;
    let low = if count == 0 { 0.0 } else { limit(n, -z).max(0.0) };
    Some((low, limit(n + 1.0, z)))
}

/// Two-sided p-value of the sign test: so many of the pairs rise and so many fall, with each as likely as the other
/// (Arbuthnott 1710; Conover, "Practical Nonparametric Statistics", 3rd ed. 1999, §3.4). Pairs that do neither are left
/// out by the caller. 1 without pairs.
#[must_use]
pub fn sign_test(rises: usize, falls: usize) -> f64 {
    let (n, less) = (rises + falls, rises.min(falls));
    // ln C(n, k) - n ln 2, summed from the smallest term: exact for hundreds of pairs.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = log_term.exp();
    for k in 1..=less {
        log_term += ((n - k + 1) as f64 / k as f64).ln();
        tail += log_term.exp();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank_interval::BEYOND;
    use crate::rng::Rng;

    #[test]
    fn published_values() {
        // Newcombe, Statistics in Medicine 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        let of = |part, whole| share_interval(part, whole, BEYOND).unwrap();
        for ((part, whole), (low, high)) in [
            ((81, 263), (0.2553, 0.3662)),
            ((15, 148), (0.0624, 0.1605)),
            ((0, 20), (0.0, 0.1611)),
            ((1, 29), (0.0061, 0.1718)),
        ] {
            let found = of(part, whole);
            assert!((found.0 - low).abs() < 5e-5 && (found.1 - high).abs() < 5e-5, "{part} of {whole}: {found:?}");
        }
    }

    #[test]
    fn nothing_of_nothing() {
        assert_eq!(share_interval(0, 0, BEYOND), None);
        assert_eq!(share_interval(2, 1, BEYOND), None);
        assert_eq!(share_interval(1, 2, 0.0), None);
        assert_eq!(share_interval(1, 2, f64::NAN), None);
    }

    #[test]
    fn it_holds_the_truth_nineteen_times_of_twenty() {
        let mut rng = Rng::new(3);
        let mut inside = |truth: f64| {
            let runs = (0..1_000).filter(|_| {
                let part = (0..400).filter(|_| rng.unit() < truth).count() as u64;
                let (low, high) = share_interval(part, 400, BEYOND).unwrap();
                (low..=high).contains(&truth)
            });
            runs.count()
        };
        for truth in [0.02, 0.5, 0.9] {
            let held = inside(truth);
            assert!((920..=980).contains(&held), "{truth}: {held}");
        }
    }

    proptest! {
        #[test]
        fn it_lies_around_the_share(whole in 1u64..1_000_000, part in 0.0f64..=1.0, beyond in 1e-6f64..0.4) {
            let part = (whole as f64 * part) as u64;
            let (low, high) = share_interval(part, whole, beyond).unwrap();
            let share = part as f64 / whole as f64;
            prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
        }
    }

    #[test]
    fn it_is_near_the_exact_interval() {
        // Exact limits: Garwood, Biometrika 28, 1936, table.
        for (count, low, high) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (5, 1.623, 11.668), (20, 12.217, 30.888)] {
            let found = poisson_interval(count, BEYOND).unwrap();
            let is_near = |a: f64, b: f64| (a - b).abs() <= 0.02 * b.max(1.0);
            assert!(is_near(found.0, low) && is_near(found.1, high), "{count}: {found:?}");
        }
        let (low, high) = poisson_interval(1_000_000, BEYOND).unwrap();
        assert!((high - low - 2.0 * 1.96 * 1e3).abs() < 10.0, "{low} {high}");
        assert_eq!((poisson_interval(5, 0.0), poisson_interval(5, f64::NAN)), (None, None));
    }

    #[test]
    fn it_is_twice_the_binomial_tail() {
        assert_eq!([sign_test(0, 0), sign_test(5, 5), sign_test(3, 3)], [1.0; 3]);
        assert!((sign_test(11, 0) - 2.0 / 2048.0).abs() < 1e-12);
        assert!((sign_test(1, 9) - 2.0 * 11.0 / 1024.0).abs() < 1e-12);
        assert_eq!(sign_test(9, 1), sign_test(1, 9));
        assert!(sign_test(900, 600) < 1e-13 && sign_test(900, 600) > 0.0);
    }
}
