//! `tiermark compare`: saved runs side by side.

use tiermark_compare::{Document, Rules, THRESHOLD, compare};
use tiermark_model::{COMPARE_SCHEMA, ChangeVerdict, ComparedFigure, Comparison, Exit, Grade, Obstacle, Run};
use tiermark_report::{Sheet, html};

use super::baseline::baselines;
use super::report::open_page;
use crate::args::compare::{CompareArgs, CompareFormat};
use crate::kept::run_of_probes;
use crate::output::{Destination, Failure, complain, document, print, style, tell};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    if args.json && args.html.as_deref() == Some("-") {
        return Err(Failure::usage("--json and --html - both write to standard output: give the page a file"));
    }
    let page = args.html.as_deref().map(open_page).transpose()?;
    let mut runs: Vec<(String, Run)> = Vec::new();
    if let Some(name) = &args.baseline {
        runs.push((format!("baseline {name}"), baselines().load(name).map_err(Failure::usage)?));
    } else if args.runs.len() < 2 {
        return Err(Failure::usage(
            "one run is named, and compare needs two: name another, or --baseline NAME (`tiermark baseline list`)",
        ));
    }
    for name in &args.runs {
        runs.push((name.clone(), run_of_probes(name)?));
    }
    if let (Some(limit), Some(threshold)) = (args.fail_over, args.threshold)
        && threshold > limit
    {
        return Err(Failure::usage(
            "--threshold is above --fail-over: a change between the two would not count as one; use one number for both",
        ));
    }
    let least = args.fail_over.map_or(THRESHOLD, |fail_over| fail_over.min(THRESHOLD));
    let rules = Rules { threshold: args.threshold.unwrap_or(least), by_role: args.machines };
    let documents: Vec<Document<'_>> = runs.iter().map(|(name, run)| Document { name, run }).collect();
    let found = compare(documents[0], &documents[1..], rules);
    let style = style(&args.view);
    let text = match args.format {
        _ if args.json => document(COMPARE_SCHEMA, &found)?,
        CompareFormat::Text => tiermark_report::compare(&found, &style),
        CompareFormat::Markdown => tiermark_report::compare_markdown(&found, &style),
    };
    let exit = args.fail_over.map_or(Exit::Done, |limit| gate(&found, limit));
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

/// The exit code of a gate. One that compared nothing is not open: after a change of methods it would be for ever.
fn gate(found: &Comparison, limit: f64) -> Exit {
    if has_lost(found, limit) {
        return Exit::Regression;
    }
    let count = |of: &dyn Fn(&&ComparedFigure) -> bool| {
        found.others.iter().map(|other| other.figures.iter().filter(of).count()).min().unwrap_or(0)
    };
    if count(&|figure| !matches!(figure.verdict, ChangeVerdict::NotComparable(_))) == 0 {
        complain("no number of the runs can be compared, so --fail-over says nothing: measure the first run again");
        return Exit::Partial;
    }
    let was_trusted =
        |figure: &ComparedFigure| figure.first.as_ref().is_some_and(|first| first.grade == Grade::Trusted);
    let has_direction = |figure: &ComparedFigure| figure.less_is_better().is_some();
    let is_lost = |figure: &&ComparedFigure| {
        let gone = [Obstacle::OnlyInFirst, Obstacle::Suspect, Obstacle::Missing];
        let is_gone = matches!(&figure.verdict, ChangeVerdict::NotComparable(why) if gone.contains(why));
        is_gone && was_trusted(figure) && has_direction(figure)
    };
    match found.others.iter().map(|other| other.figures.iter().filter(is_lost).count()).sum::<usize>() {
        0 => {}
        lost => tell(format_args!(
            "tiermark: warning: {lost} numbers that the first run trusted are missing, withheld or suspect in another: --fail-over does not \
             judge them"
        )),
    }
    Exit::Done
}

/// Whether a number of any run is worse by more than a share.
fn has_lost(found: &Comparison, limit: f64) -> bool {
    let mut figures = found.others.iter().flat_map(|other| &other.figures);
    figures.any(|figure| figure.loss().is_some_and(|loss| loss > limit))
}
