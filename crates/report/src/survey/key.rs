//! What stands under the ladder: the meaning of its marks, and what its figures were measured over.

use tiermark_model::{Grade, Mark, Span, StateKind, Tier};
use tiermark_page::{Ink, Page, mark_sign, paragraph, percent};

use super::figures::{Figure, Survey, TierRow};
use super::marks::{TierSize, mark, size};
use super::words;
use crate::ladder::{COPY, COPY_COUNTS, footprints};
use crate::parts::only_core;

/// The marks in use and their meaning.
pub(super) fn key(survey: &Survey<'_>) -> Page {
    let mut marks: Vec<Mark> = survey.figures().filter_map(|figure| mark(&figure)).collect();
    marks.sort_unstable();
    marks.dedup();
    let has = |mark: Mark| marks.contains(&mark);
    let sign = mark_sign;
    let mut parts: Vec<String> = Vec::new();
    let bounds = [(Mark::AtLeast, "at least"), (Mark::AtMost, "at most")];
    let bounds = bounds.into_iter().filter(|(mark, _)| has(*mark)).map(|(mark, word)| format!("{} {word}", sign(mark)));
    let bounds = bounds.collect::<Vec<_>>().join(", ");
    if !bounds.is_empty() {
        parts.push(format!("{bounds}: measured at too few moments, or not in a steady state"));
    }
    for (mark, meaning) in [
        (Mark::Doubted, "in doubt: something could not be proven"),
        (Mark::Withheld, "withheld: a proof failed"),
        (Mark::Absent, "not measured"),
    ] {
        parts.extend(has(mark).then(|| format!("{} {meaning}", sign(mark))));
    }
    let sizes = || survey.rows.iter().filter_map(|row| size(row, &survey.run.machine));
    let in_parentheses = sizes().any(|size| matches!(size, TierSize::Declared(_)));
    parts.extend(in_parentheses.then(|| "sizes in parentheses are declared, not measured".to_owned()));
    let shared = survey.figures().any(|figure| figure.grade() == Grade::Shared);
    parts.extend(shared.then(|| "shared: the median over the run".to_owned()));
    let best = survey.figures().any(|figure| figure.best().is_some());
    parts.extend(
        best.then(|| {
            "best: reached in a tenth of the visits or over a whole pass, shown if over 5 % better".to_owned()
        }),
    );
    let only = only_core(survey.run, &survey.experiments).filter(|_| survey.cores().is_none());
    parts.extend(only.map(|cpus| format!("all cores: not measured, only one core (cpu\u{a0}{cpus}) was in scope")));
    let about = sizes().any(|size| matches!(size, TierSize::Measured(_)));
    parts.extend(about.then(|| "~ before a size: within 10 %".to_owned()));
    let in_part = sizes().any(|size| matches!(size, TierSize::Part { .. }));
    parts.extend(in_part.then(|| "~A\u{a0}of\u{a0}B: the curve ends it at about A, B is declared".to_owned()));
    let between = sizes().any(|size| matches!(size, TierSize::Between(_)));
    parts.extend(between.then(|| "a size that is not resolved is the middle of its bounds".to_owned()));
    let copies = survey.rows.iter().any(|row| row.rates.iter().any(|rates| rates[COPY].is_some()));
    parts.extend(copies.then(|| COPY_COUNTS.to_owned()));
    if parts.is_empty() { Page::new() } else { paragraph("", parts.join("; "), Ink::Dim) }
}

/// What else is to be known of the figures: which caches the cpus shared, intervals wider than wanted, and the memory
/// that they were measured over.
pub(super) fn details<'a>(survey: &Survey<'a>) -> Page {
    let finding = |figure: Option<&Figure<'a>>| figure.map(|figure| figure.finding);
    let first = |row: &TierRow<'a>, span: usize| finding(row.rates[span].iter().flatten().next());
    let rows = survey.rows.iter().map(|row| [finding(row.latency.as_ref()), first(row, 0), first(row, 1)]);
    let measured = footprints(rows);
    let parts = [placed(survey), wide(survey), Some(measured).filter(|measured| !measured.is_empty())];
    parts.into_iter().flatten().map(|part| paragraph("", &part, Ink::Dim)).collect()
}

/// What rates of memory are of, where the cpus were hardly ever seen on different caches: there they may get more.
fn placed(survey: &Survey<'_>) -> Option<String> {
    let near_only = |figure: &Figure<'_>| {
        let seen = figure.seen.map_or(&[][..], |seen| &seen.in_states);
        let met = |fits: fn(&StateKind) -> bool| seen.iter().any(|state| fits(&state.state));
        met(|state| *state == StateKind::Near) && !met(|state| matches!(state, StateKind::Apart { .. }))
    };
    let of_memory = |figure: &Figure<'_>| {
        let labels = &figure.finding.labels;
        labels.tier() == Some(Tier::Dram) && labels.span() == Some(Span::All)
    };
    let cache = words::last_cache(&survey.run.machine);
    survey
        .figures()
        .any(|figure| of_memory(&figure) && near_only(&figure))
        .then(|| format!("DRAM, all cores: while the cpus shared an {cache}; on different {cache}s they may get more"))
}

/// The figures whose interval is wider than wanted.
fn wide(survey: &Survey<'_>) -> Option<String> {
    const NAMED: usize = 3;
    let mut wide: Vec<(String, f64)> = survey.figures().filter_map(|f| Some((f.name(), f.too_wide()?))).collect();
    wide.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named: Vec<String> =
        wide.iter().take(NAMED).map(|(name, half)| format!("{name} ±{}", percent(*half))).collect();
    let more = wide.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("95 % intervals wider than --precision: {}{more}", named.join("; ")))
}
