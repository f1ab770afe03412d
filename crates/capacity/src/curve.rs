//! A point of the curve over the number of tenants.

use tiermark_model::capacity::{CurvePoint, Outcome};

use crate::level::{Served, pooled};

/// Results of one trial, from its tenants' histograms; `None` if no request was answered.
///
/// `faults_per_request` stays as it is given.
#[must_use]
pub fn point(
    trial: u32,
    served: &[Served<'_>],
    faults_per_request: Option<f64>,
    outcome: Outcome,
) -> Option<CurvePoint> {
    let all = pooled(served).filter(|all| !all.is_empty())?;
    let at = |q: f64| all.value_at_quantile(q) as f64;
    let answered: Vec<&Served<'_>> = served.iter().filter(|s| !s.times.is_empty()).collect();
    let tenants = answered.len() as f64;
    Some(CurvePoint {
        tenants: served.len() as u32,
        trial,
        requests: all.len(),
        average_ns: all.mean(),
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p99_9_ns: at(0.999),
        max_ns: all.max() as f64,
        brief_p99_ns: answered.iter().map(|s| s.times.value_at_quantile(0.99) as f64).sum::<f64>() / tenants,
        achieved: served.iter().map(|s| s.achieved).sum::<f64>() / served.len() as f64,
        faults_per_request,
        outcome,
    })
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    #[test]
    fn a_percentile_of_all_is_not_the_mean_of_percentiles() {
        let mut fast = Histogram::new(3).unwrap();
        fast.record_n(40_000, 100_000).unwrap();
        let mut slow = fast.clone();
        slow.record_n(1_000_000, 1_500).unwrap();
        let served = [&fast, &slow].map(|times| Served { times, achieved: 1.0 });
        let point = point(3, &served, Some(0.4), Outcome::Pass).unwrap();
        let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.001, "{found} {wanted}");
        near(point.p99_ns, 40_000.0);
        near(point.brief_p99_ns, 520_000.0);
        near(point.max_ns, 1_000_000.0);
        near(point.average_ns, (200_000.0 * 40_000.0 + 1_500.0 * 1e6) / 201_500.0);
        assert_eq!((point.tenants, point.requests), (2, 201_500));
    }

    #[test]
    fn nothing_answered_is_no_point() {
        let empty = Histogram::new(3).unwrap();
        assert_eq!(point(1, &[Served { times: &empty, achieved: 0.0 }], None, Outcome::Fail), None);
        assert_eq!(point(1, &[], None, Outcome::Fail), None);
    }
}
