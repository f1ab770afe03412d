//! How long a shared cache keeps touched lines: a table of waits and ranges, and the conclusion in words.

use tiermark_model::{Finding, Labels, Quantity, Unit};

use crate::number::{graded, measured_size, percent, size, value};
use crate::pivot::{Pivot, of};
use crate::reasons::Reasons;
use crate::steps::Curves;
use crate::style::{Ink, Style};
use crate::table::Cell;
use crate::text::{hanging, heading};

/// The view; empty where nothing of it was found.
pub(crate) fn residency(findings: &[&Finding], style: &Style) -> String {
    let medians = of(findings, &Quantity::ResidencyAccess);
    if medians.is_empty() {
        return String::new();
    }
    let edges = of(findings, &Quantity::ResidencyEdge);
    let cell = |f: &Finding| {
        let same = |edge: &&&Finding| {
            [Labels::SIZE, Labels::WAIT].iter().all(|key| edge.labels.number(key) == f.labels.number(key))
        };
        let edge = edges.iter().find(same).and_then(|edge| edge.value);
        let edge = edge.map_or_else(String::new, |edge| format!(" ({})", value(edge, Unit::Ns, style)));
        graded(f.value.map(|v| format!("{}{edge}", value(v, Unit::Ns, style))), &f.verdict, f.unit, style)
    };
    let column = |f: &Finding| bytes(f).map_or_else(String::new, size);
    let table = |of: &[&Finding], cell: &dyn Fn(&Finding) -> Cell| {
        Pivot::new(of, &|f| wait(f), &column).table("after", cell).render(style)
    };
    let mut out = heading("ns an access by range and time since touch: median (fast edge)", style);
    out.push_str(&table(&medians, &cell));
    let held = of(findings, &Quantity::ResidencyHeld);
    if !held.is_empty() {
        out.push_str(&heading("Share of the range that still hits", style));
        let share = |f: &Finding| Cell::new(format!("{} ", f.value.map_or_else(String::new, percent)));
        let curves = Curves {
            x: &|f| f.labels.number(Labels::WAIT).map(|ns| ns as f64 / 1e6),
            x_unit: "ms",
            series: &column,
            unit: ("%", 0.01),
            log_y: false,
        };
        out.push_str(&curves.drawn(&held, style));
        out.push_str(&table(&held, &share));
    }
    for line in words(findings, style) {
        out.push_str(&hanging("  ", &line, Ink::Plain, style));
    }
    let mut reasons = Reasons::default();
    medians.iter().for_each(|f| reasons.add(&format!("{} after {}", column(f), wait(f)), &f.verdict));
    of(findings, &Quantity::ResidencyHit).iter().for_each(|f| reasons.add("an access that hits", &f.verdict));
    out.push_str(&reasons.render(style));
    if style.verbose {
        for f in findings {
            let note = f.note().map(|note| format!("{}: {note}", f.metric.part()));
            out.push_str(&note.map_or_else(String::new, |note| hanging("  ", &note, Ink::Dim, style)));
        }
    }
    out
}

/// The findings that are numbers of their own: edges and shares say the same in other words.
pub(crate) fn counted<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    let own = |f: &&Finding| !matches!(f.metric, Quantity::ResidencyEdge | Quantity::ResidencyHeld);
    findings.iter().copied().filter(own).collect()
}

fn bytes(finding: &Finding) -> Option<f64> {
    finding.labels.number(Labels::SIZE).map(|bytes| bytes as f64)
}

fn wait(finding: &Finding) -> String {
    milliseconds(finding.labels.number(Labels::WAIT).unwrap_or_default() as f64)
}

/// A time in ms with as many digits as are needed.
pub(crate) fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    match ms {
        v if v >= 9.95 => format!("{v:.0} ms"),
        v if (v * 10.0).fract().abs() < 1e-6 || v >= 0.95 => format!("{v:.1} ms").replace(".0 ", " "),
        v => format!("{v:.2} ms"),
    }
}

/// Conclusions from the numbers.
fn words(findings: &[&Finding], style: &Style) -> Vec<String> {
    let first = |metric: &Quantity| of(findings, metric).first().copied();
    let mut lines = Vec::new();
    for half in of(findings, &Quantity::ResidencyHalfLife) {
        let (Some(range), Some(ns)) = (bytes(half), half.value) else { continue };
        let (range, ms) = (size(range), milliseconds(ns));
        lines.push(match half.labels.get(Labels::STATISTIC) {
            Some("at least") => format!("More than half of a touched {range} is still in the cache after {ms}."),
            Some("at most") => format!("A touched {range} is fully evicted after {ms}."),
            _ => format!("Half of a touched {range} is evicted after {ms}."),
        });
    }
    lines.extend(first(&Quantity::ResidencyHit).and_then(|hit| accesses(hit, findings, style)));
    lines.extend(first(&Quantity::ResidencyLimit).and_then(|limit| verdict(limit, findings)));
    lines
}

/// Time of an access that hits, and of one that misses.
fn accesses(hit: &Finding, findings: &[&Finding], style: &Style) -> Option<String> {
    let text = |ns: f64| value(ns, Unit::Ns, style);
    let hits = graded(Some(text(hit.value?)), &hit.verdict, Unit::Ns, style).text;
    let misses: Vec<f64> = of(findings, &Quantity::ResidencyMiss).iter().filter_map(|f| f.value).collect();
    let ends = [f64::min, f64::max].map(|end| misses.iter().copied().reduce(end).map(text));
    let misses = match ends {
        [Some(low), Some(high)] if low == high => format!(", one that misses {low} ns"),
        [Some(low), Some(high)] => format!(", one that misses {low} to {high} ns"),
        _ => String::new(),
    };
    Some(format!("An access that hits takes {} ns{misses}.", hits.trim_end()))
}

/// The limit of the cache, and what to do about it.
fn verdict(limit: &Finding, findings: &[&Finding]) -> Option<String> {
    let halves = of(findings, &Quantity::ResidencyHalfLife);
    let shortest = halves.iter().filter_map(|f| f.value).reduce(f64::min);
    let bytes = limit.value.map(measured_size)?;
    Some(match limit.labels.get(Labels::LIMIT)? {
        "none" => format!("No limit up to {bytes}: no other user of this cache was seen."),
        "partition" => {
            format!(
                "Partition: programs here get at most {bytes} of the cache, even for lines used again at once. Plan with that size."
            )
        }
        "contention" => {
            let soon = shortest.map(milliseconds).unwrap_or_default();
            if halves.iter().all(|f| f.labels.is(Labels::STATISTIC, "at least")) {
                format!("Contention: other programs evict touched lines, but most lines last longer than {soon}.")
            } else {
                format!(
                    "Contention: other programs evict touched lines. The cache serves lines that are used again within {soon}."
                )
            }
        }
        _ => "The cache holds none of the smallest range even right after the touch: use smaller ranges (--sizes)."
            .to_owned(),
    })
}
