//! For fuzzing: what this crate makes of files from elsewhere.

use tiermark_expect::Expectations;
use tiermark_model::{Comparison, Fleet, Run};
use tiermark_page::{Detail, Style, terminal};
use tiermark_report::RUN_VIEWS;
use tiermark_report::redact::Pseudonyms;

use crate::commands::fleet::files;
use crate::layouts::{LaidOut, MESS};
use crate::output;
use crate::plans;
use crate::saved::Kept;

/// Reads a plan: the number of its mistakes.
#[must_use]
pub fn plan_mistakes(text: &str) -> usize {
    plans::read(text, &[]).map_or_else(|mistakes| mistakes.len(), |_| 0)
}

/// Judges a run by the rules of thumb, and lists its names.
fn show_checked(run: &Run, styles: &[(Style, Detail)]) {
    let (found, figures) = (tiermark_expect::check_by_rules_of_thumb(run), tiermark_expect::figures(run));
    for (style, detail) in styles {
        let _ = (
            terminal(&tiermark_report::judgements::check(&found, *detail), style),
            terminal(&tiermark_report::judgements::named_figures(&figures), style),
        );
    }
}

/// Explains a run.
fn show_explained(run: &Run, styles: &[(Style, Detail)]) {
    let found = tiermark_expect::explain::explain("fuzzed", run);
    for (style, detail) in styles {
        let _ = terminal(&tiermark_report::judgements::explanation(&found, *detail), style);
    }
}

/// Judges documents of hosts, and makes every layout of the result.
pub fn fleet(documents: &[Vec<u8>]) {
    let mut gathered = tiermark_compare::fleet::Gathered::default();
    for (at, bytes) in documents.iter().enumerate() {
        let file = std::path::PathBuf::from(format!("/nowhere/node{at}.json"));
        files::of_bytes(&file, bytes, None).into(&mut gathered);
    }
    let fleet = gathered.judged(&["node1".to_owned(), "other".to_owned()]);
    for (unicode, detail) in [(true, Detail::Usual), (false, Detail::All)] {
        let style = Style { unicode, ..Style::default() };
        for layout in Fleet::LAYOUTS {
            let text = (layout.text)(&fleet, detail, &style);
            assert!(layout.name != "csv" || text.lines().all(|line| !line.is_empty()), "a row is a line");
            assert!(layout.name != "openmetrics" || text.ends_with("# EOF\n"), "the end is there");
        }
    }
    if let Some(limits) = tiermark_compare::fleet::limits(&fleet) {
        assert!(Expectations::read("limits", &limits).is_ok(), "limits that are no expectations: {limits}");
    }
}

/// Reads a document as `show` does, and makes every view of it.
pub fn show(bytes: &[u8]) {
    let styles = [(40, Detail::Usual), (120, Detail::All)]
        .map(|(width, detail)| (Style { width, color: true, ..Style::default() }, detail));
    match Kept::parse(bytes, "a fuzzed document") {
        Err(_) => {}
        Ok(Some(kept)) => {
            for (style, detail) in &styles {
                Kept::LAYOUTS.iter().for_each(|layout| drop((layout.text)(&kept, *detail, style)));
            }
        }
        Ok(None) => {
            if let Ok(run) = tiermark_history::parse(bytes, "a document") {
                show_run(run, &styles);
            }
        }
    }
}

/// Concludes a run that was killed, and makes every view of it.
pub fn show_killed(run: Run) {
    let (run, _) = tiermark_session::concluded(run, &tiermark_history::Store::at("/nowhere"));
    show_run(run, &[(Style::default(), Detail::Usual)]);
}

/// Compares a run with itself and with itself estimated again, by either rule.
fn show_compared(run: &Run, styles: &[(Style, Detail)]) {
    let again = estimated_again(run.clone());
    let document = |run| tiermark_compare::Document { name: "fuzzed", run };
    for by_role in [false, true] {
        let rules = tiermark_compare::Rules { by_role, ..tiermark_compare::Rules::default() };
        let found = tiermark_compare::compare(
            &tiermark_compare::Reference::one(document(run)),
            &[document(run), document(&again)],
            rules,
        );
        for (style, detail) in styles {
            Comparison::LAYOUTS.iter().for_each(|layout| drop((layout.text)(&found, *detail, style)));
        }
    }
}

fn estimated_again(run: Run) -> Run {
    tiermark_session::reanalyse_saved(run).map_or_else(|saved| *saved, |again| again.run)
}

/// Makes every view of a run, as it was saved, estimated again, and redacted.
fn show_run(run: Run, styles: &[(Style, Detail)]) {
    show_compared(&run, styles);
    show_checked(&run, styles);
    show_explained(&run, styles);
    for run in [tiermark_report::redact::redact(&run, Pseudonyms::new([1, 2])), run.clone(), estimated_again(run)] {
        let _ = output::json(&run);
        for (style, detail) in styles {
            for layout in Run::LAYOUTS.iter().chain([&MESS]) {
                let _ = ((layout.text)(&run, *detail, style), (layout.doubts)(&run));
            }
            for view in &RUN_VIEWS {
                let _ = terminal(&tiermark_report::run_view(&run, view, *detail), style);
            }
        }
    }
}
