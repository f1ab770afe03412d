//! Several runs judged against the same expectations: a row for each run, the worst first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tiermark_model::{Check, CheckOutcome, CheckResult, CheckVerdict, CheckedRun, Checks, count_of};
use tiermark_page::{Cell, Detail, Ink, Page, Table, Text, labelled, paragraph, rule, space, text};

use crate::judged_expectation;
use crate::judgements::check::{check, ink, missing};

/// Renders several checks: the verdicts, and in detail each check.
pub fn checks(checks: &Checks, detail: Detail) -> Page {
    let host = |run: &CheckedRun| run.check.as_ref().and_then(|check| check.run.host.clone());
    let names = run_names(checks.runs.iter().map(|run| (run.name.clone(), host(run))));
    let mut rows: Vec<(&CheckedRun, String)> = checks.runs.iter().zip(names).collect();
    rows.sort_by_key(|(run, _)| Reverse(run.verdict));
    let verdict = checks.verdict();
    let mut out = paragraph("", format!("{}: {}", verdict.headline(), tally(checks)), ink(verdict)) + space();
    out += labelled("expected", &checks.expectations);
    let table = Table::of(&rows).texts("host", |(_, name)| Cell::inked(name, Ink::Head));
    let table = table.texts("verdict", |(run, _)| Cell::inked(run.verdict.name(), ink(run.verdict)));
    out += space() + table.texts("expectations", |(run, _)| found(run)).table();
    if detail.is_all() {
        for one in rows.iter().filter_map(|(run, _)| run.check.as_ref()) {
            out += space() + rule() + check(one, detail);
        }
    }
    out
}

/// `2 of 40 runs failed, 37 passed, 1 unreadable`.
fn tally(checks: &Checks) -> String {
    let count = |verdict| checks.runs.iter().filter(|run| run.verdict == verdict).count();
    let failed = format!("{} of {} failed", count(CheckVerdict::Failed), count_of(checks.runs.len() as u64, "run"));
    let others = [CheckVerdict::Passed, CheckVerdict::Incomplete, CheckVerdict::NotJudged, CheckVerdict::Unreadable];
    let others = others.into_iter().filter(|verdict| *verdict == CheckVerdict::Passed || count(*verdict) > 0);
    let others = others.map(|verdict| format!("{} {}", count(verdict), verdict.name()));
    std::iter::once(failed).chain(others).collect::<Vec<_>>().join(", ")
}

/// The failed expectations with their numbers; else how many passed, and what was not judged.
fn found(run: &CheckedRun) -> Text {
    let Some(check) = &run.check else { return run.problem.clone().unwrap_or_default().into() };
    let failed: Vec<&CheckResult> = with_outcome(check, CheckOutcome::Failed).collect();
    if !failed.is_empty() {
        return Text::joined(failed.into_iter().map(judged_expectation), "; ");
    }
    let unjudged = match with_outcome(check, CheckOutcome::Unjudged).count() {
        0 => String::new(),
        count => format!(", {count} not judged"),
    };
    let missing = missing(check).map_or_else(String::new, |missing| format!("; {missing}"));
    text![format!("{} passed{unjudged}{missing}", with_outcome(check, CheckOutcome::Passed).count())]
}

fn with_outcome(check: &Check, outcome: CheckOutcome) -> impl Iterator<Item = &CheckResult> {
    check.results.iter().filter(move |result| result.outcome == outcome)
}

/// A name for each of some runs, by the names that their user gave and by their hosts: the host where no other of the
/// runs has it, else the given name with the host, if one is known.
pub fn run_names(runs: impl IntoIterator<Item = (String, Option<String>)>) -> Vec<String> {
    let runs: Vec<(String, Option<String>)> = runs.into_iter().collect();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    runs.iter().filter_map(|(_, host)| host.as_ref()).for_each(|host| *counts.entry(host).or_default() += 1);
    let name = |(name, host): &(String, Option<String>)| match host {
        Some(host) if counts.get(host) == Some(&1) => host.clone(),
        Some(host) if !name.contains(host.as_str()) => format!("{name} ({host})"),
        _ => name.clone(),
    };
    runs.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_names_its_only_run() {
        let run = |name: &str, host: Option<&str>| (name.to_owned(), host.map(str::to_owned));
        let runs = [run("a.json", Some("node1")), run("b.json", Some("node2")), run("c.json", None)];
        assert_eq!(run_names(runs), ["node1", "node2", "c.json"]);
        let runs = [run("old/node1.json", Some("node1")), run("new.json", Some("node1"))];
        assert_eq!(run_names(runs), ["old/node1.json", "new.json (node1)"]);
    }
}
