//! Intervals of a median.

use crate::student::student_two_sided;
use crate::usable;

/// An interval that covers the true value with probability `level`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end, in the samples' unit.
    pub low: f64,
    /// Upper end, in the samples' unit.
    pub high: f64,
    /// Coverage, 0 to 1: the attained one if it is known exactly, the requested one otherwise.
    pub level: f64,
}

/// Half the width of the 95 % interval of a mean of a few values, whose variance is moderated by what is known before:
/// a standard deviation that counts for so many degrees of freedom (Smyth, "Linear models and empirical Bayes methods",
/// Stat. Appl. Genet. Mol. Biol. 3(1), 2004).
///
/// Given the medians of independent allocations it is the interval that Kalibera & Jones ("Rigorous benchmarking in
/// reasonable time", ISMM 2013, §6) take at the highest level of repetition; two or three values alone would give one
/// ten times as wide as their scatter. With 0 degrees before, it is Student's (Biometrika 6, 1908). `None` without a
/// value, or without a degree of freedom.
#[must_use]
pub fn moderated_half_width(values: &[f64], before: f64, degrees: f64) -> Option<f64> {
    let n = values.len() as f64;
    let all = degrees + n - 1.0;
    if values.is_empty() || !usable(values) || !before.is_finite() || all <= 0.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = ((degrees * before * before + squares) / all).sqrt();
    Some(student_quantile(all)? * deviation / n.sqrt())
}

/// The t beyond which 5 % of Student's distribution lie, on both sides together: by bisection. `None` without a degree
/// of freedom.
#[must_use]
pub fn student_quantile(degrees: f64) -> Option<f64> {
    let (mut low, mut high) = (1.9, 13.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if student_two_sided(middle, degrees)? > 0.05 { low = middle } else { high = middle }
    }
    Some(low)
}
