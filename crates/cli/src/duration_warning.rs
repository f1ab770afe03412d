//! Runs that take long: said before they begin, with what would be done sooner.

use tiermark_model::messages::run as says;
use tiermark_model::{Plan, Request, Warning};

/// Longer runs are warned of, seconds.
const LONG: f64 = 30.0 * 60.0;

/// What to say of plans that are expected to take long together.
pub(crate) fn warning(plans: &[(&Request, &Plan)]) -> Option<Warning> {
    let seconds: f64 = plans.iter().map(|(_, plan)| plan.expected_seconds()).sum();
    if seconds <= LONG {
        return None;
    }
    let steps: usize = plans.iter().map(|(_, plan)| plan.steps.len()).sum();
    let longest = plans.iter().max_by(|(_, a), (_, b)| a.expected_seconds().total_cmp(&b.expected_seconds()));
    let sample = longest.and_then(|(request, _)| match request.probe.as_str() {
        "matrix" => Some("--sample, one row and one memory of each kind"),
        "c2c" => Some("--sample 10, ten pairs of each relation"),
        _ => None,
    });
    Some(says::long_run(seconds, steps, sample))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Effort, Scope};

    #[test]
    fn half_an_hour_is_long() {
        let planned = |probe: &str, seconds: f64| {
            let (scope, params, probe) = (Scope::default(), serde_json::Value::Null, probe.to_owned());
            let request = Request { probe, scope, effort: Effort::Full, precision: None, seed: 1, params, part: None };
            // Steps that are added later are a part of what is expected.
            (request, Plan { later_seconds: seconds, max_seconds: 1e6, ..Plan::default() })
        };
        let warning = |all: &[(Request, Plan)]| super::warning(&all.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
        assert_eq!(warning(&[planned("matrix", 1000.0), planned("c2c", 800.0)]), None);
        let long = warning(&[planned("matrix", 1000.0), planned("c2c", 900.0)]).unwrap();
        assert_eq!(long.code, says::codes::long_run);
        assert_eq!(
            (&long.data["seconds"], &long.data["sample"]),
            (&1900.0.into(), &"--sample, one row and one memory of each kind".into())
        );
        assert!(warning(&[planned("os", 1801.0)]).unwrap().data["sample"].is_null());
    }
}
