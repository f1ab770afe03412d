//! The ladder of a survey: a row a tier with its figures, and below it the best that was reached, where that differs.
//!
//! # To add a column
//!
//! What is not listed here, the compiler or a test names.
//!
//! * `probes/src/bandwidth/study.rs` (`ops`): the operations that are measured. A survey takes all of them
//!   (`probes/src/survey.rs`). `mod.rs` there: `JOBS`, if no job is this operation, and the seconds in `plan`.
//! * `model/src/figure.rs`: `OPERATIONS`, so that expectations can name it.
//! * `model/src/arranged/ladder.rs`: `LADDER_OPS`, the columns of all ladders; `report/src/ladder.rs`: a sentence such as `COPY_COUNTS` if the rate counts
//!   bytes in its own way. It stands under the table in `key` there and in `key.rs` here.
//! * `figures.rs`: a figure that is no rate is a field of `TierRow`, which `row` fills and `TierRow::figures` lists.
//! * Here: a head in `table`. An operation of `LADDER_OPS` without one is not shown.
//! * `cycles.rs` (`limit`), if the core has a published limit of it.
//! * The width: the table takes 73 of 80 columns. With another operation, a terminal shows the rates of all cores as a
//!   second table, and the report of a guest must still fit 75 lines (`cli/tests/pure/simulated.rs`).
//! * `expect/src/missing.rs` (`not_measured`): what a survey measures.
//! * `report/tests/pure/survey/made.rs`: the survey of tests.
//! * `docs/methods/bandwidth.md`, the legend in README.md, "useful bytes" in `docs/GLOSSARY.md`. `docs/examples.py`
//!   writes the samples of README.md and `docs/EXAMPLES.md` again, `docs/pictures.py` the pictures.

use tiermark_model::{Bytes, Finding, LADDER_SPANS, Purpose, Quantity, Span, count_of, milliseconds};
use tiermark_page::{
    Cell, Detail, Fit, Ink, Page, Table, Text, fitting, nanoseconds, paragraph, rate_unit, space, text, variants,
};

use super::figures::{Figure, Steps, Survey, TierRow};
use super::marks::{cell, plain, shown, size, with_unit};
use crate::cold::cold;
use crate::remark::remark;
use crate::residency::UsedOnce;

/// What the columns of rates are of: their place in a row, and their heading.
fn spans(survey: &Survey<'_>) -> Vec<(usize, Text)> {
    let all = match survey.cores() {
        Some(cores) if cores > 1 => format!("all {cores} cores, "),
        _ => "all cores, ".to_owned(),
    };
    let used = |span: usize| survey.rows.iter().any(|row| row.rates[span].iter().any(Option::is_some));
    let spans = [(0, "one core, ".to_owned()), (1, all)].into_iter().filter(|(span, _)| used(*span));
    spans.map(|(span, heading)| (span, Text::from(heading) + rate_unit())).collect()
}

/// A line of the ladder: a tier, or the best that was reached of it.
struct Line<'a> {
    row: &'a TierRow<'a>,
    is_best: bool,
}

impl Line<'_> {
    fn cell(&self, figure: Option<&Figure<'_>>) -> Option<Cell> {
        let figure = figure?;
        if !self.is_best {
            return Some(cell(figure));
        }
        Some(Cell::inked(plain(figure.best()?, figure.finding.unit), Ink::Dim))
    }

    fn name(&self) -> Cell {
        if self.is_best { Cell::inked("  best", Ink::Dim) } else { Cell::new(&self.row.name) }
    }
}

