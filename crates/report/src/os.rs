//! Numbers of the operating system: similar primitives share a table, and their common remarks are shown once.

mod condition;
mod doubts;
mod kinds;
mod notes;
mod points;
mod tables;
mod well_known;
mod words;

use tiermark_model::{Experiment, Finding, OsGroup, Quantity, Run};
use tiermark_page::{Detail, Ink, Page, heading, if_narrow, paragraph, space};

use crate::findings::quantile;
use crate::order::grouped;
use crate::pivot::Pivot;
use crate::shown::Shown;
use condition::condition;
pub(crate) use doubts::ran_out_of_time;
use points::{PrimitivePoint, name, parts};
use tables::{cell, tables};

/// The bend of a channel's curve, shown as a sentence.
const KNEE: Quantity = Quantity::OsKnee;
/// How single operations are distributed: a table of its own.
const TAIL: Quantity = Quantity::OsTail;

/// Whether a finding is a number of a table.
fn is_counted(f: &Finding) -> bool {
    f.quantity != TAIL && f.quantity != KNEE
}

/// Takes the findings of this view.
pub(crate) fn take<'a>(shown: &mut Shown<'a>) -> Vec<&'a Finding> {
    let findings = shown.take_all(|f| f.quantity.family() == "os");
    shown.count(&findings.iter().copied().filter(|f| is_counted(f)).collect::<Vec<_>>());
    findings
}

/// The view; empty where nothing of it was found.
pub(crate) fn os(findings: &[&Finding], run: &Run, experiments: &[&Experiment], detail: Detail) -> Page {
    let of_kind = |kind: Quantity| findings.iter().copied().filter(|f| f.quantity == kind).collect::<Vec<_>>();
    let (tails, knees) = (of_kind(TAIL), of_kind(KNEE));
    // Points that were not tried have no row: their number and the reason are shown below.
    let tried = findings.iter().copied().filter(|f| is_counted(f) && !f.verdict.is_refused());
    let tried: Vec<&Finding> = tried.collect();
    let mut out = well_known::well_known(&tried);
    let mut places = words::places(&tried);
    for group in OsGroup::ALL {
        let here = in_group(&tried, group);
        // Explained where they are first used, since they mean the same everywhere.
        let needed = here.iter().any(|f| f.labels.relation().is_some());
        let legend = if needed { places.take() } else { None };
        let legend = [Some(words::legend(group).to_owned()), legend].into_iter().flatten().collect::<Vec<_>>();
        let group = ShownGroup {
            group,
            legend,
            findings: here,
            knees: in_group(&knees, group),
            tails: in_group(&tails, group),
        };
        out += group.page(run, detail);
    }
    let text =
        "Tables without room for intervals omit them: --verbose lists all intervals, a wider page (--width) shows more";
    out += if_narrow(space() + paragraph("", text, Ink::Dim));
    out + doubts::doubts(&tried, detail) + doubts::left_out(experiments) + doubts::time(experiments)
}

/// Findings of a group.
fn in_group<'a>(findings: &[&'a Finding], group: OsGroup) -> Vec<&'a Finding> {
    findings.iter().copied().filter(|f| f.labels.group() == Some(group.name())).collect()
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
    /// Whether the run has nothing of this group before: conditions of the system hold for all parts of a run, and are
    /// shown with the first.
    fn is_first_in(&self, run: &Run) -> bool {
        let mut of_group = run.findings().filter(|f| f.labels.group() == Some(self.group.name()));
        let first = of_group.find(|f| is_counted(f) && !f.verdict.is_refused());
        first.is_none_or(|first| self.findings.iter().any(|f| std::ptr::eq(*f, first)))
    }

    /// The legend of a group, its tables, remarks, and the state of this system.
    fn page(&self, run: &Run, detail: Detail) -> Page {
        if self.findings.is_empty() && self.knees.is_empty() {
            return Page::new();
        }
        let findings = &self.findings;
        let ops = grouped(findings.iter().filter_map(|f| Some((f.labels.op()?, *f))));
        let parts: Vec<_> = ops.iter().flat_map(|(op, findings)| parts(op, findings)).collect();
        let tables = tables(&parts);
        let dim = |text: &str| paragraph("  ", text, Ink::Dim);
        let mut out = heading(words::title(self.group));
        out.extend(self.legend.iter().map(|text| dim(text)));
        let notes = notes::notes(self.group, findings, &self.knees);
        let condition = condition(self.group, run).filter(|_| self.is_first_in(run));
        let condition = condition.map_or_else(Page::new, |text| dim(&text));
        for block in [tables, distribution(&self.tails, detail), notes + condition] {
            if !block.is_empty() {
                out += space() + block;
            }
        }
        out
    }
}

/// How single operations are distributed. What is measured over something has many such rows: they come with everything
/// else.
fn distribution(tails: &[&Finding], detail: Detail) -> Page {
    let plain = |f: &Finding| PrimitivePoint::new(f).is_bare();
    let mut tails: Vec<&Finding> = tails.iter().copied().filter(|f| detail.is_all() || plain(f)).collect();
    if tails.is_empty() {
        return Page::new();
    }
    let statistic = |f: &&Finding| f.labels.statistic().unwrap_or_default().to_owned();
    tails.sort_by(|a, b| quantile(&statistic(a)).total_cmp(&quantile(&statistic(b))));
    let pivot = Pivot::new(&tails, &|f| name(f), &statistic);
    let title = paragraph("  ", "Single operations, disturbed ones included", Ink::Plain);
    title + pivot.table("", &|finding| cell(finding, true)).whole()
}

#[cfg(test)]
mod tests;
