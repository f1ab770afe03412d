//! Which kernels the numbers of the ladder are of.

use crate::order::grouped;
use crate::remark::remark;
use tiermark_model::Finding;
use tiermark_page::{Detail, Ink, Page, Text, graded, heading, items_of, paragraph, rate, text};

/// The kernel behind a number of the ladder.
pub(crate) struct Winner {
    op: String,
    tier: String,
    span: String,
    kernel: String,
    /// The number, with the mark of its grade.
    value: Text,
    note: Option<Text>,
    /// Whether the ladder has a column for the number.
    in_table: bool,
}

impl Winner {
    /// The kernel of a finding; `None` where it names none.
    pub(crate) fn new(finding: &Finding, tier: &str, in_table: bool) -> Option<Self> {
        let labels = &finding.labels;
        Some(Self {
            op: labels.op().unwrap_or_default().to_owned(),
            tier: tier.to_owned(),
            span: labels.span().map(|span| span.to_string()).unwrap_or_default(),
            kernel: labels.kernel()?.to_owned(),
            value: graded(finding.value.map(rate), &finding.verdict, finding.unit).words(),
            note: remark(finding),
            in_table,
        })
    }

    /// The kernel's name without the operation, where that is said already.
    fn short(&self) -> &str {
        let rest = self.kernel.strip_prefix(self.op.as_str()).and_then(|rest| rest.strip_prefix('/'));
        rest.unwrap_or(&self.kernel)
    }

    fn place(&self) -> String {
        format!("{} {}", self.tier, self.span).trim().to_owned()
    }
}

/// The section; empty when no number names a kernel.
pub(crate) fn kernels(winners: &[Winner], detail: Detail) -> Page {
    let mut out = Page::new();
    for (op, of_op) in grouped(winners.iter().map(|winner| (winner.op.as_str(), winner))) {
        if detail.is_all() {
            for w in of_op {
                let note = w.note.as_ref().map(|note| text!["; ", note]).unwrap_or_default();
                let text = text![format!("{} {}: {} ", w.op, w.place(), w.kernel), &w.value, note];
                out += paragraph("  ", text, Ink::Plain);
            }
        } else {
            out += paragraph("  ", items_of(&format!("{op}: "), summary(&of_op)), Ink::Plain);
        }
    }
    let title = "Kernels behind the ladder";
    if out.is_empty() { out } else { heading(title) + out }
}

/// The winners of one operation in few words: places that share a kernel stand together.
fn summary(winners: &[&Winner]) -> Vec<Text> {
    let groups = winners.chunk_by(|a, b| (&a.kernel, &a.tier) == (&b.kernel, &b.tier));
    let whole = |group: &[&Winner]| winners.iter().filter(|w| w.tier == group[0].tier).count() == group.len();
    let mut parts: Vec<(Vec<String>, Text)> = Vec::new();
    for group in groups {
        let place = if whole(group) { group[0].tier.clone() } else { group[0].place() };
        let kernel = kernel_of(group);
        match parts.last_mut() {
            Some((places, known)) if *known == kernel => places.push(place),
            _ => parts.push((vec![place], kernel)),
        }
    }
    match parts.as_slice() {
        [(places, kernel)] if places.len() > 1 => vec![kernel.clone() + " throughout"],
        _ => parts.into_iter().map(|(places, kernel)| text![places.join(", "), " ", kernel]).collect(),
    }
}

/// `avx2-nta 109.3, 220.6`; the numbers themselves only where the ladder has no column for them.
fn kernel_of(group: &[&Winner]) -> Text {
    let values = group.iter().filter(|w| !w.in_table).map(|w| &w.value);
    let values = Text::joined(values, ", ");
    let kernel = Text::from(group[0].short());
    if values.is_empty() { kernel } else { text![kernel, " ", values] }
}
