//! A run judged against expectations: what failed comes first, what could not be judged stands with its reason.

use tiermark_model::{
    Check, CheckOutcome, CheckResult, CheckRow, CheckVerdict, HOST_LABEL, MemoryFigure, NamedFigure, NamedValue, Note,
    count_of,
};
use tiermark_page::{ABSENT, Cell, Detail, Ink, Page, Table, bullet, heading, labelled, paragraph, space};

use crate::{checked_number, contradictions, found_places, judged_expectation};

use crate::judgements::compare::{described, simulated};

/// Renders a check.
pub fn check(check: &Check, detail: Detail) -> Page {
    let lines = |all: &[&CheckResult]| all.iter().map(|one| line(one, detail)).collect();
    verdict(check) + space() + facts(check) + results(check, lines) + rest(check)
}

/// The same with the expectations in tables.
pub fn check_in_tables(check: &Check, detail: Detail) -> Page {
    verdict(check) + facts(check) + results_in_tables(check, detail)
}

/// The same, without what a page has at its top: the host, the run and the file of the limits.
pub(crate) fn check_of_page(check: &Check, detail: Detail) -> Page {
    verdict(check) + simulated(&check.run) + results_in_tables(check, detail)
}

fn results_in_tables(check: &Check, detail: Detail) -> Page {
    results(check, |all| table(all, detail).into()) + rest(check)
}

/// The verdict with its counts.
fn verdict(check: &Check) -> Page {
    let count = |outcome| check.count(outcome);
    let (failed, passed) = (count(CheckOutcome::Failed), count(CheckOutcome::Passed));
    let expectations = count_of(check.results.len() as u64, "expectation");
    let unjudged = count(CheckOutcome::Unjudged);
    // Few passed is no acceptance where most could not be judged.
    let is_open = unjudged > failed + passed;
    let text = match unjudged {
        0 => format!("{failed} of {expectations} failed, {passed} passed"),
        n if is_open => format!("{n} of {expectations} not judged; {failed} failed, {passed} passed"),
        n => format!("{failed} of {expectations} failed, {passed} passed; {n} could not be judged"),
    };
    let text = missing(check).map_or(text.clone(), |missing| format!("{text}; {missing}"));
    let verdict = check.verdict;
    let ink = if is_open && failed == 0 { Ink::Warn } else { ink(verdict) };
    paragraph("", format!("{}: {text}", verdict.headline()), ink)
}

/// What is judged, and by which file.
fn facts(check: &Check) -> Page {
    let labels = check.labels.iter().filter(|(key, _)| *key != HOST_LABEL);
    labelled("run", described(&check.run))
        + simulated(&check.run)
        + labels.map(|(key, value)| labelled(key, value)).collect::<Page>()
        + labelled("expected", &check.expectations)
        + labelled("SHA-256", &check.sha256)
}

/// The expectations by their outcome, each under a heading, as `shown`.
fn results(check: &Check, shown: impl Fn(&[&CheckResult]) -> Page) -> Page {
    let mut out = Page::new();
    for (title, outcome) in
        [("Failed", CheckOutcome::Failed), ("Passed", CheckOutcome::Passed), ("Not judged", CheckOutcome::Unjudged)]
    {
        let results: Vec<&CheckResult> = check.results.iter().filter(|result| result.outcome == outcome).collect();
        if !results.is_empty() {
            out += heading(title) + shown(&results);
        }
    }
    out
}

/// What no expectation is about.
fn rest(check: &Check) -> Page {
    settings(&check.settings) + unlimited(&check.unlimited) + contradictions(&check.contradictions)
}

/// Settings that reduce performance, each with its cure.
fn settings(rows: &[CheckRow]) -> Page {
    let one = |row: &CheckRow| bullet("!", Ink::Warn, format!("{}: {}", row.name, row.found()), row.cure.as_deref());
    let rows: Page = rows.iter().map(one).collect();
    if rows.is_empty() { rows } else { heading("Settings that reduce performance") + rows }
}

/// Figures that the expectations do not limit.
fn unlimited(names: &[String]) -> Page {
    if names.is_empty() {
        return Page::new();
    }
    let text = format!(
        "{}: no expectation limits these figures, so a machine that is slow in them passes. To judge them: `tiermark \
         fleet` with similar servers, this machine's record, or limits from a server that you trust.",
        names.join(", ")
    );
    heading("Figures without a limit") + paragraph("", text, Ink::Plain)
}

/// The ink of a conclusion.
pub(crate) fn ink(verdict: CheckVerdict) -> Ink {
    match verdict {
        CheckVerdict::Passed => Ink::Good,
        CheckVerdict::Failed => Ink::Bad,
        _ => Ink::Warn,
    }
}

