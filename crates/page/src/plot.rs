//! Curves as data.

use serde::Serialize;
use tiermark_model::Grade;

use crate::span::Text;
use crate::style::Style;

/// Stands for a missing value in a curve: the line is interrupted there.
pub const NO_VALUE: f64 = f64::NAN;

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Its name; empty where it is the only one.
    pub name: String,
    /// Size in bytes (or what else the x axis has), value in the axis's unit; rates in bytes a second. A point whose
    /// value is [`NO_VALUE`] was refused or withheld: no line goes through it.
    pub points: Vec<(f64, f64)>,
    /// What a browser shows of each point beside its place, in the units of the axes; empty where nothing is known.
    pub about: Vec<PointAbout>,
    /// Whether the points are places by themselves, without a line between them.
    pub scatter: bool,
    /// Whether it is drawn before the others, so that their points cover its own.
    pub behind: bool,
}

/// What is known of a point beside its place.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PointAbout {
    /// The lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The best that was reached, where it is told beside the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<f64>,
    /// The grade, where the number cannot be quoted as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// Why it is not trusted, in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What the point is of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
}

impl PointAbout {
    /// A point that is drawn as doubtful or not, and what it is of.
    #[must_use]
    pub fn doubtful(is_doubtful: bool, of: String) -> Self {
        Self { grade: is_doubtful.then(|| Grade::Suspect.to_string()), of, ..Self::default() }
    }

    /// A point that stands for several between two ends.
    #[must_use]
    pub fn between(low: f64, high: f64, of: String) -> Self {
        Self { low: Some(low), high: Some(high), of, ..Self::default() }
    }

    /// The same with the ends of an interval and the best that was reached, in units of the axis.
    #[must_use]
    pub fn reaching(self, ends: Option<(f64, f64)>, best: Option<f64>) -> Self {
        Self { low: ends.map(|(low, _)| low), high: ends.map(|(_, high)| high), best, ..self }
    }

    /// Adds to what the point is of.
    pub fn add(&mut self, more: &str) {
        if !self.of.is_empty() && !more.is_empty() {
            self.of.push_str(", ");
        }
        self.of.push_str(more);
    }

    /// The same with its values over the unit of an axis.
    fn over(&self, unit: f64) -> Self {
        let over = |value: Option<f64>| value.map(|value| rounded(value / unit));
        Self { low: over(self.low), high: over(self.high), best: over(self.best), ..self.clone() }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(self, of: String) -> Self {
        Self { of, ..self }
    }
}

/// Five digits are more than any picture shows.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// What the x axis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abscissa {
    /// Sizes, on a logarithmic scale.
    Size,
    /// Anything from zero on, on a linear scale.
    Linear,
}

/// The axis whose values are rates, if there is one: a backend chooses its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rates {
    /// None.
    #[default]
    None,
    /// That of x.
    X,
    /// That of y.
    Y,
}

/// What to draw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plot {
    /// Unit of the y axis.
    pub unit: Text,
    /// Which axis is of rates.
    pub rates: Rates,
    /// Whether the heading above has the unit, so that lines of characters need not repeat it.
    pub unit_in_heading: bool,
    /// Logarithmic y: for latency, where tiers are factors apart. Linear for bandwidth, whose zero means something.
    pub log_y: bool,
    /// The curves.
    pub series: Vec<Series>,
    /// Names for places on the x axis (declared cache sizes, knees).
    pub marks: Vec<(f64, String)>,
    /// A value of y to compare with, and its name: drawn as a dotted line where it is near the curves.
    pub level: Option<(f64, String)>,
    /// Rows of a drawing in characters.
    pub rows: usize,
    /// The unit of a linear x axis from zero; `None` where the axis is of sizes.
    pub x_unit: Option<Text>,
}

/// Default rows of a drawing: 32 dots separate tiers, and two plots still fit one screen.
pub const ROWS: usize = 8;

impl Series {
    /// The points that have a value.
    pub fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().filter(|(_, y)| !y.is_nan())
    }
}

impl Plot {
    /// The points of each curve that can be drawn.
    pub(crate) fn drawable(&self) -> Vec<Vec<(f64, f64)>> {
        self.strokes().into_iter().map(|strokes| strokes.concat()).collect()
    }

    /// The lines of each curve, broken where a point has no value: over sizes in their order, over anything else in the
    /// order given, so that a curve may turn back.
    pub(crate) fn strokes(&self) -> Vec<Vec<Vec<(f64, f64)>>> {
        let is_size = self.x_unit.is_none();
        let has_place = |&&(x, _): &&(f64, f64)| x.is_finite() && if is_size { x > 0.0 } else { x >= 0.0 };
        let fits = |y: f64| y.is_finite() && (y > 0.0 || !self.log_y && y == 0.0);
        let one = |series: &Series| {
            let mut points: Vec<(f64, f64)> = series.points.iter().filter(has_place).copied().collect();
            if is_size {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            let strokes = points.split(|(_, y)| y.is_nan());
            let strokes = strokes.map(|stroke| stroke.iter().filter(|(_, y)| fits(*y)).copied().collect());
            strokes.filter(|stroke: &Vec<(f64, f64)>| !stroke.is_empty()).collect()
        };
        self.series.iter().map(one).collect()
    }

    /// The same with its rates in the unit of a style.
    pub(crate) fn in_style(&self, style: &Style) -> Self {
        let unit = |of: Rates| if self.rates == of { style.axis().0 } else { 1.0 };
        let (of_x, of_y) = (unit(Rates::X), unit(Rates::Y));
        let series = |series: &Series| Series {
            points: series.points.iter().map(|(x, y)| (x / of_x, y / of_y)).collect(),
            about: series.about.iter().map(|about| about.over(of_y)).collect(),
            ..series.clone()
        };
        Self {
            series: self.series.iter().map(series).collect(),
            marks: self.marks.iter().map(|(x, name)| (x / of_x, name.clone())).collect(),
            ..self.clone()
        }
    }

    pub(crate) fn abscissa(&self) -> Abscissa {
        if self.x_unit.is_none() { Abscissa::Size } else { Abscissa::Linear }
    }
}

/// The letter that marks a series where it ends: colour is never the only signal.
#[must_use]
pub fn letter(series: usize) -> char {
    char::from(b'a' + (series % 26) as u8)
}
