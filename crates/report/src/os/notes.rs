//! Remarks on channels: where their curves bend, and why another cpu can be slower than the same.

use crate::remark::remark;
use tiermark_model::messages::shapes::codes;
use tiermark_model::{Finding, OsGroup, Unit};
use tiermark_page::{Ink, Page, Text, paragraph, text};

use super::points::name;
use super::tables::cell;
use super::words::SAME_CPU;

/// The latency that shows the cost of a wake-up.
const WAKING: &str = "pipe ping-pong";

/// Where a channel's curve bends, in words.
pub(super) fn knee(finding: &Finding) -> Option<Page> {
    let mut text = text![name(finding), ": ", remark(finding)?];
    if finding.value.is_some() && !finding.verdict.grade.is_number() {
        text += format!("; {}, because numbers that it is derived from are", finding.verdict.grade.in_words());
    }
    Some(paragraph("  ", text, Ink::Plain))
}

/// Channels that are slower across cpus than on one, beyond both intervals, and what the method knows of it.
pub(super) fn across(findings: &[&Finding]) -> Option<Page> {
    let streams = || findings.iter().filter(|f| f.unit == Unit::BytesPerSecond);
    let mut slower: Vec<String> = Vec::new();
    for same in streams().filter(|f| f.labels.relation() == Some(SAME_CPU)) {
        let alike = |f: &&&Finding| f.labels.are_alike(&same.labels, |of| (of.op(), of.size(), of.capacity()));
        let below = |f: &&&Finding| f.interval.zip(same.interval).is_some_and(|(other, own)| other.high < own.low);
        let elsewhere = |f: &&&Finding| f.labels.relation().is_some_and(|place| place != SAME_CPU);
        let op = same.labels.op().unwrap_or_default().to_owned();
        if !slower.contains(&op) && streams().filter(alike).filter(elsewhere).any(|f| below(&f)) {
            slower.push(op);
        }
    }
    if slower.is_empty() {
        return None;
    }
    let waking = findings.iter().filter(|f| f.labels.op() == Some(WAKING) && f.value.is_some());
    let waking = waking.map(|f| {
        let place = f.labels.relation().unwrap_or_default();
        text![place, " ", cell(f, false).words()]
    });
    let waking = Text::joined(waking, ", ");
    let seen = if waking.is_empty() { waking } else { text![format!(" ({WAKING}: "), waking, ")"] };
    let text = format!(
        "Slower on another cpu than on the same: {}. A side that finds a channel full or empty sleeps. On one cpu the \
kernel then switches to the other side; on two cpus it has to wake the other cpu, which may be idle",
        slower.join(", ")
    );
    Some(paragraph("  ", text![text, seen], Ink::Plain))
}

/// Operations in cycles of the core's clock, which a frequency that changes leaves as they are.
fn cycles(findings: &[&Finding]) -> Option<Page> {
    let in_cycles = |finding: &&Finding| {
        let cycles = finding.noted(&codes::cycles_of_operation)?.data.get("cycles")?.as_f64()?;
        Some(format!("{} {cycles:.1}", name(finding)))
    };
    let all: Vec<String> = findings.iter().filter_map(in_cycles).collect();
    let text = format!("In cycles of the core's clock: {}", all.join(", "));
    (!all.is_empty()).then(|| paragraph("  ", &text, Ink::Plain))
}

/// All remarks of a group.
pub(super) fn notes(group: OsGroup, findings: &[&Finding], knees: &[&Finding]) -> Page {
    let own = match group {
        OsGroup::Channels => across(findings),
        OsGroup::Arithmetic => cycles(findings),
        _ => None,
    };
    knees.iter().filter_map(|found| knee(found)).chain(own).collect()
}