/// What of memory, or of figures at all, no expectation judged, although some name it: `no latency of memory was
/// judged`; `None` if enough was.
pub fn too_little(check: &Check) -> Option<String> {
    let memory: Vec<&str> = check.unjudged_memory().map(MemoryFigure::name).collect();
    match memory.as_slice() {
        [] => check.lacks_figures().then(|| "no measured figure was judged".to_owned()),
        names => Some(format!("no {} of memory was judged", names.join(" and no "))),
    }
}

/// What keeps a check without failures from being a pass; `None` of one that passes.
pub(super) fn missing(check: &Check) -> Option<String> {
    let required: Vec<&str> = check.missing().map(|result| result.that.as_str()).collect();
    too_little(check)
        .or_else(|| (!required.is_empty()).then(|| format!("required, but not judged: {}", required.join(", "))))
        .or_else(|| (check.strict && !check.run.complete).then(|| "the run is not complete (--strict)".to_owned()))
}

/// An expectation with its mark, its worst value, and why it matters where it did not pass.
fn line(result: &CheckResult, detail: Detail) -> Page {
    let (mark, ink) = mark(result);
    bullet(mark, ink, judged_expectation(result), Some(&why(result, detail)))
}

/// A row for each expectation.
fn table(results: &[&CheckResult], detail: Detail) -> Table {
    let has_why = results.iter().any(|result| !why(result, detail).is_empty());
    let marked = |result: &&CheckResult| {
        let (mark, ink) = mark(result);
        Cell::inked(format!("{mark} {}", result.that), ink)
    };
    let table = Table::of(results).texts("expectation", marked).texts("found", |result| found_places(result));
    table.when(has_why, |table| table.texts("why it matters", |result| why(result, detail))).table()
}

fn mark(result: &CheckResult) -> (&'static str, Ink) {
    match result.outcome {
        CheckOutcome::Passed => ("✔", Ink::Good),
        CheckOutcome::Failed => ("✘", Ink::Bad),
        CheckOutcome::Unjudged => (ABSENT, Ink::Dim),
    }
}

/// Why an expectation matters, and where its limit comes from: of one that failed, and in detail of each.
fn why(result: &CheckResult, detail: Detail) -> String {
    let says_why = result.outcome == CheckOutcome::Failed || detail.is_all();
    let source = result.source.as_ref().map(|source| format!("source: {source}"));
    result.why.clone().into_iter().chain(source).filter(|_| says_why).collect::<Vec<_>>().join("; ")
}

