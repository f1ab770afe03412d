//! The ladder of a survey: a row a tier with its undisturbed figures, and below it what programs got, where that
//! differs.

use tiermark_model::{Bytes, Finding, Grade, Labels, Machine, Purpose, Quantity, Unit, count_of};
use tiermark_page::{
    Align, Cell, Fit, Ink, Page, Style, Table, bound_sign, fitting, measured_size, nanoseconds, paragraph, space,
    time_unit, unit_name,
};

use super::figures::{Figure, Steps, Survey, TierRow};
use super::words;
use crate::cold::cold;
use crate::ladder::SPANS;
use crate::residency::{UsedOnce, milliseconds};

/// A rate in the style's unit, without the unit: three digits, and all digits before the point.
pub(crate) fn rate(bytes_per_second: f64, style: &Style) -> String {
    style.in_rate_units(|style| {
        let scaled = bytes_per_second / style.axis().0;
        match scaled.abs() {
            v if v.is_finite() && (99.95..1e7).contains(&v) => format!("{scaled:.0}"),
            _ => tiermark_page::rate(bytes_per_second, style),
        }
    })
}

/// A value of a figure, without unit and mark.
pub(crate) fn plain(value: f64, unit: Unit, style: &Style) -> String {
    match unit {
        Unit::Ns => nanoseconds(value),
        Unit::BytesPerSecond => rate(value, style),
        _ => tiermark_page::value(value, unit, style),
    }
}

/// A sign before a figure. What has none is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    AtLeast,
    AtMost,
    Doubted,
    Withheld,
    Absent,
}

/// The mark of a figure; `None` where it is trusted.
pub(super) fn mark(figure: &Figure<'_>) -> Option<Mark> {
    let verdict = &figure.finding.verdict;
    if figure.is_unmeasured() {
        return Some(Mark::Absent);
    }
    match verdict.grade {
        Grade::Invalid => Some(Mark::Withheld),
        _ if figure.finding.value.is_none() => Some(Mark::Absent),
        Grade::Bound if figure.finding.unit == Unit::Ns => Some(Mark::AtMost),
        Grade::Bound => Some(Mark::AtLeast),
        Grade::Suspect => Some(Mark::Doubted),
        Grade::Trusted => None,
    }
}

impl Mark {
    pub(super) fn sign(self, style: &Style) -> &'static str {
        match self {
            Self::AtLeast => bound_sign(Unit::BytesPerSecond, style).unwrap_or_default(),
            Self::AtMost => bound_sign(Unit::Ns, style).unwrap_or_default(),
            Self::Doubted => style.mark(Grade::Suspect),
            Self::Withheld => style.mark(Grade::Invalid),
            Self::Absent => style.absent(),
        }
    }

    fn ink(self) -> Ink {
        match self {
            Self::AtLeast | Self::AtMost | Self::Absent => Ink::Plain,
            Self::Doubted => Ink::Warn,
            Self::Withheld => Ink::Bad,
        }
    }
}

/// The mark of a figure, as it stands before the value; empty where the figure is trusted.
pub(super) fn sign(figure: &Figure<'_>, style: &Style) -> &'static str {
    mark(figure).map_or("", |mark| mark.sign(style))
}

/// A figure as the ladder shows it: its mark, then the value.
pub(crate) fn shown(figure: &Figure<'_>, style: &Style) -> String {
    cell(Some(figure), style).text
}

fn cell(figure: Option<&Figure<'_>>, style: &Style) -> Cell {
    figure.map(|figure| scaled(figure, 1.0, style)).unwrap_or_default()
}

/// The same with its value in units of so many of the base unit.
fn scaled(figure: &Figure<'_>, scale: f64, style: &Style) -> Cell {
    let value = figure.finding.value.map(|value| plain(value / scale, figure.finding.unit, style)).unwrap_or_default();
    match mark(figure) {
        None => Cell::new(value),
        Some(mark @ (Mark::Withheld | Mark::Absent)) => Cell::inked(mark.sign(style), mark.ink()),
        Some(mark) => Cell::inked(format!("{}{value}", mark.sign(style)), mark.ink()),
    }
}

/// The size of a tier as measured, else in parentheses as declared.
pub(super) fn size(row: &TierRow<'_>, machine: &Machine) -> String {
    let measured = row.size.and_then(|f| f.value).filter(|bytes| bytes.is_finite());
    measured.map(|bytes| measured_size(bytes).to_string()).or_else(|| declared(&row.name, machine)).unwrap_or_default()
}

fn declared(tier: &str, machine: &Machine) -> Option<String> {
    let level: u8 = tier.strip_prefix('L')?.parse().ok()?;
    let bytes = machine.data_caches().filter(|cache| cache.level == level).filter_map(|cache| cache.bytes).min()?;
    Some(format!("({})", Bytes(bytes)))
}

/// What the columns of rates are of: their heading, and their place in a row.
fn spans(survey: &Survey<'_>, style: &Style) -> Vec<(usize, String)> {
    let unit = style.rate_unit();
    let all = match survey.cores() {
        Some(cores) if cores > 1 => format!("all {cores} cores, {unit}"),
        _ => format!("all cores, {unit}"),
    };
    let used = |span: usize| survey.rows.iter().any(|row| row.rates[span].iter().any(Option::is_some));
    [(0, format!("one core, {unit}")), (1, all)].into_iter().filter(|(span, _)| used(*span)).collect()
}

/// One table of the ladder: the columns before the rates, then the rates of some spans.
fn table(survey: &Survey<'_>, before: bool, spans: &[(usize, String)], style: &Style) -> Table {
    let mut table = Table::new().indent(0).column("", Align::Left);
    if before {
        table = table.column("size", Align::Right).column("latency|idle, ns", Align::Right);
    }
    for (_, heading) in spans {
        table = table.columns_under(heading, &["  read", " write", "  copy"], Align::Right);
    }
    for row in &survey.rows {
        let figures: Vec<Option<&Figure<'_>>> = before
            .then_some(row.latency.as_ref())
            .into_iter()
            .chain(spans.iter().flat_map(|(span, _)| row.rates[*span].iter().map(Option::as_ref)))
            .collect();
        let mut cells = vec![Cell::new(&row.name)];
        cells.extend(before.then(|| Cell::new(size(row, &survey.run.machine))));
        cells.extend(figures.iter().map(|figure| cell(*figure, style)));
        table.row(cells);
        let now = |figure: Option<&Figure<'_>>| {
            let now = figure.and_then(|f| Some((f.now()?.median, f.finding.unit)));
            Cell::inked(now.map(|(median, unit)| plain(median, unit, style)).unwrap_or_default(), Ink::Dim)
        };
        if figures.iter().flatten().any(|figure| figure.now().is_some()) {
            let mut cells = vec![Cell::inked("  now", Ink::Dim)];
            cells.extend(before.then(Cell::default));
            cells.extend(figures.into_iter().map(now));
            table.row(cells);
        }
    }
    table
}

