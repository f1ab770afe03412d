//! The numbers that readers look for first, by the names that lmbench gave them.

use tiermark_model::{Bytes, Finding, Key, OsGroup, Purpose};
use tiermark_page::{Cell, Ink, Page, Table, heading, paragraph};

use super::points::PrimitivePoint;
use super::tables::cell;
use super::words::{Dimension, SAME_CPU};

/// lmbench's name, the primitive here, and what the number is of.
const LINES: [(&str, &str, &str); 10] = [
    ("lat_syscall null", "getppid", "system call"),
    ("lat_syscall read", "read", "system call"),
    ("lat_syscall open", "open+close", "two system calls"),
    ("lat_sig catch", "signal to itself", "signal and handler"),
    ("lat_ctx", "process switch pipe", "2 switches by pipe"),
    ("lat_pipe", "pipe ping-pong", "round trip"),
    ("lat_unix", "socketpair ping-pong", "round trip"),
    ("lat_pagefault", "fault file read", "first read of a file's page"),
    ("lat_proc fork", "fork+exit", "child that exits"),
    ("lat_proc exec", "fork+exec", "child that runs a program"),
];

/// The point that lmbench measures: a switch is on one cpu, and a child has little memory. Runs of earlier versions
/// have another first point.
fn as_lmbench<'a>(op: &str, findings: &[&'a Finding]) -> Option<&'a Finding> {
    let of_op = findings.iter().filter(|finding| finding.labels.op() == Some(op));
    let order = |finding: &&&Finding| {
        let labels = &finding.labels;
        let elsewhere = labels.group() == Some(OsGroup::Switches.name()) && labels.relation() != Some(SAME_CPU);
        let least = [Key::Resident, Key::WorkingSet].map(|key| labels.number(key));
        (elsewhere, least, !labels.is_for(Purpose::Os))
    };
    of_op.min_by_key(order).copied()
}

/// The lines that a run has, if it has most of them: of a few selected primitives they would say everything twice.
pub(super) fn well_known(findings: &[&Finding]) -> Page {
    let found: Vec<_> = LINES.iter().filter_map(|line| Some((line, as_lmbench(line.1, findings)?))).collect();
    if 2 * found.len() <= LINES.len() {
        return Page::new();
    }
    let subject = |what: &str, finding: &Finding| {
        let point = PrimitivePoint::new(finding);
        let memory = point.number(Dimension::Resident).map(|bytes| Bytes(bytes).to_string());
        let place = Some(point.place()).filter(|place| !place.is_empty());
        [Some(what.to_owned()), memory, place].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let table = Table::of(&found).texts("lmbench", |((name, ..), _)| Cell::inked(*name, Ink::Head));
    let table = table.texts("here", |((_, op, _), _)| *op).figures("each", |(_, finding)| cell(finding, false));
    let table = table.texts("of", |((.., what), finding)| subject(what, finding)).table();
    let legend = "lmbench measures the same operations in its own way, and subtracts the pipe from lat_ctx: \
        `tiermark help lmbench`";
    heading("Best known") + table + paragraph("  ", legend, Ink::Dim)
}
