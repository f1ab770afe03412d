//! A strip of dots for each figure: one dot a host, by its difference from the median.

use tiermark_model::{FleetHost, HostFigure, KindFigure, count_of};
use tiermark_page::escaped as text;

use super::Kind;
use crate::judgements::{plain, signed};

/// Width of a strip in its own units: the browser makes it as wide as there is room. Its height is in pixels.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 60.0;
/// Where the lowest dots lie.
const BASE: f64 = 55.0;
/// Columns of dots.
const COLUMNS: f64 = 120.0;
/// Distance of dots in a column, in pixels: the usual one, and the least; below it, a column is a line.
const STEP: (f64, f64) = (5.0, 2.0);
/// The least and the greatest difference at an end of the axis: small differences stay small, and no host hides the
/// others.
const REACH: (f64, f64) = (0.02, 1.0);
/// Names of odd hosts: how many, in how many lines, and how many letters of each.
const NAMES: usize = 6;
const LINES: usize = 3;
const LETTERS: usize = 14;
/// The narrowest strip and a letter, in pixels.
const NARROW: f64 = 290.0;
const LETTER: f64 = 7.5;
/// Figures that are drawn even if no host is odd by them.
const ALWAYS: [&str; 2] = ["read.dram.all", "latency.dram"];
/// Distances of ticks, in percent.
const TICKS: [f64; 10] = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0, 200.0];

/// A host in a strip.
struct Dot<'a> {
    host: &'a FleetHost,
    off: f64,
    /// Where it lies, from 0 to 1.
    at: f64,
}

impl Kind<'_> {
    /// The strips: those of figures that hosts are odd by, then the others, folded.
    pub(super) fn strips(&self) -> String {
        let (mut shown, mut folded) = (String::new(), String::new());
        for (at, figure) in self.kind.figures.iter().enumerate() {
            let own = |host: &&FleetHost| host.figures.iter().position(|of| of.figure as usize == at);
            let dots: Vec<(&FleetHost, &HostFigure)> =
                self.hosts.iter().filter_map(|host| Some((*host, &host.figures[own(host)?]))).collect();
            let dots: Vec<(&FleetHost, &HostFigure)> =
                dots.into_iter().filter(|(_, of)| !of.is_bound && of.deviation.is_finite()).collect();
            let is_odd = |(host, of): &(&FleetHost, &HostFigure)| self.is_odd_in(host, of, &figure.family);
            let (odd, usual): (Vec<_>, Vec<_>) = dots.into_iter().partition(is_odd);
            if odd.len() + usual.len() == 0 {
                continue;
            }
            let is_shown = !odd.is_empty() || figure.name.as_deref().is_some_and(|name| ALWAYS.contains(&name));
            let strip = self.strip(&self.names[at], figure, &usual, &odd);
            if is_shown { &mut shown } else { &mut folded }.push_str(&strip);
        }
        let grid = |strips: &str| format!("<div class=\"strips\">\n{strips}</div>\n");
        let mut out = String::new();
        if !shown.is_empty() {
            out += "<h3>Figures, host by host</h3>\n<p class=\"dim\">Each dot is a host, placed by its difference from \
                    the median, 0 %. Shaded: the scatter between hosts, ± one standard deviation. ✘ is an odd \
                    host.</p>\n";
            out += &grid(&shown);
        }
        if !folded.is_empty() {
            let title = if shown.is_empty() { "Figures, host by host" } else { "Other figures, host by host" };
            out += &format!("<details><summary><h3>{title}</h3></summary>\n{}</details>\n", grid(&folded));
        }
        out
    }

    fn strip(
        &self,
        name: &str,
        figure: &KindFigure,
        usual: &[(&FleetHost, &HostFigure)],
        odd: &[(&FleetHost, &HostFigure)],
    ) -> String {
        let axis = Axis::of(usual.iter().chain(odd).map(|(_, of)| of.deviation), figure.sd);
        let mut odd: Vec<Dot<'_>> = odd.iter().map(|(host, of)| axis.dot(host, of.deviation)).collect();
        odd.sort_by(|a, b| b.off.abs().total_cmp(&a.off.abs()));
        let hosts = count_of((usual.len() + odd.len()) as u64, "host");
        let summary = format!("median {} ±{}, {hosts}", self.value(figure.median, figure), plain(figure.sd));
        let name_of = |dot: &Dot<'_>| format!("{} {}", dot.host.host, signed(dot.off));
        let first: Vec<String> = odd.iter().take(NAMES).map(name_of).collect();
        let odd_hosts =
            if odd.is_empty() { String::new() } else { format!("; {} odd: {}", odd.len(), first.join(", ")) };
        let (names, lines) = names(&odd);
        let marks = marks(&odd);
        format!(
            "<figure class=\"strip\" role=\"group\" aria-label=\"{}\"><figcaption><b>{}</b> {}</figcaption>\
             <div class=\"plane\" style=\"--lines:{lines}\">{}<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\">{}<path class=\"dots\" d=\"{}\"/></svg>{marks}{names}\
             </div></figure>\n",
            text(&format!("{name}: {summary}{odd_hosts}")),
            text(name),
            text(&summary),
            axis.ticks(),
            axis.band(figure.sd),
            dots(usual.iter().map(|(_, of)| axis.at(of.deviation)))
        )
    }
}

