//! Rates as shares: of the bytes that their accesses move, and of what memory and links carry in theory.

use tiermark_model::{Finding, RunCounters};
use tiermark_page::{ABSENT, Detail, Ink, Page, heading, paragraph, percent, text};

use super::{named, work};
use crate::order::distinct;
use crate::remark::{remark, share};

/// Bytes that the program uses as a share of those that move; the first cell of each operation where not all are asked
/// for.
pub(super) fn used(findings: &[&Finding], counters: Option<&RunCounters>, detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let first = |op: &str| findings.iter().find(|f| work(f).op == op).copied();
    let ops = distinct(findings.iter().map(|f| work(f).op));
    let shown: Vec<&Finding> =
        if detail.is_all() { findings.to_vec() } else { ops.into_iter().filter_map(first).collect() };
    let line = |f: &&Finding| {
        let share = f.value.map_or_else(|| ABSENT.to_owned(), percent);
        paragraph("  ", text![named(f), ": ", share, " (", remark(f).unwrap_or_default(), ")"], Ink::Plain)
    };
    let how = match counters.is_some_and(RunCounters::can_be_trusted) {
        true => "lines as the kernels touch them; what was counted stands below, under Traffic of memory",
        false => "lines as the kernels touch them, not counted",
    };
    let key = format!(
        "{how}; a cell of each operation that moves more than it uses, --verbose shows all; others use every byte"
    );
    heading("Bytes used of the bytes that move")
        + shown.iter().map(line).collect::<Page>()
        + paragraph("  ", &key, Ink::Dim)
}

/// Every bandwidth as a share of what its memory and the link to it carry in theory.
pub(super) fn of_theory(findings: &[&Finding]) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let line = |f: &&Finding| paragraph("  ", text![named(f), ": ", share(f)], Ink::Plain);
    heading("Shares of what is possible in theory") + findings.iter().map(line).collect::<Page>()
}
