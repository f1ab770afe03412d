//! Plots as data for the script of a page.

use serde::Serialize;
use tiermark_model::{Finding, Grade, Observation, Verdict};

use super::{Abscissa, Plot};
use crate::reasons::kinds;
use crate::style::Style;
use crate::text::spoken;

/// What a page shows of a point beside its place.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PointAbout {
    /// The lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    /// What a program got during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<f64>,
    /// The grade, where it is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    grade: Option<String>,
    /// Why it is not trusted, in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    /// What the point is of.
    #[serde(skip_serializing_if = "String::is_empty")]
    of: String,
}

impl PointAbout {
    /// The grade and its reasons; nothing of a trusted number.
    fn graded(verdict: &Verdict) -> Self {
        if verdict.grade == Grade::Trusted {
            return Self::default();
        }
        Self { grade: Some(verdict.grade.to_string()), why: kinds(verdict), ..Self::default() }
    }

    /// What is known of an observation, in units of the axis.
    pub(crate) fn of(o: &Observation, scale: f64) -> Self {
        let scaled = |value: f64| short(value / scale);
        Self {
            low: o.interval.map(|interval| scaled(interval.low)),
            high: o.interval.map(|interval| scaled(interval.high)),
            now: o.now.map(|now| scaled(now.median)),
            ..Self::graded(&o.verdict)
        }
    }

    /// What is known of a finding, in units of the axis.
    pub(crate) fn of_finding(f: &Finding, scale: f64) -> Self {
        let scaled = |value: f64| short(value / scale);
        Self {
            low: f.interval.map(|interval| scaled(interval.low)),
            high: f.interval.map(|interval| scaled(interval.high)),
            now: None,
            ..Self::graded(&f.verdict)
        }
    }

    /// A point that is drawn as doubtful or not, and what it is of.
    pub(crate) fn told(doubtful: bool, of: String) -> Self {
        let grade = doubtful.then(|| Grade::Suspect.to_string());
        Self { grade, of, ..Self::default() }
    }

    /// A point that stands for several between two ends.
    pub(crate) fn between(low: f64, high: f64, of: String) -> Self {
        Self { low: Some(short(low)), high: Some(short(high)), of, ..Self::default() }
    }

    /// Adds to what the point is of.
    pub(crate) fn add(&mut self, more: &str) {
        if !self.of.is_empty() && !more.is_empty() {
            self.of.push_str(", ");
        }
        self.of.push_str(more);
    }

    /// The same with a name.
    pub(crate) fn named(self, of: String) -> Self {
        Self { of, ..self }
    }
}

/// Five digits are more than any picture shows.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[derive(Serialize)]
struct Chart<'a> {
    /// `size` or `linear`.
    x: &'static str,
    x_unit: String,
    unit: String,
    log_y: bool,
    marks: &'a [(f64, String)],
    #[serde(skip_serializing_if = "Option::is_none")]
    level: &'a Option<(f64, String)>,
    series: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: String,
    points: Vec<(f64, f64)>,
    about: &'a [PointAbout],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    scatter: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    behind: bool,
}

/// The data of a plot, in one line.
pub(super) fn json(plot: &Plot<'_>, abscissa: Abscissa, x_unit: &str, style: &Style) -> String {
    let is_size = abscissa == Abscissa::Size;
    let chart = Chart {
        x: if is_size { "size" } else { "linear" },
        x_unit: spoken(x_unit, style),
        unit: spoken(plot.unit, style),
        log_y: plot.log_y,
        marks: plot.marks,
        level: &plot.level,
        series: plot
            .series
            .iter()
            .map(|series| Curve {
                name: spoken(&series.name, style),
                points: series.points.iter().map(|(x, y)| (if is_size { *x } else { short(*x) }, short(*y))).collect(),
                about: &series.about,
                scatter: series.scatter,
                behind: series.behind,
            })
            .collect(),
    };
    // Nothing in it can fail: what is no number becomes null.
    serde_json::to_string(&chart).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Labels, Metric, Reason};

    use super::*;

    #[test]
    fn a_point_that_is_not_trusted_says_why() {
        let mut seen = Observation::new("a", Labels::new(), Metric::Latency);
        assert_eq!(PointAbout::of(&seen, 1.0), PointAbout::default());
        seen.verdict.bound(Reason::NotSharp { share: 0.01 });
        seen.verdict.bound(Reason::NotReproduced { reached: 1 });
        let about = PointAbout::of(&seen, 1.0);
        assert_eq!((about.grade.as_deref(), about.why.as_str()), (Some("bound"), "not sharp, not reached again"));
    }
}
