//! Figures as texts and cells: their values, and the marks before them.

use tiermark_model::{Bytes, Labels, Machine, Mark, Tier, Unit};
use tiermark_page::{Cell, Ink, Number, Text, mark_sign, measured_size, number, text};

use super::figures::{Figure, TierRow};
use super::words;

/// A value of a figure, without unit and mark.
pub(crate) fn plain(value: f64, unit: Unit) -> Number {
    number(value, unit).rounded()
}

/// The mark of a figure; `None` of a number that can be quoted as it is.
pub(super) fn mark(figure: &Figure<'_>) -> Option<Mark> {
    figure.finding.quoted().mark
}

fn ink(mark: Mark) -> Ink {
    match mark {
        Mark::AtLeast | Mark::AtMost | Mark::Bound | Mark::Absent => Ink::Plain,
        Mark::Doubted => Ink::Warn,
        Mark::Withheld => Ink::Bad,
    }
}

/// The mark of a figure, as it stands before the value; empty where the figure has none.
pub(super) fn sign(figure: &Figure<'_>) -> &'static str {
    mark(figure).map_or("", mark_sign)
}

/// A figure as the ladder shows it: its mark, then the value.
pub(crate) fn shown(figure: &Figure<'_>) -> Text {
    cell(figure).text
}

pub(super) fn cell(figure: &Figure<'_>) -> Cell {
    written(figure, figure.finding.value.map(|value| plain(value, figure.finding.unit)))
}

/// A figure with its value written in a way.
fn written(figure: &Figure<'_>, value: Option<Number>) -> Cell {
    let value = value.map(Text::from).unwrap_or_default();
    match mark(figure) {
        None => Cell::new(value),
        Some(mark @ (Mark::Withheld | Mark::Absent)) => Cell::inked(mark_sign(mark), ink(mark)),
        Some(mark) => Cell::inked(text![mark_sign(mark), value], ink(mark)),
    }
}

/// The size of a tier as measured, else in parentheses as declared.
pub(super) fn size(row: &TierRow<'_>, machine: &Machine) -> Option<TierSize> {
    let measured = row.size.and_then(|f| f.value).filter(|bytes| bytes.is_finite());
    measured.map(TierSize::Measured).or_else(|| declared(&row.name, machine))
}

/// The size of a tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TierSize {
    Measured(f64),
    Declared(Bytes),
}

impl From<TierSize> for Text {
    fn from(size: TierSize) -> Self {
        match size {
            TierSize::Measured(bytes) => measured_size(bytes).into(),
            TierSize::Declared(bytes) => format!("({bytes})").into(),
        }
    }
}

fn declared(tier: &str, machine: &Machine) -> Option<TierSize> {
    let level = tier.parse::<Tier>().ok()?.level()?;
    let bytes = machine.data_caches().filter(|cache| cache.level == level).filter_map(|cache| cache.bytes).min()?;
    Some(TierSize::Declared(Bytes(bytes)))
}

/// The words of a figure in running text: `34.4 ns`, `≥41.3 GB/s`.
pub(crate) fn with_unit(figure: &Figure<'_>) -> Text {
    written(figure, figure.finding.value.map(|value| in_its_unit(figure, value).with_unit())).text
}

/// A value in the unit of a figure: times of the operating system's primitives reach from ns to s, those of memory are
/// ns.
pub(crate) fn in_its_unit(figure: &Figure<'_>, value: f64) -> Number {
    let number = plain(value, figure.finding.unit);
    match figure.finding.value.filter(|_| figure.finding.labels.get(Labels::GROUP).is_some()) {
        Some(ns) if figure.finding.unit == Unit::Ns => number.in_time_of(ns),
        _ => number,
    }
}

/// The spread of visits, from the 10th to the 90th percentile: `18.6–48.2`.
pub(crate) fn spread(figure: &Figure<'_>) -> Option<Text> {
    let typical = figure.finding.typical?;
    let [p10, p90] = [typical.p10, typical.p90].map(|value| in_its_unit(figure, value));
    Some(text![p10, "–", p90])
}

/// Whether a tier is one that others may use as well: the last-level cache and what lies behind it.
pub(crate) fn is_shared_tier(name: &str, machine: &Machine) -> bool {
    name == words::last_cache(machine) || name.starts_with("DRAM")
}
