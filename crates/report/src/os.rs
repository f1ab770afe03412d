//! Numbers of the operating system: similar primitives share a table, and their common remarks are shown once.

mod condition;
mod doubts;
mod kinds;
mod notes;
mod points;
mod tables;
mod well_known;
mod words;

use tiermark_model::{Experiment, Finding, Labels, OsGroup, Quantity, Run};
use tiermark_page::{Ink, Page, Style, heading, if_narrow, paragraph, space};

use crate::findings::quantile;
use crate::ladder::Shown;
use crate::pivot::Pivot;
use condition::condition;
pub(crate) use doubts::ran_out_of_time;
use points::{PrimitivePoint, name, parts};
use tables::{cell, tables};

/// The bend of a channel's curve, shown as a sentence.
const KNEE: Quantity = Quantity::OsKnee;
/// How single operations are distributed: a table of its own.
const TAIL: Quantity = Quantity::OsTail;

/// Whether a finding of this name is a number of this view.
fn is_number(metric: &Quantity) -> bool {
    metric.family() == "os"
}

/// The view; empty where nothing of it was found.
pub(crate) fn os(shown: &mut Shown<'_>, run: &Run, experiments: &[&Experiment], style: &Style) -> Page {
    let findings = shown.take_all(|f| is_number(&f.metric));
    let (tails, findings): (Vec<&Finding>, Vec<&Finding>) = findings.into_iter().partition(|f| f.metric == TAIL);
    let (knees, findings): (Vec<&Finding>, Vec<&Finding>) = findings.into_iter().partition(|f| f.metric == KNEE);
    shown.count(&findings);
    // Points that were not tried have no row: their number and the reason are shown below.
    let tried = findings.into_iter().filter(|f| !f.verdict.is_refused());
    let tried: Vec<Finding> = tried.cloned().collect();
    let tried: Vec<&Finding> = tried.iter().collect();
    let mut out = well_known::well_known(&tried, style);
    let mut places = words::places(&tried);
    for group in OsGroup::ALL {
        let here = of(&tried, group);
        // Explained where they are first used, since they mean the same everywhere.
        let needed = here.iter().any(|f| f.labels.get(Labels::RELATION).is_some());
        let legend = if needed { places.take() } else { None };
        let legend = [Some(words::legend(group).to_owned()), legend].into_iter().flatten().collect::<Vec<_>>();
        let group = ShownGroup { group, legend, findings: here, knees: of(&knees, group), tails: of(&tails, group) };
        out += group.page(run, style);
    }
    let text =
        "Tables without room for intervals omit them: --verbose lists all intervals, a wider page (--width) shows more";
    out += if_narrow(space() + paragraph("", text, Ink::Dim));
    out + doubts::doubts(&tried, style) + doubts::left_out(experiments, style) + doubts::time(experiments)
}

/// Findings of a group.
fn of<'a>(findings: &[&'a Finding], group: OsGroup) -> Vec<&'a Finding> {
    findings.iter().copied().filter(|f| f.labels.is(Labels::GROUP, group.name())).collect()
}

/// A group with what its words mean, and what was found of it.
struct ShownGroup<'a> {
    group: OsGroup,
    legend: Vec<String>,
    findings: Vec<&'a Finding>,
    knees: Vec<&'a Finding>,
    tails: Vec<&'a Finding>,
}

impl ShownGroup<'_> {
    /// The legend of a group, its tables, remarks, and the state of this system.
    fn page(&self, run: &Run, style: &Style) -> Page {
        if self.findings.is_empty() && self.knees.is_empty() {
            return Page::new();
        }
        let findings = &self.findings;
        let mut ops: Vec<&str> = Vec::new();
        for op in findings.iter().filter_map(|f| f.labels.get(Labels::OP)) {
            if !ops.contains(&op) {
                ops.push(op);
            }
        }
        let named = |op: &str| findings.iter().copied().filter(|f| f.labels.is(Labels::OP, op)).collect::<Vec<_>>();
        let parts: Vec<_> = ops.iter().flat_map(|op| parts(op, &named(op))).collect();
        let tables = tables(&parts, style);
        let dim = |text: &str| paragraph("  ", text, Ink::Dim);
        let mut out = heading(words::title(self.group));
        out.extend(self.legend.iter().map(|text| dim(text)));
        let notes = notes::notes(self.group, findings, &self.knees, style);
        let condition = condition(self.group, run).map_or_else(Page::new, |text| dim(&text));
        for block in [tables, distribution(&self.tails, style), notes + condition] {
            if !block.is_empty() {
                out += space() + block;
            }
        }
        out
    }
}

/// How single operations are distributed. What is measured over something has many such rows: they come with everything
/// else.
fn distribution(tails: &[&Finding], style: &Style) -> Page {
    let plain = |f: &Finding| PrimitivePoint::new(f).is_bare();
    let mut tails: Vec<&Finding> = tails.iter().copied().filter(|f| style.verbose || plain(f)).collect();
    if tails.is_empty() {
        return Page::new();
    }
    let statistic = |f: &Finding| f.labels.get(Labels::STATISTIC).unwrap_or_default().to_owned();
    tails.sort_by(|a, b| quantile(&statistic(a)).total_cmp(&quantile(&statistic(b))));
    let pivot = Pivot::new(&tails, &name, &statistic);
    let title = paragraph("  ", "Single operations, disturbed ones included", Ink::Plain);
    title + pivot.table("", &|finding| cell(finding, true, style)).whole()
}

#[cfg(test)]
mod tests;
