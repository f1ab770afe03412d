//! The changes between two runs as a picture: each number with the interval of its change, beside the threshold.

use tiermark_model::{Against, ChangeVerdict, ComparedFigure, Comparison};
use tiermark_page::{Detail, escaped as text};

use crate::judgements::{change, compared_name, named_run, plain};

const WIDTH: f64 = 960.0;
/// Room for names and the changes in words, which a narrow screen shows first.
const LEFT: f64 = 460.0;
/// Where the words of a change end.
const WORDS: f64 = LEFT - 24.0;
const RIGHT: f64 = 24.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 26.0;
/// Letters that fit into the room for names.
const LETTERS: usize = 36;
/// Rows of a picture: more are in the tables.
const ROWS: usize = 40;
/// The least and the greatest end of the axis, as a share: small changes stay small, and no outlier hides the others.
const LEAST: f64 = 0.1;
const MOST: f64 = 1.0;

/// The picture; empty where no number has a change with an interval.
pub(super) fn changes(comparison: &Comparison, other: &Against, detail: Detail) -> String {
    let mut rows: Vec<&ComparedFigure> = other.figures.iter().filter(|figure| ends(figure).is_some()).collect();
    if rows.is_empty() {
        return String::new();
    }
    // What moved comes first, then the largest changes.
    let size = |figure: &ComparedFigure| figure.change.map_or(0.0, |change| (1.0 + change).ln().abs());
    rows.sort_by(|a, b| b.verdict.has_moved().cmp(&a.verdict.has_moved()).then(size(b).total_cmp(&size(a))));
    let left_out = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let reach = rows.iter().filter_map(|figure| ends(figure)).map(|(low, high)| high.max(-low));
    let reach = reach.fold(LEAST, f64::max).clamp(LEAST, MOST);
    let axis = Axis { reach };
    let bottom = HEAD + rows.len() as f64 * ROW;
    let mut out = axis.draw(comparison.threshold, bottom);
    for (at, figure) in rows.iter().enumerate() {
        out.push_str(&row(figure, &axis, HEAD + (at as f64 + 0.5) * ROW, detail));
    }
    let more = match left_out {
        0 => String::new(),
        n => format!("<p class=\"dim\">{n} more numbers are not drawn; the tables have them.</p>"),
    };
    let key = "Point: change from the first run to the other. Line: its 95 % interval. Shaded: within the threshold. \
               \u{25b2} better, \u{25bc} worse, \u{25cf} same, \u{25cb} unsure; \u{25c2} \u{25b8} beyond the axis.";
    format!(
        "<figure class=\"machine changes\" role=\"group\" aria-label=\"Changes\" tabindex=\"0\">\
         <svg role=\"img\" viewBox=\"0 0 {WIDTH} {}\" aria-label=\"Changes of {} numbers with their intervals; \
         the tables have them in words\">{out}</svg><p class=\"dim\">{key}</p>{more}</figure>\n",
        bottom + 24.0,
        rows.len()
    )
}

/// The ends of a change that can be drawn.
fn ends(figure: &ComparedFigure) -> Option<(f64, f64)> {
    let (interval, change) = (figure.interval?, figure.change?);
    let is_drawn = !matches!(figure.verdict, ChangeVerdict::NotComparable(_));
    let are_numbers = [interval.low, interval.high, change].iter().all(|v| v.is_finite());
    (is_drawn && are_numbers).then_some((interval.low.min(change), interval.high.max(change)))
}

/// From minus to plus the reach.
struct Axis {
    reach: f64,
}

impl Axis {
    fn x(&self, change: f64) -> f64 {
        let share = (change / self.reach).clamp(-1.0, 1.0);
        LEFT + (WIDTH - LEFT - RIGHT) * (share + 1.0) / 2.0
    }

    /// The threshold, the line of no change, and the ticks.
    fn draw(&self, threshold: f64, bottom: f64) -> String {
        let (from, to) = (self.x(-threshold), self.x(threshold));
        let height = bottom - HEAD;
        let mut out = format!(
            "<rect class=\"same\" x=\"{from:.1}\" y=\"{HEAD}\" width=\"{:.1}\" height=\"{height}\"/>",
            to - from
        );
        for share in [-1.0, -0.5, 0.0, 0.5, 1.0] {
            let (x, value) = (self.x(share * self.reach), share * self.reach * 100.0);
            let digits = usize::from(value.fract().abs() > 0.05 && value.abs() < 10.0);
            out.push_str(&format!(
                "<path class=\"tick\" d=\"M{x:.1} {HEAD}V{bottom}\"/>\
                 <text class=\"small\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{value:+.digits$} %</text>",
                HEAD - 9.0
            ));
        }
        out
    }
}

fn row(figure: &ComparedFigure, axis: &Axis, y: f64, detail: Detail) -> String {
    let Some((low, high)) = ends(figure) else { return String::new() };
    let x = axis.x(figure.change.unwrap_or_default());
    let off = match figure.change.unwrap_or_default() {
        change if change > axis.reach => " \u{25b8}",
        change if change < -axis.reach => " \u{25c2}",
        _ => "",
    };
    let (class, mark) = match figure.verdict {
        ChangeVerdict::Better => ("better", format!("M{x:.1} {}l5 9h-10Z", y - 5.0)),
        ChangeVerdict::Worse => ("worse", format!("M{x:.1} {}l5 -9h-10Z", y + 5.0)),
        ChangeVerdict::Same => ("even", circle(x, y)),
        _ => ("unsure", circle(x, y)),
    };
    let whole = compared_name(figure, detail);
    let mut short: String = whole.chars().take(LETTERS).collect();
    if short.len() < whole.len() {
        short.push('…');
    }
    format!(
        "<g class=\"{class}\"><title>{}</title><text x=\"0\" y=\"{:.1}\">{}</text>\
         <path class=\"span\" d=\"M{:.1} {y:.1}H{:.1}\"/><path class=\"mark\" d=\"{mark}\"/>\
         <text x=\"{WORDS}\" y=\"{:.1}\" text-anchor=\"end\">{} {}{off}</text></g>",
        text(&whole),
        y + 4.0,
        text(&short),
        axis.x(low),
        axis.x(high),
        y + 4.0,
        text(&change(figure)),
        figure.verdict.name()
    )
}

fn circle(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", x - 4.0)
}

/// The title of a comparison's page.
pub(super) fn title(other: &Against, comparison: &Comparison) -> String {
    format!(
        "tiermark: {} compared with {}, threshold {}",
        named_run(&other.run),
        named_run(&comparison.first),
        plain(comparison.threshold)
    )
}
