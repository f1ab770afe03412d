//! Curves in characters: braille lines (or ASCII letters) over a logarithmic x axis of sizes.

mod canvas;
mod chart;
mod round;

use crate::markup;
use crate::number::short_size;
use crate::style::{Ink, Style};
use crate::text::{clean, right, spoken, width};
use canvas::Canvas;
pub(crate) use chart::PointAbout;
use round::{ceiling, linear, nice, steps, tidy};

/// One curve.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Size in bytes, value in the axis's unit.
    pub(crate) points: Vec<(f64, f64)>,
    /// What a page shows of each point beside its place, in the units of the axes; empty where nothing is known.
    pub(crate) about: Vec<PointAbout>,
    /// Whether the points are places by themselves, without a line between them.
    pub(crate) scatter: bool,
    /// Whether it is drawn before the others, so that their points cover its own.
    pub(crate) behind: bool,
}

/// What to draw.
#[derive(Debug, Clone)]
pub(crate) struct Plot<'a> {
    /// Unit of the y axis, said above it.
    pub(crate) unit: &'a str,
    /// Logarithmic y: for latency, where tiers are factors apart. Linear for bandwidth, whose zero means something.
    pub(crate) log_y: bool,
    pub(crate) series: &'a [Series],
    /// Names for places on the x axis (declared cache sizes, knees).
    pub(crate) marks: &'a [(f64, String)],
    /// A value of y to compare with, and its name: drawn as a dotted line where it is near the curves.
    pub(crate) level: Option<(f64, String)>,
    /// Rows of the canvas.
    pub(crate) rows: usize,
}

/// Default rows of a canvas: 32 dots separate tiers, and two plots still fit one screen.
pub(crate) const ROWS: usize = 8;
/// Columns of the y axis with its tick.
const AXIS: usize = 8;

/// What the x axis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Abscissa {
    /// Sizes, on a logarithmic scale.
    Size,
    /// Anything from zero on, on a linear scale.
    Linear,
}

/// Draws the curves over size; empty when no point can be drawn.
pub(crate) fn plot(plot: &Plot<'_>, style: &Style) -> String {
    let drawn: Vec<Vec<(f64, f64)>> = plot.series.iter().map(|s| drawable(&s.points, plot.log_y)).collect();
    let drawing = draw(plot, &drawn, Abscissa::Size, style);
    interactive(plot, Abscissa::Size, "", drawing, style)
}

/// A drawing; on a page the data behind it, with the drawing for readers without its script.
fn interactive(plot: &Plot<'_>, abscissa: Abscissa, x_unit: &str, drawing: String, style: &Style) -> String {
    if style.markup && !drawing.is_empty() {
        markup::chart(&chart::json(plot, abscissa, x_unit, style)) + &drawing
    } else {
        drawing
    }
}

/// Draws curves over a linear axis from zero, whose unit is said at its end; points stay in their order, so that a curve may turn
/// back. Empty when no point can be drawn.
pub(crate) fn plot_over(plot: &Plot<'_>, x_unit: &str, style: &Style) -> String {
    let fits =
        |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite() && x >= 0.0 && (y > 0.0 || !plot.log_y && y == 0.0);
    let drawn: Vec<Vec<(f64, f64)>> =
        plot.series.iter().map(|s| s.points.iter().filter(fits).copied().collect()).collect();
    let drawing = draw(plot, &drawn, Abscissa::Linear, style);
    let drawing = if drawing.is_empty() {
        drawing
    } else {
        format!("{drawing}{}\n", right(&spoken(x_unit, style), style.columns() - 2))
    };
    interactive(plot, Abscissa::Linear, x_unit, drawing, style)
}

