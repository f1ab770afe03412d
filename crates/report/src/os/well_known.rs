//! The numbers that readers look for first, by the names that lmbench gave them.

use tiermark_model::{Finding, Labels, Purpose};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, heading, paragraph};

use super::points::PrimitivePoint;
use super::tables::cell;

/// lmbench's name, the primitive here, and what the number is of.
const LINES: [(&str, &str, &str); 10] = [
    ("lat_syscall null", "getppid", "system call"),
    ("lat_syscall read", "read", "system call"),
    ("lat_syscall open", "open+close", "two system calls"),
    ("lat_sig catch", "signal to itself", "signal and handler"),
    ("lat_ctx", "process switch pipe", "two switches, with the pipe"),
    ("lat_pipe", "pipe ping-pong", "round trip"),
    ("lat_unix", "socketpair ping-pong", "round trip"),
    ("lat_pagefault", "fault file read", "first read of a file's page"),
    ("lat_proc fork", "fork+exit", "child that ends at once"),
    ("lat_proc exec", "fork+exec", "child that runs a program"),
];

/// The lines that a run has, if it has most of them: of a few selected primitives they would say everything twice.
pub(super) fn well_known(findings: &[&Finding], style: &Style) -> Page {
    let first = |op: &str| findings.iter().find(|f| f.labels.is(Labels::OP, op) && f.labels.is_for(Purpose::Os));
    let found: Vec<_> = LINES.iter().filter_map(|line| Some((line, *first(line.1)?))).collect();
    if 2 * found.len() <= LINES.len() {
        return Page::new();
    }
    let mut table = Table::new().column("lmbench", Align::Left).column("here", Align::Left);
    table = table.column("each ", Align::Right).column("of", Align::Left);
    for ((name, op, what), finding) in found {
        let place = PrimitivePoint::new(finding).place();
        let place = if place.is_empty() { place } else { format!(", {place}") };
        table.row(vec![
            Cell::inked(name, Ink::Head),
            Cell::new(op),
            cell(finding, false, style),
            Cell::new(format!("{what}{place}")),
        ]);
    }
    let legend = "lmbench measures the same operations in its own way, and subtracts the pipe from lat_ctx: `tiermark help lmbench`";
    heading("Best known") + table + paragraph("  ", legend, Ink::Dim)
}
