//! Shapes of a machine: caches, translation buffers, misses in flight, and the cost of grain and neighbours.

use tiermark_model::{Finding, Labels, Quantity, Unit};
use tiermark_page::{
    Align, Cell, Ink, Number, Page, Style, Table, graded, heading, measured_size, paragraph, percent, size, value,
    with_interval,
};

use crate::ladder::Shown;
use crate::order::{distinct, first, grouped};
use crate::pivot::{Pivot, label, of};
use crate::reasons::Reasons;
use crate::residency::{counted, residency};
use crate::scan::scan;
use crate::steps::Curves;
use crate::tally::is_number;

/// The view of a family of quantities.
struct FamilyView {
    family: &'static str,
    /// The findings among them whose verdicts count as those of numbers.
    counted: for<'a> fn(&[&'a Finding]) -> Vec<&'a Finding>,
    render: fn(&[&Finding], &Style) -> Page,
}

impl FamilyView {
    /// A view of which every finding counts.
    const fn new(family: &'static str, render: fn(&[&Finding], &Style) -> Page) -> Self {
        Self { family, counted: |all| all.to_vec(), render }
    }
}

/// The views, in the order in which they are shown. A family without one is in the table of findings.
const VIEWS: [FamilyView; 7] = [
    FamilyView::new("geometry", geometry),
    FamilyView::new("tlb", buffers),
    FamilyView::new("mlp", in_flight),
    FamilyView::new("granularity", granularity),
    FamilyView::new("background", background),
    FamilyView { counted, ..FamilyView::new("residency", residency) },
    FamilyView::new("scan", scan),
];

/// All views of shapes; empty where nothing of them was found.
pub(crate) fn shapes(shown: &mut Shown<'_>, style: &Style) -> Page {
    let view = |view: &FamilyView| {
        let found = shown.take_all(|f| f.metric.family() == view.family);
        shown.count(&(view.counted)(&found));
        (view.render)(&found, style)
    };
    VIEWS.iter().map(view).collect()
}

fn number(finding: &Finding, style: &Style) -> Cell {
    let text = finding.value.map(|v| with_interval(v, finding.interval, finding.unit, style));
    graded(text, &finding.verdict, finding.unit, style)
}

/// Share of the fetched lines that small accesses use.
const USEFUL: &str = "8 B of 64 B";

/// Doubts of findings alone.
fn doubts(findings: &[&Finding], style: &Style) -> Page {
    let mut reasons = Reasons::new(style);
    findings.iter().filter(|f| is_number(f)).for_each(|f| reasons.add(&subject(f), &f.verdict));
    reasons.page(style)
}

/// Doubts and remarks of findings, each once.
fn remarks(findings: &[&Finding], style: &Style) -> Page {
    let mut reasons = Reasons::new(style);
    let mut notes: Vec<String> = Vec::new();
    for f in findings {
        let name = subject(f);
        if is_number(f) {
            reasons.add(&name, &f.verdict);
        }
        // Sets follow from ways and lines.
        let told = style.verbose || f.metric != Quantity::GeometrySets;
        let note = f.note(style.rate_unit).filter(|_| told).map(|note| format!("{name}: {note}"));
        notes.extend(note);
    }
    let notes: Page = distinct(notes).iter().map(|note| paragraph("  ", note, Ink::Dim)).collect();
    reasons.page(style) + notes
}

/// Subject of a finding: its tier and quantity.
fn subject(finding: &Finding) -> String {
    let what = finding.metric.part();
    // A number of a table is called by its row and its column.
    match &finding.metric {
        Quantity::GranularityRate => {
            return [Labels::OP, Labels::PAGE, Labels::LAYOUT].map(|key| label(finding, key)).join(" ");
        }
        Quantity::GranularityUseful => {
            return format!("{} {} {USEFUL}", label(finding, Labels::OP), label(finding, Labels::PAGE));
        }
        Quantity::MlpAccess => {
            let chains = label(finding, Labels::CHAINS);
            return format!("{} {chains} chain{}", label(finding, Labels::TIER), if chains == "1" { "" } else { "s" });
        }
        _ => {}
    }
    // Chases of one tier are all on the same pages.
    let page = matches!(finding.metric.family(), "tlb" | "granularity").then_some(Labels::PAGE);
    let keys = [Labels::TIER, Labels::OP, Labels::RELATION, Labels::BESIDE].into_iter().chain(page);
    let said = |word: &String| !word.is_empty() && *word != what;
    let words: Vec<String> = keys.map(|key| label(finding, key)).filter(said).collect();
    if words.is_empty() { what.to_owned() } else { format!("{} {}", words.join(" "), what.replace('_', " ")) }
}

