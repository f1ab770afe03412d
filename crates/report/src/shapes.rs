//! Shapes of a machine: caches, translation buffers, misses in flight, and the cost of grain and neighbours.

use tiermark_model::{Finding, LabelSet, Labels, Quantity, Unit};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Number, Page, Table, Text, graded, heading, measured_size, number, paragraph, percent,
    rate_unit, text,
};

use crate::findings::{at_least, figure};
use crate::order::{distinct, grouped};
use crate::pivot::{Pivot, label, with_quantity};
use crate::reasons::Reasons;
use crate::remark::{self, remark};
use crate::residency::{counted, residency};
use crate::scan::scan;
use crate::shown::Shown;
use crate::steps::Curves;
use crate::tally::is_number;

/// The view of a family of quantities.
struct FamilyView {
    family: &'static str,
    /// The findings among them whose verdicts count as those of numbers.
    counted: for<'a> fn(&[&'a Finding]) -> Vec<&'a Finding>,
    render: fn(&[&Finding], Detail) -> Page,
}

impl FamilyView {
    /// A view of which every finding counts.
    const fn new(family: &'static str, render: fn(&[&Finding], Detail) -> Page) -> Self {
        Self { family, counted: |all| all.to_vec(), render }
    }
}

/// The views, in the order in which they are shown. A family without one is in the table of findings.
const VIEWS: [FamilyView; 7] = [
    FamilyView::new("geometry", geometry),
    FamilyView::new("tlb", buffers),
    FamilyView::new("mlp", in_flight),
    FamilyView::new("granularity", granularity),
    FamilyView::new("neighbour", neighbour),
    FamilyView { counted, ..FamilyView::new("residency", residency) },
    FamilyView::new("scan", scan),
];

/// Takes the findings of each view.
pub(crate) fn take<'a>(shown: &mut Shown<'a>) -> Vec<Vec<&'a Finding>> {
    let view_findings = |view: &FamilyView| {
        let found = shown.take_all(|f| f.quantity.family() == view.family);
        shown.count(&(view.counted)(&found));
        found
    };
    VIEWS.iter().map(view_findings).collect()
}

/// All views of shapes; empty where nothing of them was found.
pub(crate) fn shapes(found: &[Vec<&Finding>], detail: Detail) -> Page {
    VIEWS.iter().zip(found).map(|(view, found)| (view.render)(found, detail)).collect()
}

/// Share of the fetched lines that small accesses use.
const USEFUL: &str = "8 B of 64 B";

/// Doubts of findings alone.
fn doubts(findings: &[&Finding], detail: Detail) -> Page {
    let mut reasons = Reasons::default();
    findings.iter().filter(|f| is_number(f)).for_each(|f| reasons.add(&subject(f), &f.verdict));
    reasons.page(detail)
}

/// Doubts and remarks of findings, each once.
fn remarks(findings: &[&Finding], detail: Detail) -> Page {
    let mut reasons = Reasons::default();
    let mut notes: Vec<Text> = Vec::new();
    for f in findings {
        let name = subject(f);
        if is_number(f) {
            reasons.add(&name, &f.verdict);
        }
        // Sets follow from ways and lines.
        let is_shown = detail.is_all() || f.quantity != Quantity::GeometrySets;
        let note = remark(f).filter(|_| is_shown).map(|note| text![&name, ": ", note]);
        notes.extend(note);
    }
    let notes: Page = remark::distinct(notes).iter().map(|note| paragraph("  ", note, Ink::Dim)).collect();
    reasons.page(detail) + notes
}

/// Subject of a finding: its tier and quantity.
fn subject(finding: &Finding) -> String {
    let (what, labels) = (finding.quantity.part(), &finding.labels);
    // A number of a table is called by its row and its column.
    match &finding.quantity {
        Quantity::GranularityRate => {
            return [Labels::op, Labels::page, Labels::layout].map(|of| label(finding, of)).join(" ");
        }
        Quantity::GranularityUseful => {
            return format!("{} {} {USEFUL}", label(finding, Labels::op), label(finding, Labels::page));
        }
        Quantity::MlpAccess => return labels.words_of(LabelSet::NONE.tier().chains()),
        _ => {}
    }
    // Chases of one tier are all on the same pages.
    let page = labels.page().filter(|_| matches!(finding.quantity.family(), "tlb" | "granularity"));
    let words = [labels.tier_name(), labels.op(), labels.relation(), labels.beside(), page];
    let words: Vec<&str> = words.into_iter().flatten().filter(|word| !word.is_empty() && *word != what).collect();
    if words.is_empty() { what.to_owned() } else { format!("{} {}", words.join(" "), what.replace('_', " ")) }
}

