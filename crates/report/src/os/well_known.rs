//! The numbers that readers look for first, a line each, with the names that lmbench gave them.

use tiermark_model::{Bytes, Finding, OsGroup, Purpose};
use tiermark_page::{Cell, Ink, Page, Table, heading, paragraph};

use super::points::PrimitivePoint;
use super::tables::cell;
use super::words::{Dimension, SAME_CPU};

/// A primitive of the summary.
struct WellKnown {
    op: &'static str,
    /// What the number is of.
    of: &'static str,
    /// The name of lmbench's test of the same; empty if lmbench has no such test.
    lmbench: &'static str,
}

const fn known(op: &'static str, of: &'static str, lmbench: &'static str) -> WellKnown {
    WellKnown { op, of, lmbench }
}

/// The lines of the summary.
const LINES: [WellKnown; 10] = [
    known("getppid", "system call", "lat_syscall null"),
    known("read", "system call", "lat_syscall read"),
    known("open+close", "two system calls", "lat_syscall open"),
    known("signal to itself", "signal and handler", "lat_sig catch"),
    known("process switch pipe", "2 switches by pipe", "lat_ctx"),
    known("pipe ping-pong", "round trip", "lat_pipe"),
    known("fault file read", "first read of a file's page", "lat_pagefault"),
    known("mmap+munmap", "mapping and its end", ""),
    known("fork+exit", "child that exits", "lat_proc fork"),
    known("fork+exec", "program run by a child", "lat_proc exec"),
];

/// The point that lmbench measures: a switch is on one cpu, and a child has little memory. Runs of earlier versions
/// have another first point.
fn as_lmbench<'a>(op: &str, findings: &[&'a Finding]) -> Option<&'a Finding> {
    let of_op = findings.iter().filter(|finding| finding.labels.op() == Some(op));
    let order = |finding: &&&Finding| {
        let labels = &finding.labels;
        let elsewhere = labels.group() == Some(OsGroup::Switches.name()) && labels.relation() != Some(SAME_CPU);
        let least = [labels.resident(), labels.working_set()];
        (elsewhere, least, !labels.is_for(Purpose::Os))
    };
    of_op.min_by_key(order).copied()
}

/// The lines that a run has, if it has most of them: of a few selected primitives they would say everything twice.
pub(super) fn well_known(findings: &[&Finding]) -> Page {
    let found: Vec<_> = LINES.iter().filter_map(|line| Some((line, as_lmbench(line.op, findings)?))).collect();
    if 2 * found.len() <= LINES.len() {
        return Page::new();
    }
    let subject = |of: &str, finding: &Finding| {
        let point = PrimitivePoint::new(finding);
        let bytes = point.number(Dimension::Resident).or(point.number(Dimension::Size));
        let bytes = bytes.map(|bytes| Bytes(bytes).to_string());
        // Base pages are what is expected, and the tables below say so.
        let place = Some(point.place()).filter(|place| !place.is_empty() && finding.labels.page().is_none());
        [Some(of.to_owned()), bytes, place].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let table = Table::of(&found).texts("operation", |(line, _)| line.op);
    let table = table.figures("each", |(_, finding)| cell(finding, false));
    let table = table.texts("of", |(line, finding)| subject(line.of, finding));
    let table = table.texts("lmbench", |(line, _)| Cell::inked(line.lmbench, Ink::Dim)).table();
    let legend = "lmbench measures the same operations in its own way, and subtracts the pipe from lat_ctx: \
        `tiermark help lmbench`";
    heading("In short") + table + paragraph("  ", legend, Ink::Dim)
}
