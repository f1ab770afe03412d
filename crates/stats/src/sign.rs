//! Whether pairs differ in one direction.

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
    use super::*;

    #[test]
    fn it_is_twice_the_binomial_tail() {
        assert_eq!([sign_test(0, 0), sign_test(5, 5), sign_test(3, 3)], [1.0; 3]);
        assert!((sign_test(11, 0) - 2.0 / 2048.0).abs() < 1e-12);
        assert!((sign_test(1, 9) - 2.0 * 11.0 / 1024.0).abs() < 1e-12);
        assert_eq!(sign_test(9, 1), sign_test(1, 9));
        assert!(sign_test(900, 600) < 1e-13 && sign_test(900, 600) > 0.0);
    }
}
