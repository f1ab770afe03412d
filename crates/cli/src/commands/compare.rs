//! `tiermark compare`: saved runs side by side.

use tiermark_compare::{Document, Gate, Reference, Rules, THRESHOLD, compare};
use tiermark_model::{COMPARE_SCHEMA, ChangeVerdict, ComparedFigure, Comparison, Exit, Obstacle, Run};
use tiermark_page::Detail;
use tiermark_report::html::{Sheet, html};

use super::baseline::baselines;
use super::report::{open_page, page_lines};
use super::scatter::scatters;
use crate::args::compare::CompareArgs;
use crate::output::{Destination, Failure, complain, detail, document, print, style, tell, whoever_reads};
use crate::pseudonyms::pseudonyms;
use crate::saved::{readable, run_of_probes};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    if args.json && args.html.as_deref() == Some("-") {
        return Err(Failure::usage("--json and --html - both write to standard output: give the page a file"));
    }
    let page = args.html.as_deref().map(open_page).transpose()?;
    let mut runs: Vec<(String, Run)> = Vec::new();
    if let Some(name) = &args.baseline {
        let kept = baselines().load_all(name).map_err(Failure::usage)?;
        // The newest first: its facts and numbers are those that the others are compared with.
        runs.extend(kept.into_iter().rev().map(|run| (format!("baseline {name}"), run)));
    } else if args.runs.len() == 1 {
        return Err(Failure::usage(
            "one run is named, and compare needs two: name another, or --baseline NAME (`tiermark baseline list`)",
        ));
    }
    let old = runs.len().max(1);
    let last = ["last".to_owned()];
    let names = if args.runs.is_empty() { &last[..] } else { &args.runs };
    let read = readable(names, run_of_probes)?;
    let whole = read.exit();
    let is_first_read = !runs.is_empty() || read.documents.first().is_some_and(|(name, _)| *name == names[0]);
    let left_out = page_lines(&read.left_out, args.redact);
    runs.extend(read.documents);
    if !is_first_read || runs.len() <= old {
        return Err(Failure::usage("compare needs the first run and at least one other, and cannot read them all"));
    }
    if let (Some(limit), Some(threshold)) = (args.fail_over, args.threshold)
        && threshold > limit
    {
        return Err(Failure::usage(
            "--threshold is above --fail-over: a change between the two would not count as one; use one number for \
                both",
        ));
    }
    let least = args.fail_over.map_or(THRESHOLD, |fail_over| fail_over.min(THRESHOLD));
    let rules = Rules { threshold: args.threshold.unwrap_or(least), by_role: args.machines };
    let documents: Vec<Document<'_>> = runs.iter().map(|(name, run)| Document { name, run }).collect();
    if let Some(same) = runs[old..].iter().find(|(_, run)| runs[..old].iter().any(|(_, first)| first.id == run.id)) {
        tell(format_args!("tiermark: warning: '{}' and '{}' are the same run", runs[0].0, same.0));
    }
    let scatters = scatters(&documents, old);
    let comparison = |documents: &[Document<'_>]| {
        let reference = Reference { first: documents[0], more: &documents[1..old], scatters: scatters.as_ref() };
        compare(&reference, &documents[old..], rules)
    };
    let mut found = comparison(&documents);
    // What is taken out of names and labels changes no verdict.
    let exit = args.fail_over.map_or(Exit::Done, |limit| {
        let gate = Gate::of(&found, limit);
        tell_gate(&gate, &found, limit);
        gate.exit()
    });
    let exit = if exit == Exit::Done { whole } else { exit };
    if args.redact {
        let names = pseudonyms();
        let redacted: Vec<Run> = runs.iter().map(|(_, run)| tiermark_report::redact::redact(run, names)).collect();
        // The path of a file may name its owner.
        let documents: Vec<Document<'_>> = redacted.iter().map(|run| Document { name: &run.id, run }).collect();
        found = comparison(&documents);
    }
    let text = if args.json { document(COMPARE_SCHEMA, &found)? } else { args.format.show(&found, &args.view) };
    if let Some(page) = page {
        let sheets: Vec<Sheet<'_>> = found.others.iter().map(|other| Sheet::Compared(&found, other)).collect();
        let is_stdout = matches!(page, Destination::Stdout);
        page.write(&html(&sheets, &left_out, detail(&args.view), &style(&args.view)))?;
        if is_stdout {
            return Ok(exit);
        }
    }
    whoever_reads(print(&text), exit)
}

