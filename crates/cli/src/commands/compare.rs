//! `tiermark compare`: saved runs side by side.

use tiermark_compare::{Document, Rules, THRESHOLD, compare};
use tiermark_model::{COMPARE_SCHEMA, Comparison, Exit, Run};

use super::baseline::baselines;
use crate::args::compare::{CompareArgs, CompareFormat};
use crate::kept::SavedDocument;
use crate::output::{Failure, document, print, style};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let mut runs: Vec<(String, Run)> = Vec::new();
    if let Some(name) = &args.baseline {
        runs.push((format!("baseline {name}"), baselines().load(name).map_err(Failure::usage)?));
    } else if args.runs.len() < 2 {
        return Err(Failure::usage(
            "one run is named, and compare needs two: name another, or --baseline NAME (`tiermark baseline list`)",
        ));
    }
    for name in &args.runs {
        runs.push((name.clone(), loaded(name)?));
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
    print(&text)?;
    Ok(if args.fail_over.is_some_and(|limit| has_lost(&found, limit)) { Exit::Regression } else { Exit::Done })
}

/// Whether a number of any run is worse by more than a share.
fn has_lost(found: &Comparison, limit: f64) -> bool {
    let mut figures = found.others.iter().flat_map(|other| &other.figures);
    figures.any(|figure| figure.loss().is_some_and(|loss| loss > limit))
}

/// A run of probes.
pub(super) fn loaded(name: &str) -> Result<Run, Failure> {
    match SavedDocument::load(name)? {
        SavedDocument::Run(run) => Ok(*run),
        SavedDocument::Other(_) => Err(Failure::usage(format!(
            "'{name}' is not a run of probes: only such runs are compared and kept as baselines"
        ))),
    }
}
