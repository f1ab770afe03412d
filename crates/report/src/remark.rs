//! What documents say of numbers, as text: rates in the unit of the reader.

use tiermark_model::{Finding, Note, Reason};
use tiermark_page::{ABSENT, Text, percent, text};

/// The remarks on a finding in one line; `None` where it has none.
pub(crate) fn remark(finding: &Finding) -> Option<Text> {
    (!finding.notes.is_empty()).then(|| notes(&finding.notes))
}

/// Notes in one line.
pub fn notes(notes: &[Note]) -> Text {
    Text::sentence(|unit| Note::joined(notes, unit))
}

/// A reason.
pub(crate) fn reason(reason: &Reason) -> Text {
    Text::sentence(|unit| reason.in_unit(unit))
}

/// Each text once, in the order of the first.
pub(crate) fn distinct(texts: impl IntoIterator<Item = Text>) -> Vec<Text> {
    let once = crate::order::grouped(texts.into_iter().map(|text| (text.plain(), text)));
    once.into_iter().filter_map(|(_, alike)| alike.into_iter().next()).collect()
}

/// A share of a theoretical rate with its remarks: `80 % of link (of 9.60 GB/s in one direction: …)`. A dash stands for
/// a share without a value.
pub(crate) fn share(finding: &Finding) -> Text {
    let basis = finding.labels.statistic().unwrap_or_default();
    let share = finding.value.map_or_else(|| ABSENT.to_owned(), percent);
    text![format!("{share} {basis} ("), remark(finding).unwrap_or_default(), ")"]
}
