//! The interval of a share: of so many events, so many were of one kind.

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
}