/// Renders the figures of a run that expectations can name, and why the others have no number.
pub fn named_figures(figures: &[NamedFigure]) -> Page {
    let known = figures.iter().filter_map(|figure| Some((figure, figure.value.as_ref().ok()?)));
    let known: Vec<(&NamedFigure, &NamedValue)> = known.collect();
    let value = |figure: &NamedFigure, value: &NamedValue| match value {
        NamedValue::Number(number, known) => checked_number(*number, *known, figure.unit),
        NamedValue::Text(text) => format!("\"{text}\"").into(),
    };
    let table = Table::of(&known).texts("name", |(figure, _)| Cell::inked(&figure.name, Ink::Head));
    let table = table.numbers("value", |(figure, of)| value(figure, of));
    let table = table.texts("place", |(figure, _)| figure.place.clone().unwrap_or_default()).table().indent(0);
    let unknown = figures.iter().filter_map(|figure| Some((figure, figure.value.as_ref().err()?)));
    let line =
        |(figure, note): (&NamedFigure, &Note)| bullet(ABSENT, Ink::Dim, format!("{}: {note}", figure.name), None);
    let unknown: Page = unknown.map(line).collect();
    table + if unknown.is_empty() { unknown } else { heading("Not known") + unknown }
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::check as says;
    use tiermark_model::{Affected, CheckUnit, CheckedValue, Comparator, ComparedRun, Health, Known};

    use super::*;
    use tiermark_page::{Style, terminal};

    fn value(value: f64, limit: f64) -> CheckedValue {
        CheckedValue {
            place: Some("node 1".to_owned()),
            value,
            value_is: Known::Exactly,
            comparator: Comparator::AtMost,
            limit,
            limit_is: Known::Exactly,
            unit: CheckUnit::Ns,
            margin: Some((limit - value) / limit),
        }
    }

    fn result(that: &str, outcome: CheckOutcome, worst: Option<CheckedValue>, places: [u64; 3]) -> CheckResult {
        let [passed, failed, unjudged] = places;
        let reasons = if unjudged > 0 { vec![says::errors_not_reported()] } else { Vec::new() };
        let (why, source) = (Some("it is slow".to_owned()), Some("a data sheet".to_owned()));
        let (measured, texts) = (that.starts_with("latency"), None);
        CheckResult {
            that: that.to_owned(),
            outcome,
            worst,
            passed,
            failed,
            unjudged,
            measured,
            memory: Vec::new(),
            required: false,
            texts,
            reasons,
            why,
            source,
        }
    }

    #[test]
    fn a_text_stands_beside_the_one_that_was_expected() {
        let mut of = result("kernel == \"6.8.0\"", CheckOutcome::Failed, None, [0, 1, 0]);
        let (value, limit) = ("6.8.1".to_owned(), "6.8.0".to_owned());
        of.texts = Some(tiermark_model::CheckedTexts { value, comparator: Comparator::Same, limit });
        assert_eq!(judged_expectation(&of).plain(), "kernel == \"6.8.0\": it is \"6.8.1\"");
    }

    #[test]
    fn what_failed_comes_first_with_its_reason() {
        let run = ComparedRun {
            name: "last".to_owned(),
            id: "20260102".to_owned(),
            title: "survey".to_owned(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            host: Some("node07".to_owned()),
            cpu: Some("A processor".to_owned()),
            complete: true,
            simulated: false,
            guest: false,
        };
        let results = vec![
            result("latency.dram <= 120 ns", CheckOutcome::Passed, Some(value(81.0, 120.0)), [2, 0, 0]),
            result("latency.dram.remote <= 120 ns", CheckOutcome::Failed, Some(value(156.0, 120.0)), [1, 1, 0]),
            result("edac.corrected <= 0", CheckOutcome::Unjudged, None, [0, 0, 1]),
        ];
        let (expectations, contradictions) = ("server.toml".to_owned(), Vec::new());
        let settings = vec![CheckRow {
            name: "governor".to_owned(),
            group: "cpus".to_owned(),
            value: "powersave".to_owned(),
            health: Health::Problem,
            affects: Some(Affected::All),
            why: "the core clock may change".to_owned(),
            cure: Some("tiermark tune --profile latency --apply".to_owned()),
            is_setting: true,
        }];
        let made = Check {
            verdict: CheckVerdict::Failed,
            run,
            labels: [("serial".to_owned(), "7H2".to_owned())].into(),
            expectations,
            sha256: "0123456789abcdef".repeat(4),
            results,
            strict: false,
            contradictions,
            unlimited: vec!["latency.l3".to_owned(), "read.dram.one".to_owned()],
            settings,
        };
        insta::assert_snapshot!(terminal(&check(&made, Detail::Usual), &Style::default()));
        let plain = terminal(&check(&made, Detail::Usual), &Style { unicode: false, ..Style::default() });
        let mut open = made.clone();
        open.results = vec![made.results[0].clone(), made.results[2].clone(), made.results[2].clone()];
        let open = terminal(&check(&open.concluded(), Detail::Usual), &Style::default());
        assert!(open.contains("PASSED: 2 of 3 expectations not judged; 0 failed, 1 passed\n"), "{open}");
        let mut facts = made.clone();
        facts.results = vec![result("latency.l1 <= 1 ns", CheckOutcome::Unjudged, None, [0, 0, 1])];
        let facts = terminal(&check(&facts.concluded(), Detail::Usual), &Style::default()).replace('\n', " ");
        assert!(facts.starts_with("NOT JUDGED: ") && facts.contains("0 passed; no measured figure"), "{facts}");
        let mut memory = made.clone();
        memory.results = vec![made.results[0].clone(), made.results[2].clone()];
        memory.results[0].memory = vec![MemoryFigure::Latency];
        memory.results[1].memory = vec![MemoryFigure::Bandwidth];
        let memory = terminal(&check(&memory.concluded(), Detail::Usual), &Style::default()).replace('\n', " ");
        assert!(memory.starts_with("NOT JUDGED: ") && memory.contains("no bandwidth of memory was judged"), "{memory}");
        let mut required = made.clone();
        required.results = vec![made.results[0].clone(), made.results[2].clone()];
        required.results[1].required = true;
        let required =
            terminal(&check(&required.concluded(), Detail::Usual), &Style { width: 120, ..Style::default() });
        assert!(required.contains("required, but not judged: edac.corrected <= 0"), "{required}");
        assert!(plain.is_ascii() && plain.lines().all(|line| line.len() <= 80), "{plain}");
    }
}