fn geometry(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let parts = [Quantity::GeometrySize, Quantity::GeometryWays, Quantity::GeometrySets];
    let of_tier = |f: &&&Finding| !label(f, Labels::TIER).is_empty() && f.metric != Quantity::GeometryShared;
    let levels: Vec<&Finding> = findings.iter().filter(of_tier).copied().collect();
    let tiers = grouped(levels.iter().map(|f| (label(f, Labels::TIER), *f)));
    let mut table = Table::new().column("cache", Align::Left).column("ns ", Align::Right);
    for what in &parts {
        table = table.column(&format!("{} ", what.part()), Align::Right).column("declared", Align::Right);
    }
    for (tier, here) in &tiers {
        let find = |what: &Quantity| here.iter().find(|f| f.metric == *what);
        let mut row =
            vec![Cell::new(tier), find(&Quantity::GeometryLatency).map_or_else(Cell::default, |f| number(f, style))];
        for what in &parts {
            let Some(f) = find(what) else {
                row.extend([Cell::default(), Cell::default()]);
                continue;
            };
            row.push(graded(f.value.map(|v| resolved(f, v, style)), &f.verdict, f.unit, style));
            let declared = f.labels.number(Labels::DECLARED);
            row.push(Cell::inked(declared.map_or_else(String::new, |d| value(d as f64, f.unit, style)), Ink::Dim));
        }
        table.row(row);
    }
    let mut out = heading("Caches, measured and declared");
    if !table.is_empty() {
        out += table;
    }
    for f in of(findings, &Quantity::GeometryLine).into_iter().chain(of(findings, &Quantity::GeometryNeighbours)) {
        let what = subject(f);
        let bytes = f.value.map_or_else(|| style.absent().to_owned(), |v| value(v, f.unit, style));
        let note = f.note(style.rate_unit).map_or_else(String::new, |note| format!(" ({note})"));
        out += paragraph("  ", format!("{what} {bytes}{note}"), Ink::Plain);
    }
    out += remarks(&levels, style);
    out + sharing(&of(findings, &Quantity::GeometryShared), style)
}

/// A number, or about where it lies: only what is known exactly is written without a tilde.
fn resolved(finding: &Finding, of: f64, style: &Style) -> Number {
    match finding.interval {
        Some(i) if i.low < i.high && finding.unit == Unit::Bytes => measured_size(of),
        Some(i) if i.low < i.high => Number::about(&value(of, finding.unit, style)),
        _ if finding.unit == Unit::Bytes => size(of).into(),
        _ => value(of, finding.unit, style).into(),
    }
}

fn sharing(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let mut table =
        Table::new().column("cache", Align::Left).column("cpus", Align::Left).column("declared", Align::Left);
    table = table.column("a full neighbour costs ", Align::Right).column("", Align::Left);
    let mut reasons = Reasons::new(style);
    for f in findings {
        let relation = label(f, Labels::RELATION);
        table.row(vec![
            Cell::new(label(f, Labels::TIER)),
            Cell::new(format!("{} ({relation})", label(f, Labels::CPUS))),
            Cell::new(label(f, Labels::DECLARED)),
            graded(
                f.value.map(|v| format!("{}{}", if v >= 0.0 { "+" } else { "" }, percent(v))),
                &f.verdict,
                f.unit,
                style,
            ),
            Cell::inked(f.note(style.rate_unit).unwrap_or_default(), Ink::Dim),
        ]);
        reasons.add(&subject(f), &f.verdict);
    }
    heading("Sharing of caches") + table + reasons.page(style)
}

