//! Tails of Student's distribution.

use crate::special::normal_two_sided;

/// Degrees of freedom from which on the normal distribution stands in: p-values of 1e-5 then differ by under 2 %.
const NORMAL: f64 = 1e4;

/// Two-sided tail of Student's t: P(|T| ≥ |t|) with `degrees` degrees of freedom, which need not be whole; infinitely
/// many are the normal distribution. Student, Biometrika 6, 1908; the incomplete beta function by its continued
/// fraction (Abramowitz & Stegun 26.5.8, evaluated as by Lentz, Applied Optics 15(3), 1976).
///
/// `None` where `t` is not a number or `degrees` is not positive.
#[must_use]
pub fn student_two_sided(t: f64, degrees: f64) -> Option<f64> {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 {
        return None;
    }
    if degrees >= NORMAL || t.is_infinite() {
        return Some(normal_two_sided(t));
    }
    Some(beta_share(degrees / (degrees + t * t), degrees / 2.0, 0.5))
}

/// The t beyond which this share of Student's distribution lies, on both sides together, up to 1e6: by bisection. `None`
/// without a degree of freedom.
#[must_use]
pub fn student_quantile(degrees: f64, beyond: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if student_two_sided(middle, degrees)? > beyond { low = middle } else { high = middle }
    }
    Some(low)
}

/// The regularised incomplete beta function I_x(a, b).
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast on this side of the mean only.
    let share = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    };
    share.clamp(0.0, 1.0)
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    /// Takes the place of 0 in a denominator.
    const TINY: f64 = 1e-300;
    const STEPS: u32 = 500;
    let sound = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / sound(1.0 - (a + b) * x / (a + 1.0)));
    let mut product = d;
    for m in (1..=STEPS).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / sound(1.0 + term * d);
            c = sound(1.0 + term / c);
            step = c * d;
            product *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// The logarithm of the gamma function for x > 0: Stirling's series (Abramowitz & Stegun 6.1.41) from 10 on, and the
/// recurrence below.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_tables() {
        // 97.5 % and 99.95 % points of t (Abramowitz & Stegun, table 26.10).
        for (t, degrees, p) in [(12.706, 1.0, 0.05), (2.776, 4.0, 0.05), (3.850, 20.0, 0.001), (3.373, 120.0, 0.001)] {
            let found = student_two_sided(t, degrees).unwrap();
            assert!((found / p - 1.0).abs() < 0.01, "{t} {degrees}: {found}");
        }
        // With one degree it is the distribution of Cauchy, and with two it has a closed form.
        let cauchy = 1.0 - 2.0 / std::f64::consts::PI * 7.0_f64.atan();
        assert!((student_two_sided(-7.0, 1.0).unwrap() / cauchy - 1.0).abs() < 1e-10);
        assert!((student_two_sided(3.0, 2.0).unwrap() / (1.0 - 3.0 / 11.0_f64.sqrt()) - 1.0).abs() < 1e-10);
        assert_eq!(student_two_sided(0.0, 5.0), Some(1.0));
    }

    #[test]
    fn many_degrees_are_the_normal_distribution() {
        for t in [0.5, 2.0, 4.0] {
            let (student, normal) = (student_two_sided(t, 9_999.0).unwrap(), normal_two_sided(t));
            assert!((student / normal - 1.0).abs() < 0.01, "{t}: {student} {normal}");
            assert_eq!(student_two_sided(t, f64::INFINITY), Some(normal));
        }
        assert_eq!(student_two_sided(f64::NAN, 3.0), None);
        assert_eq!(student_two_sided(1.0, 0.0), None);
    }
}