/// The ladder, with what explains its marks; empty where no tier has a figure.
pub(crate) fn ladder(survey: &Survey<'_>, style: &Style) -> Page {
    if survey.rows.is_empty() {
        return Page::new();
    }
    let spans = spans(survey, style);
    let whole = table(survey, true, &spans, style);
    let mut out = space();
    out += match spans.as_slice() {
        [one, rest @ ..] if !rest.is_empty() => {
            let parts =
                table(survey, true, std::slice::from_ref(one), style) + space() + table(survey, false, rest, style);
            fitting(vec![whole.into(), parts], Fit::Whole)
        }
        _ => whole.into(),
    };
    out += fewer_cores(survey);
    out += super::cycles::cycles(survey, style);
    out += zeros(survey, style);
    out += walks(survey, style);
    out += cold(survey.findings(), "");
    out += buffers(survey, style);
    out += residency(survey);
    out + super::key::key(survey, style)
}

/// Rows whose rates of all cores are of fewer than the heading says: only the cores of one node read the memory of
/// another.
fn fewer_cores(survey: &Survey<'_>) -> Page {
    let cores = survey.cores();
    let line = |row: &TierRow<'_>| {
        let figure =
            row.rates[1].iter().flatten().find(|figure| figure.finding.labels.number(Labels::THREADS) != cores)?;
        let labels = &figure.finding.labels;
        let (threads, cpus) = (labels.number(Labels::THREADS)?, labels.get(Labels::CPUS)?);
        let text = format!("{}: the rates of all cores are of {} (cpus {cpus})", row.name, count_of(threads, "core"));
        Some(paragraph("", &text, Ink::Plain))
    };
    survey.rows.iter().filter_map(line).collect()
}

/// How fast memory is cleared.
fn zeros(survey: &Survey<'_>, style: &Style) -> Page {
    let line = |row: &TierRow<'_>| {
        let rates = SPANS.iter().zip(&row.zeros).filter_map(|(span, figure)| {
            let span = if *span == "one" { "one core" } else { "all cores" };
            Some(format!("{} ({span})", with_unit(figure.as_ref()?, style)))
        });
        let rates = rates.collect::<Vec<_>>().join(", ");
        (!rates.is_empty()).then(|| paragraph("", format!("{} write of zeros: {rates}", row.name), Ink::Plain))
    };
    survey.rows.iter().filter_map(line).collect()
}

/// What memory takes if translations are not at hand.
fn walks(survey: &Survey<'_>, style: &Style) -> Page {
    let mut out = Page::new();
    for grain in survey.findings().filter(|f| f.metric == Quantity::TranslationGrain) {
        if let Some(note) = grain.note(style.rate_unit) {
            out += paragraph("", format!("Translation: {note}"), Ink::Plain);
        }
    }
    for row in survey.rows.iter().filter(|row| !row.walks.is_empty()) {
        let each = row.walks.iter().map(|(page, figure)| {
            let unit = if figure.finding.value.is_some() { " ns" } else { "" };
            let now = figure.now().map(|now| format!(", now {}", nanoseconds(now.median))).unwrap_or_default();
            format!("{}{unit}{now} ({})", shown(figure, style), pages(page))
        });
        let bytes = row.walks.iter().find_map(|(_, figure)| figure.finding.labels.number(Labels::SIZE));
        let over = bytes.map(|bytes| format!(" over {}", Bytes(bytes))).unwrap_or_default();
        let text = format!("{} latency at random{over}: {}", row.name, each.collect::<Vec<_>>().join(", "));
        out += paragraph("", &text, Ink::Plain);
    }
    out
}