/// From the least to the greatest difference.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(offs: impl Iterator<Item = f64>, sd: f64) -> Self {
        let least = (4.0 * sd).clamp(REACH.0, REACH.1);
        let (low, high) = offs.fold((-least, least), |(low, high), off| (low.min(off), high.max(off)));
        let (low, high) = (low.max(-REACH.1), high.min(REACH.1));
        let room = 0.03 * (high - low);
        Self { low: low - room, high: high + room }
    }

    /// Where a difference lies, from 0 to 1.
    fn at(&self, off: f64) -> f64 {
        ((off - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn dot<'a>(&self, host: &'a FleetHost, off: f64) -> Dot<'a> {
        Dot { host, off, at: self.at(off) }
    }

    fn band(&self, sd: f64) -> String {
        let [from, to, middle] = [-sd, sd, 0.0].map(|off| WIDTH * self.at(off));
        format!(
            "<rect x=\"{from:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\"/>\
             <path class=\"middle\" d=\"M{middle:.1} 0V{HEIGHT}\"/>",
            to - from
        )
    }

    fn ticks(&self) -> String {
        let range = (self.high - self.low) * 100.0;
        let step = TICKS.into_iter().find(|step| *step >= range / 5.0).unwrap_or(200.0);
        let (first, last) = ((self.low * 100.0 / step).ceil() as i64, (self.high * 100.0 / step).floor() as i64);
        let tick = |at: i64| {
            let percent = at as f64 * step;
            let sign = if at > 0 { "+" } else { "" };
            format!("<span style=\"left:{:.1}%\">{sign}{percent} %</span>", 100.0 * self.at(percent / 100.0))
        };
        format!("<div class=\"ticks\" aria-hidden=\"true\">{}</div>", (first..=last).map(tick).collect::<String>())
    }
}

/// A path with a dot for each host, those of a column above each other: in so small steps that the largest column has
/// room; where the steps are too small to see dots, a line for each column.
fn dots(places: impl Iterator<Item = f64>) -> String {
    let mut columns = vec![0u32; COLUMNS as usize];
    for at in places {
        columns[((at * COLUMNS) as usize).min(COLUMNS as usize - 1)] += 1;
    }
    let most = columns.iter().copied().max().unwrap_or(0);
    let step = (BASE / f64::from(most.max(1))).min(STEP.0);
    let mut path = String::new();
    for (column, hosts) in columns.into_iter().enumerate().filter(|(_, hosts)| *hosts > 0) {
        let x = (column as f64 + 0.5) * WIDTH / COLUMNS;
        path += &format!("M{x:.0} {BASE}h0");
        if step < STEP.1 {
            path += &format!("v-{:.1}", f64::from(hosts - 1) * step);
        } else {
            path += &format!("m0-{step:.1}h0").repeat(hosts as usize - 1);
        }
    }
    path
}

/// A sign for each odd host, those at one place above each other, as far as there is room.
fn marks(odd: &[Dot<'_>]) -> String {
    const PLACES: f64 = 30.0;
    const HIGHEST: u32 = 4;
    let mut known = vec![0u32; PLACES as usize + 1];
    let mut out = String::new();
    for dot in odd {
        let above = &mut known[(dot.at * PLACES) as usize];
        if *above > HIGHEST {
            continue;
        }
        out += &format!(
            "<b style=\"left:{:.1}%;--up:{above}\" title=\"{} {}\">✘</b>",
            100.0 * dot.at,
            text(&dot.host.host),
            signed(dot.off)
        );
        *above += 1;
    }
    out
}

/// The names of the hosts that differ most, where the narrowest strip has room for them, and how many lines they take.
fn names(odd: &[Dot<'_>]) -> (String, usize) {
    let mut lines: [Vec<(f64, f64)>; LINES] = Default::default();
    let (mut out, mut named) = (String::new(), 0);
    for dot in odd {
        let whole = &dot.host.host;
        let mut name: String = whole.chars().take(LETTERS).collect();
        if name.len() < whole.len() {
            name = name.chars().take(LETTERS - 1).chain(['…']).collect();
        }
        let width = (name.chars().count() as f64 * LETTER + 8.0) / NARROW;
        // At the ends names go inwards.
        let (class, from) = match dot.at {
            at if at < width / 2.0 => (" class=\"right\"", at),
            at if at > 1.0 - width / 2.0 => (" class=\"left\"", at - width),
            at => ("", at - width / 2.0),
        };
        let is_free = |line: &Vec<(f64, f64)>| line.iter().all(|(low, high)| from + width <= *low || *high <= from);
        let Some(line) = lines.iter().position(is_free) else { continue };
        lines[line].push((from, from + width));
        out += &format!("<em{class} style=\"left:{:.1}%;--line:{line}\">{}</em>", 100.0 * dot.at, text(&name));
        named += 1;
        if named == NAMES {
            break;
        }
    }
    let more = odd.len() - named;
    if more > 0 && named > 0 {
        out += &format!("<em class=\"more\">and {more} more odd</em>");
    }
    (out, lines.iter().filter(|line| !line.is_empty()).count() + usize::from(more > 0 && named > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_many_hosts_are_lines() {
        assert_eq!(dots([0.5, 0.5, 0.0].into_iter()), "M4 55h0M504 55h0m0-5.0h0");
        let many = dots((0..10_000).map(|at| f64::from(at % 7) / 7.0));
        assert!(many.len() < 200 && many.contains("v-"), "{many}");
        assert_eq!(dots(std::iter::empty()), "");
    }

    #[test]
    fn an_axis_has_room_for_its_labels() {
        for (offs, sd) in [(vec![0.0], 0.0), (vec![-0.12, 0.01], 0.006), (vec![5.0, -0.9], 0.2), (vec![0.3], 1e9)] {
            let axis = Axis::of(offs.into_iter(), sd);
            let ticks = axis.ticks().matches("<span").count();
            assert!((2..=6).contains(&ticks), "{ticks}: {}", axis.ticks());
        }
    }
}