fn geometry(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let parts = [Quantity::GeometrySize, Quantity::GeometryWays, Quantity::GeometrySets];
    let of_tier = |f: &&&Finding| !label(f, Labels::tier_name).is_empty() && f.quantity != Quantity::GeometryShared;
    let levels: Vec<&Finding> = findings.iter().filter(of_tier).copied().collect();
    let tiers = grouped(levels.iter().map(|f| (label(f, Labels::tier_name), *f)));
    let find = |here: &[&'_ Finding], what: &Quantity| here.iter().position(|f| f.quantity == *what);
    let measured = |f: &Finding| graded(f.value.map(|v| resolved(f, v)), &f.verdict, f.unit);
    let declared = |f: &Finding| {
        let declared = f.labels.declared_number();
        declared.map(|d| Cell::inked(number(d as f64, f.unit), Ink::Dim))
    };
    let table = Table::of(&tiers).texts("cache", |(tier, _)| tier);
    let latency = |here: &[&Finding]| find(here, &Quantity::GeometryLatency).map(|at| figure(here[at]));
    let table = table.figures("ns", |(_, here)| latency(here));
    let table = table.each(&parts, |table, what| {
        let any = |of: fn(&Finding) -> bool| levels.iter().any(|f| f.quantity == *what && of(f));
        let is_declared = any(|f| f.labels.declared_number().is_some());
        let table = table.when(is_declared || any(|f| f.value.is_some()), |table| {
            table.figures(what.part(), |(_, here)| find(here, what).map(|at| measured(here[at])))
        });
        table.when(is_declared, |table| {
            table.numbers("declared", |(_, here)| find(here, what).and_then(|at| declared(here[at])))
        })
    });
    let table = table.table();
    let mut out = heading("Caches, measured and declared");
    if !table.is_empty() {
        out += table;
    }
    for f in with_quantity(findings, &Quantity::GeometryLine)
        .into_iter()
        .chain(with_quantity(findings, &Quantity::GeometryNeighbours))
    {
        let what = subject(f);
        let bytes = graded(f.value.map(|v| number(v, f.unit)), &f.verdict, f.unit);
        let bytes = if f.value.is_some() { bytes.words() } else { ABSENT.into() };
        let note = remark(f).map_or_else(Text::default, |note| text![" (", note, ")"]);
        out += paragraph("  ", text![what, " ", bytes, note], Ink::Plain);
    }
    out += remarks(&levels, detail);
    out + sharing(&with_quantity(findings, &Quantity::GeometryShared), detail)
}

/// A number, or about where it lies: only what is known exactly is written without a tilde. Two digits say how well a
/// size is known that is not the declared one.
pub(crate) fn resolved(finding: &Finding, of: f64) -> Number {
    let is_declared = finding.labels.declared_number().is_some_and(|declared| declared as f64 == of);
    match finding.interval {
        Some(i) if i.low < i.high && is_declared => number(of, finding.unit).about(),
        Some(i) if i.low < i.high && finding.unit == Unit::Bytes => measured_size(of),
        Some(i) if i.low < i.high => number(of, finding.unit).about(),
        _ => number(of, finding.unit),
    }
}

fn sharing(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let mut reasons = Reasons::default();
    findings.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let table = Table::of(findings).texts("cache", |f| label(f, Labels::tier_name));
    let table = table.texts("cpus", |f| format!("{} ({})", label(f, Labels::cpus), label(f, Labels::relation)));
    let table = table.texts("declared", |f| label(f, Labels::declared));
    let table = table.figures("a full neighbour costs", |f| graded(f.value.map(signed), &f.verdict, f.unit));
    let table = table.texts("", |f| Cell::inked(remark(f).unwrap_or_default(), Ink::Dim)).table();
    heading("Sharing of caches") + table + reasons.page(detail)
}

/// `+4.1 %`.
fn signed(share: f64) -> String {
    format!("{}{}", if share >= 0.0 { "+" } else { "" }, percent(share))
}

fn buffers(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let what = |f: &&Finding| match (&f.quantity, label(f, Labels::tier_name).as_str()) {
        (Quantity::TlbEntries, tier) => format!("{tier}|entries"),
        (Quantity::TlbMiss, tier) => format!("{tier} miss|ns"),
        _ => "walk|ns".to_owned(),
    };
    let pivot = Pivot::new(findings, &|f| label(f, Labels::page), &what);
    let cell = |f: &&Finding| {
        let sign = at_least(f);
        let text = f.value.map(|v| match f.unit {
            Unit::Count if !sign.is_empty() => Text::from(format!("{sign}{v}")),
            Unit::Count => resolved(f, v).into(),
            unit => number(v, unit).into(),
        });
        graded(text, &f.verdict, f.unit)
    };
    heading("Translation of data addresses, by page size") + pivot.table("pages", &cell) + remarks(findings, detail)
}

fn in_flight(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let times = with_quantity(findings, &Quantity::MlpAccess);
    let best = with_quantity(findings, &Quantity::MlpInFlight);
    // The numbers in flight are a row of their own, below those of the chains.
    let row = |f: &&Finding| match f.quantity {
        Quantity::MlpInFlight => "in flight".to_owned(),
        _ => label(f, Labels::chains),
    };
    let cell = |f: &&Finding| match f.quantity {
        Quantity::MlpInFlight => graded(f.value.map(|v| format!("{}{v:.1}", at_least(f))), &f.verdict, f.unit),
        _ => figure(f),
    };
    let tiers = distinct(times.iter().map(|f| label(f, Labels::tier_name)));
    let best = best.into_iter().filter(|f| tiers.contains(&label(f, Labels::tier_name)));
    let all: Vec<&Finding> = times.iter().copied().chain(best).collect();
    let table = Pivot::new(&all, &row, &|f| label(f, Labels::tier_name)).table("chains", &cell);
    let curves = Curves {
        x: &|f| f.labels.chains().map(|chains| chains as f64),
        x_unit: "chains",
        series: &|f| label(f, Labels::tier_name),
        unit: ("ns", 1.0),
        log_y: true,
    };
    heading("Accesses in flight: ns an access by chains followed at once")
        + curves.drawn(&times)
        + table
        + remarks(findings, detail)
}

fn granularity(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let rates = with_quantity(findings, &Quantity::GranularityRate);
    let row = |f: &&Finding| format!("{} {}", label(f, Labels::op), label(f, Labels::page));
    let column = |f: &Finding| label(f, Labels::layout).replacen(" random", "|random", 1);
    let shares = with_quantity(findings, &Quantity::GranularityUseful);
    let head = |f: &&Finding| {
        if f.quantity == Quantity::GranularityUseful { USEFUL.replacen(" of", "|of", 1) } else { column(f) }
    };
    let all: Vec<&Finding> = rates.iter().chain(&shares).copied().collect();
    let pivot = Pivot::new(&all, &row, &head);
    let key = format!("{USEFUL} = share of the fetched bytes that random accesses use");
    heading(text!["Useful ", rate_unit(), " of one thread, by grain and page"])
        + pivot.table("pages", &|f| figure(f))
        + if shares.is_empty() { Page::new() } else { paragraph("  ", &key, Ink::Dim) }
        // What the shares come to in bytes stands in the table.
        + remarks(if detail.is_all() { findings } else { &rates }, detail)
        + if detail.is_all() { Page::new() } else { doubts(&shares, detail) }
}

fn neighbour(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let column = |f: &&Finding| label(f, Labels::tier_name);
    let row = |f: &&Finding| label(f, Labels::beside);
    let times = with_quantity(findings, &Quantity::NeighbourLatency);
    let rates = with_quantity(findings, &Quantity::NeighbourRate);
    let mut out = heading("Latency beside a neighbour on another core, ns")
        + Pivot::new(&times, &row, &column).table("beside", &|f| figure(f));
    if !rates.is_empty() {
        out += heading(Text::from("The neighbour meanwhile, ") + rate_unit());
        let table = Pivot::new(&rates, &row, &column).table("beside", &|f| figure(f));
        out += table;
    }
    let costs = with_quantity(findings, &Quantity::NeighbourCost);
    if !costs.is_empty() {
        out += heading("What the neighbour costs the chaser");
        let cell = |f: &&Finding| graded(f.value.map(signed), &f.verdict, f.unit);
        out += Pivot::new(&costs, &row, &column).table("beside", &cell);
    }
    let remarked = if detail.is_all() { findings } else { times.as_slice() };
    out + remarks(remarked, detail)
}
