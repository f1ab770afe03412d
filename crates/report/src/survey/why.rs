//! `show --why`: the figures that are not trusted, each reason once with its figures, and what would help.

use crate::order::grouped;
use crate::reasons::refusal_in_words;
use crate::remark;
use tiermark_model::{EdgeSeen, Grade, Reason, Run};
use tiermark_page::{Cell, Ink, Page, Table, Text, heading, items, paragraph, percent, text};

use super::figures::{Figure, of_run};
use super::marks::{in_its_unit, spread, with_unit};
use super::states;
use super::words::Why;

/// The reason that a figure is listed under; `None` where it is trusted.
fn reason_of(figure: &Figure<'_>) -> Option<Why> {
    let of_bound = figure.finding.verdict.reasons.iter().map(Why::of_bound).min();
    match figure.grade() {
        Grade::Trusted => None,
        Grade::Shared if of_bound == Some(Why::Contradicted) => of_bound,
        Grade::Shared => Some(Why::NotSharp),
        Grade::Bound => Some(of_a_bound(&figure.finding.verdict.reasons)),
        Grade::Suspect => Some(if of_bound == Some(Why::BelowRecord) { Why::BelowRecord } else { Why::InDoubt }),
        Grade::Invalid if figure.is_unmeasured() => Some(Why::Unmeasured),
        Grade::Invalid => Some(Why::Withheld),
    }
}

/// The group of a bound. A bound may also have the reasons of a shared figure; it is never in a group of shared ones.
fn of_a_bound(reasons: &[Reason]) -> Why {
    reasons.iter().map(Why::of_bound).filter(|why| !why.is_of_shared()).min().unwrap_or(Why::Otherwise)
}

/// The view.
pub(crate) fn why(run: &Run) -> Page {
    let figures = of_run(run);
    let mut groups: Vec<(Why, Vec<Figure<'_>>)> = Vec::new();
    for figure in &figures {
        let Some(why) = reason_of(figure) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, group)) => group.push(*figure),
            None => groups.push((why, vec![*figure])),
        }
    }
    groups.sort_by_key(|(why, _)| *why);
    let doubted: usize = groups.iter().map(|(_, group)| group.len()).sum();
    let title = match (figures.len(), doubted) {
        (0, _) => "This run has no figures.".to_owned(),
        (1, 1) => "The only figure is shared or not trusted.".to_owned(),
        (all, 0) => format!("All {all} figures are trusted."),
        (all, some) => format!("{some} of {all} figures are shared or not trusted."),
    };
    let mut out = paragraph("", &title, Ink::Plain);
    for (why, group) in &groups {
        out += heading(why.title());
        out += match why {
            Why::Withheld | Why::Unmeasured | Why::InDoubt | Why::Contradicted | Why::NotSettled | Why::Otherwise => {
                reasons(group)
            }
            Why::BelowRecord => records(group) + further(*why, group),
            Why::NotSharp | Why::NotReproduced | Why::TooFew | Why::Scattered => edges(group) + further(*why, group),
        };
        out += paragraph("  → ", help(*why, group, run), Ink::Plain);
    }
    out + super::places(run) + states::table(run)
}

/// What would help a group: the cures of what refused its steps, where these are known.
fn help(why: Why, group: &[Figure<'_>], run: &Run) -> String {
    let cure = |figure: &Figure<'_>| {
        figure.finding.verdict.reasons.iter().find_map(|reason| match reason {
            Reason::Refused { refusal } if !refusal.cure.is_empty() => Some(refusal.cure.clone()),
            _ => None,
        })
    };
    let clocks = |figure: &Figure<'_>| figure.finding.verdict.reasons.iter().find_map(Reason::record_clocks);
    // One that the clock does not explain may have another cause.
    let slower: Vec<[f64; 2]> = group.iter().filter(|_| why == Why::BelowRecord).filter_map(clocks).collect();
    if let Some(clocks) = slower.first().filter(|_| slower.len() == group.len()) {
        return super::words::slower_clock(*clocks);
    }
    let mut cures: Vec<String> = group.iter().filter_map(cure).collect();
    cures.dedup();
    if cures.is_empty() { why.help(run) } else { cures.join("; ") }
}

