//! Where values stand in a drawing.

use crate::plot::{Abscissa, Plot};
use crate::round::{ceiling, linear, steps, tidy};

/// Maps values to dots: two a column, four a row, as in a braille cell.
pub(crate) struct Scale {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) abscissa: Abscissa,
    log_y: bool,
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
}

impl Scale {
    /// The scale of some points on so many columns; `None` where there is nothing to draw.
    pub(crate) fn new(plot: &Plot, series: &[Vec<(f64, f64)>], columns: usize) -> Option<Self> {
        let (abscissa, log_y, rows) = (plot.abscissa(), plot.log_y, plot.rows);
        let all = || series.iter().flatten();
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(None, |range: Option<(f64, f64)>, v| {
                Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
            })
        };
        let (x0, x1) = range(&mut all().map(|p| if abscissa == Abscissa::Size { p.0.log2() } else { p.0 }))?;
        let (y0, y1) = range(&mut all().map(|p| p.1))?;
        let x = match abscissa {
            Abscissa::Linear => (0.0, if x1 > 0.0 { x1 } else { 1.0 }),
            // A single size or value still gets a picture: half a doubling to each side.
            Abscissa::Size if x1 - x0 < 1e-9 => (x0 - 0.5, x1 + 0.5),
            Abscissa::Size => (x0, x1),
        };
        let y = if log_y { ((y0 / 1.15).log10(), ceiling(y1).log10()) } else { linear(y0, y1, abscissa) };
        (y.1.is_finite() && y.1 > y.0).then_some(Self {
            columns: columns.max(16),
            rows: rows.max(2),
            abscissa,
            log_y,
            x,
            y,
        })
    }

    pub(crate) fn y_share(&self, value: f64) -> f64 {
        let v = if self.log_y { value.log10() } else { value };
        ((v - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0)
    }

    /// Whether a value of y is between the ends of its axis.
    pub(crate) fn has_y(&self, value: f64) -> bool {
        let v = if self.log_y { value.log10() } else { value };
        (self.y.0..=self.y.1).contains(&v)
    }

    pub(crate) fn x_share(&self, x: f64) -> f64 {
        let x = if self.abscissa == Abscissa::Size { x.log2() } else { x };
        ((x - self.x.0) / (self.x.1 - self.x.0)).clamp(0.0, 1.0)
    }

    /// Dot column and dot row (from the top) of a point.
    pub(crate) fn dot(&self, x: f64, y: f64) -> (usize, usize) {
        let column = self.x_share(x) * (self.columns * 2 - 1) as f64;
        let row = (1.0 - self.y_share(y)) * (self.rows * 4 - 1) as f64;
        (column.round() as usize, row.round() as usize)
    }

    /// Round values with the rows they fall on, at least a row apart.
    pub(crate) fn y_ticks(&self) -> Vec<(f64, usize)> {
        let candidates: Vec<f64> = if self.log_y {
            let decades = self.y.0.floor() as i32..=self.y.1.ceil() as i32;
            // The top first, so that no curve rises above the last number; then 1, 2, 5 by decade, so that in a wide
            // range the powers of ten win the rows.
            let round = [1.0, 2.0, 5.0].iter().flat_map(|m| decades.clone().map(move |d| m * 10f64.powi(d)));
            // Within less than a decade these are too few.
            let (low, high) = (10f64.powf(self.y.0), 10f64.powf(self.y.1));
            let (step, count) = steps(low, high);
            let between = (0..=if high < 10.0 * low { count } else { 0 }).rev();
            let between = between.map(|n| ((low / step).floor() + n as f64) * step);
            std::iter::once(high).chain(round).chain(between).collect()
        } else {
            let (step, count) = steps(self.y.0, self.y.1);
            (0..=count).rev().map(|n| self.y.1 - (count - n) as f64 * step).collect()
        };
        let mut ticks: Vec<(f64, usize)> = Vec::new();
        for value in candidates {
            let v = if self.log_y { value.log10() } else { value };
            let row = self.dot(1.0, value).1 / 4;
            // The top may come out a rounding error above itself.
            if (self.y.0 - 1e-9..=self.y.1 * (1.0 + 1e-9) + 1e-9).contains(&v)
                && ticks.iter().all(|(_, taken)| taken.abs_diff(row) >= 2)
            {
                ticks.push((tidy(value), row));
            }
        }
        ticks
    }
}