/// Writes and copies of a buffer as large as the last-level cache's row, where others than ordinary stores are fastest.
fn buffers(survey: &Survey<'_>, style: &Style) -> Page {
    let steps = Steps::of(&survey.experiments);
    let found = survey.findings().filter(|f| f.metric == Quantity::Bandwidth && f.labels.is_for(Purpose::Buffer));
    let figures: Vec<Figure<'_>> = found.map(|finding| Figure::new(&steps, finding)).collect();
    let Some(bytes) = figures.iter().find_map(|figure| figure.finding.labels.number(Labels::SIZE)) else {
        return Page::new();
    };
    let each = figures.iter().filter_map(|figure| {
        let labels = &figure.finding.labels;
        Some(format!("{} {} ({})", labels.get(Labels::OP)?, with_unit(figure, style), labels.get(Labels::KERNEL)?))
    });
    let each = each.collect::<Vec<_>>().join(", ");
    let text =
        format!("Fastest way for a buffer of {}, string and non-temporal instructions included: {each}", Bytes(bytes));
    paragraph("", &text, Ink::Plain)
}

/// The name of a page size: as a step names it, or as documents of version 2 have it behind the name of the tier.
fn pages(page: &str) -> String {
    match page {
        "base" => "base pages".to_owned(),
        "thp" => "transparent huge pages".to_owned(),
        _ => format!("{} pages", page.replace('K', " KiB").replace('M', " MiB").replace('G', " GiB")),
    }
}

/// How long a shared cache keeps what was touched.
fn residency(survey: &Survey<'_>) -> Page {
    let again = |f: &&Finding| !f.labels.is(Labels::USED, "once");
    let halves = survey.findings().filter(|f| f.metric == Quantity::ResidencyHalfLife).filter(again);
    let uses = UsedOnce::of(survey.findings()).filter(UsedOnce::differs);
    let once = uses.and_then(|uses| uses.most()).map(|(after, [again, once])| {
        (
            " used again",
            format!("; after {after}, the cache holds {once} of a range used once and {again} of one used again"),
        )
    });
    let (used, once) = once.unwrap_or_default();
    let text = halves.filter_map(|half| {
        let tier = half.labels.get(Labels::TIER)?;
        let range = Bytes(half.labels.number(Labels::SIZE)?);
        let time = milliseconds(half.value?);
        Some(match half.labels.get(Labels::STATISTIC) {
            Some("at least") => {
                format!(
                    "{tier} residency: more than half of a range of {range}{used} is still cached after {time}{once}"
                )
            }
            Some("at most") => {
                format!("{tier} residency: at most 5 % of a range of {range}{used} is cached after {time}{once}")
            }
            _ => format!("{tier} residency: half of a range of {range}{used} is evicted after {time}{once}"),
        })
    });
    text.map(|text| paragraph("", &text, Ink::Plain)).collect()
}

/// The words of a figure in running text: `34.4 ns`, `≥41.3 GB/s`.
pub(crate) fn with_unit(figure: &Figure<'_>, style: &Style) -> String {
    let (scale, unit) = unit_of(figure, style);
    format!("{} {unit}", scaled(figure, scale, style).text).trim_end().to_owned()
}

/// The unit of a figure, in base units, and its name: times of the operating system's primitives reach from ns to s,
/// those of memory are ns.
pub(crate) fn unit_of(figure: &Figure<'_>, style: &Style) -> (f64, &'static str) {
    match (figure.finding.value, figure.finding.unit) {
        (Some(ns), Unit::Ns) if figure.finding.labels.get(Labels::GROUP).is_some() => time_unit(ns, style),
        (Some(_), unit) => (1.0, unit_name(unit, style)),
        (None, _) => (1.0, ""),
    }
}

/// What a program got, with the 10th and the 90th percentile of visits: `34.4 (18.6–48.2)`, or `34.4 ns (18.6–48.2)`
/// where a unit is given.
pub(crate) fn now_text(figure: &Figure<'_>, unit: &str, style: &Style) -> Option<String> {
    let now = figure.seen?.now?;
    let (scale, _) = unit_of(figure, style);
    let text = |value: f64| plain(value / scale, figure.finding.unit, style);
    let (median, space, dash) = (text(now.median), if unit.is_empty() { "" } else { " " }, style.glyph("–", "-"));
    Some(format!("{median}{space}{unit} ({}{dash}{})", text(now.p10), text(now.p90)))
}

/// Whether a tier is one that others may use as well: the last-level cache and what lies behind it.
pub(crate) fn is_shared_tier(name: &str, machine: &Machine) -> bool {
    name == words::last_cache(machine) || name.starts_with("DRAM")
}
