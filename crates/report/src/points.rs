//! What is known of a point of a plot beside its place.

use tiermark_model::{Finding, Interval, Observation, PerCycle, Unit, Verdict};
use tiermark_page::PointAbout;

use crate::reasons::kinds;

/// The grade and its reasons; nothing of a number that can be quoted as it is.
fn graded(verdict: &Verdict) -> PointAbout {
    if verdict.grade.is_number() {
        return PointAbout::default();
    }
    PointAbout { grade: Some(verdict.grade.in_words().to_owned()), why: kinds(verdict), ..PointAbout::default() }
}

fn ends(interval: Option<Interval>, scale: f64) -> Option<(f64, f64)> {
    interval.map(|interval| (interval.low / scale, interval.high / scale))
}

/// What is known of an observation.
pub(crate) fn observed(o: &Observation) -> PointAbout {
    let mut about = graded(&o.verdict).reaching(ends(o.interval, 1.0), o.best);
    about.of = o.per_cycle.map(in_cycles).unwrap_or_default();
    about
}

fn in_cycles(PerCycle { value, unit }: PerCycle) -> String {
    if unit == Unit::Cycles { format!("{value:.2} cycles") } else { format!("{value:.1} bytes a cycle of each core") }
}

/// What is known of a finding, in units of the axis.
pub(crate) fn found(f: &Finding, scale: f64) -> PointAbout {
    graded(&f.verdict).reaching(ends(f.interval, scale), f.best.map(|best| best / scale))
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Labels, Metric, Reason};

    use super::*;

    #[test]
    fn a_point_that_is_not_trusted_says_why() {
        let mut seen = Observation::new("a", Labels::new(), Metric::Latency);
        assert_eq!(observed(&seen), PointAbout::default());
        seen.verdict.bound(Reason::NotSharp { share: 0.01 });
        seen.verdict.bound(Reason::NotReproduced { reached: 1 });
        let about = observed(&seen);
        assert_eq!((about.grade.as_deref(), about.why.as_str()), (Some("bound"), "visits differ, not reached again"));
    }
}
