//! The interval of a number of events that happen independently.

use crate::rank_interval::normal_beyond;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank_interval::BEYOND;

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
}
