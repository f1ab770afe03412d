//! The few special functions the tests need.

/// σ of a normal sample per unit of its MAD: 1/Φ⁻¹(3/4).
pub(crate) const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Above this the continued fraction converges in fewer steps than the series loses digits.
const SERIES_LIMIT: f64 = 3.0;

/// Complementary error function for x ≥ 0: series (Abramowitz & Stegun 7.1.6) below 3, continued fraction (7.1.14)
/// above.
fn erfc_positive(x: f64) -> f64 {
    let scale = (-x * x).exp();
    if x < SERIES_LIMIT {
        let mut term = x;
        let mut sum = x;
        let mut n = 1.0;
        while term > sum * 1e-17 {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        return 1.0 - std::f64::consts::FRAC_2_SQRT_PI * scale * sum;
    }
    // 60 levels evaluated from the inside give full precision for x ≥ 3.
    let tail = (1..=60).rev().fold(x, |inner, k| x + f64::from(k) / 2.0 / inner);
    scale / tail * std::f64::consts::FRAC_2_SQRT_PI / 2.0
}

/// Two-sided tail of the standard normal: P(|Z| ≥ |z|).
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    erfc_positive(z.abs() / std::f64::consts::SQRT_2).clamp(0.0, 1.0)
}

/// Cumulative distribution of the standard normal: P(Z ≤ z).
pub(crate) fn normal_below(z: f64) -> f64 {
    let half = 0.5 * normal_two_sided(z);
    if z > 0.0 { 1.0 - half } else { half }
}

/// Survival function of the Kolmogorov distribution (Kolmogorov 1933; the fast form for small x is the theta-function
/// identity, Marsaglia, Tsang & Wang, J. Stat. Software 8(18), 2003).
pub(crate) fn kolmogorov_sf(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < 1.18 {
        let y = -std::f64::consts::PI.powi(2) / (8.0 * x * x);
        let sum: f64 = (0..6).map(|k| (y * f64::from((2 * k + 1) * (2 * k + 1))).exp()).sum();
        return (1.0 - (2.0 * std::f64::consts::PI).sqrt() / x * sum).clamp(0.0, 1.0);
    }
    let sum: f64 = (1..=8)
        .map(|k| {
            let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
            sign * (-2.0 * f64::from(k * k) * x * x).exp()
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_tails_match_scipy() {
        // scipy.special.erfc(z / sqrt(2)) for each z
        for (z, want) in NORMAL {
            let got = normal_two_sided(z);
            assert!((got / want - 1.0).abs() < 1e-9, "{z}: {got} {want}");
        }
    }

    #[test]
    fn kolmogorov_matches_scipy() {
        // scipy.special.kolmogorov(x) for each x
        for (x, want) in KOLMOGOROV {
            let got = kolmogorov_sf(x);
            assert!((got / want - 1.0).abs() < 1e-9, "{x}: {got} {want}");
        }
        assert_eq!(kolmogorov_sf(0.0), 1.0);
    }

    const NORMAL: [(f64, f64); 6] = [
        (0.0, 1.0),
        (0.5, 0.6170750774519738),
        (1.959963984540054, 0.05),
        (-3.0, 0.002699796063260189),
        (4.5, 6.795346249460121e-06),
        (8.0, 1.2441921148543573e-15),
    ];
    const KOLMOGOROV: [(f64, f64); 5] = [
        (0.4, 0.9971923267772983),
        (0.9, 0.3927307079406543),
        (1.17, 0.12939004218561884),
        (1.2, 0.11224966667072497),
        (2.5, 7.453306344157342e-06),
    ];
}