/// Each reason once, in words, and below it the figures that have it.
fn reasons(group: &[Figure<'_>]) -> Page {
    let text = |reason: &Reason| refusal_in_words(reason).map_or_else(|| remark::reason(reason), Text::from);
    let texts = |figure: &Figure<'_>| Text::joined(figure.finding.verdict.reasons.iter().map(text), "; ");
    let alike = grouped(group.iter().map(|figure| (texts(figure).plain(), figure)));
    let named = |figure: &Figure<'_>| match figure.finding.value {
        Some(_) => text![figure.name(), " ", with_unit(figure)],
        None => figure.name().into(),
    };
    let one = |figures: &[&Figure<'_>]| {
        let names = items(figures.iter().map(|figure| named(figure)));
        paragraph("  ", text![texts(figures[0]), ":"], Ink::Plain) + paragraph("    ", names, Ink::Plain)
    };
    alike.iter().map(|(_, figures)| one(figures)).collect()
}

/// The reasons of figures beside the one that they are listed under.
fn further(why: Why, group: &[Figure<'_>]) -> Page {
    let line = |figure: &Figure<'_>| {
        let others = figure.finding.verdict.reasons.iter().filter(|reason| Why::of_bound(reason) != why);
        let others = Text::joined(others.map(remark::reason), "; ");
        (!others.is_empty()).then(|| paragraph("  ", text![figure.name(), " also: ", others], Ink::Plain))
    };
    group.iter().filter_map(line).collect()
}

/// Figures beside the best that the machine has shown.
fn records(group: &[Figure<'_>]) -> Page {
    let record = |figure: &Figure<'_>| {
        figure.finding.verdict.reasons.iter().find_map(|reason| match reason {
            Reason::BelowRecord { record, date, .. } => Some((*record, date.clone())),
            _ => None,
        })
    };
    let off = |figure: &Figure<'_>| Some(percent(figure.finding.value? / record(figure)?.0 - 1.0));
    let best = |figure: &Figure<'_>| Some(Cell::new(in_its_unit(figure, record(figure)?.0)));
    let table = Table::of(group).texts("figure", Figure::name).numbers("value", with_unit).numbers("record", best);
    let table = table.numbers("off", |figure| off(figure).unwrap_or_default());
    table.texts("of", |figure| record(figure).map(|(_, date)| date).unwrap_or_default()).table().into()
}

/// Figures with what was seen of their edge.
fn edges(group: &[Figure<'_>]) -> Page {
    let edge = |figure: &Figure<'_>, text: fn(&EdgeSeen) -> String| {
        figure.seen.and_then(|o| o.edge).as_ref().map(text).unwrap_or_default()
    };
    let table = Table::of(group).texts("figure", Figure::name).numbers("value", with_unit);
    let table = table.numbers("visits|near|level", |figure| edge(figure, |e| percent(e.share)));
    let table = table.numbers("visits", |figure| edge(figure, |e| e.visits.to_string()));
    let table = table.numbers("reached|level", |figure| edge(figure, |e| e.reached.to_string()));
    table.texts("p10 to p90", |figure| spread(figure).unwrap_or_default()).table().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bound during whose time the cpu was interrupted or stalled is not the median over a run.
    #[test]
    fn a_bound_is_in_no_group_of_shared_figures() {
        let busy = [Reason::MostlyInterrupted { shots: 9, of: 10 }, Reason::Stalled { shots: 9, of: 10 }];
        for doubt in busy {
            assert_eq!(of_a_bound(std::slice::from_ref(&doubt)), Why::Otherwise);
            assert_eq!(of_a_bound(&[doubt, Reason::NotReproduced { reached: 2 }]), Why::NotReproduced);
        }
        assert_eq!(of_a_bound(&[Reason::Scattered { half_width: 0.1 }]), Why::Otherwise);
    }

    #[test]
    fn what_weighs_most_comes_first() {
        let reasons = [Reason::NotSharp { share: 0.01 }, Reason::NotReproduced { reached: 2 }];
        assert_eq!(reasons.iter().map(Why::of_bound).min(), Some(Why::NotSharp));
        assert!(Why::BelowRecord < Why::NotSharp && Why::Withheld < Why::BelowRecord);
    }
}