fn draw(plot: &Plot<'_>, drawn: &[Vec<(f64, f64)>], abscissa: Abscissa, style: &Style) -> String {
    let columns = style.columns().saturating_sub(AXIS + 2);
    let Some(scale) = Scale::new(drawn, abscissa, plot.log_y, (columns, plot.rows)) else {
        return String::new();
    };
    let mut canvas = Canvas::new(scale.columns, scale.rows, style.unicode);
    let level = plot.level.as_ref().filter(|(y, _)| scale.has_y(*y));
    if let Some((y, name)) = level {
        canvas.level(scale.dot(scale.x.0, *y).1, &spoken(name, style));
    }
    let mut order: Vec<usize> = (0..drawn.len()).collect();
    order.sort_by_key(|i| !plot.series[*i].behind);
    for i in order {
        let points = &drawn[i];
        let dots: Vec<(usize, usize)> = points.iter().map(|&(x, y)| scale.dot(x, y)).collect();
        match dots.as_slice() {
            _ if plot.series[i].scatter => canvas.letters(&dots, i),
            [only] => canvas.segment(*only, *only, i),
            _ => dots.windows(2).for_each(|pair| canvas.segment(pair[0], pair[1], i)),
        }
        if let Some(&last) = dots.last().filter(|_| !plot.series[i].scatter && (drawn.len() > 1 || !style.unicode)) {
            canvas.letter(last, i);
        }
    }
    // A single curve without a name needs no line of its own: the heading has the unit.
    let legend = legend(plot.series, style);
    let head = format!("{} {legend}", right(&spoken(plot.unit, style), AXIS - 1));
    let mut out = if legend.is_empty() { String::new() } else { format!("{}\n", head.trim_end()) };
    let ticks = scale.y_ticks();
    for row in 0..scale.rows {
        let tick = ticks.iter().find(|(_, at)| *at == row);
        let label = tick.map_or(String::new(), |(value, _)| tick_text(*value));
        let edge = if tick.is_some() { style.glyph("┤", "+") } else { style.glyph("│", "|") };
        let line = format!("{}{}{}", right(&label, AXIS - 1), edge, canvas.row(row, style));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str(&scale.x_axis(style));
    out.push_str(&scale.mark_line(plot.marks));
    out
}

fn drawable(points: &[(f64, f64)], log_y: bool) -> Vec<(f64, f64)> {
    let fits = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite() && x > 0.0 && (y > 0.0 || (!log_y && y == 0.0));
    let mut points: Vec<(f64, f64)> = points.iter().filter(fits).copied().collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn legend(series: &[Series], style: &Style) -> String {
    if series.len() < 2 {
        return series.first().map_or(String::new(), |s| spoken(&s.name, style));
    }
    let mut lines = String::new();
    let mut used = AXIS;
    for (i, s) in series.iter().enumerate() {
        let name = spoken(&s.name, style);
        let needed = width(&name) + 5;
        if used + needed > style.columns() && used > AXIS {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines.push_str(&" ".repeat(AXIS));
            used = AXIS;
        }
        lines.push_str(&style.paint(Ink::Series(i), &format!("{} {name}", letter(i))));
        lines.push_str("   ");
        used += needed;
    }
    lines.trim_end().to_owned()
}

/// The letter that marks a series where it ends: colour is never the only signal.
pub(crate) fn letter(series: usize) -> char {
    char::from(b'a' + (series % 26) as u8)
}

fn tick_text(value: f64) -> String {
    let text = format!("{value}");
    // The axis has room for so many signs.
    if value >= 1e5 || (value != 0.0 && value.abs() < 0.01) || text.len() >= AXIS {
        format!("{value:.0e}")
    } else {
        text
    }
}

/// Maps values to dots: two a column, four a row, as in a braille cell.
struct Scale {
    columns: usize,
    rows: usize,
    abscissa: Abscissa,
    log_y: bool,
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn new(
        series: &[Vec<(f64, f64)>],
        abscissa: Abscissa,
        log_y: bool,
        (columns, rows): (usize, usize),
    ) -> Option<Self> {
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

    fn y_share(&self, value: f64) -> f64 {
        let v = if self.log_y { value.log10() } else { value };
        ((v - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0)
    }

    /// Whether a value of y is between the ends of its axis.
    fn has_y(&self, value: f64) -> bool {
        let v = if self.log_y { value.log10() } else { value };
        (self.y.0..=self.y.1).contains(&v)
    }

    fn x_share(&self, x: f64) -> f64 {
        let x = if self.abscissa == Abscissa::Size { x.log2() } else { x };
        ((x - self.x.0) / (self.x.1 - self.x.0)).clamp(0.0, 1.0)
    }

    /// Dot column and dot row (from the top) of a point.
    fn dot(&self, x: f64, y: f64) -> (usize, usize) {
        let column = self.x_share(x) * (self.columns * 2 - 1) as f64;
        let row = (1.0 - self.y_share(y)) * (self.rows * 4 - 1) as f64;
        (column.round() as usize, row.round() as usize)
    }

    /// Round values with the rows they fall on, at least a row apart.
    fn y_ticks(&self) -> Vec<(f64, usize)> {
        let candidates: Vec<f64> = if self.log_y {
            let decades = self.y.0.floor() as i32..=self.y.1.ceil() as i32;
            // The top first, so that no curve rises above the last number; then 1, 2, 5 by decade, so that in a wide range the
            // powers of ten win the rows.
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

    fn x_axis(&self, style: &Style) -> String {
        let (mut axis, mut labels) = (Vec::new(), String::new());
        axis.resize(self.columns, style.glyph("─", "-"));
        let corner = style.glyph("└", "+");
        if self.abscissa == Abscissa::Linear {
            let step = nice(self.x.1 / (self.columns as f64 / 12.0));
            for n in 0..=self.columns {
                let value = n as f64 * step;
                if value > self.x.1 * (1.0 + 1e-9) {
                    break;
                }
                let at = (self.x_share(value) * (self.columns - 1) as f64).round() as usize;
                axis[at] = style.glyph("┬", "+");
                place(&mut labels, at, &tick_text(tidy(value)), self.columns);
            }
            return format!(
                "{}{corner}{}\n{}{}\n",
                " ".repeat(AXIS - 1),
                axis.concat(),
                " ".repeat(AXIS),
                labels.trim_end()
            );
        }
        let span = self.x.1 - self.x.0;
        // Labels take up to five columns and want two between them.
        let step = ((span * 7.0 / self.columns as f64).ceil()).max(1.0);
        let mut exponent = (self.x.0 / step).ceil() * step;
        while exponent <= self.x.1 + 1e-9 {
            let at = (self.x_share(exponent.exp2()) * (self.columns - 1) as f64).round() as usize;
            axis[at] = style.glyph("┬", "+");
            place(&mut labels, at, &short_size(exponent.exp2()), self.columns);
            exponent += step;
        }
        format!("{}{corner}{}\n{}{}\n", " ".repeat(AXIS - 1), axis.concat(), " ".repeat(AXIS), labels.trim_end())
    }

    fn mark_line(&self, marks: &[(f64, String)]) -> String {
        let mut line = String::new();
        for (size, name) in marks {
            let x = if self.abscissa == Abscissa::Size { size.log2() } else { *size };
            if size.is_finite() && *size > 0.0 && (self.x.0..=self.x.1).contains(&x) {
                let at = (self.x_share(*size) * (self.columns - 1) as f64).round() as usize;
                place(&mut line, at, &format!("^{}", clean(name)), self.columns);
            }
        }
        if line.is_empty() { line } else { format!("{}{}\n", " ".repeat(AXIS), line.trim_end()) }
    }
}

/// Puts a label under a column; a label that would touch its neighbour or leave the plot is dropped.
fn place(line: &mut String, at: usize, label: &str, columns: usize) {
    let used = width(line);
    if (used == 0 || at > used) && at + width(label) <= columns + 2 {
        line.push_str(&" ".repeat(at - used));
        line.push_str(label);
    }
}

#[cfg(test)]
mod tests;
