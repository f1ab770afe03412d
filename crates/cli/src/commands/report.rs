//! `tiermark report`: saved documents as a page for a browser.

use std::fs::File;
use std::io::Read;

use tiermark_expect::check_by_rules_of_thumb;
use tiermark_model::{Check, Exit, Run, count_of};
use tiermark_report::html::{Sheet, html};

use crate::args::ReportArgs;
use crate::output::{Destination, Failure, detail, style, tell};
use crate::pseudonyms::pseudonyms;
use crate::saved::{Kept, SavedDocument, readable};

/// The file name that stands for standard output.
const STDOUT: &str = "-";

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let page = open_page(&args.html)?;
    let names = args.redact.then(pseudonyms);
    let loaded = readable(&args.runs, |reference| {
        let document = SavedDocument::load(reference)?;
        Ok(match names {
            Some(names) => document.redacted(names),
            None => document,
        })
    })?;
    let judged: Vec<Judged<'_>> = loaded.documents.iter().map(|(_, document)| Judged::of(document)).collect();
    let sheets: Vec<Sheet<'_>> = judged.iter().map(Judged::sheet).collect();
    let left_out = page_lines(&loaded.left_out, args.redact);
    page.write(&html(&sheets, &left_out, detail(&args.view), &style(&args.view)))?;
    // The name may be the default.
    if args.html != STDOUT {
        tell(format_args!("tiermark: the page is in {}", args.html));
    }
    Ok(loaded.exit())
}

/// A document; a run of probes with what the rules of thumb find.
enum Judged<'a> {
    Run(&'a Run, Box<Check>),
    Other(&'a Kept),
}

impl<'a> Judged<'a> {
    fn of(document: &'a SavedDocument) -> Self {
        match document {
            SavedDocument::Run(run) => Self::Run(run, Box::new(check_by_rules_of_thumb(run))),
            SavedDocument::Other(kept) => Self::Other(kept),
        }
    }

    fn sheet(&self) -> Sheet<'_> {
        match self {
            Self::Run(run, check) => Sheet::Run(run, check),
            Self::Other(Kept::Capacity(run)) => Sheet::Capacity(run),
            Self::Other(Kept::Load(run)) => Sheet::Load(run),
        }
    }
}

/// What a page says of documents that are left out. The path of a file may name its owner.
pub(super) fn page_lines(left_out: &[String], is_redacted: bool) -> Vec<String> {
    match left_out.len() {
        0 => Vec::new(),
        count if is_redacted => vec![format!("{} could not be read", count_of(count as u64, "document"))],
        _ => left_out.to_vec(),
    }
}

/// Opens the file of a page before documents are read, so that a bad path fails first.
///
/// # Errors
/// A [`Failure`] of usage for a file that is no page, or one that cannot be written.
pub(super) fn open_page(place: &str) -> Result<Destination, Failure> {
    refuse_other_files(place)?;
    Destination::open(place)
}

/// A page replaces a page and no other file: `--html before.json after.json` would lose the run before.json.
///
/// # Errors
/// A [`Failure`] of usage that names the file.
fn refuse_other_files(place: &str) -> Result<(), Failure> {
    const START: &[u8] = b"<!doctype html";
    let mut start = Vec::new();
    // If the file cannot be read, nothing is refused here: `Destination::open` or `write` reports why the page cannot
    // be written.
    let read = File::open(place).and_then(|file| file.take(START.len() as u64).read_to_end(&mut start));
    let is_file = std::fs::metadata(place).is_ok_and(|about| about.is_file());
    match read {
        Ok(length) if is_file && length > 0 && !start.eq_ignore_ascii_case(START) => Err(Failure::usage(format!(
            "--html {place}: the file exists and is not an HTML page; name runs before --html, and another file for \
                the page"
        ))),
        _ => Ok(()),
    }
}
