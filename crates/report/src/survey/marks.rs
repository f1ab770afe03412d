//! Figures as texts and cells: their values, and the marks before them.

use tiermark_model::{Bytes, Finding, Machine, Mark, Reason, Tier, Unit};
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

/// The size of a tier as measured, else where the curve ends it, else in parentheses as declared.
pub(super) fn size(row: &TierRow<'_>, machine: &Machine) -> Option<TierSize> {
    let declared = declared(&row.name, machine);
    row.size.and_then(|found| TierSize::of(found, declared)).or(declared.map(TierSize::Declared))
}

/// The size of a tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TierSize {
    /// Resolved, and near to what is declared, if that is known.
    Measured(f64),
    /// Much less than what is declared: resolved, or the middle of its bounds.
    Part { about: f64, of: Bytes },
    /// The middle of its bounds; no size is declared.
    Between(f64),
    /// Declared, and not measured, or between its bounds.
    Declared(Bytes),
}

impl TierSize {
    /// A declared size beyond this multiple of the measured one is another size: hypervisors declare the host's cache
    /// to guests that get a part of it.
    const ANOTHER: f64 = 1.5;

    /// What a finding says of a tier of this declared size; `None` if it says nothing.
    pub(crate) fn of(found: &Finding, declared: Option<Bytes>) -> Option<Self> {
        let measured = found.value.filter(|bytes| bytes.is_finite());
        let about = measured.or_else(|| middle(found))?;
        // Where bounds are all that is known, a declared size between them is as good as their middle.
        let is_beyond = |bytes: f64| measured.is_some() || found.interval.is_none_or(|range| bytes > range.high);
        let is_another = |declared: &Bytes| {
            let bytes = declared.0 as f64;
            bytes > Self::ANOTHER * about && is_beyond(bytes)
        };
        let another = declared.filter(is_another);
        Some(match (another, measured) {
            (Some(of), _) => Self::Part { about, of },
            (None, Some(measured)) => Self::Measured(measured),
            (None, None) => declared.map_or(Self::Between(about), Self::Declared),
        })
    }
}

impl From<TierSize> for Text {
    fn from(size: TierSize) -> Self {
        match size {
            TierSize::Measured(bytes) | TierSize::Between(bytes) => measured_size(bytes).into(),
            TierSize::Part { about, of } => text![measured_size(about), format!(" of {of}")],
            TierSize::Declared(bytes) => format!("({bytes})").into(),
        }
    }
}

/// The middle of the bounds of a size that is not resolved; `None` where they lie further apart than it is large, which
/// is no size.
pub(crate) fn middle(found: &Finding) -> Option<f64> {
    let (low, high) = found.verdict.reasons.iter().find_map(Reason::bounds)?;
    let middle = (low.0 as f64 * high.0 as f64).sqrt();
    (high.0.saturating_sub(low.0) as f64 <= middle).then_some(middle)
}

/// The size that the system declares of a tier.
pub(crate) fn declared(tier: &str, machine: &Machine) -> Option<Bytes> {
    let level = tier.parse::<Tier>().ok()?.level()?;
    machine.data_caches().filter(|cache| cache.level == level).filter_map(|cache| cache.bytes).min().map(Bytes)
}

/// The words of a figure in running text: `34.4 ns`, `≥41.3 GB/s`.
pub(crate) fn with_unit(figure: &Figure<'_>) -> Text {
    written(figure, figure.finding.value.map(|value| in_its_unit(figure, value).with_unit())).text
}

/// A value in the unit of a figure: times of the operating system's primitives reach from ns to s, those of memory are
/// ns.
pub(crate) fn in_its_unit(figure: &Figure<'_>, value: f64) -> Number {
    let number = plain(value, figure.finding.unit);
    match figure.finding.value.filter(|_| figure.finding.labels.group().is_some()) {
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