/// One table of the ladder: size and latency if `has_latency`, then the rates of some spans.
fn table(survey: &Survey<'_>, has_latency: bool, spans: &[(usize, Text)]) -> Table {
    let lines = survey.rows.iter().flat_map(|row| {
        let rates = spans.iter().flat_map(|(span, _)| row.rates[*span].iter().flatten());
        let figures = row.latency.iter().filter(|_| has_latency).chain(rates);
        let has_best = figures.into_iter().any(|figure| figure.best().is_some());
        // A line of figures, and one of the best where a figure has it.
        [Some(false), has_best.then_some(true)].into_iter().flatten().map(move |is_best| Line { row, is_best })
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let size = |line: &Line<'_>| size(line.row, &survey.run.machine).filter(|_| !line.is_best).map(Cell::new);
    let table = Table::of(&lines).texts("", Line::name).when(has_latency, |table| {
        table.numbers("size", size).numbers("latency|idle, ns", |line| line.cell(line.row.latency.as_ref()))
    });
    let table = table.each(spans, |table, (span, heading)| {
        // As wide as the numbers, in the order of `LADDER_OPS`.
        let heads = ["  read", " write", "  copy"].into_iter().enumerate();
        table.under(heading, |table| {
            table.each(heads, |table, (op, head)| {
                table.numbers(head, |line| line.cell(line.row.rates[*span][op].as_ref()))
            })
        })
    });
    table.table().indent(0)
}

/// The ladder, with what explains its marks; empty where no tier has a figure.
pub(crate) fn ladder(survey: &Survey<'_>, detail: Detail) -> Page {
    if survey.rows.is_empty() {
        return Page::new();
    }
    let spans = spans(survey);
    let whole = table(survey, true, &spans);
    let mut out = space();
    out += match spans.as_slice() {
        [one, rest @ ..] if !rest.is_empty() => {
            let parts = table(survey, true, std::slice::from_ref(one)) + space() + table(survey, false, rest);
            fitting(vec![whole.into(), parts], Fit::Whole)
        }
        _ => whole.into(),
    };
    out += fewer_cores(survey);
    let key = super::key::key(survey);
    let whole = out.clone() + states(survey, detail) + key.clone() + super::key::details(survey);
    if detail.is_all() { whole } else { variants(out + super::cycles::fallen(survey) + key, whole) }
}

/// What else is known of memory and cores, a line each.
fn states(survey: &Survey<'_>, detail: Detail) -> Page {
    let mut out = super::cycles::cycles(survey, detail);
    out += super::interruptions::interruptions(&survey.experiments, survey.run, detail);
    out += zeros(survey);
    out += walks(survey);
    out += cold(survey.findings(), "");
    out += buffers(survey);
    out + residency(survey)
}

/// Rows whose rates of all cores are of fewer than the heading says: only the cores of one node read the memory of
/// another.
fn fewer_cores(survey: &Survey<'_>) -> Page {
    let cores = survey.cores();
    let line = |row: &TierRow<'_>| {
        let figure = row.rates[1].iter().flatten().find(|figure| figure.finding.labels.threads() != cores)?;
        let labels = &figure.finding.labels;
        let (threads, cpus) = (labels.threads()?, labels.cpus()?);
        let text = format!("{}: the rates of all cores are of {} (cpus {cpus})", row.name, count_of(threads, "core"));
        Some(paragraph("", &text, Ink::Plain))
    };
    survey.rows.iter().filter_map(line).collect()
}

/// How fast memory is cleared.
fn zeros(survey: &Survey<'_>) -> Page {
    let line = |row: &TierRow<'_>| {
        let rates = LADDER_SPANS.iter().zip(&row.zeros).filter_map(|(span, figure)| {
            let span = if *span == Span::One { "one core" } else { "all cores" };
            Some(with_unit(figure.as_ref()?) + format!(" ({span})"))
        });
        let rates = Text::joined(rates, ", ");
        let name = format!("{} write of zeros: ", row.name);
        (!rates.is_empty()).then(|| paragraph("", text![name, rates], Ink::Plain))
    };
    survey.rows.iter().filter_map(line).collect()
}

/// What memory takes if translations are not at hand.
fn walks(survey: &Survey<'_>) -> Page {
    let mut out = Page::new();
    for grain in survey.findings().filter(|f| f.quantity == Quantity::TranslationGrain) {
        if let Some(note) = remark(grain) {
            out += paragraph("", text!["Translation: ", note], Ink::Plain);
        }
    }
    for row in survey.rows.iter().filter(|row| !row.walks.is_empty()) {
        let each = row.walks.iter().map(|(page, figure)| {
            let unit = if figure.finding.value.is_some() { " ns" } else { "" };
            let best = figure.best().map(|best| format!(", best {}", nanoseconds(best))).unwrap_or_default();
            shown(figure) + format!("{unit}{best} ({})", pages(page))
        });
        let bytes = row.walks.iter().find_map(|(_, figure)| figure.finding.labels.bytes());
        let over = bytes.map(|bytes| format!(" over {}", Bytes(bytes))).unwrap_or_default();
        let what = format!("{} latency at random{over}: ", row.name);
        out += paragraph("", text![what, Text::joined(each, ", ")], Ink::Plain);
    }
    out
}

/// Writes and copies of a buffer as large as the last-level cache's row, where others than ordinary stores are fastest.
fn buffers(survey: &Survey<'_>) -> Page {
    let steps = Steps::of(&survey.experiments);
    let found = survey.findings().filter(|f| f.quantity == Quantity::Bandwidth && f.labels.is_for(Purpose::Buffer));
    let figures: Vec<Figure<'_>> = found.map(|finding| Figure::new(&steps, finding)).collect();
    let Some(bytes) = figures.iter().find_map(|figure| figure.finding.labels.bytes()) else {
        return Page::new();
    };
    let each = figures.iter().filter_map(|figure| {
        let labels = &figure.finding.labels;
        let (op, kernel) = (labels.op()?, labels.kernel()?);
        Some(text![op, " ", with_unit(figure), format!(" ({kernel})")])
    });
    let what = format!("Fastest way for a buffer of {}, string and non-temporal instructions included: ", Bytes(bytes));
    paragraph("", text![what, Text::joined(each, ", ")], Ink::Plain)
}

/// The name of a page size, as a step names it.
fn pages(page: &str) -> String {
    match page {
        "base" => "base pages".to_owned(),
        "thp" => "transparent huge pages".to_owned(),
        _ => format!("{} pages", page.replace('K', " KiB").replace('M', " MiB").replace('G', " GiB")),
    }
}

/// How long a shared cache keeps what was touched.
fn residency(survey: &Survey<'_>) -> Page {
    let again = |f: &&Finding| f.labels.used() != Some("once");
    let halves = survey.findings().filter(|f| f.quantity == Quantity::ResidencyHalfLife).filter(again);
    let uses = UsedOnce::of(survey.findings()).filter(UsedOnce::differs);
    let once = uses.and_then(|uses| uses.most()).map(|(after, [again, once])| {
        (
            " used again",
            format!("; after {after}, the cache holds {once} of a range used once and {again} of one used again"),
        )
    });
    let (used, once) = once.unwrap_or_default();
    let text = halves.filter_map(|half| {
        let tier = half.labels.tier_name()?;
        let range = Bytes(half.labels.bytes()?);
        let time = milliseconds(half.value?);
        Some(match half.labels.statistic() {
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
