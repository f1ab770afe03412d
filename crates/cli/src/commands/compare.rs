//! `tiermark compare`: saved runs side by side.

use std::collections::BTreeSet;

use tiermark_compare::{Document, Reference, Rules, THRESHOLD, compare};
use tiermark_model::{
    Against, COMPARE_SCHEMA, ChangeVerdict, ComparedFigure, Comparison, Exit, Fact, Grade, Labels, Obstacle, Run,
};
use tiermark_page::terminal;
use tiermark_report::{Sheet, html};

use super::baseline::baselines;
use super::report::open_page;
use super::scatter::scatters;
use crate::args::compare::{CompareArgs, CompareFormat};
use crate::output::{Destination, Failure, complain, document, print, style, tell};
use crate::saved::run_of_probes;

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
    for name in if args.runs.is_empty() { &last[..] } else { &args.runs } {
        runs.push((name.clone(), run_of_probes(name)?));
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
    if let Some(same) = runs[old..].iter().find(|(_, run)| runs[..old].iter().any(|(_, of)| of.id == run.id)) {
        tell(format_args!("tiermark: warning: '{}' and '{}' are the same run", runs[0].0, same.0));
    }
    let scatters = scatters(&documents, old);
    let of = |documents: &[Document<'_>]| {
        let reference = Reference { first: documents[0], more: &documents[1..old], scatters: scatters.as_ref() };
        compare(&reference, &documents[old..], rules)
    };
    let mut found = of(&documents);
    // What is taken out of names and labels changes no verdict.
    let exit = args.fail_over.map_or(Exit::Done, |limit| gate(&found, limit));
    if args.redact {
        let redacted: Vec<Run> = runs.iter().map(|(_, run)| tiermark_report::redact(run)).collect();
        // The path of a file may name its owner.
        let documents: Vec<Document<'_>> = redacted.iter().map(|run| Document { name: &run.id, run }).collect();
        found = of(&documents);
    }
    let style = style(&args.view);
    let text = match args.format {
        _ if args.json => document(COMPARE_SCHEMA, &found)?,
        CompareFormat::Text => terminal(&tiermark_report::compare(&found, &style), &style),
        CompareFormat::Markdown => tiermark_report::compare_markdown(&found, &style.of_a_file()),
    };
    if let Some(page) = page {
        let sheets: Vec<Sheet<'_>> = found.others.iter().map(|other| Sheet::Compared(&found, other)).collect();
        let is_stdout = matches!(page, Destination::Stdout);
        page.write(&html(&sheets, &style))?;
        if is_stdout {
            return Ok(exit);
        }
    }
    match print(&text) {
        // A reader that closed the pipe has not seen all of it, and the gate is as it was.
        Ok(()) | Err(Failure::BrokenPipe) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

/// The exit code of a gate, with its result in words. One that compared nothing is not open: after a change of methods
/// it would be for ever. Nor is one that lacks what the first run measured, or whose runs are of different machines.
fn gate(found: &Comparison, limit: f64) -> Exit {
    let percent = limit * 100.0;
    let other_machine = |other: &&Against| {
        let facts = [Fact::CpuModel, Fact::Simulated];
        other.facts.iter().any(|difference| facts.contains(&difference.fact))
    };
    let is_over = |loss: Option<f64>| loss.is_some_and(|loss| loss > limit);
    let mut lost = lost_families(found, limit);
    lost.extend(names(found, |figure| is_over(figure.loss())));
    let is_lost = |other: &Against| {
        let families = other.families.iter().any(|family| is_over(family.loss()));
        families || other.figures.iter().any(|figure| is_over(figure.loss()))
    };
    let odd = found.others.iter().find(other_machine).filter(|_| !found.by_role);
    // A run of another machine hides no loss of the others.
    if let Some(other) = odd.filter(|_| !found.others.iter().any(|other| !other_machine(&other) && is_lost(other))) {
        complain(&format!(
            "gate not judged: {} and {} are of different machines; give runs of one machine, or --machines",
            found.first.name, other.run.name
        ));
        return Exit::Partial;
    }
    if !lost.is_empty() {
        complain(&format!("gate failed: worse by more than {percent} %: {}", listed(&lost)));
        return Exit::Regression;
    }
    let count = |of: &dyn Fn(&&ComparedFigure) -> bool| {
        found.others.iter().map(|other| other.figures.iter().filter(of).count()).min().unwrap_or(0)
    };
    if count(&|figure| !matches!(figure.verdict, ChangeVerdict::NotComparable(_))) == 0 {
        complain("gate not judged: no number of the runs can be compared; measure the first run again");
        return Exit::Partial;
    }
    let was_trusted =
        |figure: &ComparedFigure| figure.first.as_ref().is_some_and(|first| first.grade == Grade::Trusted);
    let blocks = |figure: &ComparedFigure| was_trusted(figure) && figure.blocks_gate(limit);
    let seem = names(found, blocks);
    let also = names(found, |figure| !blocks(figure) && is_over(figure.unsure_loss()));
    let is_sure = |figure: &&ComparedFigure| {
        !matches!(figure.verdict, ChangeVerdict::NotComparable(_) | ChangeVerdict::Unsure(_))
    };
    if count(&is_sure) == 0 || !seem.is_empty() {
        let all = [seem, also].concat();
        let all = if all.is_empty() { String::new() } else { format!(": {}", listed(&all)) };
        complain(&format!(
            "gate not judged: whether numbers are worse is unsure; measure again, or add runs to the baseline \
             (tiermark baseline add){all}"
        ));
        return Exit::Partial;
    }
    let is_judged =
        |figure: &ComparedFigure| was_trusted(figure) && figure.less_is_better().is_some() && !figure.is_of_the_hour();
    let without = |is_so: fn(&Obstacle) -> bool| {
        names(found, |figure| {
            let is_gone = matches!(&figure.verdict, ChangeVerdict::NotComparable(why) if is_so(why));
            is_gone && is_judged(figure)
        })
    };
    let missing = without(|why| matches!(why, Obstacle::OnlyInFirst | Obstacle::Probe { .. }));
    if !missing.is_empty() {
        complain(&format!("gate not judged: the other run has not measured {}", listed(&missing)));
        return Exit::Partial;
    }
    let moved =
        without(|why| matches!(why, Obstacle::Method { .. } | Obstacle::WorkingSet { .. } | Obstacle::Pages { .. }));
    if !moved.is_empty() {
        complain(&format!(
            "gate not judged: measured in another way than in the first run, which needs to be measured again: {}",
            listed(&moved)
        ));
        return Exit::Partial;
    }
    let doubtful = without(|why| {
        matches!(why, Obstacle::Suspect | Obstacle::Missing | Obstacle::State { .. } | Obstacle::Estimate)
    });
    if !doubtful.is_empty() {
        let text = listed(&doubtful);
        tell(format_args!(
            "tiermark: warning: --fail-over does not judge numbers without a sound value, or of another state: {text}"
        ));
    }
    if !also.is_empty() {
        let text = listed(&also);
        tell(format_args!("tiermark: warning: these may be worse by more than {percent} %, which is not sure: {text}"));
    }
    let (judged, other) = judged_tiers(found, is_sure);
    tell(format_args!(
        "tiermark: gate passed: nothing comparable is worse by more than {percent} % ({judged} numbers judged{other})"
    ));
    Exit::Done
}

/// How many numbers are so in the run that has fewest, and the tiers of which no number is.
fn judged_tiers(found: &Comparison, is_so: impl Fn(&&ComparedFigure) -> bool) -> (usize, String) {
    let tier = |figure: &ComparedFigure| figure.labels.get(Labels::TIER).map(str::to_owned);
    let of_hardware = |figure: &&ComparedFigure| figure.less_is_better().is_some() && !figure.is_of_the_hour();
    let of = |other: &Against| {
        let all: Vec<&ComparedFigure> = other.figures.iter().filter(of_hardware).collect();
        let (judged, others): (Vec<&ComparedFigure>, Vec<&ComparedFigure>) = all.into_iter().partition(&is_so);
        let known: BTreeSet<String> = judged.iter().filter_map(|figure| tier(figure)).collect();
        let none: BTreeSet<String> = others.iter().filter_map(|figure| tier(figure)).collect();
        (judged.len(), none.difference(&known).cloned().collect::<Vec<_>>().join(", "))
    };
    let (judged, none) = found.others.iter().map(of).min_by_key(|(judged, _)| *judged).unwrap_or_default();
    (judged, if none.is_empty() { none } else { format!(", none of {none}") })
}

/// The families that are worse by more than the limit.
fn lost_families(found: &Comparison, limit: f64) -> Vec<String> {
    let families = found.others.iter().flat_map(|other| &other.families);
    let lost = families.filter(|family| family.loss().is_some_and(|loss| loss > limit));
    let mut names: Vec<String> = lost.map(tiermark_report::family_name).collect();
    names.dedup();
    names
}

/// The names of the numbers that are so, each once.
fn names(found: &Comparison, is_so: impl Fn(&ComparedFigure) -> bool) -> Vec<String> {
    let figures = found.others.iter().flat_map(|other| &other.figures).filter(|figure| is_so(figure));
    let mut names: Vec<String> = figures.map(tiermark_report::compared_name).collect();
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