/// Reports the result of a gate of this limit on standard error.
fn tell_gate(gate: &Gate<'_>, found: &Comparison, limit: f64) {
    let percent = limit * 100.0;
    let listed = |figures: &[&ComparedFigure]| listed(&names(figures));
    let unjudged = |why: &str| complain(&format!("gate not judged: {why}"));
    match gate {
        Gate::OtherMachine(run) => unjudged(&format!(
            "{} and {} are of different machines; give runs of one machine, or --machines",
            found.first.name, run.name
        )),
        Gate::Failed { families, figures } => {
            let mut all: Vec<String> =
                families.iter().map(|family| tiermark_report::judgements::family_name(family)).collect();
            all.dedup();
            let all = self::listed(&[all, names(figures)].concat());
            complain(&format!("gate failed: worse by more than {percent} %: {all}"));
        }
        Gate::SlowerClock(share) => complain(&format!(
            "gate failed: the core clock is {:.1} % lower (numbers of caches are judged per cycle)",
            share * 100.0
        )),
        Gate::NothingComparable(run, obstacle) => {
            let why = obstacle.map_or_else(String::new, |obstacle| format!(": {}", cured(obstacle)));
            unjudged(&format!("no number of {} can be compared{why}", run.name));
        }
        Gate::Unsure(figures) => {
            let all = if figures.is_empty() { String::new() } else { format!(": {}", listed(figures)) };
            unjudged(&format!(
                "whether numbers are worse is unsure; measure again, or add runs to the baseline (tiermark baseline \
                 add){all}"
            ));
        }
        Gate::Missing(figures) => unjudged(&format!("the other run has not measured {}", listed(figures))),
        Gate::OtherMethod(figures) => {
            let why = figures.iter().find_map(|figure| match &figure.verdict {
                ChangeVerdict::NotComparable(obstacle) => Some(cured(obstacle)),
                _ => None,
            });
            unjudged(&format!("{}: {}", why.unwrap_or_default(), listed(figures)));
        }
        Gate::Passed { judged, tiers_unjudged, doubtful, perhaps_worse, slower_clock } => {
            let warn = |what: &str, figures: &[&ComparedFigure]| {
                if !figures.is_empty() {
                    tell(format_args!("tiermark: warning: {what}: {}", listed(figures)));
                }
            };
            warn(
                "--fail-over does not judge numbers that are in doubt, or of different states in the two runs",
                doubtful,
            );
            warn(&format!("these may be worse by more than {percent} %, which is not sure"), perhaps_worse);
            if let Some(share) = slower_clock {
                let share = share * 100.0;
                tell(format_args!(
                    "tiermark: warning: the core clock is {share:.1} % lower; numbers of caches are judged per cycle"
                ));
            }
            let none = match tiers_unjudged.as_slice() {
                [] => String::new(),
                tiers => format!(", none of {}", tiers.join(", ")),
            };
            tell(format_args!(
                "tiermark: gate passed: nothing comparable is worse by more than {percent} % ({judged} numbers \
                 judged{none})"
            ));
        }
    }
}

/// An obstacle with what removes it.
fn cured(obstacle: &Obstacle) -> String {
    tiermark_report::judgements::cure(obstacle)
        .map_or_else(|| obstacle.to_string(), |cure| format!("{obstacle} ({cure})"))
}

/// The names of figures; of neighbours with one name, one.
fn names(figures: &[&ComparedFigure]) -> Vec<String> {
    let mut names: Vec<String> =
        figures.iter().map(|figure| tiermark_report::judgements::compared_name(figure, Detail::Usual)).collect();
    names.dedup();
    names
}

fn listed(names: &[String]) -> String {
    /// More are in the report.
    const LISTED: usize = 5;
    let more = names.len().saturating_sub(LISTED);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown}, and {more} more") }
}
