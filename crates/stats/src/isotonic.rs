//! The rising curve nearest to a noisy one.

use crate::usable;

/// Isotonic regression by pooling adjacent violators (Ayer, Brunk, Ewing, Reid & Silverman, "An Empirical Distribution
/// Function for Sampling with Incomplete Information", Annals of Mathematical Statistics 26(4), 1955): the values that
/// never fall and are nearest to the given ones in the sense of least squares.
///
/// `None` when there is no value, or one is not finite.
#[must_use]
pub fn isotonic(values: &[f64]) -> Option<Vec<f64>> {
    if !usable(values) {
        return None;
    }
    // Pools: mean and number of values.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut pool = (*value, 1);
        while let Some(&(mean, count)) = pools.last().filter(|(mean, _)| *mean > pool.0) {
            pools.pop();
            let all = count + pool.1;
            pool = (mean + (pool.0 - mean) * (pool.1 as f64 / all as f64), all);
        }
        pools.push(pool);
    }
    Some(pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn violators_are_pooled_and_the_rest_stays() {
        assert_eq!(isotonic(&[1.0, 3.0, 2.0, 4.0]), Some(vec![1.0, 2.5, 2.5, 4.0]));
        assert_eq!(isotonic(&[3.0, 2.0, 1.0]), Some(vec![2.0, 2.0, 2.0]));
        assert_eq!(isotonic(&[1.0, 2.0, 2.0]), Some(vec![1.0, 2.0, 2.0]));
        assert_eq!(isotonic(&[]), None);
        assert_eq!(isotonic(&[1.0, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn it_rises_and_keeps_the_mean(values in prop::collection::vec(-1e6f64..1e6, 1..50)) {
            let risen = isotonic(&values).unwrap();
            prop_assert_eq!(risen.len(), values.len());
            prop_assert!(risen.windows(2).all(|w| w[0] <= w[1]));
            let sum = |v: &[f64]| v.iter().sum::<f64>();
            prop_assert!((sum(&risen) - sum(&values)).abs() < 1e-3);
        }
    }
}