fn buffers(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let what = |f: &Finding| match (&f.metric, label(f, Labels::TIER).as_str()) {
        (Quantity::TlbEntries, tier) => format!("{tier}|entries"),
        (Quantity::TlbMiss, tier) => format!("{tier} miss|ns"),
        _ => "walk|ns".to_owned(),
    };
    let pivot = Pivot::new(findings, &|f| label(f, Labels::PAGE), &what);
    let cell = |f: &Finding| {
        let at_least = f.labels.is(Labels::STATISTIC, "at least");
        let text = f.value.map(|v| match f.unit {
            Unit::Count if at_least => format!("{} {v}", style.glyph("≥", ">=")).into(),
            Unit::Count => resolved(f, v, style),
            unit => value(v, unit, style).into(),
        });
        graded(text, &f.verdict, f.unit, style)
    };
    heading("Translation of data addresses, by page size") + pivot.table("pages", &cell) + remarks(findings, style)
}

fn in_flight(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let times = of(findings, &Quantity::MlpAccess);
    let best = of(findings, &Quantity::MlpInFlight);
    let pivot = Pivot::new(&times, &|f| label(f, Labels::CHAINS), &|f| label(f, Labels::TIER));
    let mut table = pivot.table("chains", &|f| number(f, style));
    let mut row = vec![Cell::new("in flight")];
    let best = first(best.into_iter().map(|f| (label(f, Labels::TIER), f)));
    for tier in &pivot.columns {
        let found = best.get(tier);
        let sign = |f: &Finding| {
            let at_least = f.labels.is(Labels::STATISTIC, "at least");
            if at_least { format!("{} ", style.glyph("≥", ">=")) } else { String::new() }
        };
        let text = |f: &Finding| graded(f.value.map(|v| format!("{}{v:.1}", sign(f))), &f.verdict, f.unit, style);
        row.push(found.map_or_else(Cell::default, |f| text(f)));
    }
    table.row(row);
    let curves = Curves {
        x: &|f| f.labels.number(Labels::CHAINS).map(|chains| chains as f64),
        x_unit: "chains",
        series: &|f| label(f, Labels::TIER),
        unit: ("ns", 1.0),
        log_y: true,
    };
    heading("Accesses in flight: ns an access by chains followed at once")
        + curves.drawn(&times)
        + table
        + remarks(findings, style)
}

fn granularity(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let rates = of(findings, &Quantity::GranularityRate);
    let row = |f: &Finding| format!("{} {}", label(f, Labels::OP), label(f, Labels::PAGE));
    let column = |f: &Finding| label(f, Labels::LAYOUT).replacen(" random", "|random", 1);
    let shares = of(findings, &Quantity::GranularityUseful);
    let head = |f: &Finding| {
        if f.metric == Quantity::GranularityUseful { USEFUL.replacen(" of", "|of", 1) } else { column(f) }
    };
    let all: Vec<&Finding> = rates.iter().chain(&shares).copied().collect();
    let pivot = Pivot::new(&all, &row, &head);
    let key = format!("{USEFUL} = share of the fetched bytes that random accesses use");
    heading(&format!("Useful {} of one thread, by grain and page", style.rate_unit()))
        + pivot.table("pages", &|f| number(f, style))
        + if shares.is_empty() { Page::new() } else { paragraph("  ", &key, Ink::Dim) }
        // What the shares come to in bytes stands in the table.
        + remarks(if style.verbose { findings } else { &rates }, style)
        + if style.verbose { Page::new() } else { doubts(&shares, style) }
}

fn background(findings: &[&Finding], style: &Style) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let column = |f: &Finding| label(f, Labels::TIER);
    let row = |f: &Finding| label(f, Labels::BESIDE);
    let times = of(findings, &Quantity::BackgroundLatency);
    let rates = of(findings, &Quantity::BackgroundRate);
    let mut out = heading("Latency beside a neighbour on another core, ns")
        + Pivot::new(&times, &row, &column).table("beside", &|f| number(f, style));
    if !rates.is_empty() {
        out += heading(&format!("The neighbour meanwhile, {}", style.rate_unit()));
        let table = Pivot::new(&rates, &row, &column).table("beside", &|f| number(f, style));
        out += table;
    }
    let costs = of(findings, &Quantity::BackgroundCost);
    if !costs.is_empty() {
        out += heading("What the neighbour costs the chaser");
        let signed = |v: f64| format!("{}{}", if v >= 0.0 { "+" } else { "" }, percent(v));
        let cell = |f: &Finding| graded(f.value.map(signed), &f.verdict, f.unit, style);
        out += Pivot::new(&costs, &row, &column).table("beside", &cell);
    }
    let told = if style.verbose { findings } else { times.as_slice() };
    out + remarks(told, style)
}
