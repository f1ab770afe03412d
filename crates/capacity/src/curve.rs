//! A point of the curve over the number of tenants.

use hdrhistogram::Histogram;
use tiermark_model::capacity::{CurvePoint, Outcome, TenantTimes, WithOmitted};

use crate::level::{Served, pooled};

/// Results of one trial, from its tenants' histograms; `None` if no request was answered.
///
/// `faults_per_request` stays as it is given.
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
        min_ns: Some(all.min() as f64),
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p95_ns: Some(at(0.95)),
        p99_ns: at(0.99),
        p99_9_ns: at(0.999),
        max_ns: all.max() as f64,
        brief_p99_ns: answered.iter().map(|s| s.times.value_at_quantile(0.99) as f64).sum::<f64>() / tenants,
        achieved: served.iter().map(|s| s.achieved).sum::<f64>() / served.len() as f64,
        faults_per_request,
        outcome,
        ended_early: false,
        with_omitted: None,
        each: served.iter().map(times).collect(),
    })
}

/// Response times of one tenant.
fn times(served: &Served<'_>) -> TenantTimes {
    if served.times.is_empty() {
        return TenantTimes::default();
    }
    let at = |q: f64| served.times.value_at_quantile(q) as f64;
    TenantTimes {
        requests: served.times.len(),
        average_ns: served.times.mean(),
        min_ns: served.times.min() as f64,
        p50_ns: at(0.5),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        max_ns: served.times.max() as f64,
    }
}

/// The times of a closed loop with the requests that it left out; `None` if nothing was answered.
pub fn with_omitted(all: &Histogram<u64>) -> Option<WithOmitted> {
    (!all.is_empty()).then(|| WithOmitted {
        requests: all.len(),
        average_ns: all.mean(),
        p99_ns: all.value_at_quantile(0.99) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_all_is_not_the_mean_of_percentiles() {
        let mut fast = Histogram::new(3).unwrap();
        fast.record_n(40_000, 100_000).unwrap();
        let mut slow = fast.clone();
        slow.record_n(1_000_000, 1_500).unwrap();
        let served = [&fast, &slow].map(|times| Served { times, achieved: 1.0, gets: 0, hits: 0 });
        let point = point(3, &served, Some(0.4), Outcome::Pass).unwrap();
        let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.001, "{found} {wanted}");
        near(point.p99_ns, 40_000.0);
        near(point.brief_p99_ns, 520_000.0);
        near(point.max_ns, 1_000_000.0);
        near(point.average_ns, (200_000.0 * 40_000.0 + 1_500.0 * 1e6) / 201_500.0);
        assert_eq!((point.tenants, point.requests), (2, 201_500));
        let [one, two] = point.each[..] else { panic!("{:?}", point.each) };
        assert_eq!((one.requests, two.requests), (100_000, 101_500));
        near(one.max_ns, 40_000.0);
        near(two.p99_ns, 1_000_000.0);
        near(two.p95_ns, 40_000.0);
        near(point.min_ns.unwrap(), one.min_ns);
        assert_eq!(point.with_omitted, None);
        near(with_omitted(&slow).unwrap().p99_ns, two.p99_ns);
    }

    #[test]
    fn nothing_answered_is_no_point() {
        let empty = Histogram::new(3).unwrap();
        assert_eq!(point(1, &[Served { times: &empty, achieved: 0.0, gets: 0, hits: 0 }], None, Outcome::Fail), None);
        assert_eq!(with_omitted(&empty), None);
        assert_eq!(point(1, &[], None, Outcome::Fail), None);
    }
}
