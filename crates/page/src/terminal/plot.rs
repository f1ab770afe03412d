//! Curves in characters: braille lines (or ASCII letters) over a logarithmic axis of sizes, or over a linear one.

use super::canvas::Canvas;
use crate::number::short_size;
use crate::plot::{Abscissa, Plot, Series, letter};
use crate::round::{nice, tidy};
use crate::scale::Scale;
use crate::style::{Ink, Style};
use crate::text::{clean, right, spoken, width};

/// Columns of the y axis with its tick.
const AXIS: usize = 8;

/// A drawing; empty where there is nothing to draw.
pub(super) fn plot(plot: &Plot, style: &Style) -> String {
    let plot = plot.in_style(style);
    let (strokes, drawn) = (plot.strokes(), plot.drawable());
    let columns = style.columns().saturating_sub(AXIS + 2);
    let Some(scale) = Scale::new(&plot, &drawn, columns) else {
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
        let dots = |points: &[(f64, f64)]| points.iter().map(|&(x, y)| scale.dot(x, y)).collect::<Vec<_>>();
        for stroke in &strokes[i] {
            match dots(stroke).as_slice() {
                dots if plot.series[i].scatter => canvas.letters(dots, i),
                [only] => canvas.segment(*only, *only, i),
                dots => dots.windows(2).for_each(|pair| canvas.segment(pair[0], pair[1], i)),
            }
        }
        if let Some(&last) =
            dots(&drawn[i]).last().filter(|_| !plot.series[i].scatter && (drawn.len() > 1 || !style.unicode))
        {
            canvas.letter(last, i);
        }
    }
    // A single curve without a name needs no line of its own: the heading has the unit.
    let legend = legend(&plot.series, style);
    let unit = if plot.unit_in_heading { String::new() } else { plot.unit.shown(style) };
    let head = format!("{} {legend}", right(&unit, AXIS - 1));
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
    out.push_str(&scale.mark_line(&plot.marks));
    if let Some(unit) = &plot.x_unit {
        out.push_str(&format!("{}\n", right(&unit.shown(style), style.columns() - 2)));
    }
    out
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

fn tick_text(value: f64) -> String {
    let text = format!("{value}");
    // The axis has room for so many signs.
    if value >= 1e5 || (value != 0.0 && value.abs() < 0.01) || text.len() >= AXIS {
        format!("{value:.0e}")
    } else {
        text
    }
}

impl Scale {
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
#[path = "plot_tests.rs"]
mod tests;
