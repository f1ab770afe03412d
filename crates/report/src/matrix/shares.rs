//! Rates as shares: of the bytes that their accesses move, and of what memory and links carry in theory.

use tiermark_model::{Finding, Labels, RunCounters};

use super::{label, named};
use crate::number::percent;
use crate::order::distinct;
use crate::style::{Ink, Style};
use crate::text::{hanging, heading};

/// Bytes that the program uses as a share of those that move; the first cell of each operation where not all are asked for.
pub(super) fn used(findings: &[&Finding], counters: Option<&RunCounters>, style: &Style) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let first = |op: &str| findings.iter().find(|f| label(f, Labels::OP) == op).copied();
    let ops = distinct(findings.iter().map(|f| label(f, Labels::OP)));
    let shown: Vec<&Finding> =
        if style.verbose { findings.to_vec() } else { ops.into_iter().filter_map(first).collect() };
    let line = |f: &&Finding| {
        let share = f.value.map_or_else(|| style.absent().to_owned(), percent);
        hanging("  ", &format!("{}: {share} ({})", named(f), f.note().unwrap_or_default()), Ink::Plain, style)
    };
    let how = match counters.is_some_and(RunCounters::can_be_trusted) {
        true => "lines as the kernels touch them; what was counted stands below, under Traffic of memory",
        false => "lines as the kernels touch them, not counted",
    };
    let key = format!("{how}; a cell of each operation, --verbose shows all");
    heading("Bytes used of the bytes that move", style)
        + &shown.iter().map(line).collect::<String>()
        + &hanging("  ", &key, Ink::Dim, style)
}

/// Every bandwidth as a share of what its memory and the link to it carry in theory.
pub(super) fn of_theory(findings: &[&Finding], style: &Style) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let line = |f: &&Finding| {
        let share = f.value.map_or_else(|| style.absent().to_owned(), percent);
        let of = label(f, Labels::STATISTIC);
        let text = format!("{}: {share} {of} ({})", named(f), f.note().unwrap_or_default());
        hanging("  ", &text, Ink::Plain, style)
    };
    heading("Shares of what is possible in theory", style) + &findings.iter().map(line).collect::<String>()
}
