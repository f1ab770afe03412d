//! Zipf's law over a finite number of ranks, for any exponent, without a table.

use tiermark_stats::Rng;

/// Draws ranks by rejection-inversion (Hörmann & Derflinger, ACM TOMACS 6(3), 1996): the histogram of probabilities is
/// covered by the integral of a hat function, which is inverted; hardly a draw in ten is rejected, whatever exponent
/// and number.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    theta: f64,
    count: f64,
    /// The hat's integral from the first rank's left edge…
    low: f64,
    /// …to the last rank's right edge.
    high: f64,
    /// Draws that lie this near to the left of a rank need no test.
    squeeze: f64,
}

impl Zipf {
    pub(super) fn new(theta: f64, count: u64) -> Self {
        let mut zipf = Self { theta, count: count as f64, low: 0.0, high: 0.0, squeeze: 0.0 };
        // The first rank is covered exactly: its share of the integral is its weight, 1.
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.count + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// A rank from 0, the most frequent.
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.high + rng.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.squeeze || u >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of x^−theta from 1 to x, stable around theta = 1 where it is the logarithm.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.theta) * log) * log
    }

    fn inverse(&self, integral: f64) -> f64 {
        // Below −1 by rounding only; the logarithm would have no value there.
        let t = (integral * (1.0 - self.theta)).max(-1.0);
        (ln_1p_over(t) * integral).exp()
    }
}

/// (e^x − 1)/x, by its series where the quotient would lose all digits.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x)/x, likewise.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}
